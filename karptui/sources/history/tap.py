"""Takes a cluster's objects for its history, which another process writes. Cheap to import."""

from __future__ import annotations

import contextlib
import pickle
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import msgspec

from karptui import crash
from karptui.aws.evidence import Evidence
from karptui.clock import Clock
from karptui.decode.kinds import Kind
from karptui.kube.usage import LiveUsage
from karptui.paths import own_command
from karptui.sources.source import SourceStatus

if TYPE_CHECKING:
    from karptui.kube.usage import Measured
    from karptui.sources.history.store import Mark, Sample

RECORDER: Final = "history-recorder"
"""The command of the process that writes, `karptui.sources.history.process`."""
FACTS_SECONDS: Final = 10.0
_STEP_SECONDS: Final = 1.0
_LARGE_BYTES: Final = 32 << 20
"""If more than this waits for the process, further pages and lines wait compressed."""


class Limits(msgspec.Struct, frozen=True):
    """Limits of a history."""

    days: float = 7.0
    bytes: int = 1 << 30


class HistoryTap:
    """Sends changes to the process that writes the history; implements ``sources.source.Tap``.

    A message is the name of a method of the `Recorder`, and its arguments; the first has what opens it.
    """

    def __init__(self, path: Path, cluster: str, clock: Clock, limits: Limits) -> None:
        """Set up without touching a file."""
        self.path = path
        """The history's file."""
        self.trouble = ""
        """Why nothing is recorded; empty otherwise."""
        self.is_recording = False
        """Whether the history is being written."""
        self._cluster = cluster
        self._clock = clock
        self._limits = limits
        self._queue: deque[object] = deque()
        """Messages; a compressed message is bytes."""
        self._waiting_bytes = 0
        """Approximate size of what came since the queue was empty."""
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()
        self._evidence: tuple[Evidence, LiveUsage] | None = None
        """The last message sent."""

    def put(self, kind: Kind, head: Mapping[str, str], lines: Mapping[str, bytes | None]) -> None:
        """Take changed objects as lines of a watch, and None for deleted ones."""
        size = sum(len(line) for line in lines.values() if line is not None)
        self._send("put", kind, head, lines, self._clock.now_ns(), size=size)

    def put_page(self, kind: Kind, head: Mapping[str, str], page: bytes, keys: Collection[str]) -> None:
        """Take the objects with some keys from a page of a list."""
        self._send("put_page", kind, head, page, frozenset(keys), self._clock.now_ns(), size=len(page))

    def put_manifests(self, kind: Kind, manifests: Mapping[str, Mapping[str, Any] | None]) -> None:
        """Take changed objects that are decoded already."""
        self._send("put_manifests", kind, manifests, self._clock.now_ns())

    def report(self, status: SourceStatus) -> None:
        """Take the state of a kind."""
        self._send("report", status)

    def mark(self, *marks: Mark) -> None:
        """Take instants worth going to."""
        self._send("mark", *marks)

    def sample(self, samples: Iterable[Sample]) -> None:
        """Take figures of NodePools."""
        self._send("sample", tuple(samples))

    def measure(self, at_ns: int, measured: Iterable[Measured]) -> None:
        """Take a reading of the usage of containers."""
        # To pickle 100,000 of them would hold Python's lock for too long.
        self._send("measure", at_ns, msgspec.msgpack.encode(list(measured)))

    def _send(self, name: str, *args: object, size: int = 0) -> None:
        """Send a message soon. May be called from any thread."""
        if self.trouble or self._stopped.is_set():
            return
        message: object = (name, args)
        if size and self._waiting_bytes > _LARGE_BYTES:
            message = _compressed(message)
        self._waiting_bytes += size
        self._queue.append(message)

    def start(self, evidence: Callable[[], tuple[Evidence, LiveUsage]]) -> None:
        """Begin to record; does nothing the second time.

        Args:
            evidence: Returns the current settings, prices, offerings and usage.
        """
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, args=(evidence,), name="karptui history", daemon=True)
            self._thread.start()

    def stop(self, seconds: float = 2.0) -> None:
        """Send the remaining changes, and end: the process writes them before it ends."""
        self._stopped.set()
        if self._thread is None:
            self._queue.clear()
        elif self._thread is not threading.current_thread():
            self._thread.join(seconds)

    # In the thread

    def _run(self, evidence: Callable[[], tuple[Evidence, LiveUsage]]) -> None:
        during = "sending changes to the process that records the history"
        try:
            self._record(evidence)
        except Exception as error:  # noqa: BLE001  the cluster must still be followed
            self.trouble = crash.message(error, during, crash.record(error, during))
        self.is_recording = False
        self._queue.clear()

    def _record(self, evidence: Callable[[], tuple[Evidence, LiveUsage]]) -> None:
        import subprocess  # noqa: PLC0415  after the first rows

        try:
            process = subprocess.Popen(  # noqa: S603  karptui itself
                own_command(RECORDER),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                process_group=0,  # ctrl-c is for this process; the other ends after it
            )
        except OSError as error:
            self.trouble = f"the process that records the history cannot be started: {error.strerror or error}"
            return
        opened = threading.Event()
        assert process.stdin is not None
        listener = threading.Thread(
            target=self._listen, args=(process.stdout, opened), name="karptui history answers", daemon=True
        )
        listener.start()
        with contextlib.suppress(BrokenPipeError):  # the listener reports its end
            self._feed(process.stdin, opened, evidence)
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        process.wait()
        listener.join()

    def _feed(
        self, stream: IO[bytes], opened: threading.Event, evidence: Callable[[], tuple[Evidence, LiveUsage]]
    ) -> None:
        _write(stream, ("open", (self.path, self._cluster, self._limits)))
        stream.flush()
        opened.wait()
        is_last, facts_at = False, float("-inf")
        while not (self.trouble or (is_last and not self._queue)):
            now = self._clock.now_ns() / 1e9
            if not 0 <= now - facts_at < FACTS_SECONDS:
                facts_at = now
                self._send_facts(stream, evidence())
            while self._queue and not self.trouble:
                _write(stream, self._queue.popleft())
            self._waiting_bytes = 0
            _write(stream, ("step", ()))
            stream.flush()
            is_last = self._stopped.wait(_STEP_SECONDS)

    def _send_facts(self, stream: IO[bytes], evidence: tuple[Evidence, LiveUsage]) -> None:
        from karptui.sources.snapshot.recording import flat, recording_fields  # noqa: PLC0415  after the first rows

        before, self._evidence = self._evidence, evidence
        if before is None or any(new is not old for new, old in zip(evidence, before, strict=True)):
            fields = {name: msgspec.json.encode(value) for name, value in flat(recording_fields(*evidence)).items()}
            _write(stream, ("take_facts", (fields,)))

    def _listen(self, answers: IO[bytes], opened: threading.Event) -> None:
        """Take the process's lines: an empty one once the history is open, and why nothing is recorded (any more)."""
        with answers:
            for line in answers:
                self.trouble = line.decode(errors="replace").strip()
                self.is_recording = not self.trouble
                opened.set()
        if not (self.trouble or self._stopped.is_set()):
            self.trouble = "the process that records the history has ended"
        opened.set()


def _compressed(message: object) -> bytes:
    import zstandard  # noqa: PLC0415  only for histories

    return zstandard.ZstdCompressor(level=1).compress(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))


def _write(stream: IO[bytes], message: object) -> None:
    stream.write(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))
