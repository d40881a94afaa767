"""Snapshots: everything that karptui can open instead of a live cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

from karptui.clock import Clock, SystemClock
from karptui.decode.kinds import Kind
from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.settings import Settings, SettingsError, parse_settings
from karptui.kube.timestamps import ABSENT_NS, parse_timestamp
from karptui.sources.snapshot.documents import STDIN, SUFFIXES, Document, documents
from karptui.sources.snapshot.errors import SnapshotError, sentence
from karptui.sources.snapshot.instance_types import Catalogs
from karptui.sources.snapshot.manifests import MARK, is_recording, manifests
from karptui.sources.snapshot.newest import newest_timestamp_ns
from karptui.sources.snapshot.objects import ObjectPile

FORMAT: Final = 1
"""The version of the recording format that is written; higher ones are refused."""


class Snapshot(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A cluster at one instant, as files tell it."""

    name: str
    captured_at_ns: int
    """The *now* of everything that depends on time: nanoseconds since the epoch."""
    settings: Settings = Settings()
    karpenter_version: str = ""
    """Karpenter's version where it was recorded."""
    inventory: Inventory = Inventory()
    instance_types: tuple[InstanceType, ...] | None = None
    """The same for every NodePool; None where each NodeClass has to tell. Shared between snapshots of one catalog."""
    wants_disruption: bool = False
    """``"disruption": true``: ``karptui simulate`` answers for disruption too."""
    unknown_kinds: Mapping[str, int] = {}
    """How many objects of each kind were passed over: ``ConfigMap``, ``Lease.coordination.k8s.io``."""
    problems: tuple[str, ...] = ()
    """A sentence for each object that could not be read."""
    unread: Mapping[Kind, tuple[str, ...]] = {}
    """Those of the problems that are about objects of a known kind."""
    notes: tuple[str, ...] = ()
    """Sentences about what was assumed."""
    manifests: Mapping[tuple[str, str], Mapping[str, Any]] = {}
    """The objects as they were given, by kind and key; empty unless asked for."""


class SnapshotReader:
    """Reads snapshots; lists of instance types that several of them share are read once."""

    def __init__(self, clock: Clock | None = None) -> None:
        """Set up a reader.

        Args:
            clock: tells the time where a snapshot says nothing about it; the machine's by default.
        """
        self._catalogs = Catalogs()
        self._clock = clock or SystemClock()

    def read(
        self,
        paths: Sequence[str | Path],
        *,
        now_ns: int | None = None,
        strict: bool = False,
        keeps_manifests: bool = False,
        stdin: BinaryIO | None = None,
    ) -> Snapshot:
        """Read one snapshot from files, directories and ``-``, all of which add to it.

        Args:
            paths: recordings, what ``kubectl get -o json|yaml`` prints, manifests in JSON or YAML, plain or gzip. At
                most one of them is a recording.
            now_ns: the instant to look at, instead of the recording's or of the newest timestamp found.
            strict: refuse an object that cannot be read, rather than leave it out with a sentence.
            keeps_manifests: whether the objects are kept as given, too.
            stdin: what ``-`` reads.

        Raises:
            SnapshotError: a sentence naming the file, and the object and field where there is one.
        """
        pile = ObjectPile(keeps_manifests=keeps_manifests)
        recording: _Recording | None = None
        newest_ns = ABSENT_NS
        for document in documents(paths, stdin=stdin):
            if is_recording(document.value):
                if recording is not None:
                    raise SnapshotError(
                        sentence(document.where, f"is a second recording beside {recording.where}: open one at a time")
                    )
                recording = _Recording(document, self._catalogs)
                recording.add_objects(pile)
                continue
            if now_ns is None:
                newest_ns = max(newest_ns, newest_timestamp_ns(document.value))
            for manifest in manifests(document.value):
                pile.add(manifest, document.where, has_defaults=bool(manifest.path))
        if strict and pile.problems:
            raise SnapshotError(pile.problems[0])
        name = (recording.name if recording else "") or _name_of(paths)
        captured_ns = now_ns or (recording.captured_ns if recording else ABSENT_NS) or newest_ns
        notes = []
        if not captured_ns:
            captured_ns = self._clock.now_ns()
            notes.append(f"{name}: nothing in it says when it was taken; now is assumed, --now sets it")
        if pile.repeated_count:
            notes.append(f"{name}: {pile.repeated_count} objects were given more than once; the last of each counts")
        return Snapshot(
            name=name,
            captured_at_ns=captured_ns,
            settings=recording.settings if recording else Settings(),
            karpenter_version=recording.karpenter_version if recording else "",
            inventory=pile.inventory(),
            instance_types=recording.instance_types if recording else None,
            wants_disruption=recording.wants_disruption if recording else False,
            unknown_kinds=dict(pile.unknown_kinds),
            problems=tuple(pile.problems),
            unread={kind: tuple(sentences) for kind, sentences in pile.unread.items()},
            notes=tuple(notes),
            manifests=pile.manifests,
        )


