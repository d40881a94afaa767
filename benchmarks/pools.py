"""Time of the Pools screen: pools.py [NODES PODS]; by default 500 nodes with 10,000 pods, then 5,000 with 100,000.

The fleet of benchmarks/blockers.py (20 NodePools, 400 workloads). Measures the types of all NodePools, the overlap
(which pods fit which NodePools) with its longest step, and the rows. Prints seconds; never fails.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from reference import note, print_reference

sys.path.insert(0, str(Path(__file__).parent))

from blockers import NOW_NS, fleet, instance_types

from karptui.aws.evidence import Evidence
from karptui.disruption.analysis import Analysis
from karptui.karpenter.settings import Settings
from karptui.provisioning.overlap import overlap_steps
from karptui.provisioning.prepared import prepare
from karptui.session.cluster_view import ClusterView
from karptui.session.pools import pool_rows
from karptui.session.types_of_pools import pool_entries
from karptui.views.pools.columns import COLUMNS
from karptui.views.pools.sentences import pool_sentences
from tests.builders.clusters import state_of


def measure(nodes: int, pods: int) -> None:
    inventory, types = fleet(nodes, pods), instance_types()
    prepared = prepare(inventory, types, Settings(), NOW_NS)
    began = before = time.perf_counter()
    longest, found = 0.0, None
    for step in overlap_steps(prepared):
        found = step
        now = time.perf_counter()
        longest, before = max(longest, now - before), now
    seconds = time.perf_counter() - began
    kinds = len(found.kinds) if found is not None else 0
    print(f"{nodes:,} nodes, {pods:,} pods")
    note(f"overlap, {nodes:,} nodes", seconds)
    print(f"  overlap of {kinds} kinds of pods: {seconds:.3f} s, longest step {1000 * longest:.1f} ms")
    view = ClusterView(state_of(inventory), {}, evidence=Evidence(instance_types=types))
    began = time.perf_counter()
    pool_entries(view)
    print(f"  types of {len(inventory.nodepools)} NodePools: {time.perf_counter() - began:.3f} s")
    view = ClusterView(view.state, {}, view, evidence=view.evidence, analysis=Analysis(overlap=found))
    _ = view.node_entries
    began = time.perf_counter()
    rows = pool_rows(view)
    lines = [line for row in rows for line in (*pool_sentences(row), *(column.cell(row, NOW_NS) for column in COLUMNS))]
    print(f"  {len(rows)} rows with {len(lines)} cells and sentences: {time.perf_counter() - began:.3f} s")


def main() -> None:
    if len(sys.argv) > 2:
        measure(int(sys.argv[1]), int(sys.argv[2]))
    else:
        measure(500, 10_000)
        measure(5_000, 100_000)
    print_reference()


if __name__ == "__main__":
    main()
