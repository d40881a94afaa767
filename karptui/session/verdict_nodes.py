"""The nodes that the rules of the verdict read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from karptui.disruption.codes import CODES, WhyCode
from karptui.disruption.owner import OriginIndex, OwnerIndex
from karptui.disruption.termination import deadline_of
from karptui.karpenter.do_not_disrupt import OFF, value_of
from karptui.karpenter.labels import (
    DO_NOT_DISRUPT,
    DO_NOT_EVICT,
    HOSTNAME,
    INITIALIZED,
    SAFE_TO_EVICT,
    TERMINATION_FINALIZER,
    is_disrupted,
)
from karptui.karpenter.pdb_limits import PdbLimits
from karptui.karpenter.pod_predicates import is_stuck_terminating, tolerates_disrupted
from karptui.kube import resources
from karptui.kube.objects import Node, controller_of
from karptui.kube.pod import DO_NOT_SCHEDULE, Pod, lost_pods
from karptui.kube.taints import untolerated
from karptui.kube.timestamps import MINUTE_NS, NS_PER_SECOND
from karptui.pending.nominations import selects
from karptui.provisioning.pod_class import RESPECT
from karptui.session.costs import held_per_hour, share_saved
from karptui.session.nodes import NodeEntry
from karptui.verdict.case import VerdictNode
from karptui.verdict.finding import PREFERENCES, Apart
from karptui.verdict.joining import REGISTRATION_TTL_NS
from karptui.verdict.nodes import NOTICE_NS
from karptui.verdict.upcoming import is_leaving

if TYPE_CHECKING:
    from karptui.session.cluster_view import ClusterView

_LIGHT: Final = 4
"""Pods request less than this part of a nearly empty node: a quarter."""
_REMOVED_NS: Final = 3 * MINUTE_NS
"""A node group removes instances without a word; their nodes are gone within this time."""
_PROTECTING: Final = (WhyCode.DND, WhyCode.PDB)


def node_line(view: ClusterView, entry: NodeEntry, limits: PdbLimits, now_ns: int) -> VerdictNode:
    """Return what the rules read of a node."""
    findings, node = entry.findings, entry.node
    would_save = None
    if findings is not None and findings.outlook is not None and findings.outlook.now.goes:
        would_save = share_saved(entry, findings.outlook.now)
    ready = node.ready if node is not None else None
    is_joined = node is not None and not entry.is_deleting and _has_joined(entry, now_ns)
    is_down = is_joined and (ready is None or ready.status != "True")
    if not entry.is_managed and (ready is None or now_ns - ready.last_transition_ns < _REMOVED_NS):
        is_down = False
    line = VerdictNode(
        name=entry.name,
        pool=entry.pool,
        claim=entry.claim,
        has_node=node is not None,
        findings=findings,
        per_hour=entry.price.per_hour if entry.price is not None else None,
        held=held_per_hour(entry) if findings is not None and findings.is_held else None,
        would_save=would_save,
        not_ready_ns=(ready.last_transition_ns if ready is not None else 0) if is_down else None,
        deleted_ns=min(
            (item.deletion_ns for item in (node, entry.claim) if item is not None and item.is_deleting), default=None
        ),
        zone=entry.zone,
        capacity_type=entry.capacity_type,
        instance_type=entry.instance_type,
        node=node,
        stuck_pods=tuple(sorted(_stuck_pods(view, entry, now_ns))) if is_down else (),
        protected_pods=tuple(_protected_pods(entry)),
        is_cordoned=node is not None and node.is_unschedulable,
        closed_pdbs=tuple(dict.fromkeys(_closed_pdbs(view, node, limits))) if node is not None else (),
        is_disrupted=node is not None and is_disrupted(node.taints),
        pods=entry.usage.workload_pods if entry.usage is not None else 0,
        apart=kept_apart(view, entry),
    )
    if node is None or not entry.is_managed or not is_leaving(line, now_ns):
        return line
    pods = sorted(view.state.pods_on(node.name).values(), key=attrgetter("key"))
    unread = {pod.key: mark for pod in pods if pod.is_active and (mark := _unread_annotation(pod))}
    return replace(
        line,
        lost_pods=lost_pods(pods),
        cut_pods=tuple(pod.key for pod in pods if _is_cut_short(line, pod)),
        slow_pods=tuple(pod.key for pod in pods if _is_slow(pod)),
        unread_pods=tuple(unread),
        unread_annotation=next(iter(unread.values()), ""),
    )


def _closed_pdbs(view: ClusterView, node: Node, limits: PdbLimits) -> Iterator[str]:
    """Yield the PodDisruptionBudgets that allow no eviction of the pods of a cordoned or draining node now."""
    is_draining = node.is_deleting and TERMINATION_FINALIZER in node.finalizers
    for pod in view.state.pods_on(node.name).values() if is_draining or node.is_unschedulable else ():
        stays = pod.template.is_daemonset_owned or (is_draining and tolerates_disrupted(pod.template))
        block = limits.block(pod) if pod.is_active and not stays else None
        yield from (pdb.key for pdb in block.pdbs) if block is not None else ()


def _unread_annotation(pod: Pod) -> str:
    """Return the annotation by which a pod asks for protection, if Karpenter does not read it."""
    annotations = pod.template.annotations
    if pod.template.is_daemonset_owned:
        return ""
    value = value_of(annotations)
    if value is not None:
        return f'{DO_NOT_DISRUPT}: "{value.text}"' if value.problem and value.text not in OFF else ""
    if annotations.get(SAFE_TO_EVICT) == "false":
        return SAFE_TO_EVICT
    return DO_NOT_EVICT if DO_NOT_EVICT in annotations else ""


def _is_slow(pod: Pod) -> bool:
    """Return whether a terminating pod may take longer than EC2's interruption notice."""
    if not pod.is_terminating or pod.is_terminal or pod.template.is_daemonset_owned:
        return False
    return pod.template.termination_grace_seconds * NS_PER_SECOND > NOTICE_NS


