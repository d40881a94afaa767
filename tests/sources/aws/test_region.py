from __future__ import annotations

import pytest

from karptui.kube.node import Node
from karptui.sources.aws.region import cluster_region


def node(zone: str = "", region: str = "", provider_id: str = "") -> Node:
    labels = {"topology.kubernetes.io/zone": zone, "topology.kubernetes.io/region": region}
    return Node(name="n", labels={key: text for key, text in labels.items() if text}, provider_id=provider_id)


@pytest.mark.parametrize(
    ("nodes", "server", "region"),
    [
        ([], "", ""),
        ([node("eu-west-1a")], "", "eu-west-1"),
        ([node("us-east-1-bos-1a", "us-east-1")], "", "us-east-1"),
        ([node("us-east-1a"), node("eu-west-1a"), node("eu-west-1b")], "", "eu-west-1"),
        ([node("us-east-1a"), node("eu-west-1a")], "", "eu-west-1"),
        ([node("eu-west-1a", provider_id="aws:///eu-west-1a/i-0")], "", "eu-west-1"),
        ([node("us-central1-a", "us-central1", "gce://p/us-central1-a/n")], "", ""),
        ([node("westeurope-1", "westeurope", "azure:///x")], "", ""),
        ([node("eu-central-1a", "fsn1")], "", ""),
        ([node(region="eu-west-1")], "", ""),
        ([], "https://0A1B.gr7.eu-west-1.eks.amazonaws.com", "eu-west-1"),
        ([], "https://0A1B.yl4.cn-north-1.eks.amazonaws.com.cn:443/", "cn-north-1"),
        ([], "https://0A1B.sk1.us-gov-west-1.eks.amazonaws.com", "us-gov-west-1"),
        ([], "https://127.0.0.1:6443", ""),
        ([], "https://evil.example/x.eu-west-1.eks.amazonaws.com", ""),
        ([node("us-east-1a")], "https://0A1B.gr7.eu-west-1.eks.amazonaws.com", "us-east-1"),
    ],
)
def test_the_clusters_region(nodes: list[Node], server: str, region: str) -> None:
    assert cluster_region(nodes, server) == region
