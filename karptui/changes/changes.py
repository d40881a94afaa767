"""The changes of a cluster between two moments, most important first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final, Protocol

import msgspec

from karptui.aws.money import LEAST_CHANGE
from karptui.changes.fields import FieldChange, Fields, field_changes, fields_of, flattened
from karptui.changes.row import COST, EDITED_KINDS, SETTINGS, VERDICT, ObjectChange, What
from karptui.decode.kinds import Kind
from karptui.karpenter.labels import NODEPOOL
from karptui.kube.generated_names import WRITTEN_KINDS, stem, written_owner
from karptui.kube.group import group_by

REQUESTS: Final = "requests"


class _Version(Protocol):
    @property
    def manifest(self) -> msgspec.Raw: ...


class _Owner(msgspec.Struct):
    kind: str = ""
    name: str = ""
    controller: bool | None = None


class _Metadata(msgspec.Struct, rename="camel"):
    uid: str = ""
    namespace: str = ""
    labels: dict[str, str] | None = None
    owner_references: list[_Owner] | None = None


class _Resources(msgspec.Struct):
    requests: dict[str, str | int | float] | None = None


class _Container(msgspec.Struct):
    name: str = ""
    resources: _Resources | None = None


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str | None = ""
    containers: list[_Container] | None = None


class _Object(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    spec: _Spec | None = None


_OBJECT: Final = msgspec.json.Decoder(_Object, strict=False)
_NOTHING: Final = _Object()


class _Fold:
    """Objects of one owner or NodePool."""

    def __init__(self) -> None:
        self.added = self.removed = self.moved = 0
        self.requests_before: dict[str, str] = {}
        self.requests_after: dict[str, str] = {}


Objects = Mapping[tuple[str, str], _Version]
_FOLDED: Final = (Kind.NODE, Kind.NODECLAIM, Kind.POD)


def folded_changes(before: Objects, after: Objects) -> Iterator[ObjectChange]:
    """Yield added and removed nodes and NodeClaims by NodePool, pods by owner, and changed requests."""
    folds: dict[tuple[str, str], _Fold] = {}
    for kind in _FOLDED:
        for ref in {ref for side in (before, after) for ref in side if ref[0] == kind}:
            _add(folds, str(kind), before.get(ref), after.get(ref))
    for (name_of_kind, name), fold in folds.items():
        if fold.added or fold.removed or fold.moved:
            what = What.CAME_AND_GONE
            yield ObjectChange(name_of_kind, name, what, added=fold.added, removed=fold.removed, moved=fold.moved)
        old, new = fold.requests_before, fold.requests_after
        # Pods of Jobs, and pods without an owner, need not be alike.
        if old and new and old != new and name.partition("/")[0] in WRITTEN_KINDS:
            yield ObjectChange(name_of_kind, name, What.CHANGED, REQUESTS, old, new)


def _add(folds: dict[tuple[str, str], _Fold], kind: str, before: _Version | None, after: _Version | None) -> None:
    if before is not None and after is not None and bytes(before.manifest) == bytes(after.manifest):
        return
    old, new = _decoded(before), _decoded(after)
    is_same = before is not None and after is not None and old.metadata.uid == new.metadata.uid
    fold = folds.setdefault((kind, _fold_of(kind, new if after is not None else old)), _Fold())
    is_pod = kind == Kind.POD
    if is_pod and before is not None and after is not None and _node(old) and _node(new) and _node(old) != _node(new):
        fold.moved += 1  # a StatefulSet's pod has the same name, but another identity
    elif not is_same:
        fold.added += after is not None
        fold.removed += before is not None
    if is_pod:
        if before is not None and (not is_same or _requests(old) != _requests(new)):
            fold.requests_before = fold.requests_before or _requests(old)
        if after is not None and (not is_same or _requests(old) != _requests(new)):
            fold.requests_after = fold.requests_after or _requests(new)


def _decoded(version: _Version | None) -> _Object:
    try:
        return _OBJECT.decode(version.manifest) if version is not None else _NOTHING
    except msgspec.MsgspecError:
        return _NOTHING


def _node(item: _Object) -> str:
    return (item.spec.node_name or "") if item.spec is not None else ""


def _requests(item: _Object) -> dict[str, str]:
    containers = (item.spec.containers or []) if item.spec is not None else []
    is_single = len(containers) == 1
    return {
        resource if is_single else f"{container.name}.{resource}": str(amount)
        for container in containers
        for resource, amount in sorted(((container.resources or _Resources()).requests or {}).items())
    }


def _fold_of(kind: str, item: _Object) -> str:
    """Return the NodePool of a node or NodeClaim, or the owner of a pod."""
    labels = item.metadata.labels or {}
    if kind != Kind.POD:
        return labels.get(NODEPOOL, "") or "(no NodePool)"
    owners = item.metadata.owner_references or []
    owner = next((owner for owner in owners if owner.controller), None)
    if owner is None:
        return f"Pod/{item.metadata.namespace}/-"
    owner_kind, name = written_owner(owner.kind, owner.name, labels)
    name = name if owner_kind in WRITTEN_KINDS else stem(name)
    return f"{owner_kind}/{item.metadata.namespace}/{name}"


_SETTING_FIELDS: Final = ("settings", "repairPolicies")


class ObjectVersion(Protocol):
    """An object as it was from an instant on."""

    @property
    def at_ns(self) -> int:
        """Since when: nanoseconds since the epoch."""

    @property
    def kind(self) -> str:
        """Of `Kind`."""

    @property
    def key(self) -> str:
        """``namespace/name`` or ``name``."""

    @property
    def manager(self) -> str:
        """Who changed its specification last; empty if unknown."""

    @property
    def manifest(self) -> msgspec.Raw:
        """The object; ``null`` if it was deleted then."""


class Fault(StrEnum):
    """What happened to a line of the verdict."""

    BEGAN = "began"
    ENDED = "ended"


class VerdictLine(msgspec.Struct, frozen=True):
    """A line of the verdict that came or went."""

    at_ns: int
    fault: Fault
    text: str
    object_kind: str = ""
    name: str = ""


class Moment(msgspec.Struct, frozen=True):
    """A cluster at an instant."""

    objects: Mapping[tuple[str, str], ObjectVersion]
    """By kind and key."""
    facts: Mapping[str, Any] = {}
    """The fields of a recording that are no objects: ``karpenterVersion``, ``settings``, …"""
    prices: Mapping[str, float] = {}
    """Dollars per hour by NodePool; empty if unknown."""


class Edit(msgspec.Struct, frozen=True):
    """An edit of an object."""

    at_ns: int
    kind: str
    key: str
    manager: str
    """Who made it; empty if unknown."""
    fields: tuple[FieldChange, ...]


def edits(before: Mapping[tuple[str, str], ObjectVersion], versions: Iterable[ObjectVersion]) -> Iterator[Edit]:
    """Yield the edits of objects: the versions, in order of time, in which a field differs from the one before.

    Args:
        before: The objects at the beginning, by kind and key.
    """
    latest: dict[tuple[str, str], Fields] = {}
    for version in versions:
        if version.kind not in EDITED_KINDS:
            continue
        ref = version.kind, version.key
        old = latest[ref] if ref in latest else _fields(before.get(ref))
        new = latest[ref] = _fields(version)
        if changed := field_changes(old, new):
            yield Edit(version.at_ns, version.kind, version.key, version.manager if new else "", changed)


def changes_between(
    before: Moment, after: Moment, versions: Iterable[ObjectVersion] = (), verdict: Iterable[VerdictLine] = ()
) -> tuple[ObjectChange, ...]:
    """Return the differences between two moments, most important first.

    Args:
        versions: Versions of objects between the moments, in order of time: they tell when a field was changed.
        verdict: Lines of the verdict that came or went between the moments.
    """
    authors: dict[tuple[str, str, str], Edit] = {}
    for edit in edits(before.objects, versions):
        authors.update(((edit.kind, edit.key, change.path), edit) for change in edit.fields)
    rows = [*_object_changes(before, after, authors), *_setting_changes(before.facts, after.facts)]
    rows += _verdict_changes(verdict)
    rows += _cost_changes(before.prices, after.prices)
    rows += folded_changes(before.objects, after.objects)
    return tuple(sorted(rows, key=lambda row: row.place))


def _object_changes(
    before: Moment, after: Moment, authors: Mapping[tuple[str, str, str], Edit]
) -> Iterator[ObjectChange]:
    refs = {ref for side in (before, after) for ref in side.objects if ref[0] in EDITED_KINDS}
    for ref in refs:
        old, new = before.objects.get(ref), after.objects.get(ref)
        if old is not None and new is not None and _raw(old) == _raw(new):
            continue
        changed = field_changes(_fields(old), _fields(new))
        kind, key = ref
        if old is None or new is None:
            edit = next((authors[*ref, change.path] for change in changed if (*ref, change.path) in authors), None)
            what = What.ADDED if old is None else What.REMOVED
            by = edit.manager if edit is not None else new.manager if new is not None else ""
            yield ObjectChange(kind, key, what, at_ns=edit.at_ns if edit is not None else 0, by=by)
            continue
        for change in changed:
            edit = authors.get((*ref, change.path))
            yield ObjectChange(
                kind,
                key,
                What.CHANGED,
                change.path,
                change.before,
                change.after,
                at_ns=edit.at_ns if edit is not None else 0,
                # Fields of the status are Karpenter's, whoever edited the rest.
                by="" if change.path.startswith("status.") else edit.manager if edit is not None else new.manager,
            )


def _fields(version: ObjectVersion | None) -> Fields:
    manifest = msgspec.json.decode(version.manifest) if version is not None else None
    return fields_of(manifest) if isinstance(manifest, dict) else {}


def _raw(version: ObjectVersion) -> bytes:
    return bytes(version.manifest)


def _setting_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[ObjectChange]:
    if not before or not after:
        return
    old, new = _settings(before), _settings(after)
    for change in field_changes(old, new):
        yield ObjectChange(SETTINGS, "karpenter", What.CHANGED, change.path, change.before, change.after)


def _settings(facts: Mapping[str, Any]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if facts.get("karpenterVersion"):
        fields["version"] = facts["karpenterVersion"]
    for name in _SETTING_FIELDS:
        fields.update(flattened(name, facts.get(name)))
    return fields


def _verdict_changes(lines: Iterable[VerdictLine]) -> Iterator[ObjectChange]:
    folded = group_by(lines, lambda line: (line.object_kind, line.name, line.text))
    for (_, name, text), same in folded.items():
        last = max(same, key=lambda line: line.at_ns)
        began = last.fault is Fault.BEGAN
        yield ObjectChange(
            VERDICT,
            name,
            What.BEGAN if began else What.ENDED,
            before=None if began else text,
            after=text if began else None,
            at_ns=last.at_ns,
        )


def _cost_changes(before: Mapping[str, float], after: Mapping[str, float]) -> Iterator[ObjectChange]:
    if not before or not after:
        return
    sides = {pool: (before.get(pool, 0.0), after.get(pool, 0.0)) for pool in {**before, **after}}
    sides = {pool: pair for pool, pair in sides.items() if abs(pair[0] - pair[1]) >= LEAST_CHANGE}
    total = sum(before.values()), sum(after.values())
    if sides and abs(total[0] - total[1]) >= LEAST_CHANGE:
        yield _cost("total", *total)
    for pool, pair in sides.items():
        yield _cost(pool or "(no NodePool)", *pair)


def _cost(name: str, before: float, after: float) -> ObjectChange:
    return ObjectChange(COST, name, What.CHANGED, "pricePerHour", round(before, 4), round(after, 4))
