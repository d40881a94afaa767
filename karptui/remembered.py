"""The user's last choices, kept between runs: the order of Nodes."""

from __future__ import annotations

import json
from typing import Any, Final

from karptui.files import read_file, write_file
from karptui.paths import state_dir

_FILE: Final = "remembered.json"
_MOST_BYTES: Final = 64 * 1024


def remembered(name: str) -> str:
    """Return the remembered value, empty if there is none or it cannot be read."""
    value = _all().get(name)
    return value if isinstance(value, str) else ""


def remember(name: str, value: str) -> None:
    """Remember something; a folder that cannot be written to remembers nothing."""
    document = _all()
    if document.get(name) == value:
        return
    try:
        write_file(state_dir() / _FILE, json.dumps({**document, name: value}).encode(), may_replace=True)
    except OSError:
        return


def _all() -> dict[str, Any]:
    try:
        values = json.loads(read_file(state_dir() / _FILE, most_bytes=_MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}
