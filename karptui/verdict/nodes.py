"""Findings about nodes: zones that are down, nodes that are not ready, short of something, interrupted or cordoned."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from msgspec.structs import replace

from karptui.disruption.churn.life import TERMINATING
from karptui.disruption.churn.moves import EVICTED, KUBELET, is_eviction
from karptui.disruption.codes import Code, WhyCode
from karptui.disruption.termination import BY_INTERRUPTION, INSTANCE_ENDS, INSTANCE_EVENTS, INTERRUPTIONS
from karptui.karpenter.labels import DISRUPTED_TAINT, SPOT
from karptui.karpenter.nodeclaim import is_foreign, pool_in_name
from karptui.kube.group import group_by
from karptui.kube.objects import Event, Node, condition_of
from karptui.kube.quantity import NANO
from karptui.kube.resources import nano
from karptui.kube.timestamps import HOUR_NS, MINUTE_NS, NS_PER_SECOND
from karptui.verdict.blocked import is_repair, lacks_some, own_blockers, sum_of, why_not_ready
from karptui.verdict.case import PendingLine, VerdictCase, VerdictNode
from karptui.verdict.controller import is_running
from karptui.verdict.crashing import SYSTEM_OOM
from karptui.verdict.finding import ClusterFinding, FindingCode, FindingSeverity, Manner, Shared, began
from karptui.verdict.joining import ended_early
from karptui.verdict.late_pods import PROPERTIES, only_zone
from karptui.verdict.pending_pods import PendingPods, folded_by_namespace, pods_of

SICK_NS: Final = 10 * MINUTE_NS
"""A node that is not ready for this long is an error."""
INTERRUPTED_NS: Final = 15 * MINUTE_NS
"""Interruptions this recent count: instances are gone two minutes after a spot notice."""
NOTICE_NS: Final = 120 * NS_PER_SECOND
"""EC2 takes an interrupted spot instance back this long after its notice."""
WAVE_SHARE: Final = 0.2
"""From this share of a capacity type on, interruptions are an error."""
FEWEST_OF_A_ZONE: Final = 2
FEWEST_OF_ALL: Final = 3
_BEFORE_NS: Final = MINUTE_NS
NODE_NOT_READY: Final = "NodeNotReady"
"""Reason of the events about nodes that stop being ready, by the kubelet and the node controller."""
_VICTIM: Final = re.compile(r"victim process: ([^\s,]+)")
REBOOTED: Final = "Rebooted"
"""Reason of the kubelet's events about nodes with a new boot ID."""
FEWEST_FLAPS: Final = 3
"""A node may reboot, or be not ready, once for an update; from this many times within an hour on it is ill."""
_RECURRING: Final = {
    Manner.REBOOTING: REBOOTED,
    Manner.FLAPPING: NODE_NOT_READY,
    Manner.OUT_OF_MEMORY: SYSTEM_OOM,
}
FEWEST_VANISHED: Final = 3
_DRAINING: Final = frozenset({"FailedDraining", TERMINATING, "NodeNotSchedulable", "CordonAndDrain", "ScaleDown"})
"""Reasons of events about nodes that Karpenter, a user, a termination handler or an autoscaler drains."""
FLAPPED_NS: Final = 30 * MINUTE_NS
"""A node that has been ready for longer is well again."""
OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"
CORDONED_NS: Final = HOUR_NS
"""A drain by hand, or the update of a node group, takes less than this."""
MOST_MINORS_BEHIND: Final = 3
"""A kubelet may be this many minor versions older than the API server, and not newer than it."""
_KUBELET: Final = re.compile(r"v1\.(\d+)\.(?!.*-(?:vk|kubeedge)-)")
"""Excludes Virtual Kubelet and KubeEdge, whose versions do not follow Kubernetes."""
ZONAL_SHIFT: Final = "ZonalShiftActive"
"""Reason of the AWS provider's event about a NodePool."""
_ZONE_NAME: Final = re.compile(r"zone ([a-z0-9-]+)")
_INODES: Final = "inodes"
_PRESSURES: Final[Mapping[str, Sequence[str]]] = {
    "DiskPressure": ("ephemeral-storage", _INODES),
    "MemoryPressure": ("memory",),
    "PIDPressure": ("pids",),
    "NetworkUnavailable": (),
}
"""Conditions of nodes that are short of something, and its names in the kubelet's events about evictions."""
_PROBLEM: Final = re.compile(
    r"(?:Frequent|Corrupt|Readonly)\w+|\w*(?:Problem|Unhealthy|Deadlock|Shutdown|ErrorFatal)|VMEventScheduled"
)
"""Conditions of node problem detectors that are True while something is wrong, or while Azure plans a restart.

While Azure freezes a machine for some seconds, its condition's message begins with Freeze.
"""
_OVER_NS: Final = 15 * MINUTE_NS
"""If no node is short of anything, and the last eviction is older, the shortage is over."""
_MANY_EVICTED: Final = 3
"""From this many evictions on they are reported although no node is short of anything at the moment."""


