from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from karptui.aws.region import FactPhase
from karptui.clock import FrozenClock
from karptui.karpenter.controller import ControllerInfo
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.sources.cluster.errors import ApiError
from karptui.sources.cluster.transport import Transport
from karptui.sources.controller import ControllerError, ControllerSource, read_controller
from karptui.sources.source import SourceError
from tests.sources.conftest import NOW_NS
from tests.sources.metrics.conftest import BINDINGS, EVENTS, NODEPOOLS, ROLES, binding, lease, managed, role
from tests.sources.turns import Turns

from .conftest import DEPLOYMENTS, LEASES, PODS, Api, deployment, pod

OWN_DEPLOYMENTS = "/apis/apps/v1/namespaces/kube-system/deployments"


def test_the_deployment_is_found_in_any_namespace(api: Api, client: Transport) -> None:
    api.lists[DEPLOYMENTS] = [deployment("z", RESERVED_ENIS="9", replicas=0), deployment(RESERVED_ENIS="1")]
    info = read_controller(client)
    assert info == ControllerInfo(
        title="Deployment kube-system/karpenter",
        namespace="kube-system",
        version="1.14.1",
        settings={"RESERVED_ENIS": "1"},
        replicas=2,
    )
    query = {"labelSelector": "app.kubernetes.io/name=karpenter", "limit": "20"}
    # other objects with the label are requested last
    assert api.calls == [(OWN_DEPLOYMENTS, query), (DEPLOYMENTS, query), (PODS, query)]


def test_a_tenants_deployment_is_ignored_and_named(api: Api, client: Transport) -> None:
    api.lists[DEPLOYMENTS] = [deployment(namespace="aaa", RESERVED_ENIS="9"), deployment(RESERVED_ENIS="1")]
    theirs = pod("karpenter-x", "Running")
    theirs["metadata"]["namespace"] = "shop"
    api.lists[PODS] = [theirs]
    info = read_controller(client)
    assert (info.title, info.settings) == ("Deployment kube-system/karpenter", {"RESERVED_ENIS": "1"})
    assert info.others == ("Deployment aaa/karpenter", "Pod shop/karpenter-x")


def test_a_tenant_alone_is_not_taken_for_karpenter(api: Api, client: Transport) -> None:
    api.lists[DEPLOYMENTS] = [deployment(namespace="shop", RESERVED_ENIS="9")]
    api.lists[PODS] = []
    with pytest.raises(ControllerError, match=r"shop/karpenter: labelled .* is not proven to be Karpenter"):
        read_controller(client)


def test_a_lease_proves_that_karpenter_runs_in_another_namespace(api: Api, client: Transport) -> None:
    api.lists[NODEPOOLS] = [managed("karpenter")]
    api.lists[DEPLOYMENTS] = [
        deployment(namespace="shop", RESERVED_ENIS="9"),
        deployment(namespace="platform", RESERVED_ENIS="1"),
    ]
    api.lists[PODS] = []
    api.lists[LEASES] = [
        lease("shop", "karpenter-1", "2026-11-20T00:00:00Z"),
        lease("platform", "karpenter-6f9-abcde", "2026-01-01T00:00:00Z"),
        lease("elsewhere", "karpenter-6f9-abcde", "2020-01-01T00:00:00Z"),
    ]
    info = read_controller(client)
    assert (info.settings, info.others) == ({"RESERVED_ENIS": "1"}, ("Deployment shop/karpenter",))


@pytest.fixture
def tenant(api: Api) -> Api:
    """Return an API without Karpenter, where a tenant has labelled a Deployment and forged the lease."""
    api.lists[DEPLOYMENTS] = [deployment(namespace="shop", RESERVED_ENIS="9")]
    api.lists[PODS] = []
    api.lists[LEASES] = [lease("shop", "karpenter-6f9-abcde", "2020-01-01T00:00:00Z")]
    return api


def refused(client: Transport) -> tuple[str, ...]:
    with pytest.raises(ControllerError, match="is not proven to be Karpenter") as caught:
        read_controller(client)
    return caught.value.others


def test_a_forged_lease_without_karpenter_is_ignored_and_named(tenant: Api, client: Transport) -> None:
    assert refused(client) == ("Deployment shop/karpenter",)
    tenant.lists[NODEPOOLS] = [managed("kubectl"), managed("karpenter", group="eks.amazonaws.com")]
    assert refused(client), "EKS Auto Mode runs its Karpenter outside the cluster"
    tenant.lists[EVENTS] = [{"source": {"component": "karpenter"}, "involvedObject": {"apiVersion": "v1"}}]
    assert refused(client), "an event about an object that is not Karpenter's proves nothing"


