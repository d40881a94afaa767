"""Scenarios: edits with a replay mode; their file format, and what opens for an object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

import msgspec

from karptui.decode.errors import field_error
from karptui.decode.kinds import WORKLOAD_KINDS, Kind
from karptui.disruption.owner import OwnerIndex
from karptui.errors import RequestError
from karptui.karpenter.labels import NODEPOOL
from karptui.karpenter.nodepool import NodePool
from karptui.kube.objects import object_words
from karptui.kube.pod import Pod
from karptui.kube.units import counted
from karptui.kube.yaml_reader import YamlError, load_documents
from karptui.kube.yaml_text import to_yaml
from karptui.state.cluster import ClusterState
from karptui.whatif.edits import AnyEdit, ObjectRef, PutObject, RemoveNode, SetField
from karptui.whatif.field_path import PathError, parse_path, path_text

MOST_BYTES: Final = 16 << 20
"""Of a file of scenarios."""


class Replay(StrEnum):
    """The question to Karpenter's model, before and after the edits."""

    PENDING = "pending"
    """The provisioner's next decisions for pending pods."""
    SCRATCH = "scratch"
    """Where every workload pod would land if none had a node."""
    REMOVE = "remove"
    """What happens to the pods of the nodes that the scenario removes."""
    NEXT = "next"
    """Which disruption Karpenter would carry out next."""