def node_findings(case: VerdictCase, pending: PendingPods) -> Iterator[ClusterFinding]:
    """Yield findings about nodes."""
    yield from _zonal_shifts(case, pending)
    yield from _not_ready(case, pending)
    yield from _recurring_faults(case)
    yield from _interrupted(case, pending)
    yield from _vanished(case)
    yield from _under_pressure(case)
    yield from _filling_up(case)
    yield from _without_devices(case)
    yield from _node_problems(case)
    yield from _cordoned(case)
    yield from _leftover_taints(case)
    yield from _old_kubelets(case)


def _zonal_shifts(case: VerdictCase, pending: PendingPods) -> Iterator[ClusterFinding]:
    """Yield zones where Karpenter launches nothing, because AWS shifts traffic away."""
    pools: defaultdict[str, list[Event]] = defaultdict(list)
    for event in case.recent(ZONAL_SHIFT):
        match = _ZONE_NAME.search(event.message)
        if match is not None:
            pools[match[1]].append(event)
    for zone, events in pools.items():
        yield ClusterFinding(
            severity=FindingSeverity.WARNING,
            code=FindingCode.ZONAL_SHIFT,
            since_ns=min(event.first_ns for event in events) or None,
            objects=tuple(f"NodePool/{event.involved_name}" for event in events),
            names=tuple(sorted({event.involved_name for event in events})),
            zones=(zone,),
            pending=pending.take(partial(_is_bound_to, zone=zone)),
            screen="events",
        )


def _is_bound_to(group: PendingLine, *, zone: str) -> bool:
    return group.zones == {zone}


def _not_ready(case: VerdictCase, pending: PendingPods) -> Iterator[ClusterFinding]:
    sick = [line for line in case.nodes if line.not_ready_ns is not None]
    every = [line for line in case.nodes if line.has_node]
    managed = [line for line in every if line.claim is not None]
    for lines in (every, managed):
        is_wide = lines is every or len({line.zone for line in lines}) > 1
        if len(lines) >= FEWEST_OF_ALL and is_wide and all(line.not_ready_ns is not None for line in lines):
            yield replace(_not_ready_finding(case, lines, pending, is_all=True), severity=FindingSeverity.ERROR)
            sick = [line for line in sick if line not in lines]
            break
    by_zone: defaultdict[str, list[VerdictNode]] = defaultdict(list)
    for line in sick:
        by_zone[line.zone].append(line)
    of_zones: list[VerdictNode] = []
    for zone, lines in sorted(by_zone.items()):
        in_zone = [line for line in case.nodes if line.zone == zone and line.has_node and line.claim is not None]
        if zone and len(lines) >= FEWEST_OF_A_ZONE and len(lines) == len(in_zone):
            of_zones += lines
            yield _not_ready_finding(case, lines, pending, zone=zone)
    others = [line for line in sick if line not in of_zones]
    emptied = [line for line in others if _is_emptied(line, case)]
    if emptied:
        finding = _not_ready_finding(case, emptied, PendingPods(()))
        yield replace(finding, severity=FindingSeverity.INFO, manner=Manner.EMPTIED)
    ran_out = {event.involved_name for event in case.recent(SYSTEM_OOM)}
    others = [line for line in others if line not in emptied]
    for lines in group_by(others, lambda line: (_not_ready_reason(line), line.name in ran_out)).values():
        yield _not_ready_finding(case, lines, pending)


