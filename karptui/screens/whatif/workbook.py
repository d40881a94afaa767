"""The sheets of the what-if and their history."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from karptui.views.whatif.compare import numbered
from karptui.views.whatif.controls import scenario_name
from karptui.whatif.edits import AnyEdit, ObjectRef
from karptui.whatif.run import Answer
from karptui.whatif.scenario import Replay, Scenario, write_scenarios
from karptui.whatif.schema.schema import Schemas
from karptui.whatif.sheet import TYPING, History, Sheet, changed_documents, scenario_of
from karptui.whatif.yaml.tree import Parsed, parse


class Workbook:
    """The sheets, one of them current; kept as long as karptui runs."""

    def __init__(self) -> None:
        self.histories: list[History[Sheet]] = [History(Sheet())]
        self.index = 0
        self.originals: dict[ObjectRef, Mapping[str, Any]] = {}
        """Objects as their documents were opened."""
        self.opened_texts: dict[ObjectRef, str] = {}
        """The same as text, to go back to."""
        self.schemas: Schemas | None = None
        """The cluster's own schemas; None until they are read, or if they cannot be."""
        self.answers: dict[int, Answer] = {}
        """The last good answer of each sheet, by its position."""
        self._saved: set[str] = set()
        """Scenarios as saved in files."""
        self._asked_about: set[str] = set()
        """Unsaved scenarios that the dialog has listed."""

    @property
    def sheet(self) -> Sheet:
        return self.histories[self.index].present

    @property
    def sheets(self) -> tuple[Sheet, ...]:
        return tuple(history.present for history in self.histories)

    @property
    def is_untouched(self) -> bool:
        return not self.scenario(parse(self.sheet.text)).edits

    def scenario(self, parsed: Parsed) -> Scenario:
        return self._scenario(self.sheet, parsed)

    def scenario_at(self, index: int) -> Scenario:
        sheet = self.sheets[index]
        return self._scenario(sheet, parse(sheet.text))

    def scenarios(self) -> list[Scenario]:
        return [self.scenario_at(at) for at in range(len(self.histories))]

    def _scenario(self, sheet: Sheet, parsed: Parsed) -> Scenario:
        """Return the scenario of a sheet, named after its edits unless it has a name."""
        scenario = scenario_of(sheet, parsed, self.originals)
        return scenario if sheet.is_named else replace(scenario, name=self.name_of_edits(sheet, parsed) or sheet.name)

    def name_of_edits(self, sheet: Sheet, parsed: Parsed) -> str:
        """Return a name made of the edits of a sheet; empty without edits."""
        return scenario_name(changed_documents(parsed, self.originals), self.originals, sheet.edits)

    def names(self) -> list[str]:
        """Return the names of all scenarios; equal ones are numbered."""
        return numbered([scenario.name for scenario in self.scenarios()])

    # Changing the current sheet

    def write(self, text: str, *, why: str = TYPING) -> None:
        """Take over the text; strokes that follow each other for the same reason are one step."""
        if text != self.sheet.text:
            self._push(replace(self.sheet, text=text), why)

    def put_edits(self, edits: tuple[AnyEdit, ...], why: str) -> None:
        """Take over the edits that are not text."""
        if edits != self.sheet.edits:
            self._push(replace(self.sheet, edits=edits), why)

    def put(self, sheet: Sheet, why: str) -> None:
        if sheet != self.sheet:
            self._push(sheet, why)

    def choose_replay(self, mode: Replay) -> None:
        if mode is not self.sheet.replay:
            self._push(replace(self.sheet, replay=mode), "replay mode")

    def rename(self, name: str) -> None:
        self.put(replace(self.sheet, name=name, is_named=True), "name")

    def _push(self, sheet: Sheet, why: str) -> None:
        self.histories[self.index] = self.histories[self.index].push(sheet, why)

    def undo(self) -> str:
        """Undo one step and return its name; empty if there is none."""
        return self._move(self.histories[self.index].undo())

    def redo(self) -> str:
        """Redo one step and return its name; empty if there is none."""
        return self._move(self.histories[self.index].redo())

    def _move(self, moved: tuple[History[Sheet], str] | None) -> str:
        if moved is None:
            return ""
        self.histories[self.index], why = moved
        return why

    # Several sheets

    def begin_once(self, sheet: Sheet) -> None:
        """Make a new sheet current under its own name; an equal existing sheet is reused."""
        for at, existing in enumerate(self.sheets):
            if replace(existing, name=sheet.name) == sheet:
                self.index = at
                return
        self.begin_copy(sheet)

    def begin_copy(self, sheet: Sheet) -> None:
        """Make a new sheet current under a name that no other has."""
        self.begin(replace(sheet, name=self.free_name(sheet.name)))

    def put_behind(self, sheets: Sequence[Sheet], *, keeps_empty: bool = False) -> None:
        """Insert sheets before the first; the current one stays current unless it is empty.

        Args:
            keeps_empty: Whether an empty current sheet stays current because it is about to be filled.
        """
        count, is_empty = len(sheets), self.is_untouched and not self.sheet.text
        self.histories[:0] = [History(sheet) for sheet in sheets]
        self.answers = {at + count: answer for at, answer in self.answers.items()}
        self.index += count
        if sheets and is_empty and not keeps_empty:
            self.drop()

    def begin(self, sheet: Sheet) -> None:
        if self.is_untouched and not self.sheet.text:
            self.histories[self.index] = History(sheet)
            self.answers.pop(self.index, None)
        else:
            self.histories.append(History(sheet))
            self.index = len(self.histories) - 1

    def drop(self) -> None:
        del self.histories[self.index]
        self.answers = {at - (at > self.index): answer for at, answer in self.answers.items() if at != self.index}
        if not self.histories:
            self.histories.append(History(Sheet()))
        self.index = min(self.index, len(self.histories) - 1)

    # Unsaved scenarios

    def note_saved(self, scenarios: Iterable[Scenario]) -> None:
        self._saved.update(write_scenarios([scenario]) for scenario in scenarios)

    def unsaved(self) -> list[Scenario]:
        texts = ((scenario, write_scenarios([scenario])) for scenario in self.scenarios() if scenario.edits)
        return [scenario for scenario, text in texts if text not in self._saved]

    def note_opened(self) -> None:
        """Mark the current sheet as made by a key: the same key makes it again, so the user is not asked about it."""
        self._asked_about.add(write_scenarios([self.scenario_at(self.index)]))

    def to_ask_about(self) -> int:
        """Return the number of unsaved scenarios that the user was not asked about."""
        texts = {write_scenarios([scenario]) for scenario in self.unsaved()}
        if texts <= self._asked_about:
            return 0
        self._asked_about |= texts
        return len(texts)

    def free_name(self, wanted: str) -> str:
        taken = {sheet.name for sheet in self.sheets}
        if wanted not in taken:
            return wanted
        stem, number = re.sub(r" \([0-9]+\)$", "", wanted), 2
        while f"{stem} ({number})" in taken:
            number += 1
        return f"{stem} ({number})"
