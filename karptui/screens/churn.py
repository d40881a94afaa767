"""The Churn screen: how often nodes are replaced, why, their lifetimes, and churn loops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from textual import events
from textual.binding import Binding, BindingType

from karptui.decode.kinds import Kind
from karptui.disruption.churn.report import Churn
from karptui.karpenter.nodeclaim import claim_key
from karptui.screens.destinations import ToNode
from karptui.screens.list_screen import ListScreen
from karptui.screens.row_sources import SessionList
from karptui.session.churn import ChurnEntry, ReplacedClaim, events_hidden, unknown_because
from karptui.views.churn.columns import TABLE as POOLS
from karptui.views.churn.replacements import TABLE as REPLACEMENTS
from karptui.views.churn.sentences import pool_sentences, replacement_sentences, replacements_of, summary_lines
from karptui.views.row import Pieces, Tone
from karptui.widgets.sentences import Sentences

CONSEQUENCES: Final[Mapping[str, str]] = {
    "NodeClaim": "Without NodeClaims, launches and removals are unknown.",
    "Event": "Without events, only removals that karptui saw itself are known.",
    "Pod": "Evicted pods are unknown.",
}
_MARGIN: Final = 4
"""Columns around a line that text cannot use."""


class ChurnScreen(ListScreen[ChurnEntry]):
    """Charts of created and removed NodeClaims, above a row for each NodePool."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("R", "open_replacements", "Replacements", id="churn.replacements", tooltip="Of every NodePool"),
        Binding("o", "open_nodes", "Nodes", show=False, id="churn.nodes", tooltip="The nodes of the pool"),
    ]

    entry_name = "claims"
    title_text = "Churn by NodePool"
    kind = "NodeClaim"
    consequences = CONSEQUENCES

    def __init__(self) -> None:
        self._charts = Sentences(id="churn")
        super().__init__(POOLS, SessionList("churn"), story=self.story_of, above=(self._charts,))

    def refresh_info(self) -> None:
        super().refresh_info()
        self._draw_charts()

    def on_resize(self, _event: events.Resize) -> None:
        self._draw_charts()

    def _draw_charts(self) -> None:
        statuses, churn = self.host.session.overview().statuses, self.around(Churn)
        width = self.size.width - _MARGIN
        if churn is None:
            lines: tuple[Pieces, ...] = (((unknown_because(statuses) or "computing…", Tone.ACTIVE),),)
        else:
            lines = summary_lines(churn, width, are_events_hidden=events_hidden(statuses))
        self._charts.set_hanging(lines)

    def explain(self) -> Pieces:
        return (("enter: each replacement · from NodeClaims, events and removals that karptui saw", Tone.MUTED),)

    def story_of(self, item: ChurnEntry) -> tuple[Pieces, ...]:
        churn = self.around(Churn)
        return pool_sentences(item, churn, self.host.now_ns()) if churn is not None else ()

    def name_of(self, item: ChurnEntry) -> str:
        return item.name

    def object_of(self, item: ChurnEntry) -> tuple[str, str] | None:
        return ("NodePool", item.figures.pool) if item.pool is not None else None

    def action_open_replacements(self) -> None:
        self.app.push_screen(ReplacementsScreen())

    def action_open_nodes(self) -> None:
        item = self.current
        if item is not None and item.figures.pool:
            self.host.open_screen("nodes", filter_text=f"pool={item.figures.pool}")

    def open_row(self, item: ChurnEntry) -> None:
        self.app.push_screen(ReplacementsScreen(item.key))


class ReplacementsScreen(ListScreen[ReplacedClaim]):
    """NodeClaims that were removed, in time order, with their replacements."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "open_events", "Events", id="replacements.events", tooltip="Events of the NodeClaim"),
        Binding("s", "open_successor", "Replacement", id="replacements.successor", tooltip="The node that replaced it"),
    ]

    entry_name = "claims"
    kind = "NodeClaim"
    consequences = CONSEQUENCES

    def __init__(self, pool: str | None = None) -> None:
        of = "" if pool is None else f"pool/{pool}"
        super().__init__(REPLACEMENTS, SessionList("replacements", lambda: of), story=self.story_of)
        self._pool = pool

    @property
    def table_title(self) -> str:
        return "Replacements" if self._pool is None else f"Replacements of {self._pool or 'no known NodePool'}"

    def explain(self) -> Pieces:
        text = (
            "replacements are inferred from times and reasons: Karpenter does not record which NodeClaim replaced which"
        )
        return ((text, Tone.MUTED),)

    def story_of(self, item: ReplacedClaim) -> tuple[Pieces, ...]:
        return replacement_sentences(item, self.host.now_ns())

    def name_of(self, item: ReplacedClaim) -> str:
        return item.life.claim

    def object_of(self, item: ReplacedClaim) -> tuple[str, str] | None:
        return ("NodeClaim", item.life.claim) if self._is_there(item.life.claim) else None

    def action_open_events(self) -> None:
        if (item := self.current) is not None:
            self.host.open_screen("events", filter_text=f"object={item.life.claim}")

    def action_open_successor(self) -> None:
        item = self.current
        replacements = replacements_of(item) if item is not None else ()
        if not replacements:
            self.say("no replacement is known")
        else:
            self._show_node(replacements[0].claim)

    def open_row(self, item: ReplacedClaim) -> None:
        """Show the node that was removed, while its NodeClaim is there."""
        self._show_node(item.life.claim)

    def _is_there(self, claim: str) -> bool:
        return self.host.session.has_object(Kind.NODECLAIM, claim)

    def _show_node(self, claim: str) -> None:
        if not self._is_there(claim):
            self.say(f"{claim} is gone; o shows its events")
        else:
            self.host.go(ToNode(claim_key(claim)))
