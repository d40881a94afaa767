"""Remedies for pods with do-not-disrupt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil
from typing import Any, Final

from msgspec.structs import replace

from karptui.disruption.analysis import NodeFindings
from karptui.disruption.codes import Blocker
from karptui.karpenter.labels import DO_NOT_DISRUPT, HOSTNAME, NODEPOOL
from karptui.karpenter.nodepool import NodePool
from karptui.kube.pod import Pod, PodTemplate
from karptui.kube.taints import Taint, Toleration
from karptui.kube.timestamps import ABSENT_NS, HOUR_NS, NS_PER_SECOND
from karptui.kube.units import span_text
from karptui.kube.workload import workload_labels
from karptui.kube.yaml_text import to_yaml
from karptui.whatif.edits import AnyEdit, CordonNode, ObjectRef, PutObject, SetField
from karptui.whatif.edits.document import taint_document, toleration_document
from karptui.whatif.remedies.blockers.remedy import BlockerRemedy, BlockerRemedyKind, ChangedObjects, effect_of, ref_of
from karptui.whatif.scenario import Replay

PROTECTED_TAINT: Final = Taint("example.com/protected", "NoSchedule", "true")
PROTECTED_TOLERATION: Final = Toleration("example.com/protected", "Equal", "true", "NoSchedule")
ROUND_HOURS: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 36, 48, 72, 96, 120, 168, 336, 720)
"""Durations that are offered, in hours."""
SPARE: Final = 1.25
"""Factor over the age of the longest protected job, which is still running."""
LOWER_BY: Final = 1_000
"""How much lower the priority is that is offered."""
WITHOUT_JOBS: Final = 4
"""Hours to offer if no protected pod ends automatically."""
_ANNOTATION: Final = ("metadata", "annotations", DO_NOT_DISRUPT)
_TEMPLATE: Final = ("spec", "template")
_SERVICES: Final = frozenset({"Deployment", "StatefulSet", "ReplicaSet", "DaemonSet", "ReplicationController"})
"""Owners whose pods run for ever, and whose template can be changed; that of a Job never can, its pods are changed as
if they had been made so."""


def protected_pod_remedies(
    blockers: Sequence[Blocker],
    objects: ChangedObjects,
    findings: Mapping[str, NodeFindings],
    now_ns: int,
    *,
    makes_edits: bool = True,
) -> Iterator[BlockerRemedy]:
    """Yield remedies for protected pods, gentlest for jobs first.

    Args:
        makes_edits: Whether to make edits; thousands of pods need many.
    """
    pods = objects.pods_of(blockers)
    edited = _edited_owners(blockers, objects) if makes_edits else {}
    jobs = [blocker for blocker in blockers if ends_by_itself(blocker, objects.pods)]
    leaving = [blocker for blocker in blockers if not is_outlived(blocker, objects.pods)]
    if leaving:
        yield BlockerRemedy(
            BlockerRemedyKind.OWN_POOL,
            "Only protected pods run on these nodes; all other nodes become removable.",
            _own_pool(blockers, objects, edited) if makes_edits else (),
            effect_of(leaving, findings, is_at_once=not jobs),
            Replay.SCRATCH,
            has_jobs=bool(jobs),
        )
    nodes = dict.fromkeys(job.node_name for job in jobs if job.node_name and not job.blocks_drain)
    if nodes:
        yield BlockerRemedy(
            BlockerRemedyKind.CORDON,
            "No new pods land on the node, so it is removed once the protected ones end. Undo with kubectl uncordon.",
            tuple(CordonNode(name) for name in nodes),
            effect_of(jobs, findings, is_at_once=False),
        )
    longest_ns = longest_job_ns(blockers, objects, now_ns)
    hours = hours_beyond(longest_ns)
    value = f"{hours}h"
    because = (
        f"The longest of these jobs has run for {span_text(longest_ns)}."
        if longest_ns
        else "None of these pods ends automatically."
    )
    if endless := [blocker for blocker in blockers if _value(blocker, objects) == "true"]:
        left = _left_seconds(endless, objects, now_ns, hours)
        yield BlockerRemedy(
            BlockerRemedyKind.DURATION,
            f"{because} {value} protects each pod for this long after its start; then the node is free. Units h, m, s;"
            ' "1d" has no effect.',
            tuple(_annotated(ref, value) for ref in edited),
            replace(effect_of(endless, findings, is_at_once=left <= 0), within_seconds=max(left, 0)),
            value=value,
            has_jobs=bool(jobs),
        )
    if pools := _without_fitting_grace(blockers, objects, hours, longest_ns):
        cuts = "cuts none of them" if jobs else "these pods with it"
        yield BlockerRemedy(
            BlockerRemedyKind.GRACE,
            f"{because} {value} ends the wait of nodes that drift, expire or are deleted, and {cuts}; consolidation "
            "never removes a node with a protected pod. It applies to new nodes, and changing it makes existing "
            "nodes drift.",
            tuple(
                SetField(ObjectRef("NodePool", name), (*_TEMPLATE, "spec", "terminationGracePeriod"), value)
                for name in pools
            ),
            value=value,
            has_jobs=bool(jobs),
        )
    if (rule := _spread(pods)) is not None:
        yield BlockerRemedy(
            BlockerRemedyKind.SPREAD,
            "New pods go to the nodes with the fewest of them, so that no node fills up with them again; more nodes "
            "may run one at the same time.",
            tuple(SetField(ref, _path(ref, "spec", "topologySpreadConstraints"), [rule]) for ref in edited),
            replay=Replay.SCRATCH,
        )
    yield preemption_remedy(pods)
    yield BlockerRemedy(
        BlockerRemedyKind.REMOVE_ANNOTATION,
        "These pods may then be evicted at any time, even halfway.",
        tuple(_annotated(ref, None) for ref in edited),
        effect_of(blockers, findings),
    )


def _value(blocker: Blocker, objects: ChangedObjects) -> str:
    pod = objects.pods.get(blocker.object_key)
    return blocker.value if pod is None else pod.annotations.get(DO_NOT_DISRUPT, "")


def _edited_owners(blockers: Sequence[Blocker], objects: ChangedObjects) -> dict[ObjectRef, PodTemplate]:
    """Return the objects to edit so that the pods change, with a pod's current template.

    These are the workloads with a template, or else each pod.
    """
    templates: dict[ObjectRef, PodTemplate] = {}
    for blocker in blockers:
        pod = objects.pods.get(blocker.object_key)
        if pod is None:
            continue
        kind = blocker.owner.partition("/")[0]
        is_made = kind in _SERVICES and blocker.owner in objects.workloads
        ref = ref_of(blocker.owner) if is_made else ObjectRef("Pod", pod.name, pod.namespace)
        templates.setdefault(ref, pod.template)
    return templates


def _path(ref: ObjectRef, *path: str) -> tuple[str | int, ...]:
    return path if ref.kind == "Pod" else (*_TEMPLATE, *path)


def _annotated(ref: ObjectRef, value: str | None) -> SetField:
    return SetField(ref, _path(ref, *_ANNOTATION), value)


# A separate NodePool


def _own_pool(
    blockers: Sequence[Blocker], objects: ChangedObjects, edited: Mapping[ObjectRef, PodTemplate]
) -> tuple[AnyEdit, ...]:
    """Return a tainted copy of their NodePool, and pods that require it; empty if the NodePool is unknown."""
    pool = next((objects.nodepools[b.pool_name] for b in blockers if b.pool_name in objects.nodepools), None)
    if pool is None or not pool.raw:
        return ()
    edits: list[AnyEdit] = [PutObject(to_yaml(tainted_copy(pool)))]
    for ref, template in edited.items():
        selector = {**template.node_selector, NODEPOOL: own_pool_name(pool.name)}
        tolerations = [*map(toleration_document, (*template.tolerations, PROTECTED_TOLERATION))]
        edits.append(SetField(ref, _path(ref, "spec", "nodeSelector"), selector))
        edits.append(SetField(ref, _path(ref, "spec", "tolerations"), tolerations))
    return tuple(edits)


def own_pool_name(pool_name: str) -> str:
    """Return the name of the NodePool for protected pods."""
    return f"{pool_name}-protected"


def tainted_copy(pool: NodePool) -> dict[str, Any]:
    """Return a NodePool as written with another name and a taint more."""
    spec = pool.raw.get("spec") or {}
    template = spec.get("template") or {}
    inner = template.get("spec") or {}
    inner = {**inner, "taints": [*(inner.get("taints") or ()), taint_document(PROTECTED_TAINT)]}
    return {
        "apiVersion": pool.raw.get("apiVersion", "karpenter.sh/v1"),
        "kind": "NodePool",
        "metadata": {"name": own_pool_name(pool.name)},
        "spec": {**spec, "template": {**template, "spec": inner}},
    }


# Clocks


def ends_by_itself(blocker: Blocker, pods: Mapping[str, Pod]) -> bool:
    """Return whether the pod of a blocker ends automatically, as a job's does and a service's does not."""
    return blocker.owner.partition("/")[0] not in _SERVICES and not is_outlived(blocker, pods)


def is_outlived(blocker: Blocker, pods: Mapping[str, Pod]) -> bool:
    """Return whether only a sidecar of the blocker's pod still runs: nothing ends it, and no rollout replaces it."""
    return blocker.object_key in pods and bool(pods[blocker.object_key].trouble.outliving)


