"""Snapshots: what ``karptui record`` writes, and whatever kubectl prints.

Form: docs/snapshots.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from karptui.decode.errors import DecodeError, FieldError
from karptui.decode.kinds import WORKLOAD_API_VERSIONS, Kind, KindReader, kind_of
from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.settings import Settings, SettingsError, parse_settings
from karptui.kube.timestamps import parse_timestamp
from karptui.sources.snapshot.documents import STDIN, SnapshotError, expand, objects_of, read_documents
from karptui.sources.snapshot.instance_types import build_instance_types

VERSION: Final = 1
"""The ``karptui`` field of the documents this reads."""

_FIELDS: Final[Mapping[Kind, str]] = {
    Kind.POD: "pods",
    Kind.NODE: "nodes",
    Kind.NODEPOOL: "nodepools",
    Kind.NODECLAIM: "nodeclaims",
    Kind.NODECLASS: "nodeclasses",
    Kind.NODEOVERLAY: "overlays",
    Kind.DAEMONSET: "daemonsets",
    Kind.PDB: "pdbs",
    Kind.PVC: "claims",
    Kind.PV: "volumes",
    Kind.STORAGE_CLASS: "storage_classes",
    Kind.CSI_NODE: "csi_nodes",
    Kind.NAMESPACE: "namespaces",
    Kind.PRIORITY_CLASS: "priority_classes",
    Kind.SERVICE: "services",
    Kind.EVENT: "events",
    Kind.CAPACITY_BUFFER: "capacity_buffers",
    Kind.POD_TEMPLATE: "pod_templates",
    **dict.fromkeys((*WORKLOAD_API_VERSIONS, Kind.REPLICATION_CONTROLLER), "workloads"),
}
_TIMES: Final = ("creationTimestamp", "deletionTimestamp", "lastTransitionTime", "startTime", "lastTimestamp", "time")


class Snapshot(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A cluster at one moment."""

    name: str
    captured_at_ns: int
    """The *now* of everything that depends on time: nanoseconds since the epoch."""
    settings: Settings
    inventory: Inventory
    objects: Mapping[Kind, Mapping[str, Any]]
    """The same objects by kind and key, for the state."""
    raw: Mapping[Kind, Mapping[str, Mapping[str, Any]]]
    """The objects as they were given, by kind and key."""
    instance_types: tuple[InstanceType, ...] | None = None
    """The types every NodePool draws on; None where they are to be computed from each NodePool's NodeClass."""
    wants_disruption: bool = False
    """Whether it asks for disruption decisions too."""
    unknown_kinds: Mapping[str, int]
    """How many objects of kinds that are passed over."""
    problems: tuple[str, ...] = ()
    """A sentence for each object that could not be read and is left out."""


