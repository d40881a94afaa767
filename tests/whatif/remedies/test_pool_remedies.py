from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from karptui.karpenter.labels import ARCH, CAPACITY_TYPE, INSTANCE_TYPE, ZONE
from karptui.karpenter.nodepool import NodePool
from karptui.kube.selectors import NodeSelectorRequirement, NodeSelectorTerm
from karptui.kube.taints import Taint, Toleration
from karptui.whatif.edits import SetField
from karptui.whatif.remedies.pending.pools import allow_value
from karptui.whatif.remedies.pending.remedy import RemedyKind
from tests.builders import a_node, a_nodeclaim, a_nodepool, a_pod, a_requirement, amounts, an_instance_type
from tests.whatif.remedies.asking import TYPES, a_base, a_pool, asked, fields_of, of_kind

ON_DEMAND = a_requirement(CAPACITY_TYPE, "In", "on-demand")


def limited(**limits: Any) -> NodePool:
    return a_pool(limits=amounts(limits))


class TestTaints:
    pool = a_pool(taints=(Taint("team", "NoSchedule", "ml"), Taint("gpu", "NoExecute"), Taint("soft", "NoSchedule")))

    def test_taints_are_dropped_or_tolerated(self) -> None:
        pod = a_pod(tolerations=(Toleration("soft", "Exists"),))
        [remedy] = of_kind(asked(a_base(pod, pools=[self.pool]), pod), RemedyKind.REMOVE_TAINT)
        assert remedy.words == "drop its taints team=ml:NoSchedule, gpu:NoExecute, for all pods"
        [edit] = fields_of(remedy)
        assert edit.path == ("spec", "template", "spec", "taints")
        assert edit.value == [{"key": "soft", "effect": "NoSchedule"}]
        assert (remedy.gain.placed, remedy.gain.nodepools, remedy.gain.instance_type) == (1, ("general",), "m5.large")
        pod = a_pod()
        pool = a_pool(taints=(Taint("team", "NoSchedule", "ml"), Taint("gpu", "NoExecute")))
        [remedy] = of_kind(asked(a_base(pod, pools=[pool]), pod), RemedyKind.TOLERATE)
        assert remedy.words == "tolerate team=ml:NoSchedule, gpu:NoExecute"
        assert [edit.value["operator"] for edit in fields_of(remedy)] == ["Equal", "Exists"]
        assert [edit.path[-1] for edit in fields_of(remedy)] == [0, 1]
        assert remedy.gain.price_per_hour == pytest.approx(0.096)


class TestLimits:
    def test_the_least_limit_that_does(self) -> None:
        pod = a_pod(cpu="3")
        [remedy] = of_kind(asked(a_base(pod, pools=[limited(cpu="3")]), pod), RemedyKind.LIMIT)
        assert remedy.words == "raise its limit of cpu from 3 to 4"
        assert remedy.edits == (SetField(fields_of(remedy)[0].object, ("spec", "limits", "cpu"), "4"),)
        assert remedy.gain.instance_type == "m5.xlarge"
        pod = a_pod(cpu="3")
        [remedy] = of_kind(asked(a_base(pod, pools=[limited(cpu="3", memory="400Gi")]), pod), RemedyKind.LIMIT)
        assert remedy.words == "raise its limit of cpu from 3 to 4"
        pod = a_pod(cpu="2500m")
        node = a_node(cpu="4")
        full = a_pod(name="full", node="node-1", cpu="3800m")
        claim = a_nodeclaim(name="general-1", node="node-1")
        base = a_base(pod, pools=[limited(cpu="5")], nodes=(node,), nodeclaims=(claim,), running=(full,))
        [remedy] = of_kind(asked(base, pod), RemedyKind.LIMIT)
        assert remedy.words == "raise its limit of cpu from 5 to 8"
        pod = a_pod()
        node = a_node(pods="1")
        full = a_pod(name="full", node="node-1")
        claim = a_nodeclaim(name="general-1", node="node-1")
        base = a_base(pod, pools=[limited(nodes="1")], nodes=(node,), nodeclaims=(claim,), running=(full,))
        [remedy] = of_kind(asked(base, pod), RemedyKind.LIMIT)
        assert remedy.words == "raise its limit of nodes from 1 to 2"


