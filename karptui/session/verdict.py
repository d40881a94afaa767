"""The input of the verdict, taken from a view of the cluster."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from karptui.decode.kinds import Kind
from karptui.disruption.budgets import REPAIR_GATE
from karptui.disruption.owner import OriginIndex
from karptui.disruption.repair import policies_of
from karptui.karpenter.pdb_limits import PdbLimits
from karptui.kube.timestamps import MINUTE_NS
from karptui.kube.units import age_text, counted
from karptui.provisioning.reporter import Pause, no_pause, with_pauses
from karptui.provisioning.volumes import unread_of_volumes
from karptui.session.controller import controller_of_view
from karptui.session.nodeclasses import alias_of, assumed_of, lacks_nodeclasses
from karptui.session.readiness import OPTIONAL, is_on_the_way, left_out
from karptui.session.refusals import launch_refusals_of
from karptui.session.status import is_file, plural, seen_ns
from karptui.session.status_events import events_of_jobs, events_of_pods, events_of_workloads, unobserved
from karptui.session.verdict_nodes import node_line
from karptui.session.verdict_pending import limit_lines, pending_lines
from karptui.session.verdict_pods import (
    add_restarted,
    creation_times,
    idle_workloads,
    is_outdated,
    outlived_pods,
    pods_by_finding,
    replicas_of,
    running_on,
    used_up_addresses,
)
from karptui.session.webhooks import EVICTIONS, REGISTRATIONS, dead_webhook
from karptui.state.cluster import inventory_of
from karptui.verdict.case import Unobserved, VerdictCase
from karptui.verdict.churn import SCALED
from karptui.verdict.controller import EVICTORS
from karptui.verdict.creation import FAILED_CREATE
from karptui.verdict.finding import ClusterFinding, FindingSeverity
from karptui.verdict.pending_pods import key_of, object_of
from karptui.verdict.verdict import verdict_of

if TYPE_CHECKING:
    from karptui.session.cluster_view import ClusterView

OLD_NS: Final = 10 * MINUTE_NS
"""A cluster with older data is not reported as healthy."""
_NEEDED: Final = (Kind.NODE, Kind.NODECLAIM, Kind.NODEPOOL, Kind.POD, Kind.PDB, Kind.DAEMONSET, Kind.NODECLASS)
"""Kinds that a complete verdict needs."""
_USED: Final = (Kind.EVENT, Kind.LEASE, Kind.DEPLOYMENT, Kind.REPLICASET, Kind.STATEFULSET)
"""Kinds that some findings need."""


def verdict_of_view(view: ClusterView, now_ns: int, pause: Pause = no_pause) -> tuple[ClusterFinding, ...]:
    """Return the findings about a cluster, worst first; the same in whatever order its objects were read."""
    metrics = view.evidence.metrics
    has_counters = metrics is not None and metrics.is_leader and metrics.started_at_ns > 0
    events = [*view.state.events.values(), *events_of_workloads(view, now_ns), *events_of_jobs(view, now_ns, pause)]
    refused = {object_of(event) for event in events if event.reason == FAILED_CREATE}
    created = creation_times(view, refused, pause)
    pods = pods_by_finding(view, pause)
    events += events_of_pods(view, pods.failed, pause)
    add_restarted(pods, now_ns)
    for failing in (pods.starting, pods.crashing):
        failing[:] = [replace(pod, is_outdated=is_outdated(view, pod)) for pod in failing]
    limits = PdbLimits(view.state.pdbs.values())
    entries = sorted(view.node_entries, key=attrgetter("name"))
    unread = tuple(_unread_volumes(view)) if view.state.unread else ()
    from_file = is_file(view.statuses)
    hidden = [kind for kind in _NEEDED if kind in view.hidden and not _is_assumed(view, kind)]
    if from_file and Kind.POD in view.state.unread and Kind.POD not in hidden:
        hidden.append(Kind.POD)
    return verdict_of(
        VerdictCase(
            now_ns=now_ns,
            nodes=[node_line(view, entry, limits, now_ns) for entry in with_pauses(entries, pause, 100)],
            analysis=view.analysis,
            pending=tuple(pending_lines(view, now_ns)),
            controller=controller_of_view(view, pods.karpenter, now_ns),
            events=sorted(events, key=attrgetter("last_ns", "key")),
            nodeclasses=view.state.nodeclasses,
            daemonsets=view.state.daemonsets.values(),
            overlays=view.state.of(Kind.NODEOVERLAY).values(),
            starting=pods.starting,
            crashing=pods.crashing,
            relapsing=pods.relapsing,
            gated=pods.gated,
            unready=pods.unready,
            unended=pods.unended,
            resizing=pods.resizing,
            outlived=tuple(outlived_pods(view, pods.outlived)),
            idle=idle_workloads(view, pods, pause) if Kind.POD not in hidden else (),
            pools_of=_pools_of_moved(view, pause),
            running_on=running_on(view, pods, pause),
            replicas=dict(replicas_of(view, created, refused)) if Kind.POD not in hidden else {},
            newest_pods={owner: max(created) for owner, created in created.items()},
            unobserved=unobserved(view, now_ns, pause) if from_file else Unobserved(),
            repair_policies=policies_of(tuple(view.state.nodepools.values()), view.evidence.settings),
            repairs=_repairs(view),
            refusals=launch_refusals_of(view.state),
            addresses=used_up_addresses(view, pods.starting),
            advice=view.advice,
            unchecked=(*_unchecked(view, now_ns), *map(plural, unread)),
            pools=tuple(view.state.nodepools.values()),
            limits=tuple(limit_lines(view, pause)),
            pdbs=view.state.pdbs,
            eviction_webhook=dead_webhook(view, *EVICTIONS) or (),
            node_webhook=dead_webhook(view, *REGISTRATIONS) or (),
            hidden=tuple(_hidden_text(view, kind) for kind in hidden),
            ignored={
                plural(kind): _severity(kind, is_list=from_file and Kind.EVENT in view.hidden)
                for kind in hidden
                if kind in OPTIONAL
            },
            assumed={node_class.name: alias_of(node_class) for node_class in assumed_of(view)},
            unread=unread,
            sees_nodes=Kind.NODE not in view.hidden,
            sees_claims=Kind.NODECLAIM not in view.hidden,
            sees_pods=Kind.POD not in hidden,
            sees_pools=Kind.NODEPOOL not in view.hidden,
            is_file=from_file,
            has_prices=not view.evidence.price_settings.is_disabled,
            timeouts=metrics.consolidation_timeouts.get("single", 0) if metrics is not None and has_counters else 0,
            started_ns=metrics.started_at_ns if metrics is not None and has_counters else None,
        ),
        pause,
    )


def _repairs(view: ClusterView) -> bool | None:
    """Return whether Karpenter repairs unhealthy nodes; None if its feature gates are not known."""
    settings = view.evidence.settings
    return None if view.evidence.is_assumed("FEATURE_GATES", settings) else settings.gate(REPAIR_GATE)


def _severity(kind: Kind, *, is_list: bool) -> FindingSeverity:
    # Without DaemonSets, new nodes only seem to have a little more room. Lists of kubectl may lack PodDisruptionBudgets
    # because there are none.
    is_minor = kind is Kind.DAEMONSET or (is_list and kind is Kind.PDB)
    return FindingSeverity.INFO if is_minor else FindingSeverity.WARNING


def _unread_volumes(view: ClusterView) -> Iterator[str]:
    """Yield the unread kinds that pods' volumes need, excluding those still loading."""
    for kind in unread_of_volumes(inventory_of(view.state)):
        if not is_on_the_way(view, Kind(kind)):
            yield kind


