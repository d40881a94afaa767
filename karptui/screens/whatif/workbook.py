"""The sheets of the what-if and their history."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Protocol

from msgspec.structs import replace

from karptui.karpenter.rules import NEWEST
from karptui.kube.cel_library import why_no_cel
from karptui.sources.source import SourceError
from karptui.views.whatif.compare import numbered
from karptui.views.whatif.controls import scenario_name
from karptui.whatif.edits import AnyEdit, ObjectRef, PutObject, SetField
from karptui.whatif.run import Answer
from karptui.whatif.scenario import Opening, Replay, Scenario, write_scenarios
from karptui.whatif.schema.complete import Completion, complete
from karptui.whatif.schema.offers import KnownValues
from karptui.whatif.schema.schema import Schemas, shipped_schemas
from karptui.whatif.schema.validation import Checked, check
from karptui.whatif.sheet import (
    TYPING,
    History,
    Originals,
    Sheet,
    changed_documents,
    joined,
    scenario_of,
    with_document,
)
from karptui.whatif.yaml.splice import REMOVE, EditRefusedError, set_value
from karptui.whatif.yaml.tree import Parsed, Problem, ProblemSeverity, parse
from karptui.whatif.yaml.write import as_document


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

    def put(self, sheet: Sheet, why: str) -> None:
        """Take over a sheet; strokes that follow each other for the same reason are one step."""
        if sheet != self.sheet:
            self.histories[self.index] = self.histories[self.index].push(sheet, why)

    def write(self, text: str, *, why: str = TYPING) -> None:
        self.put(replace(self.sheet, text=text), why)

    def put_edits(self, edits: tuple[AnyEdit, ...], why: str) -> None:
        self.put(replace(self.sheet, edits=edits), why)

    def choose_replay(self, mode: Replay) -> None:
        self.put(replace(self.sheet, replay=mode), "replay mode")

    def rename(self, name: str) -> None:
        self.put(replace(self.sheet, name=name, is_named=True), "name")

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

    def free_name(self, name: str) -> str:
        used_names = {sheet.name for sheet in self.sheets}
        if name not in used_names:
            return name
        stem, number = re.sub(r" \([0-9]+\)$", "", name), 2
        while f"{stem} ({number})" in used_names:
            number += 1
        return f"{stem} ({number})"


NO_DOCUMENTS: Final = frozenset({"Pod", "Node", "NodeClaim"})
"""Kinds with many objects: their edits are listed, not typed."""


class Cluster(Protocol):
    """The cluster, as the what-if asks about it."""

    def now_ns(self) -> int:
        """Return nanoseconds since the epoch."""

    async def fetch_object(self, kind: str, key: str) -> dict[str, Any]:
        """Return an object from the API server; raises SourceError with a message."""

    async def crds(self) -> tuple[dict[str, Any], ...]:
        """Return the CustomResourceDefinitions of Karpenter's kinds; raises SourceError with a message."""


@dataclass
class Made:
    """The result of opening."""

    text: str
    edits: tuple[AnyEdit, ...]
    failed: str = ""
    """Why the first document or edit is missing."""


