"""Drill: where pods land if a zone, a capacity type or a NodePool fails at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

import msgspec

from karptui.errors import RequestError
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import COMPUTE_TYPE, FARGATE, NODEPOOL, ZONE, capacity_type_of
from karptui.karpenter.pod_predicates import is_reschedulable
from karptui.kube.group import group_by
from karptui.kube.pod import Pod
from karptui.provisioning.not_modelled import KUBE_SCHEDULER_APPROXIMATED, PREEMPTION
from karptui.provisioning.reporter import Each, Reporter, one_by_one, silent
from karptui.studies.held_pods import placement_premises
from karptui.whatif.accuracy import accuracy_of
from karptui.whatif.difference import Difference, difference
from karptui.whatif.difference_lines import ClaimLine, PlaceKind, Unplaced
from karptui.whatif.edits import AnyEdit, DeleteObject, ObjectRef, RemoveNode, TakeOut
from karptui.whatif.edits.apply import apply
from karptui.whatif.replay import replay
from karptui.whatif.scenario import Replay
from karptui.whatif.situation import Situation, WhatIfBase

AT_THE_CHEAPEST: Final = "a new node counts with its cheapest offering; AWS may launch a more expensive one"
ASSUMED: Final = (
    "all its nodes disappear at once: no drain, no PodDisruptionBudgets",
    AT_THE_CHEAPEST,
)
OTHERS_MOVE_TOO: Final = "whether AWS has capacity for the new nodes: other customers in the region need it too"


class LossKind(StrEnum):
    """What goes away."""

    ZONE = "zone"
    CAPACITY_TYPE = "capacity-type"
    NODEPOOL = "nodepool"

    def of(self, labels: Mapping[str, str]) -> str:
        """Return the zone, capacity type or NodePool that a node's labels name; empty if they name none."""
        if self is LossKind.CAPACITY_TYPE:
            return capacity_type_of(labels)
        return labels.get(ZONE if self is LossKind.ZONE else NODEPOOL, "")


class Loss(msgspec.Struct, frozen=True):
    """One zone, capacity type or NodePool."""

    kind: LossKind
    name: str

    def __str__(self) -> str:
        return f"{self.kind}={self.name}"


class DrillLaunch(msgspec.Struct, frozen=True):
    """New nodes of one NodePool for pods that have to move."""

    pool_name: str
    nodes: int
    price_per_hour: float
    """Dollars at the cheapest offering of each; spot of unknown price as on demand."""
    unpriced: int
    """Nodes without a known price, left out of the price."""
    is_at_most: bool
    """Whether spot of unknown price is in the dollars."""
    types: tuple[tuple[str, int], ...]
    """Cheapest type, capacity type and zone of the nodes, with their number: the most frequent first."""


class LeftBehind(NamedTuple):
    """Nodes that are removed, and their pods."""

    nodes: tuple[str, ...]
    moved: frozenset[str]
    """Pods that their owners make again: ``namespace/name``."""
    lost: tuple[Pod, ...]
    """Pods without an owner: nothing recreates them."""

    @property
    def edits(self) -> tuple[AnyEdit, ...]:
        """That they go, as a scenario."""
        return (
            *(RemoveNode(name) for name in self.nodes),
            *(DeleteObject(ObjectRef("Pod", pod.name, pod.namespace)) for pod in self.lost),
        )

    def placements(self, edited: Situation, difference: Difference) -> dict[str, Any]:
        """Return the fields of `Placements`, except the edits."""
        places = replay(edited, Replay.PENDING).places
        kinds = Counter(places[key].kind for key in self.moved)
        unplaced = (pod for pod in (*difference.no_longer_fit, *difference.still_pending) if pod.pod_key in self.moved)
        claims = [claim for claim in difference.claims if not self.moved.isdisjoint(claim.pods)]
        others = [claim for claim in difference.claims if claim.is_changed and self.moved.isdisjoint(claim.pods)]
        # Some only replace nodes that are launched for pending pods without the loss.
        more = others[len(difference.claims_before) :]
        return {
            "nodes": self.nodes,
            "pods": len(self.moved),
            "on_nodes": kinds[PlaceKind.NODE],
            "on_new": kinds[PlaceKind.CLAIM],
            "launches": _launches([*claims, *more]),
            "for_pending": len(more),
            "pending": tuple(sorted(unplaced, key=lambda waiting: waiting.pod_key)),
            "lost": tuple(sorted(pod.key for pod in self.lost)),
        }


