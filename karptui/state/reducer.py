"""What sources have said since the mailbox was last emptied, and how a state and that become the next state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from karptui.decode.kinds import Kind
from karptui.kube.pod import Pod
from karptui.state.cluster import ClusterState, is_relinking, link
from karptui.state.history import remember
from karptui.state.usage import UsageTally


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
    if any(one.come or any(is_relinking(old, new) for old, new in one.others.values()) for one in ends):
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
