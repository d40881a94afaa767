"""Reading files into a snapshot: objects, and for a recording its time, origin, settings and instance types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

from karptui.aws.evidence import Evidence, with_rules
from karptui.clock import Clock, SystemClock
from karptui.decode.controller import OWN_NAMESPACE, USUAL_NAMESPACE, decode_controller, order_of
from karptui.decode.errors import JSON_WORDS
from karptui.decode.kinds import VOLUME_KINDS, Kind
from karptui.karpenter.controller import NAME, NAME_LABEL, ControllerInfo
from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import COMPUTE_TYPE, NODEPOOL
from karptui.karpenter.repair_policies import RepairPolicyError, parse_policies
from karptui.karpenter.settings import Settings, SettingsError, parse_settings
from karptui.kube.group import group_by
from karptui.kube.resources import CPU, nano
from karptui.kube.timestamps import ABSENT_NS, parse_now, parse_timestamp
from karptui.kube.usage import NO_LIVE_USAGE, LiveUsage
from karptui.sources.history.moments import recording_at
from karptui.sources.history.store import History, HistoryError, is_history
from karptui.sources.snapshot.documents import STDIN, SUFFIXES, SnapshotDocument, documents
from karptui.sources.snapshot.evidence import recorded_evidence, recorded_usage
from karptui.sources.snapshot.instance_types import Catalogs
from karptui.sources.snapshot.objects import FORMAT, MARK, ObjectPile, is_recording, manifests
from karptui.sources.snapshot.text import MemoryLimit, SnapshotError, sentence

_FIELDS: Final = frozenset(
    {
        "creationTimestamp",
        "lastTransitionTime",
        "lastHeartbeatTime",
        "lastProbeTime",
        "lastUpdateTime",
        "lastTimestamp",
        "firstTimestamp",
        "lastObservedTime",
        "eventTime",
        "startTime",
        "startedAt",
        "finishedAt",
        "lastScheduleTime",
        "lastPodEventTime",
        "completionTime",
        "time",
    }
)
"""Fields that say when something has happened. Deadlines, such as a pod's deletionTimestamp, lie in the future."""
_MANY: Final = 1_000
"""A file whose first values are not objects, this many, is no snapshot."""
_SIMULATED: Final = "kwok://"
"""Beginning of the provider ID of simulated nodes."""
_PASSED_OVER: Final = frozenset({"annotations", "labels", "spec", "data"})


def newest_timestamp_ns(value: Any) -> int:
    """Return the latest past event's time; nanoseconds since the epoch, 0 if there is none."""
    newest = ABSENT_NS
    pending = [value]
    while pending:
        current = pending.pop()
        if isinstance(current, list):
            pending.extend(current)
        elif isinstance(current, dict):
            for key, part in current.items():
                if isinstance(part, dict | list):
                    if key not in _PASSED_OVER:
                        pending.append(part)
                elif key in _FIELDS and isinstance(part, str):
                    newest = max(newest, _instant_ns(part))
    return newest


def _instant_ns(text: str) -> int:
    """Return an instant, none if the text is invalid, or too far in the future."""
    try:
        return parse_now(text)
    except ValueError:
        return ABSENT_NS


_RECORDING: Final = "the snapshot"
"""Who tells the settings and the version of a recording that does not name Karpenter's Deployment."""


