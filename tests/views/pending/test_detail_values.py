from __future__ import annotations

from karptui.aws.evidence import Evidence
from karptui.karpenter.inventory import Inventory
from karptui.kube.pod import Pod
from karptui.session.cluster_view import ClusterView
from karptui.session.pending import PendingQuestions
from karptui.session.pending_report import PendingAnswer, PendingEntry
from karptui.session.prepare import prepare_view
from karptui.views.pending.explained import explained_values
from tests.builders import NOW_NS, a_node, a_nodepool, a_pod, an_instance_type
from tests.builders.clusters import state_of
from tests.views.pending.asking import answer_all

TYPES = (an_instance_type(name="m5.large"), an_instance_type(name="m5.xlarge", cpu="4", memory="16Gi"))


def report_of(pod: Pod) -> PendingAnswer:
    """Return everything that is worked out for a pod that neither of two NodePools nor the one node takes."""
    pools = (a_nodepool(weight=10), a_nodepool(name="waits", is_ready=False))
    inventory = Inventory(pods=(pod,), nodepools=pools, nodes=(a_node(),))
    view = ClusterView(state_of(inventory), {}, evidence=Evidence(instance_types=TYPES))
    desk = PendingQuestions()
    prepared, notes = prepare_view(view, NOW_NS)
    desk.begin(prepared, view, notes)
    return answer_all(desk, pod.key)


def test_a_pod_at_length() -> None:
    report = report_of(a_pod(cpu="64"))
    [group] = report.groups
    values = explained_values(PendingEntry(group, may_list_events=True), report.detail, NOW_NS)
    general = next(pool for pool in values["pools"] if pool["name"] == "general")
    assert (general["weight"], general["rank"], general["failed"]) == (10, 1, "resources")
    assert general["nearest_type"] == "m5.xlarge"
    assert general["short"] == [{"resource": "cpu", "need": "64", "room": "4"}]
    assert general["karpenter_says"].startswith("no instance type")
    [node] = values["existing_nodes"]
    assert (node["name"], node["by"]) == ("node-1", "cpu")
    assert values["changes_tried"] > 0
    assert [remedy["kind"] for remedy in values["remedies"]]
