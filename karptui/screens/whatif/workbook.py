"""The sheets of the what-if: their history, their files, and the scenarios kept for the next start."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from karptui.errors import RequestError
from karptui.files import check_allowed, read_file, write_file
from karptui.paths import state_dir, typed_path
from karptui.views.whatif.compare import numbered
from karptui.views.whatif.controls import scenario_name
from karptui.whatif.edits import AnyEdit, ObjectRef
from karptui.whatif.run import Answer
from karptui.whatif.scenario import MOST_BYTES, Replay, Scenario, read_scenarios, write_scenarios
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


# Files


class FileIsThereError(RequestError):
    """A file that was not to be replaced."""


def save_scenarios(target: str, scenarios: Sequence[Scenario], *, replaces: bool = False) -> Path:
    """Save scenarios to a file and return its path.

    Raises:
        FileIsThereError: if the file exists.
        RequestError: if it cannot be written.
    """
    path = typed_path(target)
    try:
        write_file(path, write_scenarios(scenarios).encode("utf-8", "replace"), may_replace=replaces)
    except FileExistsError:
        raise FileIsThereError(f"{path} already exists") from None
    except OSError as error:
        raise RequestError(f"{path} cannot be written: {error.strerror}") from error
    return path


def open_scenarios(target: str) -> tuple[Scenario, ...]:
    """Return the scenarios of a file. Raises RequestError when it cannot be read, or does not hold scenarios."""
    path = typed_path(target)
    try:
        check_allowed()
        return read_scenarios(read_file(path, MOST_BYTES).decode(), str(path))
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise RequestError(f"{path} is not text") from None


MOST_KEPT_BYTES: Final = 8 << 20
"""Maximum size of such a file; more is not kept."""
LOCK_SECONDS: Final = 2.0
"""How long to wait for another karptui to write; it takes milliseconds."""
MOST_NAME: Final = 40
UNREADABLE: Final = "unreadable"
"""Marks the name of an unreadable file, which another version or its owner may be able to read."""


class KeptScenarios:
    """The file of one cluster."""

    def __init__(self, cluster: str) -> None:
        readable = re.sub(r"[^a-zA-Z0-9]+", "-", cluster).strip("-")[:MOST_NAME]
        number = hashlib.sha256(cluster.encode()).hexdigest()[:12]
        self._name = f"{readable}-{number}.yaml"
        self._mine: frozenset[str] = frozenset()
        """What this process has read or written last; the rest of the file was written by another karptui since."""

    def read(self) -> tuple[Scenario, ...]:
        """Return the kept scenarios; empty if there are none. An unreadable file is set aside."""
        scenarios = self._read()
        self._mine = frozenset(map(_text, scenarios))
        return scenarios

    def _read(self) -> tuple[Scenario, ...]:
        with suppress(OSError):
            path = self._path()
            try:
                return read_scenarios(read_file(path, MOST_KEPT_BYTES, is_regular=True).decode(), str(path))
            except FileNotFoundError:
                return ()
            except (OSError, UnicodeDecodeError, RequestError):
                path.replace(_name_aside(path))
        return ()

    def write(self, scenarios: Sequence[Scenario]) -> bool:
        """Replace the scenarios that were read, and return whether it succeeded.

        Scenarios written by another instance meanwhile stay.
        """
        with _locked_folder():
            others = [scenario for scenario in self._read() if _text(scenario) not in self._mine]
            texts = {_text(scenario): scenario for scenario in (*others, *scenarios)}
            data = write_scenarios(tuple(texts.values())).encode() if texts else b""
            if len(data) > MOST_KEPT_BYTES:
                return False
            try:
                path = self._path()
                if data:
                    write_file(path, data, may_replace=True, is_private=True)
                else:
                    path.unlink(missing_ok=True)
            except OSError:
                return False
        self._mine = frozenset(map(_text, scenarios))
        return True

    def _path(self) -> Path:
        return _folder() / self._name


def _folder() -> Path:
    check_allowed()
    folder = state_dir() / "whatif"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


@contextmanager
def _locked_folder() -> Iterator[None]:
    """Keep other karptuis from writing meanwhile; go on without where the folder cannot be locked in time."""
    descriptor = -1
    with suppress(OSError):
        descriptor = os.open(_folder(), os.O_RDONLY)
        until = time.monotonic() + LOCK_SECONDS
        while not _is_locked(descriptor) and time.monotonic() < until:
            time.sleep(0.01)
    try:
        yield
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def _is_locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _text(scenario: Scenario) -> str:
    return write_scenarios([scenario])


def _name_aside(path: Path) -> Path:
    """Return a name for a file to be set aside that no other has."""
    free_path, number = path.with_suffix(f".{UNREADABLE}{path.suffix}"), 2
    while os.path.lexists(free_path):
        free_path, number = path.with_suffix(f".{UNREADABLE}-{number}{path.suffix}"), number + 1
    return free_path
