from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from karptui.aws.region import Dated, FactKind, FactPhase, FactStatus
from karptui.clock import FrozenClock
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.sources.aws.calls import Wait
from karptui.sources.aws.clients import AwsClients
from karptui.sources.aws.facts import RULES, FactCache
from karptui.sources.aws.questions import Questions
from karptui.sources.aws.source import EVERYTHING, PRICES, AwsSource, cache_name
from karptui.sources.aws.trouble import AwsError, Trouble
from tests.sources.conftest import NOW_NS

from .conftest import REGION, FakeAws

HOUR = 3600 * NS_PER_SECOND
VALUES: Mapping[FactKind, Any] = {
    FactKind.INSTANCE_TYPES: {},
    FactKind.OFFERINGS: {"m5.large": ("use1-az1",)},
    FactKind.ON_DEMAND_PRICES: {"m5.large": 0.1},
    FactKind.SPOT_PRICES: {"m5.large": {"use1-az1": 0.04}},
    FactKind.ZONES: (),
    FactKind.SUBNETS: (),
    FactKind.RESERVATIONS: (),
}


class Answers(Questions):
    """Answers from memory, or raises the error in ``trouble``."""

    def __init__(self) -> None:
        self.trouble: dict[Any, AwsError] = {}
        self.asked: list[Any] = []
        self.opened = 0
        self.closed = 0
        self.configured_region = ""
        self.meanwhile: Callable[[], None] = lambda: None

    def __call__(self, now_ns: Callable[[], int], wait: Wait) -> Answers:
        self.opened += 1
        return self

    def _answer(self, question: Any, value: Any) -> Any:
        self.asked.append(question)
        self.meanwhile()
        if question in self.trouble:
            raise self.trouble[question]
        return value

    def region(self) -> str:
        return str(self._answer("region", self.configured_region))

    def account(self, region: str) -> str:
        return str(self._answer("identity", "123456789012"))

    def ask(self, kind: FactKind, region: str) -> Any:
        return self._answer(kind, VALUES[kind])

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def answers() -> Answers:
    return Answers()


@pytest.fixture
def cache(tmp_path: Path) -> FactCache:
    return FactCache(tmp_path)


def make(cache: FactCache, clock: FrozenClock, answers: Answers, kinds: frozenset[FactKind] = EVERYTHING) -> AwsSource:
    source = AwsSource(cache, clock=clock, opener=answers, kinds=kinds)
    source.use_region(REGION)
    return source


@pytest.fixture
def source(cache: FactCache, clock: FrozenClock, answers: Answers) -> AwsSource:
    return make(cache, clock, answers)


def phases(source: AwsSource) -> set[FactPhase]:
    return {status.phase for status in source.latest().statuses.values()}


def test_the_first_step_reads_every_fact(source: AwsSource, answers: Answers) -> None:
    rest = source.step()
    news = source.latest()
    assert sorted(answers.asked) == sorted(["identity", *FactKind])
    assert phases(source) == {FactPhase.LIVE}
    assert news.account == "123456789012"
    assert (news.facts.region, news.facts.on_demand) == (REGION, Dated({"m5.large": 0.1}, NOW_NS))
    assert news.statuses[FactKind.SUBNETS] == FactStatus(phase=FactPhase.LIVE, as_of_ns=NOW_NS)
    assert rest == 300


def test_an_expired_fact_is_read_again(source: AwsSource, answers: Answers, clock: FrozenClock) -> None:
    source.step()
    answers.asked.clear()
    clock.instant_ns += 300 * NS_PER_SECOND
    source.step()
    assert answers.asked == [FactKind.RESERVATIONS]
    clock.instant_ns += HOUR
    source.step()
    assert set(answers.asked) == {FactKind.RESERVATIONS, FactKind.SUBNETS, FactKind.SPOT_PRICES}


def test_refresh_retries_failed_facts_and_keeps_valid_ones(source: AwsSource, answers: Answers) -> None:
    answers.trouble[FactKind.SUBNETS] = AwsError(Trouble.DENIED, "may not")
    source.step()
    answers.asked.clear()
    answers.trouble.clear()
    source.step()
    assert answers.asked == [], "a refused fact was read again too early"
    source.refresh()
    source.step()
    assert answers.asked == [FactKind.SUBNETS]
    answers.asked.clear()
    source.refresh()
    source.step()
    assert answers.asked == []


def test_recent_facts_are_not_read_again(
    source: AwsSource, cache: FactCache, clock: FrozenClock, answers: Answers
) -> None:
    source.step()
    later = Answers()
    clock.instant_ns += NS_PER_SECOND
    again = make(cache, clock, later)
    again.step()
    assert later.opened == 0
    assert phases(again) == {FactPhase.LIVE}
    assert again.latest().facts.spot == Dated({"m5.large": {"use1-az1": 0.04}}, NOW_NS)


