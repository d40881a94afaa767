"""Asks for a proportion between NodePools, and opens the what-if with what would keep it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from karptui.views.row import Tone

if TYPE_CHECKING:
    from karptui.screens.frame import FrameScreen


def ask_for_proportion(screen: FrameScreen, pools: Sequence[str]) -> None:
    """Ask for the shares of some NodePools; the answer opens the what-if.

    Args:
        screen: where it is asked.
        pools: names of the NodePools that are offered, at least two that some pods could go to alike.
    """
    from karptui.screens.dialogs import AskScreen  # noqa: PLC0415 - only when asked for
    from karptui.views.pools.proportion import (  # noqa: PLC0415 - brings the engines with it
        first_shares,
        hint_of,
        proportion_opening,
        shared_pods,
    )
    from karptui.whatif.proportion import ProportionError, parse_shares  # noqa: PLC0415 - as above

    host, view = screen.host, screen.host.view
    overlap = view.analysis.overlap if view.analysis is not None else None
    if overlap is None:
        screen.say("which pods several NodePools could take is still being worked out", Tone.ACTIVE)
        return
    if len(pools) < 2 or not shared_pods(pools, overlap):
        screen.say("no pod could go to another NodePool as well: there is nothing to share out", Tone.MUTED)
        return

    def refused(text: str) -> str:
        try:
            proportion_opening(parse_shares(text, pools, host.view.state.nodepools), host.view)
        except ProportionError as error:
            return str(error)
        return ""

    def answered(text: str | None) -> None:
        if text is not None:
            host.open_whatif(proportion_opening(parse_shares(text, pools, host.view.state.nodepools), host.view))

    title = f"Proportion of {' and '.join(pools)}"
    asked = AskScreen(title, value=first_shares(pools, view), hint=hint_of(pools, view), check=refused)
    screen.app.push_screen(asked, answered)
