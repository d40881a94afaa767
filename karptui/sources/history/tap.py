"""Takes a cluster's objects for its history. Cheap to import: a thread imports the recorder after the first rows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from karptui import crash
from karptui.aws.evidence import Evidence
from karptui.clock import Clock
from karptui.decode.kinds import Kind
from karptui.kube.live_usage import LiveUsage
from karptui.sources.source import SourceStatus

if TYPE_CHECKING:
    from karptui.sources.history.recorder import Limits, Recorder


class HistoryTap:
    """Buffers changes until the recorder exists, then passes them on; implements ``sources.source.Tap``."""

    def __init__(self, path: Path, cluster: str, clock: Clock, limits: Callable[[], Limits]) -> None:
        """Set up without touching a file.

        Args:
            limits: Returns the limits of the history; called in the recorder's thread.
        """
        self.path = path
        """The history's file."""
        self._cluster = cluster
        self._clock = clock
        self._limits = limits
        self._lock = threading.Lock()
        self._early: list[Callable[[Recorder], None]] | None = []
        """Changes that came before the recorder existed; None once nothing is buffered any more."""
        self._recorder: Recorder | None = None
        self._trouble = ""
        self._thread: threading.Thread | None = None
        self._stopped = False

    @property
    def trouble(self) -> str:
        """Why nothing is recorded; empty otherwise."""
        return self._recorder.trouble if self._recorder is not None else self._trouble

    @property
    def is_recording(self) -> bool:
        """Whether the history is being written."""
        return self._recorder is not None and not self._recorder.trouble

    def put(self, kind: Kind, api_version: str, api_kind: str, texts: Mapping[str, bytes | None]) -> None:
        """Take changed objects as the API server sent them, and None for deleted ones."""
        self._pass(lambda recorder: recorder.put(kind, api_version, api_kind, texts))

    def put_manifests(self, kind: Kind, manifests: Mapping[str, Mapping[str, Any] | None]) -> None:
        """Take changed objects that are decoded already."""
        self._pass(lambda recorder: recorder.put_manifests(kind, manifests))

    def report(self, status: SourceStatus) -> None:
        """Take the state of a kind."""
        self._pass(lambda recorder: recorder.report(status))

    def with_recorder(self, use: Callable[[Recorder], None]) -> None:
        """Call a function with the recorder, as soon as that exists."""
        self._pass(use)

    def start(self, evidence: Callable[[], tuple[Evidence, LiveUsage]]) -> None:
        """Begin to record, in a thread; does nothing the second time.

        Args:
            evidence: Returns the current settings, prices, offerings and usage.
        """
        if self._thread is None:
            self._thread = threading.Thread(
                target=partial(self._start, evidence), name="karptui history start", daemon=True
            )
            self._thread.start()

    def stop(self) -> None:
        """Write the remaining changes, and end."""
        with self._lock:
            self._stopped, self._early = True, None
        if self._recorder is not None:
            self._recorder.stop()

    def _start(self, evidence: Callable[[], tuple[Evidence, LiveUsage]]) -> None:
        try:
            from karptui.sources.history.recorder import Recorder  # noqa: PLC0415  slower than the first rows

            recorder = Recorder(self.path, self._cluster, self._clock, limits=self._limits(), evidence=evidence)
            is_open = recorder.open()
        except Exception as error:  # noqa: BLE001  what is followed must go on
            during = "opening the history"
            self._trouble, is_open = crash.message(error, during, crash.record(error, during)), False
        else:
            self._trouble = recorder.trouble
        while is_open:
            with self._lock:
                early, self._early = self._early or [], []
                if self._stopped or not early:
                    # From now on the recorder is asked directly.
                    self._recorder = recorder
                    self._early = None
                    break
            for use in early:
                use(recorder)
        if not is_open or self._stopped:
            self._early = None
        if is_open:
            recorder.start()
            if self._stopped:
                recorder.stop()

    def _pass(self, use: Callable[[Recorder], None]) -> None:
        recorder = self._recorder
        if recorder is None:
            with self._lock:
                recorder = self._recorder
                if recorder is None:
                    if self._early is not None:
                        self._early.append(use)
                    return
        use(recorder)
