"""From a view of the cluster to the instance types of its NodePools; worked out anew only when something counts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Generic, TypeVar

from karptui.aws.cluster_types import ClusterTypes, cluster_types
from karptui.aws.evidence import Evidence, markets_of
from karptui.aws.ledger import safe_overhead_percent
from karptui.aws.lint.finding import Finding
from karptui.aws.lint.pool_types import reserved_more_than_node, too_few_pod_slots, unknown_operators, wildcard_values
from karptui.aws.lint.user_data import user_data_settings
from karptui.aws.live import live_instance_types
from karptui.aws.nodeclass import KIND, Ec2NodeClass, NodeClassError, is_ec2, parse_nodeclass
from karptui.aws.observed import ObservedType, observed_types
from karptui.decode.kinds import Kind
from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.nodeclass import nodeclass_key
from karptui.karpenter.nodepool import NodePool
from karptui.kube import resources
from karptui.kube.pod import Pod
from karptui.provisioning.pool_types import may_go_to, pool_types
from karptui.provisioning.type_verdict import PoolTypes
from karptui.session.cluster_view import ClusterView
from karptui.session.seen_types import seen_types
from karptui.session.types import PoolContext, PoolEntry, TypeEntry
from karptui.state.inventory import inventory_of

T = TypeVar("T")


class _Last(Generic[T]):
    """Remembers the last answer as long as its inputs are the same objects, or equal tuples."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inputs: tuple[Any, ...] = ()
        self._answer: T | None = None

    def get(self, inputs: tuple[Any, ...], make: Callable[[], T]) -> T:
        with self._lock:
            answer = self._answer
            same = answer is not None and all(a is b for a, b in zip(inputs, self._inputs, strict=True))
            if answer is None or not same:
                self._inputs, self._answer = inputs, make()
                return self._answer
            return answer


_RESOLVED: Final[_Last[ClusterTypes]] = _Last()
_POOLS: Final[_Last[tuple[PoolEntry, ...]]] = _Last()


def pool_entries(view: ClusterView) -> tuple[PoolEntry, ...]:
    """Return the types of every NodePool; the same object as long as nothing that counts has changed.

    Takes a tenth of a second the first time, so it belongs in a thread. Of pods, only those that wait are watched for
    changes: what DaemonSets ask follows their templates or, as in Karpenter, their newest live pod.
    """
    state, evidence = view.state, view.evidence
    resolved = _RESOLVED.get(
        (state.nodeclasses, state.nodes, state.nodeclaims, evidence, state.of(Kind.NODEOVERLAY)),
        lambda: _resolve(view),
    )
    overlays = state.of(Kind.NODEOVERLAY)
    return _POOLS.get(
        (resolved, state.nodepools, state.daemonsets, state.pending_pods, state.nodes, overlays, view.prices),
        lambda: _entries(view, resolved),
    )


def notes_of(view: ClusterView) -> tuple[str, ...]:
    """Return what was assumed about instance types, in sentences; call it after ``pool_entries``."""
    return _RESOLVED.get(
        (
            view.state.nodeclasses,
            view.state.nodes,
            view.state.nodeclaims,
            view.evidence,
            view.state.of(Kind.NODEOVERLAY),
        ),
        lambda: _resolve(view),
    ).notes


def _resolve(view: ClusterView) -> ClusterTypes:
    evidence = view.evidence
    if evidence.instance_types is not None:
        return ClusterTypes(by_nodeclass={}, problems={}, notes=())
    return cluster_types(
        inventory_of(view.state),
        evidence.settings,
        market_of=markets_of(evidence, has_overlays=bool(view.state.of(Kind.NODEOVERLAY))),
        facts=live_instance_types(evidence.facts).values(),
    )


def _entries(view: ClusterView, resolved: ClusterTypes) -> tuple[PoolEntry, ...]:
    inventory, evidence = inventory_of(view.state), view.evidence
    seen = seen_types(inventory.nodes)
    offered: dict[str, tuple[InstanceType, ...]] = {}
    for pool in inventory.nodepools:
        found = resolved.of(pool.node_class_ref)
        if evidence.instance_types is not None:
            offered[pool.name] = evidence.instance_types
        elif is_ec2(pool.node_class_ref):
            offered[pool.name] = found.types if found is not None else ()
        else:
            offered[pool.name] = seen
    found_pools = pool_types(inventory, offered, evidence.settings)
    observed = observed_types(inventory.nodes)
    pending = [pod for pod in view.state.pending_pods.values() if pod.is_active]
    return tuple(_entry(view, one, resolved, observed, pending) for one in found_pools)


