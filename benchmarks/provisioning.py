"""Time of a provisioning decision, from the decoded objects to the last pod.

    python benchmarks/provisioning.py [--runs N] [--profile] [WORKLOAD ...]

Workloads: diverse-PODS has five kinds of pods in equal parts (plain, spread over zones, spread over nodes, affinity in
a zone, anti-affinity on nodes) on an empty cluster with 400 instance types; preference-PODS has equal pods with three
preferred terms that must all be relaxed one by one; fleet-NODES-PODS is a running cluster with 500 pending pods of 25
workloads. Without arguments: diverse with 100 to 5,000 pods, preference-4000 and two fleets. Each line has the minimum
of N runs (default 5) of `prepare` (index of the objects) and `solve` (the decision), the minimum processor time of both
together, and the final memory of the process: every workload has its own process. Reading objects is not included.
--profile prints the functions that take most time in an additional run.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import random
import resource
import subprocess
import sys
import time
from functools import cache

from reference import note, print_reference

from karptui.karpenter import labels as karpenter
from karptui.karpenter.instance_type import InstanceType, Offering
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodeclass import NodeClassRef
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.settings import Settings
from karptui.kube.objects import Condition, Node, OwnerReference
from karptui.kube.pod import Pod, PodAffinityTerm, PodTemplate, TopologySpreadConstraint, WeightedPodAffinityTerm
from karptui.kube.quantity import Quantity, parse_quantity
from karptui.kube.selectors import LabelSelector, NodeSelectorRequirement, NodeSelectorTerm, PreferredSchedulingTerm
from karptui.provisioning.prepared import prepare
from karptui.provisioning.solution import solve

NOW_NS = 1_795_000_000_000_000_000
HOUR_NS = 3_600_000_000_000
ZONES = ("test-zone-1", "test-zone-2", "test-zone-3")
TYPES, NEW_WORKLOADS, NEW_PODS = 400, 25, 500
DEFAULT = (
    *(f"diverse-{pods}" for pods in (100, 500, 1_000, 2_000, 5_000)),
    "preference-4000",
    "fleet-500-10000",
    "fleet-5000-100000",
)


def is_one_of(key: str, *values: str) -> NodeSelectorRequirement:
    return NodeSelectorRequirement(key, "In", values)


def room(cpu: int) -> dict[str, Quantity]:
    amounts = {"cpu": str(cpu), "memory": f"{2 * cpu}Gi", "pods": str(10 * cpu)}
    return {name: parse_quantity(text) for name, text in amounts.items()}


def instance_types() -> tuple[InstanceType, ...]:
    markets = [("spot", zone) for zone in ZONES[:2]] + [("on-demand", zone) for zone in ZONES]
    return tuple(
        InstanceType(
            name=f"fake-it-{cpu}",
            requirements=(
                is_one_of(karpenter.INSTANCE_TYPE, f"fake-it-{cpu}"),
                is_one_of(karpenter.ARCH, "amd64"),
                is_one_of(karpenter.OS, "linux"),
                is_one_of(karpenter.ZONE, *ZONES),
                is_one_of(karpenter.CAPACITY_TYPE, "on-demand", "spot"),
            ),
            capacity=room(cpu),
            offerings=tuple(
                Offering(
                    requirements=(is_one_of(karpenter.CAPACITY_TYPE, market), is_one_of(karpenter.ZONE, zone)),
                    price_per_hour=0.31 * cpu,
                )
                for market, zone in markets
            ),
        )
        for cpu in range(1, TYPES + 1)
    )


def nodepool() -> NodePool:
    return NodePool(
        name="default",
        node_class_ref=NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default"),
        conditions=(Condition("Ready", "True"),),
    )


@cache
def requests(millicores: int, mebibytes: int) -> dict[str, Quantity]:
    return {"cpu": parse_quantity(f"{millicores}m"), "memory": parse_quantity(f"{mebibytes}Mi")}


def drawn_requests(chance: random.Random) -> dict[str, Quantity]:
    return requests(chance.choice((100, 250, 500, 1000, 1500)), chance.choice((100, 256, 512, 1024, 2048, 4096)))


def selects(key: str, value: str) -> LabelSelector:
    return LabelSelector(((key, value),))


def pending(i: int, template: PodTemplate) -> Pod:
    return Pod(
        name=f"pod-{i:06d}",
        uid=f"uid-{i:06d}",
        template=template,
        phase="Pending",
        created_ns=NOW_NS,
        scheduled_reason="Unschedulable",
    )


def diverse(pods: int) -> list[PodTemplate]:
    """Return the pods of diverse-PODS; equal pods share a template, like decoded pods."""
    chance = random.Random(pods)
    made: dict[tuple[object, ...], PodTemplate] = {}

    def letter() -> str:
        return chance.choice("abcdefg")

    def shared(label: str, value: str, selected: str = "", key: str = "", **terms: object) -> PodTemplate:
        needs = drawn_requests(chance)
        fresh = PodTemplate(namespace="default", labels={label: value}, requests=needs, **terms)  # type: ignore[arg-type]
        return made.setdefault((label, value, selected, key, id(needs)), fresh)

    def plain() -> PodTemplate:
        return shared("my-label", letter())

    def spread(key: str) -> PodTemplate:
        selected = letter()
        constraint = TopologySpreadConstraint(1, key, "DoNotSchedule", selects("my-label", selected))
        return shared("my-label", letter(), selected, key, topology_spread=(constraint,))

    def together() -> PodTemplate:
        value = letter()
        return shared("group", value, pod_affinity=(PodAffinityTerm(karpenter.ZONE, selects("group", value)),))

    def apart() -> PodTemplate:
        term = PodAffinityTerm(karpenter.HOSTNAME, selects("app", "nginx"))
        return shared("app", "nginx", pod_anti_affinity=(term,))

    kinds = (plain, lambda: spread(karpenter.ZONE), lambda: spread(karpenter.HOSTNAME), together, apart)
    return [kinds[i * len(kinds) // pods]() for i in range(pods)]


def preferring(pods: int) -> list[PodTemplate]:
    def rather_apart(weight: int, key: str) -> WeightedPodAffinityTerm:
        return WeightedPodAffinityTerm(weight, PodAffinityTerm(key, selects("app", "nginx")))

    template = PodTemplate(
        namespace="default",
        labels={"app": "nginx"},
        requests=drawn_requests(random.Random(pods)),
        preferred_node_terms=(PreferredSchedulingTerm(1, NodeSelectorTerm((is_one_of(karpenter.ZONE, ZONES[0]),))),),
        preferred_pod_anti_affinity=(rather_apart(10, karpenter.ZONE), rather_apart(1, karpenter.HOSTNAME)),
    )
    return [template] * pods


def new_workloads() -> list[PodTemplate]:
    chance = random.Random(NEW_PODS)
    templates = [
        PodTemplate(
            namespace="default",
            labels={"app": f"new-{i}"},
            requests=drawn_requests(chance),
            topology_spread=(
                (TopologySpreadConstraint(1, karpenter.ZONE, "DoNotSchedule", selects("app", f"new-{i}")),)
                if i % 2
                else ()
            ),
        )
        for i in range(NEW_WORKLOADS)
    ]
    return [templates[i % NEW_WORKLOADS] for i in range(NEW_PODS)]


def running(nodes: int, pods: int) -> tuple[list[Node], list[NodeClaim], list[Pod]]:
    """Return nodes of 4 to 16 cores that are half full, with their pods."""
    made_nodes, claims = [], []
    for i in range(nodes):
        cpu = 4 + i % 13
        labels = {
            karpenter.NODEPOOL: "default",
            karpenter.INSTANCE_TYPE: f"fake-it-{cpu}",
            karpenter.ZONE: ZONES[i % len(ZONES)],
            karpenter.CAPACITY_TYPE: "on-demand",
            karpenter.ARCH: "amd64",
            karpenter.OS: "linux",
            karpenter.REGISTERED: "true",
            karpenter.INITIALIZED: "true",
            karpenter.HOSTNAME: f"node-{i}",
        }
        made_nodes.append(
            Node(
                name=f"node-{i}",
                labels=labels,
                provider_id=f"aws:///{i}",
                capacity=room(cpu),
                allocatable=room(cpu),
                conditions=(Condition("Ready", "True"),),
            )
        )
        claims.append(
            NodeClaim(
                name=f"claim-{i}",
                labels=labels,
                provider_id=f"aws:///{i}",
                node_name=f"node-{i}",
                created_ns=NOW_NS - HOUR_NS,
                conditions=tuple(Condition(kind, "True") for kind in ("Launched", "Registered", "Initialized")),
            )
        )
    workloads = [
        PodTemplate(
            namespace="default",
            labels={"app": f"app-{i}"},
            owners=(OwnerReference("apps/v1", "ReplicaSet", f"app-{i}", controller=True),),
            requests={"cpu": parse_quantity("250m"), "memory": parse_quantity("400Mi")},
        )
        for i in range(200)
    ]
    made_pods = [
        Pod(
            name=f"app-{i}",
            uid=f"app-uid-{i}",
            template=workloads[i % len(workloads)],
            node_name=f"node-{i % nodes}",
            phase="Running",
            created_ns=NOW_NS - HOUR_NS,
        )
        for i in range(pods)
    ]
    return made_nodes, claims, made_pods


def cluster(workload: str) -> Inventory:
    kind, *sizes = workload.split("-")
    nodes, claims, pods = running(int(sizes[0]), int(sizes[1])) if kind == "fleet" else ([], [], [])
    new = {"diverse": diverse, "preference": preferring}[kind](int(sizes[0])) if kind != "fleet" else new_workloads()
    pods += [pending(i, template) for i, template in enumerate(new)]
    return Inventory(nodes=tuple(nodes), nodeclaims=tuple(claims), pods=tuple(pods), nodepools=(nodepool(),))


def measure(workload: str, runs: int) -> None:
    inventory, types = cluster(workload), instance_types()
    objects = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    prepares, solves, seconds = [], [], []
    for _ in range(runs):
        start, busy = time.perf_counter(), time.process_time()
        prepared = prepare(inventory, types, Settings(), NOW_NS)
        middle = time.perf_counter()
        solution = solve(prepared)
        solves.append(time.perf_counter() - middle)
        prepares.append(middle - start)
        seconds.append(time.process_time() - busy)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    used = sum(1 for node in solution.nodes if node.pods)
    note(workload, min(seconds))
    print(
        f"{workload:<20} prepare {min(prepares) * 1e3:7.1f} ms, solve {min(solves) * 1e3:7.1f} ms, "
        f"processor {min(seconds) * 1e3:7.1f} ms: "
        f"{len(solution.claims):,} NodeClaims, {used:,} nodes used, {len(solution.errors):,} pods without a node; "
        f"memory {peak // 1024} MiB, {(peak - objects) // 1024} of it over the objects",
        flush=True,
    )


def profile(workload: str) -> None:
    inventory, types = cluster(workload), instance_types()
    solve(prepare(inventory, types, Settings(), NOW_NS))
    profiler = cProfile.Profile()
    profiler.runcall(lambda: solve(prepare(inventory, types, Settings(), NOW_NS)))
    pstats.Stats(profiler).strip_dirs().sort_stats("tottime").print_stats(15)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--profile", action="store_true", help="say in which functions the time goes")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    for workload in args.workloads or DEFAULT:
        if args.here:
            measure(workload, args.runs)
            print_reference()
            if args.profile:
                profile(workload)
        else:
            flags = ["--profile"] * args.profile
            subprocess.run([sys.executable, __file__, "--here", "--runs", str(args.runs), *flags, workload], check=True)


if __name__ == "__main__":
    main()
