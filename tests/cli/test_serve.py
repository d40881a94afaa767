"""``--serve``: what a browser opens, and what is said where it cannot be."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from karptui.cli.main import main
from karptui.cli.open import without_serve
from tests.cli.conftest import Run


@pytest.mark.parametrize(("words", "kept"), [
    (["--serve", "--demo"], ["--demo"]),
    (["--demo", "--serve"], ["--demo"]),
    (["--serve", "8080", "--context", "a b"], ["--context", "a b"]),
    (["--serve=0.0.0.0:80", "-l", "a=b"], ["-l", "a=b"]),
])  # fmt: skip
def test_a_browser_opens_everything_else(words: list[str], kept: list[str]) -> None:
    assert without_serve(words) == kept


def test_it_is_served_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[tuple[object, ...]] = []
    module = ModuleType("karptui.cli.serve")
    vars(module)["serve"] = lambda *given: served.append(given)
    monkeypatch.setitem(sys.modules, "karptui.cli.serve", module)
    for where in ("9000", "10.0.0.1:80", "[::1]:80"):
        monkeypatch.setattr(sys, "argv", ["karptui", "--demo", "--serve", where, "-l", "a in (b)"])
        assert main() == 0
    words = ["--demo", "-l", "a in (b)"]
    assert served == [(words, "", 9000), (words, "10.0.0.1", 80), (words, "::1", 80)]


@pytest.mark.parametrize(("words", "sentence"), [
    (["--serve", "http"], "--serve: http is not a port or HOST:PORT"),
    (["--serve", "localhost:99999"], "--serve: localhost:99999 is not a port"),
    (["--serve", "--theme", "none"], "there is no theme none"),
    (["--serve"], "--serve needs textual-serve: pip install 'karptui[serve]'"),
])  # fmt: skip
def test_what_cannot_be_served(words: list[str], sentence: str, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.setitem(sys.modules, "karptui.cli.serve", None)
    assert sentence in run("--demo", *words, status=2).err
