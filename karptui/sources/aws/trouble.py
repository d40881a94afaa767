"""Reasons that the AWS APIs are unavailable: each is a normal state with its own message."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from karptui.sources.source import SourceError


class Trouble(StrEnum):
    """Kinds of trouble, by what would help."""

    NOT_INSTALLED = "not installed"
    """boto3, which is optional."""
    NO_CREDENTIALS = "no credentials"
    EXPIRED = "expired credentials"
    REFUSED = "refused credentials"
    NO_PROFILE = "no profile"
    NO_REGION = "no region"
    DENIED = "no permission"
    NO_NETWORK = "no network"
    THROTTLED = "throttled"
    NOT_OFFERED = "not offered"
    """The API does not exist in the region."""
    STOPPED = "stopped"
    """karptui itself is ending."""
    OTHER = "other"


RETRY_SECONDS: Final = {
    Trouble.NOT_INSTALLED: 86_400,
    Trouble.NO_CREDENTIALS: 60,
    Trouble.EXPIRED: 60,
    Trouble.REFUSED: 300,
    Trouble.NO_PROFILE: 300,
    Trouble.NO_REGION: 60,
    Trouble.DENIED: 1800,
    Trouble.NO_NETWORK: 60,
    Trouble.THROTTLED: 120,
    Trouble.NOT_OFFERED: 86_400,
    Trouble.STOPPED: 60,
    Trouble.OTHER: 300,
}
"""Retry delay: a user may log in at any minute, a policy rarely changes."""

ACCOUNT_WIDE: Final = frozenset(
    {
        Trouble.NOT_INSTALLED,
        Trouble.NO_CREDENTIALS,
        Trouble.EXPIRED,
        Trouble.REFUSED,
        Trouble.NO_PROFILE,
        Trouble.NO_REGION,
        Trouble.STOPPED,
    }
)
"""Trouble that every other request would meet as well."""


class AwsError(SourceError):
    """The AWS APIs cannot be used, or not for this.

    Attributes:
        trouble: what kind of trouble it is.
        is_transient: whether the same request may work in a moment.
    """

    def __init__(self, trouble: Trouble, sentence: str, *, is_transient: bool = False) -> None:
        super().__init__(sentence)
        self.trouble = trouble
        self.is_transient = is_transient
