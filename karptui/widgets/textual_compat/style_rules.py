"""Parses each style sheet once per theme, and styles each part of a widget once.

Textual drops its parsed rules whenever a screen is shown for the first time, and parses every sheet again for each new
kind of widget: a good part of the time to the first frame.

It also styles every part of a widget again, twenty for a table, whenever the widget's styles may have changed: of 200
styles computed at a start on the demo, 108 are left. Each one matches all rules and sets every value again, even if it
is unchanged; that redraws both scroll bars, and each of their ten colours redraws the whole widget.

Measured by benchmarks/textual_pieces.py: 0.65 s of processor time to open every screen once, 0.96 without; a new theme
takes the what-if 51 ms instead of 56, drawing included. Possible upstream changes: "Stylesheet.reparse drops its cache
although no variable has changed" and "Setting an unchanged scroll bar colour redraws the widget".
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final
from weakref import WeakKeyDictionary

from textual.cache import LRUCache
from textual.css._style_properties import ColorProperty
from textual.css.model import RuleSet
from textual.css.styles import RulesMap, StylesBase
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode

_SHEETS: Final = 1_024
"""More than the number of widget classes, each of which has a sheet."""
_COLOURS: Final = frozenset(name for name, value in vars(StylesBase).items() if isinstance(value, ColorProperty))
"""Properties that redraw the whole widget: set together, they redraw it once."""


class StyleRules(Stylesheet):
    """A style sheet that parses and styles only what changed."""

    def __init__(self, *, variables: dict[str, str] | None = None) -> None:
        super().__init__(variables=variables)
        self._parse_cache = LRUCache(_SHEETS)
        self._styled_by: WeakKeyDictionary[DOMNode, tuple[list[RuleSet], list[object]]] = WeakKeyDictionary()
        """The sources of the styles of a widget's parts: rules, and the states that they test."""
        self._rules_by_names: dict[frozenset[str], list[RuleSet]] = {}
        """The rules that name any of some selectors, in the sheets' order."""
        self._named_in: list[RuleSet] = []
        """The rules that those were found in."""
        self._places: dict[RuleSet, int] = {}
        """Position of each rule."""
        self._asked_of: list[RuleSet] | None = None
        """The only rules that a widget which is being styled can have; all of them otherwise."""

    @property
    def rules(self) -> list[RuleSet]:
        """All rules, or during styling those that can match the widget."""
        return super().rules if self._asked_of is None else self._asked_of

    def apply(
        self, node: DOMNode, *, animate: bool = False, cache: dict[tuple[Any, ...], RulesMap] | None = None
    ) -> None:
        self._asked_of = None
        self._asked_of = self._rules_for(node)
        try:
            super().apply(node, animate=animate, cache=cache)
        finally:
            self._asked_of = None

    def _rules_for(self, node: DOMNode) -> list[RuleSet]:
        """Return the rules that name the widget's type, name or classes."""
        sets = self.rules_map
        if self._named_in is not self.rules:
            self._named_in, self._rules_by_names = self.rules, {}
            self._places = {rule: place for place, rule in enumerate(self.rules)}
        names = frozenset(sets.keys() & node._selector_names)  # noqa: SLF001 - as Textual's own look for them does
        if names not in self._rules_by_names:
            limited = {rule for name in names for rule in sets[name]}
            self._rules_by_names[names] = sorted(limited, key=self._places.__getitem__)
        return self._rules_by_names[names]

    @classmethod
    def replace_rules(cls, node: DOMNode, rules: RulesMap, animate: bool = False) -> None:  # noqa: FBT001, FBT002 - Textual's
        if animate and rules.get("transitions"):
            super().replace_rules(node, rules, animate)
            return
        base = node.styles.base
        before = base.get_rules()
        changed = [name for name in before.keys() | rules.keys() if before.get(name) != rules.get(name)]
        if animate and not changed:
            return
        colours = sorted(_COLOURS.intersection(changed), key=lambda name: name.startswith("scrollbar"))
        for name in colours[:-1]:
            base.set_rule(name, rules.get(name))
        for name in (*colours[-1:], *(name for name in changed if name not in _COLOURS)):
            setattr(base, name, rules.get(name))
        node.notify_style_update()

    def set_variables(self, variables: dict[str, str]) -> None:
        """Set the colours; sheets are parsed again if they changed."""
        if variables != self._variables:
            super().set_variables(variables)

    def reparse(self) -> None:
        self.parse()

    def _process_component_classes(self, node: DOMNode) -> None:
        """Style the parts of a widget, unless they have been styled by the same."""
        parts = node._get_component_classes()  # noqa: SLF001 - Textual has no other place for it, as below
        if not parts:
            return
        rules = [rule for name in _names_of(frozenset(parts)) for rule in self.rules_map.get(name, ())]
        states = sorted(set().union(*(rule.pseudo_classes for rule in rules)))
        asked: list[object] = [
            (type(c), c.id, c.classes, [state for state in states if c.has_pseudo_classes({state})])
            for c in node.css_path_nodes
        ]
        if not node._component_styles or self._styled_by.get(node) != (rules, asked):  # noqa: SLF001
            super()._process_component_classes(node)
            self._styled_by[node] = (rules, asked)


@cache
def _names_of(parts: frozenset[str]) -> list[str]:
    return sorted(DOMNode(classes=" ".join(parts))._selector_names)  # noqa: SLF001 - as for a widget
