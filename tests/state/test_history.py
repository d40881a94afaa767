"""The history that the reducer keeps about deleted objects."""

from __future__ import annotations

from typing import Any

import pytest

from karptui.decode.kinds import Kind
from karptui.karpenter.labels import DISRUPTED_TAINT
from karptui.kube.objects import OwnerReference
from karptui.state import reducer as history
from karptui.state.cluster import EMPTY, ClusterState
from karptui.state.reducer import Batch, KindDelta, reduce
from tests.builders import HOUR_NS, MINUTE_NS, NOW_NS, a_node, a_nodeclaim, a_pod, a_pod_template, an_event, an_owner
from tests.state.stories import told


def watched(*objects: tuple[Kind, Any], at_ns: int = NOW_NS) -> ClusterState:
    deltas: dict[Kind, dict[str, Any]] = {}
    for kind, item in objects:
        deltas.setdefault(kind, {})[item.key] = item
    return reduce(EMPTY, Batch({kind: KindDelta(items) for kind, items in deltas.items()}), at_ns)


def test_a_deleted_nodeclaim_is_kept_without_its_taints() -> None:
    claim = a_nodeclaim(taints=(DISRUPTED_TAINT,), deletion_ns=NOW_NS)
    state = watched((Kind.NODECLAIM, claim))
    assert state.history.began_ns == NOW_NS
    after = reduce(state, told(Kind.NODECLAIM, gone=(claim.name,)), NOW_NS + MINUTE_NS)
    (gone,) = after.history.claims
    assert (gone.claim.name, gone.claim.deletion_ns, gone.gone_ns) == (claim.name, NOW_NS, NOW_NS + MINUTE_NS)
    assert gone.claim.labels == claim.labels
    assert gone.claim.taints == ()
    assert after.history.began_ns == NOW_NS


LEAVING = a_node(taints=(DISRUPTED_TAINT,))
DELETING = a_nodeclaim(deletion_ns=NOW_NS)


@pytest.mark.parametrize(("others", "pod", "is_kept"), [
    ((LEAVING,), a_pod(node="node-1"), True),
    ((a_node(deletion_ns=NOW_NS),), a_pod(node="node-1"), True),
    ((a_node(), DELETING), a_pod(node="node-1"), True),
    ((a_node(), a_nodeclaim()), a_pod(node="node-1"), False),
    ((), a_pod(node="node-1"), False),
    ((LEAVING,), a_pod(), False),
    ((LEAVING,), a_pod(node="node-1", phase="Succeeded"), False),
    ((LEAVING,), a_pod(node="node-1", daemonset="agent"), False),
    ((LEAVING,), a_pod(node="node-1", owner=OwnerReference("v1", "Node", "node-1")), False),
])  # fmt: skip
def test_deleted_pods_are_kept_if_their_node_is_being_removed(
    others: tuple[Any, ...], pod: Any, *, is_kept: bool
) -> None:
    objects = [(Kind(type(other).__name__), other) for other in others]
    state = watched(*objects, (Kind.POD, pod))
    after = reduce(state, told(Kind.POD, gone=(pod.key,)), NOW_NS + MINUTE_NS)
    assert [pod.key for pod in after.history.pods] == ([pod.key] if is_kept else [])


def test_a_deleted_pod_is_kept_with_its_controller_and_node() -> None:
    pods = (a_pod(name="a", node="node-1", owner=an_owner(name="web-5d")), a_pod(name="b", node="node-1"))
    alone = a_pod(name="c", node="node-1", template=a_pod_template())
    state = watched((Kind.NODE, LEAVING), *((Kind.POD, pod) for pod in (*pods, alone)))
    # Pod b is recreated at once with the same name, as in a StatefulSet.
    again = a_pod(name="b", node="node-2", uid="new")
    after = reduce(state, told(Kind.POD, again, gone=("default/a", "default/c")), NOW_NS + 1)
    told_of = {pod.key: (pod.owner_kind, pod.owner_name, pod.node_name) for pod in after.history.pods}
    assert told_of == {
        "default/a": ("ReplicaSet", "web-5d", "node-1"),
        "default/b": ("ReplicaSet", "web", "node-1"),
        "default/c": ("", "", "node-1"),
    }


def test_history_is_kept_until_it_is_too_old() -> None:
    kept = an_event(name="a", about="NodeClaim/general-x", reason="DisruptionTerminating", last_ns=NOW_NS)
    other = an_event(name="b", reason="FailedScheduling")
    state = watched((Kind.EVENT, kept), (Kind.EVENT, other))
    after = reduce(state, told(Kind.EVENT, gone=(kept.key, other.key)), NOW_NS + HOUR_NS)
    assert after.history.events == (kept,)
    state = watched((Kind.NODECLAIM, a_nodeclaim(name="a")), (Kind.NODECLAIM, a_nodeclaim(name="b")))
    state = reduce(state, told(Kind.NODECLAIM, gone=("a",)), NOW_NS + HOUR_NS)
    late_ns = NOW_NS + HOUR_NS + history.KEPT_NS
    state = reduce(state, told(Kind.NODECLAIM, gone=("b",)), late_ns + 1)
    assert [claim.claim.name for claim in state.history.claims] == ["b"]
    assert state.history.began_ns == late_ns + 1 - history.KEPT_NS


def test_the_number_of_kept_nodeclaims_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MOST_CLAIMS", 2)
    state = watched(*((Kind.NODECLAIM, a_nodeclaim(name=name)) for name in "abcd"))
    for minute, name in enumerate("abc", 1):
        state = reduce(state, told(Kind.NODECLAIM, gone=(name,)), NOW_NS + minute * MINUTE_NS)
    assert [claim.claim.name for claim in state.history.claims] == ["b", "c"]
    # The history is complete only after the deletion of the dropped NodeClaim.
    assert state.history.began_ns == NOW_NS + MINUTE_NS + 1
    before = state.history
    assert reduce(state, told(Kind.POD, a_pod()), NOW_NS + HOUR_NS).history is before
