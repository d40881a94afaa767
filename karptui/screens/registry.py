"""The screens there are; a later one is one more entry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Final

from textual.binding import Binding

from karptui.widgets.top_bar import Tab

if TYPE_CHECKING:
    from textual.screen import Screen


@dataclass(frozen=True, slots=True)
class ScreenEntry:
    """A screen with its own key."""

    name: str
    key: str
    title: str
    help: str
    """One line for help and the palette."""
    aliases: tuple[str, ...]
    """Other words for the command line."""
    class_name: str
    """Of the screen, in the module of its name."""
    short: str = ""
    """Title for when room is short."""

    def load(self) -> Screen[None]:
        """Make the screen; it is imported only then."""
        make: Callable[[], Screen[None]] = getattr(import_module(f"karptui.screens.{self.name}"), self.class_name)
        return make()


ENTRIES: Final = (
    ScreenEntry(
        "nodes",
        "1",
        "Nodes",
        "Nodes and NodeClaims: why each is still here, resources, cost",
        ("no", "node"),
        "NodesScreen",
    ),
    ScreenEntry(
        "pools",
        "2",
        "Pools",
        "NodePools in the order they are tried: limits, types, overlap",
        ("np", "pool"),
        "PoolsScreen",
    ),
    ScreenEntry(
        "claims", "3", "Claims", "NodeClaims: their life, drift, expiry and drain", ("nc", "claim"), "ClaimsScreen"
    ),
    ScreenEntry("pods", "4", "Pods", "Pods by node, pool, owner or namespace", ("po", "pod"), "PodsScreen"),
    ScreenEntry(
        "pending",
        "5",
        "Pending",
        "Pending pods by cause, and changes that would help",
        ("pe", "wait"),
        "PendingScreen",
        "Pend",
    ),
    ScreenEntry(
        "blockers",
        "6",
        "Blockers",
        "The blockers of each node, and their cost",
        ("bl", "blocker", "why"),
        "BlockersScreen",
        "Block",
    ),
    ScreenEntry(
        "budgets",
        "7",
        "Budgets",
        "How many nodes may be disrupted, now and when",
        ("bu", "budget"),
        "BudgetsScreen",
        "Budg",
    ),
    ScreenEntry(
        "types",
        "8",
        "Types",
        "Instance types of each NodePool, their ledger and prices",
        ("ty", "type"),
        "PoolsOfTypesScreen",
    ),
    ScreenEntry(
        "events", "9", "Events", "Events of Karpenter, nodes and NodeClaims, folded", ("ev", "event"), "EventsScreen"
    ),
    ScreenEntry(
        "advice",
        "0",
        "Advice",
        "Problems in this cluster's objects, and what to do",
        ("ad", "lint", "advise"),
        "AdviceScreen",
    ),
)
"""In the order of the tabs."""

TABS: Final = tuple(Tab(entry.name, entry.key, entry.title, short=entry.short) for entry in ENTRIES)


def screen_bindings() -> list[Binding]:
    """Return the key of each screen that has one."""
    return [
        Binding(
            entry.key,
            f"open_screen('{entry.name}')",
            entry.title,
            show=False,
            tooltip=entry.help,
            id=f"app.{entry.name}",
            priority=True,  # handled before keys are handed to widgets, so that the next key finds the screen open
        )
        for entry in ENTRIES
    ]
