"""Links in the documentation lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))
LINK = re.compile(r"\]\(([^)\s]+)\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_relative_links_lead_to_files(page: Path) -> None:
    targets = [target.partition("#")[0] for target in LINK.findall(page.read_text(encoding="utf-8"))]
    missing = [
        target for target in targets if target and "://" not in target and not (page.parent / unquote(target)).exists()
    ]
    assert missing == []


def anchors(page: Path) -> set[str]:
    """Return the anchors that a page's headings make, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_anchors_lead_to_headings(page: Path) -> None:
    links = [target.partition("#") for target in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in target]
    pages = [((page.parent / unquote(path)) if path else page, anchor) for path, _, anchor in links if anchor]
    assert [f"{path.name}#{anchor}" for path, anchor in pages if anchor not in anchors(path)] == []
