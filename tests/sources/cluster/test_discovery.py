from __future__ import annotations

from typing import Any

import pytest

from karptui.decode.kinds import Kind
from karptui.sources.cluster.discovery import AGGREGATED, discover
from tests.fake_api_server import Call

from .live import Serve, transport_to

VERBS = ["get", "list", "watch"]


def resource(plural: str, kind: str, *, scope: str = "Cluster", verbs: list[str] | None = None) -> dict[str, Any]:
    return {"resource": plural, "responseKind": {"kind": kind}, "scope": scope, "verbs": verbs or VERBS}


def group(name: str, **versions: list[dict[str, Any]]) -> dict[str, Any]:
    listed = [{"version": version, "resources": resources} for version, resources in versions.items()]
    return {"metadata": {"name": name, "creationTimestamp": None}, "versions": listed}


def aggregated(*groups: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": list(groups)}


KARPENTER = group(
    "karpenter.sh",
    v1=[resource("nodepools", "NodePool"), resource("nodeclaims", "NodeClaim")],
    v1alpha1=[resource("nodeoverlays", "NodeOverlay")],
)


def discovered(serve: Serve, document: dict[str, Any]) -> list[tuple[Kind, str, str]]:
    server = serve(lambda call: call.json(document))
    resources = discover(transport_to(server))
    assert [call.path for call in server.calls] == ["/apis"]
    assert server.calls[0].headers["Accept"] == AGGREGATED
    return [(resource.kind, resource.api_version, resource.api_kind) for resource in resources]


def test_karpenters_kinds_and_every_providers_node_classes_are_found(serve: Serve) -> None:
    providers = (
        group("karpenter.k8s.aws", v1=[resource("ec2nodeclasses", "EC2NodeClass")]),
        group("karpenter.azure.com", v1beta1=[resource("aksnodeclasses", "AKSNodeClass")]),
        group("karpenter.kwok.sh", v1alpha1=[resource("kwoknodeclasses", "KWOKNodeClass")]),
        group("eks.amazonaws.com", v1=[resource("nodeclasses", "NodeClass"), resource("targetgroupbindings", "TGB")]),
        group("oci.oraclecloud.com", v1beta1=[resource("ocinodeclasses", "OCINodeClass")]),
        group("example.com", v1=[resource("nodeclasses", "NodeClass")]),
        group("node.k8s.io", v1=[resource("runtimeclasses", "RuntimeClass")]),
    )
    assert discovered(serve, aggregated(KARPENTER, *providers)) == [
        (Kind.NODEPOOL, "karpenter.sh/v1", "NodePool"),
        (Kind.NODECLAIM, "karpenter.sh/v1", "NodeClaim"),
        (Kind.NODEOVERLAY, "karpenter.sh/v1alpha1", "NodeOverlay"),
        (Kind.NODECLASS, "karpenter.k8s.aws/v1", "EC2NodeClass"),
        (Kind.NODECLASS, "karpenter.azure.com/v1beta1", "AKSNodeClass"),
        (Kind.NODECLASS, "karpenter.kwok.sh/v1alpha1", "KWOKNodeClass"),
        (Kind.NODECLASS, "eks.amazonaws.com/v1", "NodeClass"),
        (Kind.NODECLASS, "oci.oraclecloud.com/v1beta1", "OCINodeClass"),
    ]


@pytest.mark.parametrize(("served", "chosen"), [
    (["v1beta1", "v1"], "v1"),
    (["v1", "v1beta1"], "v1"),
    (["v1beta1"], "v1beta1"),
    (["v2", "v1beta1"], "v1beta1"),
    (["v2"], "v2"),
    (["v3", "v2"], "v3"),
])  # fmt: skip
def test_best_known_version_of_karpenters_kinds_is_chosen(serve: Serve, served: list[str], chosen: str) -> None:
    versions = {version: [resource("nodepools", "NodePool")] for version in served}
    assert discovered(serve, aggregated(group("karpenter.sh", **versions))) == [
        (Kind.NODEPOOL, f"karpenter.sh/{chosen}", "NodePool")
    ]


def test_the_servers_preferred_version_of_a_nodeclass_is_chosen(serve: Serve) -> None:
    classes = [resource("ec2nodeclasses", "EC2NodeClass")]
    document = aggregated(group("karpenter.k8s.aws", v1beta1=classes, v1=classes))
    assert discovered(serve, document) == [(Kind.NODECLASS, "karpenter.k8s.aws/v1beta1", "EC2NodeClass")]


def test_server_without_aggregated_discovery_is_asked_for_each_group(serve: Serve) -> None:
    def answer(call: Call) -> None:
        match call.path:
            case "/apis":
                names = {"apps": ["v1"], "karpenter.sh": ["v1", "v1beta1"], "karpenter.k8s.aws": ["v1"]}
                groups = [
                    {"name": name, "versions": [{"version": v} for v in versions]} for name, versions in names.items()
                ]
                call.json({"kind": "APIGroupList", "groups": groups})
            case "/apis/karpenter.k8s.aws/v1":
                call.json(
                    {
                        "resources": [
                            {"name": "ec2nodeclasses", "kind": "EC2NodeClass", "namespaced": False, "verbs": VERBS},
                            {"name": "ec2nodeclasses/status", "kind": "EC2NodeClass", "verbs": ["get"]},
                        ]
                    }
                )
            case _:
                call.json({"resources": [{"name": "nodepools", "kind": "NodePool", "verbs": VERBS}]})

    server = serve(answer)
    resources = discover(transport_to(server))
    assert [(resource.kind, resource.api_version) for resource in resources] == [
        (Kind.NODEPOOL, "karpenter.sh/v1"),
        (Kind.NODECLASS, "karpenter.k8s.aws/v1"),
    ]
    assert [call.path for call in server.calls] == [
        "/apis",
        "/apis/karpenter.sh/v1",
        "/apis/karpenter.sh/v1beta1",
        "/apis/karpenter.k8s.aws/v1",
    ]


def test_namespaced_node_classes(serve: Serve) -> None:
    classes = [resource("xnodeclasses", "XNodeClass", scope="Namespaced")]
    server = serve(lambda call: call.json(aggregated(group("karpenter.x", v1=classes))))
    (result,) = discover(transport_to(server))
    assert result.is_namespaced
    assert result.title == "xnodeclasses.karpenter.x"
