"""Consolidation: which nodes qualify, what may replace them, and the multi- and single-node searches.

Rules: ``consolidation.go``, ``multinodeconsolidation.go`` and ``singlenodeconsolidation.go`` in
``pkg/controllers/disruption``, and ``SatisfiesMinValues`` in ``pkg/cloudprovider/types.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final

import msgspec

from karptui.disruption.balanced import BalancedPolicy, MoveScore
from karptui.disruption.candidate import LIKELIEST, Candidate, Chance
from karptui.disruption.command import Command, Decision
from karptui.disruption.emptiness import CONSOLIDATABLE, FilterCode, by_savings, consolidation_disabled, within_budgets
from karptui.disruption.events import Recorder
from karptui.disruption.launch_price import UNREACHABLE
from karptui.disruption.no_place import NoPlace
from karptui.disruption.simulation import FutileError, NewNode, OthersNeed, Simulation, SimulationError, Simulator
from karptui.karpenter.labels import CAPACITY_TYPE, ON_DEMAND, SPOT, ZONE
from karptui.karpenter.nodepool import WHEN_EMPTY
from karptui.karpenter.requirements import Requirement, Requirements
from karptui.kube.group import group_by
from karptui.provisioning.requirement_set import is_counted


def unmet_keys(node: NewNode) -> list[str]:
    """Return the minValues keys with too few values among the node's types, sorted; empty without types."""
    return sorted(_walk(node)[1])


def types_needed(node: NewNode) -> int:
    """Return the number of first types needed for enough values; 0 without minValues."""
    return _walk(node)[0]


def _walk(node: NewNode) -> tuple[int, set[str]]:
    limited = {requirement.key: requirement for requirement in node.requirements if requirement.min_values is not None}
    if not limited:
        return 0, set()
    seen: dict[str, set[str]] = {key: set() for key in limited}
    unmet: set[str] = set()
    for count, name in enumerate(node.type_names, start=1):
        type_requirements = Requirements.from_selectors(node.book.types[name].requirements)
        for key, requirement in limited.items():
            seen[key].update(
                value for value in type_requirements.get(key).values if is_counted(requirement, value, node.book.rules)
            )
        unmet = {key for key, requirement in limited.items() if len(seen[key]) < (requirement.min_values or 0)}
        if not unmet:
            return count, unmet
    return len(node.type_names), unmet


SPOT_TO_SPOT_TYPES: Final = 15
"""Cheaper types that a single spot node must have before another spot node may replace it."""
SPOT_TO_SPOT_GATE: Final = "SpotToSpotConsolidation"
_PIN_TO_SPOT: Final = Requirement.of(CAPACITY_TYPE, "In", (SPOT,))


class RefusalCode:
    """Codes of refused consolidations."""

    UNSCHEDULABLE: Final = "SIM_UNSCHEDULABLE"
    NEEDS_NODES: Final = "NEEDS_N_NODES"
    NOT_CHEAPER: Final = "NOT_CHEAPER"
    MIN_VALUES: Final = "MINVALUES"
    SPOT_OFF: Final = "SPOT_TO_SPOT_OFF"
    SPOT_FLEXIBILITY: Final = "SPOT_FLEXIBILITY"
    SCORE: Final = "BALANCED_REJECT"
    NOT_KNOWN: Final = "NOT_KNOWN"
    """Unknown: the provider's instance types are not known here."""


_DEPENDS_ON_TYPES: Final = frozenset(
    {
        RefusalCode.UNSCHEDULABLE,
        RefusalCode.NEEDS_NODES,
        RefusalCode.NOT_CHEAPER,
        RefusalCode.MIN_VALUES,
        RefusalCode.SPOT_FLEXIBILITY,
    }
)
TYPES_NOT_KNOWN: Final = "the provider's instance types and prices are unknown"


