"""Keeps the facts of a region fresh in the background: cache first, then the APIs."""

from __future__ import annotations

import hashlib
import os
import threading
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import msgspec

from karptui import crash
from karptui.aws.region import NO_FACTS, Dated, FactKind, FactPhase, FactStatus, RegionFacts
from karptui.clock import Clock, SystemClock
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.sources.aws.facts import RULES, FactCache
from karptui.sources.aws.trouble import ACCOUNT_WIDE, RETRY_SECONDS, AwsError, Trouble

if TYPE_CHECKING:
    from karptui.sources.aws.calls import Wait
    from karptui.sources.aws.questions import Questions


PRICES: Final = frozenset({FactKind.ON_DEMAND_PRICES, FactKind.SPOT_PRICES})
"""What ``--disable-pricing`` does without."""

_IDENTITY_VARIABLES: Final = (
    "AWS_PROFILE",
    "AWS_DEFAULT_PROFILE",
    "AWS_ACCESS_KEY_ID",
    "AWS_ROLE_ARN",
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
)


def cache_name(kind: FactKind, region: str, profile: str) -> str:
    """Return the cache name of a fact.

    Facts of an account are stored per way of logging in, as a digest in the name: without a network the account is
    unknown.
    """
    name = f"aws/{region}/{kind.replace(' ', '-')}"
    if not RULES[kind].is_of_account:
        return name
    parts = [profile, *(os.environ.get(variable, "") for variable in _IDENTITY_VARIABLES)]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    return f"{name}-{digest[:16]}"


THREADS: Final = 3
"""Questions under way at once: EC2 throttles by account, and others need it too."""
LONGEST_REST_SECONDS: Final = 300.0
EVERYTHING: Final = frozenset(FactKind)
NOT_INSTALLED: Final = "AWS is not asked, as boto3 is not installed: install karptui with the extra aws"
NO_REGION: Final = "no AWS region is configured, and the cluster names none"


class AwsNews(msgspec.Struct, frozen=True, eq=False):
    """Known facts at a moment; compared by identity to detect news."""

    facts: RegionFacts
    statuses: Mapping[FactKind, FactStatus]
    account: str = ""
    """Whose credentials answer, empty while none do."""


def _open(profile: str, now_ns: Callable[[], int], wait: Wait, *, asks_instance: bool) -> Questions:
    """Begin a conversation with AWS, importing botocore."""
    try:
        from karptui.sources.aws.clients import AwsClients  # noqa: PLC0415  a tenth of a second, in a thread
        from karptui.sources.aws.questions import Questions  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if error.name not in ("boto3", "botocore"):
            raise
        raise AwsError(Trouble.NOT_INSTALLED, NOT_INSTALLED) from None

    return Questions(AwsClients(profile, asks_instance=asks_instance), now_ns=now_ns, wait=wait)


