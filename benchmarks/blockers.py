"""Time to find every blocker of every node, and to simulate removals without the blockers.

    python benchmarks/blockers.py [NODES PODS]

A made-up fleet of 5,000 nodes and 100,000 pods in 20 NodePools and 400 workloads: one pod in ten has do-not-disrupt,
one workload in twenty has an exhausted PodDisruptionBudget, a quarter of the nodes is within consolidateAfter, one
NodePool in five has a budget of zero. Reading objects is not included. The blockers are measured five times (minimum),
the simulated removals of the nodes on the screen once, on a cluster of 500 nodes.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable

from reference import note, print_reference

from karptui.disruption.blockers import BlockerSurvey
from karptui.disruption.methods import observed_fleet
from karptui.disruption.outlook import RemovalSimulator
from karptui.karpenter import labels as karpenter
from karptui.karpenter.instance_type import InstanceType, Offering
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodeclass import NodeClassRef
from karptui.karpenter.nodepool import DisruptionBudget, NodePool
from karptui.karpenter.settings import Settings
from karptui.kube.objects import Condition, Node, OwnerReference
from karptui.kube.pod import Pod, PodTemplate
from karptui.kube.quantity import parse_quantity
from karptui.kube.selectors import LabelSelector, NodeSelectorRequirement
from karptui.kube.workload import PodDisruptionBudget
from karptui.provisioning.prepared import Prepared, prepare

NOW_NS = 1_795_000_000_000_000_000
HOUR_NS = 3_600_000_000_000
POOLS, WORKLOADS, RUNS = 20, 400, 5
ZONES = ("us-east-1a", "us-east-1b", "us-east-1c")
SIZES = {f"m5.{size}": cpu for size, cpu in (("large", 2), ("xlarge", 4), ("2xlarge", 8), ("4xlarge", 16))}


def instance_types() -> tuple[InstanceType, ...]:
    def requirement(key: str, *values: str) -> NodeSelectorRequirement:
        return NodeSelectorRequirement(key, "In", values)

    return tuple(
        InstanceType(
            name=name,
            requirements=(
                requirement(karpenter.INSTANCE_TYPE, name),
                requirement(karpenter.ARCH, "amd64"),
                requirement(karpenter.OS, "linux"),
                requirement(karpenter.ZONE, *ZONES),
                requirement(karpenter.CAPACITY_TYPE, "on-demand"),
            ),
            capacity={
                "cpu": parse_quantity(str(cpu)),
                "memory": parse_quantity(f"{4 * cpu}Gi"),
                "pods": parse_quantity("58"),
            },
            offerings=tuple(
                Offering(
                    requirements=(
                        requirement(karpenter.CAPACITY_TYPE, "on-demand"),
                        requirement(karpenter.ZONE, zone),
                    ),
                    price_per_hour=0.048 * cpu,
                )
                for zone in ZONES
            ),
        )
        for name, cpu in SIZES.items()
    )


def nodepools() -> tuple[NodePool, ...]:
    return tuple(
        NodePool(
            name=f"pool-{i:02d}",
            node_class_ref=NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default"),
            requirements=(NodeSelectorRequirement(karpenter.CAPACITY_TYPE, "In", ("on-demand",)),),
            consolidate_after_ns=HOUR_NS,
            budgets=(DisruptionBudget("0" if i % 5 == 0 else "10%"), DisruptionBudget("0", "0 9 * * mon-fri", "8h")),
            conditions=(Condition("Ready", "True"),),
        )
        for i in range(POOLS)
    )


def template(i: int, *, is_protected: bool) -> PodTemplate:
    annotations = {karpenter.DO_NOT_DISRUPT: "true" if i % 3 else "24h"} if is_protected else {}
    return PodTemplate(
        namespace=f"team-{i % 40}",
        labels={"app": f"app-{i}"},
        annotations=annotations,
        owners=(OwnerReference("apps/v1", "ReplicaSet", f"app-{i}", controller=True),),
        requests={"cpu": parse_quantity("200m"), "memory": parse_quantity("512Mi")},
    )


def fleet(nodes: int, pods: int) -> Inventory:
    chance = random.Random(7)
    names = tuple(SIZES)
    made_nodes, claims = [], []
    for i in range(nodes):
        labels = {
            karpenter.NODEPOOL: f"pool-{i % POOLS:02d}",
            karpenter.INSTANCE_TYPE: names[i % len(names)],
            karpenter.ZONE: ZONES[i % 3],
            karpenter.CAPACITY_TYPE: "on-demand",
            karpenter.REGISTERED: "true",
            karpenter.INITIALIZED: "true",
            karpenter.HOSTNAME: f"node-{i}",
        }
        cpu = SIZES[names[i % len(names)]]
        room = {"cpu": parse_quantity(str(cpu)), "memory": parse_quantity(f"{4 * cpu}Gi"), "pods": parse_quantity("58")}
        ready = (Condition("Ready", "True"),)
        made_nodes.append(
            Node(
                name=f"node-{i}",
                labels=labels,
                provider_id=f"aws:///{i}",
                capacity=room,
                allocatable=room,
                conditions=ready,
            )
        )
        ripe = (Condition("Consolidatable", "True", "", "", NOW_NS - HOUR_NS),) if i % 4 else ()
        claims.append(
            NodeClaim(
                name=f"claim-{i}",
                labels=labels,
                provider_id=f"aws:///{i}",
                node_name=f"node-{i}",
                created_ns=NOW_NS - 24 * HOUR_NS,
                expire_after_ns=720 * HOUR_NS,
                last_pod_event_ns=NOW_NS - HOUR_NS // 2,
                conditions=(Condition("Initialized", "True", "", "", NOW_NS - 23 * HOUR_NS), *ripe),
            )
        )
    plain = [template(i, is_protected=False) for i in range(WORKLOADS)]
    protected = [template(i, is_protected=True) for i in range(WORKLOADS)]
    made_pods = tuple(
        Pod(
            name=f"pod-{i}",
            uid=f"uid-{i}",
            template=(protected if chance.random() < 0.1 else plain)[chance.randrange(WORKLOADS)],
            node_name=f"node-{i % nodes}",
            phase="Running",
            ready=True,
            created_ns=NOW_NS - 2 * HOUR_NS,
            start_ns=NOW_NS - 2 * HOUR_NS,
            scheduled_ns=NOW_NS - 2 * HOUR_NS,
        )
        for i in range(pods)
    )
    pdbs = tuple(
        PodDisruptionBudget(
            name=f"app-{i}",
            namespace=f"team-{i % 40}",
            selector=LabelSelector((("app", f"app-{i}"),)),
            disruptions_allowed=i % 2,
        )
        for i in range(0, WORKLOADS, 10)
    )
    return Inventory(
        nodes=tuple(made_nodes), nodeclaims=tuple(claims), pods=made_pods, pdbs=pdbs, nodepools=nodepools()
    )


def timed(work: Callable[[], int]) -> tuple[float, int]:
    start = time.perf_counter()
    count = work()
    return time.perf_counter() - start, count


def survey(prepared: Prepared) -> int:
    """Return the number of findings of all nodes; the fleet is built again each time."""
    return sum(1 for _ in BlockerSurvey(observed_fleet(prepared)).all())


def removals(prepared: Prepared, nodes: int) -> int:
    seen = observed_fleet(prepared)
    found, outlook = BlockerSurvey(seen), RemovalSimulator(prepared, seen)
    for node in seen.nodes[:nodes]:
        outlook.lifted(node, found.of(node))
    return nodes


def main() -> None:
    nodes, pods = (int(sys.argv[1]), int(sys.argv[2])) if len(sys.argv) > 2 else (5_000, 100_000)
    types = instance_types()
    inventory = fleet(nodes, pods)
    seconds, _ = timed(lambda: len(prepare(inventory, types, Settings(), NOW_NS).states))
    prepared = prepare(inventory, types, Settings(), NOW_NS)
    print(f"index {nodes:,} nodes and {pods:,} pods: {seconds:.2f} s")
    runs = [timed(lambda: survey(prepared)) for _ in range(RUNS)]
    note("every blocker of every node", min(runs)[0])
    print(f"every blocker of every node: {min(runs)[0]:.2f} s ({runs[0][1]:,} blockers)")
    small = prepare(fleet(500, 10_000), types, Settings(), NOW_NS)
    seconds, count = timed(lambda: removals(small, 100))
    print(f"removable without the blocker, {count} nodes of 500 with 10,000 pods: {seconds:.2f} s")
    note("removals", seconds)
    print_reference()


if __name__ == "__main__":
    main()