class Recorded:
    """A document written by ``karptui record``; missing fields have defaults."""

    def __init__(self, document: SnapshotDocument, catalogs: Catalogs) -> None:
        """Read everything except the objects."""
        self.where = document.where
        self._value: dict[str, Any] = document.value
        self._document = document
        self._check_version()
        self.name: str = self._field("name", str, "")
        self.with_disruption: bool = self._field("disruption", bool, default=False)
        self.captured_ns = self._captured_ns()
        self.evidence = self._evidence(document, catalogs)
        self.live_usage = self._live_usage()
        self.unread = tuple(kind for kind in self._field("unread", list, []) if isinstance(kind, str))

    def add_objects(self, pile: ObjectPile) -> None:
        """Add the objects to a pile."""
        objects = self._field("objects", list, [])
        for index, value in enumerate(objects):
            for manifest in manifests(value, f"objects[{index}]", decode=self._document.decode):
                self._document.limit.check_step()
                pile.add(manifest, self.where, has_defaults=True)

    def _field(self, name: str, type_: type[Any], default: Any) -> Any:
        value = self._value.get(name)
        if value is None:
            return default
        if not isinstance(value, type_):
            raise self._wrong(name, f"must be {JSON_WORDS[type_]}, is {JSON_WORDS.get(type(value), 'something else')}")
        return value

    def _wrong(self, field: str, problem: object) -> SnapshotError:
        return SnapshotError(sentence(self.where, f"{field}: {problem}"))

    def _check_version(self) -> None:
        version = self._value[MARK]
        if isinstance(version, int) and version > FORMAT:
            raise self._wrong(
                MARK, f"the recording has format {version}, this karptui reads up to {FORMAT}: install a newer one"
            )
        if version != FORMAT or isinstance(version, bool):
            raise self._wrong(MARK, f"must be {FORMAT}")

    def _captured_ns(self) -> int:
        text = self._field("capturedAt", str, "")
        try:
            return parse_now(text) if text else ABSENT_NS
        except ValueError as error:
            raise self._wrong("capturedAt", error) from None

    def _evidence(self, document: SnapshotDocument, catalogs: Catalogs) -> Evidence:
        version: str = self._field("karpenterVersion", str, "")
        settings = self._settings(version)
        evidence = Evidence(
            settings=settings,
            setting_origins=dict.fromkeys(settings.environment, _RECORDING),
            stated_version=version,
            controller=ControllerInfo(title=_RECORDING, version=version),
            instance_types=self._instance_types(document, catalogs),
            taken_at_ns=self.captured_ns,
        )
        try:
            return recorded_evidence(self._value, evidence)
        except ValueError as error:
            raise SnapshotError(sentence(self.where, error)) from None

    def _live_usage(self) -> LiveUsage:
        try:
            return recorded_usage(self._value)
        except ValueError as error:
            raise SnapshotError(sentence(self.where, error)) from None

    def _settings(self, version: str) -> Settings:
        values = self._field("settings", dict, {})
        environment = {}
        for name, value in values.items():
            if isinstance(value, dict | list) or value is None:
                raise self._wrong(f"settings.{name}", "must be text")
            environment[name] = str(value).lower() if isinstance(value, bool) else str(value)
        try:
            settings = parse_settings(environment, version)
        except SettingsError as error:
            raise self._wrong("settings", error) from None
        policies = self._field("repairPolicies", list, None)
        history = self._field("rebootHistory", dict, {})
        if policies is None and not history:
            return settings
        try:
            return msgspec.structs.replace(
                settings,
                repair_policies=None if policies is None else parse_policies(policies),
                reboot_history={name: tuple(parse_timestamp(at) for at in times) for name, times in history.items()},
            )
        except RepairPolicyError as error:
            raise self._wrong("repairPolicies", error) from None
        except (TypeError, ValueError) as error:
            raise self._wrong("rebootHistory", error) from None

    def _instance_types(self, document: SnapshotDocument, catalogs: Catalogs) -> tuple[InstanceType, ...] | None:
        if (types := self._field("instanceTypes", list, None)) is not None:
            return catalogs.of_value(types, self.where)
        catalog = self._field("catalog", str, "")
        if not catalog:
            return None
        try:
            return catalogs.of_file(catalog, document.folder)
        except SnapshotError as error:
            raise SnapshotError(sentence(self.where, error)) from None


