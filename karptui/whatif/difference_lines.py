"""The lines of a difference: pods, NodePools, nodes with types in price order, drift, budgets and commands."""

from __future__ import annotations

from enum import StrEnum
from itertools import compress
from typing import Final

import msgspec

from karptui.karpenter.labels import CAPACITY_TYPE, WELL_KNOWN, ZONE
from karptui.karpenter.requirements import Requirements
from karptui.provisioning.catalogue import Catalogue
from karptui.provisioning.rejection import PodError
from karptui.provisioning.solution import NewClaim
from karptui.provisioning.type_index import TypeIndex, single_value


class PlaceKind(StrEnum):
    """Where a pod ends up."""

    NODE = "node"
    """On a node that exists."""
    CLAIM = "new node"
    """On a node that would be launched."""
    NONE = "no place"
    ABSENT = "absent"
    """The pod is not there on this side."""


class PodPlace(msgspec.Struct, frozen=True, gc=False):
    """A place for a pod; equal places are equal values."""

    kind: PlaceKind
    pool_name: str = ""
    """NodePool of the node, empty for nodes that Karpenter did not make."""
    node_name: str = ""
    """Of a node that exists."""


NOWHERE: Final = PodPlace(PlaceKind.NONE)
ABSENT: Final = PodPlace(PlaceKind.ABSENT)


COUNTED: Final = "Karpenter's, staying"
"""Nodes that the figures of a what-if count. Unlike the top bar: starting nodes, and none being removed."""


class Totals(msgspec.Struct, frozen=True, gc=False):
    """One side in figures."""

    nodes: int = 0
    """Managed nodes after the replay, including new ones, without those being removed."""
    launched: int = 0
    """New ones of them."""
    price_per_hour: float = 0.0
    """Dollars; nodes without a known price are left out."""
    unpriced: int = 0
    """Nodes without a known price."""
    pending: int = 0
    """Unschedulable pods after the replay."""
    drifted: int = 0
    """NodeClaims that are drifted, or that Karpenter would find drifted."""
    unpriced_at_most_per_hour: float = 0.0
    """Maximum cost of the nodes without a known price: spot nodes at their on-demand price."""
    unbounded: int = 0
    """Nodes without a known price or a maximum."""

    @property
    def at_most_per_hour(self) -> float:
        """Cost with spot nodes of unknown price at their on-demand price."""
        return self.price_per_hour + self.unpriced_at_most_per_hour


class WeightChange(msgspec.Struct, frozen=True, gc=False):
    """Position of a NodePool whose weight is edited."""

    pool_name: str
    ahead_of: tuple[str, ...] = ()
    """NodePools that are tried after it now, and were tried before it."""
    behind: tuple[str, ...] = ()
    """NodePools that are tried before it now, and were tried after it."""
    is_usable: bool = True
    """Whether it has instance types: otherwise no pod gets there at any weight."""


class PoolChange(msgspec.Struct, frozen=True, gc=False):
    """A NodePool before and after."""

    name: str
    """Empty for nodes whose NodePool is not known."""
    nodes_before: int
    nodes_after: int
    launched_before: int
    launched_after: int
    price_before: float
    """Dollars per hour."""
    price_after: float
    is_new: bool = False
    """Whether only the edited side has it."""
    is_gone: bool = False
    """Whether only the base has it."""
    pods_before: int = 0
    """Pods of workloads on its nodes; 0 of `Replay.NEXT`, which places none."""
    pods_after: int = 0
    unpriced_before: int = 0
    """Nodes without a known price, which the dollars leave out."""
    unpriced_after: int = 0

    @property
    def is_changed(self) -> bool:
        """Whether any figure differs."""
        before = (self.nodes_before, self.launched_before, round(self.price_before, 6), self.pods_before)
        after = (self.nodes_after, self.launched_after, round(self.price_after, 6), self.pods_after)
        return self.is_new or self.is_gone or before != after


