"""Manifests as edits, in place of the cluster's objects or new, and edits that the API server would reject."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from karptui.decode.kinds import kind_of
from karptui.errors import RequestError
from karptui.kube.cel_library import why_rules_unchecked
from karptui.whatif.edits import AnyEdit, ObjectRef, PutObject, SetField
from karptui.whatif.field_path import path_text
from karptui.whatif.schema.schema import Schemas, shipped_schemas
from karptui.whatif.schema.validation import document_violations, object_violations
from karptui.whatif.situation import EditedCluster
from karptui.whatif.yaml.tree import ProblemSeverity, parse


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
        RequestError: A file is unreadable.
    """
    edits: list[PutObject] = []
    names: list[str] = []
    passed: Counter[str] = Counter()
    for file, text in files:
        parsed = parse(text)
        if parsed.problems:
            first = parsed.problems[0]
            raise RequestError(f"{file}, line {first.line + 1}: {first.message}")
        for document in parsed.documents:
            if not document.kind or not document.name:
                raise RequestError(
                    f"{file}, line {document.first_line + 1}: an object needs a kind and a metadata.name"
                )
            if kind_of(document.api_version, document.kind) is None:
                passed[document.kind] += 1
                continue
            edits.append(PutObject(document.text))
            names.append(f"{document.kind}/{document.ref.key}")
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(passed.items()))
    passed_over = f"ignored, because no decision depends on them: {kinds}" if kinds else ""
    return Manifests(tuple(edits), tuple(names), tuple(filter(None, (passed_over, why_rules_unchecked()))))


def refusals(edited: EditedCluster) -> dict[ObjectRef, str]:
    """Return a message about each edited object that the API server would reject, with all reasons.

    Errors of the unchanged object are left out: the API server accepted it.
    """
    schemas = shipped_schemas(edited.settings.rules.crds)
    old = edited.base.documents()
    paths: dict[ObjectRef, dict[str, None]] = {}
    for ref, parts in _problems(edited, schemas, old):
        document = old.get(ref)
        before = set(_objections(document, schemas)) if document is not None and parts else ()
        paths.setdefault(ref, {}).update((part, None) for part in parts if part not in before)
    return {
        ref: f"the API server refuses {ref.kind} {ref.key}: {'; '.join(reasons)}"
        for ref, reasons in paths.items()
        if reasons
    }


def without_objects(edits: Iterable[AnyEdit], refs: Container[ObjectRef]) -> tuple[AnyEdit, ...]:
    """Return edits without those that put certain objects."""

    def puts_one(edit: AnyEdit) -> bool:
        return isinstance(edit, PutObject) and any(document.ref in refs for document in parse(edit.text).documents)

    return tuple(edit for edit in edits if not puts_one(edit))


def _problems(
    edited: EditedCluster, schemas: Schemas, old: Mapping[ObjectRef, Mapping[str, Any]]
) -> Iterator[tuple[ObjectRef, list[str]]]:
    """Yield the errors of each object that is put or has edited fields."""
    created = {ref: document for ref, document in edited.documents().items() if document != old.get(ref)}
    for edit in edited.edits:
        if isinstance(edit, PutObject):
            for document in parse(edit.text).documents:
                violations, _ = document_violations(document, schemas, old.get(document.ref))
                yield document.ref, [_words(v.path, v.message) for v in violations if _refuses(v.severity)]
        elif isinstance(edit, SetField) and edit.object in created:
            yield edit.object, _objections(created[edit.object], schemas, old.get(edit.object))


def _objections(document: Mapping[str, Any], schemas: Schemas, old: Mapping[str, Any] | None = None) -> list[str]:
    kind = schemas.get(document["apiVersion"], document["kind"])
    if kind is None:
        return []
    violations, _ = object_violations(document, kind, old)
    return [_words(violation.path, violation.message) for violation in violations if _refuses(violation.severity)]


def _refuses(severity: ProblemSeverity) -> bool:
    return severity is ProblemSeverity.ERROR


def _words(path: tuple[str | int, ...], message: str) -> str:
    return f"{path_text(path)}: {message}"
