from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from botocore import exceptions

from karptui.sources.aws import calls
from karptui.sources.aws.calls import Caller, aws_error
from karptui.sources.aws.clients import AwsClients
from karptui.sources.aws.questions import account
from karptui.sources.aws.trouble import AwsError, Trouble
from karptui.sources.cluster import connection_pool as deadlines
from tests.fake_api_server import Call
from tests.sources.cluster.test_bounds import Steps

from .conftest import REGION, FakeAws, Pauses

ACTION = "ec2:DescribeSubnets"


def client_error(code: str, status: int = 400, message: str = "no") -> exceptions.ClientError:
    response: Any = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return exceptions.ClientError(response, "DescribeSubnets")


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
    (exceptions.ProfileNotFound(profile="dev"), Trouble.NO_PROFILE, "profile dev is not in the AWS configuration"),
    (exceptions.ConfigParseError(path="/c"), Trouble.NO_PROFILE,
     "the AWS configuration cannot be used: Unable to parse"),
    (exceptions.NoRegionError(), Trouble.NO_REGION, "no AWS region is configured"),
    (exceptions.UnauthorizedSSOTokenError(), Trouble.EXPIRED, "aws sso login --profile dev renews it"),
    (exceptions.SSOTokenLoadError(error_msg="x"), Trouble.EXPIRED, "the SSO session of profile dev has ended"),
    (exceptions.TokenRetrievalError(provider="sso", error_msg="x"), Trouble.EXPIRED, "the SSO session of profile dev"),
    (exceptions.LoginRefreshRequired(), Trouble.EXPIRED, "aws login --profile dev renews it"),
    (exceptions.NoCredentialsError(), Trouble.NO_CREDENTIALS, "no AWS credentials were found"),
    (exceptions.PartialCredentialsError(provider="env", cred_var="k"), Trouble.NO_CREDENTIALS, "are incomplete"),
    (exceptions.CredentialRetrievalError(provider="custom-process", error_msg="vault is locked"),
     Trouble.NO_CREDENTIALS,
     "cannot get the AWS credentials of profile dev: Error when retrieving credentials from custom-process"),
    (exceptions.SSLError(endpoint_url="u", error="e"), Trouble.NO_NETWORK, "no trusted connection to the AWS APIs"),
    (exceptions.ProxyConnectionError(proxy_url="http://p"), Trouble.NO_NETWORK, "the proxy for the AWS APIs"),
    (exceptions.ConnectTimeoutError(endpoint_url="u"), Trouble.NO_NETWORK, "the AWS APIs cannot be reached from here"),
    (exceptions.EndpointConnectionError(endpoint_url="u"), Trouble.NO_NETWORK,
     "the AWS APIs cannot be reached from here"),
    (exceptions.ReadTimeoutError(endpoint_url="u"), Trouble.NO_NETWORK, "the AWS APIs broke off an answer"),
    (exceptions.UnknownServiceError(service_name="x", known_service_names="y"), Trouble.OTHER,
     f"{ACTION} did not work"),
    (ValueError("surprise"), Trouble.OTHER, f"{ACTION} returned an unreadable answer: surprise"),
]  # fmt: skip


@pytest.mark.parametrize(("error", "trouble", "words"), CASES, ids=[type(case[0]).__name__ for case in CASES])
def test_each_error_has_its_category_and_message(error: Exception, trouble: Trouble, words: str) -> None:
    result = aws_error(error, action=ACTION, profile="dev")
    assert result.trouble is trouble
    assert words in str(result)


@pytest.mark.parametrize(("error", "is_transient"), [
    (client_error("Throttling"), True),
    (client_error("InternalError", 500), True),
    (client_error("Unavailable", 503), True),
    (exceptions.ReadTimeoutError(endpoint_url="u"), True),
    (exceptions.ConnectionClosedError(endpoint_url="u"), True),
    (exceptions.ConnectTimeoutError(endpoint_url="u"), False),
    (client_error("UnauthorizedOperation", 403), False),
    (ValueError("x"), False),
])  # fmt: skip
def test_which_errors_are_retried(error: Exception, is_transient: bool) -> None:
    assert aws_error(error, action=ACTION).is_transient is is_transient


def test_access_keys_and_control_characters_do_not_reach_the_screen() -> None:
    error = client_error("Odd", message="key AKIAIOSFODNN7EXAMPLE\x1b[31m\nis\x07 odd" + "x" * 999)
    sentence = str(aws_error(error, action=ACTION))
    assert "AKIA" not in sentence
    assert sentence.isprintable()
    assert len(sentence) < 260


def subnets(session: AwsClients, caller: Caller) -> list[str]:
    ec2 = session.client("ec2", REGION)
    return [item["SubnetId"] for item in caller.items(ACTION, ec2.describe_subnets, "Subnets", MaxResults=5)]


def page(*ids: str, token: str = "") -> str:
    items = "".join(f"<item><subnetId>{name}</subnetId></item>" for name in ids)
    return f"<subnetSet>{items}</subnetSet>" + (f"<nextToken>{token}</nextToken>" if token else "")


def test_reads_all_pages(session: AwsClients, caller: Caller, fake: FakeAws) -> None:
    fake.xml("DescribeSubnets", page("a", "b", token="t1"), page(token="t2"), page("c"))
    assert subnets(session, caller) == ["a", "b", "c"]
    assert [request.get("NextToken", "") for _, request in fake.requests] == ["", "t1", "t2"]
    assert {request["MaxResults"] for _, request in fake.requests} == {"5"}


