from __future__ import annotations

from typing import Any

import pytest

from karptui.aws.prices import Price, PriceOrigin, PriceSource
from karptui.karpenter import labels as karpenter_labels
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.kube.objects import Node, OwnerReference
from karptui.kube.pod import Pod, PodTemplate
from karptui.kube.usage import Sample, Used
from karptui.session.nodes import NodeEntry, PodAccess
from karptui.session.pods import PodEntry
from karptui.state.usage import NodeUsage
from karptui.views.nodes.columns import nodes_table
from karptui.views.pods import TABLE as PODS
from karptui.views.table import TableSpec
from tests.builders import texts_of
from tests.ui.fleet import HOUR, NOW_NS, SECOND, amounts

LABELS = {
    karpenter_labels.NODEPOOL: "general", karpenter_labels.INSTANCE_TYPE: "m5.large",
    karpenter_labels.CAPACITY_TYPE: "on-demand", karpenter_labels.ZONE: "us-east-1a", karpenter_labels.ARCH: "arm64",
    "example.com/team": "web\x1b[31m",
}  # fmt: skip
ALLOCATABLE = amounts(cpu="4", memory="8Gi", pods="10", **{"ephemeral-storage": "20Gi", "nvidia.com/gpu": "2"})

ORIGIN = PriceOrigin(PriceSource.BUILT_IN, NOW_NS)


def words_of(spec: TableSpec[Any], item: Any, *seen: str) -> list[str]:
    unseen = {heading.id for heading in spec.headings()} - set(seen)
    return texts_of(spec.facts_without_room(unseen, item, NOW_NS))


def a_claim(**given: Any) -> NodeClaim:
    document: dict[str, Any] = {"name": "c1", "labels": LABELS, "created_ns": NOW_NS - HOUR, "image_id": "ami-1"}
    return NodeClaim(**(document | given))


def a_node(**given: Any) -> NodeEntry:
    node = Node(name="n1", labels=LABELS, allocatable=ALLOCATABLE, capacity=ALLOCATABLE, created_ns=NOW_NS - HOUR)
    claim = a_claim(allocatable=amounts(cpu="4", memory="8Gi", pods="10"), expire_after_ns=73 * HOUR)
    usage = NodeUsage(workload=amounts(pods="1", ephemeral="2Gi"))
    return NodeEntry(**({"node": node, "claim": claim, "usage": usage} | given))


def a_price(**given: Any) -> Price:
    usual: dict[str, Any] = {"per_hour": 0.0961, "listed_per_hour": 0.0961, "currency": "USD", "origin": ORIGIN}
    return Price(**{**usual, **given})


SPEC = nodes_table(("example.com/team",))


class TestNodes:
    def test_hidden_columns_are_listed_in_their_order(self) -> None:
        sample = Sample(NOW_NS - 20 * SECOND, 400, 2 << 30)
        used = Used(sample, 400, 2 << 30, 1, sample.at_ns)
        assert words_of(SPEC, a_node(price=a_price(), used=used)) == [
            "$0.0961/h", "1/10 pods", "m5.large on-demand us-east-1a", "team=web␛[31m", "free cpu 4000m mem 8,192Mi",
            "expires in 3d", "gpu 0/2", "age 60m", "ephemeral 2/20Gi 10%", "used cpu 400m mem 2,048Mi 20s ago", "arm64",
            "image ami-1",
        ]  # fmt: skip
        smaller = a_node(claim=a_claim(allocatable=amounts(cpu="4", memory="9Gi", pods="14")))
        assert words_of(SPEC, smaller)[:2] == ["vs NodeClaim −1,024Mi −4 pods", "price n/a"]

    @pytest.mark.parametrize(("entry", "fact"), [
        (a_node(access=PodAccess.FORBIDDEN), "unread/10 pods"),
        (a_node(access=PodAccess.FORBIDDEN), "ephemeral unread/20Gi"),
        (a_node(claim=a_claim()), "never expires"),
        (a_node(claim=a_claim(expire_after_ns=HOUR)), "expiry is due"),
        (a_node(price=a_price(currency="CNY")), "¥0.0961/h"),
        (NodeEntry(None, a_claim(labels={karpenter_labels.ZONE: "us-east-1b"})), "us-east-1b"),
    ])  # fmt: skip
    def test_corners(self, entry: NodeEntry, fact: str) -> None:
        assert fact in words_of(SPEC, entry)


class TestPods:
    @staticmethod
    def a_pod(**template: Any) -> PodEntry:
        podtemplate = PodTemplate(**({"namespace": "web", "requests": amounts(**{"nvidia.com/gpu": "2"})} | template))
        pod = Pod(name="p", template=podtemplate, node_name="n1", created_ns=NOW_NS - HOUR)
        return PodEntry(pod.key, pod, "general")

    def test_hidden_columns_that_the_text_does_not_mention(self) -> None:
        owners = (OwnerReference("apps/v1", "DaemonSet", "cni", controller=True),)
        entry = self.a_pod(owners=owners, priority=2_000_001_000)
        assert words_of(PODS, entry) == ["owned by ds/cni", "requests 2 GPUs", "priority 2000001000", "age 60m"]
