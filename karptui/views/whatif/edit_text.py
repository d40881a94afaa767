"""Edits in words."""

from __future__ import annotations

from typing import Any, Final, assert_never

import msgspec

from karptui.kube.units import count_text, counted
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
