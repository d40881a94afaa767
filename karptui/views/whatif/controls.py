"""Controls next to the documents of a what-if, which change fields without typing, and notes on lines."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, assert_never

import msgspec

from karptui.karpenter.rules import VERSION_SETTING
from karptui.karpenter.settings import Settings
from karptui.kube.group import group_by
from karptui.kube.units import count_text, counted, first_of
from karptui.views.row import Control, Tone
from karptui.whatif.edits import (
    AnyEdit,
    CopyPod,
    CordonNode,
    DeleteObject,
    PutObject,
    RemoveNode,
    ScaleWorkload,
    SetField,
    SetSetting,
    TakeOut,
)
from karptui.whatif.field_path import Path, path_text, value_at
from karptui.whatif.quick_edits.actions import SETTING_EDITS, SettingEdit
from karptui.whatif.quick_edits.catalogue import quick_edits_for
from karptui.whatif.sheet import Originals
from karptui.whatif.yaml.tree import Document, NodeKind, Parsed, Problem, ProblemSeverity, YamlNode

MOST_WORDS: Final = 60
MOST_NAME: Final = 24
"""Characters of a value in the name of a scenario."""


def edit_text(edit: AnyEdit) -> str:
    """Return an edit as one short line."""
    match edit:
        case SetField(object=ref, path=path, value=None):
            return f"{ref.kind} {ref.key}: without {path_text(path)}"
        case SetField(object=ref, path=path, value=value):
            return f"{ref.kind} {ref.key}: {path_text(path)} = {_value(value)}"
        case PutObject(text=text):
            return f"document of {count_text(text.count(chr(10)))} lines"
        case DeleteObject(object=ref):
            return f"without {ref.kind} {ref.key}"
        case SetSetting(name=name, value=value) if name == VERSION_SETTING:
            return f"Karpenter {value}"
        case SetSetting(name=name, value=value):
            return f"{name} = {value}"
        case ScaleWorkload(object=ref, replicas=replicas):
            return f"{ref.kind} {ref.key} scaled to {count_text(replicas)}"
        case CopyPod(object=ref, count=count):
            return f"{counted(count, 'more pod')} like {ref.key}"
        case TakeOut():
            return f"out: {edit.words}"
        case RemoveNode(name=name):
            return f"without node {name}"
        case CordonNode(name=name):
            return f"node {name} cordoned"
        case _:
            assert_never(edit)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    text = msgspec.json.encode(value).decode() if isinstance(value, dict | list) else str(value)
    return text if len(text) <= MOST_WORDS else f"{text[: MOST_WORDS - 1]}…"


def scenario_name(changed: Iterable[Document], originals: Originals, edits: Iterable[AnyEdit]) -> str:
    """Return the first edit of a scenario and the number of the others, empty without edits."""
    texts = [text for document in changed for text in _document_edits(document, originals.get(document.ref))]
    texts += map(edit_text, edits)
    return first_of(texts, 1)


def _document_edits(document: Document, original: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield the edits of a document as text: fields with a quick edit, then others."""
    assert document.body is not None
    if original is None:
        yield f"new {document.kind} {document.name}"
        return
    listed: list[Path] = []
    for quick in quick_edits_for(document.kind):
        before, now = quick.current(original), quick.current(document.body)
        if before != now:
            listed.append(quick.path)
            yield f"{document.name}: {quick.title} {_short(before)} → {_short(now)}"
    for path in _changed_paths(original, document.body):
        if not any(path == other[: len(path)] or other == path[: len(other)] for other in listed):
            before, now = value_at(original, path), value_at(document.body, path)
            yield f"{document.name}: {path_text(path[-2:])} {_short(before)} → {_short(now)}"


def _changed_paths(before: Any, now: Any, path: Path = ()) -> Iterator[Path]:
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for key in sorted({*before, *now}):
            yield from _changed_paths(before.get(key), now.get(key), (*path, key))
    elif before != now:
        yield path


def _short(value: Any) -> str:
    text = _value(value) if value not in (None, "") else "unset"
    return text if len(text) <= MOST_NAME else f"{text[: MOST_NAME - 1]}…"


