"""Records a cluster while it is followed: takes changes, and writes them at each step."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from karptui import crash
from karptui.clock import Clock
from karptui.decode.kinds import Kind
from karptui.decode.stream import line_object, page_objects
from karptui.kube.timestamps import DAY_NS, HOUR_NS
from karptui.kube.usage import Measured, UsagePeriod, add_reading
from karptui.sources.history.store import Change, HistoryError, Mark, Sample
from karptui.sources.history.tap import FACTS_SECONDS, Limits
from karptui.sources.history.writer import HistoryWriter
from karptui.sources.snapshot.scrub import scrub
from karptui.sources.source import COMPLETE, Phase, SourceStatus

PACK_SECONDS: Final = 600.0
KEY_SECONDS: Final = 3 * 3600.0
KEY_CHANGES: Final = 150_000
"""Number of changes after which new key frames are written, so that every instant opens quickly."""
WAIT_SECONDS: Final = 60.0
"""Kinds that are not complete after this time do not hold up the first key frames."""
USAGE_SECONDS: Final = 600.0
"""Interval of writing the usage of containers."""
USAGE_NS: Final = HOUR_NS
"""Length of a period of usage."""
USAGE_BYTES_PER_SECOND: Final = 200.0
"""Most that the measurements of all pods may take, in the long run: the more pods, the rarer they are written."""
LEASE_SECONDS: Final = 60.0
"""Karpenter renews its lease every two seconds; that it did is recorded this often."""
PIECE: Final = 5_000
MOST_FAILURES: Final = 10
"""Number of consecutive failures to write that end the recording."""
_USAGE: Final = "usage"
_DELETED: Final = msgspec.Raw(b"null")
_MEASURED: Final = msgspec.msgpack.Decoder(list[Measured])
_FIELDS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_CHANGED_BY_PEOPLE: Final = frozenset(
    {
        Kind.NODEPOOL,
        Kind.NODECLASS,
        Kind.NODEOVERLAY,
        Kind.DAEMONSET,
        Kind.DEPLOYMENT,
        Kind.STATEFULSET,
        Kind.PDB,
        Kind.PRIORITY_CLASS,
    }
)
"""Kinds whose field manager is recorded."""


class _ManagedFields(msgspec.Struct):
    manager: str = ""
    time: str = ""
    subresource: str = ""


_MANAGED_FIELDS: Final = msgspec.json.Decoder(list[_ManagedFields])


class Recorder:
    """Takes changes and writes them, in one thread.

    ``trouble`` is the reason if nothing is recorded (any more), else empty.
    """

    def __init__(
        self,
        path: Path,
        cluster: str,
        clock: Clock,
        *,
        limits: Limits = Limits(),  # noqa: B008 - immutable
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Set up without touching a file."""
        self.path = path
        self.trouble = ""
        self._cluster = cluster
        self._clock = clock
        self._limits = limits
        self._monotonic = monotonic
        self._pending: dict[tuple[Kind, str], Change] = {}
        self._marks: list[Mark] = []
        self._samples: list[Sample] = []
        self._usage: UsagePeriod | None = None
        self._usage_at = self._measured_at = float("-inf")
        """When usage was written last, and when the measurements of all pods may be written again."""
        self._phases: dict[Kind, Phase] = {}
        self._left_out: set[Kind] = set()
        self._written: dict[tuple[Kind, str], int] = {}
        """Hash of the last recorded version of nodes, which are reported again without a change."""
        self._lease_at = float("-inf")
        self._fields: Mapping[str, bytes] = {}
        """The fields of a recording that are no objects, as JSON."""
        self._facts: dict[str, int] = {}
        """Hash of each recorded field."""
        self._writer: HistoryWriter | None = None
        self._is_open = False
        """Whether the session's first key frames are written."""
        self._began = self._packed_at = self._facts_at = self._key_at = monotonic()
        self._changes_since_key = 0
        self._failures = 0

    # From the source

    def put(self, kind: Kind, head: Mapping[str, str], lines: Mapping[str, bytes | None], at_ns: int = 0) -> None:
        """Take changed objects as lines of a watch, and None for deleted ones.

        Args:
            head: ``apiVersion`` and ``kind``, which the items of a list lack.
            at_ns: When that was; 0 is now.
        """
        texts = ((key, line_object(line) if line is not None else None) for key, line in lines.items())
        self._add(kind, ((key, {**_FIELDS.decode(text), **head} if text else None) for key, text in texts), at_ns)

    def put_page(self, kind: Kind, head: Mapping[str, str], page: bytes, keys: Collection[str], at_ns: int = 0) -> None:
        """Take the objects with some keys from a page of a list."""
        objects = page_objects(page, kind, head["kind"])
        self._add(kind, ((key, {**_FIELDS.decode(text), **head}) for key, text in objects if key in keys), at_ns)

    def put_manifests(self, kind: Kind, manifests: Mapping[str, Mapping[str, Any] | None], at_ns: int = 0) -> None:
        """Take changed objects that are decoded already."""
        self._add(kind, manifests.items(), at_ns)

    def report(self, status: SourceStatus) -> None:
        """Take the state of a kind."""
        self._phases[status.kind] = status.phase
        (self._left_out.add if status.is_unread else self._left_out.discard)(status.kind)

    def take_facts(self, fields: Mapping[str, bytes]) -> None:
        """Take the fields of a recording that are no objects, as JSON."""
        self._fields = fields
        self._facts_at = float("-inf")

    def mark(self, *marks: Mark) -> None:
        """Add instants worth going to."""
        self._marks += marks

    def sample(self, samples: Iterable[Sample]) -> None:
        """Add figures of NodePools."""
        self._samples += samples

    def measure(self, at_ns: int, measured: bytes) -> None:
        """Add a reading of the usage of containers: a list of ``Measured`` in msgpack."""
        if self._usage is None:
            self._usage = UsagePeriod(at_ns, at_ns)
        add_reading(self._usage, at_ns, _MEASURED.decode(measured))

    def _add(self, kind: Kind, objects: Iterable[tuple[str, Mapping[str, Any] | None]], at_ns: int) -> None:
        at_ns = self._after_written(at_ns or self._clock.now_ns())
        for key, manifest in objects:
            change = _change(at_ns, kind, key, manifest)
            if self._is_news(kind, key, change):
                self._pending[kind, key] = change

    def _is_news(self, kind: Kind, key: str, change: Change) -> bool:
        """Whether an object must be recorded: a node without its heartbeat may be the same as before."""
        if kind is Kind.LEASE and not change.is_deletion:
            now = self._monotonic()
            if now - self._lease_at < LEASE_SECONDS:
                return False
            self._lease_at = now
        if kind is not Kind.NODE:
            return True
        new = hash(bytes(change.manifest))
        if self._written.get((kind, key)) == new:
            return False
        self._written[kind, key] = new
        return True

    def _now_ns(self) -> int:
        return self._after_written(self._clock.now_ns())

    def _after_written(self, at_ns: int) -> int:
        """Return an instant later than all written changes: clocks may jump."""
        newest_ns = self._writer.newest_ns if self._writer is not None else 0
        return max(at_ns, newest_ns + 1)

    # Writing

    @property
    def is_full(self) -> bool:
        """Whether taken changes must be written before more are taken."""
        return len(self._pending) >= PIECE

    def open(self) -> bool:
        """Open the file; return whether it can be written."""
        if self._writer is None and not self.trouble:
            try:
                self._writer = HistoryWriter(self.path, self._cluster)
            except HistoryError as error:
                self.trouble = str(error)
        return not self.trouble

    def close(self) -> None:
        """Close the file; all changes are written before."""
        if self._writer is None:
            return
        if self._is_open and not self.trouble:
            with contextlib.suppress(HistoryError):
                self._write_usage(self._writer)
                self._writer.note_instant(self._now_ns())
        self._writer.close()

    def step(self) -> None:
        """Write the changes since the last step."""
        assert self._writer is not None, "open comes first"
        try:
            self._write(self._writer)
        except HistoryError as error:
            self._failures += 1
            if self._failures >= MOST_FAILURES:
                self.trouble = str(error)
        except Exception as error:  # noqa: BLE001  the cluster must still be followed
            during = "recording the history"
            self.trouble = crash.message(error, during, crash.record(error, during))
        else:
            self._failures = 0

    def _write(self, writer: HistoryWriter) -> None:
        now = self._monotonic()
        if not self._is_open:
            self._write_opening(writer, now)
            return
        with self._taken() as changes:
            writer.write(changes)
        self._changes_since_key += len(changes)
        self._write_extras(writer)
        if now - self._facts_at >= FACTS_SECONDS:
            self._facts_at = now
            self._write_facts(writer)
            writer.note_instant(self._now_ns())
        if now - self._usage_at >= USAGE_SECONDS:
            self._usage_at = now
            self._write_usage(writer)
        if now - self._packed_at >= PACK_SECONDS:
            self._packed_at = now
            writer.pack()
            if now - self._key_at >= KEY_SECONDS or self._changes_since_key >= KEY_CHANGES:
                self._write_key(writer, now)
            oldest_ns = writer.newest_ns - int(self._limits.days * DAY_NS)
            writer.prune(most_bytes=self._limits.bytes, oldest_ns=oldest_ns)

    def _write_opening(self, writer: HistoryWriter, now: float) -> None:
        """Write the first list of everything, in pieces; once it is complete, the session begins."""
        is_complete = now - self._began >= WAIT_SECONDS or (
            bool(self._phases) and all(phase in COMPLETE or phase is Phase.FORBIDDEN for phase in self._phases.values())
        )
        if len(self._pending) < PIECE and not is_complete:
            return
        with self._taken() as changes:
            _write_pieces(writer, changes)
            if is_complete:
                self._write_facts(writer)
                if writer.newest_ns:
                    writer.write_marks([Mark(at_ns=self._now_ns(), cause="gap")])
                writer.finish_key(self._now_ns())
                self._is_open, self._key_at = True, now

    def _write_extras(self, writer: HistoryWriter) -> None:
        marks, self._marks = self._marks, []
        samples, self._samples = self._samples, []
        if marks:
            writer.write_marks(marks)
        if samples:
            writer.write_samples(samples)

    def _write_facts(self, writer: HistoryWriter) -> None:
        at_ns, now = self._now_ns(), self._monotonic()
        unread = msgspec.json.encode(sorted(str(kind) for kind in self._left_out))
        for name, data in {"unread": unread, **self._fields}.items():
            new = hash(data)
            if self._facts.get(name) == new or (name == _USAGE and now < self._measured_at):
                continue
            size_bytes = writer.write_fact(at_ns, name, msgspec.Raw(data))
            self._facts[name] = new
            if name == _USAGE:
                self._measured_at = now + size_bytes / USAGE_BYTES_PER_SECOND

    def _write_usage(self, writer: HistoryWriter) -> None:
        """Write the usage of containers in the current period; after an hour a new period begins."""
        if (period := self._usage) is not None:
            writer.write_usage(period)
            if period.to_ns - period.from_ns >= USAGE_NS:
                self._usage = UsagePeriod(period.to_ns, period.to_ns)

    def _write_key(self, writer: HistoryWriter, now: float) -> None:
        at_ns = writer.newest_ns
        _write_pieces(writer, list(writer.objects_at(at_ns).values()))
        writer.finish_key(at_ns)
        self._key_at, self._changes_since_key = now, 0

    @contextlib.contextmanager
    def _taken(self) -> Iterator[list[Change]]:
        """Take the changes; they are put back, below newer ones, if they cannot be written."""
        taken, self._pending = self._pending, {}
        try:
            yield list(taken.values())
        except HistoryError:
            self._pending = {**taken, **self._pending}
            raise


