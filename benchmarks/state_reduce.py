"""Time and memory of the cluster state: state_reduce.py [--nodes 5000] [--pods 100000] [--changes 1000].

Prints the time of a first load in portions, of one batch of changes and of making the inventory, and the memory of the
state without the pods themselves. Times are processor time.
"""

from __future__ import annotations

import argparse
import gc
import random
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
from reference import note, print_reference

from karptui.decode.kinds import Kind
from karptui.karpenter.labels import NODEPOOL
from karptui.kube.objects import Node, OwnerReference
from karptui.kube.pod import Pod, PodTemplate
from karptui.kube.quantity import parse_quantity
from karptui.state.cluster import EMPTY, ClusterState, inventory_of
from karptui.state.reducer import Batch, KindDelta, reduce

PORTION = 8_000
TEMPLATES = 4_000


def templates() -> list[PodTemplate]:
    amounts = {"cpu": parse_quantity("250m"), "memory": parse_quantity("512Mi")}
    kinds = ("ReplicaSet", "ReplicaSet", "ReplicaSet", "DaemonSet")
    return [
        PodTemplate(
            namespace=f"team-{index % 50}",
            requests=amounts,
            owners=(OwnerReference("apps/v1", kinds[index % 4], f"owner-{index}", controller=True),),
        )
        for index in range(TEMPLATES)
    ]


def pods_of(count: int, nodes: int, shared: list[PodTemplate]) -> Iterator[Pod]:
    for index in range(count):
        yield Pod(
            name=f"pod-{index:07d}",
            template=shared[index % TEMPLATES],
            node_name=f"node-{index % nodes}",
            phase="Running",
        )


def load(nodes: int, pods: list[Pod]) -> ClusterState:
    machines = {f"node-{n}": Node(name=f"node-{n}", labels={NODEPOOL: "general"}) for n in range(nodes)}
    state = reduce(EMPTY, Batch({Kind.NODE: KindDelta(machines)}))
    for begin in range(0, len(pods), PORTION):
        portion = {pod.key: pod for pod in pods[begin : begin + PORTION]}
        state = reduce(state, Batch({Kind.POD: KindDelta(portion)}))
    return state


def resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--pods", type=int, default=100_000)
    parser.add_argument("--changes", type=int, default=1_000)
    args = parser.parse_args()
    rng = random.Random(1)
    pods = list(pods_of(args.pods, args.nodes, templates()))
    gc.collect()
    gc.freeze()
    before = resident_mib()
    began = time.process_time()
    state = load(args.nodes, pods)
    took = time.process_time() - began
    print(f"first load in portions of {PORTION:,}: {took:.3f} s, +{resident_mib() - before:.0f} MiB")
    for what, fields in (("become ready", {"ready": True}), ("move", {})):
        times = []
        for turn in range(20):
            changed = [
                msgspec.structs.replace(
                    state.pods[pod.key],
                    **(fields or {"node_name": f"node-{rng.randrange(args.nodes)}"}),
                    uid=f"{what}{turn}",
                )
                for pod in rng.sample(pods, args.changes)
            ]
            batch = Batch({Kind.POD: KindDelta({pod.key: pod for pod in changed})})
            began = time.process_time()
            state = reduce(state, batch)
            times.append(time.process_time() - began)
        best, median, worst = min(times) * 1e3, sorted(times)[len(times) // 2] * 1e3, max(times) * 1e3
        note(f"pods that {what}", best / 1e3)
        print(f"batch of {args.changes:,} pods that {what}: {best:.1f} ms best, {median:.1f} median, {worst:.1f} worst")
    again = Batch({Kind.POD: KindDelta({pod.key: msgspec.structs.replace(pod) for pod in changed})})
    began = time.process_time()
    same = reduce(state, again)
    print(f"the same batch again: {(time.process_time() - began) * 1e3:.1f} ms, no new generation: {same is state}")
    began = time.process_time()
    inventory_of(state)
    print(f"inventory: {(time.process_time() - began) * 1e3:.1f} ms")
    print_reference(first_load=took)


if __name__ == "__main__":
    main()