@pytest.mark.parametrize("kind", ["managers", "events"])
def test_a_lease_counts_if_karpenter_has_written_objects(tenant: Api, client: Transport, kind: str) -> None:
    about = {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "name": "general-x"}
    if kind == "managers":
        tenant.lists[NODEPOOLS.replace("nodepools", "nodeclaims")] = [managed("karpenter")]
    else:
        tenant.lists[EVENTS] = [{"source": {"component": "karpenter"}, "involvedObject": about}]
    assert read_controller(client).title == "Deployment shop/karpenter"


def test_a_lease_alone_is_reported_as_weak_evidence(tenant: Api, client: Transport) -> None:
    """A Karpenter hosted outside writes NodePools here but has no pod here, so a tenant's pod could be it."""
    tenant.lists[NODEPOOLS] = [managed("karpenter")]
    (sentence,) = read_controller(client).sentences
    assert sentence.startswith(
        "only the lease karpenter-leader-election identifies this as Karpenter, because ClusterRole"
    )
    assert sentence.endswith(": anyone who may create leases and pods in shop can fake it")
    tenant.lists[BINDINGS] = [binding("view", "shop", "default")]
    tenant.answers[f"{ROLES}/view"] = role("get", "list", "watch")
    assert refused(client) == ("Deployment shop/karpenter",), "the bindings show that the tenant's is not Karpenter"


def test_a_lease_held_in_kube_system_overrides_a_tenants(tenant: Api, client: Transport) -> None:
    """It belongs to a Karpenter hosted outside, without pods in this cluster."""
    tenant.lists[NODEPOOLS] = [managed("karpenter")]
    (theirs,) = tenant.lists[LEASES]
    theirs["spec"]["renewTime"] = "2099-01-01T00:00:00Z"
    result = lease("kube-system", "karpenter-outside", "2026-01-01T00:00:00Z", "2026-11-20T12:00:00.000000Z")
    tenant.lists[LEASES] = [theirs, result]
    for item in ("2020-01-01T00:00:00Z", "2026-11-20T12:00:30Z", "never"):
        theirs["metadata"]["creationTimestamp"] = item
        assert refused(client) == ("Deployment shop/karpenter",)
    theirs["metadata"]["creationTimestamp"] = "2026-11-20T12:05:00Z"
    assert read_controller(client).doubt, "the lease in kube-system is no longer renewed, so Karpenter has moved"
    result["spec"]["holderIdentity"] = ""
    theirs["metadata"]["creationTimestamp"] = "2020-01-01T00:00:00Z"
    assert read_controller(client).doubt, "the lease in kube-system was released"


def test_a_service_account_overrides_every_lease(tenant: Api, client: Transport) -> None:
    """Only the cluster's administrators decide who may write NodeClaims."""
    tenant.lists[NODEPOOLS] = [managed("karpenter")]
    manifest = deployment(namespace="platform", RESERVED_ENIS="1")
    manifest["spec"]["template"]["spec"]["serviceAccountName"] = "karpenter-account"
    tenant.lists[DEPLOYMENTS].append(manifest)
    tenant.lists[BINDINGS] = [
        binding("view", "shop", "default", name="karpenter-of-the-shop"),
        binding("karpenter", "platform", "karpenter-account"),
    ]
    tenant.answers[f"{ROLES}/view"] = role("get", "list", "watch")
    tenant.answers[f"{ROLES}/karpenter"] = role("get", "patch")
    info = read_controller(client)
    assert (info.settings, info.others) == ({"RESERVED_ENIS": "1"}, ("Deployment shop/karpenter",))
    tenant.lists[DEPLOYMENTS].remove(manifest)
    assert refused(client) == ("Deployment shop/karpenter",)


@pytest.mark.parametrize("rules", [
    role("get", "list", "watch"),
    role("*", group="apps"),
    role("*", resource="nodepools"),
    {"rules": [{**role("*")["rules"][0], "resourceNames": ["theirs"]}]},
    {"rules": None},
], ids=["reads", "another group", "another kind", "one claim", "nothing"])  # fmt: skip
def test_an_account_that_may_not_write_nodeclaims_proves_nothing(tenant: Api, client: Transport, rules: object) -> None:
    tenant.lists[NODEPOOLS] = [managed("karpenter")]
    tenant.lists[BINDINGS] = [binding("theirs", "shop", "default")]
    tenant.answers[f"{ROLES}/theirs"] = rules
    assert refused(client)
    tenant.answers[f"{ROLES}/theirs"] = role("*", group="*", resource="*")
    assert read_controller(client).title == "Deployment shop/karpenter"


