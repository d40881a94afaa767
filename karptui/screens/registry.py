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
    """A screen with its own key: ``NodesScreen`` in the module ``nodes``."""

    name: str
    key: str
    help: str
    """One line for help and the palette."""
    aliases: tuple[str, ...]
    """Other words for the command line."""
    short: str = ""
    """Title for when room is short."""

    @property
    def title(self) -> str:
        """Title of its tab."""
        return self.name.capitalize()

    def load(self) -> Screen[None]:
        """Make the screen; it is imported only then."""
        make: Callable[[], Screen[None]] = getattr(import_module(f"karptui.screens.{self.name}"), f"{self.title}Screen")
        return make()


ENTRIES: Final = (
    ScreenEntry("nodes", "1", "Nodes and NodeClaims: why each is still here, resources, cost", ("no", "node")),
    ScreenEntry("pools", "2", "NodePools in the order they are tried: limits, types, overlap", ("np", "pool")),
    ScreenEntry("claims", "3", "NodeClaims: their life, drift, expiry and drain", ("nc", "claim")),
    ScreenEntry("pods", "4", "Pods by node, pool, owner or namespace", ("po", "pod")),
    ScreenEntry("pending", "5", "Pending pods by cause, and changes that would help", ("pe", "wait"), "Pend"),
    ScreenEntry("blockers", "6", "The blockers of each node, and their cost", ("bl", "blocker", "why"), "Block"),
    ScreenEntry("budgets", "7", "How many nodes may be disrupted, now and when", ("bu", "budget"), "Budg"),
    ScreenEntry("types", "8", "Instance types of each NodePool, their ledger and prices", ("ty", "type")),
    ScreenEntry("events", "9", "Events of Karpenter, nodes and NodeClaims, folded", ("ev", "event")),
    ScreenEntry("advice", "0", "Problems in this cluster's objects, and what to do", ("ad", "lint", "advise")),
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