class TypeOption(msgspec.Struct, frozen=True, gc=False):
    """An instance type that a new node may have."""

    name: str
    price_per_hour: float | None
    """Price of the cheapest offering the claim allows, with unknown spot prices as on-demand; None
    if unknown.
    """
    zone: str = ""
    """Of that offering."""
    capacity_type: str = ""
    """Of that offering."""


class ClaimLine(msgspec.Struct, frozen=True):
    """A NodeClaim that would be created."""

    pool_name: str
    types: tuple[TypeOption, ...]
    """The cheapest first."""
    pods: tuple[str, ...]
    """``namespace/name``, sorted."""
    requests: tuple[tuple[str, str], ...]
    """Its requests with those of DaemonSets: (resource, quantity), sorted."""
    price_per_hour: float | None
    """Dollars for its cheapest type; None if unknown."""
    is_changed: bool
    """Whether the other side has none like it: same NodePool, same pods, same types."""
    at_most_per_hour: float | None = None
    """The on-demand price if its spot price is unknown."""

    @property
    def cheapest(self) -> TypeOption | None:
        """The first type."""
        return self.types[0] if self.types else None


class NodeLine(msgspec.Struct, frozen=True):
    """A node that exists and receives pods."""

    node_name: str
    pool_name: str
    pods: tuple[str, ...]
    """``namespace/name``, sorted."""
    is_changed: bool
    """Whether it receives other pods than on the other side."""


class Unplaced(msgspec.Struct, frozen=True):
    """An unschedulable pod, and why."""

    pod_key: str
    owner: str
    """``Kind/namespace/name`` of its workload, empty for a pod on its own."""
    reason: str
    """In plain words."""
    gate: str = ""
    """The check that the NodePool which comes nearest fails it at, of `karptui.provisioning.Gate`."""
    was: PodPlace | None = None
    """Place on the other side; None if it does not exist there."""
    error: PodError | None = None
    """Why each NodePool excludes it; None if Karpenter skips the pod, or there is no NodePool."""
    remark: str = ""
    """Karpenter's message about a skipped pod."""

    @property
    def karpenter_says(self) -> str:
        """Karpenter's message; empty if there is none."""
        return self.remark if self.error is None else str(self.error)


class MoveLine(msgspec.Struct, frozen=True):
    """Pods of one workload that end up elsewhere."""

    owner: str
    """``Kind/namespace/name``, empty for pods on their own."""
    before: PodPlace
    after: PodPlace
    pods: tuple[str, ...]
    """``namespace/name``, sorted."""


class DriftLine(msgspec.Struct, frozen=True):
    """A NodeClaim that the edits drift, or no longer do."""

    claim_name: str
    node_name: str
    pool_name: str
    reason: str
    """Karpenter's: ``NodePoolDrifted``, ``RequirementsDrifted``, ``NodeClassDrift``, ``InstanceTypeNotFound``, ..."""
    because: str
    """Name of the field."""


class BudgetChange(msgspec.Struct, frozen=True, gc=False):
    """Disruptions that a NodePool's budgets allow for a reason, before and after."""

    pool_name: str
    reason: str
    allowed_before: int | None
    """None without a limit."""
    allowed_after: int | None
    left_before: int | None
    """What deleting and not ready nodes leave of it."""
    left_after: int | None


class CommandLine(msgspec.Struct, frozen=True):
    """A command that Karpenter would carry out next."""

    method: str
    decision: str
    """``delete`` or ``replace``."""
    nodes: tuple[str, ...]
    replacements: tuple[tuple[str, str], ...]
    """NodePool and cheapest type of each new node."""
    savings_per_hour: float | None
    """None if prices are disabled or unknown: `Command.known_savings`."""


class NextLines(msgspec.Struct, frozen=True):
    """The next disruption of one side."""

    commands: tuple[CommandLine, ...]
    because: str = ""
    """Why there is no command, or why the pass ended early."""


