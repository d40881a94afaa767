"""A history in steps: nodes, cost, requests, launches, removals, evictions and savings of each NodePool."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from karptui.aws.prices import NodePrices
from karptui.decode.errors import DecodeError
from karptui.decode.kinds import Kind
from karptui.decode.reader import UNREADABLE, KindReader
from karptui.disruption.churn.life import FAILED, Life, Removal, lives
from karptui.disruption.churn.moves import is_eviction
from karptui.karpenter.inventory import GoneClaim
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodepool import NodePool
from karptui.kube.group import group_by
from karptui.kube.objects import Event
from karptui.kube.timestamps import MINUTE_NS, PastTime
from karptui.session.history_marks import LAUNCH_REFUSED
from karptui.session.predictions import PredictionKind, Share, shares_of_marks
from karptui.sources.history.store import Change, History, Sample, Session

MOST_STEPS: Final = 24
_STEPS: Final = tuple(minutes * MINUTE_NS for minutes in (1, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440))
_KINDS: Final = (str(Kind.NODECLAIM), str(Kind.EVENT), str(Kind.POD))
_CONSOLIDATED: Final = frozenset({Removal.UNDERUTILIZED, Removal.EMPTY})
_CLAIMS: Final = KindReader(Kind.NODECLAIM)
_EVENTS: Final = KindReader(Kind.EVENT)

PriceOf = Callable[[Life], float | None]


class HistoryStep(msgspec.Struct, frozen=True, kw_only=True):
    """A NodePool, or the whole cluster, in a part of the time; averages of its samples, None without any."""

    from_ns: int
    to_ns: int
    pool: str | None = None
    """None is the whole cluster; empty is the nodes that Karpenter does not manage."""
    nodes: float | None = None
    pods: float | None = None
    price_per_hour: float | None = None
    held_per_hour: float | None = None
    cpu_requested: float | None = None
    """Share of the allocatable cpu, 0 to 1."""
    memory_requested: float | None = None
    cpu_used: float | None = None
    memory_used: float | None = None
    pending_pods: int | None = None
    """Highest number; None for a NodePool."""
    launches: int | None = None
    """None if nothing was recorded in this time, like all that follow."""
    removals: tuple[tuple[str, int], ...] | None = None
    """By reason, most frequent first."""
    evictions: int | None = None
    saved_per_hour: float | None = None
    """Price of the nodes that consolidation removed minus their replacements; None also if a price is unknown."""
    known_saved: float = 0.0
    """The same without the nodes whose price is unknown."""
    unpriced: int = 0
    """Number of those nodes."""
    refused: tuple[tuple[str, int], ...] | None = None
    """Refused launches by offering (``TYPE/ZONE/CAPACITY_TYPE``), most frequent first."""

    @property
    def key(self) -> str:
        """Identity of the row."""
        return f"{self.from_ns}/{'*' if self.pool is None else f'pool/{self.pool}'}"


class HistoryReport(msgspec.Struct, frozen=True):
    """A time of a history in steps: rows of the whole cluster, and of each NodePool."""

    steps: tuple[HistoryStep, ...]
    pools: tuple[str, ...]
    predictions: Mapping[PredictionKind, Share]
    """Share of karptui's predictions that came true."""


class RecordedHistory(msgspec.Struct, frozen=True):
    """Contents of a history."""

    path: Path
    sessions: tuple[Session, ...]
    predictions: Mapping[PredictionKind, Share]


class Past(msgspec.Struct, frozen=True):
    """What happened in a time of a history."""

    sessions: tuple[Session, ...]
    samples: tuple[Sample, ...]
    lives: tuple[Life, ...]
    evictions: tuple[tuple[int, str], ...]
    """Instant and NodePool of each; an empty name if the pod's node is unknown."""
    refused: tuple[tuple[int, str, str], ...]
    """Instant, NodePool and offering of each."""
    predictions: Mapping[PredictionKind, Share]
    """Share of karptui's predictions that came true."""


