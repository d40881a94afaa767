"""Read Karpenter's settings and version from its Deployment on a real API server, with and without permission."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from karptui.karpenter.controller import ControllerInfo
from karptui.sources.cluster.connection import Impersonation, load_connection
from karptui.sources.cluster.credentials import credentials_for
from karptui.sources.cluster.transport import Transport
from karptui.sources.controller import ControllerError, read_controller

from .control_plane import Client, ControlPlane

pytestmark = pytest.mark.apiserver

SECONDS = 60.0
LABELS = {"app.kubernetes.io/name": "karpenter"}
DEPLOYMENTS = "/apis/apps/v1/namespaces/kube-system/deployments"


def a_deployment(**env: str) -> dict[str, Any]:
    variables: list[dict[str, Any]] = [{"name": name, "value": value} for name, value in env.items()]
    secret = {"secretKeyRef": {"name": "enis", "key": "count"}}
    container = {
        "name": "controller",
        "image": "public.ecr.aws/karpenter/controller:1.14.1",
        "args": ["--batch-max-duration=5s"],
        "env": [*variables, {"name": "RESERVED_ENIS", "valueFrom": secret}],
        "envFrom": [{"configMapRef": {"name": "more"}}],
    }
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": [container]}}
    return {
        "metadata": {"name": "karpenter", "labels": LABELS},
        "spec": {"selector": {"matchLabels": LABELS}, "template": template},
    }


@contextmanager
def transport(plane: ControlPlane, **options: Any) -> Iterator[Transport]:
    """Connect to the control plane, by default as an administrator."""
    connection = load_connection(kubeconfig=plane.kubeconfig, environ={}, **options)
    result = Transport(connection, credentials_for(connection))
    try:
        yield result
    finally:
        result.close()


def test_settings_are_read_again_from_a_changed_deployment(plane: ControlPlane) -> None:
    client = Client(plane)
    client.request("DELETE", f"{DEPLOYMENTS}/karpenter", expect=None)  # another test on this server may have created it
    with transport(plane) as result:
        with pytest.raises(ControllerError, match="no Deployment or pod is labelled"):
            read_controller(result)
        client.request("POST", DEPLOYMENTS, a_deployment(VM_MEMORY_OVERHEAD_PERCENT="0.05", AWS_REGION="us-east-1"))
        info = read_controller(result)
        assert (info.title, info.version) == ("Deployment kube-system/karpenter", "1.14.1")
        assert info.settings == {"VM_MEMORY_OVERHEAD_PERCENT": "0.05", "BATCH_MAX_DURATION": "5s"}
        assert info.unknown == {"RESERVED_ENIS": "Secret enis"}
        assert info.from_elsewhere == ("ConfigMap more",)
        client.request("PUT", f"{DEPLOYMENTS}/karpenter", a_deployment(VM_MEMORY_OVERHEAD_PERCENT="0.06"))
        assert read_controller(result).settings["VM_MEMORY_OVERHEAD_PERCENT"] == "0.06"


def test_a_deployment_of_a_tenant_with_a_lease_is_not_mistaken_for_karpenter(plane: ControlPlane) -> None:
    client = Client(plane)
    client.request("DELETE", f"{DEPLOYMENTS}/karpenter", expect=None)
    for namespace in ("shop", "platform"):
        client.request("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}}, expect=None)
    lease = {"metadata": {"name": "karpenter-leader-election"}, "spec": {"holderIdentity": "karpenter-1_x"}}
    client.request("POST", "/apis/coordination.k8s.io/v1/namespaces/shop/leases", lease)
    client.request("POST", DEPLOYMENTS.replace("kube-system", "shop"), a_deployment(RESERVED_ENIS="9"))
    with transport(plane) as result:
        with pytest.raises(ControllerError, match="is not proven to be Karpenter") as caught:
            read_controller(result)
        assert caught.value.others == ("Deployment shop/karpenter",)
        rules = [{"apiGroups": ["karpenter.sh"], "resources": ["nodeclaims"], "verbs": ["create", "patch"]}]
        client.allow("karpenter", rules, kind="ServiceAccount", namespace="platform")
        deployment = a_deployment()
        deployment["spec"]["template"]["spec"]["serviceAccountName"] = "karpenter"
        client.request("POST", DEPLOYMENTS.replace("kube-system", "platform"), deployment)
        info = read_controller(result)
    assert (info.title, info.others) == ("Deployment platform/karpenter", ("Deployment shop/karpenter",))
    client.request("DELETE", f"{DEPLOYMENTS.replace('kube-system', 'platform')}/karpenter")
    client.request("DELETE", f"{DEPLOYMENTS.replace('kube-system', 'shop')}/karpenter")


def test_permission_in_one_namespace_suffices_and_without_it_the_error_names_it(plane: ControlPlane) -> None:
    client = Client(plane)
    client.request("POST", DEPLOYMENTS, a_deployment(), expect=None)
    missing = "needs permission to list deployments or pods in its namespace"
    with transport(plane, impersonation=Impersonation("reader", ())) as result:
        with pytest.raises(ControllerError, match=missing):
            read_controller(result)
        client.allow_in(
            "kube-system", "reader", [{"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["list"]}]
        )
        assert _granted(result).title == "Deployment kube-system/karpenter"


def _granted(transport: Transport) -> ControllerInfo:
    """Read the settings as soon as the API server has applied the role."""
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            return read_controller(transport)
        except ControllerError:
            assert time.monotonic() < deadline
            time.sleep(0.05)