class TestLabels:
    def test_labels_that_no_node_has(self) -> None:
        pod = a_pod(node_selector={"company.io/tier": "gold"})
        report = asked(a_base(pod), pod)
        [remedy] = of_kind(report, RemedyKind.POOL_LABEL)
        assert remedy.words == "give its nodes the label company.io/tier=gold"
        assert fields_of(remedy)[0].path == ("spec", "template", "metadata", "labels", "company.io/tier")
        [other] = of_kind(report, RemedyKind.POD_SELECTOR)
        assert other.words == "no longer request company.io/tier=gold"
        assert fields_of(other)[0].path == ("spec", "nodeSelector", "company.io/tier")
        pod = a_pod(node_selector={"tier": "gold"})
        pool = a_pool(template_labels={"tier": "silver"})
        [remedy] = of_kind(asked(a_base(pod, pools=[pool]), pod), RemedyKind.POOL_LABEL)
        assert remedy.words == "change the label tier of its nodes from silver to gold"

    @pytest.mark.parametrize(
        ("requirement", "value"),
        [
            (a_requirement(ZONE, "In", "us-east-1a"), ["us-east-1a", "us-east-1b"]),
            (a_requirement(ZONE, "NotIn", "us-east-1b", "us-east-1c"), ["us-east-1c"]),
        ],
    )
    def test_a_requirement_excludes_the_value(self, requirement: NodeSelectorRequirement, value: Sequence[str]) -> None:
        pod = a_pod(node_selector={ZONE: "us-east-1b"})
        pool = a_pool(requirements=(ON_DEMAND, requirement))
        report = asked(a_base(pod, pools=[pool]), pod)
        [remedy] = of_kind(report, RemedyKind.POOL_VALUE)
        assert remedy.words == f"allow {ZONE} us-east-1b"
        assert fields_of(remedy)[0].path == ("spec", "template", "spec", "requirements", 1, "values")
        assert fields_of(remedy)[0].value == value

    def test_the_last_excluded_value_takes_the_requirement_away(self) -> None:
        pod = a_pod(node_selector={ZONE: "us-east-1b"})
        pool = a_pool(requirements=(ON_DEMAND, a_requirement(ZONE, "NotIn", "us-east-1b")))
        [remedy] = of_kind(asked(a_base(pod, pools=[pool]), pod), RemedyKind.POOL_VALUE)
        assert fields_of(remedy)[0].path == ("spec", "template", "spec", "requirements", 1)
        assert fields_of(remedy)[0].value is None

    def test_a_term_of_the_node_affinity_may_go(self) -> None:
        term = NodeSelectorTerm((a_requirement(ARCH, "In", "arm64"), a_requirement(ZONE, "Exists")))
        pod = a_pod(required_node_terms=(term,))
        [remedy] = of_kind(asked(a_base(pod), pod), RemedyKind.POD_SELECTOR)
        assert remedy.words == f"no longer request {ARCH} In arm64"
        assert fields_of(remedy)[0].path[-3:] == (0, "matchExpressions", 0)


class TestTypes:
    def test_types_that_are_added(self) -> None:
        types = (*TYPES, an_instance_type(name="c5.2xlarge", cpu="8", memory="16Gi", prices={"on-demand": 0.15}))
        pool = a_pool(requirements=(ON_DEMAND, a_requirement(INSTANCE_TYPE, "In", "m5.large")))
        pod = a_pod(cpu="3")
        remedies = of_kind(asked(a_base(pod, pools=[pool], types=types), pod), RemedyKind.INSTANCE_TYPE)
        assert [remedy.words for remedy in remedies] == [
            f"allow {INSTANCE_TYPE} c5.2xlarge",
            f"allow {INSTANCE_TYPE} m5.xlarge",
        ]
        assert [remedy.gain.price_per_hour for remedy in remedies] == [pytest.approx(0.15), pytest.approx(0.192)]
        pool = a_pool(requirements=(a_requirement(CAPACITY_TYPE, "In", "spot"),))
        pod = a_pod(cpu="3")
        [remedy] = of_kind(asked(a_base(pod, pools=[pool]), pod), RemedyKind.INSTANCE_TYPE)
        assert remedy.words == f"allow {CAPACITY_TYPE} on-demand"
        assert fields_of(remedy)[0].value == ["spot", "on-demand"]

    @pytest.mark.parametrize(
        ("operator", "before", "after"), [("Lt", "3", "5"), ("Lte", "2", "4"), ("Gt", "4", "3"), ("Gte", "5", "4")]
    )
    def test_a_bound(self, operator: str, before: str, after: str) -> None:
        key = "karpenter.k8s.aws/instance-cpu"
        types = tuple(
            an_instance_type(name=f"m5.{cpu}", cpu=cpu, requirements=(a_requirement(key, "In", cpu),)) for cpu in "24"
        )
        pool = a_pool(requirements=(ON_DEMAND, a_requirement(key, operator, before)))
        pod = a_pod(cpu="3")
        [remedy] = of_kind(asked(a_base(pod, pools=[pool], types=types), pod), RemedyKind.INSTANCE_TYPE)
        assert remedy.words == f"allow {key} 4"
        assert fields_of(remedy)[0].value == [after]

    def test_a_literal_star_gives_way_to_a_family(self) -> None:
        key = "karpenter.k8s.aws/instance-family"
        types = tuple(
            an_instance_type(name=f"{family}.large", requirements=(a_requirement(key, "In", family),))
            for family in ("m7i-flex", "c7i-flex")
        )
        pool = a_pool(requirements=(ON_DEMAND, a_requirement(key, "In", "*")))
        pod = a_pod()
        base = a_base(pod, pools=[pool, a_pool(name="small", taints=(Taint("no", "NoSchedule"),))], types=types)
        [remedy] = of_kind(asked(base, pod), RemedyKind.INSTANCE_TYPE)
        assert remedy.subject == "NodePool general"
        assert fields_of(remedy)[0].value == ["*", "c7i-flex"]

    def test_min_values_that_cannot_be_met(self) -> None:
        pool = a_pool(requirements=(ON_DEMAND, a_requirement(INSTANCE_TYPE, "Exists", min_values=5)))
        pod = a_pod()
        base = a_base(pod, pools=[pool, a_pool(name="small", taints=(Taint("no", "NoSchedule"),))])
        [remedy] = of_kind(asked(base, pod), RemedyKind.MIN_VALUES)
        assert remedy.words == f"take minValues of {INSTANCE_TYPE} away"
        pool = a_pool(requirements=(ON_DEMAND, a_requirement(INSTANCE_TYPE, "Exists", min_values=3)))
        pod = a_pod(cpu="3")
        [remedy] = of_kind(asked(a_base(pod, pools=[pool]), pod), RemedyKind.MIN_VALUES)
        assert remedy.words == f"lower minValues of {INSTANCE_TYPE} to 2"
        assert fields_of(remedy)[0].value == 2


