"""What was, what is, and what was undone."""

from __future__ import annotations

from typing import Final, Generic, NamedTuple, TypeVar

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
    """States in the order in which they came; never changed."""

    present: T
    past: tuple[UndoStep[T], ...] = ()
    """The oldest first."""
    future: tuple[UndoStep[T], ...] = ()
    """What was undone, the next first."""

    def push(self, state: T, why: str) -> History[T]:
        """Return the history with a further state; what was undone before is forgotten."""
        if why.startswith(TYPING) and self.past and self.past[-1].why == why and not self.future:
            return History(state, self.past)
        return History(state, (*self.past, UndoStep(self.present, why))[-MOST_STEPS:])

    def undo(self) -> tuple[History[T], str] | None:
        """Return the history one step back and what is undone; None where nothing is."""
        if not self.past:
            return None
        step = self.past[-1]
        return History(step.state, self.past[:-1], (UndoStep(self.present, step.why), *self.future)), step.why

    def redo(self) -> tuple[History[T], str] | None:
        """Return the history one step on again and what is done; None where nothing was undone."""
        if not self.future:
            return None
        step, *rest = self.future
        return History(step.state, (*self.past, UndoStep(self.present, step.why)), tuple(rest)), step.why
