from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from karptui.decode.kinds import Kind
from karptui.disruption.churn.moves import WorkloadNames, is_eviction, moved_workloads, moves_of
from karptui.karpenter.inventory import GonePod
from karptui.kube.objects import Event
from karptui.kube.pod import Pod
from karptui.kube.workload import Workload
from tests.builders import NOW_NS, a_pod, a_pod_template, an_event, an_owner
from tests.disruption.churn.lives import ago, event_at


def a_replicaset(name: str, *, deployment: str = "", namespace: str = "web") -> Workload:
    owners = (an_owner(kind="Deployment", name=deployment),) if deployment else ()
    return Workload(name=name, namespace=namespace, kind=Kind.REPLICASET.value, api_version="apps/v1", owners=owners)


def a_web_pod(name: str, replicaset: str, **fields: Any) -> Pod:
    labels = {"pod-template-hash": replicaset.rpartition("-")[2]}
    return a_pod(name=name, namespace="web", owner=an_owner(name=replicaset), labels=labels, **fields)


PODS = (
    a_web_pod("front-5d4f-abcde", "front-5d4f"),
    a_web_pod("front-5d4f-bcdfg", "front-5d4f"),
    a_web_pod("front-5d4f-ended", "front-5d4f", phase="Succeeded"),
    a_pod(name="redis-0", namespace="web", owner=an_owner(kind="StatefulSet", name="redis")),
    a_pod(name="elsewhere-1", namespace="db"),
    a_pod(name="alone", template=a_pod_template(namespace="web")),
)
NAMES = WorkloadNames(
    frozenset({"web"}),
    PODS,
    (a_replicaset("front-5d4f", deployment="front"), a_replicaset("alone-7"), a_replicaset("x", namespace="db")),
)


@pytest.mark.parametrize(
    ("pod", "workload"),
    [
        ("web/front-5d4f-zzzzz", "Deployment/web/front"),
        ("web/redis-7", "StatefulSet/web/redis"),
        # The ReplicaSet was deleted, its Deployment was not.
        ("web/front-77cc-zzzzz", "Deployment/web/front"),
        ("web/alone-7-zzzzz", "ReplicaSet/web/alone-7"),
        ("web/runner-t1abc-project-7-concurrent-0", "Pod/web/runner"),
        ("ci/job-29384920", "Pod/ci/job"),
    ],
)
def test_workload_of_a_removed_pod_by_its_name(pod: str, workload: str) -> None:
    assert NAMES.of_pod(pod) == workload


@pytest.mark.parametrize(("kind", "name", "workload"), [
    ("ReplicaSet", "front-5d4f", "Deployment/web/front"),
    ("ReplicaSet", "front-77cc", "Deployment/web/front"),
    ("ReplicaSet", "alone-7", "ReplicaSet/web/alone-7"),
    ("Job", "nightly-29384920", "Job/web/nightly"),
    ("", "", "Pod/web/p"),
])  # fmt: skip
def test_workload_of_a_removed_pod_by_its_controller(kind: str, name: str, workload: str) -> None:
    pod = GonePod(key="web/p-12345", uid="u", owner_kind=kind, owner_name=name, node_name="node-1", at_ns=NOW_NS)
    assert NAMES.of_gone(pod) == workload


def an_eviction(pod: str, uid: str, message: str = "Evicted pod: Drifted", **when: float) -> Event:
    reason = "Evicted" if message.startswith("Evicted") else "Disrupted"
    return replace(event_at(f"Pod/{pod}", reason, message, **when), involved_uid=uid)


def test_a_move_reported_twice_counts_once() -> None:
    events = (
        an_eviction("web/front-5d4f-aaaaa", "a", at=8, first=9),
        an_eviction("web/front-5d4f-bbbbb", "b", at=7),
        an_eviction("web/front-5d4f-bbbbb", "b", "Deleting the pod to accommodate", at=6),
        an_eviction("web/front-5d4f-bbbbb", "b", at=12),
        an_eviction("web/nobody-0", "", at=4),
        event_at("Pod/web/front-5d4f-ccccc", "Nominated"),
        event_at("Node/node-1", "Evicted"),
        replace(an_eviction("web/front-5d4f-ddddd", "d", "Evicted: over its limit"), source="kubelet"),
    )
    gone = (
        GonePod(key="web/front-5d4f-aaaaa", uid="a", owner_kind="ReplicaSet", owner_name="front-5d4f",
                node_name="node-1", at_ns=ago(8)),
        GonePod(key="web/redis-0", uid="r", owner_kind="StatefulSet", owner_name="redis", node_name="node-2",
                at_ns=ago(5)),
    )  # fmt: skip
    moves = moves_of(events, gone, NAMES)
    assert [(move.pod, move.node, move.at_ns, move.reason) for move in moves] == [
        ("web/front-5d4f-bbbbb", "", ago(12), "Drifted"),
        ("web/front-5d4f-aaaaa", "node-1", ago(9), "Drifted"),
        ("web/redis-0", "node-2", ago(5), ""),
        ("web/nobody-0", "", ago(4), "Drifted"),
    ]
    front, nobody, redis = moved_workloads(moves, NAMES)
    assert (front.workload, front.moves, front.pods, front.per_pod) == ("Deployment/web/front", 2, 2, 1.0)
    assert (front.first_ns, front.last_ns, front.reasons) == (ago(12), ago(9), ("Drifted",))
    assert (nobody.workload, nobody.pods, nobody.per_pod) == ("Pod/web/nobody", 0, 1.0)
    assert (redis.workload, redis.reasons) == ("StatefulSet/web/redis", ())


def test_a_move_at_the_end_of_a_grace_period_is_forceful() -> None:
    (move,) = moves_of((an_eviction("web/a-1", "a", "Deleting the pod to accommodate"),), (), NAMES)
    assert move.reason == "Forceful Termination"


@pytest.mark.parametrize(("about", "reason", "source", "is_told"), [
    ("Pod/web/front", "Evicted", "karpenter", True),
    ("Pod/web/front", "Disrupted", "karpenter", True),
    ("Pod/web/front", "Evicted", "kubelet", False),
    ("Pod/web/front", "Nominated", "karpenter", False),
    ("Node/a", "Evicted", "karpenter", False),
])  # fmt: skip
def test_only_karpenters_evictions_of_pods_count(about: str, reason: str, source: str, *, is_told: bool) -> None:
    assert is_eviction(an_event(about=about, reason=reason, source=source)) is is_told
