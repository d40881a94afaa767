"""The documentation's site has every page once, and the output of each command that it shows."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from karptui.cli.main import main
from karptui.clock import SystemClock
from tests.cli.conftest import NOON_NS
from tests.shared_analyses import look_once
from tests.still_demo import tell_once
from tools import make_site

ROOT = Path(__file__).resolve().parents[2]
PAGES = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")}
COMMANDS = [line for page in PAGES.values() for line in make_site.OUTPUT.findall(page)]
SHORT = re.compile(r"(--horizon|--until) \w+")
"""Flags of forecasts, which are made for a minute here."""


def test_every_page_is_in_one_section() -> None:
    listed = [page for pages in make_site.sections().values() for page in pages]
    assert sorted(listed) == sorted(PAGES)


def test_the_configuration_is_read_and_its_files_are_there() -> None:
    entries = tomllib.loads(make_site.configuration())["project"]["nav"]
    values = [value for entry in entries for value in entry.values()]
    named = [name for value in values for name in ([value] if isinstance(value, str) else value)]
    assert len(named) > len(PAGES)
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


def test_output_stands_below_its_command() -> None:
    page = "Before.\n\n    $ karptui nodes --demo\n\nAfter: `$ karptui` stays.\n"
    with_outputs = make_site.with_outputs(page, lambda command: f"out of {command}\n" * 50)
    assert with_outputs.startswith("Before.\n\n```console\n$ karptui nodes --demo\nout of karptui nodes --demo\n")
    assert "… 10 more lines\n```\n\nAfter: `$ karptui` stays.\n" in with_outputs
    assert len(re.findall("^out of", with_outputs, re.MULTILINE)) == make_site.LONGEST_LINES
