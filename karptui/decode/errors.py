"""What is wrong with an object that cannot be read."""

from __future__ import annotations


class FieldError(ValueError):
    """A field whose value cannot be what its kind asks; the path is relative to the object."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}" if path else problem)
        self.path = path
        self.problem = problem


class DecodeError(ValueError):
    """An object that cannot be read: names kind, object and field in one sentence."""

    def __init__(self, kind: str, key: str, error: FieldError) -> None:
        super().__init__(f"{kind} {key or '(without a name)'}: {error}")
        self.kind = kind
        self.key = key
        self.path = error.path
        self.problem = error.problem