class Scenario(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """Edits under a name."""

    name: str = "unnamed"
    replay: Replay = Replay.PENDING
    edits: tuple[AnyEdit, ...] = ()
    """Edits in order of application."""


def read_scenarios(text: str, where: str) -> tuple[Scenario, ...]:
    """Return the scenarios of a file.

    An object may be written ``Kind/name`` or ``Kind/namespace/name``, a path with dots, and a whole object as YAML of
    its own instead of text.

    Raises:
        RequestError: naming file, scenario and field.
    """
    try:
        documents = load_documents(text.encode())
    except YamlError as error:
        raise RequestError(f"{where}: is not YAML: {error}") from None
    if not documents:
        raise RequestError(f"{where}: holds no scenario")
    return tuple(_read(document, where, number, len(documents)) for number, document in enumerate(documents, 1))


def write_scenarios(scenarios: Iterable[Scenario]) -> str:
    """Return scenarios as a file; reading it gives the same scenarios, with typed objects as text."""
    return "---\n".join(to_yaml(scenario_document(scenario), width=120, has_blocks=True) for scenario in scenarios)


def _read(document: Any, where: str, number: int, count: int) -> Scenario:
    name = document.get("name") if isinstance(document, Mapping) else None
    named = f" ({name})" if isinstance(name, str) and name else ""
    place = f"{where}: scenario {number}{named}" if count > 1 else where
    if objects := object_words(document):
        place = f"{where}: document {number}" if count > 1 else where
        raise RequestError(f"{place}: is {objects}, not a scenario of edits: --snapshot FILE reads objects")
    if not isinstance(document, Mapping):
        raise RequestError(f"{place}: is not an object with name, replay and edits")
    try:
        return msgspec.convert(_spelled_out(document), Scenario)
    except msgspec.ValidationError as error:
        message = field_error(error, document)
        raise RequestError(f"{place}: {message}") from None
    except PathError as error:
        raise RequestError(f"{place}: {error}") from None


def _spelled_out(document: Mapping[str, Any]) -> dict[str, Any]:
    edits = document.get("edits")
    if not isinstance(edits, list):
        return dict(document)
    return {**document, "edits": [_edit(edit, f"edits[{index}]") for index, edit in enumerate(edits)]}


def _edit(edit: Any, place: str) -> Any:
    if not isinstance(edit, Mapping):
        return edit
    document = dict(edit)
    reference = document.get("object")
    if isinstance(reference, str):
        document["object"] = _reference(reference)
    if isinstance(document.get("path"), str):
        try:
            document["path"] = list(parse_path(document["path"]))
        except PathError as error:
            raise PathError(f"{place}.path: {error}") from None
    if isinstance(document.get("text"), Mapping):
        document["text"] = to_yaml(document["text"])
    if document.get("edit") == "setting" and isinstance(document.get("value"), bool | int | float):
        value = document["value"]
        document["value"] = str(value).lower() if isinstance(value, bool) else str(value)
    return document


def _reference(text: str) -> dict[str, str]:
    kind, _, rest = text.partition("/")
    namespace, _, name = rest.rpartition("/")
    return {"kind": kind, "name": name, **({"namespace": namespace} if namespace else {})}


def scenario_document(scenario: Scenario) -> dict[str, Any]:
    """Return a scenario as a file has it, before it is written."""
    document: dict[str, Any] = {"name": scenario.name, "replay": str(scenario.replay), "edits": []}
    for edit in scenario.edits:
        builtins: dict[str, Any] = msgspec.to_builtins(edit)
        if "object" in builtins:
            builtins["object"] = "/".join(filter(None, (builtins["object"]["kind"], edit.object.key)))  # type: ignore[union-attr]
        if isinstance(edit, SetField):
            builtins["path"] = path_text(edit.path)
            builtins["value"] = edit.value
        if isinstance(edit, PutObject):
            builtins["text"] = edit.text
        document["edits"].append(builtins)
    return document


class Opening(msgspec.Struct, frozen=True):
    """Documents to open and edits to begin with."""

    name: str = "unnamed"
    documents: tuple[ObjectRef, ...] = ()
    edits: tuple[AnyEdit, ...] = ()
    """`SetField` of an object that can be a document becomes text."""
    replay: Replay = Replay.PENDING
    is_new: bool = False
    """Whether to begin a new scenario instead of changing the current one."""
    later: str = ""
    """When the edits take effect, as text, if not now."""


NOTHING = Opening()
_WORKLOADS = frozenset(str(kind) for kind in (*WORKLOAD_KINDS, Kind.DAEMONSET))
_MADE_BY_OTHERS = frozenset({"ReplicaSet", "Node"})


def opening_for(state: ClusterState, kind: str, key: str) -> Opening:
    """Return the opening for an object: its own document, or the documents that decide about it.

    Args:
        kind: Kind as in the API.
        key: ``namespace/name``, or the name alone.
    """
    match kind:
        case Kind.NODEPOOL:
            return Opening(key, _pool_refs(state, key))
        case Kind.NODE | Kind.NODECLAIM:
            return _node_opening(state, kind, key)
        case Kind.POD:
            return _pod_opening(state, key)
        case _:
            return Opening(key, (ref_of(kind, key),))


def opening_for_all(state: ClusterState, objects: Sequence[tuple[str, str]]) -> Opening:
    """Return the opening for several objects: all their documents, and all nodes removed.

    Args:
        objects: Kind and key of each.
    """
    openings = [opening_for(state, kind, key) for kind, key in objects]
    if len(openings) == 1:
        return openings[0]
    documents = dict.fromkeys(ref for opening in openings for ref in opening.documents)
    edits = tuple(edit for opening in openings for edit in opening.edits)
    kinds = {kind for kind, _ in objects}
    noun = "node" if kinds <= {Kind.NODE, Kind.NODECLAIM} else str(objects[0][0]) if len(kinds) == 1 else "object"
    name = f"{'without ' if edits else ''}{counted(len(objects), noun)}"
    replay = Replay.REMOVE if edits else Replay.PENDING
    return Opening(name, tuple(documents), edits, replay, is_new=any(opening.is_new for opening in openings))


def ref_of(kind: str, key: str) -> ObjectRef:
    """Return a reference from kind and ``namespace/name``."""
    namespace, _, name = key.rpartition("/")
    return ObjectRef(kind, name, namespace)


def _pool_refs(state: ClusterState, name: str) -> tuple[ObjectRef, ...]:
    pool: NodePool | None = state.nodepools.get(name)
    refs = [ObjectRef(str(Kind.NODEPOOL), name)]
    if pool is not None and pool.node_class_ref.name:
        refs.append(ObjectRef(pool.node_class_ref.kind, pool.node_class_ref.name))
    return tuple(refs)


def _node_opening(state: ClusterState, kind: str, key: str) -> Opening:
    name, pool = key, ""
    if kind == Kind.NODECLAIM:
        claim = state.nodeclaims.get(key)
        name = state.links.node_of_claim.get(key, key)
        pool = claim.labels.get(NODEPOOL, "") if claim is not None else ""
    node = state.nodes.get(name)
    pool = (node.labels.get(NODEPOOL, "") if node is not None else "") or pool
    refs = _pool_refs(state, pool) if pool else ()
    return Opening(f"without {name}", refs, (RemoveNode(name),), Replay.REMOVE)


def _pod_opening(state: ClusterState, key: str) -> Opening:
    pod: Pod | None = state.pods.get(key)
    owner = None
    if pod is not None:
        owner = OwnerIndex(item for kind in WORKLOAD_KINDS for item in state.of(kind).values()).of(pod)
    is_new = pod is not None and not pod.node_name
    if owner is None or owner.kind in _MADE_BY_OTHERS or owner.kind not in _WORKLOADS:
        return Opening(key, (ref_of(str(Kind.POD), key),), is_new=is_new)
    ref = ObjectRef(owner.kind, owner.name, owner.namespace)
    return Opening(ref.key, (ref,), is_new=is_new)
