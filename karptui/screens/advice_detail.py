"""One finding: the fact, what to do and why, above the objects that share it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType

from karptui.screens.open_object import OpenObject
from karptui.screens.panel_screen import PanelScreen
from karptui.session.analyst import Focus
from karptui.session.cluster_view import ClusterView
from karptui.views.advice.entry import AdviceEntry
from karptui.views.advice.objects import TABLE
from karptui.views.advice.opening import opening_of, pools_to_share
from karptui.views.advice.story import detail_lines
from karptui.views.row import Pieces, Tone
from karptui.views.whatif.opening import NOTHING, Opening
from karptui.whatif.edits import ObjectRef
from karptui.widgets.row_table import RowSelected


class AdviceDetailScreen(OpenObject, PanelScreen[tuple[int, ObjectRef]]):
    """A finding at length; it stays as it was found while the cluster goes on."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+d", "scroll_panel(1)", "Scroll down", show=False, id="advice.down"),
        Binding("ctrl+u", "scroll_panel(-1)", "Scroll up", show=False, id="advice.up"),
    ]

    entry_name = "advice"
    title_text = "Objects"

    panel_name = "advice"

    def __init__(self, entry: AdviceEntry) -> None:
        """Make the screen.

        Args:
            entry: the finding.
        """
        super().__init__(TABLE)
        self._entry = entry
        self._objects = tuple(enumerate(entry.finding.objects))

    def show_state(self) -> None:
        """Show the finding, and whether it still holds."""
        wants_overlap = bool(pools_to_share(self._entry.finding))
        self.host.look_at(Focus(wants_advice=True, wants_overlap=wants_overlap))
        self.lines.set_hanging(
            detail_lines(
                self._entry,
                can_try=opening_of(self._entry.finding) != NOTHING,
                try_key=self.key_of("screen.whatif", "ctrl+t"),
            )
        )
        super().show_state()

    def items_of(self, view: ClusterView) -> Sequence[tuple[int, ObjectRef]]:  # noqa: ARG002 - as they were found
        """Return the objects."""
        return self._objects

    def size_of(self, view: ClusterView) -> int:  # noqa: ARG002 - as above
        """Return how many objects there are."""
        return len(self._objects)

    def explain(self) -> Pieces:
        """Say whether the finding still holds."""
        report = self.host.view.advice
        known = {finding.key for finding in report.findings} if report is not None else frozenset()
        if self._entry.key in known:
            return (("enter or o goes to the object", Tone.MUTED),)
        return (("this has changed or been settled since; back shows what holds now", Tone.WARNING),)

    def explain_item(self, item: tuple[int, ObjectRef]) -> Pieces:  # noqa: ARG002 - all of them share the finding
        """Say whether the finding still holds."""
        return self.explain()

    def name_of(self, item: tuple[int, ObjectRef]) -> str:
        """Return the object's name."""
        return item[1].name

    def current_object(self) -> tuple[str, str] | None:
        """Return the object under the cursor."""
        return (self.current[1].kind, self.current[1].key) if self.current is not None else None

    def action_whatif(self) -> None:
        """Begin a what-if with what the remedy would change; where weights look like shares, ask for the shares."""
        pools = pools_to_share(self._entry.finding)
        if not pools:
            super().action_whatif()
            return
        from karptui.screens.proportion import ask_for_proportion  # noqa: PLC0415 - only when asked for

        ask_for_proportion(self, pools)

    def whatif_opening(self) -> Opening:
        """Begin a what-if with what the remedy would change."""
        return opening_of(self._entry.finding)

    @on(RowSelected)
    def _selected(self, event: RowSelected) -> None:
        event.stop()
        self.action_open_object()