def _entry(
    view: ClusterView,
    found: PoolTypes,
    resolved: ClusterTypes,
    observed: Mapping[str, ObservedType],
    pending: Iterable[Pod],
) -> PoolEntry:
    evidence, pool = view.evidence, found.pool
    nodeclass_types = resolved.of(pool.node_class_ref)
    nodeclass = nodeclass_types.nodeclass if nodeclass_types is not None else _nodeclass(view, pool)
    context = PoolContext(
        pool_name=pool.name,
        requirements=found.requirements,
        settings=evidence.settings,
        book=view.prices,
        nodeclass=nodeclass,
        nodeclass_types=nodeclass_types,
        facts=live_instance_types(evidence.facts) if nodeclass is not None else {},
        observed=observed,
        origin=_origin(pool, evidence),
    )
    types = tuple(TypeEntry(context, verdict) for verdict in found.verdicts)
    wanted = [one for one in types if one.is_wanted]
    reported = [
        (one.facts, resources.memory_bytes({"memory": spread.smallest}))
        for one in wanted
        if one.facts is not None and one.observed is not None and (spread := one.observed.capacity.get("memory"))
    ]
    return PoolEntry(
        found=found,
        context=context,
        problem=_problem(pool, resolved, evidence, has_types=bool(types)),
        types=types,
        findings=_findings(found, nodeclass),
        pods=_waiting(found, pending),
        safe_overhead_percent=safe_overhead_percent(reported),
    )


def _nodeclass(view: ClusterView, pool: NodePool) -> Ec2NodeClass | None:
    """Return the NodeClass of a pool whose types came with a snapshot."""
    known = view.state.nodeclasses.get(nodeclass_key(pool.node_class_ref.kind, pool.node_class_ref.name))
    if known is None or not is_ec2(known):
        return None
    try:
        return parse_nodeclass(known)
    except NodeClassError:
        return None


def _origin(pool: NodePool, evidence: Evidence) -> str:
    if evidence.instance_types is not None:
        return "recorded with the snapshot"
    ref = pool.node_class_ref
    if not is_ec2(pool.node_class_ref):
        return "what nodes report: the provider's list is not known"
    has_facts = evidence.facts.instance_types is not None
    return f"{KIND} {ref.name}, {'EC2' if has_facts else 'built-in catalogue'}"


def _problem(pool: NodePool, resolved: ClusterTypes, evidence: Evidence, *, has_types: bool) -> str:
    ref = pool.node_class_ref
    if has_types:
        return ""
    if evidence.instance_types is None and not is_ec2(pool.node_class_ref):
        return f"{ref.kind} {ref.name}: its types are not known, and no node tells"
    return resolved.problems.get(ref.name) or f"{ref.kind} {ref.name} is not there"


def _waiting(found: PoolTypes, pending: Iterable[Pod]) -> tuple[Pod, ...]:
    """Return one pod of each kind that asks for something, the largest first."""
    by_template: dict[int, Pod] = {}
    for pod in sorted(pending, key=lambda one: (one.namespace, one.name)):
        if id(pod.template) not in by_template and may_go_to(pod, found.pool, found.requirements):
            by_template[id(pod.template)] = pod
    return tuple(sorted(by_template.values(), key=lambda pod: -resources.memory_bytes(pod.template.requests)))


def _findings(found: PoolTypes, nodeclass: Ec2NodeClass | None) -> tuple[Finding, ...]:
    pool = found.pool
    written = (f"NodePool {pool.name}", "spec.template.spec.requirements", pool.requirements)
    findings = [*unknown_operators(*written), *wildcard_values(*written)]
    looked_at = [one for one in found.verdicts if one.removed_by not in ("requirements", "offerings", "reserved")]
    daemon_pods = {one.instance_type.name: one.daemon_pods for one in looked_at}
    findings += too_few_pod_slots(pool.name, [one.instance_type for one in looked_at], daemon_pods)
    if nodeclass is not None:
        findings += user_data_settings(nodeclass)
        allowed = [one.instance_type for one in found.verdicts if one.removed_by != "requirements"]
        findings += reserved_more_than_node(nodeclass.name, allowed)
    return tuple(findings)
