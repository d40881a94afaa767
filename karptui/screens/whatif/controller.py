"""The what-if without its screen: edits, questions and answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

from msgspec.structs import replace

from karptui.karpenter.rules import VERSION_SETTING, rules_for
from karptui.kube.units import count_text
from karptui.screens.whatif.kept_scenarios import KeptScenarios, open_scenarios, save_scenarios
from karptui.screens.whatif.workbook import Cluster, DocumentReader, Documents, Workbook
from karptui.session.answers import ControllerInfo, ReplayState
from karptui.session.protocol import Session
from karptui.session.throttle import KEYBOARD, REST_SECONDS
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.whatif.controls import focused, problem_at
from karptui.views.whatif.totals import mode_sentence, mode_text
from karptui.whatif.edits import AnyEdit, ObjectRef, SetSetting
from karptui.whatif.export import changes_of, export_commands, export_diff, export_yaml
from karptui.whatif.run import Answer
from karptui.whatif.scenario import Opening, Scenario, write_scenarios
from karptui.whatif.schema.offers import KnownValues
from karptui.whatif.schema.schema import schemas_from_crds
from karptui.whatif.sheet import TYPING, Sheet, joined, sheet_of
from karptui.whatif.yaml.tree import Document, ProblemSeverity, parse

NAMES_AFTER_NS: Final = 5_000_000_000
"""How long names may be behind a cluster that keeps changing; reading a large one takes half a second."""


class Listener(Protocol):
    """Whoever shows the work."""

    def typed(self) -> None:
        """Mark the text as the last change."""

    def text_changed(self) -> None:
        """Note that an edit has changed the text."""

    def sheet_changed(self) -> None:
        """Show the current sheet, which changed or is another one."""

    def answered(self, number: int, answer: Answer) -> None:
        """Note an answer, in whatever thread."""

    def say(self, text: str, tone: Tone = Tone.NORMAL) -> None:
        """Say something to the reader."""


class WhatIf:
    """Keeps the work while other screens are shown, asks the replayer, and notifies a listener."""

    def __init__(self, cluster: Cluster, session: Session, kept: KeptScenarios | None = None) -> None:
        self.cluster, self.session = cluster, session
        self.book = Workbook()
        self._kept = kept
        self._last_time: tuple[Scenario, ...] | None = None
        """Kept scenarios that are not restored yet; None until they are read."""
        self._reader = DocumentReader(cluster, self.book)
        self.documents = Documents(self.book.originals, self._crds)
        session.whatif.subscribe(self._answered)
        self.listener: Listener | None = None
        self.problem = ""
        """Why the last question has no answer."""
        self._question: Scenario | None = None
        """The last question."""
        self._name = self.book.sheet.name
        self._is_asked = False
        """Whether the front sheet still asks it."""
        self._number = 0
        """Of that question; 0 while none counts."""
        self._taken: Answer | None = None
        """The newest answer to it."""
        self._reading: asyncio.Task[None] | None = None
        self._read_generation = -1
        """Of the cluster that names are read from."""
        self._read_ns = 0

    def show_to(self, listener: Listener) -> None:
        """Notify a listener from now on; nothing counts as asked yet."""
        self.listener = listener
        self._question, self._number, self._taken = None, 0, None
        self._is_asked, self.problem = False, ""

    def leave(self, listener: Listener) -> None:
        if self.listener is listener:
            self.listener = None

    # The text

    def typed(self, text: str, line: int) -> None:
        """Take over the typed text at once; it is parsed after a pause in typing."""
        self.book.write(text, why=f"{TYPING} in line {line + 1}")
        self.documents.read(text)
        self._is_asked = False
        if self.listener is not None:
            self.listener.typed()

    def put_text(self, text: str, why: str) -> None:
        self.book.write(text, why=why)
        self.documents.read(text)
        self._is_asked = False
        if self.listener is not None:
            self.listener.text_changed()

    def put_edits(self, edits: tuple[AnyEdit, ...], why: str) -> None:
        """Take over the edits that are not text."""
        self.book.put_edits(edits, why)
        self.changed()

    def changed(self) -> None:
        """Show and replay the front sheet after a change other than typing."""
        self.documents.read(self.book.sheet.text)
        self._is_asked = False
        if self.listener is not None:
            self.listener.sheet_changed()

    def document_at(self, line: int) -> Document | None:
        """Return the document that a line belongs to, None while it cannot be read."""
        return focused(self.documents.parsed, line)

    def say(self, text: str, tone: Tone = Tone.NORMAL) -> None:
        if self.listener is not None:
            self.listener.say(text, tone)

    def explain(self, line: int) -> Pieces | None:
        """Return the error at a line, or the replay mode; None to leave the previous text."""
        mode, documents = self.book.sheet.replay, self.documents
        plain = (f"{mode_text(mode)}: {mode_sentence(mode)}", Tone.MUTED)
        if not documents.is_taken_apart:
            return None  # errors of the text before, while the user types
        problem = problem_at(documents.problems, line) or self._problem_elsewhere()
        last_good = " · last valid result" if documents.is_broken else ""
        if problem:
            return ((f"✘ {problem}", Tone.FAULT), (last_good, Tone.WARNING))
        if self.problem:
            return ((f"✘ {clean(self.problem)}", Tone.FAULT), (" · last valid result", Tone.WARNING))
        return (plain, (" · nothing is applied", Tone.MUTED))

    def _problem_elsewhere(self) -> str:
        """Return the first thing that is wrong with another line than that of the cursor."""
        wrong = [problem for problem in self.documents.problems if problem.severity is ProblemSeverity.ERROR]
        if not wrong:
            return ""
        more = f" · {count_text(len(wrong) - 1)} more" if len(wrong) > 1 else ""
        return f"line {wrong[0].line + 1}: {problem_at(wrong[:1], wrong[0].line)}{more}"

    # Going back

    def undo(self) -> None:
        self._went(self.book.undo(), "undone", "nothing to undo")

    def redo(self) -> None:
        self._went(self.book.redo(), "done again", "nothing to redo")

    def _went(self, what: str, done: str, nothing: str) -> None:
        if what:
            self.changed()
            self.say(f"{done}: {what}", Tone.MUTED)
        else:
            self.say(nothing, Tone.MUTED)

    # Asking

    def scenario(self) -> Scenario:
        return self.book.scenario(self.documents.parsed)

    @property
    def name(self) -> str:
        """Name of the front scenario; the previous one while a document is broken."""
        if not self.documents.is_broken:
            self._name = self.scenario().name
        return self._name

    def ask(self) -> None:
        """Replay the front sheet, unless a document is invalid: then the last valid result stays."""
        if self.documents.is_broken:
            return
        scenario, self._is_asked = self.scenario(), True
        if self._is_known(scenario):
            return
        now_ns, is_typing = self.cluster.now_ns(), self._is_typing
        self._question, self._taken = scenario, None
        state = self.session.whatif.replay(scenario, now_ns, is_typing=is_typing, is_first=not self._number)
        self._number = state.number

    def replaying(self) -> ReplayState:
        return self.session.whatif.state(self.cluster.now_ns(), is_typing=self._is_typing)

    @property
    def _is_typing(self) -> bool:
        return not KEYBOARD.is_at_rest(time.monotonic(), REST_SECONDS)

    def _is_known(self, scenario: Scenario) -> bool:
        """Whether the answer exists or is being computed: a comment changes the text and asks nothing new."""
        if scenario != self._question or not self._number:
            return False
        state, answer = self.replaying(), self.answer
        is_there = answer is not None and answer is self._taken and answer.blockers_gained is not None
        return not state.moves and (is_there or state.is_busy)

    def follow(self) -> bool:
        """Read names again where the cluster has changed, and return whether it is time to ask again."""
        state = self.replaying()
        if not self._number or not state.is_outdated:
            return False
        self.follow_names()
        return state.is_due and not state.is_busy

    # Answers

    @property
    def answer(self) -> Answer | None:
        return self.book.answers.get(self.book.index)

    def _answered(self, number: int, answer: Answer) -> None:
        if (listener := self.listener) is not None:
            listener.answered(number, answer)

    def take(self, number: int, answer: Answer) -> bool:
        """Take an answer over and return whether it is that of the last question."""
        if number != self._number or not self._is_asked:
            return False
        self._taken = answer
        self.problem = answer.problem
        if answer.difference is not None:
            self.book.answers[self.book.index] = answer
        return True

    # Names and schemas of the cluster

    @property
    def controller(self) -> ControllerInfo:
        return self.session.controller()

    def _crds(self) -> str:
        """Return the release whose schemas count where the cluster has none: of the version that the sheet asks for."""
        settings = {edit.name: edit.value for edit in self.book.sheet.edits if isinstance(edit, SetSetting)}
        return rules_for(settings.get(VERSION_SETTING) or self.controller.version).crds

    def follow_names(self) -> None:
        """Begin to read names, unless they are recent."""
        generation, now_ns = self.session.overview().generation, self.cluster.now_ns()
        is_fresh = self._read_generation >= 0 and now_ns - self._read_ns < NAMES_AFTER_NS
        is_reading = self._reading is not None and not self._reading.done()
        if generation != self._read_generation and not is_fresh and not is_reading:
            self._read_generation, self._read_ns = generation, now_ns
            self._reading = asyncio.create_task(self._read_names())

    async def _read_names(self) -> None:
        self.documents.known_values = await asyncio.to_thread(self.session.known_values)
        self._read_ns = self.cluster.now_ns()

    async def names(self) -> KnownValues:
        self.follow_names()
        if self._reading is not None:
            await self._reading
        return self.documents.known_values

    async def read_schemas(self) -> bool:
        """Validate documents by the cluster's schemas; return whether there are any.

        Raises:
            SourceError: if they cannot be read.
        """
        if self.book.schemas is None:
            crds = await self.cluster.crds()
            if not crds:
                return False
            self.book.schemas = schemas_from_crds(crds)
        self.documents.use_schemas(self.book.schemas)
        return True

    # Documents of the cluster

    async def open(self, opening: Opening) -> str:
        """Add documents and edits to the front sheet, or begin a new one; return an error message."""
        book, sheet = self.book, self.book.sheet
        is_fresh = opening.is_new or book.is_untouched
        result = await self._reader.add_to(Sheet() if is_fresh else sheet, opening)
        replay = opening.replay if is_fresh or opening.edits else sheet.replay
        name = sheet.name
        if is_fresh:  # a new sheet is named when it is begun
            name = opening.name if opening.is_new else book.free_name(opening.name)
        later, is_named = (
            (opening.later, opening.is_new or bool(opening.edits)) if is_fresh else (sheet.later, sheet.is_named)
        )
        opened = Sheet(name, result.text, result.edits, replay, later, is_named)
        if opening.is_new:
            book.begin_once(opened)
        else:
            book.put(opened, f"opening {opening.name}")
        if is_fresh:
            book.note_opened()
        self.changed()
        return result.failed

    async def add_document(self, ref: ObjectRef) -> None:
        """Add an object's document to the front sheet unless it is there. Raises SourceError if it cannot be read."""
        if self.documents.parsed.find(ref) is None:
            text = await self._reader.read(ref)
            self.put_text(joined([self.book.sheet.text, text]), f"{ref.kind} {ref.key} opened")

    # Scenarios

    def save_scenarios(self, target: str, *, replaces: bool = False) -> Path:
        """Write every scenario to a file and return its path.

        Raises:
            FileIsThereError: when the file is there and is not to be replaced.
            RequestError: when it cannot be written.
        """
        scenarios = self.book.scenarios()
        path = save_scenarios(target, scenarios, replaces=replaces)
        self.book.note_saved(scenarios)
        return path

    async def open_scenarios(self, target: str) -> int:
        """Begin a sheet for each scenario of a file; return their number.

        Raises:
            RequestError: if it cannot be read, or contains no scenarios.
        """
        sheets = await self._sheets_of(open_scenarios(target))
        for sheet in sheets:  # no await in between, so that a cancelled call has begun none
            self.book.begin_copy(sheet)
            self.book.note_saved([self.book.scenario_at(self.book.index)])
        return len(sheets)

    async def restore(self, *, is_opening: bool = False) -> int:
        """Restore the unsaved scenarios of the last run, once; return their number.

        Args:
            is_opening: Whether something is opened next, which must not go into one of them.
        """
        if self._kept is None:
            return 0
        if self._last_time is None:
            self._last_time = self._kept.read()
        sheets = await self._sheets_of(self._last_time)
        if not self._last_time:
            return 0  # there were none, or another instance was faster
        self._last_time = ()
        self.book.put_behind(sheets, keeps_empty=is_opening)
        self.changed()
        return len(sheets)

    async def _sheets_of(self, scenarios: Sequence[Scenario]) -> list[Sheet]:
        """Return a sheet for each saved scenario, with its name unless that was derived from its edits."""
        sheets = [sheet_of(scenario) for scenario in scenarios]
        for sheet in sheets:
            await self._reader.remember(sheet.text)
        return [replace(s, is_named=self.book.name_of_edits(s, parse(s.text)) != s.name) for s in sheets]

    def keep(self) -> None:
        """Keep unsaved scenarios for the next start, with those not restored yet."""
        if self._kept is not None and self._last_time is not None:
            self._kept.write((*self._last_time, *self.book.unsaved()))

    def exported(self, form: str) -> str:
        """Return the front scenario as ``patch``, ``yaml``, ``diff`` or ``scenario``."""
        if form == "scenario":
            return write_scenarios([self.scenario()])
        changes = changes_of(self.documents.parsed, self.book.originals, self.book.opened_texts)
        if form == "yaml":
            return export_yaml(changes) or "# no document is edited\n"
        if form == "diff":
            return export_diff(changes) or "# no document is edited\n"
        controller = self.controller
        said_by = controller.title
        commands = export_commands(
            changes,
            self.book.sheet.edits,
            self.documents.schemas,
            gates=controller.settings.gates,
            controller=said_by.removeprefix("Deployment ") if said_by.startswith("Deployment ") else "",
        )
        return f"# Nothing has been applied. Check each line before you run it.\n{commands}"