def _write_pieces(writer: HistoryWriter, objects: Sequence[Change]) -> None:
    for start in range(0, max(len(objects), 1), PIECE):
        writer.write_key(objects[start : start + PIECE])


def _change(at_ns: int, kind: Kind, key: str, manifest: Mapping[str, Any] | None) -> Change:
    scrubbed = scrub(manifest) if manifest is not None else None
    if scrubbed is None:
        return Change(at_ns, str(kind), key, "", _DELETED)
    manager = _manager(manifest) if kind in _CHANGED_BY_PEOPLE else ""
    return Change(at_ns, str(kind), key, manager, msgspec.Raw(msgspec.json.encode(scrubbed)))


def _manager(manifest: Mapping[str, Any] | None) -> str:
    """Return the field manager of the last change, except to the status."""
    metadata: Any = (manifest or {}).get("metadata")
    try:
        fields = _FIELDS.decode(metadata) if isinstance(metadata, msgspec.Raw) else metadata or {}
        managed = fields.get("managedFields") or []
        entries = (
            _MANAGED_FIELDS.decode(managed)
            if isinstance(managed, msgspec.Raw)
            else msgspec.convert(managed, list[_ManagedFields])
        )
    except msgspec.MsgspecError:
        return ""
    changes = [entry for entry in entries if not entry.subresource]
    return max(changes, key=lambda entry: entry.time).manager if changes else ""
