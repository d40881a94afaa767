"""Consequences of actions: their edits, a plan with a forecast, and the affected pods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from karptui.actions.action import ANNOTATIONS, Action, Document, Operation
from karptui.forward.result import Moment
from karptui.karpenter.do_not_disrupt import protection_of
from karptui.karpenter.pdb_limits import PdbLimits
from karptui.kube.pod import Pod
from karptui.provisioning.reporter import Reporter, silent
from karptui.studies.forecasts import drained, forecast_of, seconds_to_last
from karptui.studies.plan import Plan, plan
from karptui.whatif.edits import (
    AnyEdit,
    CopyPod,
    CordonNode,
    DeleteObject,
    ObjectRef,
    PutObject,
    RemoveNode,
    ScaleWorkload,
    SetField,
)
from karptui.whatif.situation import WhatIfBase


class AffectedPod(msgspec.Struct, frozen=True):
    """A pod that an action removes, and the blockers of its eviction."""

    key: str
    pdbs: tuple[str, ...] = ()
    """Names of its PodDisruptionBudgets."""
    is_blocked: bool = False
    """Whether these allow no eviction now."""
    is_protected: bool = False
    """Whether do-not-disrupt protects it now."""
    is_lost: bool = False
    """Whether nothing recreates it."""


class Expected(msgspec.Struct, frozen=True):
    """Consequences of actions."""

    plan: Plan
    pods: tuple[AffectedPod, ...] = ()
    """Pods that the actions remove, blocked ones first."""
    staying: int = 0
    """Pods on cordoned nodes, which stay there."""
    drains: tuple[tuple[str, int | None], ...] = ()
    """Nodes whose NodeClaim is deleted, and the seconds until they are drained; None if not within the forecast."""


def expected(
    base: WhatIfBase, actions: Sequence[tuple[Action, Document | None]], *, horizon_ns: int, reporter: Reporter = silent
) -> Expected:
    """Return the consequences of actions, each with its object after the server's dry run.

    Raises:
        EditError: an object is not in the cluster as karptui sees it.
    """
    edits = [edit for action, after in actions for edit in _edits(base, action, after)]
    planned = plan(base, edits, horizon_ns=horizon_ns, reporter=reporter)
    names = {_node_name(base, action) for action, _ in actions if action.operation is Operation.DELETE} - {""}
    evicted = {action.target.key for action, _ in actions if action.operation is Operation.EVICT}
    cordoned = {action.target.name for action, _ in actions if action.operation is Operation.CORDON}
    pods = [pod for pod in base.inventory.pods if pod.is_active]
    touched = [
        pod for pod in pods if pod.key in evicted or (pod.node_name in names and not pod.template.is_daemonset_owned)
    ]
    affected = sorted(_affected(base, touched), key=lambda pod: (not (pod.is_blocked or pod.is_protected), pod.key))
    staying = sum(pod.node_name in cordoned and not pod.template.is_daemonset_owned for pod in pods)
    gone = drained(planned.edited, names)
    drains = [(name, seconds_to_last({name: gone[name]}, base.now_ns) if name in gone else None) for name in names]
    return Expected(planned, tuple(affected), staying, tuple(sorted(drains, key=lambda drain: drain[0])))


def moment_of(base: WhatIfBase) -> Moment:
    """Return the nodes, cost and pending pods of a cluster as forecasts count them."""
    return forecast_of(base).play(horizon_ns=1).series[0]


def _affected(base: WhatIfBase, pods: Iterable[Pod]) -> Iterator[AffectedPod]:
    limits = PdbLimits(base.inventory.pdbs)
    for pod in pods:
        yield AffectedPod(
            pod.key,
            tuple(pdb.name for pdb in limits.matching(pod)),
            is_blocked=limits.block(pod) is not None,
            is_protected=protection_of(pod, base.now_ns).is_active,
            is_lost=not pod.template.owners,
        )


def _edits(base: WhatIfBase, action: Action, after: Document | None) -> Iterator[AnyEdit]:
    target = action.target
    ref = ObjectRef(target.kind, target.name, target.namespace)
    match action.operation:
        case Operation.CORDON:
            yield CordonNode(target.name)
        case Operation.UNCORDON:
            yield SetField(ref, ("spec", "unschedulable"))
        case Operation.DELETE:
            yield RemoveNode(_node_name(base, action) or target.name)
        case Operation.EVICT:
            pod = next((pod for pod in base.inventory.pods if pod.key == target.key), None)
            if pod is None or pod.template.owners:
                # Its owner makes another one in its place.
                yield CopyPod(ref, 1)
            yield DeleteObject(ref)
        case Operation.SCALE:
            yield ScaleWorkload(ref, action.replicas)
        case Operation.APPLY:
            yield PutObject(msgspec.json.encode(after or action.manifest).decode())
        case operation:
            removed = operation in (Operation.REMOVE_DO_NOT_DISRUPT, Operation.REMOVE_DO_NOT_REPAIR)
            yield SetField(
                ref, ("metadata", "annotations", ANNOTATIONS[operation]), None if removed else action.value
            )  # fmt: skip


def _node_name(base: WhatIfBase, action: Action) -> str:
    name = action.target.name
    return next((claim.node_name for claim in base.inventory.nodeclaims if claim.name == name), "")
