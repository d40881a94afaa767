"""What the top bar says of a session: whose it is, how its data stands, what its nodes hold, which Karpenter runs."""

from __future__ import annotations

import msgspec

from karptui.config import Banner, Config
from karptui.session.border import PlayMoment
from karptui.session.costs import SETTLES_NS, Held, SteadyHeld
from karptui.session.feed import Feed
from karptui.sources.base import Phase
from karptui.views.nodes.sentences import cluster_facts
from karptui.views.row import Tone
from karptui.views.sources import Health, overall
from karptui.views.top_bar import TopBarValues, version_fact


class TopBarFacts:
    """Makes what the top bar shows; the sum that is held stands still while it is worked out anew."""

    def __init__(self, feed: Feed, config: Config) -> None:
        self._feed, self._config = feed, config
        self._held, self._held_of = SteadyHeld(), feed.session

    def values(self, moment: PlayMoment | None) -> TopBarValues:
        """Return what the top bar shows.

        Args:
            moment: The moment of a play that screens show; None for the cluster as it is.
        """
        session, overview = self._feed.session, self._feed.border.overview()
        settings = self._config.context(session.title)
        health = overall(overview.statuses.values(), self._feed.now_ns())
        if session.trouble:
            health = Health(f"✖ {session.trouble}", "✖ not up to date", Tone.FAULT)
        if moment is not None:
            health = Health("what may become, no more: esc goes back", "esc goes back", Tone.ACTIVE)
        if session.failure:
            health = Health(f"✖ {session.failure}", "✖ cannot start", Tone.FAULT)
        label = " ".join(filter(None, (session.caution, settings.label)))
        banner = settings.banner
        if session.caution and banner is Banner.CALM:
            banner = Banner.CAUTION
        held, is_steady = self.held()
        totals = msgspec.structs.replace(overview.totals, held=held)
        facts = cluster_facts(totals, is_held_steady=is_steady)
        return TopBarValues(session.title, banner, label, facts, health, version_fact(overview.karpenter_version))

    def held(self) -> tuple[Held | None, bool]:
        """Return what all nodes hold, as a sum that stands still, and whether it is that of this moment."""
        session, overview = self._feed.session, self._feed.border.overview()
        held, analysed = overview.totals.held, overview.analysed
        if held is None:
            return None, True
        is_of_other_prices = analysed is not None and analysed.generation < session.priced_from
        if is_of_other_prices:
            held = Held(waiting=1)
        if self._held_of is not session or is_of_other_prices:
            self._held, self._held_of = SteadyHeld(), session
        is_still = all(status.phase == Phase.OFFLINE for status in overview.statuses.values())
        shown, is_steady = self._held.shown(held, self._feed.now_ns(), settles_ns=0 if is_still else SETTLES_NS)
        return (shown if shown is not None else Held(waiting=1)), is_steady
