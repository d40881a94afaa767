"""What happens to a node, as plain values without references to the simulated cluster."""

from __future__ import annotations

from typing import Final

import msgspec

from karptui.disruption.command import Command
from karptui.disruption.consolidation import Refusal, RefusalCode
from karptui.disruption.no_place import NoPlace
from karptui.disruption.outlook import Outcome, RemovalResult
from karptui.disruption.simulation import NewNode, OthersNeed, Simulation, no_place
from karptui.disruption.static_drift import template_types
from karptui.provisioning.rejection import PodError
from karptui.provisioning.run import Run

MOST_REASONS: Final = 20
"""Maximum number of pod templates whose failures are explained; others have only Karpenter's message."""


class Replacement(msgspec.Struct, frozen=True, gc=False):
    """A node that would be launched."""

    pool_name: str
    type_names: tuple[str, ...]
    """Possible instance types, cheapest first."""
    price_per_hour: float
    """Karpenter's price; 0 if unknown."""
    pods: int
    is_from_template: bool = False
    """Whether it is launched from the NodePool's template, where the provider chooses the type."""


class Refused(msgspec.Struct, frozen=True, gc=False):
    """Why a method does not disrupt a node."""

    method: str
    code: str
    message: str


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """What happens to a node."""

    outcome: Outcome
    method: str = ""
    """The method that disrupts it; empty if it stays."""
    savings_per_hour: float = 0.0
    """Dollars saved per hour; 0 if the node stays or the savings are unknown."""
    replacements: tuple[Replacement, ...] = ()
    refusal_code: str = ""
    """Why the first method did not disrupt it, if none does; a code of ``RefusalCode``."""
    refusal_message: str = ""
    """Karpenter's message for the code."""
    no_place: NoPlace | None = None
    """The pod without another place, and why, if that is the reason."""
    others_need: OthersNeed | None = None
    """New nodes that consolidation counts against the node although they are for pods of others."""
    count: int = 0
    """New nodes needed, or cheaper types available."""
    score: float = 0.0
    """The score of the Balanced policy, if it rejects the node."""
    cheaper_types: tuple[str, ...] = ()
    """The cheaper types, cheapest first, if spot-to-spot consolidation needs more of them."""
    is_assumed: bool = False
    """Whether the refusal follows from a default of Karpenter, assumed because its settings were not read."""

    refused: tuple[Refused, ...] = ()
    """The refusals of all methods that were tried."""
    is_first: bool = False
    """Whether it is deleted before its replacement exists (terminate-first)."""
    moved: int = 0
    """Its pods with another place, if Drift or consolidation removes it."""
    lost: int = 0
    """Its pods that are evicted and not recreated."""
    kept: int = 0
    """Its pods that may not be evicted now: Karpenter does not reschedule them but disrupts the node anyway."""
    is_saving_known: bool = True
    """Whether all prices behind ``savings_per_hour`` are known."""

    @property
    def goes(self) -> bool:
        """Whether the node is removed or rebooted."""
        return self.outcome in (Outcome.DELETE, Outcome.REPLACE, Outcome.REBOOT)

    @property
    def is_open(self) -> bool:
        """Whether its savings are unknown: its replacement is not chosen yet, or a price is unknown."""
        unpriced = any(node.is_from_template or not node.price_per_hour for node in self.replacements)
        return self.outcome == Outcome.REPLACE and (self.is_first or unpriced or not self.is_saving_known)


class Landing(msgspec.Struct, frozen=True, gc=False):
    """Where a pod would be scheduled if its node were removed."""

    node_name: str = ""
    """An existing node; empty for a new node or none."""
    pool_name: str = ""
    """The NodePool of a new node."""
    type_name: str = ""
    """The cheapest instance type of the new node."""
    error: str = ""
    """Karpenter's message if it cannot be scheduled."""
    no_place: NoPlace | None = None
    """The same reason as data."""
    is_known: bool = True
    """Whether the result is independent of instance types that were derived from nodes."""


def verdict_of(removal: RemovalResult) -> Verdict:
    """Return a removal result as values."""
    refusal = removal.refusal
    return Verdict(
        outcome=removal.outcome,
        method="" if removal.method is None else str(removal.method),
        savings_per_hour=removal.savings_per_hour,
        replacements=() if removal.command is None else replacements_of(removal.command),
        refusal_code="" if refusal is None else refusal.code,
        refusal_message="" if refusal is None else refusal.message,
        no_place=None if refusal is None else refusal.no_place,
        others_need=None if refusal is None else refusal.others_need,
        count=0 if refusal is None else refusal.count,
        score=_score(refusal),
        cheaper_types=() if refusal is None else refusal.type_names,
        is_assumed=refusal is not None and refusal.is_assumed,
        refused=tuple(
            Refused(str(method), refusal.code, refusal.message) for method, refusal in removal.refusals.items()
        ),
        is_first=removal.command is not None and removal.command.terminate_first is not None,
        moved=removal.moved,
        lost=removal.lost,
        kept=removal.kept,
        is_saving_known=removal.is_saving_known,
    )


def replacements_of(command: Command) -> tuple[Replacement, ...]:
    """Return a command's new nodes."""
    replacements = [_replacement(node) for node in command.replacements]
    if command.from_template:
        first = command.candidates[0]
        types, price = template_types(first.pool, first.book)
        replacements += [Replacement(first.pool.name, types, price, 0, is_from_template=True)] * command.from_template
    return tuple(replacements)


def _replacement(node: NewNode) -> Replacement:
    return Replacement(node.pool_name, node.type_names, node.estimated_price(), len(node.pods))


def _score(refusal: Refusal | None) -> float:
    return refusal.score if refusal is not None and refusal.code == RefusalCode.SCORE else 0.0


def landings_of(simulation: Simulation) -> dict[str, Landing]:
    """Return the node or NodePool of each pod of a simulation, by ``namespace/name``."""
    landings: dict[str, Landing] = {}
    for node_name, pods in simulation.placements.items():
        landings.update((pod.key, Landing(node_name=node_name)) for pod in pods)
    for new in simulation.new_nodes:
        is_known = not any(instance_type.is_guessed for instance_type in new.book.types.values())
        place = Landing(
            pool_name=new.pool_name, type_name=new.type_names[0] if new.type_names else "", is_known=is_known
        )
        landings.update(dict.fromkeys(new.pods, place))
    reasons: dict[int, NoPlace] = {}
    run = simulation.solution.run
    guessed = run.prepared.guessed_pools.keys() if isinstance(run, Run) else frozenset[str]()
    for pod, why in simulation.errors:
        cause = id(pod.template)
        if cause not in reasons and len(reasons) < MOST_REASONS:
            reasons[cause] = no_place(simulation.solution, pod, asks_nodes=True)
        is_known = not (isinstance(why, PodError) and why.hangs_on(guessed))
        landings[pod.key] = Landing(error=str(why), no_place=reasons.get(cause), is_known=is_known)
    return landings
