"""The shipped recording, moved to the present."""

from __future__ import annotations

import gzip
import re
from importlib import resources
from typing import Final

import msgspec

from karptui.kube.timestamps import NS_PER_SECOND, format_timestamp, parse_timestamp
from karptui.sources.demo.manifests import Manifest

FILE: Final = "recording.json.gz"
_TIMESTAMP: Final = re.compile(rb'"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"')
_MANIFESTS: Final = msgspec.json.Decoder(list[Manifest])


class _Recording(msgspec.Struct, rename="camel"):
    captured_at: str
    objects: msgspec.Raw


_RECORDING: Final = msgspec.json.Decoder(_Recording)


def load(now_ns: int) -> list[Manifest]:
    """Return the objects as if they had been recorded at an instant: every timestamp moved by the same time."""
    packed = resources.files(__package__).joinpath(FILE).read_bytes()
    recording = _RECORDING.decode(gzip.decompress(packed))
    shift_ns = (now_ns - parse_timestamp(recording.captured_at)) // NS_PER_SECOND * NS_PER_SECOND
    moved: dict[bytes, bytes] = {}

    def move(found: re.Match[bytes]) -> bytes:
        text = found[0]
        if text not in moved:
            moved[text] = msgspec.json.encode(format_timestamp(parse_timestamp(text[1:-1].decode()) + shift_ns))
        return moved[text]

    # In the text, as going through a hundred thousand values takes several times as long.
    return _MANIFESTS.decode(_TIMESTAMP.sub(move, bytes(recording.objects)))
