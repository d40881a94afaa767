from __future__ import annotations

from typing import Any

import pytest

from karptui.karpenter.labels import ARCH, CAPACITY_TYPE, INSTANCE_TYPE, ZONE
from karptui.karpenter.nodepool import NodePool
from karptui.kube.pod import Pod
from karptui.kube.selectors import NodeSelectorRequirement, NodeSelectorTerm
from karptui.kube.taints import Taint, Toleration
from karptui.whatif.remedies.pending.pools import allow_value
from karptui.whatif.remedies.pending.remedy import Remedy, RemedyKind, gain_of, solved
from tests.builders import a_node, a_nodeclaim, a_nodepool, a_pod, a_requirement, amounts, an_instance_type
from tests.whatif.remedies.asking import TYPES, a_base, a_pool, asked, fields_of, of_kind

ON_DEMAND = a_requirement(CAPACITY_TYPE, "In", "on-demand")
CORES, FAMILY = "karpenter.k8s.aws/instance-cpu", "karpenter.k8s.aws/instance-family"
ML = (Taint("team", "NoSchedule", "ml"), Taint("gpu", "NoExecute"))
CLOSED = a_pool(name="small", taints=(Taint("no", "NoSchedule"),))
CHEAP = an_instance_type(name="c5.2xlarge", cpu="8", memory="16Gi", prices={"on-demand": 0.15})
FARAWAY = an_instance_type(name="m5.16xlarge", cpu="80", zones=("us-east-1c",))
FLEX = tuple(
    an_instance_type(name=f"{family}.large", requirements=(a_requirement(FAMILY, "In", family),))
    for family in ("m7i-flex", "c7i-flex")
)


def limited(**limits: Any) -> NodePool:
    return a_pool(limits=amounts(limits))


def requiring(*requirements: NodeSelectorRequirement) -> NodePool:
    return a_pool(requirements=(ON_DEMAND, *requirements))


def on(*pools: NodePool, **others: Any) -> dict[str, Any]:
    return {"pools": pools, **others}


def remedies_of(kind: RemedyKind, pod: Pod, *pools: NodePool, **others: Any) -> list[Remedy]:
    return of_kind(asked(a_base(pod, **on(*pools, **others)), pod), kind)


def a_full_node(*, pods: str = "29", cpu: str) -> dict[str, Any]:
    """Return a node whose capacity is used up by a pod."""
    return {
        "nodes": (a_node(cpu="4", pods=pods),),
        "nodeclaims": (a_nodeclaim(name="general-1", node="node-1"),),
        "running": (a_pod(name="full", node="node-1", cpu=cpu),),
    }


LARGE, OTHER_ZONE = a_pod(cpu="3"), a_pod(node_selector={ZONE: "us-east-1b"})
GOLD = a_pod(node_selector={"tier": "gold"})
SILVER = (a_pod(name="s", node="node-1", node_selector={"tier": "silver"}),)
SOFT = Toleration("soft", "Exists")
ARM = NodeSelectorTerm((a_requirement(ARCH, "In", "arm64"), a_requirement(ZONE, "Exists")))
SPEC, REQUIREMENTS = ("spec", "template", "spec"), ("spec", "template", "spec", "requirements")


