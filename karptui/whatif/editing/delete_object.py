"""Objects taken away, with what goes or changes because of it."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from karptui.decode.kinds import Kind
from karptui.karpenter.labels import NODEPOOL
from karptui.kube.workload import DaemonSet, Workload
from karptui.whatif.editing.cluster_draft import ClusterDraft
from karptui.whatif.editing.readiness import settle_pools_of
from karptui.whatif.edits import ObjectRef


def delete_object(draft: ClusterDraft, ref: ObjectRef) -> None:
    """Take an object away.

    Raises:
        EditError: when it is not there.
    """
    item = draft.get(ref)
    kind = draft.kind(ref)
    match kind:
        case Kind.NODE | Kind.NODECLAIM:
            draft.removed.append(ref.name)
            return
        case Kind.NODEPOOL:
            _release_claims(draft, ref.name)
        case Kind.POD if item.owners:
            draft.note(
                f"Pod {ref.key}: its owner would make another one, which is left out; scale the workload instead"
            )
        case _ if isinstance(item, Workload | DaemonSet):
            _drop_workload(draft, ref, item)
    draft.drop(kind, item)
    if kind is Kind.NODECLASS:
        settle_pools_of(draft, ref.kind, ref.name)


def _release_claims(draft: ClusterDraft, pool_name: str) -> None:
    """Mark the NodeClaims of a NodePool: they are deleted with their owner."""
    claims = [one for one in draft.values(Kind.NODECLAIM) if one.labels.get(NODEPOOL) == pool_name]
    for claim in claims:
        if not claim.is_deleting:
            draft.put(Kind.NODECLAIM, replace(claim, deletion_ns=draft.now_ns))
    if claims:
        draft.note(f"NodePool {pool_name}: its {len(claims)} NodeClaims are deleted with it, and their nodes drain")


def _drop_workload(draft: ClusterDraft, ref: ObjectRef, item: Any) -> None:
    for pod in draft.pods_of(ref):
        draft.drop(Kind.POD, pod)
    if isinstance(item, Workload):
        owned = [one for one in draft.values(Kind.REPLICASET) if any(owner.uid == item.uid for owner in one.owners)]
        for one in owned if item.uid else ():
            draft.drop(Kind(one.kind), one)
