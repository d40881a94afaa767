from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from karptui.aws.evidence import Evidence
from karptui.aws.prices import NodePrices, Price, PriceOrigin, PriceSettings, PriceSource, PriceTable
from karptui.decode.kinds import Kind
from karptui.karpenter.inventory import Inventory
from karptui.session.cluster_view import ClusterView
from karptui.session.costs import total_of
from karptui.session.nodes import NodeEntry
from karptui.views.prices import book_sentence, cost_fact, price_cell, price_sentence, total_words
from tests import builders
from tests.builders.clusters import state_of
from tests.ui.fleet import status

BUILT_IN = PriceOrigin(PriceSource.BUILT_IN, builders.NOW_NS)
PRICE = Price(0.72, 1.0, "USD", BUILT_IN)


def an_entry(price: Price | None = None, **node: Any) -> NodeEntry:
    return NodeEntry(builders.a_node(**node), None, price=price)


@pytest.mark.parametrize(("entry", "text"), [
    (an_entry(PRICE), "$0.7200"),
    (an_entry(), "n/a"),
    (NodeEntry(None, builders.a_nodeclaim(stage="")), "-"),
    (NodeEntry(None, builders.a_nodeclaim(stage="Launched")), "n/a"),
])  # fmt: skip
def test_a_price_cell_shows_the_price_or_that_it_is_unknown(entry: NodeEntry, text: str) -> None:
    assert price_cell(entry).text == text


@pytest.mark.parametrize(("entry", "sentence"), [
    (an_entry(PRICE), "$0.7200/h, built-in list, 2026-11-20, listed $1.0000"),
    (an_entry(Price(1.0, 1.0, "USD", BUILT_IN, is_reservation=True)),
     "$1.0000/h, built-in list, 2026-11-20, on-demand rate: the reservation is billed whether it is used or not"),
    (an_entry(capacity_type="spot"), "price n/a: spot prices are unknown"),
    (an_entry(instance_type="x9.huge"), "price n/a: no list has x9.huge"),
    (an_entry(instance_type=""), "price n/a: no instance type"),
])  # fmt: skip
def test_a_price_sentence_names_its_source(entry: NodeEntry, sentence: str) -> None:
    assert price_sentence(entry) == sentence


def test_a_total_shows_the_number_of_unpriced_nodes() -> None:
    starting = NodeEntry(None, builders.a_nodeclaim(stage=""))
    total = total_of([an_entry(PRICE), an_entry(PRICE), an_entry(), starting])
    assert (total.priced, total.unpriced) == (2, 1)
    assert total_words(total) == "$1.44/h · $1,051/mo + 1 n/a"
    assert (cost_fact(total).short, cost_fact(total_of([an_entry(PRICE)])).short) == ("$1.44/h+", "$0.72/h")
    assert total_words(total_of([])) == "$0.00/h · $0/mo"
    assert total_words(total_of([an_entry()])) == "$/h n/a"


def test_the_source_of_prices_is_named() -> None:
    table = PriceTable(origin=BUILT_IN, on_demand={"m5.large": 0.096})
    assert book_sentence(NodePrices((table,))) == "prices: built-in list, 2026-11-20"
    changed = NodePrices((table,), PriceSettings(multiplier=0.72, surcharge_per_node_hour=0.01))
    assert book_sentence(changed) == "prices: built-in list, 2026-11-20 · ×0.72 · +$0.0100 a node"
    assert book_sentence(NodePrices()) == "prices: unknown"
    assert book_sentence(NodePrices((table,), PriceSettings(is_disabled=True))) == "prices: off (--disable-pricing)"


NODES = (
    builders.a_node(name="cheap", instance_type="m5.large"),
    builders.a_node(name="dear", instance_type="r5a.8xlarge"),
    builders.a_node(name="spot", instance_type="m5.large", capacity_type="spot"),
    builders.a_node(
        name="group", pool="", instance_type="m5.xlarge", labels={"eks.amazonaws.com/capacityType": "ON_DEMAND"}
    ),
    builders.a_node(name="unknown", pool="", instance_type="m5.xlarge"),
)


def a_view(settings: PriceSettings | None = None, before: ClusterView | None = None) -> ClusterView:
    evidence = before.evidence if before is not None else Evidence(price_settings=settings or PriceSettings())
    state = before.state if before is not None else state_of(Inventory(nodes=NODES))
    return ClusterView(state, {}, before, evidence=evidence)


def test_two_nodes_of_one_instance_are_priced_once() -> None:
    cheap = NODES[0]
    state = state_of(Inventory(nodes=(cheap, replace(cheap, name="again", uid="again"))))
    both = ClusterView(state, {}, evidence=Evidence())
    first, second = both.node_entries
    assert (total_of(both.node_entries).per_hour, price_cell(second).text) == (0.096, "$0.0000")
    assert price_sentence(second).endswith(f": the same instance as Node {first.name}, whose price counts")
    alone = ClusterView(state_of(Inventory(nodes=(replace(cheap, name="again", uid="again"),))), {}, both)
    assert [entry.price and entry.price.per_hour for entry in alone.node_entries] == [0.096]


def test_entries_are_reused_until_prices_change() -> None:
    first = a_view()
    entries = first.node_entries
    again = ClusterView(first.state, {"Node": status(Kind.NODE)}, first, evidence=first.evidence)
    assert again.node_entries[0] is entries[0]
    assert again.prices is first.prices
    other = ClusterView(first.state, {}, first, evidence=Evidence(price_settings=PriceSettings(multiplier=2)))
    assert other.node_entries[0].price is not None
    assert other.node_entries[0].price.per_hour == 0.192
