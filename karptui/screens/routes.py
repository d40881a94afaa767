"""Functions that lead from screens to other screens."""

# ruff: noqa: PLC0415 - rarely used modules are imported on demand

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from karptui.decode.kinds import Kind
from karptui.screens.destinations import ToExplanation, ToNode, ToPool, ToText
from karptui.session.answers import Proportion
from karptui.views.row import Tone

if TYPE_CHECKING:
    from karptui.screens.frame import FrameScreen


# Text


def show_made_text(screen: FrameScreen, title: str, make: Callable[[], str], language: str | None = None) -> None:
    """Show a text that is there at once."""

    async def fetch() -> str:
        return make()

    screen.host.go(ToText(title, fetch, language))


def show_yaml(screen: FrameScreen, kind: str, key: str) -> None:
    """Show an object as the API server gives it."""
    host = screen.host
    screen.host.go(ToText(f"{kind} {key}", lambda: host.cluster.fetch_raw(kind, key), "yaml"))


def show_description(screen: FrameScreen, kind: str, key: str) -> None:
    """Show what karptui knows of an object."""
    host = screen.host
    show_made_text(screen, f"{kind} {key}", lambda: host.session.describe(kind, key, host.now_ns()))


def show_object(screen: FrameScreen, kind: str, key: str) -> None:
    """Show a node or pool at length, a pod's description, where settings come from, and else the YAML."""
    session = screen.host.session
    if kind == Kind.NODE and (node_key := session.node_key(kind, key)):
        screen.host.go(ToNode(node_key))
    elif kind == Kind.NODEPOOL and session.has_object(kind, key):
        screen.host.go(ToPool(key))
    elif kind == "Setting":
        screen.host.run_command("sources")
    elif kind == Kind.POD:
        show_description(screen, kind, key)
    else:
        show_yaml(screen, kind, key)


def show_line_target(screen: FrameScreen, kind: str, key: str) -> None:
    """Show the object of a what-if line: a pending pod, a node or a NodePool."""
    if kind in (Kind.POD, Kind.NODE, Kind.NODECLAIM, Kind.NODEPOOL):
        screen.host.go(ToExplanation(kind, key))
    else:
        show_object(screen, kind, key)


# What-ifs


def ask_for_proportion(screen: FrameScreen, pools: Sequence[str]) -> None:
    """Ask for shares of NodePools, and open the what-if with the change that keeps them."""
    from karptui.screens.dialogs import LineScreen

    def asked(shares: str | None = None) -> Proportion:
        return screen.host.session.proportion(pools, shares)

    proportion = asked()
    if not proportion.is_known:
        screen.say("the pods that several NodePools match are still being computed", Tone.ACTIVE)
        return
    if len(pools) < 2 or not proportion.pods:
        screen.say("no pod matches two NodePools: there is nothing to share", Tone.MUTED)
        return

    def answered(text: str | None) -> None:
        opening = asked(text).opening if text is not None else None
        if opening is not None:
            screen.host.open_whatif(opening)

    title = f"Proportion of {' and '.join(pools)}"
    dialog = LineScreen(title, value=proportion.first, hint=proportion.hint, check=lambda text: asked(text).problem)
    screen.app.push_screen(dialog, answered)
