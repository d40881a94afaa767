"""Errors of the connection to an API server, and the reaction to each: the message, and the next attempt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from karptui.sources.cluster.resources import Resource
from karptui.sources.source import Phase, SourceError

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
        causes: Fields and messages of a rejected object.
    """

    def __init__(
        self,
        status: int,
        reason: str,
        message: str,
        retry_after_seconds: float | None = None,
        causes: Sequence[tuple[str, str]] = (),
    ) -> None:
        super().__init__(f"the API server answered {status}{f' {reason}' if reason else ''}: {message}")
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after_seconds = retry_after_seconds
        self.causes = tuple(causes)


def one_line(text: str, limit: int = SENTENCE_LIMIT) -> str:
    """Return text for a message: printable, on one line, cut at a limit."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text[: 4 * limit]).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


UNREADY: Final = frozenset({403, 404})
"""Statuses that a server also returns before it has loaded its rules or definitions."""
DOUBTED_REFUSALS: Final = 5
"""Number of refusals that are not trusted from a server that has just returned."""


class Outage:
    """From the loss of the server until it answers as before."""

    def __init__(self) -> None:
        self._is_away = False
        self._is_doubtful = False
        self._refusals = 0

    def note_answer(self) -> None:
        """Note that the server has answered as it should."""
        self._is_away, self._is_doubtful, self._refusals = False, False, 0

    def lost(self, *, was_complete: bool) -> None:
        """Note that the server does not answer; ``was_complete`` is whether it had shown all objects."""
        self._is_away, self._refusals = True, 0
        self._is_doubtful = self._is_doubtful or was_complete

    def refused(self, error: ApiError) -> bool:
        """Count an error answer; return whether it is the first sign of a server that was away."""
        self._refusals += error.status in UNREADY
        is_sign, self._is_away = self._is_away, False
        return is_sign

    def excuses(self, error: SourceError) -> bool:
        """Whether an error may only mean that the server is still starting."""
        is_early = self._is_doubtful and self._refusals <= DOUBTED_REFUSALS
        return is_early and isinstance(error, ApiError) and error.status in UNREADY


FORBIDDEN_SECONDS: Final = 5.0
"""Interval of asking again for one of the forbidden kinds; if it is allowed, all are retried."""
ABSENT_SECONDS: Final = 60.0
POLL_SECONDS: Final = 60.0
"""Interval of listing a kind that may be listed but not watched."""
LONGEST_WAIT_SECONDS: Final = 300.0
"""However long a server asks to be left alone."""


class Reaction(msgspec.Struct, frozen=True):
    """What to do after a failed request."""

    phase: Phase
    sentence: str
    relists: bool = False
    """The place in the watch is lost; the kind is to be listed again."""
    forgets: bool = False
    """Objects seen before may no longer be shown as present."""
    seconds: float | None = None
    """When to try again; None leaves it to the back-off."""
    at_least_seconds: float = 0.0
    """A lower bound to the back-off, as the server asks."""


def reaction_to(
    error: SourceError, resource: Resource, *, verb: str, may_list: bool, is_starting: bool = False
) -> Reaction:
    """Return the reaction to a failure.

    Args:
        verb: The failed verb, ``list`` or ``watch``.
        may_list: Whether an earlier list was allowed.
        is_starting: Whether the server has just returned and may not know its permissions yet.
    """
    if not isinstance(error, ApiError):
        return _reaction_to_doubt(error)
    if is_starting:
        return Reaction(
            Phase.DISCONNECTED, f"the API server is back but still starting ({error.status}): {error.message}"
        )
    match error.status:
        case 410:
            return Reaction(
                Phase.SYNCING,
                f"the API server no longer knows what changed in {resource.title}; listing again",
                relists=True,
            )
        case 401:
            return Reaction(
                Phase.DISCONNECTED, f"the API server does not accept the credentials (401): {error.message}"
            )
        case 403 | 405 if verb == "watch" and may_list:
            sentence = f"{_denied('watch', resource, error)}; listed every {POLL_SECONDS:.0f} s instead"
            return Reaction(Phase.STALE, sentence, relists=True, seconds=POLL_SECONDS)
        case 403:
            return Reaction(
                Phase.FORBIDDEN, _denied(verb, resource, error), relists=True, forgets=True, seconds=FORBIDDEN_SECONDS
            )
        case 404:
            sentence = f"the API server has no {resource.title} in version {resource.version}"
            return Reaction(Phase.NOT_INSTALLED, sentence, relists=True, forgets=True, seconds=ABSENT_SECONDS)
        case 429:
            sentence = f"the API server is busy and asks to come back later (429): {error.message}"
        case _:
            sentence = str(error)
    # After a restore from backup the server's counter may be behind ours for ever.
    relists = "Too large resource version" in error.message
    wait = min(error.retry_after_seconds or 0.0, LONGEST_WAIT_SECONDS)
    return Reaction(Phase.DISCONNECTED, sentence, relists=relists, at_least_seconds=wait)


def _reaction_to_doubt(error: SourceError) -> Reaction:
    match error:
        case BehindError():
            return Reaction(Phase.STALE, str(error), relists=True)
        case UnreadableEventError():
            return Reaction(Phase.STALE, str(error), relists=error.relists)
        case NoVersionError():
            sentence = f"{error}; listed every {POLL_SECONDS:.0f} s instead"
            return Reaction(Phase.STALE, sentence, relists=True, seconds=POLL_SECONDS)
        case _:
            return Reaction(Phase.DISCONNECTED, str(error))


def rules_out_watch_list(error: ApiError) -> bool:
    """Whether to ask for a plain list after this error.

    Servers without streaming lists answer 400 or 422, proxies anything; a user may be allowed to list but not watch.
    """
    return 400 <= error.status < 500 and error.status not in (401, 404, 410, 429)


def _denied(verb: str, resource: Resource, error: ApiError) -> str:
    if error.status == 405:
        return f"the API server does not {verb} {resource.title}"
    scope = "in all namespaces" if resource.is_namespaced else "(cluster-scoped)"
    return f"no permission to {verb} {resource.title} {scope}: {error.message}"