@pytest.mark.parametrize(
    ("answers", "calls_made"),
    [([page("a", token="t")], 2), ([page("a", token=f"t{n}") for n in range(9)], 3)],
    ids=["repeated", "endless"],
)
def test_an_endless_list_is_abandoned(
    session: AwsClients,
    caller: Caller,
    fake: FakeAws,
    monkeypatch: pytest.MonkeyPatch,
    *,
    answers: list[str],
    calls_made: int,
) -> None:
    monkeypatch.setattr(calls, "PAGE_LIMIT", 3)
    fake.xml("DescribeSubnets", *answers)
    with pytest.raises(AwsError, match="ec2:DescribeSubnets never ends"):
        subnets(session, caller)
    assert fake.count("DescribeSubnets") == calls_made


@pytest.mark.parametrize(("code", "status", "seconds"), [
    ("RequestLimitExceeded", 503, [0.5, 1.0, 2.0]),
    ("SlowDown", 503, [0.5, 1.0, 2.0]),
    ("InternalError", 500, [0.5]),
    ("Throttling", 400, [0.5]),
])  # fmt: skip
def test_transient_errors_are_retried_after_growing_pauses(
    session: AwsClients, caller: Caller, fake: FakeAws, pauses: Pauses, *, code: str, status: int, seconds: list[float]
) -> None:
    fake.fault("DescribeSubnets", code, status, times=len(seconds))
    fake.xml("DescribeSubnets", page("a"))
    assert subnets(session, caller) == ["a"]
    assert pauses.seconds == seconds


@pytest.mark.parametrize(("code", "attempts", "seconds"), [
    ("RequestLimitExceeded", calls.ATTEMPTS, [0.25, 0.5, 1.0, 2.0, 4.0]),
    ("Throttling", 9, [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0]),
    ("UnauthorizedOperation", 9, []),
], ids=["throttled", "longest pause", "not transient"])  # fmt: skip
def test_a_call_fails_after_its_last_attempt_and_pauses_use_the_jitter(
    session: AwsClients, fake: FakeAws, pauses: Pauses, *, code: str, attempts: int, seconds: list[float]
) -> None:
    fake.fault("DescribeSubnets", code)
    with pytest.raises(AwsError, match="DescribeSubnets"):
        subnets(session, Caller(wait=pauses, jitter=lambda: 0.5, attempts=attempts))
    assert fake.count("DescribeSubnets") == len(seconds) + 1
    assert pauses.seconds == seconds


def test_stopping_interrupts_a_pause(session: AwsClients, caller: Caller, fake: FakeAws, pauses: Pauses) -> None:
    pauses.interrupted = True
    fake.fault("DescribeSubnets", "Throttling")
    with pytest.raises(AwsError, match="given up") as caught:
        subnets(session, caller)
    assert caught.value.trouble is Trouble.STOPPED
    assert fake.count("DescribeSubnets") == 1


def test_an_answer_that_is_not_xml_is_an_error(session: AwsClients, caller: Caller, fake: FakeAws) -> None:
    fake.answers["DescribeSubnets"] = [lambda call: call.text("<!doctype html><p>Welcome to the hotel")]
    with pytest.raises(AwsError, match="ec2:DescribeSubnets returned an unreadable answer"):
        subnets(session, caller)


def endless(piece: bytes, begin: bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n") -> Any:
    """Return an answer that never ends: the beginning, then one piece over and over."""

    def answer(call: Call) -> None:
        call._handler.wfile.write(begin)
        while True:
            call._handler.wfile.write(piece)

    return answer


@pytest.mark.parametrize(
    "answer",
    [endless(b"1\r\n<\r\n"), endless(b"0"), endless(b"0", b"HTTP/1.1 200 OK\r\nX: ")],
    ids=["body", "size of a chunk", "header"],
)
def test_an_answer_that_is_too_slow_is_abandoned(
    session: AwsClients, caller: Caller, fake: FakeAws, pauses: Pauses, monkeypatch: pytest.MonkeyPatch, *, answer: Any
) -> None:
    monkeypatch.setattr(deadlines, "time", Steps(20))
    fake.answers["DescribeSubnets"] = [answer]
    with pytest.raises(AwsError, match="did not finish an answer to ec2:DescribeSubnets in time") as caught:
        subnets(session, caller)
    assert (caught.value.trouble, pauses.seconds) == (Trouble.NO_NETWORK, []), "it was retried"


@pytest.mark.parametrize(
    "limit", ["karptui.sources.aws.clients._Response.most_bytes", "karptui.sources.cluster.body.BUDGET_BYTES"]
)
def test_an_answer_that_is_too_large_is_abandoned(
    session: AwsClients, caller: Caller, fake: FakeAws, pauses: Pauses, monkeypatch: pytest.MonkeyPatch, *, limit: str
) -> None:
    monkeypatch.setattr(limit, 1 << 20)
    fake.answers["DescribeSubnets"] = [endless(b"10000\r\n" + b"<" * 65_536 + b"\r\n")]
    with pytest.raises(AwsError, match="sent too large an answer to ec2:DescribeSubnets"):
        subnets(session, caller)
    assert pauses.seconds == []


def test_a_slow_answer_to_assume_role_is_abandoned_too(
    session: AwsClients, fake: FakeAws, aws_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (aws_home / "config").write_text(
        f"[profile role]\nrole_arn = arn:aws:iam::1:role/r\nsource_profile = base\nregion = {REGION}\n"
    )
    (aws_home / "credentials").write_text("[base]\naws_access_key_id = AKIA1\naws_secret_access_key = s\n")
    fake.answers["AssumeRole"] = [endless(b"1\r\n<\r\n")]
    monkeypatch.setattr(deadlines, "time", Steps(20))
    with_role = AwsClients("role")
    with pytest.raises(AwsError, match="did not finish an answer to sts:GetCallerIdentity in time"):
        account(Caller(profile="role"), with_role.client("sts", REGION))
    with_role.close()
