"""The lines of the audit file, as values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

import msgspec

from karptui import __version__


class AuditDiff(msgspec.Struct, frozen=True):
    """A field that an action changes."""

    field: str
    before: Any = None
    after: Any = None


class AuditRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A line of the file; both lines of a request have the same id."""

    time: str
    id: str
    phase: str
    """``before`` or ``after``."""
    context: str
    server: str
    user: str
    user_from: str
    """``server`` or ``kubeconfig``."""
    action: str
    object: Mapping[str, str]
    """Kind, namespace, name, uid and resourceVersion."""
    method: str
    path: str
    diff: tuple[AuditDiff, ...] = ()
    reason: str = ""
    outcome: str = ""
    """Of the line after: ``done``, ``refused``, ``failed``, ``unknown``."""
    status: int = 0
    message: str = ""
    version: str = __version__


class AuditEntry(msgspec.Struct, frozen=True):
    """One request: the line before it, and the line after it if there is one."""

    begun: AuditRecord
    ended: AuditRecord | None = None

    @property
    def outcome(self) -> str:
        """How it ended; ``open`` without a line after it, as if karptui was killed."""
        return self.ended.outcome if self.ended is not None else "open"


def entries_of(records: Iterable[AuditRecord]) -> tuple[AuditEntry, ...]:
    """Return the requests of an audit file, the oldest first; a line after without its line before is left out."""
    begun: dict[str, AuditRecord] = {}
    ended: dict[str, AuditRecord] = {}
    for line in records:
        (begun if line.phase == "before" else ended)[line.id] = line
    return tuple(AuditEntry(line, ended.get(line.id)) for line in begun.values())


class Result(StrEnum):
    """Result of a request."""

    DONE = "done"
    REFUSED = "refused"
    FAILED = "failed"
    """It was not carried out."""
    UNKNOWN = "unknown"
    """It may have been carried out: the answer was lost, and so was the look-up."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a request."""

    result: Result
    status: int = 0
    """HTTP status of a refusal or fault; 0 otherwise."""
    message: str = ""
    """The server's words, or those about its silence; empty if it is done."""
    causes: tuple[tuple[str, str], ...] = ()
    """Fields and messages of a refusal."""
    was_looked_up: bool = False
    """Whether the answer was lost, and the object was read instead."""
    audit_problem: str = ""
    """Why the line after the request is missing in the audit file; empty if it is there."""
