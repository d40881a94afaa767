"""Calls to the AWS APIs: page after page, backing off when throttled, and what their errors mean."""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from botocore import exceptions as boto

from karptui.sources.aws.trouble import AwsError, Trouble
from karptui.sources.cluster.body import answers_counted
from karptui.sources.cluster.connection_pool import TooMuchError, TooSlowError
from karptui.sources.cluster.errors import one_line

_THROTTLED: Final = frozenset(
    {
        "BandwidthLimitExceeded",
        "EC2ThrottledException",
        "LimitExceededException",
        "PriorRequestNotComplete",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
        "TransactionInProgressException",
    }
)
_EXPIRED: Final = frozenset({"ExpiredToken", "ExpiredTokenException", "RequestExpired", "TokenRefreshRequired"})
_REFUSED: Final = frozenset(
    {
        "AuthFailure",
        "IncompleteSignature",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "MissingAuthenticationToken",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)
_DENIED: Final = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "UnauthorizedAccess"})
_NOT_ENABLED: Final = frozenset({"OptInRequired", "RegionDisabledException"})
_TRANSIENT_STATUS: Final = frozenset({429, 500, 502, 503, 504})

_ENDLESS: Final = (
    (TooSlowError, "the AWS APIs did not finish an answer to {action} in time"),
    (TooMuchError, "the AWS APIs sent too large an answer to {action}"),
)

_SECRET: Final = re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{12,}\b")

_MEANINGS: Final[tuple[tuple[tuple[type[Exception], ...], Trouble, str], ...]] = (
    ((boto.ProfileNotFound,), Trouble.NO_PROFILE, "{whose} is not in the AWS configuration"),
    ((boto.NoRegionError,), Trouble.NO_REGION, "no AWS region is configured, and the cluster names none"),
    (
        (boto.SSOError, boto.TokenRetrievalError),
        Trouble.EXPIRED,
        "the SSO session of {whose} has ended; aws sso login{option} renews it",
    ),
    ((boto.LoginError,), Trouble.EXPIRED, "the login session of {whose} has ended; aws login{option} renews it"),
    ((boto.NoCredentialsError,), Trouble.NO_CREDENTIALS, "no AWS credentials were found"),
    (
        (boto.PartialCredentialsError,),
        Trouble.NO_CREDENTIALS,
        "the AWS credentials of {whose} are incomplete: {words}",
    ),
    (
        (boto.CredentialRetrievalError, boto.RefreshWithMFAUnsupportedError),
        Trouble.NO_CREDENTIALS,
        "cannot get the AWS credentials of {whose}: {words}",
    ),
    (
        (boto.ConfigParseError, boto.InvalidConfigError),
        Trouble.NO_PROFILE,
        "the AWS configuration cannot be used: {words}",
    ),
    ((boto.SSLError,), Trouble.NO_NETWORK, "no trusted connection to the AWS APIs: {words}"),
    ((boto.ProxyConnectionError,), Trouble.NO_NETWORK, "the proxy for the AWS APIs does not work: {words}"),
    ((boto.ReadTimeoutError, boto.ConnectionClosedError), Trouble.NO_NETWORK, "the AWS APIs broke off an answer"),
    ((boto.HTTPClientError, boto.ConnectionError), Trouble.NO_NETWORK, "the AWS APIs cannot be reached from here"),
    ((boto.BotoCoreError,), Trouble.OTHER, "{action} did not work: {words}"),
    ((Exception,), Trouble.OTHER, "{action} returned an unreadable answer: {words}"),
)
"""First match wins."""


def aws_error(error: Exception, *, action: str, profile: str = "") -> AwsError:
    """Return the error for an exception of botocore.

    Args:
        action: IAM action of the call, such as ``ec2:DescribeSubnets``.
        profile: Profile in use; empty for the default chain.
    """
    whose = f"profile {profile}" if profile else "the default profile"
    if isinstance(error, AwsError):
        return error
    if isinstance(error, boto.ClientError):
        return _client_error(error.response, action, whose)
    for cause in _causes(error):
        for kind, sentence in _ENDLESS:
            if isinstance(cause, kind):
                return AwsError(Trouble.NO_NETWORK, sentence.format(action=action))
    option = f" --profile {profile}" if profile else ""
    _, trouble, sentence = next(meaning for meaning in _MEANINGS if isinstance(error, meaning[0]))
    return AwsError(
        trouble,
        sentence.format(whose=whose, option=option, action=action, words=_words(error)),
        is_transient=isinstance(error, (boto.ReadTimeoutError, boto.ConnectionClosedError)),
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and what led to it; botocore's are raised while urllib3's are handled."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def _client_error(response: Mapping[str, Any], action: str, whose: str) -> AwsError:
    code = str(response.get("Error", {}).get("Code", ""))
    message = _words(response.get("Error", {}).get("Message", ""))
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if code in _THROTTLED or status == 429:
        return AwsError(Trouble.THROTTLED, f"AWS throttles {action}", is_transient=True)
    if code in _EXPIRED:
        return AwsError(Trouble.EXPIRED, f"the AWS credentials of {whose} have expired")
    if code in _REFUSED:
        return AwsError(Trouble.REFUSED, f"AWS refuses the credentials of {whose} ({code})")
    if code in _DENIED:
        return AwsError(Trouble.DENIED, f"the AWS credentials lack the permission {action}")
    if code in _NOT_ENABLED:
        return AwsError(Trouble.NOT_OFFERED, f"the region is not enabled for the account of {whose}")
    if code == "RequestTimeTooSkewed":
        return AwsError(Trouble.REFUSED, "AWS refuses requests from this machine: its clock is wrong")
    return AwsError(
        Trouble.OTHER,
        f"{action} answered {code or status}: {message}",
        is_transient=status in _TRANSIENT_STATUS,
    )


def _words(error: object) -> str:
    """Return a message without access key ids, fit for a screen."""
    return _SECRET.sub("(access key)", one_line(str(error), 200))


ATTEMPTS: Final = 6
FIRST_DELAY_SECONDS: Final = 0.5
LONGEST_DELAY_SECONDS: Final = 20.0
PAGE_LIMIT: Final = 2_000
"""More pages than any answer has: a service that never ends a list must not keep a thread for ever."""

Method = Callable[..., Mapping[str, Any]]
"""An operation of a botocore client."""


Wait = Callable[[float], bool]
"""Waits for seconds; returns whether karptui is ending meanwhile."""


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
            jitter: Returns numbers from 0 up to 1, the share of the maximum pause.
            attempts: Number of attempts for a throttled or interrupted call, including the first.
        """
        self._wait = wait or threading.Event().wait
        self._jitter = jitter
        self._profile = profile
        self._attempts = attempts

    def call(self, action: str, method: Method, **parameters: Any) -> Mapping[str, Any]:
        """Return the answer."""
        for attempt in range(self._attempts):
            try:
                with answers_counted():
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
            method: A paginated operation with ``NextToken``.
            result: Field of the answer with the items.

        Raises:
            AwsError: if a page is unavailable, or the service repeats itself.
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
        raise AwsError(Trouble.OTHER, f"the list of {action} never ends")
