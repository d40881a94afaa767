"""The app needs a terminal, and reads keys from it even if standard input is a pipe."""

from __future__ import annotations

import io
import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from karptui.cli import open as app_command
from karptui.cli.main import main
from karptui.cli.open import as_the_terminal_shows
from karptui.cli.streams import UsageError
from karptui.config import DEFAULTS
from tests.cli.conftest import Run
from tests.troubled_cluster import troubles_document

START = (
    "import os, sys; os.close(os.open(os.ttyname(2), os.O_RDWR)); "
    "from karptui.cli.main import main; sys.exit(main(sys.argv[1:]))"
)
# The first terminal that a session leader opens becomes /dev/tty.
PATIENCE_SECONDS = 60.0


def test_without_a_terminal_the_app_exits_with_a_message(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.setattr(sys, "__stderr__", io.StringIO())
    assert run("--demo", status=2).err == f"karptui: {app_command.NO_TERMINAL}\n"
    monkeypatch.setattr(sys, "__stderr__", None)
    assert main(["--demo"]) == 2


@pytest.mark.parametrize(("words", "settings", "sentence"), [
    (["--theme", "foo"], "", "theme: there is no theme foo; there are ansi-dark, "),
    (["--theme", "nrod"], "", "theme: there is no theme nrod; did you mean nord?"),
    (["--screen", "foo"], "", "screen: there is no screen foo; there are nodes, "),
    (["-l", "'a=b'"], "", "node_selector: 'a=b' contains quotes, which a label cannot: write a=b"),
    ([], "theme = 5", "config.toml: theme: must be text, is a number: write it in quotes"),
    ([], "price_multiplier = '0.7'", "price_multiplier: must be a number, is text: write it without quotes"),
    (["--theme", "nord"], "wide = true", app_command.NO_TERMINAL),
])  # fmt: skip
def test_invalid_settings_are_reported_even_without_a_terminal(
    words: list[str],
    settings: str,
    *,
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    run: Run,
) -> None:
    (tmp_path / "config.toml").write_text(settings)
    monkeypatch.setattr(sys, "__stderr__", io.StringIO())
    assert sentence in run("--demo", "--config", str(tmp_path / "config.toml"), *words, status=2).err


def test_the_listed_themes_are_the_themes_of_the_app() -> None:
    from textual.app import App

    from karptui.cli.open import theme_names
    from karptui.widgets.themes import OWN_THEMES

    assert theme_names() == sorted({*App[None]().available_themes, *(theme.name for theme in OWN_THEMES)})


def test_reading_keys_without_a_terminal_is_an_error(tmp_path: Path) -> None:
    with (tmp_path / "in").open("w+b") as file, pytest.raises(UsageError, match="needs a terminal"):
        app_command.take_keys(str(tmp_path / "no tty"), descriptor=file.fileno())


def test_a_pipe_on_standard_input_is_replaced_by_the_terminal() -> None:
    main_end, terminal_end = pty.openpty()
    reading, writing = os.pipe()
    app_command.take_keys(os.ttyname(terminal_end), descriptor=reading)
    assert os.isatty(reading)
    app_command.take_keys("/nowhere", descriptor=reading)  # already a terminal: nothing is opened
    for descriptor in (main_end, terminal_end, reading, writing):
        os.close(descriptor)


def test_the_app_reads_a_snapshot_from_a_pipe_and_keys_from_the_terminal() -> None:
    """Pipe a snapshot into the app on a pseudo-terminal, and quit with a key."""
    import msgspec

    main_end, terminal_end = pty.openpty()
    app = subprocess.Popen(
        [sys.executable, "-c", START, "--snapshot", "-"],
        stdin=subprocess.PIPE,
        stdout=terminal_end,
        stderr=terminal_end,
        start_new_session=True,
        env={**os.environ, "TERM": "xterm-256color"},
    )
    os.close(terminal_end)
    assert app.stdin is not None
    app.stdin.write(msgspec.json.encode(troubles_document()))
    app.stdin.close()
    seen, is_left = b"", False
    deadline = time.monotonic() + PATIENCE_SECONDS
    try:
        while app.poll() is None and time.monotonic() < deadline:
            if select.select([main_end], [], [], 0.1)[0]:
                try:
                    seen += os.read(main_end, 65536)
                except OSError:
                    break
            if b"spot-1" in seen and not is_left:
                is_left = os.write(main_end, b"q") > 0
        assert b"spot-1" in seen
        assert app.wait(timeout=PATIENCE_SECONDS) == 0
    finally:
        if app.poll() is None:
            app.kill()
            app.wait()
        os.close(main_end)


@pytest.mark.parametrize(("term", "colorterm", "theme"), [
    ("xterm", "", "ansi-dark"),
    ("linux", "", "ansi-dark"),
    ("xterm", "truecolor", ""),
    ("xterm-256color", "", ""),
    ("dumb", "", ""),
    ("", "", ""),
])  # fmt: skip
def test_a_terminal_with_16_colours_gets_a_theme_with_16_colours(
    term: str, colorterm: str, theme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.setenv("COLORTERM", colorterm)
    assert as_the_terminal_shows(DEFAULTS).theme == theme


@pytest.mark.parametrize(
    ("told", "term", "theme"),
    [("truecolor", "xterm", ""), ("256", "linux", ""), ("standard", "xterm-256color", "ansi-dark")],
)
def test_the_colour_system_set_for_textual_overrides_the_terminal(
    told: str, term: str, theme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A served web page shows all colours, whatever TERM is set to."""
    monkeypatch.setattr("textual.constants.COLOR_SYSTEM", told)
    monkeypatch.setenv("TERM", term)
    monkeypatch.setenv("COLORTERM", "")
    assert as_the_terminal_shows(DEFAULTS).theme == theme