def _is_cut_short(line: VerdictNode, pod: Pod) -> bool:
    """Return whether the node's drain ends before the pod's grace period."""
    claim = line.claim
    deadline = deadline_of(claim) if claim is not None and claim.is_deleting else None
    if claim is None or deadline is None or pod.is_terminal or pod.template.is_daemonset_owned:
        return False
    return pod.template.termination_grace_seconds * NS_PER_SECOND > deadline.at_ns - claim.deletion_ns


def kept_apart(view: ClusterView, entry: NodeEntry) -> tuple[str, Apart] | None:
    """Return the only workload on a nearly empty node, and its rule that requires separate nodes.

    A rule is no reason if other nodes have room that Karpenter does not use yet. The minValues of its NodePool keep a
    node whatever its pods are.
    """
    if entry.findings is not None and entry.findings.why.code is WhyCode.MIN_VALUES:
        return "", Apart.MIN_VALUES
    is_kept = entry.findings is not None and entry.findings.why.code is WhyCode.PRICE
    if entry.node is None or entry.usage is None or not is_kept:
        return None
    workload, room = entry.usage.workload, entry.node.allocatable
    for name in (resources.CPU, resources.MEMORY):
        if _LIGHT * resources.nano(workload, name) >= resources.nano(room, name):
            return None
    pods = [pod for pod in view.state.pods_on(entry.name).values() if not pod.template.is_daemonset_owned]
    origins = OriginIndex(OwnerIndex(()))
    owners = {origins.of(pod) for pod in pods}
    rules = {_apart_rule(pod) for pod in pods if pod.is_active}
    rule = rules.pop() if len(rules) == len(owners) == 1 else None
    if rule is None or (rule in PREFERENCES and view.evidence.settings.preference_policy != RESPECT):
        return None
    rests = any(_takes_later(view, other, pods) for other in view.node_entries if other.pool == entry.pool)
    return owners.pop().partition("/")[2], Apart.RESTING if rests else rule


def _takes_later(view: ClusterView, entry: NodeEntry, pods: Sequence[Pod]) -> bool:
    """Return whether a node has room for pods, none of their controller's, and waits for consolidateAfter."""
    node, findings = entry.node, entry.findings
    if node is None or entry.usage is None or findings is None or findings.why.code is not WhyCode.AFTER:
        return False
    controllers = {controller_of(pod.owners) for pod in pods}
    needed = resources.add(entry.usage.requests, *(pod.requests for pod in pods))
    return (
        not any(controller_of(pod.owners) in controllers for pod in view.state.pods_on(node.name).values())
        and all(amount.nano <= resources.nano(node.allocatable, name) for name, amount in needed.items())
        and not any(untolerated(node.taints, pod.template.tolerations) for pod in pods)
        and all(selects(pod, node) for pod in pods)
    )


def _apart_rule(pod: Pod) -> Apart | None:
    """Return the rule that separates a pod from others of its workload; None if other rules may matter."""
    template = pod.template
    required = {term.topology_key: Apart.ANTI_AFFINITY for term in template.pod_anti_affinity}
    soft = {weighted.term.topology_key: Apart.PREFERRED for weighted in template.preferred_pod_anti_affinity}
    for constraint in template.topology_spread:
        if constraint.when_unsatisfiable == DO_NOT_SCHEDULE:
            required[constraint.topology_key] = Apart.SPREAD
        else:
            soft.setdefault(constraint.topology_key, Apart.PREFERRED_SPREAD)
    if pod.volumes or required.keys() - {HOSTNAME}:
        return None
    return required.get(HOSTNAME, soft.get(HOSTNAME))


def _stuck_pods(view: ClusterView, entry: NodeEntry, now_ns: int) -> Iterator[str]:
    """Yield the pods of a node that should have ended by now."""
    for key, pod in view.state.pods_on(entry.name).items():
        if is_stuck_terminating(pod, now_ns):
            yield key


def _protected_pods(entry: NodeEntry) -> Iterator[str]:
    """Yield the pods of a node that do-not-disrupt or a PodDisruptionBudget protects."""
    blockers = entry.findings.blockers if entry.findings is not None else ()
    protected = (b.object_key for b in blockers if b.object_kind == "Pod" and CODES[b.code].why in _PROTECTING)
    yield from dict.fromkeys(protected)


def _has_joined(entry: NodeEntry, now_ns: int) -> bool:
    """Return whether a node was initialized: by its NodeClaim, else by its label or age."""
    if entry.claim is not None:
        return entry.claim.is_true("Initialized")
    node = entry.node
    return node is not None and (
        node.labels.get(INITIALIZED) == "true" or now_ns - node.created_ns > REGISTRATION_TTL_NS
    )
