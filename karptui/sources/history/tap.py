"""Takes a cluster's objects for its history. Cheap to import: a thread imports the recorder after the first rows."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from karptui import crash
from karptui.aws.evidence import Evidence
from karptui.clock import Clock
from karptui.decode.kinds import Kind
from karptui.kube.live_usage import LiveUsage
from karptui.sources.source import SourceStatus

if TYPE_CHECKING:
    from karptui.sources.history.recorder import Limits, Recorder

_STEP_SECONDS: Final = 1.0
_LARGE_BYTES: Final = 1 << 18
"""Objects of one call that take more than this, such as a page of a list, wait compressed."""


class HistoryTap:
    """Queues changes for the recorder, whose thread takes them; implements ``sources.source.Tap``."""

    def __init__(self, path: Path, cluster: str, clock: Clock, limits: Callable[[], Limits]) -> None:
        """Set up without touching a file.

        Args:
            limits: Returns the limits of the history; called in the recorder's thread.
        """
        self.path = path
        """The history's file."""
        self.trouble = ""
        """Why nothing is recorded; empty otherwise."""
        self.is_recording = False
        """Whether the history is being written."""
        self._cluster = cluster
        self._clock = clock
        self._limits = limits
        self._queue: deque[Callable[[Recorder], None]] = deque()
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()

    def put(self, kind: Kind, api_version: str, api_kind: str, texts: Mapping[str, bytes | None]) -> None:
        """Take changed objects as the API server sent them, and None for deleted ones."""
        at_ns, waiting = self._clock.now_ns(), _waiting(texts)
        self.with_recorder(lambda recorder: recorder.put(kind, api_version, api_kind, waiting(), at_ns))

    def put_manifests(self, kind: Kind, manifests: Mapping[str, Mapping[str, Any] | None]) -> None:
        """Take changed objects that are decoded already."""
        at_ns = self._clock.now_ns()
        self.with_recorder(lambda recorder: recorder.put_manifests(kind, manifests, at_ns))

    def report(self, status: SourceStatus) -> None:
        """Take the state of a kind."""
        self.with_recorder(lambda recorder: recorder.report(status))

    def with_recorder(self, use: Callable[[Recorder], None]) -> None:
        """Call a function with the recorder later, in its thread."""
        if not self.trouble and not self._stopped.is_set():
            self._queue.append(use)

    def start(self, evidence: Callable[[], tuple[Evidence, LiveUsage]], pause: Callable[[], object] = bool) -> None:
        """Begin to record, in a thread; does nothing the second time.

        Args:
            evidence: Returns the current settings, prices, offerings and usage.
            pause: Called often, so that the recorder does not delay others.
        """
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._run, args=(evidence, pause), name="karptui history", daemon=True
            )
            self._thread.start()

    def stop(self, seconds: float = 2.0) -> None:
        """Write the remaining changes, and end."""
        self._stopped.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(seconds)
        self._queue.clear()

    def _run(self, evidence: Callable[[], tuple[Evidence, LiveUsage]], pause: Callable[[], object]) -> None:
        during = "opening the history"
        try:
            from karptui.sources.history.recorder import Recorder  # noqa: PLC0415  slower than the first rows

            limits = self._limits()
            recorder = Recorder(self.path, self._cluster, self._clock, limits=limits, evidence=evidence, pause=pause)
            if recorder.open():
                during = "recording the history"
                self.is_recording = True
                self._record(recorder)
            self.trouble = recorder.trouble
        except Exception as error:  # noqa: BLE001  what is followed must go on
            self.trouble = crash.message(error, during, crash.record(error, during))
        self.is_recording = False
        self._queue.clear()

    def _record(self, recorder: Recorder) -> None:
        is_last = False
        while not (recorder.trouble or (is_last and not self._queue)):
            is_waiting = recorder.is_full or not self._queue
            is_last = self._stopped.wait(_STEP_SECONDS if is_waiting else 0.0)
            while self._queue and not recorder.is_full:
                self._queue.popleft()(recorder)
            recorder.step()
        recorder.close()


def _waiting(texts: Mapping[str, bytes | None]) -> Callable[[], Mapping[str, bytes | None]]:
    """Return a function that returns texts, which take little memory until then.

    Compressing does not hold Python's lock.
    """
    if sum(len(text) for text in texts.values() if text is not None) < _LARGE_BYTES:
        return lambda: texts
    import zstandard  # noqa: PLC0415  only for histories

    packed = zstandard.ZstdCompressor(level=1).compress(msgspec.msgpack.encode(texts))
    return lambda: msgspec.msgpack.decode(zstandard.ZstdDecompressor().decompress(packed), type=dict[str, bytes | None])
