"""Cache parsed style sheets for all apps of a process, because they are equal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet

ReadRules = Callable[..., list[RuleSet]]
Variables = frozenset[tuple[str, str]]
_READ: Final[dict[tuple[object, ...], list[RuleSet]]] = {}
_VARIABLES: Final[dict[Variables, Variables]] = {}
"""One object for equal variables, so that comparing them is fast."""


def remembering(read: ReadRules) -> ReadRules:
    """Return a parser that caches rules by text, place and variables; rules never change afterwards."""

    last: tuple[dict[str, str], Variables] = {}, frozenset()

    def rules(self: Stylesheet, css: str, *args: object, **kwargs: object) -> list[RuleSet]:
        nonlocal last
        if last[0] is not self._variables:
            variables = frozenset(self._variables.items())
            last = self._variables, _VARIABLES.setdefault(variables, variables)
        key = (last[1], css, args, frozenset(kwargs.items()))
        if key not in _READ:
            _READ[key] = read(self, css, *args, **kwargs)
        return _READ[key]

    return rules


def read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parse every style sheet only once."""
    monkeypatch.setattr(Stylesheet, "_parse_rules", remembering(Stylesheet._parse_rules))
