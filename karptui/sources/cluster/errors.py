"""Errors of the connection to an API server.

SourceError
├── ConfigError       the kubeconfig, a certificate or an option is unusable: retries do not help
├── CredentialError   no credential available at the moment
├── UnreachableError  no answer: refused, timed out, cut off, bad TLS
├── BehindError       the server's storage is older than before: restored from a backup
├── UnreadableEventError  an unreadable watch event
├── NoVersionError    a list without a resourceVersion
└── ApiError          an error status
"""

from __future__ import annotations

from typing import Final

from karptui.sources.base import SourceError

SENTENCE_LIMIT: Final = 400
"""Maximum length of a quoted message."""


class KubeconfigError(SourceError):
    """The kubeconfig, a certificate or an option cannot be used; names the file and the field."""


class CredentialError(SourceError):
    """No credential is available."""


class UnreachableError(SourceError):
    """The API server did not answer, or stopped in mid-answer."""


class BehindError(SourceError):
    """The server's storage is older than before."""


class UnreadableEventError(SourceError):
    """An event of a watch cannot be read.

    Attributes:
        relists: whether asking for it again does not help.
    """

    def __init__(self, sentence: str, *, relists: bool) -> None:
        super().__init__(sentence)
        self.relists = relists


class NoVersionError(SourceError):
    """A list has no resourceVersion."""


class ApiError(SourceError):
    """The API server answered with an error status.

    Attributes:
        status: HTTP status, or the code of an ``ERROR`` watch event.
        reason: Machine-readable reason of the Status object; empty if none.
        message: The server's message, on one line.
        retry_after_seconds: Retry-After in seconds; None if absent.
    """

    def __init__(self, status: int, reason: str, message: str, retry_after_seconds: float | None = None) -> None:
        super().__init__(f"the API server answered {status}{f' {reason}' if reason else ''}: {message}")
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after_seconds = retry_after_seconds


def one_line(text: str, limit: int = SENTENCE_LIMIT) -> str:
    """Return text for a message: printable, on one line, cut at a limit."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text[: 4 * limit]).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
