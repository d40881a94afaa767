"""Remedies for blockers, compared: the effect of each, and its what-if."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import TextArea

from karptui.screens.list_screen import ListScreen
from karptui.screens.listing import Kept
from karptui.screens.row_sources import OwnRows
from karptui.session.answers import RemedyTrials
from karptui.session.blockers import BlockerEntry
from karptui.views.blockers.remedies import remedy_text
from karptui.views.blockers.sentences import effect_text
from karptui.views.blockers.trials import TABLE, TriedRemedy, later_text, trial_text, tried_remedies
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.whatif.remedies.blockers.remedy import BlockerRemedy
from karptui.whatif.scenario import Opening, Scenario


class RemediesScreen(ListScreen[TriedRemedy]):
    """The remedies of a group of blockers above the YAML and commands of the one under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "copy_text", "Copy YAML and commands", id="remedies.copy"),
        Binding("tab", "toggle_text", "Scroll the text", show=False, id="remedies.text"),
    ]

    entry_name = "blockers"
    title_text = "What to do"
    has_objects = False

    def __init__(self, title: str, members: Sequence[BlockerEntry]) -> None:
        self._text = TextArea(
            "", read_only=True, show_line_numbers=False, soft_wrap=True, theme="css", id="remedy-text"
        )
        super().__init__(TABLE, OwnRows(self._rows_of_remedies), below=(self._text,))
        self.title_text = clean(title)
        self._opened = tuple(member.key for member in members)
        self._members = tuple(members)
        self._remedies: Kept[tuple[BlockerRemedy, ...]] = Kept()
        self._rows: Kept[tuple[TriedRemedy, ...]] = Kept()
        self._trials = RemedyTrials()
        self._tried: object = None
        """The trials that were started."""

    def _rows_of_remedies(self) -> Sequence[TriedRemedy]:
        offered = self._offered()
        trials = self._trials.trials if tuple(remedy.kind for remedy in offered) == self._trials.kinds else ()
        return self._rows.get((offered, trials), lambda: tried_remedies(offered, trials))

    def _offered(self) -> tuple[BlockerRemedy, ...]:
        """Return the remedies of the current blockers; of blockers that are gone, their last remedies."""

        def compute() -> tuple[BlockerRemedy, ...]:
            remedy_list = self.host.session.remedies(self._opened, self.host.now_ns())
            if not remedy_list.members:
                return self._remedies.latest or ()
            self._members = remedy_list.members
            return remedy_list.remedies

        return self._remedies.get((self.host.session.overview(),), compute)

    def show_state(self) -> None:
        """Show the remedies and the text of the one under the cursor, and have all of them tried."""
        super().show_state()
        self._show_text()
        offered = self._offered()
        remedies = tuple((remedy.kind, remedy.edits) for remedy in offered)
        if remedies != self._tried:
            self._tried = remedies
            self._try_all(offered)

    @work(exclusive=True, group="trials", exit_on_error=False)
    async def _try_all(self, offered: tuple[BlockerRemedy, ...]) -> None:
        """Have every remedy tried and then forecast, in a thread."""
        keys, now_ns = tuple(entry.key for entry in self._members), self.host.now_ns()
        session = self.host.session
        tried = await asyncio.to_thread(session.try_remedies, keys, now_ns)
        self._show_trials(tried, offered)
        if forecast := await asyncio.to_thread(session.forecast_remedies, keys, tried, now_ns):
            self._show_trials(forecast, offered)

    def _show_trials(self, trials: RemedyTrials, offered: tuple[BlockerRemedy, ...]) -> None:
        row = self.current
        is_first = row is None or row.remedy.kind in (offered[0].kind, self._trials.best)
        self._trials = trials
        self.refresh_view(is_forced=True)
        if is_first and trials.best is not None:  # the user is still here
            self.table.move_cursor_to(trials.best.name)

    def _show_text(self) -> None:
        row = self.current
        text = (
            remedy_text(row.remedy, self._members) if row is not None else "# it ends automatically: no action needed"
        )
        if text != self._text.text:
            if "yaml" in self._text.available_languages:
                self._text.language = "yaml"
            self._text.load_text(text)
            self._text.border_title = Content(" YAML and commands: karptui runs none of them ")

    def explain_item(self, item: TriedRemedy) -> Pieces:
        """Return the effect on nodes, the change, and how to try it."""
        remedy, effect = item.remedy, effect_text(item.remedy.effect)
        pieces: list[tuple[str, Tone]] = []
        if item.trial is not None and (remedy.edits or remedy.preempts):  # the change is also above its YAML
            pieces.append((trial_text(item), Tone.GOOD if item.place == 0 else Tone.NORMAL))
            if item.trial.is_waiting:
                pieces.append((" No node is freed at once: F simulates it.", Tone.MUTED))
        else:
            pieces.append((remedy.sentence, Tone.NORMAL))
            if effect:
                pieces.append((f" {effect} (simulated).", Tone.GOOD))
        if not remedy.edits and not remedy.preempts:
            pieces.append((" It cannot be simulated: the original objects are unknown.", Tone.MUTED))
        return tuple(pieces)

    def name_of(self, item: TriedRemedy) -> str:
        return item.remedy.title

    def whatif_opening(self) -> Opening:
        row = self.current
        if row is None:
            return Opening()
        later = later_text(row, self.host.now_ns())
        return Opening(row.remedy.title, edits=row.remedy.edits, replay=row.remedy.replay, is_new=True, later=later)

    def scenarios_to_play(self) -> Sequence[Scenario]:
        remedy = self.current.remedy if self.current is not None else None
        return (Scenario(name=remedy.title, edits=remedy.edits),) if remedy is not None and remedy.edits else ()

    def action_copy_text(self) -> None:
        self.app.copy_to_clipboard(self._text.text)
        self.say("copied", Tone.GOOD)

    def action_toggle_text(self) -> None:
        """Give the keys to the text, or back to the table."""
        (self.table if self._text.has_focus else self._text).focus()

    def cursor_moved(self) -> None:
        super().cursor_moved()
        self._show_text()

    def open_row(self, item: TriedRemedy) -> None:  # noqa: ARG002 - it is under the cursor
        self.action_whatif()
