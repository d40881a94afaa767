"""Check predictions against a real Karpenter: ``python -m tests.e2e.ledger KARPENTER [--minutes 30] [--seed 1]``.

KARPENTER is the path of a Karpenter with its kwok provider; etcd and kube-apiserver come from KUBEBUILDER_ASSETS.
Workloads with random requests, selectors and spread are created and deleted, and consolidateAfter is ten seconds.
karptui follows the cluster, and each of its predictions is compared with the action of Karpenter.
Prints each wrong prediction and the shares. Exits with 1 if fewer than 95 % of the placements were right.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from karptui.aws.evidence import Evidence, with_rules
from karptui.session.answers import Focus
from karptui.session.follower import ClusterFollower
from karptui.session.predictions import Ledger, LedgerEntry, Outcome, PredictionKind, mark_of, shares_of_marks
from karptui.sources.cluster.connection import load_connection
from karptui.sources.cluster.source import ClusterSource
from karptui.sources.evidence import EvidenceSource
from karptui.sources.snapshot.instance_types import Catalogs
from tests.builders.manifests import one_of

from .control_plane import ControlPlane, find_assets
from .karpenter import CAPACITY_TYPE, PODS, ZONE, LiveCluster, instance_types, running_cluster
from .test_live_karpenter import _spread, a_pool, pods

POLL_SECONDS = 0.5
ENOUGH_PERCENT = 95.0
MOST_PODS = 120


def write(line: str) -> None:
    """Print a line and flush it."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    """Run the comparison, print its figures, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("karpenter", type=Path)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    assets = find_assets()
    assert assets is not None, "KUBEBUILDER_ASSETS names no etcd and kube-apiserver"
    plane = ControlPlane(assets)
    try:
        entries = list(_entries(plane, args.karpenter, args.minutes * 60, args.seed))
    finally:
        plane.stop()
    shares = shares_of_marks(map(mark_of, entries))
    for kind, share in shares.items():
        percent = "" if share.percent is None else f": {share.percent:.1f} %"
        write(f"{kind}: {share.right} right, {share.wrong} wrong, {share.overtaken} overtaken{percent}")
    reasons = Counter(str(entry.because) for entry in entries if entry.outcome is Outcome.OVERTAKEN)
    write(f"overtaken: {dict(reasons)}")
    placements = shares[PredictionKind.PLACEMENT].percent
    return int(placements is None or placements < ENOUGH_PERCENT)


def _entries(plane: ControlPlane, binary: Path, seconds: float, seed: int) -> Iterator[LedgerEntry]:
    pools = (_consolidated(a_pool("general")), _consolidated(a_pool("spot", weight=50, team="batch")))
    with tempfile.TemporaryDirectory() as folder, running_cluster(plane, binary, Path(folder), pools) as (live, _):
        ended = threading.Event()
        for work in (lambda: _run_kubelets(live, ended), lambda: _change_load(live, ended, random.Random(seed))):
            threading.Thread(target=work, daemon=True).start()
        follower = _follower(plane)
        try:
            yield from _judged(follower, time.monotonic() + seconds)
        finally:
            ended.set()
            follower.stop()


def _consolidated(pool: dict[str, Any]) -> dict[str, Any]:
    pool["spec"]["disruption"]["consolidateAfter"] = "10s"
    return pool


def _follower(plane: ControlPlane) -> ClusterFollower:
    types = Catalogs().of_value(instance_types(), "kwok")
    evidence = with_rules(Evidence(instance_types=types, stated_version="1.15.0"))
    source = ClusterSource(load_connection(kubeconfig=plane.kubeconfig, environ={}))
    follower = ClusterFollower(source, evidence=EvidenceSource(evidence))
    follower.start()
    follower.first_rows_shown()
    follower.analyst.look_at(Focus(asks_pending=True, asks_next=True))
    return follower


def _judged(follower: ClusterFollower, until: float) -> Iterator[LedgerEntry]:
    ledger = Ledger()
    while time.monotonic() < until:
        time.sleep(POLL_SECONDS)
        now_ns = time.time_ns()
        follower.poll(now_ns)
        follower.analyse(now_ns)
        view = follower.view
        report = view.analysis.next if view.analysis is not None else None
        for entry in ledger.saw(view.state, view.pending, report, now_ns):
            if entry.outcome is Outcome.WRONG:
                write(str(entry))
            yield entry


def _run_kubelets(live: LiveCluster, ended: threading.Event) -> None:
    while not ended.wait(0.3):
        live.run_kubelets()


def _change_load(live: LiveCluster, ended: threading.Event, chance: random.Random) -> None:
    """Create and delete workloads at random."""
    number, running_pods = 0, dict[str, list[str]]()
    while not ended.wait(chance.uniform(2, 8)):
        count = sum(map(len, running_pods.values()))
        if running_pods and (count > MOST_PODS or chance.random() < 0.4):
            name = chance.choice(sorted(running_pods))
            for pod in running_pods.pop(name):
                live.client.request("DELETE", f"{PODS}/{pod}", expect=None)
            continue
        number += 1
        name = f"load-{number}"
        created = _pods(name, chance)
        live.client.create(PODS, created)
        names = [pod["metadata"]["name"] for pod in created]
        running_pods[name] = names
        live.mark_unschedulable(names)


def _pods(name: str, chance: random.Random) -> list[dict[str, Any]]:
    spec: dict[str, Any] = {}
    draw = chance.random()
    if draw < 0.2:
        spec["nodeSelector"] = {ZONE: f"test-zone-{chance.choice('abc')}"}
    elif draw < 0.4:
        spec["topologySpreadConstraints"] = _spread(
            name, chance.choice((ZONE, "kubernetes.io/hostname")), "DoNotSchedule"
        )
    elif draw < 0.5:
        terms = [{"matchExpressions": [one_of(CAPACITY_TYPE, "on-demand")]}]
        required = {"nodeSelectorTerms": terms}
        spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    cpu, memory = f"{chance.choice((100, 250, 500, 900, 1800, 3500))}m", f"{chance.choice((64, 256, 1024, 3000))}Mi"
    return pods(name, chance.randint(1, 8), cpu, memory, team=chance.choice(("", "", "batch")), **spec)


if __name__ == "__main__":
    sys.exit(main())
