"""Reading Prometheus' text format: only the families that are wanted, out of texts of any size.

Format: https://prometheus.io/docs/instrumenting/exposition_formats/ (version 0.0.4).
"""

from __future__ import annotations

import io
import re
from collections.abc import Container, Iterator
from typing import Final, NamedTuple

CONTENT_TYPE: Final = "text/plain;version=0.0.4"

_LABEL: Final = re.compile(rb'\s*([A-Za-z_][A-Za-z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|$)')
_ESCAPE: Final = re.compile(rb"\\(.)")
_ESCAPED: Final = {b"n": b"\n", b"\\": b"\\", b'"': b'"'}


class Sample(NamedTuple):
    """One line: a family's value under one set of labels. A line that cannot be read has the value None."""

    family: str
    labels: dict[str, str]
    value: float | None


def samples(text: bytes, families: Container[bytes], prefixes: tuple[bytes, ...] = (b"",)) -> Iterator[Sample]:
    """Yield the samples of some families, in the order of the text.

    Args:
        text: The whole answer.
        families: Names that are wanted.
        prefixes: What they begin with: lines that do not are passed over without a closer look.
    """
    for line in io.BytesIO(text):
        if not line.startswith(prefixes) or line.startswith(b"#"):
            continue
        brace = line.find(b"{")
        name = line[:brace] if brace > 0 else line.split(None, 1)[0] if line.strip() else b""
        if name.strip() in families:
            yield _sample(name.strip().decode(), line, brace)


def _sample(name: str, line: bytes, brace: int) -> Sample:
    end = line.rfind(b"}")
    if brace > 0:
        labels = _labels(line[brace + 1 : end]) if end > brace else None
        rest = line[end + 1 :].split()
    else:
        labels, rest = {}, line.split()[1:]
    # A second word is the sample's timestamp.
    if labels is None or not 1 <= len(rest) <= 2:
        return Sample(name, {}, None)
    try:
        return Sample(name, labels, float(rest[0]))
    except ValueError:
        return Sample(name, {}, None)


def _labels(raw: bytes) -> dict[str, str] | None:
    """Return the labels between the braces, None where they cannot be read."""
    if b"\\" not in raw and b" " not in raw:
        return _plain_labels(raw.rstrip(b","))
    labels: dict[str, str] = {}
    position = 0
    while position < len(raw):
        match = _LABEL.match(raw, position)
        if match is None:
            return None
        value = _ESCAPE.sub(lambda escape: _ESCAPED.get(escape[1], escape[0]), match[2])
        labels[match[1].decode()] = value.decode(errors="replace")
        position = match.end()
    return labels


def _plain_labels(raw: bytes) -> dict[str, str] | None:
    """Return labels without escapes or blanks: no value holds a quote, so that quote and comma together end a label."""
    if not raw:
        return {}
    if not raw.endswith(b'"'):
        return None
    labels: dict[str, str] = {}
    for pair in raw[:-1].split(b'",'):
        name, equals, value = pair.partition(b'="')
        if not equals or b'"' in value:
            return None
        labels[name.decode(errors="replace")] = value.decode(errors="replace")
    return labels