class AwsSource:
    """Asks AWS for the facts of one region, in daemon threads."""

    def __init__(
        self,
        cache: FactCache,
        *,
        profile: str = "",
        asks_instance: bool = False,
        kinds: frozenset[FactKind] = EVERYTHING,
        clock: Clock | None = None,
        opener: Callable[[Callable[[], int], Wait], Questions] | None = None,
    ) -> None:
        """Prepare to ask.

        Args:
            profile: ``--profile``; empty for the default chain.
            asks_instance: Whether the EC2 instance's metadata service (IMDS) may provide credentials.
            kinds: Facts to ask for; the others are reported as off.
        """
        self._cache = cache
        self._profile = profile
        self._kinds = tuple(kind for kind in FactKind if kind in kinds)
        self._clock = clock or SystemClock()
        self._opener = opener or partial(_open, profile, asks_instance=asks_instance)
        self._questions: Questions | None = None
        self._due_ns: dict[FactKind, int] = {}
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._woken = threading.Event()
        self._wants_more = threading.Event()
        self._region = ""
        self._news = AwsNews(NO_FACTS, self._blank_statuses())

    def start(self, region: str = "") -> None:
        """Begin to ask, and return at once.

        Args:
            region: The cluster's; empty falls back to the AWS configuration's.
        """
        self._region = region
        if self._kinds:
            threading.Thread(target=self._run, name="aws-facts", daemon=True).start()

    def use_region(self, region: str) -> None:
        """Change the region, as when the first node reveals it; the same region changes nothing."""
        with self._lock:
            if region == self._region:
                return
            self._region = region
            self._due_ns = {}
            self._news = AwsNews(NO_FACTS, self._blank_statuses())
        self._woken.set()

    def refresh(self) -> None:
        """Refresh expired facts and retry failed ones at once."""
        self._wants_more.set()
        self._woken.set()

    def stop(self) -> None:
        """Ask no more; a request under way is left to its time-out in a daemon thread."""
        self._stopped.set()
        self._woken.set()
        self._hang_up()

    def latest(self) -> AwsNews:
        """Return the known facts; cheap, from any thread."""
        return self._news

    def step(self) -> float:
        """Do everything that is due, and return the seconds until something is."""
        if region := self._region_or_empty():
            self._load(region)
            if self._wants_more.is_set():
                self._wants_more.clear()
                statuses = self._news.statuses
                stale = [kind for kind in self._kinds if statuses[kind].phase is not FactPhase.LIVE]
                self._due_ns.update(dict.fromkeys(stale, 0))
            due = [kind for kind in self._kinds if self._due_ns.get(kind, 0) <= self._clock.now_ns()]
            if due and self._may_ask(region, due):
                self._ask_all(region, due)
        next_ns = min((self._due_ns.get(kind, 0) for kind in self._kinds), default=0)
        seconds = (next_ns - self._clock.now_ns()) / NS_PER_SECOND
        return min(LONGEST_REST_SECONDS, max(1.0, seconds))

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._woken.clear()
            try:
                seconds = self.step()
            except Exception as error:  # noqa: BLE001  a thread that dies would leave prices to grow old in silence
                self._fail(self._region, self._kinds, _fault(error))
                seconds = LONGEST_REST_SECONDS
            self._woken.wait(seconds)

    def _blank_statuses(self) -> Mapping[FactKind, FactStatus]:
        waiting, off = FactStatus(phase=FactPhase.WAITING), FactStatus(phase=FactPhase.OFF, sentence="not asked for")
        return MappingProxyType({kind: waiting if kind in self._kinds else off for kind in FactKind})

    def _region_or_empty(self) -> str:
        """Return the region to ask about; empty if it is unknown."""
        if self._region:
            return self._region
        try:
            region = self._open_questions().region()
        except AwsError as error:
            self._fail("", self._kinds, error)
            return ""
        if region:
            self.use_region(region)
        else:
            self._fail("", self._kinds, AwsError(Trouble.NO_REGION, NO_REGION))
        return self._region

    def _hang_up(self) -> None:
        questions, self._questions = self._questions, None
        if questions is not None:
            questions.close()

    def _open_questions(self) -> Questions:
        if self._questions is None:
            self._questions = self._opener(self._clock.now_ns, self._stopped.wait)
        return self._questions

    def _load(self, region: str) -> None:
        """Load facts from the cache that were not loaded yet."""
        for kind in self._kinds:
            if kind in self._due_ns:
                continue
            fact: Dated[Any] | None = self._cache.load(cache_name(kind, region, self._profile), RULES[kind].shape)
            if fact is None or fact.as_of_ns > self._clock.now_ns():
                self._due_ns[kind] = 0
                continue
            is_fresh = _holds_until_ns(kind, fact) > self._clock.now_ns()
            phase = FactPhase.LIVE if is_fresh else FactPhase.CACHED
            sentence = "" if is_fresh else "from an earlier run; being updated"
            self._learn(region, kind, fact, FactStatus(phase=phase, sentence=sentence, as_of_ns=fact.as_of_ns))

    def _may_ask(self, region: str, due: list[FactKind]) -> bool:
        """Find out who we are, unless that is known; without credentials nothing else is worth asking."""
        try:
            questions = self._open_questions()
            if not self._news.account:
                account = questions.account(region)
                with self._lock:
                    self._news = msgspec.structs.replace(self._news, account=account)
        except AwsError as error:
            if error.trouble in ACCOUNT_WIDE:
                self._fail(region, due, error)
                return False
            # In an isolated VPC there may be a way to EC2 and none to STS.
        return True

    def _ask_all(self, region: str, due: list[FactKind]) -> None:
        queue = deque(due)
        threads = [
            threading.Thread(target=self._ask_some, args=(region, queue), name=f"aws-facts-{number}", daemon=True)
            for number in range(min(THREADS, len(due)))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _ask_some(self, region: str, queue: deque[FactKind]) -> None:
        while not self._stopped.is_set():
            try:
                kind = queue.popleft()
            except IndexError:
                return
            try:
                value = self._open_questions().ask(kind, region)
            except AwsError as error:
                self._fail(region, [kind], error)
                continue
            except Exception as error:  # noqa: BLE001  the other facts can still be read
                self._fail(region, [kind], _fault(error))
                continue
            fact = Dated(value, self._clock.now_ns())
            self._cache.store(cache_name(kind, region, self._profile), fact)
            self._learn(region, kind, fact, FactStatus(phase=FactPhase.LIVE, as_of_ns=fact.as_of_ns))

    def _learn(self, region: str, kind: FactKind, fact: Dated[Any], status: FactStatus) -> None:
        with self._lock:
            if region != self._region:
                return
            self._due_ns[kind] = _holds_until_ns(kind, fact)
            facts = msgspec.structs.replace(self._news.facts, region=region, **{RULES[kind].field: fact})
            self._put(facts, {kind: status})

    def _fail(self, region: str, kinds: list[FactKind] | tuple[FactKind, ...], error: AwsError) -> None:
        retry_at_ns = self._clock.now_ns() + RETRY_SECONDS[error.trouble] * NS_PER_SECOND
        with self._lock:
            if error.trouble in ACCOUNT_WIDE:
                # Only a new session reads the files of a new login.
                self._hang_up()
                self._news = msgspec.structs.replace(self._news, account="")
            if region != self._region:
                return
            self._due_ns.update(dict.fromkeys(kinds, retry_at_ns))
            self._put(self._news.facts, {kind: self._failed(kind, error, retry_at_ns) for kind in kinds})

    def _failed(self, kind: FactKind, error: AwsError, retry_at_ns: int) -> FactStatus:
        fact: Dated[Any] | None = getattr(self._news.facts, RULES[kind].field)
        return FactStatus(
            phase=FactPhase.UNAVAILABLE if fact is None else FactPhase.CACHED,
            sentence=str(error),
            as_of_ns=0 if fact is None else fact.as_of_ns,
            retry_at_ns=retry_at_ns,
        )

    def _put(self, facts: RegionFacts, statuses: Mapping[FactKind, FactStatus]) -> None:
        merged = MappingProxyType({**self._news.statuses, **statuses})
        self._news = msgspec.structs.replace(self._news, facts=facts, statuses=merged)


def _fault(error: Exception) -> AwsError:
    during = "asking AWS"
    crash.record(error, during)
    return AwsError(Trouble.OTHER, f"internal error while {during}: {crash.sentence(error)}")


def _holds_until_ns(kind: FactKind, fact: Dated[Any]) -> int:
    return fact.as_of_ns + RULES[kind].holds_seconds * NS_PER_SECOND
