"""The cluster of story E: CI runners say do-not-disrupt, new pods keep landing beside them, no node ever drains."""

from __future__ import annotations

from typing import Any, Final

from karptui.aws.evidence import Evidence
from karptui.karpenter import labels
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodepool import DisruptionBudget
from karptui.kube.objects import Node
from karptui.kube.pod import Pod
from karptui.kube.workload import Workload
from karptui.session.cluster_view import ClusterView
from karptui.sources.evidence import EvidenceSource
from tests.builders import (
    DAY_NS,
    HOUR_NS,
    MINUTE_NS,
    NOW_NS,
    a_condition,
    a_node,
    a_nodeclaim,
    a_nodepool,
    a_pdb,
    a_pod,
    an_event,
    an_instance_type,
    an_owner,
)
from tests.builders.clusters import state_of
from tests.builders.sources import InventorySource, live_statuses

TYPES: Final = (
    an_instance_type(name="m6i.large", cpu="2", memory="8Gi", prices={"on-demand": 0.096}),
    an_instance_type(name="m5n.xlarge", cpu="4", memory="16Gi", prices={"on-demand": 0.238}),
    an_instance_type(name="m6i.4xlarge", cpu="16", memory="64Gi", prices={"on-demand": 0.768}),
    an_instance_type(name="r6i.4xlarge", cpu="16", memory="128Gi", prices={"on-demand": 1.008}),
)
_SHAPES: Final = {
    "m6i.large": ("1930m", "7Gi"),
    "m5n.xlarge": ("3920m", "14Gi"),
    "m6i.4xlarge": ("15890m", "57Gi"),
    "r6i.4xlarge": ("15890m", "115Gi"),
}
PROTECTED: Final = {labels.DO_NOT_DISRUPT: "true"}
NODES: Final = (
    ("ip-10-0-71-204", "runners", "r6i.4xlarge"),
    ("ip-10-0-90-13", "runners", "r6i.4xlarge"),
    ("ip-10-0-33-7", "runners", "m6i.4xlarge"),
    ("ip-10-0-17-9", "runners", "m5n.xlarge"),
    ("ip-10-0-12-88", "general", "m6i.4xlarge"),
    ("ip-10-0-8-41", "general", "m6i.4xlarge"),
    ("ip-10-0-5-160", "batch", "m6i.4xlarge"),
    ("ip-10-0-44-2", "general", "m6i.large"),
)


def _node(name: str, pool: str, type_: str) -> Node:
    cpu, memory = _SHAPES[type_]
    return a_node(name=name, pool=pool, instance_type=type_, cpu=cpu, memory=memory)


def _claim(name: str, pool: str, type_: str) -> NodeClaim:
    ripe = a_condition("Consolidatable", since_ns=NOW_NS - 6 * HOUR_NS)
    leaves = name == "ip-10-0-33-7"
    going = (a_condition("Drained", status="Unknown", since_ns=NOW_NS - 12 * MINUTE_NS),) if leaves else (ripe,)
    staged = a_nodeclaim(name=f"{pool}-{name[-5:].replace('-', 'x')}", node=name, pool=pool, instance_type=type_)
    return a_nodeclaim(
        name=staged.name,
        node=name,
        pool=pool,
        instance_type=type_,
        conditions=(*staged.conditions, *going),
        deletion_ns=NOW_NS - 12 * MINUTE_NS if leaves else 0,
        created_ns=NOW_NS - 6 * HOUR_NS,
        termination_grace_period_ns=DAY_NS if pool == "runners" else None,
    )


