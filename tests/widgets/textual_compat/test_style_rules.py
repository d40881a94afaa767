from __future__ import annotations

import pytest
from textual.color import Color
from textual.css.stylesheet import StylesheetParseError

from karptui.widgets.textual_compat.style_rules import StyleRules

RED, BLUE = {"shade": "#ff0000"}, {"shade": "#0000ff"}


def sheet() -> StyleRules:
    rules = StyleRules(variables=RED)
    rules.add_source("Label { color: $shade; }", ("one", ""))
    rules.reparse()
    return rules


def test_sheets_that_are_as_they_were_are_not_read_again() -> None:
    rules = sheet()
    [label] = rules.rules
    rules.set_variables(dict(RED))
    rules.reparse()
    rules.add_source("Button { color: $shade; }", ("two", ""))
    assert rules.rules[0] is label
    assert len(rules.rules) == 2


def test_other_colours_reach_every_rule() -> None:
    rules = sheet()
    rules.set_variables(BLUE)
    rules.reparse()
    assert rules.rules[0].styles.color == Color.parse("#0000ff")


def test_a_sheet_that_cannot_be_read_leaves_the_rules_as_they_were() -> None:
    rules = sheet()
    before = rules.rules
    rules.add_source("Label { color: ; }", ("bad", ""))
    with pytest.raises(StylesheetParseError):
        rules.reparse()
    del rules.source["bad", ""]
    rules.reparse()
    assert [rule.css for rule in rules.rules] == [rule.css for rule in before]
