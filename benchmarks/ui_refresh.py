"""Time to show a change in a large cluster: ``python benchmarks/ui_refresh.py [NODES] [PODS]``.

The Nodes screen (then the Pods screen) is open and one pod changes: the mailbox is emptied, the state is reduced, the
view is made and the frame is rendered. "Loop held" is the longest delay that a key could have, measured by a task that
is due every two milliseconds.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
from reference import note, print_reference

from karptui.app import KarptuiApp
from karptui.clock import FrozenClock
from karptui.decode.kinds import Kind
from karptui.karpenter import labels as karpenter_labels
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.kube.objects import Condition, Node, OwnerReference
from karptui.kube.pod import Pod, PodTemplate
from karptui.kube.quantity import parse_quantity
from karptui.sources.source import Mailbox, Phase, SourceStatus

NOW_NS = 1_795_521_607_000_000_000
SECOND = 1_000_000_000
ALLOCATABLE = {name: parse_quantity(text) for name, text in {"cpu": "15890m", "memory": "118Gi", "pods": "234"}.items()}
REQUESTS = {name: parse_quantity(text) for name, text in {"cpu": "250m", "memory": "1Gi"}.items()}
DONE = tuple(Condition(name, "True", "", "", NOW_NS) for name in ("Launched", "Registered", "Initialized", "Ready"))


def objects(node_count: int, pod_count: int) -> dict[Kind, dict[str, object]]:
    """Return nodes, claims and pods of 200 templates."""
    nodes: dict[str, object] = {}
    claims: dict[str, object] = {}
    for index in range(node_count):
        name = f"ip-10-{index >> 8}-{index & 255}-7.eu-west-1.compute.internal"
        labels = {
            karpenter_labels.NODEPOOL: f"pool-{index % 9}",
            karpenter_labels.INSTANCE_TYPE: "m7i.4xlarge",
            karpenter_labels.CAPACITY_TYPE: "spot",
            karpenter_labels.ZONE: "eu-west-1a",
        }
        provider = f"aws:///eu-west-1a/i-{index}"
        nodes[name] = Node(
            name=name, labels=labels, provider_id=provider, allocatable=ALLOCATABLE, conditions=DONE, created_ns=NOW_NS
        )
        claims[f"c-{index}"] = NodeClaim(
            name=f"c-{index}", provider_id=provider, labels=labels, conditions=DONE, created_ns=NOW_NS
        )
    templates = [
        PodTemplate(
            namespace=f"ns-{index % 40}",
            requests=REQUESTS,
            owners=(OwnerReference("apps/v1", ("ReplicaSet", "DaemonSet")[index < 10], f"w-{index}", controller=True),),
        )
        for index in range(200)
    ]
    names = list(nodes)
    pods: dict[str, object] = {}
    for index in range(pod_count):
        template = templates[index % 200]
        pod = Pod(
            name=f"w-{index % 200}-{index:06d}",
            template=template,
            node_name=names[index % node_count],
            phase="Running",
            created_ns=NOW_NS,
        )
        pods[pod.key] = pod
    return {Kind.NODE: nodes, Kind.NODECLAIM: claims, Kind.POD: pods}


@dataclass
class Static:
    """A source that reports everything once; later changes are put into the mailbox by the benchmark."""

    objects: dict[Kind, dict[str, object]]
    title: str = "bench"
    mailbox: Mailbox | None = None

    def start(self, mailbox: Mailbox) -> None:
        """Fill the mailbox."""
        self.mailbox = mailbox
        for kind, items in self.objects.items():
            mailbox.replace(kind, items)
            mailbox.report(SourceStatus(kind=kind, phase=Phase.LIVE, since_ns=NOW_NS, count=len(items)))

    def stop(self) -> None:
        """Do nothing."""

    def refresh(self) -> None:
        """Do nothing, because no connection waits for a retry."""

    def fetch_object(self, kind: str, key: str) -> dict[str, Any]:
        """Return a minimal object."""
        return {"kind": kind, "metadata": {"name": key}}

    def crds(self) -> tuple[dict[str, Any], ...]:
        """Return nothing."""
        return ()


async def main(node_count: int, pod_count: int) -> None:
    import karptui.app
    from karptui.session.throttle import MergeThrottle, keep_pauses_short

    keep_pauses_short()

    karptui.app.POLL_SECONDS = 3600.0  # type: ignore[misc]
    clock = FrozenClock(NOW_NS)
    source = Static(objects(node_count, pod_count))
    app = KarptuiApp(source, clock=clock)
    app.animation_level = "none"
    async with app.run_test(size=(200, 60)) as pilot:
        await pilot.pause()
        await app.workers.wait_for_complete()
        assert source.mailbox is not None

        late: list[float] = []

        async def watch() -> None:
            while True:
                began = time.perf_counter()
                await asyncio.sleep(0.002)
                late.append(time.perf_counter() - began - 0.002)

        asyncio.get_running_loop().create_task(watch())

        async def timed(name: str, act: Callable[[int], None], times: int) -> None:
            worst, cpu = [], []
            for index in range(times):
                late.clear()
                began = time.process_time()
                act(index)
                app.feed._pace = MergeThrottle()  # noqa: SLF001 - merge the next change without a pause
                app.feed.tick()
                await asyncio.sleep(0.01)
                await app.workers.wait_for_complete()
                await asyncio.sleep(0.05)
                cpu.append(time.process_time() - began)
                worst.append(max(late))
            note(name, statistics.median(cpu))
            print(
                f"{name:<34} loop late ms median {statistics.median(worst) * 1000:7.1f} worst {max(worst) * 1000:7.1f}"
                f"   cpu ms median {statistics.median(cpu) * 1000:7.1f}   n={times}"
            )

        def change(index: int) -> None:
            key, pod = pods[index * 37 % len(pods)]
            assert isinstance(pod, Pod)
            assert source.mailbox is not None
            source.mailbox.put(Kind.POD, {key: msgspec.structs.replace(pod, waiting_reason=f"r{index}")})

        def second(_: int) -> None:
            clock.instant_ns += SECOND

        pods = list(source.objects[Kind.POD].items())
        print(f"{node_count:,} nodes, {pod_count:,} pods, 200×60")
        await timed("everything arrives, Nodes screen", lambda _: None, 1)
        await timed("one pod changes, Nodes screen", change, 20)
        await timed("a second passes, Nodes screen", second, 20)
        await timed("Pods screen opens", lambda _: app.open_screen("pods"), 1)
        await timed("one pod changes, Pods screen", change, 10)
        await timed("a second passes, Pods screen", second, 10)
        print_reference()


if __name__ == "__main__":
    counts = [int(text.replace(",", "")) for text in sys.argv[1:3]]
    asyncio.run(main(*(counts + [5_000, 100_000][len(counts) :])))
