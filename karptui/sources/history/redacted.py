"""A part of a history with pseudonyms instead of names, as a separate history."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from karptui.decode.kinds import Kind
from karptui.decode.reader import key_of
from karptui.karpenter.nodeclass import nodeclass_key
from karptui.sources.history.moments import recording_at
from karptui.sources.history.store import Change, History, HistoryError, Mark, Sample
from karptui.sources.history.writer import HistoryWriter
from karptui.sources.snapshot import public
from karptui.sources.snapshot.recording import flat
from karptui.sources.snapshot.redact import Redactor

NAME: Final = "redacted"
_NO_FIELDS: Final = frozenset({"karptui", "name", "capturedAt", "objects"})
_CAUSES: Final = frozenset({"verdict", "verdict-over", "disruption", "launch-refused", "edit", "restart", "gap"})
_CODE: Final = re.compile(r"[A-Z][A-Z_]{2,40}")
_TEXTS: Final = frozenset(
    {"created", "deleted", "Underutilized", "Empty", "Drifted", "Expired", "Interrupted", "Repaired", "Unhealthy"}
    | {"LaunchFailed", "NeverRegistered", "NodePoolDeleted", "ScaledDown", "Deleted", "Unknown"}
    | {"InsufficientInstanceCapacity", "InsufficientFreeAddressesInSubnet", "MaxSpotInstanceCountExceeded"}
    | {"VcpuLimitExceeded", "UnfulfillableCapacity", "UnauthorizedOperation", "InsufficientCapacityError"}
)
"""Texts of marks that are kept: reasons of Karpenter, error codes of EC2, words of karptui. Others are left out."""
_CAPACITY_TYPES: Final = frozenset({"spot", "on-demand", "reserved", "*"})
_Key = tuple[str, str]


def write_redacted(history: History, path: Path, redactor: Redactor, from_ns: int, to_ns: int) -> None:
    """Write a part of a history to a new file, with pseudonyms that are the same at every moment.

    Prices, settings and usage are those of the end. Field managers and texts of marks that may hold names are left out.

    Raises:
        HistoryError: if nothing of that time is recorded, or the file cannot be written.
    """
    parts = [(session, max(session.from_ns, from_ns), min(session.to_ns, to_ns)) for session in history.sessions()]
    frames = [
        (start_ns, end_ns, [*history.objects_at(start_ns).values()], [*history.changes(start_ns, end_ns)])
        for _, start_ns, end_ns in parts
        if start_ns < end_ns
    ]
    if not frames:
        raise HistoryError(f"{history.path}: nothing is recorded in that time")
    at_end = recording_at(history, to_ns)
    every_change = [change for *_, objects, changes in frames for change in (*objects, *changes)]
    with_manifests = [change for change in every_change if not change.is_deletion]
    document = {**at_end, "objects": [msgspec.json.decode(change.manifest) for change in with_manifests]}
    recording = redactor.redact_document(document)
    manifests = dict(zip(map(id, with_manifests), recording["objects"], strict=True))
    keys = {(change.kind, change.key): _key(change.kind, manifests[id(change)]) for change in with_manifests}
    facts = flat({name: value for name, value in recording.items() if name not in _NO_FIELDS})

    def renamed(changes: Sequence[Change]) -> list[Change]:
        return [
            msgspec.structs.replace(
                change,
                key=keys[change.kind, change.key],
                manager="",
                manifest=msgspec.Raw(b"null" if change.is_deletion else msgspec.json.encode(manifests[id(change)])),
            )
            for change in changes
            if (change.kind, change.key) in keys
        ]

    for start_ns, end_ns, objects, changes in frames:
        writer = HistoryWriter(path, NAME)
        try:
            writer.write_key(renamed(objects))
            writer.finish_key(start_ns)
            if (start_ns, end_ns) == frames[0][:2]:
                for name, value in facts.items():
                    writer.write_fact(start_ns, name, value)
                writer.write_marks(_marks(history.marks(from_ns, to_ns), keys))
                writer.write_samples(_samples(history.samples(from_ns, to_ns), keys))
            writer.write(renamed(changes))
            writer.note_instant(end_ns)
        finally:
            writer.close()


def _key(kind: str, manifest: Mapping[str, Any]) -> str:
    key = key_of(manifest)
    return nodeclass_key(manifest.get("kind", ""), key) if kind == Kind.NODECLASS else key


def _marks(marks: Sequence[Mark], keys: Mapping[_Key, str]) -> Iterator[Mark]:
    """Yield the marks with the pseudonyms of their objects; those of other objects have no name."""
    for mark in marks:
        if mark.cause not in _CAUSES:
            continue
        is_offering = mark.object_kind == "Offering"
        is_known = is_offering or (mark.object_kind, mark.name) in keys
        yield Mark(
            at_ns=mark.at_ns,
            cause=mark.cause,
            code=mark.code if _CODE.fullmatch(mark.code) else "",
            object_kind=mark.object_kind if is_known else "",
            name=_offering(mark.name) if is_offering else keys.get((mark.object_kind, mark.name), ""),
            objects=tuple(
                f"{kind}/{keys[kind, name]}"
                for kind, _, name in (item.partition("/") for item in mark.objects)
                if (kind, name) in keys
            ),
            pool=keys.get((str(Kind.NODEPOOL), mark.pool), ""),
            text=mark.text if mark.text in _TEXTS else "",
            cost_per_hour=mark.cost_per_hour,
            severity=mark.severity if mark.severity in ("error", "warning", "info") else "",
        )


def _offering(name: str) -> str:
    instance_type, zone, capacity_type = [*name.split("/"), "*", "*", "*"][:3]
    return "/".join((
        instance_type if public.is_instance_type(instance_type) else "*",
        zone if public.is_zone(zone) else "*",
        capacity_type if capacity_type in _CAPACITY_TYPES else "*",
    ))  # fmt: skip


def _samples(samples: Sequence[Sample], keys: Mapping[_Key, str]) -> Iterator[Sample]:
    for sample in samples:
        pool = keys.get((str(Kind.NODEPOOL), sample.pool), "")
        if pool or not sample.pool:
            yield msgspec.structs.replace(sample, pool=pool)