class TestWhatDoesNotSuggestItself:
    def test_a_pool_that_was_not_kept_as_it_was_written(self) -> None:
        """Without its manifest nothing can be set in it; changes to the pods are still tried."""
        pod = a_pod(cpu="3", node_selector={"tier": "gold"})
        pool = a_nodepool(limits=amounts({"cpu": "3"}), taints=(Taint("x", "NoSchedule"),))
        report = asked(a_base(pod, pools=[pool]), pod)
        assert report.is_complete
        assert all(remedy.subject == "the pods" for remedy in report.remedies)
        capped = a_pod(cpu="3")
        report = asked(a_base(capped, pools=[a_nodepool(limits=amounts({"cpu": "1"}))]), capped)
        assert report.remedies == ()

    def test_what_no_edit_of_a_pool_can_meet(self) -> None:
        term = NodeSelectorTerm((a_requirement(ARCH, "NotIn", "amd64"),))
        pod = a_pod(required_node_terms=(term,))
        pools = [
            a_pool(requirements=(ON_DEMAND, a_requirement(ARCH, "In", "amd64"))),
            a_nodepool(name="static", replicas=2),
        ]
        report = asked(a_base(pod, pools=pools), pod)
        assert {remedy.kind for remedy in report.remedies} <= {RemedyKind.POD_SELECTOR}
        pod = a_pod(cpu="64")
        pool = a_pool(requirements=(ON_DEMAND, a_requirement("company.io/x", "In", "a")))
        assert of_kind(asked(a_base(pod, pools=[pool]), pod), RemedyKind.INSTANCE_TYPE) == []
        large = (*TYPES, an_instance_type(name="m5.16xlarge", cpu="80", zones=("us-east-1c",)))
        pool = a_pool(requirements=(a_requirement("company.io/x", "In", "a"), a_requirement(ZONE, "In", "us-east-1a")))
        [remedy] = of_kind(asked(a_base(pod, pools=[pool], types=large), pod), RemedyKind.INSTANCE_TYPE)
        assert remedy.words == f"allow {ZONE} us-east-1c"

    @pytest.mark.parametrize(
        ("requirement", "value"),
        [
            (a_requirement("n", "Gt", "4"), "0"),
            (a_requirement("n", "Lte", "4"), "4"),
            (a_requirement("n", "Lt", "4"), "many"),
            (a_requirement("n", "In", "a"), "a"),
            (a_requirement("n", "NotIn", "a"), "b"),
            (a_requirement("n", "Exists"), "a"),
        ],
    )
    def test_values_that_no_change_allows(self, requirement: NodeSelectorRequirement, value: str) -> None:
        assert allow_value(a_nodepool(requirements=(requirement,)), 0, value, RemedyKind.POOL_VALUE) is None
