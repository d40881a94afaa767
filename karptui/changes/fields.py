"""The fields of an object as a flat mapping, and the fields in which two objects differ.

Members of lists are named by what identifies them, not by their position: requirements and taints by key, containers
by name, budgets and tolerations by their content. So a member that is added shifts no other field.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from karptui.karpenter.labels import GROUP

_NOT_COMPARED: Final = frozenset(
    {
        "name",
        "generateName",
        "namespace",
        "uid",
        "generation",
        "resourceVersion",
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "ownerReferences",
        "finalizers",
        "managedFields",
    }
)
"""Metadata that users do not edit."""
_HASHES: Final = (f"{GROUP}/nodepool-hash", f"{GROUP}/nodeclass-hash", "karpenter.k8s.aws/ec2nodeclass-hash")
"""Prefixes of annotations that Karpenter computes."""
_IDENTITY: Final[Mapping[str, tuple[str, ...]]] = {
    "requirements": ("key", "operator"),
    "matchExpressions": ("key", "operator"),
    "taints": ("key", "effect"),
    "startupTaints": ("key", "effect"),
    "containers": ("name",),
    "initContainers": ("name",),
    "volumes": ("name",),
    "amis": ("id",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
}
"""By a list's field, the fields that identify its members; the first alone, if it is unique."""
_NESTED: Final = frozenset({"containers", "initContainers", "volumes"})
"""Lists whose members are compared field by field."""
_UNORDERED: Final = frozenset({"values", "reasons"})
_NODECLASS_STATUS: Final = "amis"
"""Part of a NodeClass's status that its nodes drift by."""

Fields = Mapping[str, Any]
"""Values by path, as in ``spec.limits.cpu``."""


class FieldChange(msgspec.Struct, frozen=True):
    """A field that differs; None is absent."""

    path: str
    before: Any = None
    after: Any = None


def fields_of(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an object that users and controllers set, by path; its status is left out."""
    metadata = manifest.get("metadata")
    fields: dict[str, Any] = {}
    if isinstance(metadata, Mapping):
        compared = {name: value for name, value in metadata.items() if name not in _NOT_COMPARED}
        annotations = compared.pop("annotations", None)
        if isinstance(annotations, Mapping):
            compared["annotations"] = {key: value for key, value in annotations.items() if not key.startswith(_HASHES)}
        fields.update(_flat("metadata", "metadata", compared))
    rest = {name: value for name, value in manifest.items() if name not in ("apiVersion", "kind", "metadata", "status")}
    for name, value in rest.items():
        fields.update(_flat(name, name, value))
    status = manifest.get("status")
    if isinstance(status, Mapping) and _NODECLASS_STATUS in status:
        fields.update(_flat(f"status.{_NODECLASS_STATUS}", _NODECLASS_STATUS, status[_NODECLASS_STATUS]))
    return fields


def flattened(name: str, value: Any) -> dict[str, Any]:
    """Return the fields of a value that belongs to no object, by path."""
    return dict(_flat(name, name.rpartition(".")[2], value))


def field_changes(before: Fields, after: Fields) -> tuple[FieldChange, ...]:
    """Return the fields that differ, by path."""
    return tuple(
        FieldChange(path, before.get(path), after.get(path))
        for path in sorted({**before, **after})
        if before.get(path) != after.get(path)
    )


def _flat(path: str, name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield paths and values.

    Args:
        name: Name of the field, without its position in a list.
    """
    if isinstance(value, Mapping) and value:
        for key, part in value.items():
            step = f"[{key}]" if "." in key or "/" in key else f".{key}"
            yield from _flat(f"{path}{step}", key, part)
    elif isinstance(value, list) and value and all(isinstance(member, Mapping) for member in value):
        yield from _members(path, name, value)
    elif value is not None and value not in ({}, []):
        yield path, sorted(value) if name in _UNORDERED and _are_texts(value) else value


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(member, str) for member in value)


def _members(path: str, name: str, members: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Any]]:
    identity = _IDENTITY.get(name, ())
    firsts = Counter(str(member.get(identity[0])) for member in members) if identity else Counter[str]()
    seen: Counter[str] = Counter()
    for member in sorted(members, key=_content):
        step = _content(member)
        compared: Any = dict(member)
        if identity and identity[0] in member:
            step = str(member[identity[0]])
            if firsts[step] > 1:
                step = " ".join(str(member.get(part, "")) for part in identity)
            compared = {key: part for key, part in member.items() if key != identity[0]}
        seen[step] += 1
        step = step if seen[step] == 1 else f"{step} #{seen[step]}"
        if name in _NESTED:
            yield from _flat(f"{path}[{step}]", "", compared)
        else:
            yield f"{path}[{step}]", _in_order(compared) or True


def _in_order(member: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: sorted(part) if key in _UNORDERED and _are_texts(part) else part for key, part in sorted(member.items())
    }


def _content(member: Mapping[str, Any]) -> str:
    return msgspec.json.encode(_in_order(member), order="sorted").decode()
