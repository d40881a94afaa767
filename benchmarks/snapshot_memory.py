"""Time and peak memory of opening a large snapshot: ``python benchmarks/snapshot_memory.py [NODES] [PODS]``.

The snapshot is a recording of many copies of the demo (6,600 nodes, 97,000 pods), opened as in the app: the manifests
are kept, and the decoded objects are reduced to a state. Seconds are processor time.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from many_demos import ManyDemos
from reference import print_reference

from karptui.sources.snapshot.reader import SnapshotReader
from karptui.sources.snapshot.scrub import scrub
from karptui.sources.snapshot.source import SnapshotSource
from karptui.sources.source import Mailbox
from karptui.state.cluster import EMPTY
from karptui.state.reducer import reduce


class Recorder(ManyDemos):
    """Writes every object of the large cluster to a file."""

    def __init__(self, nodes: int, pods: int, path: Path) -> None:
        with path.open("w", encoding="utf-8") as self._file:
            self._file.write('{"karptui":1,"capturedAt":"2026-11-20T12:00:00Z","objects":[')
            self._separator = ""
            super().__init__(nodes, pods)
            self._file.write("]}")

    def _add(self, manifest: dict[str, Any]) -> None:
        super()._add(manifest)
        self._file.write(self._separator + json.dumps(scrub(manifest)))
        self._separator = ","


def measure(path: str) -> None:
    began, mailbox = time.process_time(), Mailbox()
    source = SnapshotSource(SnapshotReader().read([path], keeps_manifests=True))
    source.start(mailbox)
    state = reduce(EMPTY, mailbox.drain().batch)
    seconds, peak = time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{len(state.nodes):,} nodes, {len(state.pods):,} pods: {seconds:.2f} s, peak {peak:,} MB")
    print_reference(opening=seconds)


def main() -> None:
    if sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2])
        return
    nodes, pods = map(int, sys.argv[1:3] or ("6600", "97000"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "large.json")
        Recorder(nodes, pods, path)
        print(f"{path.stat().st_size / 1e6:,.0f} MB of JSON")
        subprocess.run([sys.executable, __file__, "--measure", str(path)], check=True)


if __name__ == "__main__":
    main()
