"""The outcome of an action."""

from __future__ import annotations

from enum import StrEnum

import msgspec


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