class Placements(msgspec.Struct, frozen=True, kw_only=True):
    """Where the pods of removed nodes go."""

    nodes: tuple[str, ...]
    """Nodes that are gone, and NodeClaims without a node yet."""
    pods: int
    """Pods of these nodes that their owners make again."""
    on_nodes: int
    """Pods that fit on the remaining nodes."""
    on_new: int
    """Pods that get a new node."""
    launches: tuple[DrillLaunch, ...]
    """By NodePool; without nodes that are launched anyway."""
    for_pending: int
    """New nodes only for pods that are pending today, on nodes that are lost or within limits that become free."""
    pending: tuple[Unplaced, ...]
    """Pods that are unschedulable."""
    lost: tuple[str, ...]
    """Pods of these nodes without an owner, which nothing recreates: ``namespace/name``."""
    edits: tuple[AnyEdit, ...]
    """All of it as a scenario."""

    @property
    def launched(self) -> int:
        """How many new nodes come."""
        return sum(launch.nodes for launch in self.launches)

    @property
    def price_after(self) -> float:
        """Dollars per hour of these nodes."""
        return sum(launch.price_per_hour for launch in self.launches)

    @property
    def unpriced_after(self) -> int:
        """New nodes without a known price."""
        return sum(launch.unpriced for launch in self.launches)


class Drill(Placements, frozen=True, kw_only=True):
    """Outcome of a loss."""

    loss: Loss
    nodes_before: int
    """Nodes, and NodeClaims without a node yet, whoever made them."""
    starting: int
    """NodeClaims without a node among those that are gone."""
    also_pending: tuple[Unplaced, ...]
    """Pods that are pending today, fit by simulation, and do not after the loss; not counted as its effect."""
    closed: tuple[str, ...]
    """NodePools that have types to launch today, and none then."""
    assumed: tuple[str, ...]
    not_modelled: tuple[str, ...]

    @property
    def waiting(self) -> int:
        """Number of displaced pods that are unschedulable."""
        return len(self.pending)


def losses(inventory: Inventory) -> tuple[Loss, ...]:
    """Return every zone, capacity type and NodePool that has nodes."""
    label_sets = [labels for _, labels in _members(inventory)]
    return tuple(
        Loss(kind, name) for kind in LossKind for name in sorted({kind.of(labels) for labels in label_sets} - {""})
    )


def drills(
    base: WhatIfBase,
    chosen_losses: Iterable[Loss] = (),
    reporter: Reporter = silent,
    each: Each = one_by_one,
) -> tuple[Drill, ...]:
    """Return the outcome of losses, each alone: by kind, the worst first.

    Args:
        chosen_losses: The losses; without any, every zone, capacity type and NodePool that has nodes.

    Raises:
        RequestError: The cluster has no such zone, capacity type or NodePool.
    """
    drills = list(each(drill, base, dict.fromkeys(chosen_losses or losses(base.inventory)), reporter))
    kinds = list(LossKind)
    return tuple(sorted(drills, key=lambda drilled: (kinds.index(drilled.loss.kind), -drilled.waiting, -drilled.pods)))


