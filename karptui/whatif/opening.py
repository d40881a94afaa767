"""The initial documents and edits of a what-if for an object."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from karptui.decode.kinds import Kind
from karptui.disruption.owner import OwnerIndex
from karptui.karpenter.labels import NODEPOOL
from karptui.karpenter.nodepool import NodePool
from karptui.kube.pod import Pod
from karptui.kube.units import counted
from karptui.state.cluster import ClusterState
from karptui.state.inventory import WORKLOAD_KINDS
from karptui.whatif.edits import AnyEdit, ObjectRef, RemoveNode
from karptui.whatif.scenario import Replay


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
    found = [opening_for(state, *one) for one in objects]
    if len(found) == 1:
        return found[0]
    documents = dict.fromkeys(ref for one in found for ref in one.documents)
    edits = tuple(edit for one in found for edit in one.edits)
    kinds = {kind for kind, _ in objects}
    noun = "node" if kinds <= {Kind.NODE, Kind.NODECLAIM} else str(objects[0][0]) if len(kinds) == 1 else "object"
    name = f"{'without ' if edits else ''}{counted(len(objects), noun)}"
    replay = Replay.REMOVE if edits else Replay.PENDING
    return Opening(name, tuple(documents), edits, replay, is_new=any(one.is_new for one in found))


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
