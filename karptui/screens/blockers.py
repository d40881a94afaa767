"""The Blockers screen: everything that keeps nodes, what it costs, and what can be done about it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from textual.binding import Binding, BindingType

from karptui.aws.money import per_month_text
from karptui.disruption.codes import CODES
from karptui.screens.grouped_screen import GroupedScreen
from karptui.screens.object_text import ObjectKeys
from karptui.screens.table_screen import Recipe
from karptui.session.analyst import Focus
from karptui.session.cluster_view import ClusterView
from karptui.session.costs import Held, held_of
from karptui.views.blockers.entry import (
    BlockerEntry,
    BlockerGroup,
    BlockerLine,
    blocker_count,
    blocker_entries,
    nodes_of,
)
from karptui.views.blockers.groups import BlockerGrouping, grouped, only_blockers
from karptui.views.blockers.story import story_lines
from karptui.views.blockers.table import TABLE
from karptui.views.row import Pieces, Tone
from karptui.views.table import Rows
from karptui.views.unseen import unseen_facts
from karptui.views.why.freshness import freshness, short_freshness
from karptui.views.why.held import held_text

if TYPE_CHECKING:
    from karptui.whatif.blocker_remedies.remedy import BlockerRemedy

FOLDED_FROM: Final = 60
"""From so many blockers up groups start folded."""
PACED_FROM: Final = 3_000
"""From so many blockers up rows follow the analysis only every so often."""
PACE: Final = 10
"""Then they are left alone for so many times what making them took."""
FIRST_KEYS: Final = 200
"""Nodes of rows in view that are analysed first; of a folded group only some."""
KEYS_OF_GROUP: Final = 5


class BlockersScreen(ObjectKeys, GroupedScreen[BlockerLine, BlockerGrouping]):
    """One row for each node and what keeps it, in groups."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("b", "group", "Group by", id="blockers.group", tooltip="By owner, namespace, pool, kind, or not"),
        Binding("f", "fold_all", "Fold", id="blockers.fold", tooltip="Fold or unfold every group"),
        Binding("r", "remedies", "Remedies", id="blockers.remedies", tooltip="What to do, what it comes to, and YAML"),
        Binding("e", "explain_why", "Explain", id="blockers.explain", tooltip="Why the node is still here"),
        Binding("n", "next", "Next", id="blockers.next", tooltip="What Karpenter would do next"),
        Binding("o", "open_object", "Describe the pod", show=False, id="blockers.object"),
    ]

    entry_name = "blockers"
    title_text = "Blockers"
    ungrouped_text = "not grouped"
    notable_text = "only what does not end by itself"

    def __init__(self) -> None:
        super().__init__(TABLE, BlockerGrouping.OWNER)
        self._entries: tuple[object, tuple[BlockerEntry, ...]] = (None, ())
        self._grouped_from: object = None
        self._rest_until = 0.0
        self._held = Held()
        self._offered: tuple[object, Sequence[BlockerRemedy]] = (None, ())

    # Rows

    def size_of(self, view: ClusterView) -> int:
        """Return how many blockers there are."""
        return blocker_count(view.analysis)

    def items_of(self, view: ClusterView) -> Sequence[BlockerEntry]:
        """Return the blockers of a view; the same object for the same analysis and nodes."""
        made_from, known = (id(view.analysis), id(view.node_entries)), self._entries[1]
        is_resting = len(known) >= PACED_FROM and time.monotonic() < self._rest_until
        if self._entries[0] != made_from and not is_resting:
            self._entries = (made_from, blocker_entries(view))
        return self._entries[1]

    def _build(self, view: ClusterView, recipe: Recipe) -> Rows[BlockerLine]:
        items, now_ns, known = self.items_of(view), self.host.now_ns(), self._rows
        folding = self._folding.unless_said(is_folded=len(items) >= FOLDED_FROM)
        made_from = (id(items), recipe, self._grouping, folding)
        if known is not None and made_from == self._grouped_from and not self._is_time_filtered():
            return known.at(now_ns)
        began = time.monotonic()
        self._grouped_from = made_from
        shown = only_blockers(self._rows_of(items, recipe, now_ns).items)
        lines = grouped(shown, self._grouping, folding)
        self._held, self._shown_count = held_of(nodes_of(shown)), len(shown)
        now = time.monotonic()
        self._rest_until = now + PACE * (now - began)
        return Rows(self.spec, lines, total=len(items), now_ns=now_ns)

    def _apply(self, rows: Rows[BlockerLine]) -> None:
        super()._apply(rows)
        analysis = self.host.view.analysis
        if not rows.total and (analysis is None or not analysis.findings):
            self.table.set_placeholder(*self.explain())

    def show_state(self) -> None:
        """Show the blockers, and have the nodes in view analysed first."""
        super().show_state()
        self.host.look_at(Focus(self._keys_in_view()))

    def _keys_in_view(self) -> tuple[str, ...]:
        seen = set(self.table.visible_keys)
        keys: dict[str, None] = {}
        for line in self._rows.items if self._rows is not None else ():
            if line.key in seen:
                members = line.members[:KEYS_OF_GROUP] if isinstance(line, BlockerGroup) else (line,)
                keys.update((one.findings.key, None) for one in members if one.findings is not None)
        return tuple(keys)[:FIRST_KEYS]

    def _members(self) -> tuple[BlockerEntry, ...]:
        line = self.current
        if line is None:
            return ()
        return line.members if isinstance(line, BlockerGroup) else (line,)

    def story_of(self, item: BlockerLine) -> tuple[Pieces, ...]:
        """Return what the row or group holds, what ends the wait and what can be done."""
        now_ns = self.host.now_ns()
        title = item.title if isinstance(item, BlockerGroup) and not item.is_idle else ""
        facts = unseen_facts(TABLE.told, self.table.unseen, item, now_ns)
        return story_lines(self._members(), now_ns, title, self._remedies(now_ns), facts)

    def _remedies(self, now_ns: int) -> Sequence[BlockerRemedy]:
        """Return what can be done about the row or group under the cursor; worked out once for each analysis."""
        line, view = self.current, self.host.view
        made_from = (line.key if line is not None else "", id(view.analysis), id(line))
        if self._offered[0] != made_from:
            from karptui.views.blockers.remedies import objects_of, remedies  # noqa: PLC0415 - brings the engines

            found = remedies(self._members(), objects_of(view.state), now_ns, makes_edits=False)
            self._offered = (made_from, found)
        return self._offered[1]

    def summary(self) -> str:
        """Return what the rows hold; nothing before anything is known of nodes."""
        if self.host.view.analysis is None:
            return ""
        held = held_text(self._held)
        return f"{held} held ({per_month_text(self._held.per_hour, self._held.currency)})" if held != "…" else "held …"

    def title_parts(self, total: int) -> Iterator[str]:
        """Yield what the title says, and how fresh it is."""
        yield from super().title_parts(total)
        yield short_freshness(self.host.view)

    # Words

    def explain(self) -> Pieces:
        """Say how fresh the answers are."""
        return freshness(self.host.view, self.host.now_ns())

    def name_of(self, item: BlockerLine) -> str:
        """Return the object's name, or the group's."""
        return item.title if isinstance(item, BlockerGroup) else item.object_name

    def current_object(self) -> tuple[str, str] | None:
        """Return the object that stands in the way."""
        line = self.current
        if not isinstance(line, BlockerEntry) or not line.blocker.object_kind:
            return None
        return line.blocker.object_kind, line.blocker.object_key

    def help_text(self) -> Sequence[tuple[str, Sequence[tuple[str, str]]]]:
        """Explain the kinds of blockers beside columns and filters."""
        kinds: dict[str, str] = {}
        for facts in CODES.values():
            before = f"{kinds[facts.word]}; " if facts.word in kinds else ""
            kinds[facts.word] = before + facts.meaning
        analysis = self.host.view.analysis
        assumed = [("assumed", note) for note in (analysis.notes if analysis is not None else ())]
        return (("Kinds of blockers", tuple(kinds.items())), ("What was assumed", assumed), *super().help_text())

    # Keys

    def action_remedies(self) -> None:
        """Show what can be done about the row or group under the cursor."""
        line, members = self.current, self._members()
        if line is None or not members:
            return
        from karptui.screens.remedies import RemediesScreen  # noqa: PLC0415 - only when asked for

        name = line.title if isinstance(line, BlockerGroup) else line.object_name or "the cluster"
        self.app.push_screen(RemediesScreen(f"What to do about {name}", members))

    def action_whatif(self) -> None:
        """Open the remedies, each of which leads into the what-if; without any, what the cursor is on."""
        if self._remedies(self.host.now_ns()):
            self.action_remedies()
        else:
            super().action_whatif()

    def action_explain_why(self) -> None:
        """Show why the node is still here."""
        line = self.current
        if not isinstance(line, BlockerEntry) or line.findings is None:
            self.say("put the cursor on a node's blocker first", Tone.MUTED)
            return
        from karptui.screens.node_detail import NodeDetailScreen  # noqa: PLC0415 - only when asked for

        self.app.push_screen(NodeDetailScreen(line.findings.key))

    def action_next(self) -> None:
        """Show what Karpenter would do next."""
        self.host.run_command("next")

    def action_open_object(self) -> None:
        """Describe the object that stands in the way."""
        found = self.current_object()
        if found is not None:
            self.show_description(*found)

    def open_row(self) -> None:
        """Show why the node is still here."""
        self.action_explain_why()
