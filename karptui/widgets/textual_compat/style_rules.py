"""The rules of all style sheets, each sheet read once for the colours there are, and parts of widgets styled once.

Textual throws away what it has read whenever a screen is shown for the first time, and reads every sheet again for
each kind of widget that follows: a good part of the time to a first frame.

It also works out the styles of every part of a widget anew, the twenty of a table, whenever those of the widget may be
others: of 200 styles that a start over the demo works out, 108 are left. For each it looks through all rules of all
sheets, and sets every value again, even the same one, which has both scroll bars of a widget drawn anew; each colour
has everything within the widget drawn anew, once for each of the ten colours of its scroll bars.

Measured by benchmarks/textual_pieces.py: 0.65 s of processor time to open every screen once, 0.96 without; another
theme takes the what-if 51 ms instead of 56, drawing included. Could become upstream: "Stylesheet.reparse throws its
cache away although no variable has changed" and "Setting a colour of a scroll bar draws it anew though it is the same".
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
"""More than there are kinds of widgets, each of which brings a sheet."""
_COLOURS: Final = frozenset(name for name, value in vars(StylesBase).items() if isinstance(value, ColorProperty))
"""What has everything within a widget drawn anew: once for several of them, by the last that is set."""


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
        self._rules_by_names: dict[frozenset[str], list[RuleSet]] = {}
        """The rules that name any of some selectors, in the sheets' order."""
        self._named_in: list[RuleSet] = []
        """The rules that those were found in."""
        self._places: dict[RuleSet, int] = {}
        """Where each of these stands."""
        self._asked_of: list[RuleSet] | None = None
        """The only rules that a widget which is being styled can have; all of them otherwise."""

    @property
    def rules(self) -> list[RuleSet]:
        """The rules of all sheets, or those that a widget can have while it is being styled."""
        return super().rules if self._asked_of is None else self._asked_of

    def apply(
        self, node: DOMNode, *, animate: bool = False, cache: dict[tuple[Any, ...], RulesMap] | None = None
    ) -> None:
        """Style a widget.

        Args:
            node: the widget.
            animate: whether values change by and by where the rules say so.
            cache: of styles, for widgets that are styled together.
        """
        self._asked_of = None
        self._asked_of = self._rules_for(node)
        try:
            super().apply(node, animate=animate, cache=cache)
        finally:
            self._asked_of = None

    def _rules_for(self, node: DOMNode) -> list[RuleSet]:
        """Return the rules that name the widget's type, name or classes."""
        known = self.rules_map
        if self._named_in is not self.rules:
            self._named_in, self._rules_by_names = self.rules, {}
            self._places = {rule: place for place, rule in enumerate(self.rules)}
        names = frozenset(known.keys() & node._selector_names)  # noqa: SLF001 - as Textual's own look for them does
        if names not in self._rules_by_names:
            limited = {rule for name in names for rule in known[name]}
            self._rules_by_names[names] = sorted(limited, key=self._places.__getitem__)
        return self._rules_by_names[names]

    @classmethod
    def replace_rules(cls, node: DOMNode, rules: RulesMap, animate: bool = False) -> None:  # noqa: FBT001, FBT002 - Textual's
        """Give a widget its styles.

        Args:
            node: the widget.
            rules: values by name.
            animate: whether they change by and by where the rules say so.
        """
        if animate and rules.get("transitions"):
            super().replace_rules(node, rules, animate)
            return
        base = node.styles.base
        before = base.get_rules()
        changed = [name for name in before.keys() | rules.keys() if before.get(name) != rules.get(name)]
        if animate and not changed:
            return
        colours = sorted(_COLOURS.intersection(changed), key=_is_of_bars)
        for name in colours[:-1]:
            base.set_rule(name, rules.get(name))
        for name in (*colours[-1:], *(name for name in changed if name not in _COLOURS)):
            setattr(base, name, rules.get(name))
        node.notify_style_update()

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
        rules = [rule for name in _names_of(frozenset(parts)) for rule in self.rules_map.get(name, ())]
        states = sorted(set().union(*(rule.pseudo_classes for rule in rules)))
        asked: list[object] = [
            (type(one), one.id, one.classes, [state for state in states if one.has_pseudo_classes({state})])
            for one in node.css_path_nodes
        ]
        if not node._component_styles or self._styled_by.get(node) != (rules, asked):  # noqa: SLF001
            super()._process_component_classes(node)
            self._styled_by[node] = (rules, asked)


@cache
def _names_of(parts: frozenset[str]) -> list[str]:
    """Return what rules of parts of a widget are named by."""
    return sorted(DOMNode(classes=" ".join(parts))._selector_names)  # noqa: SLF001 - as for a widget


def _is_of_bars(name: str) -> bool:
    """Whether a colour is that of scroll bars, which are drawn anew by their own colours only."""
    return name.startswith("scrollbar")
