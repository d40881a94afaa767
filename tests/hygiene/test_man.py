"""The manual page is made from the parsers, and says what the help says."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from karptui.cli.main import COMMANDS, build_parser

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "man" / "karptui.1"


def test_the_manual_page_is_fresh() -> None:
    pytest.importorskip("argparse_manpage", reason="argparse-manpage is not installed")
    spec = importlib.util.spec_from_file_location("make_man", ROOT / "tools" / "make_man.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert PAGE.read_text(encoding="utf-8") == tool.page(), "python tools/make_man.py writes it anew"


def test_every_command_and_flag_is_in_it() -> None:
    text = PAGE.read_text(encoding="utf-8").replace("\\-", "-")
    for command in COMMANDS:
        assert f".SS \\fBkarptui {command}\\fR" in text
        help_text = build_parser(command).format_help()
        missing = set(re.findall(r"--[a-z][a-z-]+", help_text)) - set(re.findall(r"--[a-z][a-z-]+", text))
        assert missing <= {"--help"}