def _not_ready_reason(line: VerdictNode) -> str:
    """Return the reason of a node's Ready condition; its message may contain numbers that differ."""
    ready = line.node.ready if line.node is not None else None
    return ready.reason if ready is not None else ""


def _is_emptied(line: VerdictNode, case: VerdictCase) -> bool:
    """Return whether a node was cordoned and emptied shortly before it stopped being ready, as for a reboot."""
    since_ns, cordoned_ns = line.not_ready_ns or 0, line.node.cordoned_ns if line.node is not None else 0
    is_short = case.now_ns - since_ns < SICK_NS
    return is_short and line.is_cordoned and 0 < cordoned_ns <= since_ns and not line.pods and case.sees_pods


def _recurring_faults(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield nodes that rebooted, were not ready or ran out of memory several times in the last hour, and are ready."""
    reported: set[str] = set()
    for manner, reason in _RECURRING.items():
        times: dict[str, dict[str, Event]] = {}
        for event in case.recent(reason, kind="Node"):
            times.setdefault(event.involved_name, {})[f"{event.source} {event.key}"] = event
        counts: dict[str, int] = {}
        for name, by_key in times.items():
            sources = Counter[str]()  # the kubelet and the node controller report the same
            for event in by_key.values():
                sources[event.source] += event.count
            is_over = case.now_ns - max(event.last_ns for event in by_key.values()) > FLAPPED_NS
            if max(sources.values()) >= FEWEST_FLAPS and not is_over:
                counts[name] = max(sources.values())
        ready = [line for line in case.nodes if line.has_node and line.not_ready_ns is None and not line.goes]
        lines = [line for line in ready if line.name in counts and line.name not in reported]
        events = [event for line in lines for event in times[line.name].values()]
        reported |= {line.name for line in lines}
        if lines:
            yield _of_nodes(
                FindingCode.UNHEALTHY,
                lines,
                since_ns=min(event.first_ns for event in events) or None,
                last_ns=max(event.last_ns for event in events),
                of_nodes=sum(counts[line.name] for line in lines),
                zones=only_zone({line.name: line for line in case.nodes}, [line.name for line in lines]),
                words=", ".join(sorted({match[1] for e in events if (match := _VICTIM.search(e.message)) is not None})),
                manner=manner,
                screen="events",
            )


def _not_ready_finding(
    case: VerdictCase, lines: Sequence[VerdictNode], pending: PendingPods, *, zone: str = "", is_all: bool = False
) -> ClusterFinding:
    since = min((line.not_ready_ns for line in lines if line.not_ready_ns), default=None)
    is_long = since is not None and case.now_ns - since >= SICK_NS
    zones = {line.zone for line in lines}
    explained = pending.take(lambda group: is_all or (bool(zone) and _belongs_to(group, zone, since)))
    ran_out = {event.involved_name for event in case.recent(SYSTEM_OOM)}
    return _of_nodes(
        FindingCode.ZONE_NOT_READY if zone else FindingCode.UNHEALTHY,
        lines,
        is_priced=True,
        severity=FindingSeverity.ERROR if is_long or zone else FindingSeverity.WARNING,
        **began(line.not_ready_ns for line in lines),
        of_nodes=len(lines) if is_all else 0,
        zones=(zone,) if zone else tuple(zones) if len(zones) == 1 else (),
        pending=explained,
        stuck_pods=tuple(key for line in lines for key in line.stuck_pods),
        detail=why_not_ready(lines),
        reasons=(SYSTEM_OOM,) if any(line.name in ran_out for line in lines) else (),
        apart=_common_property(case, lines),
        filter_text="status=NotReady",
    )


def _common_property(case: VerdictCase, lines: Sequence[VerdictNode]) -> tuple[str, ...]:
    """Return the common property of several nodes that are not ready, such as an image.

    Most nodes that have it are not ready; most others lack it, and all of these are ready.
    """
    nodes, pools = [line for line in case.nodes if line.has_node], {line.pool for line in lines}
    for shared in (Shared.IMAGE, Shared.FAMILY, Shared.POOL) if len(lines) >= FEWEST_OF_ALL else ():
        here = {PROPERTIES[shared](line) for line in lines}
        others = [line for line in nodes if PROPERTIES[shared](line) not in here]
        is_usual = 2 * len(lines) >= len(nodes) - len(others)
        is_apart = is_usual and 2 * len(others) > len(nodes) and not any(line.not_ready_ns for line in others)
        # A NodePool of one family is another property.
        is_own = shared is not Shared.FAMILY or not pools.isdisjoint(line.pool for line in others)
        if len(here) == 1 and is_apart and is_own:
            return shared, here.pop()
    return ()


def _belongs_to(group: PendingLine, zone: str, since_ns: int | None) -> bool:
    """Return whether pods need a zone that is down, or became pending when it went down."""
    if group.zones:
        return group.zones == {zone}
    return since_ns is not None and group.since_ns >= since_ns - _BEFORE_NS


def _interrupted(case: VerdictCase, pending: PendingPods) -> Iterator[ClusterFinding]:
    claims = {line.name: line.claim.name for line in case.nodes if line.claim is not None}
    instants: defaultdict[str, list[int]] = defaultdict(list)
    reasons: defaultdict[str, set[str]] = defaultdict(set)
    for event in case.recent(*INSTANCE_EVENTS, within_ns=INTERRUPTED_NS):
        name = event.involved_name
        name = claims.get(name, name) if event.involved_kind == "Node" else name
        reasons[name].add(event.reason)
        if event.reason in INTERRUPTIONS:
            instants[name].append(event.first_ns)
    # For a deleted node only its NodeClaim's events count: the two cannot be distinguished.
    by_claim = {line.claim.name: line for line in case.nodes if line.claim is not None}
    early = ended_early(case)
    of_claims = {event.involved_name for event in case.recent(*INTERRUPTIONS, kind="NodeClaim")}
    hit = sorted(name for name in instants if (name in by_claim or name in of_claims) and name not in early)
    if not hit:
        return
    of_spot = {"SpotInterrupted", BY_INTERRUPTION, *INSTANCE_ENDS}
    spot = [name for name in hit if "SpotInterrupted" in reasons[name] <= of_spot]
    # Karpenter reacts to ends of instances only if it has not ordered them itself.
    is_unannounced = all({BY_INTERRUPTION} < reasons[name] <= {BY_INTERRUPTION, *INSTANCE_ENDS} for name in hit)
    ends = {reason for name in hit for reason in reasons[name] & INSTANCE_ENDS} if is_unannounced else set()
    is_spot = len(spot) == len(hit)
    since = min(ns for name in hit for ns in instants[name])
    known_pools = {pool.name for pool in case.pools} | {line.pool for line in case.nodes}
    of_hit = {by_claim[name].pool if name in by_claim else pool_in_name(name, known_pools) for name in hit}
    pools = set() if "" in of_hit else of_hit
    there = [
        line
        for line in case.nodes
        if line.claim is not None and line.claim.created_ns <= since and (not is_spot or line.capacity_type == SPOT)
        if not pools or line.pool in pools
    ]
    gone = [name for name in hit if name not in by_claim]
    total = len(there) + len(gone)
    is_wave = len(hit) > 1
    explained = pending.take(lambda group: is_wave and group.since_ns >= since - _BEFORE_NS)
    waits = any(not names for names in explained.expected)
    severity = FindingSeverity.ERROR if len(hit) >= max(3, WAVE_SHARE * total) else FindingSeverity.WARNING
    is_over = case.now_ns - max(last_ns for name in hit for last_ns in instants[name]) >= NOTICE_NS
    slow = tuple(key for name in spot if name in by_claim for key in by_claim[name].slow_pods) if not is_over else ()
    severity = severity if is_wave and (waits or not is_over) else FindingSeverity.INFO
    yield ClusterFinding(
        severity=FindingSeverity.WARNING if slow and severity is FindingSeverity.INFO else severity,
        code=FindingCode.INTERRUPTED,
        since_ns=since,
        objects=tuple(f"NodeClaim/{name}" for name in hit),
        names=tuple(sorted(pools)),
        zones=tuple(sorted({by_claim[name].zone for name in hit if name in by_claim})),
        nodes=len(hit),
        of_nodes=total if case.sees_claims else 0,
        detail=SPOT if is_spot else "",
        pods=len(slow),
        reasons=tuple(sorted(ends)),
        stuck_pods=folded_by_namespace(slow),
        pending=explained,
        screen="events",
    )


def _vanished(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield that instances end without a drain, if Karpenter has spot nodes and reported no interruption."""
    spot = [line for line in case.nodes if line.capacity_type == SPOT]
    gone = {event.involved_name: event.last_ns for event in case.recent("DeletingNode", kind="Node")}
    # Karpenter has no event about a node that expires; it evicts the pods.
    evicts = any(is_eviction(event) for reason in EVICTED for event in case.events_by_reason.get(reason, ()))
    if not spot or any(line.claim is None for line in spot) or evicts or case.recent(*INTERRUPTIONS, kind="Node"):
        return
    drained = {event.involved_name for event in case.recent(*_DRAINING, kind="Node")}
    names = sorted(gone.keys() - drained - {line.name for line in case.nodes})
    if len(names) >= FEWEST_VANISHED and case.now_ns - max(gone[name] for name in names) <= FLAPPED_NS:
        yield ClusterFinding(
            severity=FindingSeverity.WARNING,
            code=FindingCode.INTERRUPTED,
            since_ns=min(gone[name] for name in names),
            objects=tuple(f"Node/{name}" for name in names),
            nodes=len(names),
            of_nodes=len(spot),
            manner=Manner.NODE_GONE,
            screen="events",
        )


def _under_pressure(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield nodes under pressure, and evictions for lack of a resource, by resource if known."""
    for pressure, resources in _PRESSURES.items():
        evictions_by_resource, reclaimed = _evictions(case, resources), _reclaimed(case, resources)
        # A node whose kubelet names no resource is short of the one that all pods are evicted for.
        only = "".join(evictions_by_resource) if len(evictions_by_resource) == 1 else ""
        groups: dict[str, list[tuple[VerdictNode, int]]] = {resource: [] for resource in evictions_by_resource}
        for line in case.nodes:
            condition = condition_of(line.node.conditions, pressure) if line.node is not None else None
            if condition is not None and condition.status == "True" and line.not_ready_ns is None and not line.goes:
                groups.setdefault(reclaimed.get(line.name, only), []).append((line, condition.last_transition_ns))
        for resource, lines in groups.items():
            evictions = evictions_by_resource.get(resource, ())
            evicted, last_ns = pods_of(evictions), max((event.last_ns for event in evictions), default=0)
            if lines or (len(evicted) >= _MANY_EVICTED and case.now_ns - last_ns <= _OVER_NS):
                yield _of_nodes(
                    FindingCode.NODE_PRESSURE,
                    [line for line, _ in lines],
                    *folded_by_namespace(evicted),
                    **began(ns for _, ns in lines),
                    last_ns=last_ns or None,
                    pods=len(evicted),
                    detail=pressure if lines else resource,
                    reasons=(resource,) if lines and resource == _INODES else (),
                    screen="nodes" if lines else "events",
                )


def _reclaimed(case: VerdictCase, resources: Sequence[str]) -> dict[str, str]:
    """Return the resource that the nodes' kubelets last tried to reclaim."""
    reached = sorted(case.recent("EvictionThresholdMet", kind="Node"), key=lambda event: event.last_ns)
    named = ((event.involved_name, event.message.rpartition(" ")[2]) for event in reached)
    return {node: resource for node, resource in named if resource in resources}


def _filling_up(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield nodes without disk pressure whose kubelet needs disk space and finds no images to delete."""
    failures = case.recent("FreeDiskSpaceFailed", kind="Node", within_ns=_OVER_NS)
    events = {event.involved_name: event for event in failures if event.count >= _MANY_EVICTED}
    lines = [line for line in case.nodes if line.name in events and line.not_ready_ns is None and not line.goes]
    lines = [line for line in lines if line.node is not None and not _has_disk_pressure(line.node)]
    if lines:
        messages = {events[line.name].message for line in lines}
        yield _of_nodes(
            FindingCode.NODE_PRESSURE,
            lines,
            since_ns=min(events[line.name].first_ns for line in lines) or None,
            words=messages.pop() if len(messages) == 1 else "",
            manner=Manner.FILLING_UP,
        )


def _has_disk_pressure(node: Node) -> bool:
    condition = condition_of(node.conditions, "DiskPressure")
    return condition is not None and condition.status == "True"


def _without_devices(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield initialized nodes on which fewer devices are allocatable than there are: kubelets call others unhealthy."""
    groups: defaultdict[str, list[VerdictNode]] = defaultdict(list)
    for line in case.nodes:
        is_new = line.claim is not None and not line.claim.is_true("Initialized")
        if line.node is None or is_new or line.not_ready_ns is not None or line.goes:
            continue
        for name in line.node.capacity:
            if "/" in name and nano(line.node.allocatable, name) < nano(line.node.capacity, name):
                groups[name].append(line)
    for name, lines in groups.items():
        nodes = [line.node for line in lines if line.node is not None]
        counts = [sum(nano(node.allocatable, name) for node in nodes), sum(nano(node.capacity, name) for node in nodes)]
        is_wanted = any(nano(line.requests, name) for line in case.pending)
        yield _of_nodes(
            FindingCode.NODE_PRESSURE,
            lines,
            is_priced=True,
            severity=FindingSeverity.WARNING if is_wanted else FindingSeverity.INFO,
            detail=name,
            reasons=tuple(str(count // NANO) for count in counts),
            manner=Manner.DEVICES,
        )


def _of_nodes(
    code: FindingCode, lines: Sequence[VerdictNode], *names: str, is_priced: bool = False, **more: Any
) -> ClusterFinding:
    """Return a finding about nodes, whose names precede the given ones; with their price if they are wasted."""
    prices = [line.per_hour for line in lines] if is_priced else []
    given = {"severity": FindingSeverity.WARNING, "screen": "nodes", **more}
    return ClusterFinding(
        code=code,
        price_per_hour=sum_of(prices),
        is_partial=lacks_some(prices),
        objects=tuple(f"Node/{line.name}" for line in lines),
        names=(*(line.name for line in lines), *names),
        nodes=len(lines),
        pools=tuple(sorted({line.pool for line in lines})) if all(line.pool for line in lines) else (),
        **given,
    )


def _evictions(case: VerdictCase, resources: Sequence[str]) -> dict[str, list[Event]]:
    """Return the events of the last hour about pods that kubelets evicted for want of resources, by resource."""
    by_resource: dict[str, list[Event]] = {}
    for event in case.recent("Evicted"):
        for resource in resources if event.source == KUBELET else ():
            if f"low on resource: {resource}" in event.message:
                by_resource.setdefault(resource, []).append(event)
    return by_resource


def _node_problems(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield conditions of ready nodes that the provider or a monitor calls unhealthy: accelerators, storage, kernel."""
    groups: defaultdict[tuple[str, str], list[VerdictNode]] = defaultdict(list)
    instants: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    messages: dict[tuple[str, str], str] = {}
    unsupported: set[tuple[str, str]] = set()
    for line in case.nodes:
        for condition in line.node.conditions if line.node is not None and not line.goes else ():
            is_repaired = line.claim is not None and any(policy.holds_for(condition) for policy in case.repair_policies)
            is_problem = condition.status == "True" and _PROBLEM.fullmatch(condition.type) is not None
            is_problem = is_problem and not condition.message.startswith("Freeze")
            if condition.type == "Ready" or not (is_repaired or is_problem):
                continue
            key = condition.type, condition.status
            if not is_repaired:
                unsupported.add(key)
            groups[key].append(line)
            instants[key].append(condition.last_transition_ns)
            messages[key] = condition.message or condition.reason
    for (type_, status), lines in groups.items():
        manner = {True: Manner.PLAIN, False: Manner.UNREPAIRED, None: Manner.MISSING}[case.repairs]
        closed = [blocker for line in lines if is_repair(line) for blocker in own_blockers(line, WhyCode.BUDGET)]
        if closed:
            manner = Manner.CLOSED
        if any(_is_repair_tripped(line) for line in lines):
            manner = Manner.TRIPPED
        if manner is Manner.PLAIN and any(line.findings is None for line in lines):
            manner = Manner.MISSING  # what repair waits for is not known
        if (type_, status) in unsupported:
            manner = Manner.UNSUPPORTED
        yield _of_nodes(
            FindingCode.NODE_PRESSURE,
            lines,
            messages[type_, status],
            severity=FindingSeverity.INFO if manner is Manner.PLAIN else FindingSeverity.WARNING,
            **began(instants[type_, status]),
            until_ns=min((blocker.until_ns for blocker in closed if blocker.until_ns is not None), default=None),
            detail=f"{type_}={status}",
            manner=manner,
        )


def _is_repair_tripped(line: VerdictNode) -> bool:
    """Return whether Karpenter's limit of unhealthy nodes holds back the repair of a node."""
    if line.findings is None:
        return False
    if line.findings.unhealthy is not None and line.findings.unhealthy.is_tripped:
        return True
    return any(blocker.code is Code.REPAIR_TRIPPED for blocker in line.findings.blockers)


def _cordoned(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield nodes that a user cordoned, unless all nodes are: `all_leaving` reports that."""
    lines = [line for line in case.nodes if line.has_node and line.is_cordoned and not line.goes]
    lines = [line for line in lines if line.claim is not None or _is_long_cordoned(line, case.now_ns)]
    if not lines or all(line.is_cordoned or line.goes for line in case.nodes if line.has_node):
        return
    for cordoned in group_by(lines, lambda line: bool(line.closed_pdbs)).values():
        instants = [line.node.cordoned_ns for line in cordoned if line.node is not None and line.node.cordoned_ns]
        is_long = any(_is_long_cordoned(line, case.now_ns) for line in cordoned)
        yield _of_nodes(
            FindingCode.CORDONED,
            cordoned,
            is_priced=True,
            severity=FindingSeverity.WARNING if is_long else FindingSeverity.INFO,
            since_ns=min(instants, default=None),
            pods=sum(line.pods for line in cordoned),
            reasons=tuple(sorted({key for line in cordoned for key in line.closed_pdbs})),
        )


def _leftover_taints(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield ready nodes with a taint that should not be there, by taint.

    Karpenter removes its own taint from nodes that it has not chosen for disruption. Other taints of its nodes are
    those of their NodeClaims; empty nodes with one more may keep pending pods away. A user sets ``out-of-service`` on
    any node that has failed, and removes it when the node is back.
    """
    groups: defaultdict[str, list[VerdictNode]] = defaultdict(list)
    for line in case.nodes:
        if line.node is None or line.not_ready_ns is not None or line.deleted_ns is not None:
            continue
        is_chosen = line.claim is None or line.claim.condition("DisruptionReason") is not None
        if line.is_disrupted and not is_chosen and is_running(case.controller):
            groups[DISRUPTED_TAINT.key].append(line)
        ready = line.node.ready
        if ready is not None and case.now_ns - ready.last_transition_ns >= CORDONED_NS:
            is_idle = case.sees_pods and not line.pods and bool(case.pending)
            left = (t for t in line.node.taints if t.key == OUT_OF_SERVICE or (is_idle and is_foreign(t, line.claim)))
            for key in {taint.key for taint in left}:
                groups[key].append(line)
    for key, lines in groups.items():
        yield _of_nodes(FindingCode.CORDONED, lines, is_priced=True, detail=key, manner=Manner.TAINTED)


def _old_kubelets(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield nodes whose kubelet is too old for the API server, which is as new as the newest kubelet."""
    minors = {line.name: _minor_of(line.node.kubelet_version) for line in case.nodes if line.node is not None}
    newest = max(minors.values(), default=0)
    lines = [line for line in case.nodes if not line.goes and line.name in minors]
    lines = [line for line in lines if 0 < minors[line.name] < newest - MOST_MINORS_BEHIND]
    if lines:
        yield _of_nodes(
            FindingCode.OLD_KUBELETS,
            lines,
            reasons=tuple(f"1.{minor}" for minor in sorted({*(minors[line.name] for line in lines), newest})),
        )


def _minor_of(version: str) -> int:
    """Return the minor version of a kubelet such as v1.35.2-eks-7f1c2a9; 0 if it is not known."""
    match = _KUBELET.match(version)
    return int(match[1]) if match is not None else 0


def _is_long_cordoned(line: VerdictNode, now_ns: int) -> bool:
    """Return whether a node was cordoned longer ago than an update takes; True if that is not known."""
    cordoned_ns = line.node.cordoned_ns if line.node is not None else 0
    return not cordoned_ns or now_ns - cordoned_ns >= CORDONED_NS
