"""Findings about nodes and pods that are replaced too often, or that are not removed."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from typing import Final

from karptui.disruption.churn.life import TERMINATING, Removal, command_reason, why_by_events
from karptui.disruption.churn.loops import FEWEST, Loop, LoopKind
from karptui.disruption.termination import INTERRUPTIONS
from karptui.karpenter.nodeclaim import TERMINATION_HANDLER, is_foreign, pool_in_name
from karptui.kube.group import group_by
from karptui.kube.objects import Event, condition_of
from karptui.kube.timestamps import HOUR_NS, MINUTE_NS, NS_PER_SECOND
from karptui.verdict.case import VerdictCase
from karptui.verdict.finding import ClusterFinding, FindingCode, FindingSeverity, Manner
from karptui.verdict.joining import ended_early
from karptui.verdict.pending_pods import key_of, object_of

FEWEST_INTERRUPTED: Final = 5
"""From this many interruptions of a NodePool within an hour on, they may be repeated."""
WAVE_NS: Final = 15 * MINUTE_NS
"""Interruptions within this time are one wave."""
JOB_FAILURES: Final = frozenset({"BackoffLimitExceeded", "DeadlineExceeded"})
SHORT_PAUSE_NS: Final = MINUTE_NS
"""A consolidateAfter this short is shorter than the launch of a node, and belongs to a loop's cause."""
_SCALED: Final = re.compile(r"Scaled (up|down) replica set (\S+)(?: to (\d+))?(?: from (\d+))?(?: to (\d+))?")
"""Both orders of the two numbers: Kubernetes changed it."""
SCALED: Final = "ScalingReplicaSet"
"""Reason of events about Deployments whose ReplicaSets are scaled."""
_RESIZED: Final = re.compile(r"New size: (\d+);")
FEWEST_SWINGS: Final = 3
"""Fewest scalings up and down within an hour that count as oscillation."""
FEWEST_ROLLOUTS: Final = 12
"""Neither users nor their pipelines roll out a Deployment this often within an hour."""
_NO_TARGET: Final = ("FailedGetScale", "FailedRescale", "AmbiguousSelector")
"""Reasons of events if a HorizontalPodAutoscaler cannot read or scale its target, or several scale the same."""
_METRICS: Final = ("Resource", "ContainerResource", "External", "Object", "Pods")
_NOT_SCALED: Final = (*_NO_TARGET, *(f"FailedGet{kind}Metric" for kind in _METRICS))
"""All event reasons of a failing HorizontalPodAutoscaler, including unreadable metrics."""
_UNREAD: Final = re.compile(r"^.*metrics API: | \(get [^()]+\)$", re.DOTALL)
"""Text around the error in their messages, such as the name of the metric."""
_SAVING: Final = (Removal.EMPTY, Removal.UNDERUTILIZED)
"""Removal reasons of empty and underutilized nodes."""


