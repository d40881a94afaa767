"""Moments of forecasts and of the history as read-only clusters that every screen can show."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias

import msgspec

from karptui.aws.evidence import Evidence
from karptui.clock import Clock, FrozenClock
from karptui.karpenter.inventory import Inventory
from karptui.kube.objects import Condition
from karptui.kube.units import clock_text
from karptui.session.analyst import Analyst
from karptui.session.answers import PastMoment, PastStep, PlayMoment, SwitchResult
from karptui.session.follower import ClusterFollower
from karptui.sources.evidence import EvidenceSource
from karptui.sources.source import LocalSource, Mailbox, Source, SourceError

if TYPE_CHECKING:
    from karptui.forward.journal import Journal
    from karptui.whatif.situation import Situation

_MOST_KEPT: Final = 8
"""Plays whose moments can be opened: the last ones."""


class CachedPlay(msgspec.Struct, frozen=True, eq=False):
    """The data to show a cluster at any moment of a forecast."""

    beginning: Inventory
    journal: Journal
    evidence: Evidence
    """Instance types, prices and settings, with edited settings."""
    has_outage: bool = False
    """Whether it was played with offerings taken out, which evidence does not know."""


class PlayCache:
    """The last plays, by number."""

    def __init__(self) -> None:
        self._plays: dict[int, CachedPlay] = {}
        self._number = 0

    def keep(self, play: CachedPlay) -> int:
        """Keep a play in place of the oldest, and return its number."""
        self._number += 1
        self._plays[self._number] = play
        while len(self._plays) > _MOST_KEPT:
            del self._plays[next(iter(self._plays))]
        return self._number

    def get(self, number: int) -> CachedPlay | None:
        """Return a forecast; None if it is no longer cached."""
        return self._plays.get(number)


class MomentSource(LocalSource):
    """A cluster at a moment of a play; its title is the name of the real cluster."""

    def __init__(self, title: str, inventory: Inventory, at_ns: int, *, has_outage: bool = False) -> None:
        self.title = title
        self.caution = f"simulated to {clock_text(at_ns)}{', outage over' if has_outage else ''}"
        self._inventory = inventory
        self._at_ns = at_ns

    def start(self, mailbox: Mailbox) -> None:
        """Put every object into the mailbox."""
        from karptui.sources.snapshot.source import put_all  # noqa: PLC0415 - only when asked for

        put_all(mailbox, self._inventory, self._at_ns)

    def fetch_object(self, kind: str, key: str) -> dict[str, Any]:
        """Refuse: no API server has objects that are played."""
        raise SourceError(f"{kind} {key} exists only in the forecast: no API server has it; d describes it")


Moment: TypeAlias = PlayMoment | PastMoment


class Feed(Protocol):
    """Whose cluster is on the screens."""

    follower: ClusterFollower
    clock: Clock


class _Shown(NamedTuple):
    follower: ClusterFollower
    clock: Clock
    moment: Moment | None


class MomentSessions:
    """Moments in place of the cluster that is followed, which goes on meanwhile; one within the other."""

    def __init__(self, feed: Feed, kept: PlayCache, analyst_of: Callable[[], Analyst]) -> None:
        self._feed = feed
        self._kept = kept
        self._analyst_of = analyst_of
        self._outer: list[_Shown] = []
        self.moment: Moment | None = None
        """The shown moment; None for the current cluster."""

    @property
    def live(self) -> ClusterFollower:
        """The follower of the current cluster, whatever is shown."""
        return self._outer[0].follower if self._outer else self._feed.follower

    def history(self) -> Path | SwitchResult:
        """Return the file with the current cluster's history, or why there is none."""
        return history_of(self.live)

    def live_now_ns(self) -> int:
        """Return the current time, whatever is shown: nanoseconds since the epoch."""
        return (self._outer[0].clock if self._outer else self._feed.clock).now_ns()

    async def poll_live(self) -> None:
        """Merge the current cluster's changes while a moment is shown: its history needs them."""
        if self._outer:
            await asyncio.to_thread(self.live.poll, self.live_now_ns())

    async def enter(self, moment: PlayMoment) -> SwitchResult:
        """Show a moment of a forecast instead, until `leave`."""
        outer = self._current()
        session = await self._build(lambda: self._session_at(moment))
        if session is None:
            return SwitchResult.NOT_KEPT
        return self._enter(session, moment, outer, lambda: self._outer.append(outer))

    async def step(self, by: int) -> SwitchResult:
        """Show a later moment of the same play, or an earlier one; of the history if no play is shown."""
        if not isinstance(self.moment, PlayMoment):
            return await self.go_past(PastStep(by=by))
        moment, before = self.moment.stepped(by), self._current()
        session = await self._build(lambda: self._session_at(moment)) if moment is not None else None
        if moment is None or session is None:
            return SwitchResult.NOT_KEPT
        return self._enter(session, moment, before, before.follower.stop)

    async def go_past(self, step: PastStep) -> SwitchResult:
        """Show a moment of the history, in place of every other moment.

        Raises:
            HistoryError: if the history cannot be read, with a message for the user.
        """
        before, live = self._current(), self.live
        moments = [self.moment, *(outer.moment for outer in reversed(self._outer))]
        past = next((moment for moment in moments if isinstance(moment, PastMoment)), None)
        result: SwitchResult | PastMoment = SwitchResult.NOT_RECORDED

        def past_session() -> ClusterFollower | None:
            nonlocal result
            path = history_of(live)
            if isinstance(path, SwitchResult):
                result = path
                return None
            from karptui.session.past import open_moment  # noqa: PLC0415 - only when asked for

            now_ns = self.live_now_ns()
            from_ns = (past.asked_ns or past.at_ns) if past is not None else now_ns
            opened = open_moment(path, step, from_ns, now_ns, before=before.follower.source, title=live.title)
            if isinstance(opened, SwitchResult):
                result = opened
                return None
            result, source = opened
            evidence = msgspec.structs.replace(source.past.evidence, price_settings=live.view.evidence.price_settings)
            usage = source.past.live_usage
            return self._started(source, EvidenceSource(evidence, recorded_usage=usage), result.at_ns)

        def end_others() -> None:
            self.end()
            self._outer.append(self._current())

        session = await self._build(past_session)
        if isinstance(result, SwitchResult):
            return result
        assert session is not None, "a moment was opened"
        return self._enter(session, result, before, end_others)

    def leave(self) -> bool:
        """Return to the view before; return whether there was one."""
        if not self._outer:
            return False
        self._feed.follower.stop()
        self._show(self._outer.pop())
        return True

    def end(self) -> None:
        """Return to the current cluster."""
        while self.leave():
            pass

    def _current(self) -> _Shown:
        return _Shown(self._feed.follower, self._feed.clock, self.moment)

    def _show(self, shown: _Shown) -> None:
        self._feed.follower, self._feed.clock, self.moment = shown

    def _enter(
        self, session: ClusterFollower, moment: Moment, before: _Shown, make_way: Callable[[], None]
    ) -> SwitchResult:
        """Show a moment; if something else is shown by now, its session is not needed."""
        if self._feed.follower is not before.follower:
            session.stop()
            return SwitchResult.OVERTAKEN
        make_way()
        self._show(_Shown(session, FrozenClock(moment.at_ns), moment))
        return SwitchResult.SHOWN

    async def _build(self, make: Callable[[], ClusterFollower | None]) -> ClusterFollower | None:
        """Build the cluster of a moment in a thread; if cancelled, it is stopped as soon as it is built."""
        making = asyncio.create_task(asyncio.to_thread(make))
        try:
            return await asyncio.shield(making)
        except asyncio.CancelledError:
            making.add_done_callback(_end)
            raise

    def _session_at(self, moment: PlayMoment) -> ClusterFollower | None:
        play = self._kept.get(moment.play)
        if play is None:
            return None
        inventory = with_drains(play.journal.at(play.beginning, moment.at_ns))
        source = MomentSource(self.live.title, inventory, moment.at_ns, has_outage=play.has_outage)
        return self._started(source, EvidenceSource(play.evidence), 0)

    def _started(self, source: Source, evidence: EvidenceSource, now_ns: int) -> ClusterFollower:
        session = ClusterFollower(source, evidence=evidence, analyst=self._analyst_of())
        session.start()
        session.poll(now_ns)
        return session