class Snapshot(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A cluster at one instant, as files tell it."""

    name: str
    captured_at_ns: int
    """The *now* of everything that depends on time: nanoseconds since the epoch."""
    read_at_ns: int
    """When the objects were read: earlier than *now* if the user sets a later one."""
    evidence: Evidence = Evidence()
    """Settings, version, instance types, offerings and prices; instance types are shared between snapshots."""
    live_usage: LiveUsage = NO_LIVE_USAGE
    inventory: Inventory = Inventory()
    with_disruption: bool = False
    """``"disruption": true``: ``karptui simulate`` answers for disruption too."""
    unknown_kinds: Mapping[str, int] = {}
    """How many objects of each kind were passed over: ``ConfigMap``, ``Lease.coordination.k8s.io``."""
    problems: tuple[str, ...] = ()
    """A message for each unreadable object."""
    unread: Mapping[Kind, tuple[str, ...]] = {}
    """Problems with objects of a known kind."""
    notes: tuple[str, ...] = ()
    """Messages about assumptions."""
    manifests: Mapping[tuple[str, str], Mapping[str, Any] | msgspec.Raw] = {}
    """The objects as given, or their JSON, by kind and key; empty unless asked for."""
    history: Path | None = None
    """The history that the cluster is a moment of, if it comes from nothing else."""

    def objects(self) -> Iterator[Mapping[str, Any]]:
        """Return the objects as given, one at a time."""
        return (msgspec.json.decode(m) if isinstance(m, msgspec.Raw) else m for m in self.manifests.values())


class SnapshotReader:
    """Reads snapshots; lists of instance types that several of them share are read once."""

    def __init__(self, clock: Clock | None = None, karpenter_version: str = "") -> None:
        """Set up a reader.

        Args:
            clock: Current time for snapshots without one; the machine's by default.
            karpenter_version: The version whose rules apply, overriding the snapshot's; empty for the snapshot's.
        """
        self._catalogs = Catalogs()
        self._karpenter_version = karpenter_version
        self._clock = clock or SystemClock()

    def read(
        self,
        paths: Sequence[str | Path],
        *,
        now_ns: int | None = None,
        at: Callable[[int], int] | None = None,
        strict: bool = False,
        keeps_manifests: bool = False,
        stdin: BinaryIO | None = None,
    ) -> Snapshot:
        """Read one snapshot from files, directories and ``-``, merged.

        Args:
            paths: Recordings, output of ``kubectl get -o json|yaml``, manifests in JSON or YAML, plain or gzip; or a
                history. At most one of them is a recording or a history.
            now_ns: The current time, instead of the recording's or the newest timestamp.
            at: The instant of a history to read, given the last recorded one; by default that.
            strict: Reject an unreadable object, instead of skipping it with a message.
            keeps_manifests: Whether to keep the objects as given, too.

        Raises:
            SnapshotError: a message naming the file, and the object and field if there is one.
        """
        pile = ObjectPile(keeps_manifests=keeps_manifests)
        recorded, newest_ns = self._gather(pile, _documents(paths, stdin, at))
        if strict and pile.problems:
            raise SnapshotError(pile.problems[0])
        name = (recorded.name if recorded is not None else "") or _name_of(paths)
        read_ns = (recorded.captured_ns if recorded is not None else ABSENT_NS) or newest_ns
        captured_ns = now_ns or read_ns
        notes = []
        if not pile.object_count and recorded is None:
            notes.append(f"{name}: it holds no objects")
        if not captured_ns:
            captured_ns = self._clock.now_ns()
            notes.append(f"{name}: it has no time of capture; the current time is assumed (--now sets it)")
        if pile.repeated_count:
            notes.append(f"{name}: {pile.repeated_count} objects are repeated; the last version of each is used")
        snapshot = Snapshot(
            name=name,
            captured_at_ns=captured_ns,
            read_at_ns=read_ns or captured_ns,
            evidence=Evidence(controller=ControllerInfo(title=_RECORDING)),
            inventory=pile.inventory(_not_exported(pile), _incomplete(pile))
            if recorded is None
            else pile.inventory(recorded.unread),
            unknown_kinds=dict(pile.unknown_kinds),
            problems=tuple(pile.problems),
            unread={kind: tuple(sentences) for kind, sentences in pile.unread.items()},
            notes=tuple(notes),
            manifests=pile.manifests,
            history=Path(paths[0]) if len(paths) == 1 and is_history(Path(paths[0])) else None,
        )
        snapshot = _as_installed(snapshot, pile.controllers) if recorded is None else _as_recorded(snapshot, recorded)
        if not self._karpenter_version:
            return snapshot
        evidence = msgspec.structs.replace(snapshot.evidence, stated_version=self._karpenter_version)
        return msgspec.structs.replace(snapshot, evidence=with_rules(evidence))

    def _gather(self, pile: ObjectPile, snapshot_documents: Iterable[SnapshotDocument]) -> tuple[Recorded | None, int]:
        """Add the objects of documents, and return the recording among them and the newest instant of the others."""
        recorded: Recorded | None = None
        newest_ns = ABSENT_NS
        for _, of_one_path in groupby(snapshot_documents, key=lambda document: document.given):
            object_count, problem_count = pile.object_count, len(pile.problems)
            for document in of_one_path:
                if is_recording(document.value):
                    if recorded is not None:
                        raise SnapshotError(_second(document, recorded))
                    recorded = Recorded(document, self._catalogs)
                    recorded.add_objects(pile)
                    continue
                for manifest in manifests(document.value, decode=document.decode):
                    document.limit.check_step()
                    newest_ns = max(newest_ns, newest_timestamp_ns(manifest.value))
                    pile.add(manifest, document.where, has_defaults=bool(manifest.path))
                    if len(pile.problems) == problem_count + _MANY and pile.object_count == object_count:
                        break
            if pile.object_count == object_count and len(pile.problems) > problem_count:
                # Such as the words of a kubectl that failed: what else is given would pass for all there is.
                raise SnapshotError(pile.problems[problem_count])
        return recorded, newest_ns


def _documents(
    paths: Sequence[str | Path], stdin: BinaryIO | None, at: Callable[[int], int] | None
) -> Iterator[SnapshotDocument]:
    """Return the documents of files; of a history, the recording of an instant."""
    histories = [Path(path) for path in paths if str(path) != STDIN and is_history(Path(path))]
    if at is not None and not histories:
        raise SnapshotError("only a history has past moments, and none is given")
    for path in histories:
        yield _moment(path, at)
    yield from documents([path for path in paths if Path(path) not in histories], stdin=stdin, has_text_items=True)


def _moment(path: Path, at: Callable[[int], int] | None) -> SnapshotDocument:
    try:
        with closing(History(path)) as history:
            last_ns = history.end_ns()
            value = recording_at(history, at(last_ns) if at is not None else last_ns)
    except HistoryError as error:
        raise SnapshotError(str(error)) from None
    size = sum(memoryview(manifest).nbytes for manifest in value["objects"])
    return SnapshotDocument(value, str(path), path.parent, MemoryLimit(b"", str(path), size_bytes=size), str(path))


def _not_exported(pile: ObjectPile) -> tuple[Kind, ...]:
    """Return the kinds that output of kubectl lacks unless it has objects of them.

    Without nodes, no pod is bound, no NodeClaim registers, no NodePool has resources, and nothing writes events.
    Karpenter's nodes have NodePools and NodeClaims, pods of a DaemonSet a DaemonSet. Its chart installs Karpenter's
    pods with a PodDisruptionBudget, and controllers write events all the time.
    """
    if not pile.has(Kind.NODE):
        of_nodes = (Kind.NODE, Kind.NODEPOOL, Kind.NODECLAIM, Kind.POD)
        has_nodes = any(pod.node_name for pod in pile.pods) or any(claim.node_name for claim in pile.nodeclaims)
        has_nodes |= any(nano(pool.status_resources, CPU) for pool in pile.nodepools)
        is_of_events = pile.has(Kind.EVENT) and not any(map(pile.has, of_nodes))
        return (*VOLUME_KINDS, *(of_nodes if has_nodes or is_of_events else ()))
    is_karpenters = any(NODEPOOL in node.labels for node in pile.nodes)
    of_karpenter = (Kind.NODEPOOL, Kind.NODECLAIM) if is_karpenters else ()
    has_chart = any(pod.template.labels.get(NAME_LABEL) == NAME for pod in pile.pods)
    lacks_events = is_karpenters and not pile.has(Kind.EVENT)
    lacks_pdbs = is_karpenters and not pile.has(Kind.PDB) and (has_chart or lacks_events)
    lacking = (*([Kind.EVENT] if lacks_events else []), *([Kind.PDB] if lacks_pdbs else []))
    daemonsets = (Kind.DAEMONSET,) if any(pod.template.is_daemonset_owned for pod in pile.pods) else ()
    return (*VOLUME_KINDS, Kind.POD, *of_karpenter, *lacking, *daemonsets)


def _incomplete(pile: ObjectPile) -> tuple[Kind, ...]:
    """Return the kinds that output of kubectl has of one namespace only: pods, if it was made without ``-A``.

    Every node of a real cluster runs pods of kube-system, or of another system namespace, in addition to its workload.
    In a Fargate node, an EKS Auto Mode node and a simulated one none of them are pods.
    """
    namespaces = {pod.namespace for pod in pile.pods}
    is_real = all(pod.created_ns for pod in pile.pods)
    ordinary = (
        node
        for node in pile.nodes
        if not node.labels.get(COMPUTE_TYPE) and not node.provider_id.startswith(_SIMULATED)
        if node.is_ready
    )
    is_incomplete = is_real and len(namespaces) == 1 and OWN_NAMESPACE not in namespaces and any(ordinary)
    return (Kind.POD,) if is_incomplete else ()


def _second(document: SnapshotDocument, recorded: Recorded) -> str:
    return sentence(document.where, f"is a second recording, after {recorded.where}: open one at a time")


_NOT_READ: Final = (
    f"{{title}} is not in {OWN_NAMESPACE} or {USUAL_NAMESPACE}, so it does not count as Karpenter's:"
    " set Karpenter's version and settings with --karpenter-version and --karpenter-setting"
)
_BY_NAME: Final = (
    "{title} counts as Karpenter's only by its namespace: --karpenter-version and --karpenter-setting override it"
)


def _as_installed(snapshot: Snapshot, controllers: Sequence[Mapping[str, Any]]) -> Snapshot:
    """Return a kubectl snapshot with the version and settings of Karpenter's Deployment in it."""
    by_namespace = group_by(controllers, lambda controller: controller["metadata"].get("namespace", ""))
    items = by_namespace.get(OWN_NAMESPACE) or by_namespace.get(USUAL_NAMESPACE)
    if not items:
        named = sorted(decode_controller(document, "Deployment").title for document in controllers)
        notes = [_NOT_READ.format(title=title) for title in named]
        return msgspec.structs.replace(snapshot, notes=(*snapshot.notes, *notes))
    info = decode_controller(min(items, key=order_of), "Deployment")
    if OWN_NAMESPACE not in by_namespace:
        info = msgspec.structs.replace(info, doubt=_BY_NAME.format(title=info.title))
    try:
        settings, notes = parse_settings(info.settings, info.version), [*info.sentences]
    except SettingsError as error:
        settings, notes = parse_settings({}, info.version), [f"{info.title}: {error}: defaults are assumed"]
    notes = [f"{snapshot.name}: {note}" for note in notes]
    evidence = Evidence(
        settings=settings, setting_origins=dict.fromkeys(settings.environment, info.title), controller=info
    )
    return msgspec.structs.replace(snapshot, evidence=evidence, notes=(*snapshot.notes, *notes))


def _as_recorded(snapshot: Snapshot, recorded: Recorded) -> Snapshot:
    return msgspec.structs.replace(
        snapshot,
        evidence=recorded.evidence,
        live_usage=recorded.live_usage,
        with_disruption=recorded.with_disruption,
    )


def _name_of(paths: Sequence[str | Path]) -> str:
    if str(paths[0]) == STDIN:
        first = "standard input"
    else:
        first = Path(paths[0]).name or str(paths[0])
        suffix = next((suffix for suffix in reversed(SUFFIXES) if first.lower().endswith(suffix)), "")
        first = first[: len(first) - len(suffix)] or first
    return first if len(paths) == 1 else f"{first} +{len(paths) - 1}"
