"""The page of keys has the bindings that there are."""

from __future__ import annotations

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_is_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("make_keys", ROOT / "tools" / "make_keys.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    page = (ROOT / "docs" / "keys.md").read_text(encoding="utf-8")
    assert page == "\n".join(tool.lines()) + "\n", "python tools/make_keys.py writes it anew"
