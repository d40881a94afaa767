"""The Advice screen: traps in this cluster's objects, the worst first, and one of them at length."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual.binding import Binding, BindingType

from karptui.screens import routes
from karptui.screens.frame import HelpSections
from karptui.screens.list_screen import ListScreen
from karptui.screens.listing import OPEN_OBJECT, Groups
from karptui.screens.row_sources import OwnRows, SessionList
from karptui.session.advice import AdviceEntry, AdviceGroup, AdviceGrouping, AdviceLine
from karptui.session.answers import Focus
from karptui.session.facts import AdviceAround
from karptui.session.grouping import Folding
from karptui.views.advice import OBJECTS_TABLE as OBJECTS
from karptui.views.advice import (
    PROPORTION_RULES,
    TABLE,
    counts_text,
    detail_lines,
    finding_sentences,
    freshness,
    opening_of,
    pools_to_share,
)
from karptui.views.row import Pieces, Tone
from karptui.views.table import Rows
from karptui.whatif.edits import ObjectRef
from karptui.whatif.scenario import NOTHING, Opening
from karptui.widgets.titled_pane import Panel


class AdviceScreen(ListScreen[AdviceLine]):
    """One row for each finding."""

    BINDINGS: ClassVar[list[BindingType]] = [
        OPEN_OBJECT,
        Binding("b", "group", "Group by", id="advice.group", tooltip="By severity, rule, object, or nothing"),
        Binding("f", "fold_all", "Fold", id="advice.fold", tooltip="Fold or unfold every group"),
    ]

    entry_name = "advice"
    title_text = "Advice"
    notable_text = "errors and warnings only"
    consequences: ClassVar[Mapping[str, str]] = {
        "NodePool": "Most rules are about NodePools.",
        "Node": "The cost and resources of nodes need it.",
        "NodeClaim": "Without it, managed nodes are unknown.",
        "Pod": "Rules about pods and disruption need it.",
        "PodDisruptionBudget": "Rules about PodDisruptionBudgets find nothing.",
        "NodeClass": "Rules about NodeClasses find nothing.",
    }

    def __init__(self) -> None:
        groups: Groups[AdviceLine, AdviceGrouping] = Groups(AdviceGrouping.NOTHING)
        super().__init__(TABLE, SessionList("advice"), story=finding_sentences, groups=groups)

    def shows_usage(self) -> bool:
        """Whether the screen shows live usage: one rule reads it."""
        return True

    # Rows

    def placeholder(self, rows: Rows[AdviceLine]) -> Pieces:
        """Return the number of rules without findings, or that the rules have not run yet."""
        around = self.around(AdviceAround)
        if rows.total:
            return super().placeholder(rows)
        if around is None:
            return self.explain()
        return ((f"none of the {around.rules} rules has a finding", Tone.GOOD),)

    def show_state(self) -> None:
        """Show the findings, and run the rules more often while the screen is open."""
        around = self.around(AdviceAround)
        asks_shares = around is not None and not PROPORTION_RULES.isdisjoint(around.rule_ids)
        self.host.cluster.look_at(Focus(asks_advice=True, asks_overlap=asks_shares))
        super().show_state()

    def summary(self) -> str:
        """Return the number of findings per severity; empty before the rules have run."""
        around = self.around(AdviceAround)
        return (counts_text(around.severities) or "nothing found") if around is not None else ""

    # Words

    def explain(self) -> Pieces:
        return freshness(self.around(AdviceAround), self.host.session.overview(), self.host.now_ns())

    def name_of(self, item: AdviceLine) -> str:
        """Return the name of the object that tells most, or the group's."""
        if isinstance(item, AdviceGroup):
            return item.name
        return item.first.key if item.first is not None else item.rule.id

    def object_of(self, item: AdviceLine) -> tuple[str, str] | None:
        ref = item.first if isinstance(item, AdviceEntry) else None
        return (ref.kind, ref.key) if ref is not None else None

    def action_whatif(self) -> None:
        """Begin a what-if with the edits of the remedy; if weights look like shares, ask for the shares."""
        line = self.current
        pools = pools_to_share(line.finding) if isinstance(line, AdviceEntry) else ()
        if pools:
            routes.ask_for_proportion(self, pools)
        else:
            super().action_whatif()

    def whatif_opening(self) -> Opening:
        line = self.current
        return opening_of(line.finding) if isinstance(line, AdviceEntry) else NOTHING

    def help_text(self) -> HelpSections:
        severities = (
            ("✘ error", "something cannot work, or is stuck"),
            ("▲ warning", "costs money or safety, or Karpenter uses other values than the author expects"),
            ("· info", "Karpenter behaves differently from what most users expect; this may be intended"),
        )
        analysed = self.host.session.overview().analysed
        assumed = [("assumed", note) for note in (analysed.notes if analysed is not None else ())]
        return (("Severities", severities), ("What was assumed", assumed), *super().help_text())

    # Keys

    def action_fold_all(self) -> None:
        """Fold every group, or unfold all; without groups, make them by rule."""
        groups = self.listing.groups
        if groups is None or groups.by.has_groups:
            super().action_fold_all()
        else:
            groups.by, groups.folding = AdviceGrouping.RULE, Folding(is_folded=True)
            self.regroup()

    def open_row(self, item: AdviceLine) -> None:  # noqa: ARG002 - it is under the cursor
        self.action_describe()

    def action_describe(self) -> None:
        line = self.current
        if isinstance(line, AdviceEntry):
            self.app.push_screen(AdviceDetailScreen(line))


class AdviceDetailScreen(ListScreen[tuple[int, ObjectRef]]):
    """One finding in full; it stays as found while the cluster changes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        OPEN_OBJECT,
        Binding("ctrl+d", "scroll_panel(1)", "Scroll down", show=False, id="advice.down"),
        Binding("ctrl+u", "scroll_panel(-1)", "Scroll up", show=False, id="advice.up"),
    ]

    entry_name = "advice"
    title_text = "Objects"

    def __init__(self, entry: AdviceEntry) -> None:
        self.panel = Panel("advice")
        super().__init__(OBJECTS, OwnRows(lambda: self._objects), above=(self.panel,))
        self._entry = entry
        self._objects = tuple(enumerate(entry.finding.objects))

    def show_state(self) -> None:
        asks_overlap = bool(pools_to_share(self._entry.finding))
        self.host.cluster.look_at(Focus(asks_advice=True, asks_overlap=asks_overlap))
        self.panel.lines.set_hanging(
            detail_lines(
                self._entry,
                can_try=opening_of(self._entry.finding) != NOTHING,
                try_key=self.key_of("screen.whatif", "ctrl+t"),
            )
        )
        super().show_state()

    def explain(self) -> Pieces:
        around = self.host.session.around("advice", self._entry.key, self.host.now_ns())
        if isinstance(around, AdviceAround) and around.is_there:
            return (("enter or o opens the object", Tone.MUTED),)
        return (("this finding has changed or is resolved; esc shows the current findings", Tone.WARNING),)

    def name_of(self, item: tuple[int, ObjectRef]) -> str:
        return item[1].name

    def object_of(self, item: tuple[int, ObjectRef]) -> tuple[str, str]:
        return item[1].kind, item[1].key

    def action_whatif(self) -> None:
        if pools := pools_to_share(self._entry.finding):
            routes.ask_for_proportion(self, pools)
        else:
            super().action_whatif()

    def whatif_opening(self) -> Opening:
        return opening_of(self._entry.finding)

    def open_row(self, item: tuple[int, ObjectRef]) -> None:  # noqa: ARG002 - it is under the cursor
        self.action_open_object()