def drill(base: WhatIfBase, loss: Loss, reporter: Reporter = silent) -> Drill:
    """Return the outcome of one loss: its nodes, its offerings or NodePool are removed, and pods are rescheduled."""
    inventory = base.inventory
    members = list(_members(inventory))
    gone = tuple(sorted(name for name, labels in members if loss.kind.of(labels) == loss.name))
    pool = loss.name if loss.kind is LossKind.NODEPOOL else ""
    has_pool = pool in {nodepool.name for nodepool in inventory.nodepools}
    if not gone and not has_pool:
        raise RequestError(_unknown(inventory, loss))
    left = left_by(inventory, gone)
    edits = list(left.edits)
    if not pool:
        is_zone = loss.kind is LossKind.ZONE
        edits.append(TakeOut(zone=loss.name) if is_zone else TakeOut(capacity_type=loss.name))
    elif has_pool:
        edits.append(DeleteObject(ObjectRef("NodePool", pool)))
    edited = apply(base, edits)
    changes = difference(base, edited, Replay.PENDING, reporter)
    return Drill(
        **left.placements(edited, changes),
        loss=loss,
        nodes_before=len(members),
        starting=len(set(gone).difference(node.name for node in inventory.nodes)),
        also_pending=tuple(unplaced for unplaced in changes.no_longer_fit if unplaced.pod_key not in left.moved),
        closed=tuple(sorted(set(edited.prepared.left_out) - set(base.prepared.left_out))),
        edits=tuple(edits),
        assumed=(
            *ASSUMED,
            *(() if edited.prepared.pools else (KUBE_SCHEDULER_APPROXIMATED,)),
            *(() if pool else edited.notes),
            *placement_premises(base),
        ),
        not_modelled=(OTHERS_MOVE_TOO, PREEMPTION, *accuracy_of(base, edited, Replay.PENDING).not_modelled),
    )


def _members(inventory: Inventory) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield name and labels of every node, and of every NodeClaim without one.

    Fargate starts its pods on nodes of its own again: these are no nodes to lose.
    """
    names = {node.name for node in inventory.nodes}
    provider_ids = {node.provider_id for node in inventory.nodes} - {""}
    yield from ((node.name, node.labels) for node in inventory.nodes if node.labels.get(COMPUTE_TYPE) != FARGATE)
    for claim in inventory.nodeclaims:
        if claim.node_name not in names and claim.provider_id not in provider_ids:
            yield claim.name, claim.labels


def _unknown(inventory: Inventory, loss: Loss) -> str:
    names = {other.name for other in losses(inventory) if other.kind is loss.kind}
    if loss.kind is LossKind.NODEPOOL:
        names |= {pool.name for pool in inventory.nodepools}
    there = f"there are {', '.join(sorted(names))}" if names else "none is known"
    return f"{loss}: no node has it; {there}"


def left_by(inventory: Inventory, gone: Iterable[str]) -> LeftBehind:
    """Return removed nodes, and NodeClaims without a node, with their pods."""
    names = frozenset(gone)
    coming = [pod for pod in inventory.pods if pod.node_name in names and is_reschedulable(pod)]
    return LeftBehind(
        tuple(sorted(names)),
        frozenset(pod.key for pod in coming if not pod.template.is_lost_if_evicted),
        tuple(pod for pod in coming if pod.template.is_lost_if_evicted),
    )


def _launches(claims: Iterable[ClaimLine]) -> tuple[DrillLaunch, ...]:
    by_pool = group_by(claims, lambda claim: claim.pool_name)
    return tuple(_launch(name, by_pool[name]) for name in sorted(by_pool))


def _launch(pool_name: str, claims: list[ClaimLine]) -> DrillLaunch:
    prices = [claim.at_most_per_hour if claim.price_per_hour is None else claim.price_per_hour for claim in claims]
    types = Counter(
        " ".join(filter(None, (claim.cheapest.name, claim.cheapest.capacity_type, claim.cheapest.zone)))
        for claim in claims
        if claim.cheapest is not None
    )
    return DrillLaunch(
        pool_name,
        nodes=len(claims),
        price_per_hour=sum(price for price in prices if price is not None),
        unpriced=prices.count(None),
        is_at_most=any(claim.price_per_hour is None and claim.at_most_per_hour is not None for claim in claims),
        types=tuple(sorted(types.items(), key=lambda pair: (-pair[1], pair[0]))),
    )