def churn_findings(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield findings about churn of nodes and pods."""
    yield from _loops(case)
    yield from _repeated_interruptions(case)
    yield from _short_expirations(case)
    yield from _oscillating_workloads(case)
    yield from _rebalanced(case)
    yield from _without_metrics(case)


def _loops(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield loops of NodePools, with the workload that is evicted most; another workload if it runs in none of them."""
    loops = case.advice.loops if case.advice is not None else ()
    loops = tuple(loop for loop in loops if case.now_ns - loop.last_ns <= HOUR_NS)
    moved = sorted((loop for loop in loops if loop.kind is LoopKind.MOVED), key=lambda loop: -loop.times)
    by_pool: dict[str, Loop] = {}
    for loop in loops:
        if loop.kind in (LoopKind.SHORT_LIVED, LoopKind.SAME_TYPE) and loop.pool:
            before = by_pool.get(loop.pool)
            by_pool[loop.pool] = loop if before is None or loop.times > before.times else before
    elsewhere = [loop for loop in moved if not any(_runs_in(case, loop.workload, pool) for pool in by_pool)]
    if elsewhere:
        by_pool[""] = elsewhere[0]
    pauses = {pool.name: pool.consolidate_after_ns for pool in case.pools}
    for pool, loop in by_pool.items():
        objects = (f"NodePool/{pool}", *(f"NodeClaim/{name}" for name in loop.claims)) if pool else ()
        reasons = tuple(str(reason) for reason, _ in loop.reasons if pool and reason is not Removal.UNKNOWN)
        of_pool = [item for item in moved if _runs_in(case, item.workload, pool)] if pool else elsewhere
        evicted = [(item.workload, item.times) for item in of_pool]
        evicted = evicted or _evicted(case, reasons, pool)
        pause_ns = pauses.get(pool) if {*_SAVING}.issuperset(reason for reason, _ in loop.reasons) else None
        taint = _undeclared_taint(case, pool) if Removal.EMPTY in reasons else ""
        pause_ns = pause_ns if (pause_ns or 0) <= SHORT_PAUSE_NS and not taint else None
        yield ClusterFinding(
            severity=FindingSeverity.WARNING,
            code=FindingCode.CHURN,
            since_ns=loop.first_ns or None,
            objects=(*objects, *(workload for workload, _ in evicted)),
            names=(pool, *(workload.partition("/")[2] for workload, _ in evicted[:1])),
            nodes=loop.times if pool else 0,
            pods=evicted[0][1] if evicted else 0,
            reasons=(*reasons, *(_drift_reasons(case, pool) if Removal.DRIFTED in reasons else ())) or loop.moved_for,
            detail=_job_failure(loop.workload, case) if pause_ns is None else str(pause_ns // NS_PER_SECOND),
            words=taint,
            screen="churn",
        )


def _undeclared_taint(case: VerdictCase, pool: str) -> str:
    """Return a taint that a NodePool's new node got and its startupTaints lack; empty without one.

    Karpenter does not expect pods on such a node: it launches another one for them, which stays empty.
    """
    new = [line for line in case.nodes if line.pool == pool and line.claim and not line.claim.is_true("Initialized")]
    taints = ((taint, line.claim) for line in new if line.node is not None for taint in line.node.taints)
    return next((taint.key for taint, claim in taints if is_foreign(taint, claim)), "")


def _drift_reasons(case: VerdictCase, pool: str) -> tuple[str, ...]:
    """Return the drift reason of a NodePool's new nodes; empty if they are not drifted."""
    new = [line.claim for line in case.nodes if line.pool == pool and line.claim is not None]
    new = [claim for claim in new if case.now_ns - claim.created_ns <= HOUR_NS]
    drifted = (condition_of(claim.conditions, "Drifted") for claim in new if claim.is_true("Drifted"))
    return tuple(sorted({drift.reason for drift in drifted if drift is not None and drift.reason}))


def _runs_in(case: VerdictCase, workload: str, pool: str) -> bool:
    """Return whether pods of a workload run in a NodePool."""
    return pool in case.pools_of.get(workload, ())


def _evicted(case: VerdictCase, reasons: Collection[str], pool: str) -> list[tuple[str, int]]:
    """Return the workload whose pods Karpenter evicted most often for these reasons, with the number; empty if few."""
    moved = case.advice.moved if case.advice is not None else ()
    evictions = (item for item in moved if set(reasons) & {*item.reasons})
    most = next((item for item in evictions if not pool or _runs_in(case, item.workload, pool)), None)
    return [(most.workload, most.moves)] if most is not None and most.moves >= FEWEST else []


def _job_failure(workload: str, case: VerdictCase) -> str:
    """Return the failure reason of a Job (by namespace and name) in the last hour; empty if it did not fail."""
    failures = case.recent(*JOB_FAILURES, kind="Job")
    keys = {key_of(event): event.reason for event in failures}
    return keys.get(workload.partition("/")[2], "")


def _repeated_interruptions(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield NodePools whose nodes are interrupted again and again: more in an hour than it has at a time."""
    early = ended_early(case)
    there, names = {line.claim.name: line.pool for line in case.nodes if line.claim}, {pool.name for pool in case.pools}
    sizes = Counter(line.pool for line in case.nodes if not line.goes)
    instants: dict[str, dict[str, int]] = {}
    for event in case.recent(*INTERRUPTIONS, kind="NodeClaim"):
        name = event.involved_name
        if name not in early:
            instants.setdefault(there.get(name) or pool_in_name(name, names), {})[name] = event.last_ns
    for pool, claims in instants.items():
        first_ns, last_ns = min(claims.values()), max(claims.values())
        is_wave = len(claims) < max(FEWEST_INTERRUPTED, 2 * sizes[pool]) or last_ns - first_ns < WAVE_NS
        if pool and not is_wave:
            yield ClusterFinding(
                severity=FindingSeverity.WARNING,
                code=FindingCode.CHURN,
                since_ns=first_ns,
                objects=(f"NodePool/{pool}", *(f"NodeClaim/{name}" for name in claims)),
                names=(pool,),
                nodes=len(claims),
                of_nodes=sizes[pool],
                reasons=(str(Removal.INTERRUPTED),),
                manner=Manner.INTERRUPTED,
                screen="churn",
            )


def _short_expirations(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield NodePools with an expireAfter of minutes whose nodes all went within an hour for no other reason."""
    there, names = {line.claim.name for line in case.nodes if line.claim}, {pool.name for pool in case.pools}
    pools = {p.name: p.expire_after_ns for p in case.pools if p.expire_after_ns and p.expire_after_ns < HOUR_NS}
    gone: defaultdict[str, dict[str, int]] = defaultdict(dict)
    others = set[str]()
    for event in case.events if pools else ():
        name = event.involved_name
        if event.involved_kind == "NodeClaim" and name not in there and case.now_ns - event.last_ns <= HOUR_NS:
            gone[pool_in_name(name, names)][name] = event.last_ns
            others |= {name} if why_by_events((event,)) is not Removal.UNKNOWN else set()
    for pool, expire_after_ns in pools.items():
        expired = {name: last_ns for name, last_ns in gone[pool].items() if name not in others}
        if len(expired) >= max(FEWEST, sum(line.pool == pool for line in case.nodes)):
            yield ClusterFinding(
                severity=FindingSeverity.WARNING,
                code=FindingCode.CHURN,
                since_ns=min(expired.values()),
                objects=(f"NodePool/{pool}", *(f"NodeClaim/{name}" for name in expired)),
                names=(pool,),
                nodes=len(expired),
                detail=str(expire_after_ns // NS_PER_SECOND),
                manner=Manner.EXPIRED,
                screen="churn",
            )


def _oscillating_workloads(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield workloads that are scaled up and down, or rolled out, while Karpenter removes nodes that they leave."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    replicas: defaultdict[str, set[int]] = defaultdict(set)
    events: defaultdict[str, list[Event]] = defaultdict(list)
    revisions: defaultdict[str, dict[str, Event]] = defaultdict(dict)
    for event in case.recent(SCALED):
        match = _SCALED.match(event.message)
        if match is None:
            continue
        key = f"{event.involved_namespace}/{match[2]}"
        counts[key][match[1]] += event.count
        replicas[key].update(int(number) for number in match.groups()[2:] if number)
        events[key].append(event)
        if match[1] == "up":
            revisions[key_of(event)][match[2]] = event
    _count_rescales(case, counts, replicas, events)
    often = {key: events_of for key, events_of in revisions.items() if len(events_of) >= FEWEST_ROLLOUTS}
    for key, events_of in often.items():
        counts[key], replicas[key] = Counter(up=len(events_of), down=len(events_of)), set()
        events[key] = [*events_of.values()]
    names = {pool.name for pool in case.pools}
    for key, times in counts.items():
        first_ns = min(event.first_ns for event in events[key])
        event = events[key][0]
        own = {"", *(case.pools_of.get(object_of(event)) or names)}
        removed = [name for name in _removed_since(case, first_ns) if pool_in_name(name, names) in own]
        if min(times["up"], times["down"]) < FEWEST_SWINGS or len(removed) < FEWEST_SWINGS:
            continue
        yield ClusterFinding(
            severity=FindingSeverity.WARNING,
            code=FindingCode.CHURN,
            since_ns=first_ns or None,
            objects=(
                object_of(event),
                *(f"NodeClaim/{name}" for name in removed),
            ),
            names=("", f"{event.involved_kind} {key_of(event)}"),
            nodes=len(removed),
            pods=min(times.values()),
            reasons=tuple(str(number) for number in (min(replicas[key]), max(replicas[key]))) if replicas[key] else (),
            detail="rollouts" if key in often else "",
            manner=Manner.SCALED,
            screen="events",
        )


def _count_rescales(
    case: VerdictCase,
    counts: defaultdict[str, Counter[str]],
    replicas: defaultdict[str, set[int]],
    events: defaultdict[str, list[Event]],
) -> None:
    """Add HorizontalPodAutoscalers that return to the same sizes, in namespaces whose Deployments do not swing.

    Their events name the new size only, and StatefulSets publish none about their scaling.
    """
    swinging = {key.partition("/")[0] for key, times in counts.items() if min(times["up"], times["down"])}
    sizes: defaultdict[str, dict[int, Event]] = defaultdict(dict)
    for event in case.recent("SuccessfulRescale"):
        match = _RESIZED.match(event.message)
        if match is not None and event.count >= FEWEST_SWINGS and event.involved_namespace not in swinging:
            sizes[key_of(event)][int(match[1])] = event
    for key, by_size in sizes.items():
        if len(by_size) > 1:
            low, high = min(by_size), max(by_size)
            counts[key] = Counter(up=by_size[high].count, down=by_size[low].count)
            replicas[key], events[key] = {low, high}, [*by_size.values()]


def _rebalanced(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield a finding if the AWS Node Termination Handler drains nodes on rebalance recommendations."""
    recommended = {event.involved_name for event in case.recent("RebalanceRecommendation")}
    drains = {event.involved_name: event for event in case.recent("CordonAndDrain")}
    drained = [e for name, e in drains.items() if name in recommended and e.source == TERMINATION_HANDLER]
    first_ns = min((event.first_ns for event in drained), default=0)
    removed = _removed_since(case, first_ns, (Removal.EMPTY,))
    if len(drained) < FEWEST_SWINGS or 2 * len(removed) < len(drained):
        return
    names = {pool.name for pool in case.pools}
    yield ClusterFinding(
        severity=FindingSeverity.WARNING,
        code=FindingCode.CHURN,
        since_ns=first_ns or None,
        objects=(*(f"Node/{event.involved_name}" for event in drained), *(f"NodeClaim/{name}" for name in removed)),
        names=("",),
        nodes=len(removed),
        of_nodes=len(drained),
        pools=tuple(sorted({pool_in_name(name, names) for name in removed} - {""})),
        manner=Manner.REBALANCED,
        screen="events",
    )


def _without_metrics(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield HorizontalPodAutoscalers that have long been unable to read metrics, or the workload that they scale."""
    failures = case.recent(*_NOT_SCALED, kind="HorizontalPodAutoscaler", within_ns=WAVE_NS)
    rescaled = {key_of(event): event.last_ns for event in case.recent("SuccessfulRescale", within_ns=WAVE_NS)}
    failures = [event for event in failures if event.last_ns > rescaled.get(key_of(event), 0)]
    late = {key_of(event): event for event in failures if event.last_ns - event.first_ns >= WAVE_NS}
    for message, events in group_by(late.values(), lambda event: _UNREAD.sub("", event.message)).items():
        names = tuple(map(key_of, events))
        yield ClusterFinding(
            severity=FindingSeverity.WARNING,
            code=FindingCode.NOT_SCALED,
            since_ns=min(event.first_ns for event in events),
            objects=tuple(f"HorizontalPodAutoscaler/{name}" for name in names),
            names=names,
            words=message,
            manner=Manner.MISSING if events[0].reason in _NO_TARGET else Manner.PLAIN,
            screen="events",
        )


def _removed_since(case: VerdictCase, first_ns: int, reasons: Collection[Removal] = _SAVING) -> tuple[str, ...]:
    """Return the NodeClaims that Karpenter has removed as empty, or underutilized, since a time."""
    return tuple(
        dict.fromkeys(
            event.involved_name
            for event in case.recent(TERMINATING, kind="NodeClaim", within_ns=case.now_ns - first_ns)
            if command_reason(event.message) in reasons
        )
    )
