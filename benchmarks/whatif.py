"""Time of a what-if answer after an edit: apply the edits, replay the edited cluster, compare it with the base.

    python benchmarks/whatif.py [--runs N] [WORKLOAD ...]

Workloads are those of benchmarks/provisioning.py (diverse-PODS: five kinds of pods on an empty cluster with 400
instance types; fleet-NODES-PODS: a running cluster with 500 pending pods) and ec2-PODS: the pods of diverse-PODS with
every EC2 type of the built-in catalogue in six zones, where each run edits capacity and overhead of the types to
another value. For each edit, prints the minimum of N runs (default 5) of `apply`, `replay` (of the edited side) and
`difference`, the minimum of their sum, and the maximum of their sum. The screen is not included. Times are processor
time, so that other programs do not count, with the garbage collection settings of the application. Without arguments:
diverse-1000, ec2-1000, fleet-500-10000 and fleet-5000-100000.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

from reference import note, print_reference

sys.path.insert(0, str(Path(__file__).parent))

from provisioning import NOW_NS, cluster, instance_types

from karptui.aws.cluster_types import cluster_types
from karptui.decode.kinds import Kind
from karptui.decode.reader import KindReader
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.settings import Settings
from karptui.session.throttle import keep_pauses_short
from karptui.whatif.difference import blocker_changes, difference
from karptui.whatif.edits import AnyEdit, CopyPod, ObjectRef, RemoveNode, SetField, SetSetting, TakeOut
from karptui.whatif.edits.apply import apply
from karptui.whatif.replay import replay
from karptui.whatif.scenario import Replay
from karptui.whatif.situation import TypesFor, TypesResult, WhatIfBase

DEFAULT = ("diverse-1000", "ec2-1000", "fleet-500-10000", "fleet-5000-100000")
POOL = ObjectRef("NodePool", "default")
NODECLASS = ObjectRef("EC2NodeClass", "default")
EditOfRun = Callable[[int], AnyEdit]


def nodepool() -> dict[str, object]:
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "default"},
        "spec": {"template": {"spec": {"requirements": [], "nodeClassRef": reference}}},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }


def nodeclass() -> dict[str, object]:
    zones = [{"zone": f"us-east-1{letter}", "zoneID": f"use1-az{i}"} for i, letter in enumerate("abcdef", 1)]
    return {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": "default"},
        "spec": {"amiSelectorTerms": [{"alias": "al2023@latest"}]},
        "status": {"conditions": [{"type": "Ready", "status": "True"}], "subnets": zones},
    }


def base_of(workload: str) -> WhatIfBase:
    is_ec2 = workload.startswith("ec2-")
    inventory = cluster(workload.replace("ec2-", "diverse-"))
    parts = {name: getattr(inventory, name) for name in Inventory.__struct_fields__}
    parts["nodepools"] = (KindReader(Kind.NODEPOOL).convert(nodepool()),)
    if is_ec2:
        parts["nodeclasses"] = (KindReader(Kind.NODECLASS).convert(nodeclass()),)
    return WhatIfBase(Inventory(**parts), of_ec2 if is_ec2 else of_benchmark(), Settings(), NOW_NS)


def of_ec2(inventory: Inventory, settings: Settings) -> TypesResult:
    found = cluster_types(inventory, settings)
    return TypesResult({"default": found.by_nodeclass["default"].types}, found.notes)


def of_benchmark() -> TypesFor:
    types = instance_types()
    return lambda *_: TypesResult(types, is_fixed=True)


def edits_for(base: WhatIfBase) -> dict[str, EditOfRun]:
    edits: dict[str, EditOfRun] = {
        "weight": lambda _: SetField(POOL, ("spec", "weight"), 10),
        "limit": lambda _: SetField(POOL, ("spec", "limits", "cpu"), "200000"),
        "requirement": lambda _: SetField(
            POOL,
            ("spec", "template", "spec", "requirements"),
            [{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]}],
        ),
        "setting": lambda _: SetSetting("PREFERENCE_POLICY", "Ignore"),
        "outage": lambda _: TakeOut(zone="test-zone-1"),
        "ten pods more": lambda _: CopyPod(ObjectRef("Pod", base.prepared.pending[0].name, "default"), 10),
    }
    if base.inventory.nodes:
        edits["remove a node"] = lambda _: RemoveNode(base.inventory.nodes[0].name)
    return edits


def ec2_edits(_: WhatIfBase) -> dict[str, EditOfRun]:
    def kubelet(field: str, value: Callable[[int], object]) -> EditOfRun:
        return lambda run: SetField(NODECLASS, ("spec", "kubelet", field), value(run))

    return {
        "VM overhead": lambda run: SetSetting("VM_MEMORY_OVERHEAD_PERCENT", str(0.08 + run / 1000)),
        "reserved ENIs": lambda run: SetSetting("RESERVED_ENIS", str(1 + run)),
        "maxPods": kubelet("maxPods", lambda run: 30 + run),
        "podsPerCore": kubelet("podsPerCore", lambda run: 2 + run),
        "kubeReserved": kubelet("kubeReserved", lambda run: {"cpu": f"{100 + run}m", "memory": f"{500 + run}Mi"}),
        "systemReserved": kubelet("systemReserved", lambda run: {"cpu": f"{100 + run}m"}),
        "evictionHard": kubelet("evictionHard", lambda run: {"memory.available": f"{2 + run}%"}),
        "outage": lambda _: TakeOut(zone="us-east-1a"),
        "weight": lambda _: SetField(POOL, ("spec", "weight"), 10),
    }


def timed(action: object) -> tuple[float, object]:
    begun = time.process_time()
    result = action()  # type: ignore[operator]
    return (time.process_time() - begun) * 1e3, result


def measure(workload: str, runs: int) -> None:
    base = base_of(workload)
    first, _ = timed(lambda: replay(base, Replay.PENDING))
    print(f"{workload}: base replayed in {first:,.0f} ms")
    for name, edit_of in (ec2_edits if workload.startswith("ec2-") else edits_for)(base).items():
        runs_of: list[tuple[float, ...]] = []
        for run in range(runs):
            edit = edit_of(run)
            made, edited = timed(lambda edit=edit: apply(base, (edit,)))
            solved, _ = timed(lambda edited=edited: replay(edited, Replay.PENDING))
            compared, found = timed(lambda edited=edited: difference(base, edited, Replay.PENDING))
            runs_of.append((made + solved + compared, made, solved, compared))
        changed = f"{found.before.nodes} -> {found.after.nodes} nodes"
        parts = "apply {1:7.1f}  replay {2:8.1f}  difference {3:7.1f}".format(*min(runs_of))
        best, worst = min(runs_of)[0], max(runs_of)[0]
        note(f"{name}, {workload}", best / 1e3)
        print(f"  {name:<14} {best:8.1f} ms  ({parts}; at most {worst:8.1f})  {changed}", flush=True)
    spent, _ = timed(lambda: blocker_changes(base, edited))
    print(f"  blockers of both sides afterwards: {spent:,.0f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD")
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    keep_pauses_short()
    for workload in args.workloads or DEFAULT:
        measure(workload, args.runs)
    print_reference()


if __name__ == "__main__":
    main()
