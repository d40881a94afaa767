"""Events inferred from the status of pods and workloads, and webhooks that cannot answer."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from karptui.decode.kinds import Kind
from karptui.decode.reader import KindReader
from karptui.karpenter.inventory import Inventory
from karptui.kube.objects import Condition, Lease, Namespace
from karptui.kube.pod import Pod, PodTrouble
from karptui.kube.workload import JobPods, Service, Workload
from karptui.session.cluster_view import ClusterView
from karptui.session.status_events import events_of_jobs, events_of_pods, events_of_workloads, unobserved
from karptui.session.webhooks import EVICTIONS, NODECLAIMS, REGISTRATIONS, DeadWebhook, dead_webhook
from karptui.sources.source import Phase
from karptui.verdict.case import Unobserved
from tests.builders import MINUTE_NS, NOW_NS, a_pod, an_event, an_owner
from tests.builders.clusters import state_of
from tests.ui.fleet import status

REFUSED = Condition(
    "ReplicaFailure", "True", "FailedCreate", "exceeded quota: q, requested: pods=1", NOW_NS - MINUTE_NS
)
RULE = {"apiGroups": ["*"], "resources": ["*/*"], "operations": ["CREATE"]}


def failed(reason: str, *, minutes: int = 5, **pod: Any) -> Pod:
    at_ns = NOW_NS - minutes * MINUTE_NS
    result = a_pod(name=f"{reason.lower()}-{minutes}", node="n1", phase="Failed", created_ns=at_ns, **pod)
    return replace(result, start_ns=at_ns, trouble=PodTrouble("told", failure=reason))


def reasons(*pods: Pod, events: tuple[Any, ...] = ()) -> list[str]:
    view = ClusterView(state_of(Inventory(pods=pods, events=events)), {})
    return [event.reason for event in events_of_pods(view, [pod for pod in pods if pod.trouble.failure])]


def test_the_event_of_a_failed_pod_has_reason_and_time() -> None:
    pod = failed("OutOfcpu")
    [event] = events_of_pods(ClusterView(state_of(Inventory(pods=(pod,))), {}), [pod])
    assert (event.reason, event.message, event.source) == ("OutOfcpu", "told", "kubelet")
    assert (event.involved_kind, event.involved_name, event.last_ns) == ("Pod", pod.name, NOW_NS - 5 * MINUTE_NS)


def test_no_event_is_inferred_if_a_real_one_has_the_reason() -> None:
    pod = failed("OutOfcpu")
    event = an_event(about=f"Pod/{pod.key}", reason="OutOfcpu", source="kubelet")
    assert reasons(pod, events=(event,)) == []
    assert reasons(pod, events=(replace(event, reason="Scheduled"),)) == ["OutOfcpu"]


@pytest.mark.parametrize(("reason", "minutes", "phase", "is_told"), [
    ("NodeAffinity", 1, "Running", False),
    ("NodeAffinity", 1, "Pending", True),
    ("NodeAffinity", 9, "Running", True),
    ("Evicted", 1, "Running", True),
])  # fmt: skip
def test_a_newer_running_pod_ends_only_rejections(reason: str, minutes: int, phase: str, *, is_told: bool) -> None:
    other = a_pod(name="other", node="n2", phase=phase, created_ns=NOW_NS - minutes * MINUTE_NS)
    assert reasons(failed(reason), other) == ([reason] if is_told else [])


@pytest.mark.parametrize(("node", "is_told"), [("n1", False), ("n2", True)])
def test_a_pod_of_a_daemonset_is_replaced_on_its_own_node_only(node: str, *, is_told: bool) -> None:
    pod = failed("NodePorts", daemonset="exporter")
    other = a_pod(name="other", node=node, daemonset="exporter", created_ns=NOW_NS - MINUTE_NS)
    assert bool(reasons(pod, other)) is is_told


def test_a_pod_of_another_workload_replaces_nothing() -> None:
    other = a_pod(name="other", node="n1", owner=an_owner(name="other"), created_ns=NOW_NS - MINUTE_NS)
    assert reasons(failed("NodeAffinity"), other) == ["NodeAffinity"]


def refused(kind: str, **change: Any) -> Workload:
    fields = {"replicas": 2, "failure": REFUSED, **change}
    return Workload(name="web", namespace="shop", api_version="apps/v1", kind=kind, **fields)


def refusals(*workloads: Workload, events: tuple[Any, ...] = ()) -> list[tuple[str, str, int]]:
    view = ClusterView(state_of(Inventory(workloads=workloads, events=events)), {})
    return [(event.involved_kind, event.message, event.last_ns) for event in events_of_workloads(view, NOW_NS)]


@pytest.mark.parametrize(("change", "is_told"), [
    ({}, True),
    ({"replicas": 0}, False),
    ({"failure": replace(REFUSED, status="False")}, False),
    ({"failure": replace(REFUSED, reason="FailedDelete")}, False),
    ({"failure": None}, False),
])  # fmt: skip
def test_refused_pods_of_a_workload(change: dict[str, Any], *, is_told: bool) -> None:
    workload = refused("ReplicaSet", **change)
    assert refusals(workload) == [("ReplicaSet", REFUSED.message, NOW_NS)] * is_told
    told = an_event(about="ReplicaSet/shop/web", reason="FailedCreate")
    assert refusals(workload, events=(told,)) == []


def test_a_refusal_of_deployment_and_replicaset_is_reported_once() -> None:
    assert [kind for kind, _, _ in refusals(refused("Deployment"))] == ["Deployment"]
    assert [kind for kind, _, _ in refusals(refused("Deployment"), refused("ReplicaSet"))] == ["ReplicaSet"]


def job(**change: Any) -> Workload:
    pods = JobPods(**{"wanted": 3, "start_ns": NOW_NS - 48 * MINUTE_NS, **change})
    return Workload(name="sum", namespace="etl", uid="job", api_version="batch/v1", kind="Job", job=pods)


def pod_of_job(*, minutes: int) -> Pod:
    pod = a_pod(name="sum-1", owner=an_owner(kind="Job", name="sum", uid="job"), namespace="etl", phase="Failed")
    return replace(pod, ended_ns=NOW_NS - minutes * MINUTE_NS)


@pytest.mark.parametrize(("change", "minutes"), [
    ({}, 48),
    ({"active": 1}, 48),
    ({"active": 3}, None),
    ({"wanted": 0}, None),
    ({"start_ns": NOW_NS - 4 * MINUTE_NS}, None),
    ({"ended": 1}, 20),
    ({"ended": 1, "active": 1}, None),
])  # fmt: skip
def test_since_when_a_job_lacks_pods(change: dict[str, Any], minutes: int | None) -> None:
    ended = pod_of_job(minutes=20)
    told = an_event(about="Job/etl/sum", reason="FailedCreate")

    def ages(**read: Any) -> list[int]:
        view = ClusterView(state_of(Inventory(workloads=(job(**change),), pods=(ended,), **read)), {})
        return [(NOW_NS - event.first_ns) // MINUTE_NS for event in events_of_jobs(view, NOW_NS)]

    assert ages() == ([] if minutes is None else [minutes])
    assert ages(events=(told,)) == []
    assert ages(namespaces=(Namespace(name="etl", deletion_ns=NOW_NS - MINUTE_NS),)) == []


@pytest.mark.parametrize(("minutes", "is_late"), [(14, False), (16, True)])
def test_a_job_lacks_pods_only_after_its_back_off(minutes: int, *, is_late: bool) -> None:
    view = ClusterView(state_of(Inventory(workloads=(job(ended=1),), pods=(pod_of_job(minutes=minutes),))), {})
    assert bool([*events_of_jobs(view, NOW_NS)]) is is_late


def deployment(name: str, *, observed: int | None = 3, minutes: int = 60) -> Workload:
    at_ns = NOW_NS - minutes * MINUTE_NS
    fields: dict[str, Any] = {"generation": 4, "created_ns": at_ns, "observed_generation": observed}
    return Workload(name=name, namespace="shop", api_version="apps/v1", kind="Deployment", **fields)


def test_workloads_that_no_controller_has_observed() -> None:
    read = deployment("read", observed=4), deployment("unread", observed=None), deployment("new", observed=0, minutes=2)
    late = deployment("web"), deployment("never", observed=0)
    lease = Lease(name="kube-controller-manager", namespace="kube-system", renewed_ns=NOW_NS - 26 * MINUTE_NS)
    state = state_of(Inventory(workloads=(*read, *late)))
    told = unobserved(ClusterView(state, {}), NOW_NS)
    assert told == Unobserved(("Deployment/shop/web", "Deployment/shop/never"), since_ns=NOW_NS - 60 * MINUTE_NS)
    view = ClusterView(replace(state, objects={**state.objects, Kind.LEASE: {lease.key: lease}}), {})
    assert unobserved(view, NOW_NS).renewed_ns == lease.renewed_ns


def test_replicasets_that_count_more_pods_than_exist() -> None:
    names = ("web", "api", "mail")
    fields: dict[str, Any] = {"namespace": "shop", "api_version": "apps/v1", "kind": "ReplicaSet"}
    sets = tuple(Workload(name=name, uid=name, replicas=2, counted=2, **fields) for name in names)
    owners = [an_owner(name=name, uid=name) for name in names for _ in range(2)]
    pods = [a_pod(name=f"pod-{n}", owner=owner, namespace="shop") for n, owner in enumerate(owners)]

    def short(pods: list[Pod]) -> tuple[str, ...]:
        return unobserved(ClusterView(state_of(Inventory(workloads=sets, pods=tuple(pods))), {}), NOW_NS).short

    assert short(pods) == ()
    assert short(pods[1:]) == ("ReplicaSet/shop/web",)
    assert short([pods[0], pods[2]]) == ()


def dead(
    rule: dict[str, Any] | None = None,
    about: tuple[str, str, str] = NODECLAIMS,
    *,
    is_ready: bool = False,
    service: Service | None = None,
    phase: Phase = Phase.OFFLINE,
    **hook: Any,
) -> DeadWebhook | None:
    client = {"service": {"namespace": "sys", "name": "gate"}}
    document = {"name": "v.gate.sh", "clientConfig": client, "rules": [RULE | (rule or {})], **hook}
    hooks = KindReader(Kind.WEBHOOK).convert({"metadata": {"name": "gate"}, "webhooks": [document]})
    pod = a_pod(namespace="sys", node="n1", labels={"app": "gate"}, is_ready=is_ready)
    state = state_of(Inventory(pods=(pod,)))
    services = {service.key: service} if service is not None else {}
    state = replace(state, objects={**state.objects, Kind.WEBHOOK: {"gate": hooks}, Kind.SERVICE: services})
    return dead_webhook(ClusterView(state, {Kind.POD: status(Kind.POD, phase)}), *about)


DEAD = DeadWebhook("v.gate.sh", "sys/gate")


@pytest.mark.parametrize(("rule", "about", "is_asked"), [
    ({}, NODECLAIMS, True),
    ({}, EVICTIONS, True),
    ({"resources": ["*"]}, NODECLAIMS, True),
    ({"resources": ["*"]}, EVICTIONS, False),
    ({"resources": ["pods/*"], "apiGroups": [""]}, EVICTIONS, True),
    ({"resources": ["*/*"], "apiGroups": ["apps"]}, EVICTIONS, False),
    ({"resources": ["nodeclaims"], "apiGroups": ["karpenter.sh"]}, NODECLAIMS, True),
    ({"resources": ["nodeclaims/status"], "apiGroups": ["karpenter.sh"]}, NODECLAIMS, False),
    ({"operations": ["UPDATE", "DELETE"]}, NODECLAIMS, False),
    ({"operations": ["*"]}, NODECLAIMS, True),
    ({"operations": ["UPDATE"]}, REGISTRATIONS, True),
    ({}, REGISTRATIONS, False),
])  # fmt: skip
def test_which_requests_a_webhook_receives(
    rule: dict[str, Any], about: tuple[str, str, str], *, is_asked: bool
) -> None:
    assert dead(rule, about) == (DEAD if is_asked else None)


GATE = Service(name="gate", namespace="sys", selector=(("app", "gate"),))


@pytest.mark.parametrize(("given", "found"), [
    ({}, DEAD),
    ({"is_ready": True}, None),
    ({"is_ready": True, "service": replace(GATE, selector=(("app", "other"),))}, DEAD),
    ({"is_ready": True, "service": GATE}, None),
    ({"is_ready": True, "service": replace(GATE, ports=frozenset({443}))}, None),
    ({"is_ready": True, "service": replace(GATE, ports=frozenset({8080}))}, DEAD._replace(missing_port="443")),
    ({"service": replace(GATE, selector=None)}, None),
    ({"failurePolicy": "Ignore"}, None),
    ({"matchConditions": [{"name": "some", "expression": "true"}]}, None),
    ({"objectSelector": {"matchLabels": {"a": "b"}}}, None),
    ({"objectSelector": {}}, DEAD),
    ({"clientConfig": {"url": "https://gate.example"}}, None),
    ({"phase": Phase.FORBIDDEN}, None),
])  # fmt: skip
def test_which_webhooks_cannot_answer(given: dict[str, Any], found: DeadWebhook | None) -> None:
    assert dead(**given) == found