def longest_job_ns(blockers: Iterable[Blocker], objects: ChangedObjects, now_ns: int) -> int:
    """Return the age of the oldest protected pod that ends automatically; 0 if there is none.

    Pods of services run for ever: their age is no guide to the duration of a protection.
    """
    jobs = objects.pods_of(blocker for blocker in blockers if ends_by_itself(blocker, objects.pods))
    return max([0, *(now_ns - pod.start_ns for pod in jobs if pod.start_ns != ABSENT_NS)])


def hours_beyond(longest_ns: int) -> int:
    """Return a round number of hours longer than the longest job so far."""
    if not longest_ns:
        return WITHOUT_JOBS
    least = longest_ns * SPARE / HOUR_NS
    return next((hours for hours in ROUND_HOURS if hours >= least), ceil(least))


def _left_seconds(blockers: Sequence[Blocker], objects: ChangedObjects, now_ns: int, hours: int) -> int:
    """Return the seconds until the last pod has run for a number of hours; 0 or less if all have."""
    starts = [pod.start_ns if pod.start_ns != ABSENT_NS else now_ns for pod in objects.pods_of(blockers)]
    return (max(starts) + hours * HOUR_NS - now_ns) // NS_PER_SECOND if starts else 0


def _without_fitting_grace(
    blockers: Sequence[Blocker], objects: ChangedObjects, hours: int, longest_ns: int
) -> tuple[str, ...]:
    """Return the NodePools whose terminationGracePeriod is missing, longer than need be, or would cut a job."""
    names = dict.fromkeys(blocker.pool_name for blocker in blockers)
    graces = {name: objects.nodepools[name].termination_grace_period_ns for name in names if name in objects.nodepools}
    return tuple(
        name
        for name, grace in graces.items()
        if grace is None or grace > hours * HOUR_NS or (longest_ns and grace < longest_ns)
    )


# Priority


def preemption_remedy(pods: Sequence[Pod]) -> BlockerRemedy:
    """Return a priority below that of pending pods, so that kube-scheduler may preempt them; it frees no node alone."""
    least = min((pod.template.priority or 0 for pod in pods), default=0)
    value = min(least, 0) - LOWER_BY
    return BlockerRemedy(
        BlockerRemedyKind.PRIORITY,
        f"kube-scheduler may then preempt them for pending pods of priority {value + 1:,} and more. Neither"
        " do-not-disrupt nor, as a last resort, a PodDisruptionBudget prevents that. It saves a new node,"
        " but frees none alone.",
        value=str(value),
        preempts=True,
    )


# Spread


def _spread(pods: Sequence[Pod]) -> dict[str, Any] | None:
    """Return a spread over nodes by the labels that all the pods share; None if they share none."""
    if not pods or any(pod.template.topology_spread for pod in pods):
        return None
    shared = dict(pods[0].template.labels)
    for pod in pods[1:]:
        shared = {key: value for key, value in shared.items() if pod.template.labels.get(key) == value}
    shared = workload_labels(shared)
    if not shared:
        return None
    return {
        "maxSkew": 1,
        "topologyKey": HOSTNAME,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": shared},
    }
