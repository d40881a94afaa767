"""Links in the documentation lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = (ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md")))
LINK = re.compile(r"\]\(([^)\s]+)\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_relative_links_lead_to_files(page: Path) -> None:
    targets = [target.partition("#")[0] for target in LINK.findall(page.read_text(encoding="utf-8"))]
    missing = [
        target for target in targets if target and "://" not in target and not (page.parent / unquote(target)).exists()
    ]
    assert missing == []
