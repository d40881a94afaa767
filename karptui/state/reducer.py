"""Changes into the next generation of the state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from karptui.decode.kinds import Kind
from karptui.kube.pod import Pod
from karptui.state.cluster import ClusterState
from karptui.state.deltas import Batch, KindDelta
from karptui.state.usage import rebook


def reduce(state: ClusterState, batch: Batch) -> ClusterState:
    """Return the state after a batch; pure, and only the kinds in the batch are copied.

    The order of arrival does not matter: a pod may come before its node, and usage is booked by node name, so a node
    that is deleted and comes back under its name finds its pods.
    """
    if not batch.deltas:
        return state
    objects = dict(state.kinds)
    usage = state.node_usage
    for kind, delta in batch.deltas.items():
        before = state.of_kind(kind)
        after = apply(before, delta)
        objects[kind] = after
        if kind is Kind.POD:
            usage = rebook(usage, _changes(before, after, delta))
    return ClusterState(objects, usage, state.generation + 1)


def apply(before: Mapping[str, Any], delta: KindDelta) -> dict[str, Any]:
    """Return the objects of a kind after a delta; objects that stay keep their place."""
    if delta.replaces:
        return {key: item for key, item in delta.objects.items() if item is not None}
    after = dict(before)
    for key, item in delta.objects.items():
        if item is None:
            after.pop(key, None)
        else:
            after[key] = item
    return after


def _changes(
    before: Mapping[str, Pod], after: Mapping[str, Pod], delta: KindDelta
) -> Iterator[tuple[str, Pod | None, Pod | None]]:
    for key in delta.objects:
        old, new = before.get(key), after.get(key)
        if old is not new:
            yield key, old, new
    if delta.replaces:
        for key, old in before.items():
            if key not in after and key not in delta.objects:
                yield key, old, None
