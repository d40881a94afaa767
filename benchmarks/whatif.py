"""How long an answer takes after an edit, the base being known: edits made, edited side replayed, both compared.

    python benchmarks/whatif.py [--runs N] [WORKLOAD ...]

Workloads are those of benchmarks/provisioning.py: diverse-PODS is five kinds of pods on an empty cluster with 400
instance types, fleet-NODES-PODS a running cluster with 500 pending pods. For each edit the least of N runs (default 5)
of `apply`, `replay` (of the edited side) and `difference`, and their sum. What a screen does with it is not part
of it. Times are those of the processor, so that others on the machine do not count. Without arguments: diverse-1000,
fleet-500-10000 and fleet-5000-100000.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from provisioning import NOW_NS, cluster, instance_types

from karptui.decode.kinds import Kind
from karptui.decode.reader import KindReader
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.settings import Settings
from karptui.whatif.apply import apply
from karptui.whatif.blocker_difference import blocker_changes
from karptui.whatif.difference import difference
from karptui.whatif.edits import AnyEdit, CopyPod, ObjectRef, RemoveNode, SetField, SetSetting, TakeOut
from karptui.whatif.replay import replay
from karptui.whatif.scenario import Replay
from karptui.whatif.situation import TypesResult, WhatIfBase

DEFAULT = ("diverse-1000", "fleet-500-10000", "fleet-5000-100000")
POOL = ObjectRef("NodePool", "default")


def base_of(workload: str) -> WhatIfBase:
    inventory, types = cluster(workload), instance_types()
    pool = KindReader(Kind.NODEPOOL).convert(
        {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodePool",
            "metadata": {"name": "default"},
            "spec": {
                "template": {
                    "spec": {
                        "requirements": [],
                        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
                    }
                }
            },
            "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        }
    )
    parts = {name: getattr(inventory, name) for name in Inventory.__struct_fields__}
    whole = Inventory(**{**parts, "nodepools": (pool,)})
    return WhatIfBase(whole, lambda *_: TypesResult(types, is_fixed=True), Settings(), NOW_NS)


def edits_for(base: WhatIfBase) -> dict[str, AnyEdit]:
    edits: dict[str, AnyEdit] = {
        "weight": SetField(POOL, ("spec", "weight"), 10),
        "limit": SetField(POOL, ("spec", "limits", "cpu"), "200000"),
        "requirement": SetField(
            POOL,
            ("spec", "template", "spec", "requirements"),
            [{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]}],
        ),
        "setting": SetSetting("PREFERENCE_POLICY", "Ignore"),
        "outage": TakeOut(zone="test-zone-1"),
        "ten pods more": CopyPod(ObjectRef("Pod", base.prepared.pending[0].name, "default"), 10),
    }
    if base.inventory.nodes:
        edits["remove a node"] = RemoveNode(base.inventory.nodes[0].name)
    return edits


def timed(action: object) -> tuple[float, object]:
    begun = time.process_time()
    result = action()  # type: ignore[operator]
    return (time.process_time() - begun) * 1e3, result


def measure(workload: str, runs: int) -> None:
    base = base_of(workload)
    first, before = timed(lambda: replay(base, Replay.PENDING))
    print(f"{workload}: base replayed in {first:,.0f} ms")
    for name, edit in edits_for(base).items():
        best: tuple[float, ...] = ()
        for _ in range(runs):
            made, edited = timed(lambda edit=edit: apply(base, (edit,)))
            solved, after = timed(lambda edited=edited: replay(edited, Replay.PENDING))
            compared, found = timed(lambda after=after: difference(before, after))
            total = made + solved + compared
            if not best or total < best[0]:
                best = (total, made, solved, compared)
        changed = f"{found.before.nodes} -> {found.after.nodes} nodes"
        parts = "apply {1:7.1f}  replay {2:8.1f}  difference {3:7.1f}".format(*best)
        print(f"  {name:<14} {best[0]:8.1f} ms  ({parts})  {changed}", flush=True)
    spent, _ = timed(lambda: blocker_changes(base, edited))
    print(f"  blockers of both sides afterwards: {spent:,.0f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD")
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    for workload in args.workloads or DEFAULT:
        measure(workload, args.runs)


if __name__ == "__main__":
    main()
