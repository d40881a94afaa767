"""What is wrong with an edit."""

from __future__ import annotations

from karptui.whatif.edits import AnyEdit


class EditError(ValueError):
    """An edit that cannot be made; the message names document or edit, object and field."""


class FailedEditError(EditError):
    """An edit that cannot be made, and which of the edits it is."""

    def __init__(self, position: int, edit: AnyEdit, problem: str) -> None:
        self.position = position
        """Among the edits, from 0."""
        self.edit = edit
        self.problem = problem
        """Without the position."""
        super().__init__(f"edit {position + 1}: {problem}")