class Refusal(msgspec.Struct, frozen=True):
    """Why nodes are not consolidated, with Karpenter's message."""

    code: str
    message: str
    count: int = 0
    """New nodes needed, or cheaper types available, depending on the code."""
    simulation: Simulation | None = None
    score: float = 0.0
    """The score of the Balanced policy, for its code."""
    no_place: NoPlace | None = None
    """Why the first unschedulable pod fits nowhere, if requested."""
    type_names: tuple[str, ...] = ()
    """The cheaper types, cheapest first, if there are too few."""
    others_need: OthersNeed | None = None
    """New nodes for pods of other nodes and pending pods, if requested."""
    is_assumed: bool = False
    """Whether it follows from a default of Karpenter, assumed because its settings were not read."""


def missing_conditions(candidate: Candidate) -> Iterator[tuple[str, str]]:
    """Yield consolidation's unmet conditions as code and Karpenter's message (empty if it has none), in order."""
    pool, labels = candidate.pool, candidate.node.labels
    if pool.is_static:
        yield FilterCode.STATIC, ""
        return
    if candidate.instance_type is None:
        yield FilterCode.TYPE_UNKNOWN, f'Instance Type "{candidate.type_name}" not found'
    for key, code in ((CAPACITY_TYPE, FilterCode.NO_CAPACITY_TYPE), (ZONE, FilterCode.NO_ZONE)):
        if key not in labels:
            yield code, f'Node does not have label "{key}"'
    disabled = consolidation_disabled(candidate)
    if disabled:
        yield FilterCode.NEVER, disabled
    if candidate.is_empty:
        yield FilterCode.EMPTY, ""
    elif pool.consolidation_policy == WHEN_EMPTY:
        message = f'NodePool "{pool.name}" has consolidation policy WhenEmpty, but node is not empty'
        yield FilterCode.POLICY, message
    if not candidate.claim.is_true(CONSOLIDATABLE):
        yield FilterCode.NOT_CONSOLIDATABLE, ""


def refuse(candidate: Candidate) -> tuple[str, str] | None:
    """Return the reason why a node is not consolidated, as code and Karpenter's message (may be empty), or None."""
    return next(missing_conditions(candidate), None)