class DocumentReader:
    """Reads documents for the sheets of a workbook."""

    def __init__(self, objects: Cluster, book: Workbook) -> None:
        self._objects = objects
        self._book = book

    async def add_to(self, sheet: Sheet, opening: Opening) -> Made:
        """Return a sheet's text and edits with the opening's added."""
        opened = Made(sheet.text, sheet.edits)
        for ref in opening.documents:
            await self._add_document(opened, ref)
        for edit in opening.edits:
            await self._add_edit(opened, edit)
        return opened

    async def _add_document(self, opened: Made, ref: ObjectRef) -> bool:
        """Add an object's document to a text unless it is there; return whether it is there then."""
        if parse(opened.text).find(ref) is not None:
            return True
        try:
            opened.text = joined([opened.text, await self.read(ref)])
        except SourceError as error:
            opened.failed = opened.failed or str(error)
            return False
        return True

    async def _add_edit(self, opened: Made, edit: AnyEdit) -> None:
        """Add an edit, as text if its object can be a document: then it is visible and can be changed."""
        if isinstance(edit, PutObject):
            await self.remember(edit.text)
            opened.text = with_document(opened.text, edit.text)
        elif isinstance(edit, SetField) and edit.object.kind not in NO_DOCUMENTS:
            if await self._add_document(opened, edit.object):
                try:
                    value = REMOVE if edit.value is None else edit.value
                    opened.text = set_value(opened.text, edit.object, edit.path, value)
                except EditRefusedError as error:
                    opened.failed = opened.failed or str(error)
        elif edit not in opened.edits:
            opened.edits = (*opened.edits, edit)

    async def read(self, ref: ObjectRef) -> str:
        """Return an object of the cluster as a document, and remember its state.

        Raises:
            SourceError: if it cannot be read.
        """
        raw = await self._objects.fetch_object(ref.kind, ref.key)
        text = as_document(raw)
        for document in parse(text).documents:
            if document.body is not None:
                self._book.originals[document.ref] = document.body
                self._book.opened_texts[document.ref] = text
        return text

    async def remember(self, text: str) -> None:
        """Read the cluster's state of the documents; missing ones are new."""
        for document in parse(text).documents:
            if document.body is not None and document.ref not in self._book.originals:
                with suppress(SourceError):
                    await self.read(document.ref)


class Documents:
    """The documents in the text. Parsing takes longer than a key may, so it is done on demand."""

    def __init__(self, originals: Originals, crds: Callable[[], str] = lambda: NEWEST.crds) -> None:
        self._originals, self._crds = originals, crds
        self.text = ""
        self._parsed: Parsed | None = None
        self._checked: Checked | None = None
        self._held_to: Schemas | None = None
        """The schemas of the last validation."""
        self.known_values = KnownValues()
        """Names and values of the cluster that are offered; none until they have been read."""
        self._schemas: Schemas | None = None

    @property
    def schemas(self) -> Schemas:
        """Schemas of documents: the cluster's own if they could be read."""
        return self._schemas if self._schemas is not None else shipped_schemas(self._crds())

    def use_schemas(self, schemas: Schemas) -> None:
        self._schemas = schemas

    def read(self, text: str) -> None:
        if text != self.text:
            self.text, self._parsed, self._checked = text, None, None

    @property
    def is_taken_apart(self) -> bool:
        return self._checked is not None and self._held_to is self.schemas

    @property
    def _check(self) -> Checked:
        if self._checked is None or not self.is_taken_apart:
            self._held_to = self.schemas
            self._checked = check(self.parsed, self._held_to, self._originals)
        return self._checked

    @property
    def parsed(self) -> Parsed:
        if self._parsed is None:
            self._parsed = parse(self.text)
        return self._parsed

    @property
    def problems(self) -> tuple[Problem, ...]:
        return self._check.problems

    @property
    def origin(self) -> str:
        """What documents are held against, and how many rules of it cannot be run here."""
        unchecked = len(self._check.unchecked)
        left_out = f", {unchecked} of their rules cannot be checked here" if unchecked else ""
        if why_no_cel():
            left_out = f", without their rules and patterns: {why_no_cel()}"
        return f"{self.schemas.origin}{left_out}"

    @property
    def is_broken(self) -> bool:
        return any(problem.severity is ProblemSeverity.ERROR for problem in self.parsed.problems)

    @property
    def first_broken_line(self) -> int:
        errors = [problem.line for problem in self.parsed.problems if problem.severity is ProblemSeverity.ERROR]
        return min(errors, default=0)

    def complete(self, text: str, line: int, column: int) -> Completion:
        return complete(text, line, column, self.schemas, self.known_values)
