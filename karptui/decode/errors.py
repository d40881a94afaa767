"""What is wrong with an object that cannot be read."""

from __future__ import annotations

from typing import Final

_LONGEST: Final = 320
"""Characters of a name, a path or a value that a sentence quotes; no valid name is longer."""


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


class FieldError(ValueError):
    """A field whose value cannot be what its kind asks; the path is relative to the object."""

    def __init__(self, path: str, problem: str) -> None:
        self.path = _shortened(path)
        self.problem = _shortened(problem)
        super().__init__(f"{self.path}: {self.problem}" if path else self.problem)


class DecodeError(ValueError):
    """An object that cannot be read: names kind, object and field in one sentence."""

    def __init__(self, kind: str, key: str, error: FieldError) -> None:
        self.kind = kind
        self.key = _shortened(key)
        super().__init__(f"{kind} {self.key or '(without a name)'}: {error}")
        self.path = error.path
        self.problem = error.problem
