"""The reducer's memory of deleted objects: NodeClaims, the pods of removed nodes, and events about both."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar

import msgspec

from karptui.decode.kinds import Kind
from karptui.karpenter.inventory import ClusterHistory, GoneClaim, GonePod
from karptui.karpenter.labels import is_disrupted
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.kube import resources
from karptui.kube.objects import Event, controller_of
from karptui.kube.pod import ENDED, Pod
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.state.cluster import ClusterState

KEPT_NS: Final = 24 * 3600 * NS_PER_SECOND
"""For how long anything is remembered."""
MOST_CLAIMS: Final = 2_000
MOST_PODS: Final = 10_000
MOST_EVENTS: Final = 10_000
REASONS: Final = frozenset(
    {
        "DisruptionLaunching",
        "DisruptionTerminating",
        "Evicted",
        "Disrupted",
        "InsufficientCapacityError",
        "NodeClassNotReady",
        "SpotInterrupted",
        "InstanceStopping",
        "InstanceTerminating",
        "InstanceUnhealthy",
        "CapacityReservationInstanceInterrupted",
        "TerminatingOnInterruption",
    }
)
"""Reasons of events about a beginning or an end: pkg/events/reason.go of Karpenter, and its AWS provider's
pkg/controllers/interruption/events/events.go.
"""

Changes = Mapping[str, tuple[Any, Any]]
"""By key, the object before and after; None if there is none."""
_ItemT = TypeVar("_ItemT")


def remember(
    history: ClusterHistory, before: ClusterState, changes: Mapping[Kind, Changes], at_ns: int
) -> ClusterHistory:
    """Return the history after a batch; the same object if nothing that it records was deleted.

    Args:
        at_ns: When the batch was merged: nanoseconds since the epoch.
    """
    claims = tuple(_claims(changes.get(Kind.NODECLAIM, {}), at_ns))
    pods = tuple(_pods(changes.get(Kind.POD, {}), before, at_ns))
    events = tuple(_events(changes.get(Kind.EVENT, {})))
    if not (claims or pods or events) and history.began_ns:
        return history
    oldest_ns = max(history.began_ns or at_ns, at_ns - KEPT_NS)
    kept_claims, claims_from_ns = _kept((*history.claims, *claims), MOST_CLAIMS, lambda one: one.gone_ns, oldest_ns)
    kept_pods, pods_from_ns = _kept((*history.pods, *pods), MOST_PODS, lambda one: one.at_ns, oldest_ns)
    kept_events, _ = _kept((*history.events, *events), MOST_EVENTS, lambda one: one.last_ns, at_ns - KEPT_NS)
    return ClusterHistory(
        began_ns=max(claims_from_ns, pods_from_ns), claims=kept_claims, pods=kept_pods, events=kept_events
    )


def _kept(
    items: tuple[_ItemT, ...], most: int, at: Callable[[_ItemT], int], oldest_ns: int
) -> tuple[tuple[_ItemT, ...], int]:
    """Return the latest items, and since when they are all there are."""
    recent = tuple(item for item in items if at(item) >= oldest_ns)
    if len(recent) <= most:
        return recent, oldest_ns
    return recent[-most:], at(recent[-most - 1]) + 1


def _claims(changes: Changes, at_ns: int) -> Iterator[GoneClaim]:
    for old, new in changes.values():
        if isinstance(old, NodeClaim) and (new is None or new.uid != old.uid):
            yield GoneClaim(_bare(old), at_ns)


def _bare(claim: NodeClaim) -> NodeClaim:
    return msgspec.structs.replace(
        claim,
        # Without them the requirements of a failed launch are unknown.
        requirements=() if claim.provider_id else claim.requirements,
        requests=resources.EMPTY,
        taints=(),
        startup_taints=(),
        owners=(),
        capacity=resources.EMPTY,
        allocatable=resources.EMPTY,
    )


def _pods(changes: Changes, before: ClusterState, at_ns: int) -> Iterator[GonePod]:
    for old, new in changes.values():
        if isinstance(old, Pod) and (new is None or new.uid != old.uid) and _is_moved(old, before):
            owner = controller_of(old.owners)
            yield GonePod(
                key=old.key,
                uid=old.uid,
                owner_kind=owner.kind if owner is not None else "",
                owner_name=owner.name if owner is not None else "",
                node_name=old.node_name,
                at_ns=at_ns,
            )


def _is_moved(pod: Pod, before: ClusterState) -> bool:
    """Whether a pod that has gone had to go because its node does."""
    if not pod.node_name or pod.phase in ENDED or pod.template.is_daemonset_owned or pod.template.is_node_owned:
        return False
    node, claim = before.nodes.get(pod.node_name), before.claim_of(pod.node_name)
    if node is not None and (node.is_deleting or is_disrupted(node.taints)):
        return True
    return claim is not None and claim.is_deleting


def _events(changes: Changes) -> Iterator[Event]:
    return (old for old, new in changes.values() if old is not None and new is None and old.reason in REASONS)
