from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from karptui.aws.cluster_types import cluster_types
from karptui.decode.kinds import Kind
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.settings import Settings
from karptui.kube.taints import Taint, Toleration
from karptui.provisioning.explain import explain
from karptui.provisioning.solution import solve
from karptui.session.cluster_view import ClusterView
from karptui.state.cluster import inventory_of
from karptui.whatif.edits import SetSetting
from karptui.whatif.edits.apply import apply
from karptui.whatif.remedies.pending.remedy import RemedyKind, RemedyReport, amount_words, quantity_text, whole_nano
from karptui.whatif.situation import TypesResult, WhatIfBase
from tests.builders import a_manifest, a_node, a_nodeclaim, a_pod, amounts, an_instance_type, decoded
from tests.story_d import NOW_NS, a_waiting_pod, story_document, story_view
from tests.whatif.remedies.asking import a_base, a_pool, a_search, fields_of, find_remedies, of_kind


def types_for(inventory: Inventory, settings: Settings) -> TypesResult:
    types = cluster_types(inventory, settings).by_nodeclass
    return TypesResult({pool.name: types[pool.node_class_ref.name].types for pool in inventory.nodepools})


def base_of(view: ClusterView) -> WhatIfBase:
    return WhatIfBase(inventory_of(view.state), types_for, view.evidence.settings, NOW_NS)


def report_for(base: WhatIfBase, *keys: str) -> RemedyReport:
    solution = solve(base.prepared)
    pods = [next(pod for pod in base.inventory.pods if pod.key == key) for key in keys]
    return find_remedies(base, pods, explain(solution, pods[0]), solution)


def test_the_overhead_percent_is_the_largest_that_works(tmp_path: Path) -> None:
    base = base_of(story_view(tmp_path))
    report = report_for(base, "trino/worker-0", "trino/worker-1")
    [remedy] = of_kind(report, RemedyKind.OVERHEAD)
    assert remedy.words == "VM_MEMORY_OVERHEAD_PERCENT ≤ 0.0488"
    assert remedy.edits == (SetSetting("VM_MEMORY_OVERHEAD_PERCENT", "0.0488"),)
    assert (remedy.gain.placed, remedy.gain.instance_type) == (2, "r5a.8xlarge")
    more = solve(apply(base, (SetSetting("VM_MEMORY_OVERHEAD_PERCENT", "0.0489"),)).prepared)
    assert "trino/worker-0" in more.errors
    [request] = of_kind(report, RemedyKind.REQUEST)
    assert request.words == "request at most 238,914Mi (233Gi) of memory"


def test_a_taint_that_a_user_put_on_nodes_is_removed() -> None:
    put, own = Taint("maintenance", "NoExecute"), Taint("team", "NoSchedule", "ml")
    node = a_node(taints=(put, own, Taint("node.kubernetes.io/unreachable", "NoExecute")))
    pod = a_pod(tolerations=(Toleration("team", "Exists"), Toleration("node.kubernetes.io/unreachable", "Exists")))
    pool = a_pool(limits=amounts({"cpu": "1"}))
    base = a_base(pod, pools=(pool,), nodes=(node,), nodeclaims=(a_nodeclaim(taints=(own,)),))
    [remedy] = of_kind(find_remedies(base, [pod], None), RemedyKind.REMOVE_TAINT)
    assert (remedy.subject, remedy.words) == ("Node node-1", "remove the taint maintenance:NoExecute, for all pods")
    assert (remedy.gain.placed, remedy.gain.nodes, remedy.gain.new_nodes) == (1, ("node-1",), 0)
    [edit] = fields_of(remedy)
    assert [taint["key"] for taint in edit.value] == ["team", "node.kubernetes.io/unreachable"]


def test_more_pod_slots_through_the_nodeclass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Story C: eleven DaemonSets leave no pod slot on a t3.nano-like type; kubelet.maxPods adds some."""
    document = story_document()
    for manifest in document["objects"]:
        if manifest["kind"] == "NodePool" and manifest["metadata"]["name"] == "small":
            requirements = manifest["spec"]["template"]["spec"]["requirements"]
            requirements[0]["values"] = ["t3"]
            requirements.append(
                {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["t3.small", "t3a.small"]}
            )
    pod = a_waiting_pod("web/small-0", requests={"cpu": "100m", "memory": "64Mi"})
    pod["spec"]["nodeSelector"] = {"karpenter.sh/nodepool": "small"}
    document["objects"].append(pod)
    monkeypatch.setattr("tests.story_d.story_document", lambda: document)
    base = base_of(story_view(tmp_path))
    report = report_for(base, "web/small-0")
    [remedy] = of_kind(report, RemedyKind.MAX_PODS)
    assert remedy.subject == "EC2NodeClass small"
    assert fields_of(remedy)[0].path == ("spec", "kubelet", "maxPods")
    assert fields_of(remedy)[0].value == 12
    assert remedy.gain.instance_type == "t3.small"


@pytest.mark.parametrize(("name", "spec", "percent", "is_tried"), [
    ("r5.xlarge", {"kubelet": {"maxPods": 30}}, 0.075, True),
    ("r5.xlarge", {"kubelet": {"maxPods": "many"}}, 0.075, True),
    ("my-own.type", {}, 0.075, True),
    ("r5.xlarge", {}, 0.0, False),
])  # fmt: skip
def test_the_overhead_percent_is_found_without_an_estimate(
    name: str, spec: Mapping[str, Any], percent: float, is_tried: bool
) -> None:
    nodeclass = decoded(
        a_manifest("EC2NodeClass", "default", api_version="karpenter.k8s.aws/v1", spec=spec), Kind.NODECLASS
    )
    pod = a_pod(memory="64Gi")
    kind = an_instance_type(name=name, cpu="4", memory="32Gi")
    types = (replace(kind, capacity={**kind.capacity, **amounts({"ephemeral-storage": "20Gi"})}),)
    settings = Settings(vm_memory_overhead_percent=percent)
    base = a_base(pod, types=types, fixed=False, nodeclasses=(nodeclass,), settings=settings)
    search = a_search(base, pod)
    while search.step():
        pass
    assert any(trial.kind is RemedyKind.OVERHEAD for trial in search._trials) is is_tried


@pytest.mark.parametrize(("resource", "nano", "is_up", "quantity", "words"), [
    ("cpu", 1_500_400_000, False, "1500m", "1500m"),
    ("cpu", 1_999_900_000, True, "2", "2000m"),
    ("memory", (20 << 30) * 10**9 + 1, True, "20481Mi", "20,481Mi (20Gi)"),
    ("memory", (5 << 20) * 10**9 + 1, False, "5Mi", "5Mi"),
    ("nvidia.com/gpu", 2 * 10**9, False, "2", "2"),
])  # fmt: skip
def test_amounts_as_text(resource: str, nano: int, is_up: bool, quantity: str, words: str) -> None:
    whole = whole_nano(resource, nano, is_up=is_up)
    assert quantity_text(resource, whole) == quantity
    assert amount_words(resource, whole) == words
