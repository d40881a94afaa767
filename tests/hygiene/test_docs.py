"""The documentation has valid links and paths and up-to-date generated pages; the site has every page once."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import tomllib
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest

from karptui.cli.main import main
from karptui.clock import SystemClock
from karptui.config import DEFAULTS, Config
from karptui.sources.aws.facts import RULES
from tests.builders import present
from tests.cli.conftest import NOON_NS
from tests.shared_analyses import look_once
from tests.still_demo import tell_once
from tests.ui.test_pictures import WALKS
from tools import make_site

ROOT = Path(__file__).resolve().parents[2]
PAGES = (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))
LINK = re.compile(r"\]\(([^)\s]+)\)")
PLACES = ("CONTRIBUTING.md", "docs/architecture.md")
FOLDERS = ("benchmarks", "contrib", "docs", "karptui", "tests", "tools")
PATH = re.compile(r"`((?:[\w.-]+/)*[\w-]+(?:\.(?:py|md|tcss|yaml))?)`")
SITE_PAGES = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")}
COMMANDS = [line for page in SITE_PAGES.values() for line in make_site.OUTPUT.findall(page)]
SHORT = re.compile(r"(--horizon|--until) \w+")
"""Horizon flags of forecasts, which the tests set to one minute."""


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub creates them."""
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
    assert (ROOT / "docs" / page).read_text(encoding="utf-8") == written, f"run python tools/{name}.py"


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


def test_the_documented_policy_has_the_requested_actions() -> None:
    policy = present(re.search(r"```json\n(.*?)```", DOCUMENT, re.DOTALL))
    assert set(json.loads(policy[1])["Statement"][0]["Action"]) == {rule.action for rule in RULES.values()}


def test_the_documented_ages_match_the_code() -> None:
    for rule in RULES.values():
        row = present(re.search(rf"\| `{rule.action}` \|[^|]*\| (\d+) (h|min) \|", DOCUMENT))
        assert int(row[1]) * {"h": 3600, "min": 60}[row[2]] == rule.holds_seconds


@cache
def files() -> tuple[str, ...]:
    return tuple(
        path.relative_to(ROOT).as_posix()
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if "__pycache__" not in path.parts
    )


def named_paths(text: str) -> set[str]:
    """Return the paths in a text; only those of existing top-level folders or with a known suffix."""
    findall = PATH.findall(text)
    return {path for path in findall if path.endswith((".py", ".tcss")) or path.partition("/")[0] in FOLDERS}


def missing(text: str) -> list[str]:
    """Return the paths that match no file; a path may omit its first folders."""
    top = {path.name for path in ROOT.iterdir()}
    return sorted(
        path
        for path in named_paths(text) - top
        if not any(file == path or file.endswith(f"/{path}") for file in files())
    )


@pytest.mark.parametrize("page", PLACES)
def test_every_path_exists(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert len(named_paths(text)) > 20
    assert missing(text) == []


def test_only_paths_without_a_file_are_missing() -> None:
    there = ("pool_order.py", "provisioning/pool_order.py", "karptui/studies", "docs/solve.md")
    nowhere = ["docs/solved.md", "karptui/study", "ordering.py", "pending/order.py"]
    assert missing(" ".join(f"see `{path}`" for path in (*there, *nowhere))) == nowhere


def test_every_package_is_in_the_architecture_table() -> None:
    table = (ROOT / "docs/architecture.md").read_text(encoding="utf-8").partition("## From the API server")[0]
    packages = {path.parent.name for path in (ROOT / "karptui").glob("*/__init__.py")}
    assert packages - set(re.findall(r"`(\w+)`", table)) == set()


def test_every_page_is_in_one_section() -> None:
    listed = [page for pages in make_site.sections().values() for page in pages]
    assert sorted(listed) == sorted(SITE_PAGES)


def test_the_site_configuration_is_valid_and_its_files_exist() -> None:
    entries = tomllib.loads(make_site.configuration())["project"]["nav"]
    values = [value for entry in entries for value in entry.values()]
    named = [name for value in values for name in ([value] if isinstance(value, str) else value)]
    assert len(named) > len(SITE_PAGES)
    assert [name for name in named if name != make_site.HOME and not (ROOT / name).exists()] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_on_the_site_prints_something(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SystemClock, "now_ns", lambda _: NOON_NS)
    tell_once(monkeypatch)
    look_once(monkeypatch)
    words = [*shlex.split(SHORT.sub(r"\1 1m", command))[1:], *(["--jobs", "1"] if " sweep " in command else [])]
    assert main(words) in make_site.STATUSES
    assert len(capsys.readouterr().out) > 200


def test_output_is_inserted_below_its_command() -> None:
    page = "Before.\n\n    $ karptui nodes --demo\n\nAfter: `$ karptui` stays.\n"
    with_outputs = make_site.with_outputs(page, lambda command: f"out of {command}\n" * 50)
    assert with_outputs.startswith("Before.\n\n```console\n$ karptui nodes --demo\nout of karptui nodes --demo\n")
    assert "… 10 more lines\n```\n\nAfter: `$ karptui` stays.\n" in with_outputs
    assert len(re.findall("^out of", with_outputs, re.MULTILINE)) == make_site.LONGEST_LINES
