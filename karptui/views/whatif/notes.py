"""What is said behind the lines of the text: what is wrong, and what was there before."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from karptui.views.row import Tone
from karptui.whatif.path import Path, path_text, value_at
from karptui.whatif.sheet import Originals
from karptui.whatif.yaml.parse import Parsed
from karptui.whatif.yaml.tree import NodeKind, Problem, ProblemSeverity, YamlNode

MOST_WORDS = 40
"""Characters of an old value that are shown."""


class LineText(NamedTuple):
    """A note behind a line."""

    text: str
    tone: Tone
    start: int = 0
    end: int = 0


def line_notes(parsed: Parsed, problems: Sequence[Problem], originals: Originals) -> dict[int, LineText]:
    """Return the notes by line; of several problems on a line the worst, and how many more there are."""
    notes = {line: LineText(text, Tone.MUTED) for line, text in _changes(parsed, originals)}
    by_line: dict[int, list[Problem]] = {}
    for problem in problems:
        by_line.setdefault(problem.line, []).append(problem)
    for line, found in by_line.items():
        worst = min(found, key=lambda one: (one.severity is not ProblemSeverity.ERROR, one.column))
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        tone = Tone.FAULT if worst.severity is ProblemSeverity.ERROR else Tone.WARNING
        notes[line] = LineText(f"{worst.message}{more}", tone, worst.column, worst.end_column)
    return notes


def problem_at(problems: Sequence[Problem], line: int) -> str:
    """Return everything that is wrong with a line, with the fields it is about."""
    found = [problem for problem in problems if problem.line == line]
    return " · ".join(f"{path_text(one.path)}: {one.message}" if one.path else one.message for one in found)


def _changes(parsed: Parsed, originals: Originals) -> Iterator[tuple[int, str]]:
    for document in parsed.documents:
        before = originals.get(document.ref)
        if before is None:
            if document.body is not None and document.kind and document.name:
                yield document.first_line, "not in the cluster"
        elif document.root is not None and document.body is not None and document.body != before:
            starts = _line_starts(document.text)
            for path, node in _leaves(document.root):
                old = value_at(before, path, _NOTHING)
                if old != node.value:
                    yield document.first_line + _line_of(starts, node.start), _was(old)


def _leaves(root: YamlNode) -> Iterator[tuple[Path, YamlNode]]:
    """Yield what is written on a line of its own: scalars and flow collections, with their paths."""
    stack: list[tuple[Path, YamlNode]] = [((), root)]
    while stack:
        path, node = stack.pop()
        if node.kind is NodeKind.SCALAR or node.flow:
            yield path, node
        elif node.kind is NodeKind.MAPPING:
            stack += [((*path, entry.name), entry.node) for entry in node.entries]
        else:
            stack += [((*path, index), item) for index, item in enumerate(node.items)]


_NOTHING = object()


def _was(old: Any) -> str:
    if old is _NOTHING:
        return "new"
    if isinstance(old, Mapping | list):
        return "was different"
    text = str(old).lower() if isinstance(old, bool) else str(old)
    return f"was {text[:MOST_WORDS]}{'…' if len(text) > MOST_WORDS else ''}"


def _line_starts(text: str) -> list[int]:
    starts = [0]
    starts += [at + 1 for at, character in enumerate(text) if character == "\n"]
    return starts


def _line_of(starts: Sequence[int], position: int) -> int:
    return bisect_right(starts, position) - 1