def test_old_facts_serve_offline_with_their_age(source: AwsSource, cache: FactCache, clock: FrozenClock) -> None:
    source.step()
    clock.instant_ns += 48 * HOUR
    offline = Answers()
    offline.trouble = dict.fromkeys(["identity", *FactKind], AwsError(Trouble.NO_NETWORK, "no way out"))
    again = make(cache, clock, offline)
    assert again.step() == 60
    assert again.latest().facts.on_demand == Dated({"m5.large": 0.1}, NOW_NS)
    assert set(again.latest().statuses.values()) == {
        FactStatus(
            phase=FactPhase.CACHED,
            sentence="no way out",
            as_of_ns=NOW_NS,
            retry_at_ns=clock.instant_ns + 60 * NS_PER_SECOND,
        )
    }


def test_cached_facts_from_the_future_are_read_again(cache: FactCache, clock: FrozenClock, answers: Answers) -> None:
    for kind in FactKind:
        cache.store(cache_name(kind, REGION, ""), Dated(VALUES[kind], NOW_NS + HOUR))
    make(cache, clock, answers).step()
    assert set(answers.asked) == {"identity", *FactKind}


@pytest.mark.parametrize("trouble", [Trouble.NO_CREDENTIALS, Trouble.EXPIRED, Trouble.REFUSED, Trouble.NO_PROFILE])
def test_without_credentials_nothing_else_is_requested(source: AwsSource, answers: Answers, trouble: Trouble) -> None:
    answers.trouble["identity"] = AwsError(trouble, "not you")
    source.step()
    assert answers.asked == ["identity"]
    assert {status.sentence for status in source.latest().statuses.values()} == {"not you"}
    assert phases(source) == {FactPhase.UNAVAILABLE}
    assert answers.closed == 1


def test_a_login_is_noticed_within_a_minute(source: AwsSource, answers: Answers, clock: FrozenClock) -> None:
    answers.trouble["identity"] = AwsError(Trouble.EXPIRED, "log in")
    assert source.step() == 60
    answers.trouble.clear()
    clock.instant_ns += 60 * NS_PER_SECOND
    source.step()
    assert phases(source) == {FactPhase.LIVE}
    assert answers.opened == 2


def test_an_expired_login_keeps_facts_and_clears_the_account(
    source: AwsSource, answers: Answers, clock: FrozenClock
) -> None:
    source.step()
    answers.trouble[FactKind.RESERVATIONS] = AwsError(Trouble.EXPIRED, "log in")
    clock.instant_ns += 300 * NS_PER_SECOND
    source.step()
    assert source.latest().account == ""
    assert source.latest().statuses[FactKind.RESERVATIONS].phase is FactPhase.CACHED
    assert source.latest().statuses[FactKind.SUBNETS].phase is FactPhase.LIVE


def test_a_missing_permission_affects_only_its_kind_of_fact(source: AwsSource, answers: Answers) -> None:
    answers.trouble[FactKind.RESERVATIONS] = AwsError(Trouble.DENIED, "lack the permission")
    source.step()
    statuses = source.latest().statuses
    assert statuses[FactKind.RESERVATIONS] == FactStatus(
        phase=FactPhase.UNAVAILABLE, sentence="lack the permission", retry_at_ns=NOW_NS + 1800 * NS_PER_SECOND
    )
    assert {status.phase for kind, status in statuses.items() if kind is not FactKind.RESERVATIONS} == {FactPhase.LIVE}


def test_facts_are_read_although_sts_is_unreachable(source: AwsSource, answers: Answers) -> None:
    answers.trouble["identity"] = AwsError(Trouble.NO_NETWORK, "no way to STS")
    source.step()
    assert phases(source) == {FactPhase.LIVE}
    assert source.latest().account == ""


def test_unrequested_facts_are_off(cache: FactCache, clock: FrozenClock, answers: Answers) -> None:
    source = make(cache, clock, answers, EVERYTHING - PRICES)
    source.step()
    assert not PRICES & set(answers.asked)
    assert source.latest().statuses[FactKind.SPOT_PRICES] == FactStatus(phase=FactPhase.OFF, sentence="not asked for")


