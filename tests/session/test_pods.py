from __future__ import annotations

import pytest

from karptui.decode.kinds import Kind
from karptui.kube.objects import OwnerReference
from karptui.kube.pod import Pod, PodTemplate
from karptui.kube.workload import Workload
from karptui.session.cluster_view import ClusterView
from karptui.session.grouping import Folding
from karptui.session.pods import PodOwner, owners_of
from karptui.state.cluster import EMPTY, ClusterState
from karptui.state.reducer import Batch, KindDelta, reduce
from karptui.views.pods import explain_pod
from tests.builders import NOW_NS, a_pod, an_owner

HASH = "5c9f8d7b6"


def a_workload(kind: Kind, name: str, *, parent: OwnerReference | None = None) -> Workload:
    owners = () if parent is None else (parent,)
    return Workload(name=name, namespace="default", api_version="apps/v1", kind=kind.value, owners=owners)


def a_state(*workloads: Workload, pods: tuple[Pod, ...] = ()) -> ClusterState:
    deltas: dict[Kind, KindDelta] = {}
    for workload in workloads:
        deltas[Kind(workload.kind)] = KindDelta({workload.key: workload})
    if pods:
        deltas[Kind.POD] = KindDelta({pod.key: pod for pod in pods})
    return reduce(EMPTY, Batch(deltas))


def of_replicaset(**labels: str) -> Pod:
    return a_pod(owner=an_owner(name=f"web-{HASH}"), labels=labels)


@pytest.mark.parametrize(("pod", "workloads", "expected"), [
    (of_replicaset(**{"pod-template-hash": HASH}),
     (a_workload(Kind.REPLICASET, f"web-{HASH}", parent=an_owner(kind="Deployment", name="shop")),),
     PodOwner("Deployment", "shop")),
    (of_replicaset(**{"pod-template-hash": HASH}), (a_workload(Kind.REPLICASET, f"web-{HASH}"),),
     PodOwner("ReplicaSet", f"web-{HASH}")),
    (of_replicaset(**{"pod-template-hash": HASH}), (), PodOwner("Deployment", "web", is_by_name=True)),
    (of_replicaset(**{"pod-template-hash": "other"}), (), PodOwner("ReplicaSet", f"web-{HASH}")),
    (of_replicaset(), (), PodOwner("ReplicaSet", f"web-{HASH}")),
    (a_pod(owner=an_owner(kind="Job", name="nightly-1", api_version="batch/v1")),
     (a_workload(Kind.JOB, "nightly-1", parent=an_owner(kind="CronJob", name="nightly")),),
     PodOwner("CronJob", "nightly")),
    (a_pod(daemonset="agent"), (), PodOwner("DaemonSet", "agent")),
    (a_pod(template=PodTemplate()), (), None),
])  # fmt: skip
def test_owner_of_a_pod(pod: Pod, workloads: tuple[Workload, ...], expected: PodOwner | None) -> None:
    assert owners_of(a_state(*workloads)).of(pod) == expected


def test_the_owner_index_is_reused_until_a_replicaset_changes() -> None:
    state = a_state(a_workload(Kind.REPLICASET, "web-1"))
    before = owners_of(state)
    other_pod = reduce(state, Batch({Kind.POD: KindDelta({"default/x": a_pod(name="x")})}))
    assert owners_of(other_pod, before) is not None
    assert owners_of(other_pod, before).owner_index is before.owner_index
    more = reduce(state, Batch({Kind.REPLICASET: KindDelta({"default/b": a_workload(Kind.REPLICASET, "b")})}))
    assert owners_of(more, before) is not before


def test_the_owner_of_an_entry_changes_when_its_replicaset_arrives() -> None:
    pod = of_replicaset(**{"pod-template-hash": HASH})
    first = ClusterView(a_state(pods=(pod,)), {})
    [entry] = first.pod_entries
    assert entry.owner == "deploy/web"
    result = "".join(text for text, _ in explain_pod(entry, NOW_NS))
    assert "deploy/web (guessed from its ReplicaSet's name)" in result
    late = a_workload(Kind.REPLICASET, f"web-{HASH}", parent=an_owner(kind="Deployment", name="shop"))
    state = reduce(first.state, Batch({Kind.REPLICASET: KindDelta({late.key: late})}))
    [entry] = ClusterView(state, {}, first).pod_entries
    assert entry.owner == "deploy/shop"
    assert "guessed" not in "".join(text for text, _ in explain_pod(entry, NOW_NS))


@pytest.mark.parametrize(("folding", "hidden"), [
    (Folding(), ""),
    (Folding(is_folded=True), "ab"),
    (Folding(is_folded=True, exceptions=frozenset("a")), "b"),
    (Folding().toggled("a"), "a"),
    (Folding().toggled("a").toggled("b").toggled("a"), "b"),
    (Folding().with_default(is_folded=True), "ab"),
    (Folding(is_folded=False).with_default(is_folded=True), ""),
    (Folding().toggled("a").with_default(is_folded=True), "b"),
])  # fmt: skip
def test_which_groups_hide_their_rows(folding: Folding, hidden: str) -> None:
    assert [name for name in "ab" if folding.hides(name)] == list(hidden)
