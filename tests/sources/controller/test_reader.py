from __future__ import annotations

import pytest

from karptui.karpenter.controller import ControllerInfo
from karptui.sources.base import SourceError
from karptui.sources.cluster.errors import ApiError
from karptui.sources.cluster.transport import Transport
from karptui.sources.controller import ControllerError, read_controller
from tests.sources.metrics.conftest import lease

from .conftest import DEPLOYMENTS, LEASES, PODS, Api, deployment, pod

OWN_DEPLOYMENTS = "/apis/apps/v1/namespaces/kube-system/deployments"


def test_the_deployment_wherever_it_is(api: Api, client: Transport) -> None:
    api.lists[DEPLOYMENTS] = [deployment("z", RESERVED_ENIS="9", replicas=0), deployment(RESERVED_ENIS="1")]
    found = read_controller(client)
    assert found == ControllerInfo(
        title="Deployment kube-system/karpenter",
        version="1.14.1",
        version_source="image of Deployment kube-system/karpenter",
        settings={"RESERVED_ENIS": "1"},
    )
    query = {"labelSelector": "app.kubernetes.io/name=karpenter", "limit": "20"}
    # what else carries the label is asked for last
    assert api.calls == [(OWN_DEPLOYMENTS, query), (DEPLOYMENTS, query), (PODS, query)]


def test_a_tenant_changes_nothing_and_is_named(api: Api, client: Transport) -> None:
    api.lists[DEPLOYMENTS] = [deployment(namespace="aaa", RESERVED_ENIS="9"), deployment(RESERVED_ENIS="1")]
    theirs = pod("karpenter-x", "Running")
    theirs["metadata"]["namespace"] = "shop"
    api.lists[PODS] = [theirs]
    found = read_controller(client)
    assert (found.title, found.settings) == ("Deployment kube-system/karpenter", {"RESERVED_ENIS": "1"})
    assert found.others == ("Deployment aaa/karpenter", "Pod shop/karpenter-x")


def test_a_tenant_alone_is_not_taken_for_karpenter(api: Api, client: Transport) -> None:
    api.lists[DEPLOYMENTS] = [deployment(namespace="shop", RESERVED_ENIS="9")]
    api.lists[PODS] = []
    with pytest.raises(ControllerError, match=r"shop/karpenter: labelled .* nothing shows that it is Karpenter"):
        read_controller(client)


def test_a_lease_proves_another_namespace(api: Api, client: Transport) -> None:
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
    found = read_controller(client)
    assert (found.settings, found.others) == ({"RESERVED_ENIS": "1"}, ("Deployment shop/karpenter",))


def test_one_namespace_is_enough(api: Api, client: Transport) -> None:
    api.lists["/apis/apps/v1/namespaces/kube-system/deployments"] = []
    api.lists["/apis/apps/v1/namespaces/karpenter/deployments"] = [deployment(namespace="karpenter")]
    assert read_controller(client).title == "Deployment karpenter/karpenter"


def test_a_pod_where_deployments_may_not_be_listed(api: Api, client: Transport) -> None:
    api.lists[PODS] = [pod("a", "Failed", RESERVED_ENIS="1"), pod("b", "Running", RESERVED_ENIS="2")]
    found = read_controller(client)
    assert (found.title, found.settings) == ("Pod karpenter/b", {"RESERVED_ENIS": "2"})


def test_nothing_may_be_listed(client: Transport) -> None:
    with pytest.raises(ControllerError, match="need permission to list deployments or pods in its namespace"):
        read_controller(client)


def test_nothing_is_there(api: Api, client: Transport) -> None:
    api.lists[DEPLOYMENTS] = api.lists[PODS] = []
    with pytest.raises(ControllerError, match="no Deployment or pod is labelled"):
        read_controller(client)


def test_a_server_in_trouble(api: Api, client: Transport) -> None:
    api.status = 500
    with pytest.raises(ApiError, match="500"):
        read_controller(client)


@pytest.mark.parametrize("body", [b"<html>", b'{"items": 5}'])
def test_an_answer_that_is_none(api: Api, client: Transport, body: bytes) -> None:
    api.lists[DEPLOYMENTS] = body
    with pytest.raises(SourceError, match="cannot be read"):
        read_controller(client)


def test_hostile_shapes(api: Api, client: Transport) -> None:
    api.lists[DEPLOYMENTS] = [{"spec": "x", "metadata": [], "status": 5}]
    assert read_controller(client).settings == {}
