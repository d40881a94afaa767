"""What the what-if asks before it changes something: modes, scenarios, documents to open."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from karptui.kube.units import counted
from karptui.screens.dialogs import AskScreen, Choice, PickScreen
from karptui.screens.frame import FrameScreen
from karptui.screens.whatif.files import FileError, FileIsThereError, open_scenarios, save_scenarios
from karptui.screens.whatif.question import question
from karptui.sources.base import SourceError
from karptui.views.row import Tone
from karptui.views.whatif.opening import Opening
from karptui.views.whatif.totals import mode_sentence, mode_text
from karptui.whatif.edits import AnyEdit, ObjectRef, PutObject, SetField
from karptui.whatif.scenario import Replay, Scenario
from karptui.whatif.sheet import Sheet, joined, sheet_of, with_document
from karptui.whatif.yaml.parse import parse
from karptui.whatif.yaml.splice import REMOVE, EditRefusedError, set_value
from karptui.whatif.yaml.write import as_document

if TYPE_CHECKING:
    from karptui.screens.whatif.desk import Desk


NO_DOCUMENTS: Final = frozenset({"Pod", "Node", "NodeClaim"})
"""Objects of which there are many: edits of them are listed, not typed."""


@dataclass
class _Made:
    """What opening comes to."""

    text: str
    edits: tuple[AnyEdit, ...]
    failed: str = ""
    """Why the first document or edit that cannot be had is missing."""


class Asking(FrameScreen):
    """Mixed into the what-if screen."""

    desk: Desk

    def changed(self) -> None:
        """Show the sheet in front after something other than typing has changed it."""
        raise NotImplementedError

    # Opening documents

    async def open_documents(self, opening: Opening) -> str:
        """Add documents and edits to the sheet in front; return why one could not be read."""
        sheet = self.desk.sheet
        is_fresh = self.desk.is_untouched
        made = _Made("" if is_fresh else sheet.text, () if is_fresh else sheet.edits)
        for ref in opening.documents:
            await self._add_document(made, ref)
        for edit in opening.edits:
            await self._add_edit(made, edit)
        replay = opening.replay if is_fresh or opening.edits else sheet.replay
        name = opening.name if is_fresh else sheet.name
        self.desk.put(Sheet(name, made.text, made.edits, replay), f"opening {opening.name}")
        self.changed()
        return made.failed

    async def _add_document(self, made: _Made, ref: ObjectRef) -> bool:
        """Add an object's document to a text unless it is there; return whether it is there then."""
        if parse(made.text).find(ref) is not None:
            return True
        try:
            made.text = joined([made.text, await self.read_document(ref)])
        except SourceError as error:
            made.failed = made.failed or str(error)
            return False
        return True

    async def _add_edit(self, made: _Made, edit: AnyEdit) -> None:
        """Add an edit: as text where its object can be a document, so that it is seen and can be changed."""
        if isinstance(edit, PutObject):
            await self._remember_originals(edit.text)
            made.text = with_document(made.text, edit.text)
        elif isinstance(edit, SetField) and edit.object.kind not in NO_DOCUMENTS:
            if await self._add_document(made, edit.object):
                try:
                    value = REMOVE if edit.value is None else edit.value
                    made.text = set_value(made.text, edit.object, edit.path, value)
                except EditRefusedError as error:
                    made.failed = made.failed or str(error)
        elif edit not in made.edits:
            made.edits = (*made.edits, edit)

    async def read_document(self, ref: ObjectRef) -> str:
        """Return an object of the cluster as a document, and remember what it was.

        Raises:
            SourceError: when it cannot be read.
        """
        raw = await self.host.fetch_object(ref.kind, ref.key)
        text = as_document(raw)
        for document in parse(text).documents:
            if document.body is not None:
                self.desk.originals[document.ref] = document.body
                self.desk.opened_texts[document.ref] = text
        return text

    # What is replayed

    @question
    async def action_mode(self) -> None:
        """Choose what is replayed."""
        choices = [Choice(str(mode), mode_text(mode), mode_sentence(mode)) for mode in Replay]
        chosen = await self.app.push_screen_wait(
            PickScreen("What is replayed", choices, current=str(self.desk.sheet.replay))
        )
        if chosen is not None:
            self.desk.choose_replay(Replay(chosen))
            self.changed()

    # Scenarios

    @question
    async def action_scenarios(self) -> None:
        """Go to another scenario, begin one, or throw one away."""
        choices = [Choice(f"at {at}", sheet.name, self._told(at)) for at, sheet in enumerate(self.desk.sheets)]
        choices += [
            Choice("new", "+ begin a new one", "with nothing in it"),
            Choice("duplicate", "+ duplicate this one", self.desk.sheet.name),
            Choice("rename", "  name this one"),
            Choice("save", "↓ save to a file", "all of them, as YAML; karptui simulate --scenario replays it"),
            Choice("open", "↑ open a file"),
            Choice("drop", "− throw this one away", "esc leaves it"),
        ]
        chosen = await self.app.push_screen_wait(PickScreen("Scenarios", choices, current=f"at {self.desk.index}"))
        if chosen is None:
            return
        if chosen.startswith("at "):
            self.desk.choose(int(chosen.removeprefix("at ")))
        elif chosen == "new":
            self.desk.begin(Sheet(self.desk.free_name("unnamed")))
        elif chosen == "duplicate":
            sheet = self.desk.sheet
            self.desk.begin(replace(sheet, name=self.desk.free_name(sheet.name)))
        elif chosen == "rename":
            await self._rename()
        elif chosen == "save":
            await self._save()
        elif chosen == "open":
            await self._open()
        else:
            self.desk.drop()
        self.changed()

    def _told(self, index: int) -> str:
        sheet, answer = self.desk.sheets[index], self.desk.answers.get(index)
        count = len(self.desk.scenario_at(index).edits)
        edits = f"{counted(count, 'edit')} · {mode_text(sheet.replay)}"
        if answer is None or answer.difference is None:
            return edits
        change = answer.difference.price_delta_per_hour
        return f"{edits} · {change:+,.2f} $/h"

    @question
    async def action_rename(self) -> None:
        """Give the scenario a name."""
        await self._rename()
        self.changed()

    async def _save(self) -> None:
        """Ask for a file and write every scenario to it; one that is there is replaced only when that is confirmed."""
        target = await self.app.push_screen_wait(
            AskScreen("File to save the scenarios to", value="scenarios.yaml", check=needed)
        )
        if target is None:
            return
        scenarios = [self.desk.scenario_at(at) for at in range(len(self.desk.sheets))]
        try:
            path = await self._saved(target, scenarios)
        except FileError as error:
            self.say(str(error), Tone.FAULT)
            return
        if path is not None:
            self.say(f"{counted(len(scenarios), 'scenario')} saved to {path}", Tone.GOOD)

    async def _saved(self, target: str, scenarios: Sequence[Scenario]) -> Path | None:
        try:
            return save_scenarios(target, scenarios)
        except FileIsThereError:
            choices = (Choice("replace", f"replace {target}"), Choice("keep", "leave it as it is"))
            chosen = await self.app.push_screen_wait(PickScreen("The file is there already", choices))
        return save_scenarios(target, scenarios, replaces=True) if chosen == "replace" else None

    async def _open(self) -> None:
        """Ask for a file and put its scenarios on the desk."""
        target = await self.app.push_screen_wait(AskScreen("File of scenarios to open", check=needed))
        if target is None:
            return
        try:
            scenarios = open_scenarios(target)
        except FileError as error:
            self.say(str(error), Tone.FAULT)
            return
        for scenario in scenarios:
            sheet = sheet_of(scenario)
            await self._remember_originals(sheet.text)
            self.desk.begin(replace(sheet, name=self.desk.free_name(sheet.name)))
        self.say(f"{counted(len(scenarios), 'scenario')} opened from {target}", Tone.GOOD)

    async def _remember_originals(self, text: str) -> None:
        """Read what documents are in the cluster; those that are not there are new."""
        for document in parse(text).documents:
            if document.body is not None and document.ref not in self.desk.originals:
                with suppress(SourceError):
                    await self.read_document(document.ref)

    async def _rename(self) -> None:
        name = await self.app.push_screen_wait(
            AskScreen(
                "Name of the scenario",
                value=self.desk.sheet.name,
                check=needed,
            )
        )
        if name is not None:
            self.desk.rename(name.strip())

    def action_compare(self) -> None:
        """Show scenarios side by side."""
        from karptui.screens.whatif.compare import CompareScreen  # noqa: PLC0415 - only when asked for

        if len(self.desk.sheets) == 1:
            self.say("there is one scenario; s duplicates it or begins another", Tone.MUTED)
        self.app.push_screen(CompareScreen(self.desk))


def needed(text: str) -> str:
    """Return what is wrong with an answer that may be anything but empty."""
    return "" if text.strip() else "it cannot be empty"
