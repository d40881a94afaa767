"""Edits in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, assert_never

import msgspec

from karptui.karpenter.rules import VERSION_SETTING
from karptui.karpenter.settings import Settings
from karptui.kube.units import count_text, counted
from karptui.views.row import Control
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
from karptui.whatif.path import path_text
from karptui.whatif.quick_edits.actions import SETTING_EDITS, SettingEdit
from karptui.whatif.quick_edits.catalogue import quick_edits_for
from karptui.whatif.quick_edits.quick_edit import QuickEdit
from karptui.whatif.sheet import Originals
from karptui.whatif.yaml.parse import Document, Parsed

MOST_WORDS: Final = 60


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
            return f"{counted(count, 'pod')} more like {ref.key}"
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


QUICK: Final = "quick"
SETTING: Final = "setting"
EDIT: Final = "edit"
_USUAL: Final = frozenset({"VM_MEMORY_OVERHEAD_PERCENT", "RESERVED_ENIS", "PREFERENCE_POLICY", "MIN_VALUES_POLICY"})
"""Settings that are always listed; others only where they are changed."""


def focused(parsed: Parsed, row: int) -> Document | None:
    """Return the document that a line belongs to, None while it cannot be read; off every document the first."""
    found = parsed.at_line(row)
    if found is not None:
        return found if found.body is not None else None
    return next((document for document in parsed.documents if document.body is not None), None)


def controls_of(
    document: Document | None, edits: tuple[AnyEdit, ...], originals: Originals, settings: Settings
) -> tuple[Control, ...]:
    """Return what can be changed without typing: fields of a document, settings, and the other edits.

    Args:
        document: The document in focus.
        edits: The edits that are not text.
        originals: Objects as they are in the cluster.
        settings: Karpenter's, as the cluster has them.
    """
    fields = tuple(_fields(document, originals.get(document.ref))) if document is not None else ()
    return (*_edits(edits), *fields, *_settings(edits, settings))


def _fields(document: Document, original: Mapping[str, Any] | None) -> Iterator[Control]:
    assert document.body is not None
    for quick in quick_edits_for(document.kind):
        now = _current(quick, document.body)
        before = _current(quick, original) if original is not None else now
        yield Control(
            f"{QUICK}/{quick.id}",
            quick.title,
            now or "-",
            hint=f"was {before or 'not set'}" if before != now else "" if now else quick.hint,
            is_changed=before != now,
            can_step=quick.step is not None,
        )


def _current(quick: QuickEdit, body: Mapping[str, Any]) -> str:
    return quick.current(body)


def _settings(edits: tuple[AnyEdit, ...], settings: Settings) -> Iterator[Control]:
    changed = {edit.name: edit.value for edit in edits if isinstance(edit, SetSetting)}
    for one in SETTING_EDITS:
        if one.name in _USUAL or one.name in changed:
            before = setting_value(one, settings)
            now = changed.get(one.name, before)
            yield Control(
                f"{SETTING}/{one.name}",
                one.title,
                now,
                hint=f"was {before}" if now != before else one.hint,
                is_changed=now != before,
                can_step=bool(one.choices or one.stride),
            )


def setting_value(setting: SettingEdit, settings: Settings) -> str:
    """Return what the cluster has for a setting."""
    if setting.name == VERSION_SETTING:
        return settings.rules.version
    return settings.texts().get(setting.name, setting.default)


def _edits(edits: tuple[AnyEdit, ...]) -> Iterator[Control]:
    for index, edit in enumerate(edits):
        if not isinstance(edit, SetSetting):
            yield Control(f"{EDIT}/{index}", "edit", edit_text(edit), hint="⌫ takes it back", is_changed=True)
