"""A scenario being edited: the text of its documents, its other edits, and the undo history."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec

from karptui.whatif.edits import AnyEdit, ObjectRef, PutObject
from karptui.whatif.scenario import Replay, Scenario
from karptui.whatif.yaml.tree import Document, Parsed, parse

T = TypeVar("T")

MOST_STEPS: Final = 500
"""Steps that are kept; the oldest are forgotten."""
TYPING: Final = "typing"
"""What begins so takes in the same that follows it: keys are not undone one by one."""


class UndoStep(NamedTuple, Generic[T]):
    """A state, and what led away from it."""

    state: T
    why: str


class History(NamedTuple, Generic[T]):
    """States in chronological order; immutable."""

    present: T
    past: tuple[UndoStep[T], ...] = ()
    """The oldest first."""
    future: tuple[UndoStep[T], ...] = ()
    """Undone states, the most recent first."""

    def push(self, state: T, why: str) -> History[T]:
        """Return the history with a further state; undone states are dropped."""
        if why.startswith(TYPING) and self.past and self.past[-1].why == why and not self.future:
            return History(state, self.past)
        return History(state, (*self.past, UndoStep(self.present, why))[-MOST_STEPS:])

    def undo(self) -> tuple[History[T], str] | None:
        """Return the history one step back and the name of the undone step; None if there is none."""
        if not self.past:
            return None
        step = self.past[-1]
        return History(step.state, self.past[:-1], (UndoStep(self.present, step.why), *self.future)), step.why

    def redo(self) -> tuple[History[T], str] | None:
        """Return the history one step forward and the name of the redone step; None if there is none."""
        if not self.future:
            return None
        step, *rest = self.future
        return History(step.state, (*self.past, UndoStep(self.present, step.why)), tuple(rest)), step.why


SEPARATOR: Final = "---\n"

Originals = Mapping[ObjectRef, Mapping[str, Any]]
"""Objects of the cluster by reference, as their documents were opened."""


class Sheet(msgspec.Struct, frozen=True):
    """One state of the work; undo goes back to the one before."""

    name: str = "unnamed"
    """Name given by the user or the opening; that of the opened object otherwise."""
    text: str = ""
    """The documents as typed; they may be unreadable at the moment."""
    edits: tuple[AnyEdit, ...] = ()
    """Edits that are not text."""
    replay: Replay = Replay.PENDING
    later: str = ""
    """Message about when it takes effect, if it was opened from a remedy that takes time."""
    is_named: bool = False
    """Whether the scenario keeps its name instead of being named after its edits."""


def changed_documents(parsed: Parsed, originals: Originals) -> tuple[Document, ...]:
    """Return the documents that differ from their objects in the cluster, or have none there."""
    return tuple(
        document
        for document in parsed.documents
        if document.body is not None and document.name and document.body != originals.get(document.ref)
    )


def scenario_of(sheet: Sheet, parsed: Parsed, originals: Originals) -> Scenario:
    """Return the scenario of a sheet: documents that differ from the cluster, then the other edits.

    Args:
        originals: The objects from which its documents were opened.
    """
    puts = tuple(PutObject(document.text) for document in changed_documents(parsed, originals))
    return Scenario(sheet.name, sheet.replay, (*puts, *sheet.edits))


def sheet_of(scenario: Scenario) -> Sheet:
    """Return the work on a scenario that was saved."""
    texts = [edit.text for edit in scenario.edits if isinstance(edit, PutObject)]
    rest = tuple(edit for edit in scenario.edits if not isinstance(edit, PutObject))
    return Sheet(scenario.name, joined(texts), rest, scenario.replay)


def joined(texts: Iterable[str]) -> str:
    """Return documents as one text."""
    return SEPARATOR.join(text if text.endswith("\n") else f"{text}\n" for text in texts if text.strip())


def with_document(text: str, document_text: str) -> str:
    """Return a text with a document in the place of the one about the same object, or at its end."""
    added = parse(document_text).documents
    document = parse(text).find(added[0].ref) if added else None
    if document is None:
        return joined([text, document_text])
    ending = "" if document_text.endswith("\n") else "\n"
    return f"{text[: document.offset]}{document_text}{ending}{text[document.offset + len(document.text) :]}"
