from __future__ import annotations

from typing import Any

import pytest

from karptui.studies.rehearsal import Rehearsal, rehearsals
from karptui.views.rehearsal import TABLE, detail_lines, drain_lines, drain_text, headline, overview
from karptui.whatif.edits import PutObject
from karptui.whatif.situation import WhatIfBase
from tests.builders import HOUR_NS, a_daemonset, a_node, a_pdb, a_pod, an_instance_type
from tests.forward.making import a_pair
from tests.whatif.edits.test_apply import POOL
from tests.whatif.snapshots import base

TYPES = (an_instance_type(name="m5.large", cpu="2", memory="8Gi", prices={"on-demand": 0.1}),)
GROUP = "eks.amazonaws.com/nodegroup"
CLOSED = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  limits: {cpu: "2"}
  template:
    spec:
      requirements: []
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
"""


def a_grouped(name: str, group: str, cpu: str = "1930m", **labels: str) -> Any:
    texts = {GROUP: group, "eks.amazonaws.com/capacityType": "ON_DEMAND", **labels} if group else labels
    return a_node(
        name=name, pool="", capacity_type="", cpu=cpu, labels={"node.kubernetes.io/instance-type": "m5.large", **texts}
    )


def cluster(*pods: Any, **others: Any) -> WhatIfBase:
    """Return a node of Karpenter, two of one node group, one of another, and one Fargate node."""
    node, claim = a_pair("k")
    nodes = (
        node,
        a_grouped("core-1", "core", team="a"),
        a_grouped("core-2", "core"),
        a_grouped("batch-1", "batch"),
        a_grouped("far", "", "10m", **{"eks.amazonaws.com/compute-type": "fargate"}),
    )
    given = {"nodes": nodes, "nodeclaims": (claim,), "pods": (a_pod(name="k", node="k", cpu="900m"), *pods), **others}
    return base(POOL, types=TYPES, **given)


PODS = (
    a_pod(name="small", node="core-1", cpu="500m"),
    a_pod(name="large", node="core-1", cpu="1500m"),
    a_pod(name="bound", node="core-2", cpu="100m", node_selector={GROUP: "core"}),
    a_pod(name="agent", node="core-2", daemonset="agent", cpu="10m"),
    a_pod(name="other", node="batch-1", cpu="1800m"),
)


def counts(rehearsal: Rehearsal) -> tuple[str, int, int, int, int]:
    return rehearsal.group, rehearsal.pods, rehearsal.on_nodes, rehearsal.on_new, len(rehearsal.pending)


def test_each_group_is_drained_alone_and_all_together() -> None:
    batch, core, together = rehearsals(cluster(*PODS))
    assert counts(core) == ("core", 3, 1, 1, 1)
    assert counts(batch) == ("batch", 1, 1, 0, 0)
    assert counts(together) == ("all together", 4, 1, 2, 1)
    (waiting,) = core.pending
    assert waiting.pod_key == "default/bound"
    assert core.daemons == (("DaemonSet/default/agent", 1),)
    assert (core.price_before, core.unpriced) == (pytest.approx(0.2), 0)
    assert core.price_after == pytest.approx(0.1)


def test_manifests_are_applied_before_the_drain() -> None:
    [rehearsal] = rehearsals(cluster(*PODS), ("core",), (PutObject(CLOSED),))
    assert rehearsal.launches == ()
    assert {unplaced.pod_key for unplaced in rehearsal.pending} == {"default/bound", "default/large"}


def test_the_text_has_pods_costs_and_blockers() -> None:
    held = a_pdb(name="web", labels={"app": "web"}, allowed=0)
    [rehearsal] = rehearsals(cluster(*PODS, pdbs=(held,)), ("core",))
    assert headline(rehearsal) == (
        "without node group core (2 nodes) 1 of 3 pods is unschedulable, 1 fit on other nodes, 1 need 1 new node;"
        " $0.20/h → $0.10/h (-$0.10/h)"
    )
    text = "\n".join(detail_lines(rehearsal))
    assert "Blocked by PodDisruptionBudgets today: their drain waits" in text
    assert "DaemonSet/default/agent: 1" in text
    assert "Unschedulable" in text
    assert [column.cell(rehearsal, 0).text for column in TABLE.columns][:5] == ["core", "2", "$0.20", "3", "1"]
    assert overview(()) == "Karpenter launched every node: there is no node group to migrate"


def test_daemonsets_that_run_on_no_new_node_are_named() -> None:
    everywhere = a_daemonset(name="agent", namespace="default")
    bound = a_daemonset(name="cni", namespace="default", node_selector={GROUP: "core"})
    pods = (*PODS, a_pod(name="cni-1", node="core-1", daemonset="cni", cpu="10m", node_selector={GROUP: "core"}))
    rehearsal = rehearsals(cluster(*pods, daemonsets=(everywhere, bound)), ["core"])[0]
    assert [name for name, _ in rehearsal.daemons] == ["DaemonSet/default/agent", "DaemonSet/default/cni"]
    assert rehearsal.absent_daemons == (("DaemonSet/default/cni", ("general",)),)
    assert "DaemonSet/default/cni: not in general" in "\n".join(detail_lines(rehearsal))


def test_the_drain_is_simulated_over_time() -> None:
    [rehearsal] = rehearsals(cluster(*PODS[1:]), ("core",))
    drain = rehearsal.drain
    assert drain_text(drain) == ("draining one node at a time takes 90s, peak 5 nodes and $0.40/h (now 5 and $0.30/h)")
    assert (drain.launched, drain.left, drain.waiting) == (1, (), 1)
    assert TABLE.values(rehearsal, 0)["drain"]["nodes"][1] == {"node": "core-2", "begins": 30, "empty": 60, "gone": 90}


def test_the_blocker_of_a_drain_is_named() -> None:
    annotations = {"karpenter.sh/do-not-disrupt": "true"}
    stays = a_pod(name="stays", node="core-1", cpu="100m", labels={"app": "other"}, annotations=annotations)
    held = a_pdb(name="web", labels={"app": "web"}, allowed=0)
    pods = (a_pod(name="web", node="core-1", cpu="100m", labels={"app": "web"}), stays)
    [rehearsal] = rehearsals(cluster(*pods, pdbs=(held,)), ("core",), horizon_ns=HOUR_NS)
    assert drain_text(rehearsal.drain).startswith(
        "draining one node at a time stalls, 2 of 2 nodes left after 60m:"
        " PodDisruptionBudget default/web blocks default/web; peak 5 nodes"
    )
    first, *_, last = drain_lines(rehearsal.drain)
    assert first == "default/web on core-1 is blocked 60m by default/web, to the end"
    assert last == "1 pod has do-not-disrupt, which kubectl drain ignores: default/stays"
    assert [column.cell(rehearsal, 0).text for column in TABLE.columns if column.heading.title == "TAKES"] == ["stalls"]
