from __future__ import annotations

from typing import Any

import pytest
from botocore import exceptions as known

from karptui.sources.aws.botocore_errors import aws_error
from karptui.sources.aws.trouble import RETRY_SECONDS, AwsError, Trouble

ACTION = "ec2:DescribeSubnets"


def client_error(code: str, status: int = 400, message: str = "no") -> known.ClientError:
    response: Any = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return known.ClientError(response, "DescribeSubnets")


CASES: list[tuple[Exception, Trouble, str]] = [
    (client_error("ExpiredToken"), Trouble.EXPIRED, "the AWS credentials of profile dev have expired"),
    (client_error("RequestExpired"), Trouble.EXPIRED, "the AWS credentials of profile dev have expired"),
    (client_error("AuthFailure", 401), Trouble.REFUSED, "AWS refuses the credentials of profile dev (AuthFailure)"),
    (client_error("InvalidClientTokenId", 403), Trouble.REFUSED, "AWS refuses the credentials of profile dev (Inv"),
    (client_error("UnauthorizedOperation", 403), Trouble.DENIED, f"the AWS credentials lack the permission {ACTION}"),
    (client_error("AccessDeniedException"), Trouble.DENIED, f"the AWS credentials lack the permission {ACTION}"),
    (client_error("OptInRequired", 401), Trouble.NOT_OFFERED, "the region is not enabled for the account of profile"),
    (client_error("RequestTimeTooSkewed", 403), Trouble.REFUSED, "its clock is wrong"),
    (client_error("Unusual", 429), Trouble.THROTTLED, f"AWS throttles {ACTION}"),
    (client_error("InvalidParameterValue"), Trouble.OTHER, f"{ACTION} answered InvalidParameterValue: no"),
    (client_error("", 418), Trouble.OTHER, f"{ACTION} answered 418: no"),
    (known.ProfileNotFound(profile="dev"), Trouble.NO_PROFILE, "profile dev is not in the AWS configuration"),
    (known.ConfigParseError(path="/c"), Trouble.NO_PROFILE, "the AWS configuration cannot be used: Unable to parse"),
    (known.NoRegionError(), Trouble.NO_REGION, "no AWS region is configured"),
    (known.UnauthorizedSSOTokenError(), Trouble.EXPIRED, "aws sso login --profile dev renews it"),
    (known.SSOTokenLoadError(error_msg="x"), Trouble.EXPIRED, "the SSO session of profile dev has ended"),
    (known.TokenRetrievalError(provider="sso", error_msg="x"), Trouble.EXPIRED, "the SSO session of profile dev"),
    (known.LoginRefreshRequired(), Trouble.EXPIRED, "aws login --profile dev renews it"),
    (known.NoCredentialsError(), Trouble.NO_CREDENTIALS, "no AWS credentials were found"),
    (known.PartialCredentialsError(provider="env", cred_var="k"), Trouble.NO_CREDENTIALS, "are incomplete"),
    (
        known.CredentialRetrievalError(provider="custom-process", error_msg="vault is locked"),
        Trouble.NO_CREDENTIALS,
        "the AWS credentials of profile dev cannot be had: Error when retrieving credentials from custom-process",
    ),
    (known.SSLError(endpoint_url="u", error="e"), Trouble.NO_NETWORK, "no trusted connection to the AWS APIs"),
    (known.ProxyConnectionError(proxy_url="http://p"), Trouble.NO_NETWORK, "the proxy on the way to the AWS APIs"),
    (known.ConnectTimeoutError(endpoint_url="u"), Trouble.NO_NETWORK, "the AWS APIs cannot be reached from here"),
    (known.EndpointConnectionError(endpoint_url="u"), Trouble.NO_NETWORK, "the AWS APIs cannot be reached from here"),
    (known.ReadTimeoutError(endpoint_url="u"), Trouble.NO_NETWORK, "the AWS APIs stopped in mid-answer"),
    (known.UnknownServiceError(service_name="x", known_service_names="y"), Trouble.OTHER, f"{ACTION} did not work"),
    (ValueError("surprise"), Trouble.OTHER, f"{ACTION} gave an answer that cannot be read: surprise"),
]


@pytest.mark.parametrize(("error", "trouble", "words"), CASES, ids=[type(case[0]).__name__ for case in CASES])
def test_every_trouble_has_its_sentence(error: Exception, trouble: Trouble, words: str) -> None:
    found = aws_error(error, action=ACTION, profile="dev")
    assert found.trouble is trouble
    assert words in str(found)


@pytest.mark.parametrize(
    ("error", "is_transient"),
    [
        (client_error("Throttling"), True),
        (client_error("InternalError", 500), True),
        (client_error("Unavailable", 503), True),
        (known.ReadTimeoutError(endpoint_url="u"), True),
        (known.ConnectionClosedError(endpoint_url="u"), True),
        (known.ConnectTimeoutError(endpoint_url="u"), False),
        (client_error("UnauthorizedOperation", 403), False),
        (ValueError("x"), False),
    ],
)
def test_what_is_worth_another_try(error: Exception, is_transient: bool) -> None:
    assert aws_error(error, action=ACTION).is_transient is is_transient


def test_an_error_of_our_own_is_passed_on() -> None:
    error = AwsError(Trouble.STOPPED, "x")
    assert aws_error(error, action=ACTION) is error


def test_without_a_profile_the_default_one_is_named() -> None:
    assert str(aws_error(known.UnauthorizedSSOTokenError(), action=ACTION)) == (
        "the SSO session of the default profile has ended; aws sso login renews it"
    )


def test_access_keys_and_control_characters_do_not_reach_the_screen() -> None:
    error = client_error("Odd", message="key AKIAIOSFODNN7EXAMPLE\x1b[31m\nis\x07 odd" + "x" * 999)
    sentence = str(aws_error(error, action=ACTION))
    assert "AKIA" not in sentence
    assert sentence.isprintable()
    assert len(sentence) < 260


def test_every_trouble_is_asked_again_some_day() -> None:
    assert set(RETRY_SECONDS) == set(Trouble)