def _pods() -> tuple[Pod, ...]:
    runners = [
        a_pod(
            name=f"runner-{name}",
            namespace="gitlab",
            node=node,
            annotations={labels.DO_NOT_DISRUPT: value},
            owner=an_owner(kind="Job", name=f"runner-{name}", api_version="batch/v1"),
            cpu="500m",
            memory="2Gi",
            created_ns=NOW_NS - age_ns,
        )
        for name, node, value, age_ns in (
            ("7f2c4", "ip-10-0-71-204", "true", 358 * MINUTE_NS),
            ("9d0aa", "ip-10-0-71-204", "true", 41 * MINUTE_NS),
            ("1bb0e", "ip-10-0-90-13", "2h", 72 * MINUTE_NS),
            ("33aa1", "ip-10-0-33-7", "true", 5 * HOUR_NS),
            ("c2d8e", "ip-10-0-17-9", "true", 95 * MINUTE_NS),
            ("e51b6", "ip-10-0-17-9", "true", 3 * HOUR_NS),
        )
    ]
    fresh = [
        a_pod(
            name=f"front-{i}",
            namespace="web",
            node="ip-10-0-71-204",
            owner=an_owner(name="front"),
            created_ns=NOW_NS - (10 + i) * MINUTE_NS,
        )
        for i in range(4)
    ]
    others = [
        a_pod(name="postgres-0", namespace="db", node="ip-10-0-12-88", labels={"app": "postgres"},
              owner=an_owner(kind="StatefulSet", name="postgres"), cpu="3", created_ns=NOW_NS - 76 * HOUR_NS),
        a_pod(name="cache-0", namespace="web", node="ip-10-0-8-41", owner=an_owner(name="cache")),
        a_pod(name="batch-0", namespace="batch", node="ip-10-0-5-160", owner=an_owner(name="batch"), cpu="1"),
        a_pod(name="arm-0", namespace="web", node="ip-10-0-44-2", owner=an_owner(name="arm"),
              node_selector={labels.ARCH: "arm64"}),
    ]  # fmt: skip
    return (*runners, *fresh, *others)


def _written(name: str, *budgets: dict[str, str]) -> dict[str, Any]:
    """Return a NodePool as its author wrote it."""
    node_class = {"group": labels.AWS_GROUP, "kind": "EC2NodeClass", "name": "default"}
    on_demand = {"key": labels.CAPACITY_TYPE, "operator": "In", "values": ["on-demand"]}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "spec": {
            "disruption": {"consolidateAfter": "0s", "budgets": list(budgets)},
            "template": {"spec": {"nodeClassRef": node_class, "requirements": [on_demand]}},
        },
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }


def inventory() -> Inventory:
    pdb = a_pdb(name="postgres", namespace="db", labels={"app": "postgres"})
    text = f'Pod has "{labels.DO_NOT_DISRUPT}" annotation (Pod=gitlab/runner-7f2c4)'
    return Inventory(
        nodepools=(
            a_nodepool(name="runners", budgets=(), raw=_written("runners")),
            a_nodepool(name="general", budgets=(), raw=_written("general")),
            a_nodepool(name="batch", budgets=(DisruptionBudget("0"),), raw=_written("batch", {"nodes": "0"})),
        ),
        nodes=tuple(_node(*node) for node in NODES),
        nodeclaims=tuple(_claim(*node) for node in NODES),
        pods=_pods(),
        pdbs=(pdb,),
        workloads=tuple(
            Workload(name=pod.name, namespace="gitlab", api_version="batch/v1", kind="Job")
            for pod in _pods()
            if pod.namespace == "gitlab"
        ),
        events=(
            an_event(
                about="Node/ip-10-0-71-204", reason="DisruptionBlocked", message=text, last_ns=NOW_NS - 11 * MINUTE_NS
            ),
        ),
    )


def evidence() -> Evidence:
    """Return the types and prices of the story."""
    return Evidence(instance_types=TYPES, taken_at_ns=NOW_NS)


def story_view() -> ClusterView:
    """Return the story as screens see it, before it is analysed."""
    held = inventory()
    return ClusterView(state_of(held), live_statuses(held), evidence=evidence())


class StorySource(InventorySource):
    def __init__(self) -> None:
        super().__init__("prod-eu-1", inventory())


def story_evidence(_source: object = None) -> EvidenceSource:
    """Return the types and prices of the story as they are asked for."""
    return EvidenceSource(evidence())
