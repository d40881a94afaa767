"""Content of the top bar: cluster, data health, held cost, Karpenter's version."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from karptui.config import Banner, Config
from karptui.decode.kinds import Kind
from karptui.session.answers import Overview, PastMoment, PlayMoment
from karptui.session.costs import SETTLES_NS, Held, SteadyHeld
from karptui.session.feed import Feed
from karptui.session.nodes import PodAccess
from karptui.sources.source import Phase
from karptui.views.moments import past_health
from karptui.views.nodes.sentences import cluster_facts
from karptui.views.row import Tone
from karptui.views.sources import Health, overall
from karptui.views.top_bar import TopBarValues, version_fact

if TYPE_CHECKING:
    from karptui.session.protocol import Session


class TopBarFacts:
    """Builds the top bar; the held cost stays the same while it is recomputed."""

    def __init__(self, feed: Feed, session: Session, config: Config) -> None:
        self._feed, self._session, self._config = feed, session, config
        self._held, self._held_of = SteadyHeld(), feed.follower

    def values(self, moment: PlayMoment | PastMoment | None, live_now_ns: int) -> TopBarValues:
        """Return the content of the top bar.

        Args:
            live_now_ns: The current time, whatever moment is shown.
        """
        follower, overview = self._feed.follower, self._session.overview()
        settings = self._config.context(follower.title)
        health = overall(overview.statuses.values(), self._feed.now_ns())
        if follower.trouble:
            health = Health(f"✖ {follower.trouble}", "✖ not up to date", Tone.FAULT)
        if isinstance(moment, PastMoment):
            health = past_health(moment, live_now_ns)
        elif moment is not None:
            health = Health("what may become, no more: esc goes back", "esc goes back", Tone.ACTIVE)
        if follower.failure:
            health = Health(f"✖ {follower.failure}", "✖ cannot start", Tone.FAULT)
        label = " ".join(filter(None, (follower.caution, settings.label)))
        banner = settings.banner
        if follower.caution and banner is Banner.CALM:
            banner = Banner.CAUTION
        held, is_steady = self.held()
        totals = msgspec.structs.replace(overview.totals, held=held)
        if _is_loading(overview, Kind.POD) and not totals.pods:
            totals = msgspec.structs.replace(totals, access=PodAccess.PENDING)
        is_empty = _is_loading(overview, Kind.NODE) and not totals.nodes
        facts = () if is_empty else cluster_facts(totals, is_held_steady=is_steady)
        return TopBarValues(follower.title, banner, label, facts, health, version_fact(overview.karpenter_version))

    def held(self) -> tuple[Held | None, bool]:
        """Return the held cost of all nodes, without flicker, and whether it is current."""
        follower, overview = self._feed.follower, self._session.overview()
        held, analysed = overview.totals.held, overview.analysed
        if held is None:
            return None, True
        is_of_other_prices = analysed is not None and analysed.generation < follower.priced_from
        if is_of_other_prices:
            held = Held(waiting=1)
        if self._held_of is not follower or is_of_other_prices:
            self._held, self._held_of = SteadyHeld(), follower
        is_still = all(status.phase == Phase.OFFLINE for status in overview.statuses.values())
        shown, is_steady = self._held.shown(held, self._feed.now_ns(), settles_ns=0 if is_still else SETTLES_NS)
        return (shown if shown is not None else Held(waiting=1)), is_steady


def _is_loading(overview: Overview, kind: Kind) -> bool:
    """Return whether a kind is being loaded, so that a count of 0 is no fact."""
    status = overview.statuses.get(kind)
    return status is None or status.phase in (Phase.CONNECTING, Phase.SYNCING)
