"""Hold a buffer against the schemas of its kinds, each problem at the line it belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from karptui.aws.kubelet_rules import rule_breaks
from karptui.karpenter.nodeclass import EC2_KIND
from karptui.whatif.edits import ObjectRef
from karptui.whatif.schema.rules import MISSING, rule_violations
from karptui.whatif.schema.schema import KindSchema, Schemas, Violation, object_meta, with_defaults
from karptui.whatif.schema.structure import did_you_mean, structure_violations
from karptui.whatif.yaml.tree import (
    Document,
    Fault,
    Lines,
    NodeKind,
    Parsed,
    Problem,
    ProblemSeverity,
    YamlNode,
    read,
    trail,
)

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")
_KEY = re.compile(
    r"(?:[a-z0-9]([-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?\Z"
)
_LABEL = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?\Z")
_NO_OLD: Mapping[ObjectRef, Mapping[str, Any]] = {}


class Checked(NamedTuple):
    """A buffer with everything that is wrong with it."""

    problems: tuple[Problem, ...]
    """Of YAML, of the schemas and of their rules, by line."""
    unchecked: tuple[str, ...]
    """Messages of rules that could not be run; shown so that silence is not taken for consent."""


def check(parsed: Parsed, schemas: Schemas, old: Mapping[ObjectRef, Mapping[str, Any]] = _NO_OLD) -> Checked:
    """Validate a buffer.

    Args:
        old: The cluster's objects, for rules about changes (``self == oldSelf``).
    """
    text = parsed.text
    problems = list(parsed.problems)
    unchecked: list[str] = []
    lines = Lines(text)
    for document in parsed.documents:
        if document.body is None or document.root is None:
            continue
        violations, missed = document_violations(document, schemas, old.get(document.ref))
        problems += [_placed(violation, document, document.root, lines) for violation in violations]
        unchecked += missed
    problems += _doubles(parsed, lines)
    problems.sort(key=lambda problem: (problem.line, problem.column))
    return Checked(tuple(problems), tuple(dict.fromkeys(unchecked)))


def document_violations(
    document: Document, schemas: Schemas, old: Mapping[str, Any] | None = None
) -> tuple[list[Violation], tuple[str, ...]]:
    """Validate one readable document against its schema.

    Returns:
        The violations, and the messages of rules that could not be run.
    """
    kind = schemas.get(document.api_version, document.kind)
    if kind is None:
        return [_unknown_kind(document, schemas)], ()
    if old is not None and old == document.body:
        # Identical to the object in the API server, so there is nothing to apply.
        return [], ()
    return _remembered(document.text, kind, _Same(old))


class _Same:
    """Compares an object by identity, so that it can be remembered by."""

    def __init__(self, value: Mapping[str, Any] | None) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


@lru_cache(maxsize=128)
def _remembered(text: str, kind: KindSchema, old: _Same) -> tuple[list[Violation], tuple[str, ...]]:
    """Documents that were not typed in since cost nothing."""
    root = read(text).root
    assert root is not None
    return object_violations(root.value, kind, old.value)


def object_violations(
    body: Mapping[str, Any], kind: KindSchema, old: Mapping[str, Any] | None = None
) -> tuple[list[Violation], tuple[str, ...]]:
    """Hold an object against the schema of its kind."""
    schema = {**kind.schema, "properties": {**kind.schema.get("properties", {}), "metadata": object_meta()}}
    value = with_defaults(dict(body), schema)
    violations = list(structure_violations(value, schema))
    violations += _metadata_violations(value.get("metadata"), kind)
    violations += _kubelet_violations(value, kind)
    if kind.built_in:
        return violations, ()
    faulty = frozenset(violation.path for violation in violations if violation.blocks_rules)
    before = with_defaults(dict(old), schema) if old is not None else MISSING
    ruling = rule_violations(value, schema, old=before, faulty=faulty)
    return [*violations, *ruling.violations], ruling.unchecked


def _kubelet_violations(body: Mapping[str, Any], kind: KindSchema) -> Iterator[Violation]:
    """Yield Karpenter's own objections to an open ``spec.kubelet``, which the API server does not check."""
    spec = kind.schema.get("properties", {}).get("spec", {}).get("properties", {})
    kubelet = body["spec"].get("kubelet") if isinstance(body.get("spec"), Mapping) else None
    if kind.kind != EC2_KIND or not isinstance(kubelet, Mapping) or "properties" in spec.get("kubelet", {}):
        return
    for sentence in rule_breaks(kubelet):
        text = f"the NodeClass would not be ready: {sentence}"
        yield Violation(("spec", "kubelet"), text, ProblemSeverity.WARNING, blocks_rules=False)