def is_guess(view: ClusterView) -> bool:
    """Whether answers about pods assume objects of a kind, or none, because it was not read."""
    return bool(left_out(view) or assumed_of(view) or unread_of_volumes(inventory_of(view.state)))


def _is_assumed(view: ClusterView, kind: Kind) -> bool:
    return kind is Kind.NODECLASS and not lacks_nodeclasses(view)


def _hidden_text(view: ClusterView, kind: Kind) -> str:
    """Return the plural of a kind that was not read; of a list of one namespace's pods, with that namespace."""
    is_list = kind is Kind.POD and view.statuses[kind].is_left_out
    first = next(iter(view.state.pods.values()), None) if is_list else None
    return f"{plural(kind)} outside namespace {first.namespace}" if first is not None else plural(kind)


def _pools_of_moved(view: ClusterView, pause: Pause) -> dict[str, set[str]]:
    """Return the NodePools in which pods of moved or scaled workloads run, if NodePools are in a loop.

    Pods that other controllers evict have the key ``namespace/name`` of their set.
    """
    report = view.advice
    if report is None or not report.loops:
        return {}
    evictions = [event for event in view.state.events.values() if any(name in event.source for name in EVICTORS)]
    evicted = [key_of(event).rpartition("-")[0] for event in evictions]
    scaled = [object_of(event) for event in view.state.events.values() if event.reason == SCALED]
    pools = {name: set[str]() for name in (*evicted, *scaled, *(item.workload for item in report.moved))}
    pool_of, origins = {entry.name: entry.pool for entry in view.node_entries}, OriginIndex(view.owners)
    for pod in with_pauses([*view.state.pods.values()] if pools else (), pause):
        if pod.node_name in pool_of and pod.is_active:
            for name in pools.keys() & {origins.of(pod), pod.key.rpartition("-")[0]}:
                pools[name].add(pool_of[pod.node_name])
    return pools


def _unchecked(view: ClusterView, now_ns: int) -> Iterator[str]:
    """Yield the analyses that are not complete, and the kinds that are missing."""
    if view.pending is None and view.state.pending_pods:
        yield "pending pods"
    if view.advice is None:
        yield "the rules of Advice"
    elif view.advice.failures:
        yield counted(len(view.advice.failures), "rule of Advice", "rules of Advice")
    if view.analysis is None:
        yield "blockers"
    yield from (plural(kind) for kind in _USED if kind in view.hidden)
    if assumed_of(view):
        yield plural(Kind.NODECLASS)
    read_ns = min(seen_ns(view.statuses.get(kind), now_ns) for kind in _NEEDED)
    if now_ns - read_ns > OLD_NS:
        yield f"changes of the last {age_text(read_ns, now_ns)}"
