"""Writes the file of a cluster's history."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import zstandard

from karptui.files import check_allowed
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.usage import UsagePeriod
from karptui.sources.history.store import (
    APPLICATION_ID,
    FORMAT,
    Change,
    FrameState,
    History,
    HistoryError,
    Mark,
    Sample,
    is_history,
    open_database,
    unpacked,
)

PACK_NS: Final = 600 * NS_PER_SECOND
"""Small frames are packed into one of at most this duration."""
_QUICK: Final = 3
_TIGHT: Final = 9
"""Levels of compression: of a frame as it is written, and of key frames and packed frames."""
_LOCK_SECONDS: Final = 2.0
"""The recorder of a killed karptui writes pending changes before it ends."""
_TABLES: Final = """
CREATE TABLE about(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE frames(
    id INTEGER PRIMARY KEY, session INTEGER NOT NULL, from_ns INTEGER NOT NULL, to_ns INTEGER NOT NULL,
    state INTEGER NOT NULL, count INTEGER NOT NULL, data BLOB NOT NULL);
CREATE INDEX frames_by_time ON frames(from_ns);
CREATE TABLE facts(at_ns INTEGER NOT NULL, name TEXT NOT NULL, data BLOB NOT NULL);
CREATE INDEX facts_by_time ON facts(name, at_ns);
CREATE TABLE marks(at_ns INTEGER NOT NULL, cause TEXT NOT NULL, data BLOB NOT NULL);
CREATE INDEX marks_by_time ON marks(at_ns);
CREATE TABLE samples(at_ns INTEGER NOT NULL, pool TEXT NOT NULL, data BLOB NOT NULL);
CREATE INDEX samples_by_time ON samples(at_ns);
"""
_USAGE_TABLE: Final = "CREATE TABLE IF NOT EXISTS usage(at_ns INTEGER PRIMARY KEY, data BLOB NOT NULL)"
"""Added to histories of earlier versions."""


class HistoryBusyError(HistoryError):
    """Another process records this history."""


class HistoryWriter(History):
    """Writes a history. Only one at a time; others get a ``HistoryBusyError``."""

    def __init__(self, path: Path, cluster: str) -> None:
        """Open a history for writing, or create it, readable by its owner only.

        Raises:
            HistoryBusyError: if another process writes it.
            HistoryError: if it cannot be written.
        """
        try:
            check_allowed()
            self._lock = _locked(path.with_name(f"{path.name}.lock"))
            if not path.exists():
                _create(path, cluster)
        except OSError as error:
            raise HistoryError(f"{path}: cannot be written: {error.strerror or error}") from None
        except sqlite3.Error as error:
            raise HistoryError(f"{path}: cannot be written: {error}") from None
        if not is_history(path):
            self._lock.close()
            raise HistoryError(f"{path}: is not a history that karptui has recorded")
        self.path = path
        self._database = open_database(path, "rw")
        self._database.execute("PRAGMA synchronous = NORMAL")
        self._check_format()
        with self._transaction():
            self._database.execute(_USAGE_TABLE)
            self._database.execute("DELETE FROM frames WHERE state = ?", (FrameState.INCOMPLETE_KEY,))
        self._session = self._next_session()
        self.newest_ns = self.end_ns()
        """The last recorded instant; 0 if there is none."""

    def close(self) -> None:
        """Close the file, and let others write it."""
        super().close()
        self._lock.close()

    def seal(self) -> None:
        """Close a finished history, so that it is one file that needs no other, and no right to write."""
        self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._database.execute("PRAGMA journal_mode = DELETE")
        self.close()
        self.path.with_name(f"{self.path.name}.lock").unlink(missing_ok=True)

    def write(self, changes: Sequence[Change]) -> None:
        """Add the changes of the last moment, in order.

        Raises:
            HistoryError: if the disk is full, or the file cannot be written; nothing is written then.
        """
        if not changes:
            return
        from_ns, to_ns = min(change.at_ns for change in changes), max(change.at_ns for change in changes)
        with self._transaction():
            self._insert(FrameState.SMALL, from_ns, to_ns, changes, self._session)
        self.newest_ns = max(self.newest_ns, to_ns)

    def note_instant(self, at_ns: int) -> None:
        """Note that everything up to an instant is recorded, although nothing has changed."""
        with self._transaction():
            self._database.execute("INSERT OR REPLACE INTO about VALUES ('until', ?)", (str(at_ns),))
        self.newest_ns = max(self.newest_ns, at_ns)

    def write_key(self, objects: Sequence[Change]) -> None:
        """Add a part of all objects; they count once the key frame is finished."""
        with self._transaction():
            self._insert(FrameState.INCOMPLETE_KEY, 0, 0, objects, self._session)

    def finish_key(self, at_ns: int) -> None:
        """Finish a key frame: the parts added so far are all objects at an instant."""
        with self._transaction():
            self._database.execute(
                "UPDATE frames SET state = ?, from_ns = ?, to_ns = ? WHERE state = ?",
                (FrameState.KEY, at_ns, at_ns, FrameState.INCOMPLETE_KEY),
            )
        self.newest_ns = max(self.newest_ns, at_ns)

    def write_fact(self, at_ns: int, name: str, value: Any) -> int:
        """Add a field of a recording that has changed; None if it is gone. Return its size in bytes."""
        data = _zipped(msgspec.json.encode(value))
        with self._transaction():
            self._database.execute("INSERT INTO facts VALUES (?, ?, ?)", (at_ns, name, data))
        return len(data)

    def write_marks(self, marks: Iterable[Mark]) -> None:
        """Add instants worth going to."""
        rows = ((mark.at_ns, mark.cause, msgspec.json.encode(mark)) for mark in marks)
        with self._transaction():
            self._database.executemany("INSERT INTO marks VALUES (?, ?, ?)", rows)

    def write_samples(self, samples: Iterable[Sample]) -> None:
        """Add figures of NodePools."""
        rows = ((sample.at_ns, sample.pool, msgspec.json.encode(sample)) for sample in samples)
        with self._transaction():
            self._database.executemany("INSERT INTO samples VALUES (?, ?, ?)", rows)

    def write_usage(self, period: UsagePeriod) -> None:
        """Add a period of the usage of containers, or replace it by a longer one with the same begin."""
        with self._transaction():
            self._database.execute(
                "INSERT OR REPLACE INTO usage VALUES (?, ?)",
                (period.from_ns, _zipped(msgspec.json.encode(period), _TIGHT)),
            )

    def pack(self) -> int:
        """Merge small frames of up to ten minutes into one, a fraction of their size; return their number."""
        frames = list(self._frames("state = ?", FrameState.SMALL))
        packed = 0
        while frames:
            first, until_ns = frames[0], frames[0].from_ns + PACK_NS
            batch = [frame for frame in frames if frame.session == first.session and frame.from_ns < until_ns]
            del frames[: len(batch)]
            changes = [change for frame in batch for change in unpacked(frame.data)]
            with self._transaction():
                self._database.executemany("DELETE FROM frames WHERE id = ?", [(frame.id,) for frame in batch])
                to_ns = max(frame.to_ns for frame in batch)
                self._insert(FrameState.PACKED, batch[0].from_ns, to_ns, changes, batch[0].session)
            packed += len(batch)
        return packed

    def prune(self, *, most_bytes: int, oldest_ns: int) -> None:
        """Delete the oldest key frames with their changes until the file is small and young enough; the last stays."""
        while True:
            keys = self._database.execute(
                "SELECT DISTINCT from_ns FROM frames WHERE state = ? ORDER BY from_ns LIMIT 2", (FrameState.KEY,)
            ).fetchall()
            if len(keys) < 2:
                return
            until_ns = keys[1][0]
            if until_ns > oldest_ns and self.size_bytes <= most_bytes:
                return
            with self._transaction():
                self._database.execute(
                    "DELETE FROM frames WHERE from_ns < ? AND state != ?", (until_ns, FrameState.INCOMPLETE_KEY)
                )
                for table in ("marks", "samples", "usage"):
                    self._database.execute(f"DELETE FROM {table} WHERE at_ns < ?", (until_ns,))  # noqa: S608 - ours
                self._database.execute(
                    "DELETE FROM facts WHERE at_ns < (SELECT max(at_ns) FROM facts AS newer "
                    "WHERE newer.name = facts.name AND newer.at_ns <= ?)",
                    (until_ns,),
                )
            self._database.execute("PRAGMA incremental_vacuum")
            self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    @property
    def size_bytes(self) -> int:
        """Size of the used pages of the file."""
        pages, free, size = (
            self._database.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
        return int((pages - free) * size)

    def _insert(self, state: int, from_ns: int, to_ns: int, changes: Sequence[Change], session: int) -> None:
        # Objects of one owner are alike: side by side they take fewer bytes.
        ordered = sorted(changes, key=lambda change: (change.kind, change.key, change.at_ns))
        data = _zipped(msgspec.json.encode(ordered), _QUICK if state == FrameState.SMALL else _TIGHT)
        self._database.execute(
            "INSERT INTO frames(session, from_ns, to_ns, state, count, data) VALUES (?, ?, ?, ?, ?, ?)",
            (session, from_ns, to_ns, state, len(changes), data),
        )

    def _next_session(self) -> int:
        row = self._database.execute("SELECT max(session) FROM frames").fetchone()
        return int(row[0] or 0) + 1

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            with self._database:
                yield
        except sqlite3.Error as error:
            raise HistoryError(f"{self.path}: cannot be written: {error}") from None


def _zipped(data: bytes, level: int = _QUICK) -> bytes:
    return zstandard.ZstdCompressor(level=level).compress(data)


def _create(path: Path, cluster: str) -> None:
    """Create a history under another name first, so that no reader sees it incomplete."""
    unfinished = path.with_name(f".{path.name}.new")
    unfinished.unlink(missing_ok=True)
    os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    database = sqlite3.connect(unfinished)
    try:
        database.execute("PRAGMA auto_vacuum = INCREMENTAL")
        database.execute("PRAGMA journal_mode = WAL")
        database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        database.executescript(_TABLES)
        database.execute("INSERT INTO about VALUES ('cluster', ?)", (cluster,))
        database.execute(f"PRAGMA user_version = {FORMAT}")
        database.commit()
    finally:
        database.close()
    unfinished.replace(path)


def _locked(path: Path) -> sqlite3.Connection:
    """Return a connection that holds a lock until it is closed or the process ends, on every system."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    lock = sqlite3.connect(path, timeout=_LOCK_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError:
        lock.close()
        raise HistoryBusyError("another karptui records this cluster") from None
    return lock
