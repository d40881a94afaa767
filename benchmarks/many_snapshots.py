"""A sweep over a thousand small snapshots: ``python benchmarks/many_snapshots.py [--count 1000] [--workers 2]``.

Runs the command alternately with one worker and with several, and prints the speedup of the best runs. On a busy
machine, the speedup by processor time is more reliable. It is computed: the time of a sweep over a single snapshot
cannot be shared, and the rest is divided by the number of workers.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from reference import note, print_reference

SWEEP: Final = ("--set", "NodePool/general:spec.weight=1,50", "--replay", "pending", "-o", "json")


def snapshot(number: int) -> dict[str, Any]:
    """Return a snapshot with a NodePool, an EC2NodeClass, two nodes and thirty pods, a third of them pending."""
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    requirements = [{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]}]
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    pool = {"template": {"spec": {"nodeClassRef": reference, "requirements": requirements}}}
    terms = [{"id": f"subnet-{number:017x}"}]
    nodeclass = {"amiSelectorTerms": [{"alias": "al2023@latest"}], "subnetSelectorTerms": terms}
    zones = {"subnets": [{"id": terms[0]["id"], "zone": "us-east-1a"}]}
    objects: list[dict[str, Any]] = [
        {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "general"}, "spec": pool},
        {
            "apiVersion": "karpenter.k8s.aws/v1",
            "kind": "EC2NodeClass",
            "metadata": {"name": "default"},
            "spec": nodeclass,
            "status": {**zones, **ready},
        },
    ]
    for node in range(2):
        labels = {
            "karpenter.sh/nodepool": "general",
            "karpenter.sh/capacity-type": "on-demand",
            "node.kubernetes.io/instance-type": "m5.2xlarge",
            "topology.kubernetes.io/zone": "us-east-1a",
            "topology.kubernetes.io/region": "us-east-1",
        }
        room = {"cpu": "7910m", "memory": "29Gi", "pods": "58"}
        objects.append(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": f"node-{node}", "labels": labels},
                "spec": {"providerID": f"aws:///us-east-1a/i-{node}"},
                "status": {"capacity": {**room, "cpu": "8"}, "allocatable": room, **ready},
            }
        )
    for pod in range(30):
        requests = {"cpu": f"{400 + 100 * ((number + pod) % 7)}m", "memory": "512Mi"}
        waits = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]
        objects.append(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": f"pod-{pod}", "namespace": "web"},
                "spec": {
                    **({} if pod % 3 == 0 else {"nodeName": f"node-{pod % 2}"}),
                    "containers": [{"name": "main", "resources": {"requests": requests}}],
                },
                "status": {"phase": "Pending", "conditions": waits} if pod % 3 == 0 else {"phase": "Running"},
            }
        )
    objects[0]["status"] = ready
    return {
        "karptui": 1,
        "name": f"{number:04}",
        "capturedAt": "2026-11-20T12:00:00Z",
        "karpenterVersion": "1.15.1",
        "objects": objects,
    }


def timed(files: list[str], workers: int) -> tuple[float, float, str]:
    """Return elapsed time, processor time and output of a sweep."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    command = [sys.executable, "-m", "karptui", "sweep", *files, *SWEEP, "--workers", str(workers)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, ended.stdout


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = [str(Path(folder, f"{number:04}.json")) for number in range(args.count)]
        for number, file in enumerate(files):
            Path(file).write_text(json.dumps(snapshot(number)))
        alone = min(timed(files[:1], 1)[1] for _ in range(args.rounds))
        best: dict[int, tuple[float, float, str]] = {}
        for _ in range(args.rounds):
            for workers in (1, args.workers):
                found = timed(files, workers)
                print(f"{workers} at work: {found[0]:.1f} s, {found[1]:.1f} s of processors")
                seconds, used, said = best.get(workers, found)
                best[workers] = min(seconds, found[0]), min(used, found[1]), said
    one, many = best[1], best[args.workers]
    same = "the same answers" if one[2] == many[2] else "OTHER ANSWERS"
    rest = many[1] - alone
    clock, used = one[0] / many[0], one[1] / (alone + rest / args.workers)
    print(f"{args.count} snapshots, {args.workers} at work: {clock:.2f} times as fast by the clock, {same}")
    note("all snapshots, one at work", one[1])
    print(f"by processors {used:.2f} times: {one[1]:.1f} s, or {alone:.1f} s and {rest:.1f} s shared by {args.workers}")
    print_reference()


if __name__ == "__main__":
    main()