def _unknown_kind(document: Document, schemas: Schemas) -> Violation:
    if not document.kind:
        return Violation(("kind",), "required, but missing: kind, such as NodePool")
    if versions := schemas.versions(document.kind):
        if not document.api_version:
            return Violation(("apiVersion",), f"required, but missing: apiVersion, here {' or '.join(versions)}")
        return Violation(
            ("apiVersion",), f"no {document.kind} in {document.api_version}; there is {', '.join(versions)}"
        )
    hint = did_you_mean(document.kind, sorted({kind for _, kind in schemas.kinds}))
    note = (
        f"no schema for this kind, so it is not checked; {hint}"
        if "did you" in hint
        else "no schema for this kind, so it is not checked"
    )
    return Violation(("kind",), note, ProblemSeverity.WARNING)


def _metadata_violations(metadata: Any, kind: KindSchema) -> Iterator[Violation]:
    if metadata is not None and not isinstance(metadata, dict):
        return
    metadata = metadata or {}
    name = metadata.get("name")
    if not name and not metadata.get("generateName"):
        yield Violation(("metadata", "name"), "required, but missing", blocks_rules=False)
    elif isinstance(name, str) and (len(name) > 253 or not _SUBDOMAIN.match(name)):
        yield Violation(
            ("metadata", "name"),
            "must be lower case letters, digits, - and . that start and end with a letter or digit",
            blocks_rules=False,
        )
    if metadata.get("namespace") and not kind.namespaced:
        yield Violation(
            ("metadata", "namespace"),
            f"a {kind.kind} belongs to no namespace",
            ProblemSeverity.WARNING,
            blocks_rules=False,
        )
    for field in ("labels", "annotations"):
        pairs = metadata.get(field)
        for key, value in pairs.items() if isinstance(pairs, dict) else ():
            if not _KEY.match(key.lower() if field == "annotations" else key) or len(key.rpartition("/")[0]) > 253:
                yield Violation(
                    ("metadata", field, key),
                    "the name must be letters, digits, - _ and . with an optional prefix, such as example.com/team",
                    on_key=True,
                    blocks_rules=False,
                )
            elif field == "labels" and isinstance(value, str) and not _LABEL.match(value):
                yield Violation(
                    ("metadata", field, key),
                    "must be at most 63 letters, digits, - _ and . that start and end with one of the first two",
                    blocks_rules=False,
                )


def _placed(violation: Violation, document: Document, root: YamlNode, lines: Lines) -> Problem:
    nodes = trail(root, violation.path)
    (node, key), depth = nodes[-1], len(nodes) - 1
    message = violation.message
    if depth < len(violation.path) and message.startswith("required"):
        message = f"{'.'.join(str(step) for step in violation.path[depth:])} is {message}"
    is_inline = node.kind is NodeKind.SCALAR or (node.flow and not violation.on_key)
    is_value = depth == len(violation.path) and is_inline and not violation.on_key and node.end > node.start
    at = node if key is None or is_value else key
    end = at.end
    if at is root or (key is None and at.kind is NodeKind.MAPPING and at.entries):
        # The whole document or list item would be underlined; underline its first field's name instead.
        at, end = (at, at.end) if not at.entries else (at.entries[0].key, at.entries[0].key.end)
    fault = Fault(at.start + document.offset, end + document.offset, message, violation.severity)
    return lines.problem(fault, document.index, violation.path)


def _doubles(parsed: Parsed, lines: Lines) -> Iterable[Problem]:
    seen: dict[tuple[str, str, str, str], Document] = {}
    for document in parsed.documents:
        key = (document.api_version, document.kind, document.namespace, document.name)
        first = seen.setdefault(key, document)
        if first is document or not document.name or document.root is None:
            continue
        violation = Violation(
            ("metadata", "name"),
            f"{document.kind} {document.name} is already on line {first.first_line + 1}; the later one counts",
            ProblemSeverity.WARNING,
        )
        yield _placed(violation, document, document.root, lines)
