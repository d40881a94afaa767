"""What is wrong with a snapshot."""

from __future__ import annotations

from typing import Final

from karptui.sources.base import SourceError

_MAX_LENGTH: Final = 400


class SnapshotError(SourceError):
    """A snapshot cannot be read; the text names the file, and the object and field where there is one."""


def sentence(where: str, problem: object) -> str:
    """Return ``where: problem`` on one line, shortened: what is wrong may quote megabytes."""
    text = " ".join(f"{where}: {problem}".split())
    return text if len(text) <= _MAX_LENGTH else f"{text[:_MAX_LENGTH]}…"