class Consolidator:
    """Computes the result of removing nodes together."""

    def __init__(self, simulator: Simulator, recorder: Recorder, *, is_spot_to_spot_on: bool) -> None:
        self._simulator = simulator
        self._recorder = recorder
        self._is_spot_to_spot_on = is_spot_to_spot_on

    def compute(self, candidates: Sequence[Candidate]) -> Command | Refusal:
        """Return the command that removes the candidates together, or why there is none."""
        try:
            result = self._weigh(tuple(candidates))
        except FutileError:
            result = Refusal(RefusalCode.NOT_CHEAPER, "Can't replace with a cheaper node")
        if isinstance(result, Command):
            if result.replacements:
                result.announce(self._recorder)
        elif result.code in _DEPENDS_ON_TYPES and any(candidate.is_type_guessed for candidate in candidates):
            result = msgspec.structs.replace(result, code=RefusalCode.NOT_KNOWN, message=TYPES_NOT_KNOWN)
        elif len(candidates) == 1:
            self._recorder.unconsolidatable(candidates[0].node, result.message)
        return result

    def _weigh(self, candidates: tuple[Candidate, ...]) -> Command | Refusal:
        simulation = self._simulator.remove(candidates, is_consolidation=True)
        if simulation.blocking_errors:
            return Refusal(RefusalCode.UNSCHEDULABLE, simulation.explanation(), simulation=simulation)
        if not simulation.new_nodes:
            return Command(candidates, (), simulation)
        count = len(simulation.new_nodes)
        if count != 1:
            message = f"Can't remove without creating {count} candidates"
            return Refusal(RefusalCode.NEEDS_NODES, message, count, simulation)
        node = simulation.new_nodes[0]
        capacity_types = node.requirements.get(CAPACITY_TYPE)
        if capacity_types.allows(SPOT) and all(candidate.capacity_type == SPOT for candidate in candidates):
            return self._spot_to_spot(candidates, node, simulation)
        cheaper = self._cheaper(node, candidates, simulation)
        if isinstance(cheaper, Refusal):
            return cheaper
        if capacity_types.allows(SPOT) and capacity_types.allows(ON_DEMAND):
            cheaper = _pinned_to_spot(cheaper)
        return Command(candidates, (cheaper,), simulation)

    @staticmethod
    def _cheaper(node: NewNode, candidates: Sequence[Candidate], simulation: Simulation) -> NewNode | Refusal:
        """Return the new node with the types that are cheaper than the candidates together even at the worst price."""
        cheaper_node = below(node, ceiling_of(candidates))
        unmet = unmet_keys(cheaper_node)
        if unmet:
            return Refusal(RefusalCode.MIN_VALUES, f"Filtering by price: {min_values_message(unmet)}", 0, simulation)
        if not cheaper_node.type_names:
            return Refusal(RefusalCode.NOT_CHEAPER, "Can't replace with a cheaper node", 0, simulation)
        return cheaper_node

    def _spot_to_spot(
        self, candidates: tuple[Candidate, ...], node: NewNode, simulation: Simulation
    ) -> Command | Refusal:
        if not self._is_spot_to_spot_on:
            message = "SpotToSpotConsolidation is disabled, can't replace a spot node with a spot node"
            return Refusal(RefusalCode.SPOT_OFF, message, 0, simulation)
        pinned = _pinned_to_spot(node)
        offered = [
            name for name in node.type_names if node.book.compatible(name, pinned.requirements, available_only=True)
        ]
        cheaper = self._cheaper(pinned.with_types(offered), candidates, simulation)
        if isinstance(cheaper, Refusal):
            return cheaper
        if len(candidates) == 1:
            count = len(cheaper.type_names)
            if count < SPOT_TO_SPOT_TYPES:
                message = (
                    f"SpotToSpotConsolidation requires {SPOT_TO_SPOT_TYPES} cheaper instance type options than the"
                    f" current candidate to consolidate, got {count}"
                )
                return Refusal(
                    RefusalCode.SPOT_FLEXIBILITY, message, count, simulation, type_names=tuple(cheaper.type_names)
                )
            cheaper = cheaper.with_types(cheaper.type_names[: max(SPOT_TO_SPOT_TYPES, types_needed(cheaper))])
        return Command(candidates, (cheaper,), simulation)


def ceiling_of(candidates: Sequence[Candidate]) -> float:
    """Return the total price of nodes; their replacement must be cheaper."""
    return sum(candidate.price for candidate in candidates)


def below(node: NewNode, ceiling: float) -> NewNode:
    """Return a new node with only the types whose worst launch price is below the ceiling."""
    return node.with_types(
        [name for name in node.type_names if node.book.worst_launch(name, node.requirements) < ceiling]
    )


def min_values_message(keys: Sequence[str]) -> str:
    """Return Karpenter's message for keys whose ``minValues`` the types no longer reach."""
    return f"minValues requirement is not met for label(s) (label(s)=[{' '.join(keys)}])"


def _pinned_to_spot(node: NewNode) -> NewNode:
    return msgspec.structs.replace(node, requirements=node.requirements.add(_PIN_TO_SPOT))


MAX_TOGETHER: Final = 100
"""Index of the last candidate considered, from 0."""


def multi_node_command(
    candidates: Iterable[Candidate],
    budgets: Mapping[str, int],
    consolidator: Consolidator,
    policy: BalancedPolicy,
    chance: Chance = LIKELIEST,
) -> tuple[Command, ...]:
    """Return the command that removes the longest prefix of nodes, by savings per disruption cost, if there is one.

    Karpenter's search stops after a minute; here it always completes.
    """
    command, scores = _search(within_budgets(by_savings(candidates, chance), budgets), consolidator, policy)
    if scores is not None:
        policy.publish_approvals(scores)
    return () if command is None else (command,)