class SnapshotReader:
    """Reads snapshots; instance types of a catalog that several share are read once."""

    def __init__(self) -> None:
        self._catalogs: dict[Path, tuple[InstanceType, ...]] = {}
        self._readers: dict[tuple[str, str], KindReader] = {}

    def read(self, paths: Sequence[str], *, now_ns: int | None = None, strict: bool = False) -> Snapshot:
        """Read one snapshot from any number of files, directories or standard input.

        Args:
            paths: what was given on the command line.
            now_ns: overrules the moment the snapshot states.
            strict: refuse an object that cannot be read, rather than leave it out with a sentence.

        Raises:
            SnapshotError: naming the file, the object and the field.
        """
        head: dict[str, Any] = {}
        base = Path()
        found: list[tuple[str, Any]] = []
        for file in (file for path in paths for file in expand(path)):
            name = "standard input" if file == STDIN else str(file)
            for document in read_documents(file):
                if isinstance(document, dict) and "karptui" in document:
                    _check_head(document, name)
                    head, base = {**head, **document}, Path(file).parent
                    found += [(name, item) for item in document.get("objects") or ()]
                else:
                    found.append((name, document))
        return self._build(head, base, found, now_ns=now_ns, strict=strict, fallback_name=_name_of(paths))

    def _build(
        self,
        head: Mapping[str, Any],
        base: Path,
        found: Iterable[tuple[str, Any]],
        *,
        now_ns: int | None,
        strict: bool,
        fallback_name: str,
    ) -> Snapshot:
        raws = [(name, raw) for name, document in found for raw in objects_of(document, name)]
        objects: dict[Kind, dict[str, Any]] = {}
        originals: dict[Kind, dict[str, Mapping[str, Any]]] = {}
        unknown: Counter[str] = Counter()
        problems: list[str] = []
        for name, raw in raws:
            kind, reader = self._reader_of(raw)
            if reader is None or kind is None:
                unknown[str(raw.get("kind") or "without a kind")] += 1
                continue
            try:
                item = reader.convert(raw)
            except DecodeError as error:
                if strict:
                    raise SnapshotError(f"{name}: {error}") from None
                problems.append(f"{name}: {error}")
                continue
            objects.setdefault(kind, {})[item.key] = item
            originals.setdefault(kind, {})[item.key] = raw
        return Snapshot(
            name=str(head.get("name") or fallback_name),
            captured_at_ns=now_ns if now_ns is not None else _captured_at(head, raws, fallback_name),
            settings=_settings(head, fallback_name),
            inventory=_inventory(objects),
            objects=objects,
            raw=originals,
            instance_types=self._instance_types(head, base, fallback_name),
            wants_disruption=head.get("disruption") is True,
            unknown_kinds=dict(unknown),
            problems=tuple(problems),
        )

    def _reader_of(self, raw: Mapping[str, Any]) -> tuple[Kind | None, KindReader | None]:
        api_version, api_kind = raw.get("apiVersion"), raw.get("kind")
        if not isinstance(api_version, str) or not isinstance(api_kind, str):
            return None, None
        kind = kind_of(api_version, api_kind)
        if kind is None:
            return None, None
        reader = self._readers.get((api_version, api_kind))
        if reader is None:
            reader = KindReader(kind, api_version=api_version, api_kind=api_kind)
            self._readers[api_version, api_kind] = reader
        return kind, reader

    def _instance_types(self, head: Mapping[str, Any], base: Path, name: str) -> tuple[InstanceType, ...] | None:
        inline, catalog = head.get("instanceTypes"), head.get("catalog")
        if catalog is not None and not isinstance(catalog, str):
            raise SnapshotError(f"{name}: catalog: is not a file name")
        try:
            if isinstance(inline, list):
                return build_instance_types(inline)
            return self._catalog(base / catalog) if catalog else None
        except FieldError as error:
            raise SnapshotError(f"{name}: instanceTypes: {error}") from None

    def _catalog(self, path: Path) -> tuple[InstanceType, ...]:
        file = path if path.exists() else path.with_name(f"{path.name}.gz")
        known = self._catalogs.get(file)
        if known is None:
            documents = read_documents(file)
            if len(documents) != 1 or not isinstance(documents[0], list):
                raise SnapshotError(f"{file}: a catalog is one list of instance types")
            known = self._catalogs[file] = build_instance_types(documents[0])
        return known


def _inventory(objects: Mapping[Kind, Mapping[str, Any]]) -> Inventory:
    fields: dict[str, list[Any]] = {}
    for kind, items in objects.items():
        fields.setdefault(_FIELDS[kind], []).extend(items.values())
    return Inventory(**{field: tuple(items) for field, items in fields.items()})


def _check_head(document: Mapping[str, Any], name: str) -> None:
    if document["karptui"] != VERSION:
        raise SnapshotError(f"{name}: karptui: is {document['karptui']!r}, this version reads {VERSION}")
    if not isinstance(document.get("objects", []), list):
        raise SnapshotError(f"{name}: objects: is not a list")


def _name_of(paths: Sequence[str]) -> str:
    if len(paths) == 1 and paths[0] != STDIN:
        return Path(paths[0]).name
    return "standard input" if paths == [STDIN] else f"{len(paths)} files"


def _settings(head: Mapping[str, Any], name: str) -> Settings:
    given = head.get("settings") or {}
    if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
        raise SnapshotError(f"{name}: settings: expected names with texts as values")
    try:
        return parse_settings(given)
    except SettingsError as error:
        raise SnapshotError(f"{name}: settings: {error}") from None


def _captured_at(head: Mapping[str, Any], raws: Sequence[tuple[str, Any]], name: str) -> int:
    stated = head.get("capturedAt")
    if stated is not None:
        try:
            return parse_timestamp(stated)
        except (TypeError, ValueError):
            raise SnapshotError(f"{name}: capturedAt: {stated!r} is not an RFC 3339 timestamp") from None
    return max((moment for _, raw in raws for moment in _moments(raw)), default=0)


def _moments(raw: object) -> Iterator[int]:
    """Yield the timestamps of an object's metadata, status and event fields."""
    if isinstance(raw, dict):
        for key, value in raw.items():
            if isinstance(value, str) and (key in _TIMES or key.endswith(("Time", "Timestamp"))):
                try:
                    yield parse_timestamp(value)
                except ValueError:
                    continue
            elif key in ("metadata", "status", "conditions", "containerStatuses"):
                yield from _moments(value)
    elif isinstance(raw, list):
        for item in raw:
            yield from _moments(item)
