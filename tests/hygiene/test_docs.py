"""The documentation: links lead somewhere, and pages that are made by tools are up to date."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from karptui.config import DEFAULTS, Config
from karptui.sources.aws.facts import RULES
from tests.builders import present
from tests.ui.test_pictures import WALKS

ROOT = Path(__file__).resolve().parents[2]
PAGES = (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))
LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchors(page: Path) -> set[str]:
    """Return the anchors that a page's headings make, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_relative_links_lead_to_files_and_headings(page: Path) -> None:
    links = [target.partition("#") for target in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in target]
    assert [path for path, _, _ in links if not (page.parent / unquote(path)).exists()] == []
    pages = [((page.parent / unquote(path)) if path else page, anchor) for path, _, anchor in links if anchor]
    assert [f"{path.name}#{anchor}" for path, anchor in pages if anchor not in anchors(path)] == []


PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"


def test_the_page_lists_every_setting_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (?:`([^`]*)`)? *\|", PAGE.read_text(), re.MULTILINE))
    assert list(rows) == list(Config.__struct_fields__)
    for name, shown in rows.items():
        default = getattr(DEFAULTS, name)
        text = str(default).lower() if isinstance(default, bool) else str(default)
        if default not in ("", (), {}):
            assert shown == text, name


@pytest.mark.parametrize(("page", "name"), [("keys.md", "make_keys"), ("man/karptui.1", "make_man")])
def test_pages_that_a_tool_writes_are_up_to_date(page: str, name: str) -> None:
    if name == "make_man":
        pytest.importorskip("argparse_manpage", reason="argparse-manpage is not installed")
    spec = present(importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py"))
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    written = tool.page() if name == "make_man" else "\n".join(tool.lines()) + "\n"
    assert (ROOT / "docs" / page).read_text(encoding="utf-8") == written, f"python tools/{name}.py writes it anew"


STATES = {"nodes-forbidden", "nodes-disconnected", "nodes-no-colour"}


def test_every_folder_of_pictures_is_a_screen_that_a_test_draws() -> None:
    screens = {screen for walk in WALKS.values() for screen in walk.screens}
    assert {folder.name for folder in (ROOT / "snapshots").iterdir()} == screens | STATES


def test_the_gallery_shows_every_picture() -> None:
    gallery = (ROOT / "docs/screens.md").read_text(encoding="utf-8")
    pictures = {path.relative_to(ROOT).as_posix() for path in (ROOT / "snapshots").rglob("*.svg")}
    assert {picture for picture in pictures if f"../{picture}" not in gallery} == set()
    assert gallery.count("](../snapshots/") == len(pictures)


DOCUMENT = (ROOT / "docs" / "aws-access.md").read_text(encoding="utf-8")


def test_the_documented_policy_is_what_is_asked_for() -> None:
    policy = present(re.search(r"```json\n(.*?)```", DOCUMENT, re.DOTALL))
    assert set(json.loads(policy[1])["Statement"][0]["Action"]) == {rule.action for rule in RULES.values()}


def test_the_documented_ages_are_those_kept() -> None:
    for rule in RULES.values():
        row = present(re.search(rf"\| `{rule.action}` \|[^|]*\| (\d+) (h|min) \|", DOCUMENT))
        assert int(row[1]) * {"h": 3600, "min": 60}[row[2]] == rule.holds_seconds