def _search(
    candidates: Sequence[Candidate], consolidator: Consolidator, policy: BalancedPolicy
) -> tuple[Command | None, Mapping[str, MoveScore] | None]:
    """Return the last success of the binary search and its scores; without success, the last rejected scores."""
    if len(candidates) < 2:
        return None, None
    low, high = 1, min(len(candidates) - 1, MAX_TOGETHER)
    best: Command | None = None
    best_scores: Mapping[str, MoveScore] | None = None
    refused_scores: Mapping[str, MoveScore] | None = None
    while low <= high:
        middle = (low + high) // 2
        command = _unless_same_type(consolidator.compute(candidates[: middle + 1]))
        if command is not None:
            scores = policy.scores(command)
            if all(score.is_approved for score in scores.values()):
                best_scores = scores
            else:
                command, refused_scores = None, scores
        if command is not None:
            best, low = command, middle + 1
        else:
            high = middle - 1
    return best, best_scores if best is not None else refused_scores


def _unless_same_type(result: Command | Refusal) -> Command | None:
    """Return the command unless its replacement is of the same type as a removed node and no cheaper."""
    if isinstance(result, Refusal):
        return None
    if result.decision is Decision.DELETE:
        return result
    replacement = without_same_type(result.replacements[0], result.candidates)
    if not replacement.type_names or unmet_keys(replacement):
        return None
    return Command(result.candidates, (replacement,), result.simulation)


def without_same_type(node: NewNode, candidates: Sequence[Candidate]) -> NewNode:
    """Return a replacement without types that cost at least as much as the cheapest removed node of a shared type.

    If a shared type's price is unknown, no type remains.
    """
    prices: dict[str, float] = {}
    going = {candidate.type_name for candidate in candidates}
    for candidate in candidates:
        labels = Requirements.from_labels(candidate.node.labels)
        price = candidate.book.cheapest(candidate.type_name, labels, available_only=False)
        if price < prices.get(candidate.type_name, UNREACHABLE):
            prices[candidate.type_name] = price
    ceiling = min((prices.get(name, 0.0) for name in node.type_names if name in going), default=UNREACHABLE)
    return below(node, ceiling)


def interleaved(candidates: Iterable[Candidate], chance: Chance = LIKELIEST) -> list[Candidate]:
    """Return candidates round-robin: the best of each NodePool, then the second best of each.

    By default the NodePool with the best node is first; ``chance`` may choose another.
    """
    return [candidate for together in _rounds(candidates, chance) for candidate in together]


def _rounds(candidates: Iterable[Candidate], chance: Chance) -> Iterator[list[Candidate]]:
    by_pool = group_by(by_savings(candidates, chance), lambda candidate: candidate.pool.name)
    for together in zip_longest(*(by_pool[name] for name in chance.pools(by_pool))):
        yield [candidate for candidate in together if candidate is not None]


def as_likely(first: Candidate, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates that Karpenter may remove instead of the first that can be removed, if they can be.

    The order of NodePools, and of nodes of a NodePool with equal savings, is random.
    """
    together = next(each for each in _rounds(candidates, LIKELIEST) if first in each)
    others = together[together.index(first) + 1 :]
    return others + [
        candidate
        for candidate in candidates
        if candidate.pool is first.pool and candidate.savings_ratio == first.savings_ratio and candidate is not first
    ]


def single_node_command(
    candidates: Iterable[Candidate],
    budgets: Mapping[str, int],
    consolidator: Consolidator,
    policy: BalancedPolicy,
    chance: Chance = LIKELIEST,
) -> tuple[Command, ...]:
    """Return the command for the first node that can be removed, and record why the ones before it cannot.

    Karpenter's search stops after three minutes; here it always completes.
    """
    for candidate in interleaved(candidates, chance):
        if not budgets.get(candidate.pool.name, 0) or not policy.may_pass(candidate):
            continue
        try:
            result = consolidator.compute((candidate,))
        except SimulationError:
            continue
        if isinstance(result, Command) and policy.approves_single(result):
            return (result,)
    return ()
