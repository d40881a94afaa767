"""Every setting is documented, with the default that it has."""

from __future__ import annotations

import re
from pathlib import Path

from karptui.config import DEFAULTS, Config

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"


def test_the_page_lists_every_setting_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (?:`([^`]*)`)? *\|", PAGE.read_text(), re.MULTILINE))
    assert list(rows) == list(Config.__struct_fields__)
    for name, shown in rows.items():
        default = getattr(DEFAULTS, name)
        text = str(default).lower() if isinstance(default, bool) else str(default)
        if default not in ("", (), {}):
            assert shown == text, name
