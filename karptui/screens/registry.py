"""The screens there are; a later one is one more entry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from karptui.widgets.tab_line import Tab

if TYPE_CHECKING:
    from karptui.screens.frame import FrameScreen


@dataclass(frozen=True, slots=True)
class ScreenEntry:
    """A screen with a key of its own."""

    name: str
    key: str
    title: str
    help: str
    """One line for help and the palette."""
    aliases: tuple[str, ...]
    """Other words for the command line."""
    load: Callable[[], FrameScreen]
    """Makes the screen; imports it only then."""
    short: str = ""
    """Title for when room is short."""


def _nodes() -> FrameScreen:
    from karptui.screens.nodes import NodesScreen  # noqa: PLC0415 - only what is shown is imported

    return NodesScreen()


def _pools() -> FrameScreen:
    from karptui.screens.pools import PoolsScreen  # noqa: PLC0415 - only what is shown is imported

    return PoolsScreen()


def _pods() -> FrameScreen:
    from karptui.screens.pods import PodsScreen  # noqa: PLC0415 - only what is shown is imported

    return PodsScreen()


def _pending() -> FrameScreen:
    from karptui.screens.pending import PendingScreen  # noqa: PLC0415 - only what is shown is imported

    return PendingScreen()


def _types() -> FrameScreen:
    from karptui.screens.types import PoolsOfTypesScreen  # noqa: PLC0415 - only what is shown is imported

    return PoolsOfTypesScreen()


def _blockers() -> FrameScreen:
    from karptui.screens.blockers import BlockersScreen  # noqa: PLC0415 - only what is shown is imported

    return BlockersScreen()


def _claims() -> FrameScreen:
    from karptui.screens.claims import ClaimsScreen  # noqa: PLC0415 - only what is shown is imported

    return ClaimsScreen()


def _budgets() -> FrameScreen:
    from karptui.screens.budgets import BudgetsScreen  # noqa: PLC0415 - only what is shown is imported

    return BudgetsScreen()


def _events() -> FrameScreen:
    from karptui.screens.events import EventsScreen  # noqa: PLC0415 - only what is shown is imported

    return EventsScreen()


def _advice() -> FrameScreen:
    from karptui.screens.advice import AdviceScreen  # noqa: PLC0415 - only what is shown is imported

    return AdviceScreen()


ENTRIES: Final = (
    ScreenEntry("nodes", "1", "Nodes", "Nodes and NodeClaims, and what pods ask of them", ("no", "node"), _nodes),
    ScreenEntry(
        "pools", "2", "Pools", "NodePools in the order they are tried: limits, types, overlap", ("np", "pool"), _pools
    ),
    ScreenEntry("claims", "3", "Claims", "NodeClaims: their life, drift, expiry and drain", ("nc", "claim"), _claims),
    ScreenEntry("pods", "4", "Pods", "Pods by node, pool, owner or namespace", ("po", "pod"), _pods),
    ScreenEntry(
        "pending",
        "5",
        "Pending",
        "Pods without a node: who says why, and what would help",
        ("pe", "wait"),
        _pending,
        "Pend",
    ),
    ScreenEntry(
        "blockers", "6", "Blockers", "What keeps nodes, and what it costs", ("bl", "blocker", "why"), _blockers, "Block"
    ),
    ScreenEntry(
        "budgets", "7", "Budgets", "How many nodes may be disrupted, now and when", ("bu", "budget"), _budgets, "Budg"
    ),
    ScreenEntry(
        "types", "8", "Types", "Instance types of each NodePool, their ledger and prices", ("ty", "type"), _types
    ),
    ScreenEntry("events", "9", "Events", "What Karpenter said and what happened, folded", ("ev", "event"), _events),
    ScreenEntry(
        "advice", "0", "Advice", "Traps in this cluster's objects, and what to do", ("ad", "lint", "advise"), _advice
    ),
)
"""In the order of the tabs."""

TABS: Final = tuple(Tab(entry.name, entry.key, entry.title, short=entry.short) for entry in ENTRIES)
