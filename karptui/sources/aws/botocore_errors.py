"""What botocore's exceptions mean."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from botocore import exceptions as known

from karptui.sources.aws.trouble import AwsError, Trouble
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

_SECRET: Final = re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{12,}\b")

_MEANINGS: Final[tuple[tuple[tuple[type[Exception], ...], Trouble, str], ...]] = (
    ((known.ProfileNotFound,), Trouble.NO_PROFILE, "{whose} is not in the AWS configuration"),
    ((known.NoRegionError,), Trouble.NO_REGION, "no AWS region is configured, and the cluster names none"),
    (
        (known.SSOError, known.TokenRetrievalError),
        Trouble.EXPIRED,
        "the SSO session of {whose} has ended; aws sso login{option} renews it",
    ),
    ((known.LoginError,), Trouble.EXPIRED, "the login session of {whose} has ended; aws login{option} renews it"),
    ((known.NoCredentialsError,), Trouble.NO_CREDENTIALS, "no AWS credentials were found"),
    (
        (known.PartialCredentialsError,),
        Trouble.NO_CREDENTIALS,
        "the AWS credentials of {whose} are incomplete: {words}",
    ),
    (
        (known.CredentialRetrievalError, known.RefreshWithMFAUnsupportedError),
        Trouble.NO_CREDENTIALS,
        "the AWS credentials of {whose} cannot be had: {words}",
    ),
    (
        (known.ConfigParseError, known.InvalidConfigError),
        Trouble.NO_PROFILE,
        "the AWS configuration cannot be used: {words}",
    ),
    ((known.SSLError,), Trouble.NO_NETWORK, "no trusted connection to the AWS APIs: {words}"),
    ((known.ProxyConnectionError,), Trouble.NO_NETWORK, "the proxy on the way to the AWS APIs does not work: {words}"),
    ((known.ReadTimeoutError, known.ConnectionClosedError), Trouble.NO_NETWORK, "the AWS APIs stopped in mid-answer"),
    ((known.HTTPClientError, known.ConnectionError), Trouble.NO_NETWORK, "the AWS APIs cannot be reached from here"),
    ((known.BotoCoreError,), Trouble.OTHER, "{action} did not work: {words}"),
    ((Exception,), Trouble.OTHER, "{action} gave an answer that cannot be read: {words}"),
)
"""First match wins."""


def aws_error(error: Exception, *, action: str, profile: str = "") -> AwsError:
    """Return what an exception of botocore means.

    Args:
        error: Anything that a call has raised.
        action: The IAM action behind the call, such as ``ec2:DescribeSubnets``.
        profile: The profile in use, empty for the default chain.
    """
    whose = f"profile {profile}" if profile else "the default profile"
    if isinstance(error, AwsError):
        return error
    if isinstance(error, known.ClientError):
        return _client_error(error.response, action, whose)
    option = f" --profile {profile}" if profile else ""
    _, trouble, sentence = next(meaning for meaning in _MEANINGS if isinstance(error, meaning[0]))
    return AwsError(
        trouble,
        sentence.format(whose=whose, option=option, action=action, words=_words(error)),
        is_transient=isinstance(error, (known.ReadTimeoutError, known.ConnectionClosedError)),
    )


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
    """Return somebody else's words, fit for a screen and without access key ids."""
    return _SECRET.sub("(access key)", one_line(str(error), 200))
