"""Reading Prometheus' text format: only the families that are wanted, out of texts of any size.

Format: https://prometheus.io/docs/instrumenting/exposition_formats/ (version 0.0.4).
"""

from __future__ import annotations

import io
import re
from collections.abc import Container, Iterator
from typing import Final, NamedTuple

CONTENT_TYPE: Final = "text/plain;version=0.0.4"

_LABEL: Final = re.compile(r'\s*([A-Za-z_][A-Za-z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|$)')
_ESCAPE: Final = re.compile(r"\\(.)")
_ESCAPED: Final = {"n": "\n", "\\": "\\", '"': '"'}


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
        name = line[:brace] if brace > 0 else (line.split(None, 1) or [b""])[0]
        if name in families:
            yield _sample(name.decode(), line[len(name) :].decode(errors="replace"))


def _sample(name: str, rest: str) -> Sample:
    """Return what stands behind the name: labels, if any, the value, and perhaps a timestamp."""
    end = rest.rfind("}")
    labels = (_labels(rest[1:end]) if end > 0 else None) if rest.startswith("{") else {}
    words = rest[end + 1 :].split()
    if labels is None or not 1 <= len(words) <= 2:
        return Sample(name, {}, None)
    try:
        return Sample(name, labels, float(words[0]))
    except ValueError:
        return Sample(name, {}, None)


def _labels(raw: str) -> dict[str, str] | None:
    """Return the labels between the braces, None where they cannot be read."""
    if (labels := _plain_labels(raw)) is not None:
        return labels
    labels, position = {}, 0
    while position < len(raw):
        match = _LABEL.match(raw, position)
        if match is None:
            return None
        labels[match[1]] = _ESCAPE.sub(lambda escape: _ESCAPED.get(escape[1], escape[0]), match[2])
        position = match.end()
    return labels


def _plain_labels(raw: str) -> dict[str, str] | None:
    """Return labels that need no closer look, which is nearly all of them; None for the rest.

    Without escapes each label has two quotes: then as many pieces as labels prove that every cut was at a label's end.
    """
    pairs = raw[:-1].split('",')
    if "\\" in raw or " " in raw or not raw.endswith('"') or raw.count('"') != 2 * len(pairs):
        return None
    labels = dict(pair.partition('="')[::2] for pair in pairs)
    return labels if all(map(str.isidentifier, labels)) else None