@pytest.mark.parametrize(("kind", "pod", "cluster", "words", "sets"), [
    (RemedyKind.REMOVE_TAINT, a_pod(tolerations=(SOFT,)), on(a_pool(taints=(*ML, Taint("soft", "NoSchedule")))),
     "drop its taints team=ml:NoSchedule, gpu:NoExecute, for all pods",
     ((*SPEC, "taints"), [{"key": "soft", "effect": "NoSchedule"}])),
    (RemedyKind.LIMIT, LARGE, on(limited(cpu="3")), "raise its limit of cpu from 3 to 4",
     (("spec", "limits", "cpu"), "4")),
    (RemedyKind.LIMIT, LARGE, on(limited(cpu="3", memory="400Gi")), "raise its limit of cpu from 3 to 4",
     (("spec", "limits", "cpu"), "4")),
    (RemedyKind.LIMIT, a_pod(cpu="2500m"), on(limited(cpu="5"), **a_full_node(cpu="3800m")),
     "raise its limit of cpu from 5 to 8", (("spec", "limits", "cpu"), "8")),
    (RemedyKind.LIMIT, a_pod(), on(limited(nodes="1"), **a_full_node(cpu="1", pods="1")),
     "raise its limit of nodes from 1 to 2", (("spec", "limits", "nodes"), "2")),
    (RemedyKind.POOL_LABEL, GOLD, on(a_pool()), "give its nodes the label tier=gold",
     (("spec", "template", "metadata", "labels", "tier"), "gold")),
    (RemedyKind.POD_SELECTOR, GOLD, on(a_pool()), "no longer request tier=gold",
     (("spec", "nodeSelector", "tier"), None)),
    (RemedyKind.POOL_LABEL, GOLD, on(a_pool(template_labels={"tier": "silver"})),
     "change the label tier of its nodes from silver to gold",
     (("spec", "template", "metadata", "labels", "tier"), "gold")),
    (RemedyKind.POOL_LABEL, GOLD, on(a_pool(template_labels={"tier": "silver"}), running=SILVER),
     "change the label tier of its nodes from silver to gold (but 1 pod selects silver)",
     (("spec", "template", "metadata", "labels", "tier"), "gold")),
    (RemedyKind.POOL_VALUE, OTHER_ZONE, on(requiring(a_requirement(ZONE, "In", "us-east-1a"))),
     f"allow {ZONE} us-east-1b", ((*REQUIREMENTS, 1, "values"), ["us-east-1a", "us-east-1b"])),
    (RemedyKind.POOL_VALUE, OTHER_ZONE, on(requiring(a_requirement(ZONE, "NotIn", "us-east-1b", "us-east-1c"))),
     f"allow {ZONE} us-east-1b", ((*REQUIREMENTS, 1, "values"), ["us-east-1c"])),
    (RemedyKind.POOL_VALUE, OTHER_ZONE, on(requiring(a_requirement(ZONE, "NotIn", "us-east-1b"))),
     f"allow {ZONE} us-east-1b", ((*REQUIREMENTS, 1), None)),
    (RemedyKind.POD_SELECTOR, a_pod(required_node_terms=(ARM,)), on(a_pool()), f"no longer request {ARCH} In arm64",
     ((0, "matchExpressions", 0), None)),
    (RemedyKind.INSTANCE_TYPE, LARGE, on(a_pool(requirements=(a_requirement(CAPACITY_TYPE, "In", "spot"),))),
     f"allow {CAPACITY_TYPE} on-demand", ((*REQUIREMENTS, 0, "values"), ["spot", "on-demand"])),
    (RemedyKind.INSTANCE_TYPE, a_pod(), on(requiring(a_requirement(FAMILY, "In", "*")), CLOSED, types=FLEX),
     f"allow {FAMILY} c7i-flex", ((*REQUIREMENTS, 1, "values"), ["*", "c7i-flex"])),
    (RemedyKind.INSTANCE_TYPE, a_pod(cpu="64"),
     on(a_pool(requirements=(a_requirement("company.io/x", "In", "a"), a_requirement(ZONE, "In", "us-east-1a"))),
        types=(*TYPES, FARAWAY)),
     f"allow {ZONE} us-east-1c", ((*REQUIREMENTS, 1, "values"), ["us-east-1a", "us-east-1c"])),
    (RemedyKind.MIN_VALUES, a_pod(), on(requiring(a_requirement(INSTANCE_TYPE, "Exists", min_values=5)), CLOSED),
     f"take minValues of {INSTANCE_TYPE} away", ((*REQUIREMENTS, 1, "minValues"), None)),
    (RemedyKind.MIN_VALUES, LARGE, on(requiring(a_requirement(INSTANCE_TYPE, "Exists", min_values=3))),
     f"lower minValues of {INSTANCE_TYPE} to 2", ((*REQUIREMENTS, 1, "minValues"), 2)),
])  # fmt: skip
def test_the_remedy_and_the_field_that_it_sets(
    kind: RemedyKind, pod: Pod, cluster: dict[str, Any], words: str, sets: tuple[Any, object]
) -> None:
    [remedy] = of_kind(asked(a_base(pod, **cluster), pod), kind)
    [edit] = fields_of(remedy)
    path, value = sets
    assert (remedy.words, edit.path[-len(path) :], edit.value) == (words, path, value)
    assert remedy.subject == ("the pods" if kind is RemedyKind.POD_SELECTOR else "NodePool general")


def test_the_gain_of_a_remedy() -> None:
    [remedy] = remedies_of(RemedyKind.REMOVE_TAINT, a_pod(), a_pool(taints=ML))
    assert (remedy.gain.placed, remedy.gain.nodepools, remedy.gain.instance_type) == (1, ("general",), "m5.large")
    [remedy] = remedies_of(RemedyKind.LIMIT, LARGE, limited(cpu="3"))
    assert remedy.gain.instance_type == "m5.xlarge"


