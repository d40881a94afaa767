"""Documents into single API objects, and those, in any order, into an inventory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from karptui.decode.controller import is_labelled
from karptui.decode.errors import JSON_WORDS, DecodeError
from karptui.decode.kinds import CLUSTER_SCOPED, Kind, kind_of
from karptui.decode.reader import KindReader
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodepool import NodePool
from karptui.kube.objects import Node
from karptui.kube.pod import Pod
from karptui.sources.snapshot.text import sentence
from karptui.state.cluster import FIELDS

FORMAT: Final = 1
"""The version of the recording format that is written; higher ones are refused."""
MARK: Final = "karptui"
"""The field that tells a recording from API objects."""


class Manifest(msgspec.Struct, frozen=True):
    """One entry of a document, an object as a rule."""

    value: Any
    path: str
    """Its path in the document: ``items[3]``; empty for the document itself."""
    text: msgspec.Raw | None = None
    """The value as JSON, if the document has it as text."""


def is_recording(value: Any) -> bool:
    """Whether a document was written by ``karptui record``."""
    return isinstance(value, dict) and MARK in value


def manifests(
    value: Any,
    path: str = "",
    *,
    of: dict[str, Any] | None = None,
    decode: Callable[[msgspec.Raw], Any] = msgspec.json.decode,
) -> Iterator[Manifest]:
    """Return the objects of a document: one, a JSON list of them, or a List as kubectl prints it; Lists may nest."""
    text = None
    if isinstance(value, msgspec.Raw):
        text, value = value, decode(value)
    if of is not None and (typed := _typed(value, of)) is not value:
        text, value = None, typed
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from manifests(item, f"{path}[{index}]", decode=decode)
    elif _is_list(value):
        for index, item in enumerate(value.get("items") or ()):
            yield from manifests(item, f"{path}.items[{index}]".lstrip("."), of=value, decode=decode)
    else:
        yield Manifest(value, path, text)


def _is_list(value: Any) -> bool:
    kind = value.get("kind") if isinstance(value, dict) else None
    return isinstance(kind, str) and kind.endswith("List") and isinstance(value.get("items"), list | None)


def _typed(item: Any, of: dict[str, Any]) -> Any:
    """Return an item with apiVersion and kind, which servers leave out of the items of a typed list."""
    kind = of["kind"].removesuffix("List")
    if not isinstance(item, dict) or "kind" in item or not kind:
        return item
    return {"apiVersion": of.get("apiVersion"), "kind": kind, **item}


_MOST_QUOTED: Final = 120


class ObjectPile:
    """Collects objects; unreadable ones become messages, unknown ones are counted."""

    def __init__(self, *, keeps_manifests: bool = False) -> None:
        self.unknown_kinds: Counter[str] = Counter()
        self.problems: list[str] = []
        self.unread: dict[Kind, list[str]] = {}
        """Problems with objects of a known kind."""
        self.manifests: dict[tuple[str, str], Mapping[str, Any] | msgspec.Raw] = {}
        """The objects as given, or their JSON, by kind as the API writes it, and key; only if asked for."""
        self.controllers: list[Mapping[str, Any]] = []
        """Deployments that are labelled as Karpenter, as given."""
        self.object_count = 0
        """Objects that were given, whether they can be read, are known, or not."""
        self.repeated_count = 0
        """Objects that were given before; the last word counts."""
        self._keeps_manifests = keeps_manifests
        self._readers: dict[tuple[str, str], KindReader | None] = {}
        self._objects: dict[Kind, dict[str, Any]] = {}

    def add(self, manifest: Manifest, where: str, *, has_defaults: bool) -> None:
        """Add an object.

        Args:
            has_defaults: Whether the API server has filled in defaults, such as the namespace.
        """
        value = manifest.value
        if not isinstance(value, dict):
            self.problems.append(sentence(where, f"{manifest.path} {_no_object(value)}"))
            return
        api_version, api_kind = value.get("apiVersion"), value.get("kind")
        if not isinstance(api_version, str) or not isinstance(api_kind, str):
            self.problems.append(sentence(where, f"{manifest.path} {_mistaken(value)}"))
            return
        reader = self._reader(api_version, api_kind)
        if reader is None and api_kind.endswith("List") and "items" in value:
            type_name = JSON_WORDS[type(value["items"])]
            self.problems.append(sentence(where, f"{manifest.path} {api_kind}: items: must be a list, is {type_name}"))
            return
        self.object_count += 1
        if reader is None:
            self.unknown_kinds[_title(api_version, api_kind)] += 1
            return
        if not has_defaults and reader.kind not in CLUSTER_SCOPED:
            value = _with_namespace(value)
        if reader.kind is Kind.DEPLOYMENT and is_labelled(value):
            self.controllers.append(value)
        try:
            item = reader.convert(value)
        except DecodeError as error:
            text = sentence(where, error)
            self.problems.append(text)
            self.unread.setdefault(reader.kind, []).append(text)
        else:
            is_as_given = manifest.text is not None and value is manifest.value
            self._keep(reader.kind, item, api_kind, manifest.text if is_as_given else value)

    def has(self, kind: Kind) -> bool:
        """Return whether there are objects of a kind."""
        return kind in self._objects

    @property
    def nodes(self) -> Collection[Node]:
        """The nodes."""
        return self._objects.get(Kind.NODE, {}).values()

    @property
    def nodeclaims(self) -> Collection[NodeClaim]:
        """The NodeClaims."""
        return self._objects.get(Kind.NODECLAIM, {}).values()

    @property
    def nodepools(self) -> Collection[NodePool]:
        """The NodePools."""
        return self._objects.get(Kind.NODEPOOL, {}).values()

    @property
    def pods(self) -> Collection[Pod]:
        """The pods."""
        return self._objects.get(Kind.POD, {}).values()

    def inventory(self, missing: Iterable[str] = (), incomplete: Iterable[str] = ()) -> Inventory:
        """Return everything in the order of reading.

        Args:
            missing: Kinds that were unreadable or not requested, unless objects of them exist.
            incomplete: Kinds of which only some objects were requested.
        """
        unread = frozenset(missing) - {*self._objects, *self.unread} | frozenset(incomplete)
        fields = {field: tuple(self._objects.get(kind, {}).values()) for kind, field in FIELDS.items()}
        workloads = [item for kind, items in self._objects.items() if kind not in FIELDS for item in items.values()]
        return Inventory(**fields, workloads=tuple(workloads), unread=unread)

    def _reader(self, api_version: str, api_kind: str) -> KindReader | None:
        key = (api_version, api_kind)
        if key not in self._readers:
            kind = kind_of(api_version, api_kind)
            self._readers[key] = None if kind is None else KindReader(kind, api_version=api_version, api_kind=api_kind)
        return self._readers[key]

    def _keep(self, kind: Kind, item: Any, api_kind: str, manifest: Any) -> None:
        items = self._objects.setdefault(kind, {})
        if item.key in items:
            self.repeated_count += 1
        items[item.key] = item
        if self._keeps_manifests:
            self.manifests[api_kind, item.name if kind is Kind.NODECLASS else item.key] = manifest


def _mistaken(value: Mapping[str, Any]) -> str:
    """Return the reason why a value is no API object: another of karptui's files, or a field is missing."""
    if "edits" in value:
        return "is a scenario of edits, not an object: --scenario FILE of karptui simulate and sweep reads it"
    if "nodeClass" in value:
        return "is a case of an EC2NodeClass and settings, not an object: karptui types FILE reads it"
    return f"has no {'apiVersion' if isinstance(value.get('kind'), str) else 'kind'}: it is not a Kubernetes object"


def _no_object(value: Any) -> str:
    """Describe a value that is not a mapping; text is quoted, because it may be an error message of an earlier step."""
    if isinstance(value, str):
        return f"is text, not a Kubernetes object: {value[:_MOST_QUOTED]}{'…' if len(value) > _MOST_QUOTED else ''}"
    return f"is {JSON_WORDS[type(value)]}, not a Kubernetes object"


def _title(api_version: str, api_kind: str) -> str:
    """Return the name of an unknown kind: ``ConfigMap``, ``Lease.coordination.k8s.io``."""
    group = api_version.rpartition("/")[0]
    return f"{api_kind}.{group}" if group else api_kind


def _with_namespace(value: dict[str, Any]) -> dict[str, Any]:
    metadata = value.get("metadata")
    if not isinstance(metadata, dict) or metadata.get("namespace"):
        return value
    return {**value, "metadata": {**metadata, "namespace": "default"}}
