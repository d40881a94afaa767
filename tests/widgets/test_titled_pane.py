from __future__ import annotations

import pytest

from karptui.widgets.sentences import plain
from karptui.widgets.titled_pane import fitted_title


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (21, " abc ─ 界 · def · gh "),
        (20, " abc ─ 界 · def "),
        (16, " abc ─ 界 · def "),
        (15, " abc ─ 界 "),
        (5, " abc ─ 界 · def · gh "),
        (-4, " abc ─ 界 · def · gh "),
    ],
)
def test_a_title_has_as_many_parts_as_have_room(width: int, expected: str) -> None:
    content = fitted_title(plain(" abc ─ 界 · def · gh "), width)
    assert content.plain == expected