QUICK: Final = "quick"
SETTING: Final = "setting"
EDIT: Final = "edit"
_USUAL: Final = frozenset({"VM_MEMORY_OVERHEAD_PERCENT", "RESERVED_ENIS", "PREFERENCE_POLICY", "MIN_VALUES_POLICY"})
"""Settings that are always listed; others only if changed."""


def focused(parsed: Parsed, row: int) -> Document | None:
    """Return the document that a line belongs to, None while it cannot be read; off every document the first."""
    if (line := parsed.at_line(row)) is not None:
        return line if line.body is not None else None
    return next((document for document in parsed.documents if document.body is not None), None)


def controls_of(
    document: Document | None, edits: tuple[AnyEdit, ...], originals: Originals, settings: Settings
) -> tuple[Control, ...]:
    """Return the controls: fields of a document, settings, and other edits."""
    fields = tuple(_fields(document, originals.get(document.ref))) if document is not None else ()
    return (*_edits(edits), *fields, *_settings(edits, settings))


def _fields(document: Document, original: Mapping[str, Any] | None) -> Iterator[Control]:
    assert document.body is not None
    for quick in quick_edits_for(document.kind):
        now = quick.current(document.body)
        before = quick.current(original) if original is not None else now
        yield Control(
            f"{QUICK}/{quick.id}",
            quick.title,
            now or "-",
            hint=f"was {before or 'not set'}" if before != now else "" if now else quick.hint,
            is_changed=before != now,
            can_step=quick.step is not None,
        )


def _settings(edits: tuple[AnyEdit, ...], settings: Settings) -> Iterator[Control]:
    changed = {edit.name: edit.value for edit in edits if isinstance(edit, SetSetting)}
    for setting_edit in SETTING_EDITS:
        if setting_edit.name in _USUAL or setting_edit.name in changed:
            before = setting_value(setting_edit, settings)
            now = changed.get(setting_edit.name, before)
            yield Control(
                f"{SETTING}/{setting_edit.name}",
                setting_edit.title,
                now,
                hint=f"was {before}" if now != before else setting_edit.hint,
                is_changed=now != before,
                can_step=bool(setting_edit.choices or setting_edit.stride),
            )


def setting_value(setting: SettingEdit, settings: Settings) -> str:
    """Return the cluster's value of a setting."""
    if setting.name == VERSION_SETTING:
        return settings.rules.version
    return settings.texts().get(setting.name, setting.default)


def _edits(edits: tuple[AnyEdit, ...]) -> Iterator[Control]:
    for index, edit in enumerate(edits):
        if not isinstance(edit, SetSetting):
            yield Control(f"{EDIT}/{index}", "edit", edit_text(edit), hint="⌫ removes it", is_changed=True)


MOST_OF_BEFORE: Final = 40
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
    by_line = group_by(problems, lambda problem: problem.line)
    for line, line_problems in by_line.items():
        worst = min(line_problems, key=lambda problem: (problem.severity is not ProblemSeverity.ERROR, problem.column))
        more = f" (and {len(line_problems) - 1} more)" if len(line_problems) > 1 else ""
        tone = Tone.FAULT if worst.severity is ProblemSeverity.ERROR else Tone.WARNING
        notes[line] = LineText(f"{worst.message}{more}", tone, worst.column, worst.end_column)
    return notes


def problem_at(problems: Sequence[Problem], line: int) -> str:
    """Return everything that is wrong with a line, with the fields it is about."""
    line_problems = [problem for problem in problems if problem.line == line]
    return " · ".join(
        f"{path_text(problem.path)}: {problem.message}" if problem.path else problem.message
        for problem in line_problems
    )


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
                    yield document.first_line + (bisect_right(starts, node.start) - 1), _was(old)


def _leaves(root: YamlNode) -> Iterator[tuple[Path, YamlNode]]:
    """Yield scalars and flow collections, which have a line each, with their paths."""
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
    return f"was {text[:MOST_OF_BEFORE]}{'…' if len(text) > MOST_OF_BEFORE else ''}"


def _line_starts(text: str) -> list[int]:
    starts = [0]
    starts += [at + 1 for at, character in enumerate(text) if character == "\n"]
    return starts
