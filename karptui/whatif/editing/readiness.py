"""NodePools whose NodeClass comes or goes with an edit.

Rule: a NodePool is Ready once its NodeClass is there and Ready (pkg/controllers/nodepool/readiness/controller.go).
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from karptui.decode.kinds import Kind
from karptui.karpenter.nodepool import NodePool
from karptui.kube.objects import Condition
from karptui.whatif.editing.cluster_draft import ClusterDraft
from karptui.whatif.edits import ObjectRef

READY: Final = "Ready"


def ready(status: str, message: str = "") -> Condition:
    """Return a Ready condition."""
    return Condition(
        type=READY, status=status, reason=READY if status == "True" else "NodeClassNotReady", message=message
    )


def with_condition(conditions: tuple[Condition, ...], changed: Condition) -> tuple[Condition, ...]:
    """Return conditions with one of them set."""
    return (*(one for one in conditions if one.type != changed.type), changed)


def settle_pool(draft: ClusterDraft, pool: NodePool) -> NodePool:
    """Return a NodePool that is Ready as far as its NodeClass is; unchanged where no NodeClass of the kind is known."""
    ref = pool.node_class_ref
    nodeclass = draft.find(ObjectRef(ref.kind, ref.name)) if ref.kind.endswith("NodeClass") else None
    if nodeclass is not None:
        is_ready, why = nodeclass.is_ready, f"{ref.kind} {ref.name} is not ready"
    elif draft.touched(Kind.NODECLASS) or any(one.kind == ref.kind for one in draft.values(Kind.NODECLASS)):
        is_ready, why = False, f"there is no {ref.kind} {ref.name}"
    else:
        is_ready, why = True, ""
    if is_ready == pool.is_ready:
        return pool
    if not is_ready:
        draft.note(f"NodePool {pool.name} is not ready, so it takes no pods: {why}")
    condition = ready("True" if is_ready else "False", why if not is_ready else "")
    return replace(pool, conditions=with_condition(pool.conditions, condition))


def settle_pools_of(draft: ClusterDraft, kind: str, name: str) -> None:
    """Bring the NodePools of a NodeClass that came or went up to date."""
    for pool in list(draft.values(Kind.NODEPOOL)):
        if (pool.node_class_ref.kind, pool.node_class_ref.name) == (kind, name):
            settled = settle_pool(draft, pool)
            if settled is not pool:
                draft.put(Kind.NODEPOOL, settled)