def test_new_nodes_with_different_types_are_named() -> None:
    pods = (a_pod(name="a", uid="a", cpu="3"), a_pod(name="b", uid="b", cpu="500m"), a_pod(name="c", uid="c", cpu="1"))
    solution = solved(a_base(*pods), ())
    assert solution is not None
    gain = gain_of(solution, {pod.uid for pod in pods}, ())
    assert gain is not None
    assert (gain.new_nodes, gain.mixed_types) == (2, ("m5.xlarge", "m5.large"))
    alone = gain_of(solution, {"a"}, ())
    assert alone is not None
    assert alone.mixed_types == ()


def test_a_remedy_adds_tolerations_for_taints() -> None:
    [remedy] = remedies_of(RemedyKind.TOLERATE, a_pod(), a_pool(taints=ML))
    assert remedy.words == "tolerate team=ml:NoSchedule, gpu:NoExecute"
    assert [(edit.path[-1], edit.value["operator"]) for edit in fields_of(remedy)] == [(0, "Equal"), (1, "Exists")]
    assert remedy.gain.price_per_hour == pytest.approx(0.096)


def test_the_next_larger_type_of_the_family_and_the_cheapest() -> None:
    pool = requiring(a_requirement(INSTANCE_TYPE, "In", "m5.large"))
    remedies = remedies_of(RemedyKind.INSTANCE_TYPE, LARGE, pool, types=(*TYPES, CHEAP))
    assert [remedy.words for remedy in remedies] == [f"allow {INSTANCE_TYPE} {name}large" for name in ("c5.2x", "m5.x")]
    assert [remedy.gain.price_per_hour for remedy in remedies] == [pytest.approx(0.15), pytest.approx(0.192)]


@pytest.mark.parametrize(
    ("operator", "before", "after"), [("Lt", "3", "5"), ("Lte", "2", "4"), ("Gt", "4", "3"), ("Gte", "5", "4")]
)
def test_a_remedy_changes_a_numeric_bound(operator: str, before: str, after: str) -> None:
    types = tuple(an_instance_type(name=f"m5.{n}", cpu=n, requirements=(a_requirement(CORES, "In", n),)) for n in "24")
    pool = requiring(a_requirement(CORES, operator, before))
    [remedy] = remedies_of(RemedyKind.INSTANCE_TYPE, LARGE, pool, types=types)
    assert (remedy.words, fields_of(remedy)[0].value) == (f"allow {CORES} 4", [after])


def test_a_pool_without_its_manifest_gets_no_edits() -> None:
    """Changes to the pods are still tried."""
    pod = a_pod(cpu="3", node_selector={"tier": "gold"})
    pool = a_nodepool(limits=amounts({"cpu": "3"}), taints=(Taint("x", "NoSchedule"),))
    report = asked(a_base(pod, pools=[pool]), pod)
    assert report.is_complete
    assert all(remedy.subject == "the pods" for remedy in report.remedies)
    assert asked(a_base(LARGE, pools=[a_nodepool(limits=amounts({"cpu": "1"}))]), LARGE).remedies == ()


def test_requirements_that_no_edit_of_a_pool_can_satisfy() -> None:
    pod = a_pod(required_node_terms=(NodeSelectorTerm((a_requirement(ARCH, "NotIn", "amd64"),)),))
    pools = [requiring(a_requirement(ARCH, "In", "amd64")), a_nodepool(name="static", replicas=2)]
    assert {item.kind for item in asked(a_base(pod, pools=pools), pod).remedies} <= {RemedyKind.POD_SELECTOR}
    pool = requiring(a_requirement("company.io/x", "In", "a"))
    assert remedies_of(RemedyKind.INSTANCE_TYPE, a_pod(cpu="64"), pool) == []


@pytest.mark.parametrize(("requirement", "value"), [
    (a_requirement("n", "Gt", "4"), "0"),
    (a_requirement("n", "Lte", "4"), "4"),
    (a_requirement("n", "Lt", "4"), "many"),
    (a_requirement("n", "In", "a"), "a"),
    (a_requirement("n", "NotIn", "a"), "b"),
    (a_requirement("n", "Exists"), "a"),
])  # fmt: skip
def test_values_that_cannot_be_allowed(requirement: NodeSelectorRequirement, value: str) -> None:
    assert allow_value(a_nodepool(requirements=(requirement,)), 0, value, RemedyKind.POOL_VALUE) is None