def history_of(follower: ClusterFollower) -> Path | SwitchResult:
    """Return the file with a cluster's history, or why there is none; another process may write it."""
    if follower.tap is not None and follower.tap.path.exists():
        return follower.tap.path
    snapshot = getattr(follower.source, "snapshot", None)
    if snapshot is None:
        return SwitchResult.NOT_RECORDED
    path: Path | None = snapshot.history
    return path if path is not None else SwitchResult.NO_HISTORY


def _end(making: asyncio.Task[ClusterFollower | None]) -> None:
    if not making.cancelled() and making.exception() is None and (session := making.result()) is not None:
        session.stop()


def with_drains(inventory: Inventory) -> Inventory:
    """Return a forecast's cluster with Drained conditions: in forecasts drains begin at once."""
    claims = tuple(
        msgspec.structs.replace(
            claim,
            conditions=(*claim.conditions, Condition("Drained", "Unknown", "Draining", "Draining", claim.deletion_ns)),
        )
        if claim.is_deleting and claim.condition("Drained") is None
        else claim
        for claim in inventory.nodeclaims
    )
    return msgspec.structs.replace(inventory, nodeclaims=claims)


def lasting(evidence: Evidence, situation: Situation) -> Evidence:
    """Return the evidence that also holds at later moments of a forecast.

    Args:
        situation: The simulated cluster: edits may have changed Karpenter's settings and given types.
    """
    instance_types = situation.types.types
    is_given = evidence.instance_types is not None and not isinstance(instance_types, Mapping)
    return msgspec.structs.replace(
        evidence,
        settings=situation.settings,
        instance_types=tuple(instance_types) if is_given else evidence.instance_types,
        metrics_before=evidence.metrics,
    )
