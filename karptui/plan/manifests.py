"""Manifests as edits: every object of a text that a what-if knows, in the place of the cluster's own or new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from karptui.decode.kinds import kind_of
from karptui.whatif.edits import PutObject
from karptui.whatif.yaml.parse import parse


class ManifestError(Exception):
    """Unreadable text; the message names file and line."""


class Manifests(msgspec.Struct, frozen=True):
    """What files hold."""

    edits: tuple[PutObject, ...]
    names: tuple[str, ...]
    """``Kind/name`` of each edit."""
    notes: tuple[str, ...] = ()
    """Objects that were skipped, as messages."""


def manifests_of(files: Iterable[tuple[str, str]]) -> Manifests:
    """Return the edits that apply manifests.

    Args:
        files: Name and text of each file.

    Raises:
        ManifestError: A file is unreadable.
    """
    edits: list[PutObject] = []
    names: list[str] = []
    passed: Counter[str] = Counter()
    for file, text in files:
        parsed = parse(text)
        if parsed.problems:
            first = parsed.problems[0]
            raise ManifestError(f"{file}, line {first.line + 1}: {first.message}")
        for document in parsed.documents:
            if not document.kind or not document.name:
                raise ManifestError(
                    f"{file}, line {document.first_line + 1}: an object needs a kind and a metadata.name"
                )
            if kind_of(document.api_version, document.kind) is None:
                passed[document.kind] += 1
                continue
            edits.append(PutObject(document.text))
            names.append(f"{document.kind}/{document.ref.key}")
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(passed.items()))
    notes = (f"passed over, as no decision depends on them: {kinds}",) if kinds else ()
    return Manifests(tuple(edits), tuple(names), notes)
