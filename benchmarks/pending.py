"""Time until the Pending screen shows why pods are pending and what would help, and the delay of keys meanwhile.

    python benchmarks/pending.py [--nodes N] [--pods N]

A running fleet (default 5,000 nodes with 100,000 pods) and 1,000 pending pods of 40 workloads: half fit on existing
nodes, the others request more cpu than any type has, select a label that no NodePool has, or do not tolerate a taint.
The analyst runs in its thread as in the app. A ticker in the main thread is due every 4 ms, like the screen while the
user types, and records its delay. One run. Times start when the Pending screen opens on a loaded cluster.
"""

from __future__ import annotations

import argparse
import time

from analysis import say, tick_until
from blockers import NOW_NS, fleet, instance_types
from msgspec.structs import replace
from reference import print_reference

from karptui.aws.evidence import Evidence
from karptui.kube.objects import OwnerReference
from karptui.kube.pod import Pod, PodTemplate
from karptui.kube.quantity import parse_quantity
from karptui.pending.causes import Cause
from karptui.session.analyst import Analyst
from karptui.session.answers import Focus
from karptui.session.cluster_view import ClusterView
from tests.builders.clusters import state_of

PENDING, WORKLOADS = 1_000, 40
KINDS = (
    {"cpu": "250m", "selector": {}},
    {"cpu": "500m", "selector": {}},
    {"cpu": "5000", "selector": {}},
    {"cpu": "250m", "selector": {"company.example/tier": "gold"}},
)


def waiting() -> tuple[Pod, ...]:
    templates = []
    for i in range(WORKLOADS):
        kind = KINDS[i % len(KINDS)]
        templates.append(
            PodTemplate(
                namespace="default",
                labels={"app": f"new-{i}"},
                owners=(OwnerReference("apps/v1", "StatefulSet", f"new-{i}", controller=True),),
                requests={"cpu": parse_quantity(str(kind["cpu"])), "memory": parse_quantity("512Mi")},
                node_selector=kind["selector"],  # type: ignore[arg-type]
            )
        )
    return tuple(
        Pod(
            name=f"new-{i % WORKLOADS}-{i // WORKLOADS}",
            uid=f"new-{i}",
            template=templates[i % WORKLOADS],
            phase="Pending",
            created_ns=NOW_NS - 600_000_000_000,
            scheduled_reason="Unschedulable",
        )
        for i in range(PENDING)
    )


def measure(nodes: int, pods: int) -> None:
    inventory = fleet(nodes, pods)
    inventory = replace(inventory, pods=(*inventory.pods, *waiting()))
    view = ClusterView(state_of(inventory), {}, evidence=Evidence(instance_types=instance_types()))
    print(f"{nodes:,} nodes, {pods:,} pods, {PENDING:,} pending of {WORKLOADS} workloads")
    analyst = Analyst()
    analyst.submit(view, NOW_NS)
    say("the cluster is taken in", *tick_until(lambda: analyst.latest is not None))
    analyst.look_at(Focus(asks_pending=True))
    say("groups with all three verdicts", *tick_until(lambda: analyst.pending is not None))
    say("every group explained", *tick_until(lambda: _is_explained(analyst)))
    report = analyst.pending
    assert report is not None
    unplaced = [group.first for group in report.groups if group.cause is Cause.UNPLACED]
    print(f"  {len(report.groups)} groups, {len(unplaced)} unschedulable")
    key = next(pod.key for pod in unplaced if pod.template.node_selector)
    began = time.perf_counter()
    analyst.look_at(Focus(asks_pending=True, pod=key))
    say("one pod at length: every NodePool and node", *tick_until(lambda: _detail(analyst, key) is not None))
    say("and every change tried for it", *tick_until(lambda: _is_tried(analyst, key)))
    detail = _detail(analyst, key)
    assert detail is not None
    assert detail.remedies is not None
    print(
        f"  {detail.remedies.tried} changes in {time.perf_counter() - began:.1f} s, "
        f"{len(detail.remedies.remedies)} help"
    )
    analyst.stop()


def _is_explained(analyst: Analyst) -> bool:
    report = analyst.pending
    return report is not None and report.explained == len(report.groups)


def _detail(analyst: Analyst, key: str):  # type: ignore[no-untyped-def]
    report = analyst.pending
    found = report.detail if report is not None else None
    return found if found is not None and found.pod_key == key else None


def _is_tried(analyst: Analyst, key: str) -> bool:
    detail = _detail(analyst, key)
    return detail is not None and detail.remedies is not None and detail.remedies.is_complete


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--pods", type=int, default=100_000)
    args = parser.parse_args()
    measure(args.nodes, args.pods)
    print_reference()


if __name__ == "__main__":
    main()
