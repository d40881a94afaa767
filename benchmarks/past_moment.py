"""Time to read a first past moment, and a second one: ``python benchmarks/past_moment.py [NODES] [PODS]``.

The history has one session with copies of the demo's nodes (5,000) and 100,000 pods in the format of an API server;
2,000 of the pods change. A moment is read as in the app: objects are decoded and reduced to a state. Seconds are
processor time.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pods
from many_demos import ManyDemos
from reference import note, print_reference

from karptui.clock import FrozenClock
from karptui.decode.kinds import Kind
from karptui.decode.reader import key_of
from karptui.session.throttle import BY_ITSELF, YOUNG_OBJECTS, YOUNG_ROUNDS
from karptui.sources.history.recorder import Recorder
from karptui.sources.history.source import PastSource, read_past
from karptui.sources.history.store import History
from karptui.sources.history.tap import Limits
from karptui.sources.source import Mailbox, Phase, SourceStatus
from karptui.state.cluster import EMPTY
from karptui.state.reducer import reduce

BEGIN_NS = 1_763_640_000 * 10**9
CHANGED_PODS = 2_000


class Manifests(ManyDemos):
    """The objects of the large cluster by kind and key, without pods."""

    def __init__(self, nodes: int) -> None:
        self.manifests: dict[Kind, dict[str, Any]] = {}
        super().__init__(nodes, 0, now_ns=BEGIN_NS)

    def _add(self, manifest: dict[str, Any]) -> None:
        super()._add(manifest)
        if manifest["kind"] != "Pod":
            kind, _ = self._readers[manifest["kind"]]
            self.manifests.setdefault(kind, {})[key_of(manifest)] = manifest


def write(path: Path, nodes: int, count: int) -> None:
    recorder = Recorder(path, "bench", FrozenClock(BEGIN_NS), limits=Limits())
    recorder.open()
    for kind, manifests in Manifests(nodes).manifests.items():
        recorder.put_manifests(kind, manifests, BEGIN_NS)
        recorder.report(SourceStatus(kind=kind, phase=Phase.LIVE, since_ns=0))
    changed: list[tuple[str, dict[str, Any]]] = []
    for page in pods.pages(count):
        items = json.loads(page)["items"]
        keys = [key_of(item) for item in items]
        recorder.put_page(Kind.POD, {"apiVersion": "v1", "kind": "Pod"}, page, keys, BEGIN_NS)
        if len(changed) < CHANGED_PODS:
            changed += zip(keys, items, strict=True)
    recorder.report(SourceStatus(kind=Kind.POD, phase=Phase.LIVE, since_ns=0))
    recorder.step()
    for number, (key, pod) in enumerate(changed):
        head = {"apiVersion": "v1", "kind": "Pod"}
        pod["metadata"]["labels"]["changed"] = "true"
        recorder.put_manifests(Kind.POD, {key: {**head, **pod}}, BEGIN_NS + (number + 1) * 10**9)
    recorder.step()
    recorder.close()


def measure(path: Path) -> None:
    gc.set_threshold(YOUNG_OBJECTS, YOUNG_ROUNDS, BY_ITSELF)  # as in the app
    before = None
    for name, at_ns in (("first moment", BEGIN_NS + 10 * 10**9), ("next moment", BEGIN_NS + 20 * 10**9)):
        began = time.process_time()
        history = History(path)
        before = read_past(history, at_ns, before)
        history.close()
        mailbox = Mailbox()
        PastSource("bench", before).start(mailbox)
        state = reduce(EMPTY, mailbox.drain().batch)
        note(name, time.process_time() - began)
        print(f"{name}: {len(state.nodes):,} nodes, {len(state.pods):,} pods: {time.process_time() - began:.2f} s")
    print_reference()


def main() -> None:
    if sys.argv[1:2] == ["--measure"]:
        measure(Path(sys.argv[2]))
        return
    nodes, count = map(int, sys.argv[1:3] or ("5000", "100000"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "bench.karptui")
        write(path, nodes, count)
        print(f"{path.stat().st_size / 1e6:,.0f} MB")
        subprocess.run([sys.executable, __file__, "--measure", str(path)], check=True)


if __name__ == "__main__":
    main()
