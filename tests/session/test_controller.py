from __future__ import annotations

from typing import Any

import pytest

from karptui.aws.evidence import Evidence
from karptui.decode.controller import namespaces_of
from karptui.decode.kinds import Kind
from karptui.karpenter.controller import LEADER_LEASE, NAME, NAME_LABEL, ControllerInfo
from karptui.karpenter.nodeclass import NodeClass
from karptui.kube.objects import Lease
from karptui.kube.workload import Workload
from karptui.session.cluster_view import ClusterView
from karptui.session.controller import controller_of_view, is_karpenter
from karptui.sources.source import Phase, SourceStatus
from karptui.state.cluster import EMPTY
from karptui.state.reducer import Batch, KindDelta, reduce
from karptui.verdict.controller import has_leader
from tests.builders import HOUR_NS, MINUTE_NS, NOW_NS, a_pod


def a_view(kind: Kind, *items: Any, **info: Any) -> ClusterView:
    """Return a view of objects, with a controller if its namespace or version is given."""
    state = reduce(EMPTY, Batch({kind: KindDelta({item.key: item for item in items})}))
    evidence = Evidence(controller=ControllerInfo(title="Karpenter", **info)) if info else Evidence()
    return ClusterView(state, {}, evidence=evidence)


@pytest.mark.parametrize(
    ("proven", "namespaces"),
    [("platform", {"platform"}), ("", {"karpenter", "kube-system"})],
    ids=["proven", "unknown"],
)
def test_only_pods_and_leases_in_karpenters_namespace_are_karpenters(proven: str, namespaces: set[str]) -> None:
    names = ("karpenter", "kube-system", "platform", "shop")
    leases = [Lease(name=LEADER_LEASE, namespace=name, holder=f"{name}_1") for name in names]
    view = a_view(Kind.LEASE, *leases, namespace=proven)
    searched = namespaces_of(view.evidence.controller)
    pods = [a_pod(namespace=name, labels={NAME_LABEL: NAME}) for name in names]
    assert {pod.namespace for pod in pods if is_karpenter(pod, searched)} == namespaces
    assert controller_of_view(view, (), NOW_NS).lease_holder in namespaces


@pytest.mark.parametrize(("version", "served", "kind", "old"), [
    ("1.15.0", "v1beta1", "EC2NodeClass", "v1beta1"),
    ("1.15.0", "v1", "EC2NodeClass", ""),
    ("0.37.6", "v1beta1", "EC2NodeClass", ""),
    ("", "v1beta1", "EC2NodeClass", ""),
    ("1.13.0", "v1beta1", "AKSNodeClass", ""),
])  # fmt: skip
def test_an_api_version_older_than_karpenter_is_reported(version: str, served: str, kind: str, old: str) -> None:
    nodeclass = NodeClass(name="default", kind=kind, group="karpenter.k8s.aws", version=served)
    view = a_view(Kind.NODECLASS, nodeclass, version=version)
    assert controller_of_view(view, (), NOW_NS).old_api == old


@pytest.mark.parametrize(("renewed_ns", "led"), [(NOW_NS, ("kube-system", "platform")), (0, ("kube-system",))])
def test_only_renewed_leases_belong_to_active_installations(renewed_ns: int, led: tuple[str, ...]) -> None:
    leases = [
        Lease(name=LEADER_LEASE, namespace="platform", holder="platform_1", renewed_ns=renewed_ns),
        Lease(name=LEADER_LEASE, namespace="kube-system", holder="kube-system_1", renewed_ns=NOW_NS),
    ]
    view = a_view(Kind.LEASE, *leases, namespace="platform")
    assert controller_of_view(view, (), NOW_NS).led_namespaces == led


@pytest.mark.parametrize(("phase", "contact_ns", "has_one"), [
    (Phase.LIVE, NOW_NS - HOUR_NS, False),
    (Phase.STALE, NOW_NS - HOUR_NS, True),
    (Phase.DISCONNECTED, NOW_NS - HOUR_NS + 10 * MINUTE_NS, False),
    (Phase.OFFLINE, NOW_NS - HOUR_NS, True),
])  # fmt: skip
def test_a_lease_is_judged_at_the_time_of_the_last_contact(phase: Phase, contact_ns: int, has_one: bool) -> None:
    lease = Lease(name=LEADER_LEASE, namespace="kube-system", holder="a_1", renewed_ns=NOW_NS - HOUR_NS)
    state = a_view(Kind.LEASE, lease).state
    status = SourceStatus(kind=Kind.LEASE, phase=phase, since_ns=contact_ns, last_contact_ns=contact_ns)
    controller = controller_of_view(ClusterView(state, {str(Kind.LEASE): status}), (), NOW_NS)
    assert has_leader(controller) is has_one
    assert bool(controller.led_namespaces) is has_one


@pytest.mark.parametrize(("namespace", "watched", "read", "pods", "replicas"), [
    ("kube-system", None, 0, 0, 0),
    ("kube-system", None, 2, 0, 2),
    ("kube-system", None, 0, 2, 2),
    ("kube-system", None, None, 0, None),
    ("karpenter", None, 0, 0, None),
    ("kube-system", 3, 0, 0, 3),
], ids=["scaled to 0", "no pods", "scaled up since", "unknown", "another", "watched"])  # fmt: skip
def test_replicas_are_read_from_karpenters_deployment(
    namespace: str, watched: int | None, read: int | None, pods: int, replicas: int | None
) -> None:
    deployment = Workload(
        name="karpenter", namespace="kube-system", api_version="apps/v1", kind="Deployment",
        labels={NAME_LABEL: NAME}, replicas=watched,
    )  # fmt: skip
    view = a_view(Kind.DEPLOYMENT, deployment, namespace=namespace, replicas=read)
    of_karpenter = [a_pod(name=f"karpenter-{number}", namespace="kube-system") for number in range(pods)]
    assert controller_of_view(view, of_karpenter, NOW_NS).replicas == replicas