MOST_KEPT: Final = 100
"""Lists of types that are kept."""
_Offered = tuple[TypeIndex, int]
"""Labels and offerings of a list of types, and which kinds of offerings a claim allows: what prices follow from."""


class ClaimTypes:
    """Answers for the claims of all replays over the same labels and offerings, whatever nodes hold or keep back."""

    def __init__(self) -> None:
        self._ranked: dict[_Offered, _Ranking] = {}
        self._chosen: dict[tuple[_Offered, int], tuple[TypeOption, ...]] = {}
        self._numbers: dict[tuple[str, ...], int] = {}
        self._number_of: dict[tuple[_Offered, int], int] = {}

    def tidy(self) -> None:
        """Forget everything where edits have made too many lists; between two comparisons only."""
        if len(self._ranked) > MOST_KEPT:
            for kept in (self._ranked, self._chosen, self._numbers, self._number_of):
                kept.clear()

    def of(self, claim: NewClaim) -> tuple[TypeOption, ...]:
        """Return the types of a claim, the cheapest first; those without a price last, by name."""
        offered = _offered(claim)
        key = (offered, claim.type_mask)
        chosen = self._chosen.get(key)
        if chosen is None:
            ranking = self._ranked.get(offered)
            if ranking is None:
                ranking = self._ranked[offered] = _Ranking(claim.catalogue, claim.requirements)
            chosen = self._chosen[key] = ranking.of(claim.type_mask)
        return chosen

    def first(self, claim: NewClaim) -> TypeOption | None:
        """Return the cheapest of them, None without any."""
        options = self.of(claim)
        return options[0] if options else None

    def number(self, claim: NewClaim) -> int:
        """Return a number that claims have in common if they have the same types in the same order."""
        key = (_offered(claim), claim.type_mask)
        number = self._number_of.get(key)
        if number is None:
            names = tuple([option.name for option in self.of(claim)])
            number = self._number_of[key] = self._numbers.setdefault(names, len(self._numbers))
        return number


def _offered(claim: NewClaim) -> _Offered:
    index = claim.catalogue.index
    return index, index.allowed(claim.requirements)


class _Ranking:
    """All types of a list in price order, under some requirements."""

    def __init__(self, catalogue: Catalogue, requirements: Requirements) -> None:
        best = _best_offerings(catalogue, requirements)
        options = []
        for i, instance_type in enumerate(catalogue.types):
            price, capacity_type, zone = best.get(i, (None, "", ""))
            options.append((i, TypeOption(instance_type.name, price, zone, capacity_type)))
        options.sort(key=lambda pair: (pair[1].price_per_hour is None, pair[1].price_per_hour or 0.0, pair[1].name))
        self._options = [option for _, option in options]
        self._places = [i for i, _ in options]
        """Of each option, its type's place in the list."""

    def of(self, types: int) -> tuple[TypeOption, ...]:
        """Return the options of some types."""
        is_chosen = [digit == "1" for digit in bin(types)[:1:-1].ljust(len(self._places), "0")]
        return tuple(compress(self._options, map(is_chosen.__getitem__, self._places)))


def _best_offerings(catalogue: Catalogue, requirements: Requirements) -> dict[int, tuple[float, str, str]]:
    """Return by type price, capacity type and zone of its cheapest offering that requirements allow."""
    best: dict[int, tuple[float, str, str]] = {}
    for kind in catalogue.offering_kinds:
        if not requirements.compatible(kind.requirements, WELL_KNOWN):
            continue
        zone, capacity_type = (single_value(kind.requirements, key) for key in (ZONE, CAPACITY_TYPE))
        # On-demand wins equal prices, since unknown spot prices equal it.
        place = (capacity_type, zone)
        for i, price in kind.prices:
            cheapest = best.get(i)
            if cheapest is None or (price, *place) < cheapest:
                best[i] = (price, *place)
    return best
