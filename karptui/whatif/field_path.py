"""Paths of fields, as the API server writes them: ``spec.disruption.budgets[0].nodes``, ``metadata.labels[a.b/c]``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

Path: TypeAlias = tuple[str | int, ...]
"""Field names and list positions from the top of a document, e.g. ``("spec", "limits", "cpu")``."""
POOL_REQUIREMENTS: Final[Path] = ("spec", "template", "spec", "requirements")
"""Where a NodePool has its requirements."""
MAX_STEPS: Final = 100
"""Kubernetes' own objects are nested less than 30 deep; code that follows a path recurses once for each step."""
_STEP: Final = re.compile(
    r"""\[(?P<index>[0-9]{1,6})\]"""
    r"""|\[(?P<quote>["'])(?P<quoted>.*?)(?P=quote)\]"""
    r"""|\[(?P<key>[^\[\]"']+)\]"""
    r"""|(?:\.|^)(?P<name>[^.\[\]]+)"""
)


def value_at(value: Any, path: Path, missing: Any = None) -> Any:
    """Return the value at a path of a document.

    Args:
        missing: Returned if there is no value.
    """
    for step in path:
        if isinstance(step, int):
            is_there = isinstance(value, list | tuple) and 0 <= step < len(value)
        else:
            is_there = isinstance(value, Mapping) and step in value
        if not is_there:
            return missing
        value = value[step]
    return value


class PathError(ValueError):
    """Text that is no path."""


def path_text(path: Path) -> str:
    """Return a path as text; keys with dots or slashes are in brackets, keys with brackets in quotes too."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif not part or re.search(r"[\[\]'\"]", part):
            text += f"['{part}']" if '"' in part else f'["{part}"]'
        elif "." in part or "/" in part:
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


def parse_path(text: str) -> Path:
    """Return the path of a text.

    Raises:
        PathError: with the position of the error.
    """
    steps: list[str | int] = []
    position = 0
    while position < len(text):
        match = _STEP.match(text, position)
        if match is None:
            raise PathError(f"{text!r:.120} is not a path: {text[position : position + 20]!r} cannot be read")
        if match["index"] is not None:
            steps.append(int(match["index"]))
        else:
            steps.append(match["quoted"] if match["quote"] is not None else match["key"] or match["name"])
        position = match.end()
        if len(steps) > MAX_STEPS:
            raise PathError(f"{text!r:.120} is a path of more than {MAX_STEPS} fields")
    if not steps:
        raise PathError("the path is empty")
    return tuple(steps)
