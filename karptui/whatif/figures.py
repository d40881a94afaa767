"""Nodes and dollars per NodePool after a replay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from karptui.whatif.money import Cost, cost_of_new_node, cost_of_node, cost_of_option
from karptui.whatif.outcome import PoolFigures

if TYPE_CHECKING:
    from karptui.whatif.outcome import Outcome


def pool_figures(outcome: Outcome) -> Mapping[str, PoolFigures]:
    """Return the nodes that a replay leaves by NodePool, every NodePool included."""
    tallies = {pool.name: _Tally() for pool in outcome.prepared.pools}
    for pool in outcome.prepared.inventory.nodepools:
        tallies.setdefault(pool.name, _Tally())
    gone = outcome.gone | _commanded(outcome)
    for state in outcome.prepared.states:
        if state.claim is None or state.is_marked_for_deletion or state.provider_id in gone:
            continue
        tallies.setdefault(state.nodepool_name, _Tally()).add(
            cost_of_node(outcome.prices, outcome.books, state), is_new=False
        )
    for pool_name, cost in _launched(outcome):
        tallies.setdefault(pool_name, _Tally()).add(cost, is_new=True)
    return {name: tally.figures() for name, tally in tallies.items()}


def _commanded(outcome: Outcome) -> frozenset[str]:
    commands = () if outcome.next_pass is None else outcome.next_pass.commands
    return frozenset(candidate.node.provider_id for command in commands for candidate in command.candidates)


def _launched(outcome: Outcome) -> Iterator[tuple[str, Cost]]:
    prices = outcome.prices
    for claim in outcome.claims:
        yield claim.nodepool_name, cost_of_option(prices, outcome.claim_types.first(claim))
    for command in () if outcome.next_pass is None else outcome.next_pass.commands:
        for node in command.replacements:
            yield node.pool_name, cost_of_new_node(prices, node)
        for _ in range(command.from_template):
            yield command.candidates[0].pool.name, Cost()


class _Tally:
    def __init__(self) -> None:
        self._nodes = self._launched = self._unpriced = 0
        self._per_hour = self._at_most = 0.0

    def add(self, cost: Cost, *, is_new: bool) -> None:
        self._nodes += 1
        self._launched += is_new
        if cost.per_hour is None:
            self._unpriced += 1
            self._at_most += cost.at_most_per_hour or 0.0
        else:
            self._per_hour += cost.per_hour

    def figures(self) -> PoolFigures:
        return PoolFigures(self._nodes, self._launched, self._per_hour, self._unpriced, self._at_most)