class TestRegion:
    def test_falls_back_to_the_configured_region(self, cache: FactCache, clock: FrozenClock, answers: Answers) -> None:
        answers.configured_region = "eu-west-1"
        source = AwsSource(cache, clock=clock, opener=answers)
        source.step()
        assert source.latest().facts.region == "eu-west-1"
        assert phases(source) == {FactPhase.LIVE}

    @pytest.mark.parametrize(("trouble", "sentence", "rest"), [
        (None, "no AWS region is configured, and the cluster names none", 60),
        (AwsError(Trouble.NO_PROFILE, "no such profile"), "no such profile", 300),
    ], ids=["not configured", "no such profile"])  # fmt: skip
    def test_without_a_region_every_fact_shows_the_reason(
        self,
        cache: FactCache,
        clock: FrozenClock,
        answers: Answers,
        *,
        trouble: AwsError | None,
        sentence: str,
        rest: int,
    ) -> None:
        if trouble is not None:
            answers.trouble["region"] = trouble
        source = AwsSource(cache, clock=clock, opener=answers)
        assert source.step() == rest
        assert {status.sentence for status in source.latest().statuses.values()} == {sentence}

    @pytest.mark.parametrize("works", [True, False])
    def test_answers_about_the_previous_region_are_discarded(
        self, source: AwsSource, answers: Answers, works: bool
    ) -> None:
        answers.meanwhile = lambda: source.use_region("eu-west-1")
        if not works:
            answers.trouble = dict.fromkeys(FactKind, AwsError(Trouble.DENIED, "no"))
        source.step()
        assert phases(source) == {FactPhase.WAITING}
        assert source.latest().facts.region == ""
        answers.meanwhile = lambda: None
        answers.trouble = {}
        source.step()
        assert source.latest().facts.region == "eu-west-1"
        assert phases(source) == {FactPhase.LIVE}


class TestThreads:
    def test_reads_in_a_thread_until_it_is_stopped(
        self, cache: FactCache, clock: FrozenClock, answers: Answers
    ) -> None:
        reached = threading.Barrier(2, timeout=10)
        answers.trouble["identity"] = AwsError(Trouble.EXPIRED, "log in")

        def meet() -> None:
            reached.wait()

        answers.meanwhile = meet
        source = AwsSource(cache, clock=clock, opener=answers)
        source.start(REGION)
        reached.wait()
        source.refresh()
        reached.wait()
        source.stop()
        assert answers.asked[:2] == ["identity", "identity"]

    def test_stopping_cancels_the_remaining_requests(self, source: AwsSource, answers: Answers) -> None:
        answers.meanwhile = source.stop
        source.step()
        assert answers.asked == ["identity"]
        assert answers.closed == 1


def asked_once(cache: FactCache, *kinds: FactKind, region: str = REGION) -> AwsSource:
    source = AwsSource(cache, clock=FrozenClock(NOW_NS), kinds=frozenset(kinds))
    if region:
        source.use_region(region)
    source.step()
    source.stop()
    return source


class TestWithBotocore:
    def test_a_configured_region_yields_an_account_and_facts(
        self, session: AwsClients, cache: FactCache, fake: FakeAws, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AWS_REGION", "eu-west-1")
        fake.xml("DescribeSubnets", "<subnetSet/>")
        fake.fault("DescribeCapacityReservations", "UnauthorizedOperation", 403)
        news = asked_once(cache, FactKind.SUBNETS, FactKind.RESERVATIONS, region="").latest()
        assert (news.account, news.facts.region) == ("123456789012", "eu-west-1")
        assert news.facts.subnets == Dated((), NOW_NS)
        assert news.statuses[FactKind.RESERVATIONS].sentence == (
            "the AWS credentials lack the permission ec2:DescribeCapacityReservations"
        )

    @pytest.mark.parametrize("kind", FactKind)
    def test_every_kind_of_fact_names_its_missing_permission(
        self, session: AwsClients, cache: FactCache, fake: FakeAws, kind: FactKind
    ) -> None:
        operation = RULES[kind].action.partition(":")[2]
        fake.fault(operation, "UnauthorizedOperation", 403)
        source = asked_once(cache, kind)
        assert (
            source.latest().statuses[kind].sentence == f"the AWS credentials lack the permission {RULES[kind].action}"
        )

    def test_an_answer_of_another_shape_is_reported(self, session: AwsClients, cache: FactCache, fake: FakeAws) -> None:
        offering = "<item><instanceType>m5.large</instanceType></item>"
        fake.xml("DescribeInstanceTypeOfferings", f"<instanceTypeOfferingSet>{offering}</instanceTypeOfferingSet>")
        source = asked_once(cache, FactKind.OFFERINGS)
        assert source.latest().statuses[FactKind.OFFERINGS].sentence == (
            "ec2:DescribeInstanceTypeOfferings returned an unreadable answer: KeyError('Location')"
        )
