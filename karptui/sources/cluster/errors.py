"""What can go wrong between here and an API server.

SourceError
├── ConfigError       the kubeconfig, a certificate or an option cannot be used: no retry will help
├── CredentialError   no credential could be had just now
├── UnreachableError  no answer: refused, timed out, cut off, bad TLS
├── BehindError       the server knows less than it did before: restored from a backup
├── UnreadableEventError  a watch says something that cannot be read
├── NoVersionError    a list that nothing can be followed from
└── ApiError          the server answered with an error status
"""

from __future__ import annotations

from typing import Final

from karptui.sources.base import SourceError

SENTENCE_LIMIT: Final = 400
"""Characters of somebody else's message that are worth showing."""


class KubeconfigError(SourceError):
    """The kubeconfig, a certificate or an option cannot be used; names the file and the field."""


class CredentialError(SourceError):
    """No credential could be had."""


class UnreachableError(SourceError):
    """The API server did not answer, or stopped in mid-answer."""


class BehindError(SourceError):
    """The server's storage has come less far than what it said before."""


class UnreadableEventError(SourceError):
    """An event of a watch cannot be read.

    Attributes:
        relists: whether asking for it again does not help.
    """

    def __init__(self, sentence: str, *, relists: bool) -> None:
        super().__init__(sentence)
        self.relists = relists


class NoVersionError(SourceError):
    """A list does not say which version of the cluster it is of."""


class ApiError(SourceError):
    """The API server answered with an error status.

    Attributes:
        status: HTTP status, or the code of an ``ERROR`` watch event.
        reason: the machine-readable reason of the Status object, empty where there is none.
        message: the server's words, on one line.
        retry_after_seconds: how long the server asks to be left alone, None where it does not say.
    """

    def __init__(self, status: int, reason: str, message: str, retry_after_seconds: float | None = None) -> None:
        super().__init__(f"the API server answered {status}{f' {reason}' if reason else ''}: {message}")
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after_seconds = retry_after_seconds


def one_line(text: str, limit: int = SENTENCE_LIMIT) -> str:
    """Return text fit for a sentence: printable, on one line, cut at a limit."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text[: 4 * limit]).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
