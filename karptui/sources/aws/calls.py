"""Calls to the AWS APIs: page after page, backing off when told to."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Protocol

from karptui.sources.aws.botocore_errors import aws_error
from karptui.sources.aws.trouble import AwsError, Trouble

ATTEMPTS: Final = 6
FIRST_DELAY_SECONDS: Final = 0.5
LONGEST_DELAY_SECONDS: Final = 20.0
PAGE_LIMIT: Final = 2_000
"""More pages than any answer has: a service that never ends a list must not keep a thread for ever."""

Method = Callable[..., Mapping[str, Any]]
"""An operation of a botocore client."""


class Wait(Protocol):
    """Waits, and tells whether karptui is ending meanwhile."""

    def __call__(self, seconds: float, /) -> bool:
        """Return True when it was interrupted."""
        ...


class Caller:
    """Calls operations one by one; safe to use from several threads."""

    def __init__(
        self,
        *,
        wait: Wait | None = None,
        jitter: Callable[[], float] = random.random,
        profile: str = "",
        attempts: int = ATTEMPTS,
    ) -> None:
        """Prepare to call.

        Args:
            wait: Pauses between attempts.
            jitter: Numbers from 0 up to 1, of which each pause is that part of the longest it may be.
            profile: Named in sentences.
            attempts: How often a throttled or broken-off call is tried, the first time included.
        """
        self._wait = wait or threading.Event().wait
        self._jitter = jitter
        self._profile = profile
        self._attempts = attempts

    def call(self, action: str, method: Method, **parameters: Any) -> Mapping[str, Any]:
        """Return the answer.

        Raises:
            AwsError: when there is none; the sentence names the action.
        """
        for attempt in range(self._attempts):
            try:
                return method(**parameters)
            except Exception as error:
                # botocore raises whatever its parsers and the credential chain raise.
                trouble = aws_error(error, action=action, profile=self._profile)
                if not trouble.is_transient or attempt == self._attempts - 1:
                    raise trouble from error
            longest = min(LONGEST_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2**attempt)
            if self._wait(longest * self._jitter()):
                break
        raise AwsError(Trouble.STOPPED, f"{action} was given up")

    def items(self, action: str, method: Method, result: str, **parameters: Any) -> Iterator[Any]:
        """Yield the items of all pages.

        Args:
            action: The IAM action.
            method: A paginated operation: it takes and gives ``NextToken``.
            result: The field of the answer that holds the items.
            parameters: Of the operation.

        Raises:
            AwsError: when a page cannot be had, or the service repeats itself.
        """
        token = ""
        for _ in range(PAGE_LIMIT):
            page = self.call(action, method, **parameters, **({"NextToken": token} if token else {}))
            yield from page.get(result) or ()
            following = page.get("NextToken") or ""
            if not following:
                return
            if following == token:
                break
            token = following
        raise AwsError(Trouble.OTHER, f"{action} never comes to an end")
