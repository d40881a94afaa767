from __future__ import annotations

from typing import Any, ClassVar

import pytest
from textual.app import App, ComposeResult
from textual.color import Color
from textual.css.stylesheet import Stylesheet, StylesheetParseError
from textual.dom import DOMNode
from textual.widget import Widget
from textual.widgets import Label

from karptui.widgets.textual_compat.style_rules import StyleRules

RED, BLUE = {"shade": "#ff0000"}, {"shade": "#0000ff"}


def sheet() -> StyleRules:
    rules = StyleRules(variables=RED)
    rules.add_source("Label { color: $shade; }", ("one", ""))
    rules.reparse()
    return rules


def test_style_sheets_are_parsed_once_and_invalid_ones_change_no_rule() -> None:
    rules = sheet()
    [label] = rules.rules
    rules.set_variables(dict(RED))
    rules.reparse()
    rules.add_source("Button { color: $shade; }", ("two", ""))
    assert rules.rules[0] is label
    assert len(rules.rules) == 2
    rules = sheet()
    before = rules.rules
    rules.add_source("Label { color: ; }", ("bad", ""))
    with pytest.raises(StylesheetParseError):
        rules.reparse()
    del rules.source["bad", ""]
    rules.reparse()
    assert [rule.css for rule in rules.rules] == [rule.css for rule in before]


def test_changed_variables_apply_to_every_rule() -> None:
    rules = sheet()
    rules.set_variables(BLUE)
    rules.reparse()
    assert rules.rules[0].styles.color == Color.parse("#0000ff")


class Striped(Widget, can_focus=True):
    COMPONENT_CLASSES: ClassVar[set[str]] = {"stripe"}
    DEFAULT_CSS = """
    Striped .stripe { color: $primary; }
    Striped:focus .stripe { color: #0000ff; }
    """


class Host(App[None]):
    CSS = ".wide Striped .stripe { color: #00ff00; }"

    def __init__(self) -> None:
        super().__init__()
        self.stylesheet = StyleRules(variables=self.get_css_variables())

    def compose(self) -> ComposeResult:
        yield Striped()


async def test_only_components_with_changed_styles_are_styled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    styled: list[DOMNode] = []
    apply = Stylesheet.apply

    def counted(self: Stylesheet, node: DOMNode, **given: Any) -> None:
        if node.has_class("stripe"):
            styled.append(node)
        apply(self, node, **given)

    monkeypatch.setattr(Stylesheet, "apply", counted)
    app = Host()
    app.theme = "textual-dark"
    async with app.run_test() as pilot:
        striped = app.query_one(Striped)

        async def colour() -> Color:
            await pilot.pause()
            return striped.get_component_styles("stripe").color

        striped.blur()
        dark = await colour()
        assert dark == Color.parse(app.get_css_variables()["primary"])
        striped.focus()
        assert await colour() == Color.parse("#0000ff")
        striped.blur()
        app.screen.add_class("wide")
        assert await colour() == Color.parse("#00ff00")
        app.screen.remove_class("wide")
        app.theme = "textual-light"
        light = Color.parse(app.get_css_variables()["primary"])
        assert await colour() == light != dark
        count = len(styled)
        app.stylesheet.update(app)
        assert len(styled) == count


async def test_equal_values_are_not_set_again_and_colours_redraw_once(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Widget] = []
    refresh = Widget.refresh

    def counted(self: Widget, *regions: Any, **given: Any) -> Widget:
        drawn.append(self)
        return refresh(self, *regions, **given)

    app = Host()
    app.theme = "textual-dark"
    async with app.run_test() as pilot:
        await pilot.pause()
        striped = app.query_one(Striped)
        monkeypatch.setattr(Widget, "refresh", counted)
        app.stylesheet.update(app)
        assert drawn == []
        before = set(striped.styles.base.get_rules().items())
        app.theme = "textual-light"
        await pilot.pause()
        assert len(before - set(striped.styles.base.get_rules().items())) > 5
        assert 0 < drawn.count(striped) <= 6


def test_a_widget_gets_the_matching_rules_in_the_order_of_the_sheets() -> None:
    rules = StyleRules(variables=RED)
    rules.add_source("Label { color: $shade; } .loud { color: #00ff00; } #one { color: #0000ff; }", ("one", ""))
    plain, loud, result = Label(), Label(classes="loud"), Label(id="one", classes="loud")
    for label in (plain, loud, result):
        rules.apply(label)
    assert [label.styles.color.hex for label in (plain, loud, result)] == ["#FF0000", "#00FF00", "#0000FF"]
    rules.add_source(".loud { color: #010203; }", ("two", ""))
    rules.apply(loud)
    assert loud.styles.color.hex == "#010203"
