"""The audit file: a JSON line before and after each request that changes a cluster.

A line is on the disk before the request is sent. If it cannot be written, nothing is sent.
"""

from __future__ import annotations

import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from karptui.actions.audit_record import AuditDiff, AuditRecord
from karptui.files import append_line
from karptui.kube.timestamps import format_timestamp
from karptui.sources.source import SourceError

MOST_BYTES: Final = 64 << 20
"""Of the end of the file that is read."""
LONGEST_LINE: Final = 1 << 20
_LONGEST_VALUE: Final = 2_000
_MOST_FIELDS: Final = 200


class AuditError(SourceError):
    """The audit file cannot be written or read."""


class AuditFile:
    """Appends to the audit file."""

    def __init__(self, path: Path, now_ns: Callable[[], int] = time.time_ns) -> None:
        self.path: Final = path
        self._now_ns = now_ns

    def begin(self, **fields: Any) -> AuditRecord:
        """Write the line before a request, and return it.

        Raises:
            AuditError: it is not on the disk.
        """
        record = AuditRecord(time=self._time(), id=secrets.token_hex(8), phase="before", **fields)
        if len(msgspec.json.encode(record)) > LONGEST_LINE // 2:
            record = msgspec.structs.replace(record, diff=(AuditDiff(f"{len(record.diff)} fields, too long to keep"),))
        self._append(record)
        return record

    def end(self, begun: AuditRecord, *, outcome: str, status: int, message: str) -> None:
        """Write the line after a request; raises as ``begin``."""
        self._append(
            msgspec.structs.replace(
                begun, time=self._time(), phase="after", outcome=outcome, status=status, message=message, diff=()
            )
        )

    def _time(self) -> str:
        return format_timestamp(self._now_ns())

    def _append(self, record: AuditRecord) -> None:
        try:
            append_line(self.path, msgspec.json.encode(record))
        except OSError as error:
            raise AuditError(f"the audit file {self.path} cannot be written: {error.strerror or error}") from error


def shortened(diff: Iterator[tuple[str, Any, Any]]) -> tuple[AuditDiff, ...]:
    """Return the fields of a diff for the file: long values and long lists are cut."""
    fields = [AuditDiff(path[:_LONGEST_VALUE], _short(before), _short(after)) for path, before, after in diff]
    more = len(fields) - _MOST_FIELDS
    return (*fields[:_MOST_FIELDS], AuditDiff(f"and {more} more fields")) if more > 0 else tuple(fields)


def _short(value: Any) -> Any:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return value if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}… ({len(text):,} characters)"


def read_audit(path: Path) -> tuple[list[AuditRecord], int]:
    """Return the lines of an audit file, the oldest first, and how many lines could not be read.

    Raises:
        AuditError: the file cannot be read.
    """
    try:
        lines = _last_lines(path)
    except OSError as error:
        raise AuditError(f"{path}: cannot be read: {error.strerror or error}") from error
    records = [_record(line) for line in lines if line.strip()]
    return [record for record in records if record is not None], records.count(None)


def _last_lines(path: Path) -> list[bytes]:
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError("it is no regular file")
    with path.open("rb") as file:
        skipped = max(0, os.fstat(file.fileno()).st_size - MOST_BYTES)
        file.seek(skipped)
        lines = file.read(MOST_BYTES).split(b"\n")
    return lines[1:] if skipped else lines


def _record(line: bytes) -> AuditRecord | None:
    if len(line) > LONGEST_LINE:
        return None
    try:
        return msgspec.json.decode(line, type=AuditRecord)
    except (ValueError, RecursionError):
        return None