@pytest.mark.parametrize("group", ["system:serviceaccounts", "system:serviceaccounts:shop"])
def test_bindings_of_all_service_accounts_prove_nothing(tenant: Api, client: Transport, group: str) -> None:
    subject = {"kind": "Group", "name": group}
    tenant.lists[BINDINGS] = [{"metadata": {"name": "all"}, "subjects": [subject], "roleRef": {"name": "all"}}]
    tenant.answers[f"{ROLES}/all"] = role("*", group="*", resource="*")
    assert refused(client)


def test_a_pod_is_used_if_deployments_may_not_be_listed(api: Api, client: Transport) -> None:
    api.lists[NODEPOOLS] = [managed("karpenter")]
    api.lists[PODS] = [pod("a", "Failed", RESERVED_ENIS="1"), pod("b", "Running", RESERVED_ENIS="2")]
    info = read_controller(client)
    assert (info.title, info.settings) == ("Pod karpenter/b", {"RESERVED_ENIS": "2"})


@pytest.mark.parametrize(("lists", "status", "error", "sentence"), [
    ({}, 403, ControllerError, "needs permission to list deployments or pods in its namespace"),
    ({DEPLOYMENTS: [], PODS: []}, 403, ControllerError, "no Deployment or pod is labelled"),
    ({}, 500, ApiError, "500"),
    ({DEPLOYMENTS: b"<html>"}, 403, SourceError, "cannot be read"),
    ({DEPLOYMENTS: b'{"items": 5}'}, 403, SourceError, "cannot be read"),
], ids=["forbidden", "absent", "server error", "no JSON", "no list"])  # fmt: skip
def test_without_karpenter_the_error_has_the_reason(
    api: Api, client: Transport, *, lists: dict[str, Any], status: int, error: type[SourceError], sentence: str
) -> None:
    api.lists.update(lists)
    api.status = status
    with pytest.raises(error, match=sentence):
        read_controller(client)


def test_malformed_deployments_are_read(api: Api, client: Transport) -> None:
    api.lists[DEPLOYMENTS] = [{"spec": "x", "metadata": [], "status": 5}]
    assert read_controller(client).settings == {}


@pytest.fixture
def source(client: Transport, clock: FrozenClock, turns: Turns) -> Iterator[ControllerSource]:
    controllersource = ControllerSource(client, clock=clock, wait=turns.wait)
    yield controllersource
    turns.end(controllersource)


def test_an_equal_reading_returns_the_same_object(
    api: Api, source: ControllerSource, turns: Turns, clock: FrozenClock
) -> None:
    assert source.latest().status.phase is FactPhase.WAITING
    api.lists[DEPLOYMENTS] = [deployment(RESERVED_ENIS="1")]
    first = turns.read(source)
    assert first.info is not None
    assert (first.status.phase, first.status.as_of_ns, turns.seconds) == (FactPhase.LIVE, NOW_NS, [60.0])
    clock.instant_ns += 60 * NS_PER_SECOND
    assert turns.read(source) is first
    api.lists[DEPLOYMENTS] = [deployment(RESERVED_ENIS="2")]
    second = turns.read(source)
    assert second.info is not None
    assert second.info.settings == {"RESERVED_ENIS": "2"}
    assert second.status.as_of_ns == clock.instant_ns


def test_the_last_reading_is_kept_if_reading_fails(api: Api, source: ControllerSource, turns: Turns) -> None:
    refused = turns.read(source)
    assert (refused.info, refused.status.phase) == (None, FactPhase.UNAVAILABLE)
    api.lists[DEPLOYMENTS] = [deployment()]
    first = turns.read(source)
    api.lists.clear()
    second = turns.read(source)
    assert second.info is first.info
    assert (second.status.phase, second.status.as_of_ns) == (FactPhase.CACHED, NOW_NS)
    assert "needs permission" in second.status.sentence
    assert second.status.retry_at_ns == NOW_NS + 300 * NS_PER_SECOND
    assert turns.read(source) is second
    api.status = 500
    third = turns.read(source)
    assert "500" in third.status.sentence
    assert turns.seconds[-1] == 60.0
    api.lists[DEPLOYMENTS] = [deployment()]
    last = turns.read(source)
    assert last.info is first.info
    assert last.status.phase is FactPhase.LIVE


def test_unreadable_settings_are_reported(api: Api, source: ControllerSource, turns: Turns) -> None:
    secret = deployment()
    secret["spec"]["template"]["spec"]["containers"][0]["env"] = [
        {"name": "RESERVED_ENIS", "valueFrom": {"secretKeyRef": {"name": "enis"}}}
    ]
    api.lists[DEPLOYMENTS] = [secret]
    assert turns.read(source).status.sentence == "RESERVED_ENIS comes from Secret enis, which is not read"