def default_step(from_ns: int, to_ns: int) -> int:
    """Return the shortest usual step that makes at most 24 rows."""
    days = _STEPS[-1] * -(-(to_ns - from_ns) // (_STEPS[-1] * MOST_STEPS))
    return next((step for step in _STEPS if step * MOST_STEPS >= to_ns - from_ns), days)


def past_of(history: History, from_ns: int, to_ns: int, pools: Mapping[str, NodePool]) -> Past:
    """Read a time of a history.

    Raises:
        HistoryError: if it is damaged.
    """
    claims, gone, events, pods = _walked(history, from_ns, to_ns)
    all_lives = lives(claims.values(), gone, events.values(), pools)
    observed = tuple(life for life in all_lives if not life.is_by_events and life.why not in FAILED)
    pool_of = {life.node: life.pool for life in all_lives if life.node}
    evictions = tuple((at_ns, pool_of.get(_node_of(pods.get(pod)), "")) for at_ns, pod in _evicted(events.values()))
    marks = (mark for mark in history.marks(from_ns, to_ns) if mark.cause == LAUNCH_REFUSED)
    refused = tuple((mark.at_ns, mark.pool, mark.name) for mark in marks)
    predictions = shares_of_marks(history.predictions(from_ns, to_ns))
    return Past(history.sessions(), history.samples(from_ns, to_ns), observed, evictions, refused, predictions)


def _walked(
    history: History, from_ns: int, to_ns: int
) -> tuple[dict[str, NodeClaim], list[GoneClaim], dict[str, Event], dict[str, Change]]:
    """Return the NodeClaims at the end, the removed NodeClaims, all events, and the last state of each pod."""
    claims: dict[str, NodeClaim] = {}
    gone: list[GoneClaim] = []
    events: dict[str, Event] = {}
    pods: dict[str, Change] = {}

    def take(change: Change) -> None:
        if change.is_deletion:
            if change.kind == Kind.NODECLAIM and change.key in claims:
                gone.append(GoneClaim(claims.pop(change.key), change.at_ns))
        elif change.kind == Kind.POD:
            pods[change.key] = change
        elif change.kind in _KINDS:
            reader, into = (_CLAIMS, claims) if change.kind == Kind.NODECLAIM else (_EVENTS, events)
            try:
                into[change.key] = reader.decode(change.manifest)
            except (DecodeError, *UNREADABLE):
                return  # left out on screens as well

    began = [session.from_ns for session in history.sessions() if from_ns < session.from_ns <= to_ns]
    for start_ns, end_ns in zip([from_ns, *began], [*began, to_ns], strict=True):
        there = history.objects_at(start_ns)
        went = [name for name in claims if (str(Kind.NODECLAIM), name) not in there]
        gone += [GoneClaim(claims.pop(name), start_ns) for name in went]
        for change in there.values():
            take(change)
        for change in history.changes(start_ns, end_ns, _KINDS):
            take(change)
    return claims, gone, events, pods


def _evicted(events: Iterable[Event]) -> Iterator[tuple[int, str]]:
    first: dict[str, tuple[int, str]] = {}
    for event in events:
        if is_eviction(event):
            name = f"{event.involved_namespace}/{event.involved_name}"
            at = event.first_ns, name
            key = event.involved_uid or name
            first[key] = min(first.get(key, at), at)
    yield from sorted(first.values())


class _Spec(msgspec.Struct):
    node_name: str = msgspec.field(name="nodeName", default="")


class _Pod(msgspec.Struct):
    spec: _Spec = msgspec.field(default_factory=_Spec)


def _node_of(pod: Change | None) -> str:
    if pod is None:
        return ""
    try:
        return msgspec.json.decode(pod.manifest, type=_Pod).spec.node_name
    except msgspec.MsgspecError:
        return ""


def report_of(history: History, starts: range, nodepools: Mapping[str, NodePool], prices: NodePrices) -> HistoryReport:
    """Return a time of a history in steps.

    Args:
        starts: Begin of each step; the last step ends with the range.

    Raises:
        HistoryError: if the history is damaged.
    """
    past = past_of(history, starts.start, starts.stop, nodepools)
    names = tuple(sorted({*nodepools, *(sample.pool for sample in past.samples)} - {""}))

    steps = steps_of(past, starts, (None, *names), partial(price_of_life, prices))
    return HistoryReport(steps, names, past.predictions)


def price_of_life(prices: NodePrices, life: Life) -> float | None:
    """Return the price per hour of a node that was there; None if it is unknown."""
    price = prices.price(life.instance_type, life.zone, life.capacity_type) if life.instance_type else None
    return price.per_hour if price is not None else None


def read_report(
    path: Path, since: PastTime, until_ns: int | None, nodepools: Mapping[str, NodePool], prices: NodePrices
) -> HistoryReport:
    """Return a time of a history in at most 24 steps, by default up to its end.

    Raises:
        HistoryError: as of `report_of`, or if nothing of the time is recorded.
    """
    with closing(History(path)) as history:
        to_ns = history.end_ns() if until_ns is None else until_ns
        from_ns, to_ns = history.recorded_span(since(to_ns), to_ns)
        return report_of(history, range(from_ns, to_ns, default_step(from_ns, to_ns)), nodepools, prices)


def recorded(path: Path) -> RecordedHistory:
    """Return the contents of a history.

    Raises:
        HistoryError: if it cannot be read.
    """
    with closing(History(path)) as history:
        marks = history.predictions(0, history.end_ns())
        return RecordedHistory(path, history.sessions(), shares_of_marks(marks))


def steps_of(past: Past, starts: range, pools: Sequence[str | None], price_of: PriceOf) -> tuple[HistoryStep, ...]:
    """Return a row for each step and NodePool; None is the whole cluster.

    Args:
        starts: Begin of each step; the last step ends with the range.
    """
    samples: dict[tuple[int, str | None], list[Sample]] = {}
    for sample in past.samples:
        start_ns = sample.at_ns - 1 - (sample.at_ns - 1 - starts.start) % starts.step
        for pool in (None, sample.pool):
            samples.setdefault((start_ns, pool), []).append(sample)
    return tuple(
        _step(
            past,
            start_ns,
            min(start_ns + starts.step, starts.stop),
            pool,
            taken=samples.get((start_ns, pool), ()),
            price_of=price_of,
        )
        for start_ns in starts
        for pool in pools
    )


def _step(
    past: Past, from_ns: int, to_ns: int, pool: str | None, *, taken: Sequence[Sample], price_of: PriceOf
) -> HistoryStep:
    by_instant = group_by(taken, lambda sample: sample.at_ns)
    instants = list(by_instant.values())

    def mean(read: Callable[[Sample], float | None]) -> float | None:
        sums = [sum_if_known(map(read, samples)) for samples in instants]
        known_sums = [value for value in sums if value is not None]
        return sum(known_sums) / len(known_sums) if known_sums else None

    def share(part: Callable[[Sample], float | None], whole: Callable[[Sample], float]) -> float | None:
        amount, capacity = mean(part), mean(whole)
        return amount / capacity if amount is not None and capacity else None

    step = HistoryStep(
        from_ns=from_ns,
        to_ns=to_ns,
        pool=pool,
        nodes=mean(lambda sample: sample.nodes),
        pods=mean(lambda sample: sample.pods),
        price_per_hour=mean(lambda sample: sample.price_per_hour if sample.nodes else sample.price_per_hour or 0.0),
        held_per_hour=mean(lambda sample: sample.held_per_hour),
        cpu_requested=share(lambda sample: sample.cpu_requested_millis, lambda sample: sample.cpu_allocatable_millis),
        memory_requested=share(
            lambda sample: sample.memory_requested_bytes, lambda sample: sample.memory_allocatable_bytes
        ),
        cpu_used=share(
            lambda sample: _used(sample, sample.cpu_used_millis), lambda entry: entry.cpu_allocatable_millis
        ),
        memory_used=share(
            lambda sample: _used(sample, sample.memory_used_bytes), lambda entry: entry.memory_allocatable_bytes
        ),
        pending_pods=max((sum(entry.pending_pods for entry in samples) for samples in instants), default=None)
        if pool is None
        else None,
    )
    if not any(session.from_ns < to_ns and from_ns < session.to_ns for session in past.sessions):
        return step
    return _with_events(step, past, price_of)


def _with_events(step: HistoryStep, past: Past, price_of: PriceOf) -> HistoryStep:
    def is_in(at_ns: int, pool: str) -> bool:
        return step.from_ns < at_ns <= step.to_ns and step.pool in (None, pool)

    removed = [life for life in past.lives if is_in(life.removed_ns, life.pool)]
    launched = [life for life in past.lives if is_in(life.created_ns, life.pool)]
    saved = [price_of(life) for life in removed if life.why in _CONSOLIDATED]
    spent = [price_of(life) for life in launched if life.made_for in _CONSOLIDATED]
    gained, paid = sum_if_known(saved), sum_if_known(spent)
    refused = Counter(offering for at_ns, pool, offering in past.refused if is_in(at_ns, pool))
    return msgspec.structs.replace(
        step,
        launches=len(launched),
        removals=tuple(Counter(str(life.why) for life in removed).most_common()),
        evictions=sum(is_in(at_ns, pool) for at_ns, pool in past.evictions),
        known_saved=sum(filter(None, saved)) - sum(filter(None, spent)),
        unpriced=(*saved, *spent).count(None),
        saved_per_hour=gained - paid if gained is not None and paid is not None else None,
        refused=tuple(refused.most_common()),
    )


def _used(sample: Sample, amount: int | None) -> int | None:
    return amount if sample.nodes else 0


def sum_if_known(values: Iterable[float | None]) -> float | None:
    """Return a sum; None if a part is unknown."""
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total
