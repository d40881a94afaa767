"""The next state of a cluster, from a state and the mailbox's changes, and the history of deleted objects."""

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
from karptui.kube.timestamps import DAY_NS
from karptui.state.cluster import ClusterState, is_relinking, link
from karptui.state.usage import UsageTally

KEPT_NS: Final = DAY_NS
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
    kept_claims, claims_from_ns = _latest(
        (*history.claims, *claims), MOST_CLAIMS, lambda claim: claim.gone_ns, oldest_ns
    )
    kept_pods, pods_from_ns = _latest((*history.pods, *pods), MOST_PODS, lambda pod: pod.at_ns, oldest_ns)
    kept_events, _ = _latest((*history.events, *events), MOST_EVENTS, lambda event: event.last_ns, at_ns - KEPT_NS)
    return ClusterHistory(
        began_ns=max(claims_from_ns, pods_from_ns), claims=kept_claims, pods=kept_pods, events=kept_events
    )


def _latest(
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


class KindDelta(msgspec.Struct, frozen=True):
    """What changed in one kind since the last batch."""

    objects: Mapping[str, Any]
    """Objects by key; None for a deleted one."""
    replaces: bool = False
    """The objects are all there are: whatever else the state holds of this kind is gone."""


class Batch(msgspec.Struct, frozen=True):
    """Changes reported by a source since the mailbox was last emptied."""

    deltas: Mapping[Kind, KindDelta]
    unread: frozenset[str] | None = None
    """All kinds that cannot be read, or have not been yet; None if unchanged."""

    def __bool__(self) -> bool:
        return bool(self.deltas) or self.unread is not None


class _Changes(msgspec.Struct, frozen=True):
    come: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """Objects that were not there before."""
    others: Mapping[str, tuple[Any, Any]] = msgspec.field(default_factory=dict)
    """By key, objects before and after; None after a deletion."""

    def __bool__(self) -> bool:
        return bool(self.come or self.others)


_UNREAD_BY_ENGINES: Final = frozenset({Kind.LEASE})
"""Kinds that no engine reads: Karpenter renews its lease every two seconds."""
_NO_CHANGES: Final = _Changes()


def reduce(state: ClusterState, batch: Batch, at_ns: int = 0) -> ClusterState:
    """Return the state after a batch: the same object if nothing has changed, else the next generation.

    Only the objects in the batch are copied. An unchanged object changes nothing, so heartbeats and repeated lists
    cause no redraw. Objects may arrive in any order: pods before their node, nodes before their claim.

    Args:
        at_ns: When the batch was merged, nanoseconds since the epoch, for the history of deleted objects; 0 to record
            none.
    """
    objects = dict(state.objects)
    all_changes: dict[Kind, _Changes] = {}
    for kind, delta in batch.deltas.items():
        before = state.of(kind)
        changes = _changes(before, delta)
        if changes:
            objects[kind] = _applied(before, delta, changes)
            all_changes[kind] = changes
    unread = state.unread if batch.unread is None else batch.unread
    if not all_changes and unread == state.unread:
        return state
    pods_by_node, node_usage = state.pods_by_node, state.node_usage
    if Kind.POD in all_changes:
        tally = UsageTally(pods_by_node, node_usage)
        for key, (old, new) in all_changes[Kind.POD].others.items():
            tally.change(key, old, new)
        tally.add(all_changes[Kind.POD].come)
        pods_by_node, node_usage = tally.finish()
    links = state.links
    ends = (all_changes.get(Kind.NODE, _NO_CHANGES), all_changes.get(Kind.NODECLAIM, _NO_CHANGES))
    if any(changes.come or any(is_relinking(old, new) for old, new in changes.others.values()) for changes in ends):
        links = link(objects.get(Kind.NODE, {}).values(), objects.get(Kind.NODECLAIM, {}).values())
    is_seen_by_engines_alike = not all_changes.keys() - _UNREAD_BY_ENGINES and unread == state.unread
    history = state.history
    if at_ns:
        history = remember(history, state, {kind: changes.others for kind, changes in all_changes.items()}, at_ns)
    return ClusterState(
        generation=state.generation + 1,
        engines_from=state.engines_from if is_seen_by_engines_alike else state.generation + 1,
        objects=objects,
        pods_by_node=pods_by_node,
        node_usage=node_usage,
        links=links,
        history=history,
        unread=unread,
    )


def _changes(before: Mapping[str, Any], delta: KindDelta) -> _Changes:
    objects = delta.objects
    # While a cluster is listed all is new: reported without a look at each.
    if not delta.replaces and before.keys().isdisjoint(objects.keys()) and None not in objects.values():
        return _Changes(objects)
    others: dict[str, tuple[Any, Any]] = {}
    if delta.replaces:
        others = {key: (old, None) for key, old in before.items() if key not in objects}
    come: dict[str, Any] = {}
    for key, new in objects.items():
        old = before.get(key)
        if old is None:
            if new is not None:
                come[key] = new
        elif old is not new and not _is_same(old, new):
            others[key] = (old, new)
    return _Changes(come, others)


def _is_same(old: Any, new: Any) -> bool:
    if isinstance(old, Pod) and isinstance(new, Pod):
        # Pods have no equality, because their templates are compared by identity.
        return msgspec.structs.astuple(old) == msgspec.structs.astuple(new)
    return bool(old == new)


def _applied(before: Mapping[str, Any], delta: KindDelta, changes: _Changes) -> Mapping[str, Any]:
    come, others = changes.come, changes.others
    if delta.replaces:
        return {key: new if key in come or key in others else before[key] for key, new in delta.objects.items()}
    after = {**before, **come}
    for key, (_, new) in others.items():
        if new is None:
            del after[key]
        else:
            after[key] = new
    return after
