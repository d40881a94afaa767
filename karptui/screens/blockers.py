"""The Blockers screen: what blocks each node and its cost; and Karpenter's next command."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from textual.binding import Binding, BindingType

from karptui.disruption.analysis import NextReport
from karptui.disruption.codes import meanings_by_word
from karptui.kube.units import count_text
from karptui.screens.destinations import ToNode
from karptui.screens.frame import HelpSections
from karptui.screens.list_screen import ListScreen
from karptui.screens.listing import Groups, Kept
from karptui.screens.row_sources import SessionList
from karptui.session.answers import Focus
from karptui.session.blockers import BlockerEntry, BlockerGroup, BlockerGrouping, BlockerLine
from karptui.session.costs import Held
from karptui.session.nodes import NodeEntry
from karptui.views.blockers.columns import TABLE
from karptui.views.blockers.sentences import blocker_sentences
from karptui.views.instants import freshness, short_freshness
from karptui.views.next import TABLE as REMOVABLE
from karptui.views.next import next_lines
from karptui.views.row import Pieces, Tone
from karptui.views.table import Rows
from karptui.views.why.labels import legend
from karptui.views.why.sentences import held_title, why_sentence
from karptui.widgets.sentences import Sentences

if TYPE_CHECKING:
    from karptui.whatif.remedies.blockers.remedy import BlockerRemedy

FIRST_KEYS: Final = 200
"""Nodes of rows in view that are analysed first; of a folded group only some."""
KEYS_OF_GROUP: Final = 5


class BlockersScreen(ListScreen[BlockerLine]):
    """One row for each node and what keeps it, in groups."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("b", "group", "Group by", id="blockers.group", tooltip="By owner, namespace, pool, kind, or nothing"),
        Binding(
            "f",
            "fold_all",
            "Fold",
            id="blockers.fold",
            tooltip="Unfold the blockers, then conditions that block nothing, then fold all groups",
        ),
        Binding("r", "remedies", "Remedies", id="blockers.remedies", tooltip="Remedies with their effect, and YAML"),
        Binding("e", "explain_why", "Explain", id="blockers.explain", tooltip="Why the node is still here"),
        Binding("n", "run_command('next')", "Next", id="blockers.next", tooltip="Karpenter's next command"),
        Binding("o", "open_object", "Describe the pod", show=False, id="blockers.object"),
    ]

    entry_name = "blockers"
    title_text = "Blockers"
    notable_text = "only blockers that do not end automatically"

    def __init__(self) -> None:
        groups: Groups[BlockerLine, BlockerGrouping] = Groups(BlockerGrouping.OWNER, ungrouped_text="not grouped")
        super().__init__(TABLE, SessionList("blockers"), story=self.story_of, groups=groups)
        self._sums: Kept[Held] = Kept()
        self._offered: Kept[Sequence[BlockerRemedy]] = Kept()

    # Rows

    def placeholder(self, rows: Rows[BlockerLine]) -> Pieces:
        """Return the age of the analysis if there are no rows."""
        overview = self.host.session.overview()
        analysed = overview.analysed
        is_unknown = analysed is None or (not analysed.findings and bool(overview.sizes["nodes"]))
        return self.explain() if not rows.total and is_unknown else super().placeholder(rows)

    def show_state(self) -> None:
        """Show the blockers, and have the nodes in view analysed first."""
        super().show_state()
        self.host.cluster.look_at(Focus(keys=self._keys_in_view()))

    def _keys_in_view(self) -> tuple[str, ...]:
        seen = set(self.table.visible_keys)
        keys: dict[str, None] = {}
        for line in self.listing.rows.items if self.listing.rows is not None else ():
            if line.key in seen:
                members = line.members[:KEYS_OF_GROUP] if isinstance(line, BlockerGroup) else (line,)
                keys.update((member.findings.key, None) for member in members if member.findings is not None)
        return tuple(keys)[:FIRST_KEYS]

    def _members(self) -> tuple[BlockerEntry, ...]:
        line = self.current
        if line is None:
            return ()
        return line.members if isinstance(line, BlockerGroup) else (line,)

    def story_of(self, item: BlockerLine) -> tuple[Pieces, ...]:
        """Return the cost of the row or group, what ends it, and its remedies."""
        now_ns = self.host.now_ns()
        title = item.title if isinstance(item, BlockerGroup) and not item.is_idle else ""
        facts = TABLE.facts_without_room(self.table.unseen, item, now_ns)
        held = item.held if isinstance(item, BlockerGroup) and not item.is_idle else None
        return blocker_sentences(self._members(), now_ns, title, self._remedies(now_ns), facts, held=held)

    def _remedies(self, now_ns: int) -> Sequence[BlockerRemedy]:
        """Return the remedies of the row or group under the cursor; cached for the same row."""

        def offered() -> Sequence[BlockerRemedy]:
            keys = tuple(member.key for member in self._members())
            return self.host.session.remedies(keys, now_ns, makes_edits=False).remedies if keys else ()

        return self._offered.get((self.current,), offered)

    def summary(self) -> str:
        """Return the held cost of the rows; empty before nodes are analysed."""
        row_set = self.asked.row_set if self.asked is not None else None
        if row_set is None or self.host.session.overview().analysed is None:
            return ""
        rows = self.listing.rows
        sums = self._sums.get((row_set,), lambda: self.host.session.totals(row_set.number).held or Held())
        are_all = rows is not None and self.listing.shown == rows.total
        return held_title(sums, self.host.held()[0] if are_all else None)

    def title_parts(self) -> Iterator[str]:
        """Yield the parts of the title: number of blockers, held cost, and age of the analysis."""
        first, *others = super().title_parts()
        blocking, rows = self.host.session.overview().counts["blockers"], self.listing.rows
        if rows is None or self.listing.shown != rows.total:
            yield first
        else:
            unwanted = rows.total - blocking
            yield f"{self.table_title} [{count_text(blocking)}]"
            yield f"{count_text(unwanted)} not blocking anything" if unwanted > 0 else ""
        yield from others
        yield short_freshness(self.host.session.overview())

    # Words

    def explain(self) -> Pieces:
        return freshness(self.host.session.overview(), self.host.now_ns())

    def name_of(self, item: BlockerLine) -> str:
        return item.title if isinstance(item, BlockerGroup) else item.object_name

    def object_of(self, item: BlockerLine) -> tuple[str, str] | None:
        if not isinstance(item, BlockerEntry) or not item.blocker.object_kind:
            return None
        return item.blocker.object_kind, item.blocker.object_key

    def help_text(self) -> HelpSections:
        analysed = self.host.session.overview().analysed
        assumed = [("assumed", note) for note in (analysed.notes if analysed is not None else ())]
        return (
            ("Kinds of blockers", tuple(meanings_by_word().items())),
            ("What was assumed", assumed),
            *super().help_text(),
        )

    # Keys

    def action_remedies(self) -> None:
        line, members = self.current, self._members()
        if line is None or not members:
            return
        from karptui.screens.remedies import RemediesScreen  # noqa: PLC0415 - only when asked for

        name = line.title if isinstance(line, BlockerGroup) else line.object_name or "the cluster"
        self.app.push_screen(RemediesScreen(f"What to do about {name}", members))

    def action_whatif(self) -> None:
        """Open the remedies, which lead to the what-if; without remedies, a what-if of the object."""
        if self._remedies(self.host.now_ns()):
            self.action_remedies()
        else:
            super().action_whatif()

    def action_explain_why(self) -> None:
        line = self.current
        if not isinstance(line, BlockerEntry) or line.findings is None:
            self.say("put the cursor on a node's blocker first", Tone.MUTED)
        else:
            self.host.go(ToNode(line.findings.key))

    def action_open_object(self) -> None:
        self.action_describe()

    def open_row(self, item: BlockerLine) -> None:  # noqa: ARG002 - it is under the cursor
        self.action_explain_why()


