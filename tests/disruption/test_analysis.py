"""Karpenter's dollars as the user pays them."""

from __future__ import annotations

import pytest

from karptui.aws.prices import LIST_PRICES, PriceSettings
from karptui.disruption.analysis import NextCommand, billed_command, billed_verdict
from karptui.disruption.node_verdict import Replacement, Verdict
from karptui.disruption.outlook import Outcome

SETTINGS = PriceSettings(multiplier=0.5, surcharge_per_node_hour=0.1)
MADE = Replacement("general", ("m5.large",), 1.0, 3)
UNPRICED = Replacement("general", ("m5.large",), 0.0, 3)


@pytest.mark.parametrize(
    ("replacements", "saved", "prices"), [((), 2.1, []), ((MADE,), 2.0, [0.6]), ((MADE, UNPRICED), 1.9, [0.6, 0.0])]
)
def test_removed_node(replacements: tuple[Replacement, ...], saved: float, prices: list[float]) -> None:
    found = billed_verdict(Verdict(Outcome.DELETE, "Emptiness", 4.0, replacements), SETTINGS)
    assert found.savings_per_hour == pytest.approx(saved)
    assert [one.price_per_hour for one in found.replacements] == pytest.approx(prices)
    assert found.method == "Emptiness"


def test_a_node_that_stays_saves_nothing() -> None:
    stays = Verdict(Outcome.NO)
    assert billed_verdict(stays, SETTINGS) is stays


def test_a_command() -> None:
    command = NextCommand("replace", ("a", "b", "c"), (MADE,), 4.0)
    found = billed_command(command, SETTINGS)
    assert found.savings_per_hour == pytest.approx(2.2)
    assert [one.price_per_hour for one in found.replacements] == pytest.approx([0.6])


def test_list_prices_are_left_alone() -> None:
    verdict, command = Verdict(Outcome.DELETE, "Drift", 4.0), NextCommand("delete", ("a",), (), 4.0)
    assert billed_verdict(verdict, LIST_PRICES) is verdict
    assert billed_command(command, LIST_PRICES) is command


def test_without_prices_nothing_is_saved() -> None:
    found = billed_verdict(Verdict(Outcome.REPLACE, "Drift", 4.0, (MADE,)), PriceSettings(is_disabled=True))
    assert found.savings_per_hour == 0
    assert found.replacements[0].price_per_hour == 0
