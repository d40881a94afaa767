from __future__ import annotations

import pytest

from karptui.sources.aws import calls
from karptui.sources.aws.calls import Caller
from karptui.sources.aws.session import AwsSession
from karptui.sources.aws.trouble import AwsError, Trouble

from .conftest import REGION, FakeAws, Pauses

ACTION = "ec2:DescribeSubnets"


def subnets(session: AwsSession, caller: Caller) -> list[str]:
    ec2 = session.client("ec2", REGION)
    return [item["SubnetId"] for item in caller.items(ACTION, ec2.describe_subnets, "Subnets", MaxResults=5)]


def page(*ids: str, token: str = "") -> str:
    items = "".join(f"<item><subnetId>{name}</subnetId></item>" for name in ids)
    return f"<subnetSet>{items}</subnetSet>" + (f"<nextToken>{token}</nextToken>" if token else "")


def test_reads_all_pages(session: AwsSession, caller: Caller, fake: FakeAws) -> None:
    fake.xml("DescribeSubnets", page("a", "b", token="t1"), page(token="t2"), page("c"))
    assert subnets(session, caller) == ["a", "b", "c"]
    assert [request.get("NextToken", "") for _, request in fake.requests] == ["", "t1", "t2"]
    assert {request["MaxResults"] for _, request in fake.requests} == {"5"}


def test_a_list_that_repeats_itself_comes_to_an_end(session: AwsSession, caller: Caller, fake: FakeAws) -> None:
    fake.xml("DescribeSubnets", page("a", token="t"))
    with pytest.raises(AwsError, match="ec2:DescribeSubnets never comes to an end"):
        subnets(session, caller)
    assert fake.count("DescribeSubnets") == 2


def test_a_list_without_end_is_given_up(
    session: AwsSession, caller: Caller, fake: FakeAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "PAGE_LIMIT", 3)
    fake.xml("DescribeSubnets", *(page("a", token=f"t{number}") for number in range(9)))
    with pytest.raises(AwsError, match="never comes to an end"):
        subnets(session, caller)


@pytest.mark.parametrize("code", ["RequestLimitExceeded", "Throttling", "SlowDown"])
def test_backs_off_when_throttled(
    session: AwsSession, caller: Caller, fake: FakeAws, pauses: Pauses, code: str
) -> None:
    fake.fault("DescribeSubnets", code, 503, times=3)
    fake.xml("DescribeSubnets", page("a"))
    assert subnets(session, caller) == ["a"]
    assert pauses.seconds == [0.5, 1.0, 2.0]


def test_pauses_are_a_random_part_of_the_longest(session: AwsSession, fake: FakeAws, pauses: Pauses) -> None:
    fake.fault("DescribeSubnets", "InternalError", 500, times=2)
    fake.xml("DescribeSubnets", page("a"))
    subnets(session, Caller(wait=pauses, jitter=iter((0.25, 0.5)).__next__))
    assert pauses.seconds == [0.125, 0.5]


def test_throttling_that_lasts_is_a_sentence(
    session: AwsSession, caller: Caller, fake: FakeAws, pauses: Pauses
) -> None:
    fake.fault("DescribeSubnets", "RequestLimitExceeded", 503)
    with pytest.raises(AwsError, match="AWS throttles ec2:DescribeSubnets") as caught:
        subnets(session, caller)
    assert caught.value.trouble is Trouble.THROTTLED
    assert fake.count("DescribeSubnets") == 6
    assert pauses.seconds == [0.5, 1.0, 2.0, 4.0, 8.0]


def test_no_pause_is_longer_than_20_seconds(session: AwsSession, fake: FakeAws, pauses: Pauses) -> None:
    fake.fault("DescribeSubnets", "Throttling")
    with pytest.raises(AwsError):
        subnets(session, Caller(wait=pauses, jitter=lambda: 1.0, attempts=9))
    assert pauses.seconds[-2:] == [20.0, 20.0]


def test_the_end_interrupts_a_pause(session: AwsSession, caller: Caller, fake: FakeAws, pauses: Pauses) -> None:
    pauses.interrupted = True
    fake.fault("DescribeSubnets", "Throttling")
    with pytest.raises(AwsError, match="given up") as caught:
        subnets(session, caller)
    assert caught.value.trouble is Trouble.STOPPED
    assert fake.count("DescribeSubnets") == 1


def test_what_will_not_get_better_is_not_tried_again(
    session: AwsSession, caller: Caller, fake: FakeAws, pauses: Pauses
) -> None:
    fake.fault("DescribeSubnets", "UnauthorizedOperation", 403)
    with pytest.raises(AwsError, match="lack the permission ec2:DescribeSubnets"):
        subnets(session, caller)
    assert pauses.seconds == []


def test_a_broken_answer_is_tried_again(session: AwsSession, caller: Caller, fake: FakeAws) -> None:
    fake.answers["DescribeSubnets"] = [lambda call: call.cut()]
    fake.xml("DescribeSubnets", page("a"))
    assert subnets(session, caller) == ["a"]


def test_an_answer_that_is_no_xml(session: AwsSession, caller: Caller, fake: FakeAws) -> None:
    fake.answers["DescribeSubnets"] = [lambda call: call.text("<!doctype html><p>Welcome to the hotel")]
    with pytest.raises(AwsError, match="ec2:DescribeSubnets gave an answer that cannot be read"):
        subnets(session, caller)
