"""Give edits a form that can leave karptui: YAML, kubectl commands with the smallest patch, a diff."""

from __future__ import annotations

import difflib
import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, assert_never

from karptui.karpenter.rules import VERSION_SETTING
from karptui.karpenter.settings import GATE_PREFIX
from karptui.whatif.edits import (
    AnyEdit,
    CopyPod,
    CordonNode,
    DeleteObject,
    ObjectRef,
    PutObject,
    RemoveNode,
    ScaleWorkload,
    SetField,
    SetSetting,
    TakeOut,
)
from karptui.whatif.schema.schema import KindSchema, Schemas
from karptui.whatif.sheet import Originals
from karptui.whatif.yaml.tree import Document, Parsed
from karptui.whatif.yaml.write import as_document, clean_object

Schema = Mapping[str, Any]
_MISSING: Any = object()


def merge_patch(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Make a JSON merge patch (RFC 7386): null takes a field away, and a list is replaced as a whole."""
    patch: dict[str, Any] = {name: None for name in old if name not in new}
    for name, value in new.items():
        before = old.get(name, _MISSING)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            if inner := merge_patch(before, value):
                patch[name] = inner
        elif not _same(before, value):
            patch[name] = value
    return patch


def strategic_patch(old: Mapping[str, Any], new: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """Make a strategic merge patch, which Kubernetes' own kinds take: items of lists are matched by their keys.

    Source: ``apimachinery/pkg/util/strategicpatch/patch.go``.
    """
    patch: dict[str, Any] = {name: None for name in old if name not in new}
    for name, value in new.items():
        before = old.get(name, _MISSING)
        if _same(before, value):
            continue
        part = schema.get("properties", {}).get(name) or {}
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            patch[name] = _mapping(before, value, part)
        elif isinstance(before, list) and isinstance(value, list):
            patch.update(_list(name, before, value, part))
        else:
            patch[name] = value
    return patch


def _mapping(before: Mapping[str, Any], value: Mapping[str, Any], part: Schema) -> dict[str, Any]:
    strategies = str(part.get("x-kubernetes-patch-strategy", "")).split(",")
    if "replace" in strategies:
        return {"$patch": "replace", **value}
    inner = strategic_patch(before, value, _inner(part))
    if "retainKeys" in strategies:
        inner["$retainKeys"] = sorted(value)
    return inner


def _inner(part: Schema) -> Schema:
    others = part.get("additionalProperties")
    return part if "properties" in part or not isinstance(others, Mapping) else {}


def _list(name: str, before: list[Any], value: list[Any], part: Schema) -> dict[str, Any]:
    """Match items by the merge key; a list without one, or whose order changes, is replaced as a whole."""
    key = part.get("x-kubernetes-patch-merge-key")
    is_merged = "merge" in str(part.get("x-kubernetes-patch-strategy", "")).split(",")
    if not is_merged:
        return {name: value}
    if key is None or not (_is_keyed(before, key) and _is_keyed(value, key)):
        return {name: [*value, {"$patch": "replace"}]} if key is not None else _set_list(name, before, value)
    old_items, new_items = {item[key]: item for item in before}, {item[key]: item for item in value}
    if [o for o in old_items if o in new_items] != [new_item for new_item in new_items if new_item in old_items]:
        return {name: [*value, {"$patch": "replace"}]}
    changed: list[Any] = []
    for key_value, item in new_items.items():
        if key_value not in old_items:
            changed.append(item)
        elif not _same(old_items[key_value], item):
            changed.append({key: key_value, **strategic_patch(old_items[key_value], item, part.get("items", {}))})
    changed += [{key: old_item, "$patch": "delete"} for old_item in old_items if old_item not in new_items]
    patch: dict[str, Any] = {name: changed}
    if any(new_item not in old_items for new_item in new_items):
        patch[f"$setElementOrder/{name}"] = [{key: new_item} for new_item in new_items]
    return patch


def _set_list(name: str, before: list[Any], value: list[Any]) -> dict[str, Any]:
    patch: dict[str, Any] = {f"$setElementOrder/{name}": value}
    gone = [item for item in before if item not in value]
    added = [item for item in value if item not in before]
    if gone:
        patch[f"$deleteFromPrimitiveList/{name}"] = gone
    if added:
        patch[name] = added
    return patch


def _is_keyed(items: list[Any], key: str) -> bool:
    keys = [item.get(key) for item in items if isinstance(item, Mapping)]
    return len(keys) == len(items) and None not in keys and len(set(map(str, keys))) == len(items)


def _same(before: Any, after: Any) -> bool:
    if before is _MISSING:
        return False
    return json.dumps(before, sort_keys=True) == json.dumps(after, sort_keys=True)


class Change(NamedTuple):
    """An object that the documents make different from the cluster's."""

    document: Document
    old: Mapping[str, Any] | None
    """The cluster's object, without fields that only the API server writes; None if it is new."""
    old_text: str


def changes_of(
    parsed: Parsed, originals: Originals, texts: Mapping[ObjectRef, str] | None = None
) -> tuple[Change, ...]:
    """Find the documents that differ from their objects.

    Args:
        texts: Their documents before the edits, so that a diff has their comments; generated if missing.
    """
    changes: list[Change] = []
    for document in parsed.documents:
        if document.body is None or not document.name:
            continue
        raw = originals.get(document.ref)
        old = clean_object(raw) if raw is not None else None
        if old == clean_object(document.body):
            continue
        text = (texts or {}).get(document.ref) or (as_document(old) if old is not None else "")
        changes.append(Change(document, old, text))
    return tuple(changes)


USUAL_CONTROLLER: Final = "kube-system/karpenter"
CHART: Final = "oci://public.ecr.aws/karpenter/karpenter"
_CHART_VALUES: Final[Mapping[str, str]] = {
    "VM_MEMORY_OVERHEAD_PERCENT": "vmMemoryOverheadPercent",
    "RESERVED_ENIS": "reservedENIs",
    "PREFERENCE_POLICY": "preferencePolicy",
    "MIN_VALUES_POLICY": "minValuesPolicy",
    "IGNORE_DRA_REQUESTS": "ignoreDRARequests",
    "BATCH_MAX_DURATION": "batchMaxDuration",
}
"""By environment name, as ``charts/karpenter/templates/deployment.yaml`` of the AWS provider has them."""


def export_yaml(changes: Iterable[Change]) -> str:
    """Return the edited objects as one YAML stream, as they were typed."""
    return "---\n".join(_ended(change.document.text) for change in changes)


def export_diff(changes: Iterable[Change]) -> str:
    """Write what changes as a unified diff of YAML."""
    return "".join(_diff(change) for change in changes)


def export_commands(
    changes: Iterable[Change],
    edits: Iterable[AnyEdit],
    schemas: Schemas,
    *,
    gates: Mapping[str, bool] | None = None,
    controller: str = "",
) -> str:
    """Return kubectl commands that apply the edits.

    Karpenter's kinds use a merge patch, which replaces lists; Kubernetes' own kinds use a strategic merge patch,
    which matches list items by name. Changes that exist only in the simulation become a comment.

    Args:
        gates: The controller's feature gates: one variable holds them all.
        controller: ``namespace/name`` of Karpenter's Deployment, empty if unknown.
    """
    all_edits = list(edits)
    lines = [_document_command(change, schemas) for change in changes]
    lines += [line for edit in all_edits for line in _edit_lines(edit, schemas)]
    lines += _setting_lines([edit for edit in all_edits if isinstance(edit, SetSetting)], gates or {}, controller)
    return "".join(line + "\n" for line in lines)


def _ended(text: str) -> str:
    return text if text.endswith("\n") else text + "\n"


def _diff(change: Change) -> str:
    name = f"{change.document.kind}/{change.document.ref.key}"
    lines = difflib.unified_diff(
        change.old_text.splitlines(keepends=True),
        _ended(change.document.text).splitlines(keepends=True),
        f"{name} (cluster)" if change.old is not None else "/dev/null",
        f"{name} (edited)",
    )
    return "".join(line if line.endswith("\n") else line + "\n" for line in lines)


def _document_command(change: Change, schemas: Schemas) -> str:
    document = change.document
    assert document.body is not None
    if change.old is None:
        return _apply(document.text)
    kind = schemas.get(document.api_version, document.kind)
    new = clean_object(document.body)
    is_strategic = kind is not None and kind.built_in
    if kind is not None and is_strategic:
        patch = strategic_patch(change.old, new, kind.schema)
    else:
        patch = merge_patch(change.old, new)
    words = ["kubectl", "patch", resource_name(kind, document.ref), document.name, *_namespace(document.ref)]
    words += ["--type", "strategic" if is_strategic else "merge", "-p", json.dumps(patch, ensure_ascii=False)]
    command = shlex.join(words)
    if document.kind == "Job" and "template" in patch.get("spec", ()):
        # https://kubernetes.io/docs/concepts/workloads/controllers/job/: the template of a Job is immutable.
        text = f"the template of a Job cannot be changed once it exists: change what creates {document.ref.key}"
        return f"# {_comment(text)}, like so\n# {' '.join(command.splitlines())}"
    return command


def _apply(document: str) -> str:
    text = _ended(document)
    mark = "EOF"
    while f"\n{mark}\n" in "\n" + text:
        mark += "_"
    return f"kubectl apply -f - <<'{mark}'\n{text}{mark}"


def resource_name(kind: KindSchema | None, ref: ObjectRef) -> str:
    """Name a kind as kubectl takes it."""
    return kind.resource if kind is not None else ref.kind.lower()


def _resource(ref: ObjectRef, schemas: Schemas) -> str:
    versions = schemas.versions(ref.kind)
    return resource_name(schemas.get(versions[0], ref.kind) if versions else None, ref)


def _namespace(ref: ObjectRef) -> list[str]:
    return ["-n", ref.namespace] if ref.namespace else []


def _edit_lines(edit: AnyEdit, schemas: Schemas) -> Iterator[str]:
    match edit:
        case SetField():
            patch: Any = edit.value
            for step in reversed(edit.path):
                if isinstance(step, int):
                    name = f"{edit.object.kind} {_comment(edit.object.key)}"
                    yield f"# {name}: a field inside a list is not set by a merge patch"
                    return
                patch = {step: patch}
            words = ["patch", _resource(edit.object, schemas), edit.object.name, *_namespace(edit.object)]
            yield shlex.join(["kubectl", *words, "--type", "merge", "-p", json.dumps(patch, ensure_ascii=False)])
        case PutObject():
            yield _apply(edit.text)
        case DeleteObject():
            yield shlex.join(
                ["kubectl", "delete", _resource(edit.object, schemas), edit.object.name, *_namespace(edit.object)]
            )
        case ScaleWorkload():
            words = ["scale", _resource(edit.object, schemas), edit.object.name, *_namespace(edit.object)]
            yield shlex.join(["kubectl", *words, "--replicas", str(edit.replicas)])
        case CordonNode():
            yield shlex.join(["kubectl", "cordon", edit.name])
        case RemoveNode():
            yield f"# drains: {shlex.join(['kubectl', 'delete', 'node', edit.name])}"
        case SetSetting():
            return  # all of them in one command
        case CopyPod():
            yield f"# simulation only: {edit.count} pods like {_comment(edit.object.key)}"
        case TakeOut():
            parts = " ".join(filter(None, (edit.instance_type, edit.zone, edit.capacity_type))) or "every offering"
            yield f"# simulation only: {_comment(parts)} out of capacity"
        case _:
            assert_never(edit)


def _setting_lines(edits: list[SetSetting], gates: Mapping[str, bool], controller: str) -> Iterator[str]:
    """Yield commands that change Karpenter's settings: in the Deployment now, and permanently as chart values."""
    namespace, _, name = (controller or USUAL_CONTROLLER).rpartition("/")
    for edit in [setting for setting in edits if setting.name == VERSION_SETTING]:
        words = ["helm", "upgrade", name, CHART, "-n", namespace, "--reuse-values", "--version", edit.value]
        yield f"# first its CustomResourceDefinitions, then: {_comment(shlex.join(words))}"
    edits = [setting for setting in edits if setting.name != VERSION_SETTING]
    if not edits:
        return
    changed = {edit.name.removeprefix(GATE_PREFIX): edit.value for edit in edits if edit.name.startswith(GATE_PREFIX)}
    variables = [f"{edit.name}={edit.value}" for edit in edits if not edit.name.startswith(GATE_PREFIX)]
    if changed:
        both = {**{gate: str(is_on).lower() for gate, is_on in gates.items()}, **changed}
        variables.append(f"FEATURE_GATES={','.join(f'{gate}={value}' for gate, value in both.items())}")
    if not controller:
        yield f"# Karpenter's Deployment was not found; this is its usual name, {USUAL_CONTROLLER}"
    yield shlex.join(["kubectl", "-n", namespace, "set", "env", f"deployment/{name}", *variables])
    yield "# this lasts until the next helm upgrade; permanently, as chart values:"
    # Numbers as text: the chart leaves out a value that is 0, and Karpenter would take its default.
    values = [word for edit in edits for word in ("--set-string", f"{_chart_value(edit.name)}={edit.value}")]
    chart = ["helm", "upgrade", name, CHART, "-n", namespace, "--reuse-values", *values]
    yield f"# {_comment(shlex.join(chart))}"


def _chart_value(name: str) -> str:
    if name.startswith(GATE_PREFIX):
        gate = name.removeprefix(GATE_PREFIX)
        return f"settings.featureGates.{gate[:1].lower()}{gate[1:]}"
    return f"settings.{_CHART_VALUES.get(name, name)}"


def _comment(text: str) -> str:
    return " ".join(text.split())
