"""The Advice screen: traps in this cluster's objects, the worst first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.content import Content

from karptui.analyst import Focus
from karptui.screens.frame import Pieces
from karptui.screens.object_text import ObjectKeys
from karptui.screens.open_object import OpenObject
from karptui.screens.story_screen import StoryScreen
from karptui.screens.table_screen import _Recipe
from karptui.views.advice.entry import (
    AdviceEntry,
    AdviceGroup,
    AdviceLine,
    Grouping,
    advice_entries,
    counts_text,
    grouped,
)
from karptui.views.advice.story import freshness, story_lines
from karptui.views.advice.table import TABLE
from karptui.views.cluster_view import ClusterView
from karptui.views.row import Tone
from karptui.views.sanitize import clean
from karptui.views.table import Rows, build_rows
from karptui.views.units import count_text
from karptui.views.whatif.opening import NOTHING, Opening
from karptui.views.why.readiness import unready_because
from karptui.widgets.row_table import RowSelected


class AdviceScreen(OpenObject, ObjectKeys, StoryScreen[AdviceLine]):
    """One row for each finding."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("b", "group", "Group by", id="advice.group", tooltip="By severity, rule, object, or not"),
        Binding("f", "fold_all", "Fold", id="advice.fold", tooltip="Fold or unfold every group"),
    ]

    entry_name = "advice"
    title_text = "Advice"
    consequences: ClassVar[Mapping[str, str]] = {
        "NodePool": "Most rules are about NodePools.",
        "Node": "What nodes cost and carry needs it.",
        "NodeClaim": "What Karpenter manages needs it.",
        "Pod": "Rules about pods need it, and those about disruption.",
        "PodDisruptionBudget": "Rules about PodDisruptionBudgets find nothing.",
        "NodeClass": "Rules about NodeClasses find nothing.",
    }

    def __init__(self) -> None:
        super().__init__(TABLE)
        self._grouping = Grouping.NOTHING
        self._folded: frozenset[str] = frozenset()
        self._is_folded = False
        self._entries: tuple[object, tuple[AdviceEntry, ...]] = (None, ())
        self._shown_count = 0

    # Rows

    def size_of(self, view: ClusterView) -> int:
        """Return how many findings there are."""
        return len(view.advice.findings) if view.advice is not None else 0

    def items_of(self, view: ClusterView) -> Sequence[AdviceEntry]:
        """Return the findings; the same object as long as nothing new is found."""
        if self._entries[0] is not view.advice:
            self._entries = (view.advice, advice_entries(view.advice))
        return self._entries[1]

    def _build(self, view: ClusterView, recipe: _Recipe) -> Rows[AdviceLine]:
        items, now_ns = self.items_of(view), self.host.now_ns()
        rows = build_rows(
            self.spec,
            items,
            query=recipe.query,
            sort=recipe.sort,
            is_notable_only=recipe.is_notable_only,
            now_ns=now_ns,
        )
        shown = [line for line in rows.items if isinstance(line, AdviceEntry)]
        self._shown_count = len(shown)
        lines = grouped(shown, self._grouping, self._folded, is_folded=self._is_folded)
        return Rows(self.spec, lines, total=len(items), now_ns=now_ns)

    def _apply(self, rows: Rows[AdviceLine]) -> None:
        super()._apply(rows)
        view = self.host.view
        if rows.total:
            return
        if view.advice is None:
            self.table.set_placeholder((unready_because(view) or "asking the rules…", Tone.ACTIVE))
        else:
            self.table.set_placeholder((f"none of {view.advice.rules} rules finds anything", Tone.GOOD))

    def show_state(self) -> None:
        """Show the findings, and have the rules asked more often while they are looked at."""
        self.host.look_at(Focus(wants_advice=True))
        super().show_state()

    def _show_title(self) -> None:
        if self._rows is None:
            return
        total, shown = self._rows.total, self._shown_count
        count = count_text(total) if shown == total else f"{count_text(shown)}/{count_text(total)}"
        parts = [f" {self.title_text} [{count}] ", f"{counts_text(self._entries[1]) or 'nothing found'} "]
        if self._grouping is not Grouping.NOTHING:
            parts.append(f"by {self._grouping} ")
        if self.filter_query.text:
            parts.append(f"{clean(self.filter_query.text)} ")
        if self.is_notable_only:
            parts.append("errors and warnings only ")
        title = "─ ".join(parts)
        if title != getattr(self, "_advice_title", None):
            self._advice_title = title
            self.table.border_title = Content(title)

    # Words

    def explain(self) -> Pieces:
        """Say how fresh the answers are."""
        view = self.host.view
        return freshness(view.advice, view, self.host.now_ns())

    def story_of(self, item: AdviceLine) -> tuple[Pieces, ...]:
        """Return the finding in sentences."""
        return story_lines(item)

    def name_of(self, item: AdviceLine) -> str:
        """Return the name of the object that tells most, or the group's."""
        if isinstance(item, AdviceGroup):
            return item.name
        return item.first.key if item.first is not None else item.rule.id

    def current_object(self) -> tuple[str, str] | None:
        """Return the object that tells most."""
        line = self.current
        ref = line.first if isinstance(line, AdviceEntry) else None
        return (ref.kind, ref.key) if ref is not None else None

    def whatif_opening(self) -> Opening:
        """Begin a what-if with what the remedy would change."""
        from karptui.views.advice.opening import opening_of  # noqa: PLC0415 - only when asked for

        line = self.current
        return opening_of(line.finding) if isinstance(line, AdviceEntry) else NOTHING

    def help_text(self) -> Sequence[tuple[str, Sequence[tuple[str, str]]]]:
        """Explain severities beside columns and filters."""
        severities = (
            ("✘ error", "something can never work, or stands still"),
            ("▲ warning", "costs money or safety, or Karpenter plans with other numbers than the author believes"),
            ("· info", "Karpenter behaves otherwise than most people expect; nothing need be wrong"),
        )
        analysis = self.host.view.analysis
        assumed = [("assumed", note) for note in (analysis.notes if analysis is not None else ())]
        return (("Severities", severities), ("What was assumed", assumed), *super().help_text())

    # Keys

    def action_group(self) -> None:
        """Group by the next thing."""
        self._grouping = self._grouping.next
        self._folded = frozenset()
        self.show_state()
        self.say(f"grouped by {self._grouping}" if self._grouping is not Grouping.NOTHING else "not grouped")

    def action_fold_all(self) -> None:
        """Fold every group, or unfold all."""
        if self._grouping is Grouping.NOTHING:
            self._grouping = Grouping.RULE
        lines = self._rows.items if self._rows is not None else ()
        is_any_open = any(isinstance(line, AdviceGroup) and not line.is_folded for line in lines)
        has_groups = any(isinstance(line, AdviceGroup) for line in lines)
        self._is_folded, self._folded = is_any_open or not has_groups, frozenset()
        self.show_state()

    def action_describe(self) -> None:
        """Show the finding at length."""
        line = self.current
        if isinstance(line, AdviceEntry):
            from karptui.screens.advice_detail import AdviceDetailScreen  # noqa: PLC0415 - only when asked for

            self.app.push_screen(AdviceDetailScreen(line))

    @on(RowSelected)
    def _selected(self, event: RowSelected) -> None:
        event.stop()
        line = self.current
        if isinstance(line, AdviceGroup):
            self._folded ^= {line.name}
            self.show_state()
        else:
            self.action_describe()
