"""The changes of a cluster between two moments, most important first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final, Protocol

import msgspec

from karptui.aws.money import LEAST_CHANGE
from karptui.changes.fields import FieldChange, Fields, field_changes, fields_of, flattened
from karptui.changes.folded import folded_changes
from karptui.changes.row import COST, EDITED_KINDS, SETTINGS, VERDICT, ObjectChange, What
from karptui.kube.group import group_by

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
