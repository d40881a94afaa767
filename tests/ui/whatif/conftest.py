from __future__ import annotations

import pytest

from tests.ui.whatif.bench import prepare


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(monkeypatch)
