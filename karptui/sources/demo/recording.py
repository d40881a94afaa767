"""The shipped recording, moved to the present."""

from __future__ import annotations

import gzip
from importlib import resources
from typing import Any, Final

import msgspec

from karptui.kube.timestamps import NS_PER_SECOND, format_timestamp, parse_timestamp
from karptui.sources.demo.manifests import Manifest

FILE: Final = "recording.json.gz"
_LENGTH: Final = len("2006-01-02T15:04:05Z")


def load(now_ns: int) -> list[Manifest]:
    """Return the objects as if they had been recorded at an instant: every timestamp moved by the same time."""
    packed = resources.files(__package__).joinpath(FILE).read_bytes()
    document = msgspec.json.decode(gzip.decompress(packed))
    shift_ns = (now_ns - parse_timestamp(document["capturedAt"])) // NS_PER_SECOND * NS_PER_SECOND
    moved: list[Manifest] = _moved(document["objects"], shift_ns)
    return moved


def _moved(value: Any, shift_ns: int) -> Any:
    if isinstance(value, dict):
        return {key: _moved(part, shift_ns) for key, part in value.items()}
    if isinstance(value, list):
        return [_moved(part, shift_ns) for part in value]
    if isinstance(value, str) and len(value) == _LENGTH and value[10] == "T" and value[-1] == "Z":
        return format_timestamp(parse_timestamp(value) + shift_ns)
    return value
