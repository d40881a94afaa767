"""The file of a cluster's history: SQLite, one writer (`karptui.sources.history.writer`), many readers.

Table ``frames`` holds the changes of objects, compressed, in the order in which they happened. *Key frames* hold all
objects of an instant, in pieces; the state at a later instant is the key frames before it and the changes since. A
*session* is the time that one process recorded without a pause: it begins with key frames.
Other tables: ``facts`` (prices, settings, usage: the fields of a recording that are no objects), ``marks`` (what is
worth going to: verdict lines, disruptions, failed launches, edits), ``samples`` (figures of each NodePool) and
``usage`` (that of containers, by workload, in periods of an hour).
All times are nanoseconds since the epoch.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Container, Iterable, Iterator, Sequence
from enum import IntEnum
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
import zstandard

from karptui.errors import RequestError
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import instant_text
from karptui.kube.usage import UsagePeriod

FORMAT: Final = 1
"""Version of the tables, as SQLite's ``user_version``; files of a newer one are refused."""
MAGIC: Final = b"SQLite format 3\x00"
APPLICATION_ID: Final = 0x6B617270
"""``karp``: tells a history from other SQLite files."""
PREDICTION: Final = "prediction"
"""Cause of the marks that tell whether a prediction came true."""
_LARGEST_FRAME_BYTES: Final = 256 << 20
"""Of one frame, unpacked."""
MOST_BYTES: Final = 2 << 30
"""Of all objects that are read for one moment."""
_BUSY_SECONDS: Final = 5.0
_NULL: Final = b"null"
_T = TypeVar("_T")


class FrameState(IntEnum):
    """Progress of a frame."""

    SMALL = 0
    """The changes of a moment."""
    PACKED = 1
    """The changes of up to ten minutes."""
    KEY = 2
    """Part of all objects at an instant."""
    INCOMPLETE_KEY = 3
    """The same before the last part is written; it does not count yet."""


class HistoryError(RequestError):
    """A history cannot be opened, read or written; the message is for the user."""


class Change(msgspec.Struct, array_like=True, frozen=True):
    """An object that was created, changed or deleted."""

    at_ns: int
    kind: str
    """The value of a ``Kind``."""
    key: str
    """``namespace/name`` or ``name``, as in the mailbox."""
    manager: str
    """Field manager of the newest change of the specification; empty if unknown."""
    manifest: msgspec.Raw
    """The object as in a recording; ``null`` for a deleted one."""

    @property
    def is_deletion(self) -> bool:
        """Whether the object was deleted."""
        # Only what may be null is copied: manifests are read by the hundred thousand.
        return memoryview(self.manifest).nbytes == len(_NULL) and bytes(self.manifest) == _NULL


