"""What would become of a node, as plain values that do not hold on to the cluster they were worked out from."""

from __future__ import annotations

from typing import Final

import msgspec

from karptui.disruption.command import Command
from karptui.disruption.consolidation import Refusal, RefusalCode
from karptui.disruption.no_place import NoPlace
from karptui.disruption.outlook import Outcome, Prospect
from karptui.disruption.simulation import NewNode, OthersNeed, Simulation, no_place
from karptui.disruption.static_drift import template_types
from karptui.provisioning.rejection import PodError
from karptui.provisioning.run import Run

MOST_REASONS: Final = 20
"""Templates of pods without a place whose reasons are looked into; the others have Karpenter's words only."""


class Replacement(msgspec.Struct, frozen=True, gc=False):
    """A node that would be launched."""

    pool_name: str
    type_names: tuple[str, ...]
    """Instance types it may have, the cheapest first."""
    price_per_hour: float
    """What Karpenter reckons it costs; 0 where that is not known."""
    pods: int
    """Pods it is for."""
    is_from_template: bool = False
    """Whether it is launched from the NodePool's template as it stands: the provider chooses among the types."""


class Refused(msgspec.Struct, frozen=True, gc=False):
    """Why one method comes to nothing."""

    method: str
    code: str
    """Of ``RefusalCode``."""
    message: str
    """Karpenter's words."""


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """What becomes of a node."""

    outcome: Outcome
    method: str = ""
    """The method that takes it, empty where it stays."""
    savings_per_hour: float = 0.0
    """Dollars per hour that are saved; 0 where the node stays, and where nobody can say."""
    replacements: tuple[Replacement, ...] = ()
    refusal_code: str = ""
    """Why the first method that was tried comes to nothing, where none takes the node; of ``RefusalCode``."""
    refusal_message: str = ""
    """The same in Karpenter's words."""
    no_place: NoPlace | None = None
    """Which pod has no other place, and what is short, where that is the reason."""
    others_need: OthersNeed | None = None
    """New nodes that consolidation counts against the node although they are for pods that are not on it."""
    count: int = 0
    """New nodes needed, or cheaper types found."""
    score: float = 0.0
    """Of the Balanced policy, where it refuses."""
    cheaper_types: tuple[str, ...] = ()
    """The cheaper types, the cheapest first, where spot-to-spot consolidation wants more of them."""

    refused: tuple[Refused, ...] = ()
    """What each method that was tried and comes to nothing says."""
    is_first: bool = False
    """Whether it is deleted before a replacement can exist (terminate-first)."""
    moved: int = 0
    """Pods on it that have another place, where it goes by Drift or consolidation."""
    lost: int = 0
    """Pods on it that are evicted and that nothing recreates."""
    kept: int = 0
    """Pods on it that may not be evicted now: Karpenter seeks no place for them, and takes the node all the same."""
    is_saving_known: bool = True
    """Whether every price that ``savings_per_hour`` hangs on is known."""

    @property
    def goes(self) -> bool:
        """Whether the node goes, or is started anew."""
        return self.outcome in (Outcome.DELETE, Outcome.REPLACE, Outcome.REBOOT)

    @property
    def is_open(self) -> bool:
        """Whether nobody can say what it saves: what comes in its place is not chosen yet, or a price is unknown."""
        unpriced = any(one.is_from_template or not one.price_per_hour for one in self.replacements)
        return self.outcome == Outcome.REPLACE and (self.is_first or unpriced or not self.is_saving_known)


class Landing(msgspec.Struct, frozen=True, gc=False):
    """Where a pod would land if its node were removed."""

    node_name: str = ""
    """An existing node, empty for a new one or none."""
    pool_name: str = ""
    """The NodePool of a new node."""
    type_name: str = ""
    """The cheapest instance type of the new node."""
    error: str = ""
    """Why it has no place, in Karpenter's words."""
    no_place: NoPlace | None = None
    """The same as data."""
    is_known: bool = True
    """Whether it hangs on no instance types that only nodes show."""


def verdict_of(prospect: Prospect) -> Verdict:
    """Return a prospect as values."""
    refusal = prospect.refusal
    return Verdict(
        outcome=prospect.outcome,
        method="" if prospect.method is None else str(prospect.method),
        savings_per_hour=prospect.savings_per_hour,
        replacements=() if prospect.command is None else replacements_of(prospect.command),
        refusal_code="" if refusal is None else refusal.code,
        refusal_message="" if refusal is None else refusal.message,
        no_place=None if refusal is None else refusal.no_place,
        others_need=None if refusal is None else refusal.others_need,
        count=0 if refusal is None else refusal.count,
        score=_score(refusal),
        cheaper_types=() if refusal is None else refusal.type_names,
        refused=tuple(Refused(str(method), one.code, one.message) for method, one in prospect.refusals.items()),
        is_first=prospect.command is not None and prospect.command.terminate_first is not None,
        moved=prospect.moved,
        lost=prospect.lost,
        kept=prospect.kept,
        is_saving_known=prospect.is_saving_known,
    )


def replacements_of(command: Command) -> tuple[Replacement, ...]:
    """Return what a command launches."""
    made = [_replacement(node) for node in command.replacements]
    if command.from_template:
        first = command.candidates[0]
        types, price = template_types(first.pool, first.book)
        made += [Replacement(first.pool.name, types, price, 0, is_from_template=True)] * command.from_template
    return tuple(made)


def _replacement(node: NewNode) -> Replacement:
    return Replacement(node.pool_name, node.type_names, node.estimated_price(), len(node.pods))


def _score(refusal: Refusal | None) -> float:
    return refusal.score if refusal is not None and refusal.code == RefusalCode.SCORE else 0.0


def landings_of(simulation: Simulation) -> dict[str, Landing]:
    """Return by ``namespace/name`` where each pod of a simulation lands."""
    found: dict[str, Landing] = {}
    for node_name, pods in simulation.placements.items():
        found.update((pod.key, Landing(node_name=node_name)) for pod in pods)
    for new in simulation.new_nodes:
        is_known = not any(one.is_guessed for one in new.book.types.values())
        place = Landing(
            pool_name=new.pool_name, type_name=new.type_names[0] if new.type_names else "", is_known=is_known
        )
        found.update(dict.fromkeys(new.pods, place))
    reasons: dict[int, NoPlace] = {}
    run = simulation.solution.run if simulation.solution is not None else None
    guessed = run.prepared.guessed_pools.keys() if isinstance(run, Run) else frozenset[str]()
    for pod, why in simulation.errors:
        cause = id(pod.template)
        if cause not in reasons and len(reasons) < MOST_REASONS and simulation.solution is not None:
            reasons[cause] = no_place(simulation.solution, pod, asks_nodes=True)
        is_known = not (isinstance(why, PodError) and why.hangs_on(guessed))
        found[pod.key] = Landing(error=str(why), no_place=reasons.get(cause), is_known=is_known)
    return found
