"""Nodes and dollars per NodePool after a replay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from karptui.karpenter.labels import CAPACITY_TYPE, INSTANCE_TYPE, ZONE
from karptui.provisioning.state_node import StateNode
from karptui.whatif.outcome import PoolFigures
from karptui.whatif.situation import Situation

if TYPE_CHECKING:
    from karptui.whatif.outcome import Outcome


def pool_figures(outcome: Outcome) -> Mapping[str, PoolFigures]:
    """Return the nodes that a replay leaves by NodePool, every NodePool included."""
    tallies = {pool.name: _Tally() for pool in outcome.replayed.prepared.pools}
    for pool in outcome.replayed.inventory.nodepools:
        tallies.setdefault(pool.name, _Tally())
    gone = outcome.gone | _commanded(outcome)
    for state in outcome.replayed.prepared.states:
        if state.claim is None or state.is_marked_for_deletion or state.provider_id in gone:
            continue
        tallies.setdefault(state.nodepool_name, _Tally()).add(node_price(outcome.replayed, state), is_new=False)
    for pool_name, price in _launched(outcome):
        tallies.setdefault(pool_name, _Tally()).add(price, is_new=True)
    return {name: tally.figures() for name, tally in tallies.items()}


def node_price(situation: Situation, state: StateNode) -> float | None:
    """Return what a node costs per hour by its labels, None where that is not known."""
    book = situation.books.get(state.nodepool_name)
    if book is None:
        return None
    labels = state.labels
    return book.price(labels.get(INSTANCE_TYPE, ""), labels.get(ZONE, ""), labels.get(CAPACITY_TYPE, "")) or None


def _commanded(outcome: Outcome) -> frozenset[str]:
    commands = () if outcome.next_pass is None else outcome.next_pass.commands
    return frozenset(candidate.node.provider_id for command in commands for candidate in command.candidates)


def _launched(outcome: Outcome) -> Iterator[tuple[str, float | None]]:
    for claim in outcome.claims:
        yield claim.nodepool_name, outcome.claim_types.price(claim)
    for command in () if outcome.next_pass is None else outcome.next_pass.commands:
        for node in command.replacements:
            yield node.pool_name, node.cheapest_price()
        for _ in range(command.from_template):
            yield command.candidates[0].pool.name, None


class _Tally:
    def __init__(self) -> None:
        self._nodes = self._launched = self._unpriced = 0
        self._price = 0.0

    def add(self, price: float | None, *, is_new: bool) -> None:
        self._nodes += 1
        self._launched += is_new
        if price is None:
            self._unpriced += 1
        else:
            self._price += price

    def figures(self) -> PoolFigures:
        return PoolFigures(self._nodes, self._launched, self._price, self._unpriced)
