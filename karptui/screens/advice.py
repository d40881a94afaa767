"""The Advice screen: traps in this cluster's objects, the worst first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from karptui.screens.grouped_screen import GroupedScreen
from karptui.screens.open_object import OpenObject
from karptui.screens.table_screen import Recipe
from karptui.session.analyst import Focus
from karptui.session.cluster_view import ClusterView
from karptui.views.advice.entry import AdviceEntry, AdviceGroup, AdviceLine, advice_entries, counts_text
from karptui.views.advice.groups import AdviceGrouping, grouped
from karptui.views.advice.opening import pools_to_share
from karptui.views.advice.story import freshness, story_lines
from karptui.views.advice.table import TABLE
from karptui.views.grouping import Folding
from karptui.views.row import Pieces, Tone
from karptui.views.table import Rows
from karptui.views.whatif.opening import NOTHING, Opening


class AdviceScreen(OpenObject, GroupedScreen[AdviceLine, AdviceGrouping]):
    """One row for each finding."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("b", "group", "Group by", id="advice.group", tooltip="By severity, rule, object, or not"),
        Binding("f", "fold_all", "Fold", id="advice.fold", tooltip="Fold or unfold every group"),
    ]

    entry_name = "advice"
    title_text = "Advice"
    notable_text = "errors and warnings only"
    consequences: ClassVar[Mapping[str, str]] = {
        "NodePool": "Most rules are about NodePools.",
        "Node": "What nodes cost and carry needs it.",
        "NodeClaim": "What Karpenter manages needs it.",
        "Pod": "Rules about pods need it, and those about disruption.",
        "PodDisruptionBudget": "Rules about PodDisruptionBudgets find nothing.",
        "NodeClass": "Rules about NodeClasses find nothing.",
    }

    def __init__(self) -> None:
        super().__init__(TABLE, AdviceGrouping.NOTHING)
        self._entries: tuple[object, tuple[AdviceEntry, ...]] = (None, ())

    def shows_usage(self) -> bool:
        """Whether live usage bears on what is seen: a rule asks for it."""
        return True

    # Rows

    def size_of(self, view: ClusterView) -> int:
        """Return how many findings there are."""
        return len(view.advice.findings) if view.advice is not None else 0

    def items_of(self, view: ClusterView) -> Sequence[AdviceEntry]:
        """Return the findings; the same object as long as nothing new is found."""
        if self._entries[0] is not view.advice:
            self._entries = (view.advice, advice_entries(view.advice))
        return self._entries[1]

    def _build(self, view: ClusterView, recipe: Recipe) -> Rows[AdviceLine]:
        items, now_ns = self.items_of(view), self.host.now_ns()
        rows = self._rows_of(items, recipe, now_ns)
        shown = [line for line in rows.items if isinstance(line, AdviceEntry)]
        self._shown_count = len(shown)
        lines = grouped(shown, self._grouping, self._folding)
        return Rows(self.spec, lines, total=len(items), now_ns=now_ns)

    def _apply(self, rows: Rows[AdviceLine]) -> None:
        super()._apply(rows)
        view = self.host.view
        if rows.total:
            return
        if view.advice is None:
            self.table.set_placeholder(*self.explain())
        else:
            self.table.set_placeholder((f"none of {view.advice.rules} rules finds anything", Tone.GOOD))

    def show_state(self) -> None:
        """Show the findings, and have the rules asked more often while they are looked at."""
        asks_shares = any(pools_to_share(one.finding) for one in self._entries[1])
        self.host.look_at(Focus(wants_advice=True, wants_overlap=asks_shares))
        super().show_state()

    def summary(self) -> str:
        """Return how many findings there are of each severity; nothing before the rules have been asked."""
        return counts_text(self._entries[1]) or ("nothing found" if self.host.view.advice is not None else "")

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

    def action_whatif(self) -> None:
        """Begin a what-if with what the remedy would change; where weights look like shares, ask for the shares."""
        pools = self._pools_to_share()
        if not pools:
            super().action_whatif()
            return
        from karptui.screens.proportion import ask_for_proportion  # noqa: PLC0415 - only when asked for

        ask_for_proportion(self, pools)

    def _pools_to_share(self) -> tuple[str, ...]:
        line = self.current
        return pools_to_share(line.finding) if isinstance(line, AdviceEntry) else ()

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

    def action_fold_all(self) -> None:
        """Fold every group, or unfold all; without groups, make them by rule."""
        if self._grouping.has_groups:
            super().action_fold_all()
        else:
            self._grouping = AdviceGrouping.RULE
            self._fold(Folding(is_folded=True))

    def open_row(self) -> None:
        """Show the finding at length."""
        self.action_describe()

    def action_describe(self) -> None:
        """Show the finding at length."""
        line = self.current
        if isinstance(line, AdviceEntry):
            from karptui.screens.advice_detail import AdviceDetailScreen  # noqa: PLC0415 - only when asked for

            self.app.push_screen(AdviceDetailScreen(line))
