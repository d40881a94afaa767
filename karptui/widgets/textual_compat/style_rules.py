"""The rules of all style sheets, each sheet read once for the colours there are, and parts of widgets styled once.

Textual throws away what it has read whenever a screen is shown for the first time, and reads every sheet again for
each kind of widget that follows: a good part of the time to a first frame.

It also works out the styles of every part of a widget anew, the twenty of a table, whenever those of the widget may be
others: of 200 styles that a start over the demo works out, 108 are left.

Measured by benchmarks/textual_pieces.py: 0.65 s of processor time to open every screen once, 0.96 without.
Could become upstream: "Stylesheet.reparse throws its cache away although no variable has changed".
"""

from __future__ import annotations

from typing import Final
from weakref import WeakKeyDictionary

from textual.cache import LRUCache
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode

_SHEETS: Final = 1_024
"""More than there are kinds of widgets, each of which brings a sheet."""


class StyleRules(Stylesheet):
    """A style sheet that reads and styles again only what has changed."""

    def __init__(self, *, variables: dict[str, str] | None = None) -> None:
        """Make an empty sheet.

        Args:
            variables: the theme's colours by name.
        """
        super().__init__(variables=variables)
        self._parse_cache = LRUCache(_SHEETS)
        self._styled_by: WeakKeyDictionary[DOMNode, tuple[list[RuleSet], list[object]]] = WeakKeyDictionary()
        """What the parts of a widget were styled by: the rules, and what these ask of it and of those it is in."""

    def set_variables(self, variables: dict[str, str]) -> None:
        """Take other colours; all sheets are read again where they differ from those there are."""
        if variables != self._variables:
            super().set_variables(variables)

    def reparse(self) -> None:
        """Read what has changed."""
        self.parse()

    def _process_component_classes(self, node: DOMNode) -> None:
        """Style the parts of a widget, unless they have been styled by the same."""
        parts = node._get_component_classes()  # noqa: SLF001 - Textual has no other place for it, as below
        if not parts:
            return
        names = sorted(DOMNode(classes=" ".join(parts))._selector_names)  # noqa: SLF001
        rules = [rule for name in names for rule in self.rules_map.get(name, ())]
        states = sorted(set().union(*(rule.pseudo_classes for rule in rules)))
        asked: list[object] = [
            (type(one), one.id, one.classes, [state for state in states if one.has_pseudo_classes({state})])
            for one in node.css_path_nodes
        ]
        if not node._component_styles or self._styled_by.get(node) != (rules, asked):  # noqa: SLF001
            super()._process_component_classes(node)
            self._styled_by[node] = (rules, asked)
