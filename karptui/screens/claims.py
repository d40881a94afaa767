"""The Claims screen: the life of every NodeClaim, and how its end comes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from textual.binding import Binding, BindingType

from karptui.clock import LocalZone
from karptui.screens import routes
from karptui.screens.destinations import ToNode
from karptui.screens.list_screen import ListScreen
from karptui.screens.listing import CHURN
from karptui.screens.row_sources import SessionList
from karptui.session.claims import ClaimEntry
from karptui.views.claims import TABLE, claim_sentences, expiry_line
from karptui.views.instants import freshness
from karptui.views.row import Pieces


class ClaimsScreen(ListScreen[ClaimEntry]):
    """One row for each NodeClaim, the newest first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("E", "sort('deadline')", "Sort by deadline", show=False, id="claims.sort-deadline"),
        replace(CHURN, show=True, id="claims.churn"),
        Binding("o", "open_pods", "Pods of the node", show=False, id="claims.pods"),
        Binding("X", "sort('expires')", "Sort by expiry", show=False, id="claims.sort-expires"),
    ]

    entry_name = "claims"
    title_text = "Claims"
    kind = "NodeClaim"
    consequences: ClassVar[Mapping[str, str]] = {
        "NodeClaim": "Without NodeClaims there is nothing to show.",
        "Node": "The reason a claim is not ready needs it.",
        "Pod": "The reason a drain takes long needs it.",
    }

    def __init__(self) -> None:
        super().__init__(TABLE, SessionList("claims"), story=self.story_of)
        self._local = LocalZone()

    def explain(self) -> Pieces:
        return freshness(self.host.session.overview(), self.host.now_ns())

    def story_of(self, item: ClaimEntry) -> tuple[Pieces, ...]:
        now_ns = self.host.now_ns()
        facts = TABLE.facts_without_room(self.table.unseen, item, now_ns)
        story = claim_sentences(item, now_ns, self._local, facts)
        coming = expiry_line(self.around(tuple, item.pool) or (), item.pool, now_ns, self._local)
        return (*story, coming) if coming else story

    def name_of(self, item: ClaimEntry) -> str:
        return item.claim.name

    def object_of(self, item: ClaimEntry) -> tuple[str, str]:
        return "NodeClaim", item.claim.name

    def action_describe(self) -> None:
        if (item := self.current) is not None:
            kind, name = ("Node", item.node.name) if item.node is not None else ("NodeClaim", item.claim.name)
            routes.show_description(self, kind, name)

    def action_open_pods(self) -> None:
        item = self.current
        if item is not None and item.node is not None:
            self.host.open_screen("pods", filter_text=f"node={item.node.name}")
        else:
            self.say("the claim has no node")

    def open_row(self, item: ClaimEntry) -> None:
        self.host.go(ToNode(item.key))