class Mark(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An instant worth going to."""

    at_ns: int = 0
    cause: str = ""
    """A code: ``verdict``, ``verdict-over``, ``disruption``, ``launch-refused``, ``edit``, ``restart``, ``prediction``,
    ``gap``."""
    code: str = ""
    """A verdict's own code, or a prediction's outcome."""
    object_kind: str = ""
    name: str = ""
    objects: tuple[str, ...] = ()
    """``Kind/namespace/name`` of everything that a verdict is about."""
    pool: str = ""
    """NodePool of a disrupted node or a refused launch."""
    text: str = ""
    """Text of the verdict or Karpenter, or the reason of a disruption; empty if the objects have it."""
    cost_per_hour: float | None = None
    severity: str = ""


class Sample(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Figures of a NodePool at an instant; ``pool`` is empty for nodes that Karpenter does not manage."""

    at_ns: int = 0
    pool: str = ""
    nodes: int = 0
    pods: int = 0
    price_per_hour: float | None = None
    held_per_hour: float | None = None
    """None until it is known."""
    cpu_requested_millis: int = 0
    cpu_allocatable_millis: int = 0
    memory_requested_bytes: int = 0
    memory_allocatable_bytes: int = 0
    cpu_used_millis: int | None = None
    memory_used_bytes: int | None = None
    pending_pods: int = 0
    """In the sample without a NodePool's name only."""


class Session(NamedTuple):
    """A time that was recorded without a pause."""

    number: int
    from_ns: int
    to_ns: int


class _Frame(NamedTuple):
    id: int
    session: int
    from_ns: int
    to_ns: int
    data: bytes


_CHANGES: Final = msgspec.json.Decoder(list[Change])
_FACT: Final = msgspec.json.Decoder()
_MARK: Final = msgspec.json.Decoder(Mark)
_SAMPLE: Final = msgspec.json.Decoder(Sample)
_USAGE: Final = msgspec.json.Decoder(UsagePeriod)


def is_history(path: Path) -> bool:
    """Return whether a file is a history; False if it cannot be read."""
    try:
        with path.open("rb") as file:
            head = file.read(72)
    except OSError:
        return False
    return head.startswith(MAGIC) and head[68:72] == APPLICATION_ID.to_bytes(4, "big")


class History:
    """Reads a history, also while another process writes it. Belongs to one thread."""

    def __init__(self, path: Path) -> None:
        """Open a history.

        Raises:
            HistoryError: if it is no history, or cannot be read.
        """
        self.path = path
        if not is_history(path):
            raise HistoryError(f"{path}: is not a history that karptui has recorded")
        self._database = open_database(path, "ro")
        self._check_format()

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def hold(self) -> None:
        """Keep the file as it is now until it is closed: a writer adds to its log, and does not empty that into it."""
        self._database.execute("BEGIN")
        self._about("cluster")

    @property
    def cluster(self) -> str:
        """The cluster's name when it was recorded."""
        return self._about("cluster")

    def sessions(self) -> tuple[Session, ...]:
        """Return the recorded times, the first first."""
        rows = self._query(
            "SELECT session, min(from_ns), max(to_ns) FROM frames WHERE state != ? "
            "GROUP BY session ORDER BY min(from_ns)",
            (FrameState.INCOMPLETE_KEY,),
        )
        sessions = [Session(*row) for row in rows]
        if sessions and (until := self._about("until")).isdecimal():
            sessions[-1] = sessions[-1]._replace(to_ns=max(sessions[-1].to_ns, int(until)))
        return tuple(sessions)

    def end_ns(self) -> int:
        """Return the last recorded instant; 0 if there is none."""
        return max((session.to_ns for session in self.sessions()), default=0)

    def recorded_span(self, from_ns: int, to_ns: int) -> tuple[int, int]:
        """Return a time range, cut to the recorded range.

        Raises:
            HistoryError: if nothing of it is recorded.
        """
        sessions = self.sessions()
        if not sessions:
            raise HistoryError(f"{self.path}: the history is empty: nothing has been recorded yet")
        first_ns, last_ns = sessions[0].from_ns, self.end_ns()
        if max(from_ns, first_ns) >= min(to_ns, last_ns):
            known = f"the history is from {instant_text(first_ns)} to {instant_text(last_ns)}"
            raise HistoryError(f"{self.path}: nothing is recorded in that time: {known}")
        return max(from_ns, first_ns), min(to_ns, last_ns)

    def session_at(self, at_ns: int) -> Session | None:
        """Return the last session that began before an instant; None if the history begins later."""
        return next((session for session in reversed(self.sessions()) if session.from_ns <= at_ns), None)

    def objects_at(self, at_ns: int) -> dict[tuple[str, str], Change]:
        """Return all objects at an instant by kind and key; those of a pause are as the session before it ended."""
        state: dict[tuple[str, str], Change] = {}
        size_bytes = 0
        for change in self._changes_from_key(at_ns):
            size_bytes += memoryview(change.manifest).nbytes
            if size_bytes > MOST_BYTES:
                raise HistoryError(f"{self.path}: the history is damaged: a moment is larger than any cluster")
            if change.is_deletion:
                state.pop((change.kind, change.key), None)
            else:
                state[change.kind, change.key] = change
        return state

    def changes(self, from_ns: int, to_ns: int, kinds: Sequence[str] = ()) -> Iterator[Change]:
        """Yield the changes after an instant up to another one, without the objects that sessions begin with."""
        where = "state IN (?, ?) AND to_ns > ? AND from_ns <= ?"
        for frame in self._frames(where, FrameState.SMALL, FrameState.PACKED, from_ns, to_ns):
            for change in unpacked(frame.data):
                if from_ns < change.at_ns <= to_ns and (not kinds or change.kind in kinds):
                    yield change

    def beside(self, at_ns: int, by: int, kinds: Container[str]) -> int | None:
        """Return when objects of some kinds changed next after an instant, or before it; None at the ends.

        Changes within a second are one, at the last of them. The beginning of a session is a change too.

        Args:
            by: 1 for the next change, -1 for the previous one.
        """
        begins = [session.from_ns for session in self.sessions()]
        if by > 0:
            later = "state IN (?, ?) AND to_ns > ?"
            instants = self._instants(self._frames(later, FrameState.SMALL, FrameState.PACKED, at_ns), kinds, at_ns + 1)
            instants_in_frame = next(instants, ())
            nearest = (
                [max(at for at in instants_in_frame if at // NS_PER_SECOND == instants_in_frame[0] // NS_PER_SECOND)]
                if instants_in_frame
                else []
            )
            return min((*nearest, *(begin for begin in begins if begin > at_ns)), default=None)
        second_ns = at_ns // NS_PER_SECOND * NS_PER_SECOND
        earlier = self._frames(
            "state IN (?, ?) AND from_ns < ?", FrameState.SMALL, FrameState.PACKED, second_ns, order="from_ns DESC, id"
        )
        instants_in_frame = next(self._instants(earlier, kinds, 0, second_ns), ())
        return max((*instants_in_frame[-1:], *(begin for begin in begins if begin < second_ns)), default=None)

    def _instants(
        self, frames: Iterable[_Frame], kinds: Container[str], from_ns: int, until_ns: int = 1 << 63
    ) -> Iterator[list[int]]:
        """Yield when objects changed in each frame that has such changes, the first first."""
        for frame in frames:
            at = [c.at_ns for c in unpacked(frame.data) if from_ns <= c.at_ns < until_ns and c.kind in kinds]
            if at:
                yield at

    def facts_at(self, at_ns: int) -> dict[str, Any]:
        """Return the fields of a recording that are no objects, at an instant."""
        rows = self._query(
            "SELECT name, data FROM facts AS newest WHERE at_ns = "
            "(SELECT max(at_ns) FROM facts WHERE name = newest.name AND at_ns <= ?)",
            (at_ns,),
        )
        return {str(name): _decoded(_FACT, _unzipped(data)) for name, data in rows}

    def marks(self, from_ns: int, to_ns: int) -> tuple[Mark, ...]:
        """Return the marks after an instant up to another one, the first first, without those of predictions."""
        return self._marks("cause != ?", from_ns, to_ns)

    def predictions(self, from_ns: int, to_ns: int) -> tuple[Mark, ...]:
        """Return the marks of predictions that were decided after an instant up to another one, the first first."""
        return self._marks("cause = ?", from_ns, to_ns)

    def _marks(self, where: str, from_ns: int, to_ns: int) -> tuple[Mark, ...]:
        """Return marks by a condition on the cause of predictions."""
        rows = self._query(
            f"SELECT data FROM marks WHERE at_ns > ? AND at_ns <= ? AND {where} ORDER BY at_ns, rowid",  # noqa: S608
            (from_ns, to_ns, PREDICTION),
        )
        return tuple(_decoded(_MARK, data) for (data,) in rows)

    def samples(self, from_ns: int, to_ns: int) -> tuple[Sample, ...]:
        """Return the figures of NodePools in a time, the first first."""
        rows = self._query(
            "SELECT data FROM samples WHERE at_ns > ? AND at_ns <= ? ORDER BY at_ns, rowid", (from_ns, to_ns)
        )
        return tuple(_decoded(_SAMPLE, data) for (data,) in rows)

    def usage(self, from_ns: int, to_ns: int) -> tuple[UsagePeriod, ...]:
        """Return the usage of containers in the periods that lie within a time, the first first."""
        if next(self._query("SELECT 1 FROM sqlite_master WHERE name = 'usage'"), None) is None:
            return ()  # a history of an earlier version
        rows = self._query("SELECT data FROM usage WHERE at_ns >= ? AND at_ns < ? ORDER BY at_ns", (from_ns, to_ns))
        periods = (_decoded(_USAGE, _unzipped(data)) for (data,) in rows)
        return tuple(period for period in periods if period.to_ns <= to_ns)

    def _about(self, name: str) -> str:
        row = next(self._query("SELECT value FROM about WHERE name = ?", (name,)), None)
        return str(row[0]) if row is not None else ""

    def _query(self, sql: str, values: Sequence[object] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query.

        Raises:
            HistoryError: if the file is damaged.
        """
        try:
            for row in self._database.execute(sql, tuple(values)):  # noqa: UP028 - yield from would close the cursor late
                yield row
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise HistoryError(f"{self.path}: cannot be read: {error}") from None

    def _changes_from_key(self, at_ns: int) -> Iterator[Change]:
        newest = "SELECT from_ns, session FROM frames WHERE state = ? AND from_ns <= ? ORDER BY from_ns DESC, id DESC"
        key = next(self._query(f"{newest} LIMIT 1", (FrameState.KEY, at_ns)), None)
        if key is None:
            return
        key_ns, session = key
        for frame in self._frames("state = ? AND from_ns = ? AND session = ?", FrameState.KEY, key_ns, session):
            yield from unpacked(frame.data)
        where = "state IN (?, ?) AND session = ? AND to_ns > ? AND from_ns <= ?"
        for frame in self._frames(where, FrameState.SMALL, FrameState.PACKED, session, key_ns, at_ns):
            yield from (change for change in unpacked(frame.data) if key_ns < change.at_ns <= at_ns)

    def _frames(self, where: str, *values: int, order: str = "from_ns, id") -> Iterator[_Frame]:
        rows = self._query(
            f"SELECT id, session, from_ns, to_ns, data FROM frames WHERE {where} ORDER BY {order}",  # noqa: S608
            values,
        )
        return (_Frame(*row) for row in rows)

    def _check_format(self) -> None:
        try:
            version = self._database.execute("PRAGMA user_version").fetchone()[0]
        except sqlite3.DatabaseError as error:
            raise HistoryError(f"{self.path}: cannot be read: {error}") from None
        if version > FORMAT:
            raise HistoryError(
                f"{self.path}: the history has format {version}, this karptui reads up to {FORMAT}: install a newer one"
            )


def unpacked(data: bytes) -> list[Change]:
    """Return the changes in a frame, the first first.

    Raises:
        HistoryError: if it is damaged.
    """
    changes: list[Change] = _decoded(_CHANGES, _unzipped(data))
    return sorted(changes, key=attrgetter("at_ns"))


def _decoded(decoder: msgspec.json.Decoder[_T], data: bytes) -> _T:
    try:
        return decoder.decode(data)
    except (msgspec.MsgspecError, TypeError, UnicodeDecodeError, RecursionError) as error:
        raise HistoryError(f"the history is damaged: {error}") from None


def _unzipped(data: bytes) -> bytes:
    try:
        if zstandard.frame_content_size(data) > _LARGEST_FRAME_BYTES:
            raise HistoryError("the history is damaged: a frame is larger than any cluster")
        return zstandard.ZstdDecompressor().decompress(data, max_output_size=_LARGEST_FRAME_BYTES)
    except (zstandard.ZstdError, TypeError) as error:
        raise HistoryError(f"the history is damaged: {error}") from None


def open_database(path: Path, mode: str) -> sqlite3.Connection:
    """Open a file to read (``ro``) or write (``rw``).

    Raises:
        HistoryError: if that fails.
    """
    try:
        return sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=_BUSY_SECONDS, check_same_thread=False
        )
    except sqlite3.Error as error:
        raise HistoryError(f"{path}: cannot be opened: {error}") from None