class NextScreen(ListScreen[NodeEntry]):
    """The next command, and the nodes that would go, the dearest first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "explain_why", "Explain", id="next.explain", tooltip="Why the node is still here")
    ]

    entry_name = "blockers"
    title_text = "Removable once unblocked"

    def __init__(self) -> None:
        self._command = Sentences(id="next")
        super().__init__(REMOVABLE, SessionList("next"), above=(self._command,))

    def show_state(self) -> None:
        overview, report = self.host.session.overview(), self.around(NextReport)
        self.host.cluster.look_at(Focus(asks_next=True))
        self._command.set_lines((*next_lines(report, overview), freshness(overview, self.host.now_ns())))
        super().show_state()

    def explain_item(self, item: NodeEntry) -> Pieces:
        return why_sentence(item, self.host.now_ns()) or (("", Tone.NORMAL),)

    def name_of(self, item: NodeEntry) -> str:
        return item.name

    def object_of(self, item: NodeEntry) -> tuple[str, str]:
        return "Node", item.name

    def help_text(self) -> HelpSections:
        return (("Labels, worst first", legend()), *super().help_text())

    def action_explain_why(self) -> None:
        self.table.action_select()

    def open_row(self, item: NodeEntry) -> None:
        self.host.go(ToNode(item.key))