class _Recording:
    """A document as ``karptui record`` writes it."""

    def __init__(self, document: Document, catalogs: Catalogs) -> None:
        self.where = document.where
        self._value: dict[str, Any] = document.value
        self._check_version()
        self.name: str = self._field("name", str, "")
        self.wants_disruption: bool = self._field("disruption", bool, default=False)
        self.captured_ns = self._captured_ns()
        self.settings = self._settings()
        self.karpenter_version: str = self._field("karpenterVersion", str, "")
        self.instance_types = self._instance_types(document, catalogs)

    def add_objects(self, pile: ObjectPile) -> None:
        objects = self._field("objects", list, [])
        for index, value in enumerate(objects):
            for manifest in manifests(value, f"objects[{index}]"):
                pile.add(manifest, self.where, has_defaults=True)

    def _field(self, name: str, type_: type[Any], default: Any) -> Any:
        value = self._value.get(name)
        if value is None:
            return default
        if not isinstance(value, type_):
            raise self._wrong(
                name, f"must be {_JSON_NAMES[type_]}, is {_JSON_NAMES.get(type(value), 'something else')}"
            )
        return value

    def _wrong(self, field: str, problem: object) -> SnapshotError:
        return SnapshotError(sentence(self.where, f"{field}: {problem}"))

    def _check_version(self) -> None:
        version = self._value[MARK]
        if isinstance(version, int) and version > FORMAT:
            raise self._wrong(
                MARK, f"the recording has format {version}, this karptui reads up to {FORMAT}; a newer one is needed"
            )
        if version != FORMAT or isinstance(version, bool):
            raise self._wrong(MARK, f"must be {FORMAT}")

    def _captured_ns(self) -> int:
        text = self._field("capturedAt", str, "")
        try:
            return parse_timestamp(text) if text else ABSENT_NS
        except ValueError as error:
            raise self._wrong("capturedAt", error) from None

    def _settings(self) -> Settings:
        values = self._field("settings", dict, {})
        environment = {}
        for name, value in values.items():
            if isinstance(value, dict | list) or value is None:
                raise self._wrong(f"settings.{name}", "must be text")
            environment[name] = str(value).lower() if isinstance(value, bool) else str(value)
        try:
            return parse_settings(environment)
        except SettingsError as error:
            raise self._wrong("settings", error) from None

    def _instance_types(self, document: Document, catalogs: Catalogs) -> tuple[InstanceType, ...] | None:
        types = self._field("instanceTypes", list, None)
        if types is not None:
            return catalogs.of_value(types, self.where)
        catalog = self._field("catalog", str, "")
        if not catalog:
            return None
        try:
            return catalogs.of_file(catalog, document.folder)
        except SnapshotError as error:
            raise SnapshotError(sentence(self.where, error)) from None


_JSON_NAMES: Final[Mapping[type[Any], str]] = {
    str: "text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
}


def _name_of(paths: Sequence[str | Path]) -> str:
    if str(paths[0]) == STDIN:
        first = "standard input"
    else:
        first = Path(paths[0]).name or str(paths[0])
        suffix = next((suffix for suffix in reversed(SUFFIXES) if first.lower().endswith(suffix)), "")
        first = first[: len(first) - len(suffix)] or first
    return first if len(paths) == 1 else f"{first} +{len(paths) - 1}"
