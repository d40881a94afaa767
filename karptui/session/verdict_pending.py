"""Pending pods and NodePools at their limits, as the verdict needs them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from karptui.decode.kinds import Kind
from karptui.disruption.churn.moves import WorkloadNames
from karptui.disruption.owner import OriginIndex
from karptui.karpenter.labels import HOSTNAME, NODEPOOL
from karptui.kube import resources
from karptui.kube.pod import DO_NOT_SCHEDULE, LIMIT_RANGER, PAUSE_IMAGE, Pod
from karptui.kube.quantity import NANO
from karptui.kube.timestamps import HOUR_NS, MINUTE_NS
from karptui.kube.units import amount_text
from karptui.pending.causes import Cause, storage_classes, zones_of_volumes
from karptui.pending.disagreements import DECISIVE
from karptui.provisioning.instance_types import may_go_to
from karptui.provisioning.limits import as_good_as_full
from karptui.provisioning.nearest import furthest, named_pools
from karptui.provisioning.rejection import PlacementGate, TypesExhausted
from karptui.provisioning.reporter import Pause, no_pause, with_pauses
from karptui.provisioning.state_node import StateNode, tracked
from karptui.provisioning.template import template_requirements
from karptui.session.pools import limit_uses
from karptui.session.readiness import may_list_events
from karptui.session.types_of_pools import types_of_pool
from karptui.state.cluster import inventory_of
from karptui.verdict.case import LimitLine, PendingLine
from karptui.verdict.joining import REGISTRATION_TTL_NS

if TYPE_CHECKING:
    from karptui.karpenter.nodepool import NodePool
    from karptui.pending.groups import PendingGroup
    from karptui.provisioning.explain import PoolExplanation
    from karptui.session.cluster_view import ClusterView

LATE_NS: Final = MINUTE_NS
"""Pods pending for less are ignored: they may be scheduled soon."""
_REASON: Final = re.compile(r"\d+ node\(s\) (?:had )?([^,{]*\{[^}]*\}|[^,.]*)")
"""A reason in kube-scheduler's message about nodes; taints may contain commas."""
_NO_ROOM: Final = ("Insufficient ", "Too many pods")
_NOT_FOR_THEM: Final = {PlacementGate.TAINTS, PlacementGate.REQUIREMENTS, PlacementGate.LIMITS, PlacementGate.NODEPOOLS}
"""Gates of NodePools that are for other pods, or full."""
_OF_PODS: Final = {PlacementGate.TAINTS, PlacementGate.REQUIREMENTS, PlacementGate.VOLUMES, PlacementGate.TOPOLOGY}
"""Gates that reject pods for their own rules, whether the NodePool launches nodes or not."""
_ALIKE_FOR_MANY: Final = {
    PlacementGate.TAINTS,
    PlacementGate.REQUIREMENTS,
    PlacementGate.INSTANCE_TYPES,
}
"""Gates that often reject pods of several workloads for the same reason."""
_LIMIT_RANGER_SET: Final = "LimitRanger plugin set: "
_PREEMPTED: Final = "Preempted"
"""Reason of kube-scheduler's events about pods that it preempts."""


def pending_lines(view: ClusterView, now_ns: int) -> Iterator[PendingLine]:
    """Yield pending pods by group; before they are analysed, one group of all that are pending for a minute."""
    if view.pending is not None:
        preempted = _preempted(view, now_ns)
        for group in view.pending.groups:
            line = replace(_group_line(view, group, now_ns), preempted=preempted[group.origin])
            # Placeholders give way to all other pods: at a limit they wait by design.
            if not line.limited_pool or group.first.template.priority >= 0 or not _keeps_place(group.first):
                yield line
        return
    late = [
        pod
        for key in view.state.pending_pods
        if (pod := view.state.pods.get(key)) is not None and now_ns - pod.created_ns >= LATE_NS
    ]
    if late:
        refusals = {pod.scheduled_message.partition(". preemption: ")[0] for pod in late}
        refusal = refusals.pop() if len(refusals) == 1 else ""
        yield PendingLine("", tuple(pod.key for pod in late), min(pod.created_ns for pod in late), refusal=refusal)


def _preempted(view: ClusterView, now_ns: int) -> Counter[str]:
    """Return the number of pods preempted by kube-scheduler in the last hour, by workload."""
    events = [
        event
        for event in view.state.events.values()
        if event.reason == _PREEMPTED and event.involved_kind == "Pod" and now_ns - event.last_ns <= HOUR_NS
    ]
    if not events:
        return Counter()
    namespaces = frozenset(event.involved_namespace for event in events)
    names = WorkloadNames(namespaces, view.state.pods.values(), inventory_of(view.state).workloads)
    pods = {event.involved_uid or event.key: f"{event.involved_namespace}/{event.involved_name}" for event in events}
    return Counter(names.of_pod(key) for key in pods.values())


def _may_be_nominated(view: ClusterView, group: PendingGroup, now_ns: int) -> bool:
    """Return whether a starting NodeClaim may be for a group; without events that is unknown."""
    if group.cause is not Cause.CLAIM or (may_list_events(view) and view.state.events):
        return False
    pools = {place.nodepool for place in group.destinations}
    return any(
        claim.labels.get(NODEPOOL) in pools
        and not (claim.is_deleting or claim.is_true("Initialized"))
        and now_ns - claim.created_ns < REGISTRATION_TTL_NS
        for claim in view.state.nodeclaims.values()
    )


def _group_line(view: ClusterView, group: PendingGroup, now_ns: int) -> PendingLine:
    error, first = group.diagnosis.error, group.first
    nodes = {place.node for _, diagnosis, _ in group.members if (place := diagnosis.destination) is not None}
    nominated = {
        name
        for _, _, messages in group.members
        if messages.karpenter is not None
        for _, name in messages.karpenter.targets
    }
    # Pods that fit somewhere have an explanation only after the user has looked at them: it must not change the cause.
    is_placed = group.cause in (Cause.NODE, Cause.CLAIM)
    closest = furthest(group.explanation) if group.explanation is not None and not is_placed else None
    pools = {place.nodepool for place in group.destinations if not place.node and place.nodepool}
    if closest is not None and (closest.refused or closest.failed not in _OF_PODS):
        pools.add(closest.nodepool)
    is_limited = closest is not None and closest.failed is PlacementGate.LIMITS and closest.besides_limits is None
    volumes = zones_of_volumes(first, view.state) if first.volumes else ()
    is_stuck = group.is_stuck(now_ns) and not _may_be_nominated(view, group, now_ns)
    return PendingLine(
        name=group.name,
        pods=tuple(pod.key for pod in group.pods),
        since_ns=min(pod.created_ns for pod in group.pods),
        group=group.key,
        full_pool=error.full_pool if error is not None and group.cause is Cause.FULL else "",
        is_stuck=is_stuck,
        is_held=is_stuck and bool(group.disagreements) and group.disagreements[0].code in DECISIVE,
        cause=group.cause,
        nodes=frozenset(filter(None, nodes | nominated)) or frozenset(_pinned_to(group)),
        pools=tuple(sorted(pools)),
        limited_pool=closest.nodepool if closest is not None and is_limited else "",
        daemonsets=tuple(_daemonsets_as_large(view, closest)) if closest is not None else (),
        owner=group.origin,
        zones=frozenset().union(*(zones for _, zones in volumes)),
        storage_classes=storage_classes(first, view.state) if volumes else (),
        requests=first.requests,
        rule=_rule_off_nodes(view, group, closest.nodepool) if closest is not None and is_limited else "",
        spread_keys=tuple(_spread_keys(first)),
        refusal=_refusal_of_daemon(group),
        autoscaled=tuple(_autoscaled(view, group, closest)) if closest is not None else (),
        defaulted=tuple(_defaulted(group, closest)) if closest is not None else (),
        shared_reason=_shared_reason(group, closest) if not volumes else (),
        suited_pools=tuple(_suited_pools(view, group)),
    )


def _shared_reason(group: PendingGroup, closest: PoolExplanation | None) -> tuple[str, ...]:
    """Return all that the sentence about a group depends on, if pods of other workloads may wait for the same."""
    pod, cause = group.first, group.cause
    if group.disagreements:
        held = group.disagreements[0]
        told = (held.code, held.name, held.user, held.message, str(held.volumes), *held.nodes)
        return told if held.code in DECISIVE else ()
    if cause is Cause.CLAIM:
        places = {(place.nodepool, place.instance_type) for place in group.destinations}
        return (cause, *places.pop()) if len(places) == 1 else ()
    if cause is Cause.UNTRIED:
        return cause, pod.scheduled_reason, pod.scheduled_message
    if cause in (Cause.IGNORED, Cause.SILENT, Cause.NO_POOL):
        return cause, *group.diagnosis.problems
    rejections = group.diagnosis.error.rejections if group.diagnosis.error is not None else ()
    if any(rejection.gate is PlacementGate.DYNAMIC_RESOURCES for _, rejection in rejections):
        return (PlacementGate.DYNAMIC_RESOURCES,)
    return _lacking(group, closest) if cause is Cause.UNPLACED and closest is not None else ()


def _lacking(group: PendingGroup, closest: PoolExplanation) -> tuple[str, ...]:
    """Return the closest NodePool, empty if all reject the pods alike, and what it lacks for them."""
    rejection, nearest, named = closest.rejection, closest.nearest, sorted(named_pools(group.first))
    if closest.takes_no_part:
        return closest.nodepool, closest.takes_no_part, *named
    short = {shortage.resource for shortage in nearest.shortages} if nearest is not None else set[str]()
    if closest.failed not in _ALIKE_FOR_MANY or (nearest is not None and not short <= nearest.unoffered):
        return ()
    explained = group.explanation.pools if group.explanation is not None else ()
    pools = [pool for pool in explained if not pool.takes_no_part]
    name = "" if all(pool.rejection == rejection for pool in pools) else closest.nodepool
    taints = [str(p.rejection) for p in pools] if all(p.failed is PlacementGate.TAINTS for p in pools) else []
    known = repr((closest.types_seen, closest.unseen_labels, named))
    if not isinstance(rejection, TypesExhausted):
        return name, repr(rejection), repr(closest.contradiction), known, *taints
    labels = repr((closest.label_costs, closest.clash, rejection.unmet_min_values))
    return name, rejection.reason, closest.refused, labels, repr(closest.types_left), known, *sorted(short)


def _suited_pools(view: ClusterView, group: PendingGroup) -> Iterator[str]:
    """Yield the NodePools that are being deleted or not ready, and that suit pods: no other does."""
    error, pod = group.diagnosis.error, group.first
    gates = {rejection.gate for _, rejection in error.rejections} if error is not None else set()
    suits_others = not gates <= _NOT_FOR_THEM or pod.template.has_resource_claims
    for pool in view.state.nodepools.values() if not suits_others else ():
        if (pool.is_deleting or not pool.is_ready) and may_go_to(pod, pool, template_requirements(pool)):
            yield pool.name


def _pinned_to(group: PendingGroup) -> Iterator[str]:
    """Yield the nodes that a DaemonSet's pods are for."""
    terms = (term for pod in group.pods for term in pod.template.required_node_terms or ())
    for field in (field for term in terms for field in term.match_fields):
        yield from field.values if group.cause is Cause.DAEMON else ()


def _refusal_of_daemon(group: PendingGroup) -> str:
    """Return kube-scheduler's reason to refuse the node of a DaemonSet's pod; empty if it lacks room."""
    message = group.messages.scheduler
    text = message.message.partition(" preemption: ")[0] if message is not None and group.cause is Cause.DAEMON else ""
    reasons = [reason for reason in _REASON.findall(text) if "node affinity/selector" not in reason]
    return "" if any(words in text for words in _NO_ROOM) else ", ".join(reasons)


def _spread_keys(pod: Pod) -> Iterator[str]:
    for constraint in pod.template.topology_spread:
        if constraint.when_unsatisfiable == DO_NOT_SCHEDULE and constraint.topology_key != HOSTNAME:
            yield constraint.topology_key


def _autoscaled(view: ClusterView, group: PendingGroup, pool: PoolExplanation) -> Iterator[str]:
    """Yield the resources that pods are short of because of a VerticalPodAutoscaler's target."""
    for vpa in view.state.of(Kind.VPA).values() if pool.nearest is not None else ():
        if group.origin == f"{vpa.target_kind}/{vpa.namespace}/{vpa.target_name}":
            targets = resources.add(*(target for _, target in vpa.targets))
            for shortage in pool.nearest.shortages if pool.nearest is not None else ():
                request = resources.nano(group.first.requests, shortage.resource)
                if request == resources.nano(targets, shortage.resource):
                    yield shortage.resource


def _defaulted(group: PendingGroup, pool: PoolExplanation) -> Iterator[str]:
    """Yield the resources that pods are short of and whose requests a LimitRange set."""
    parts = group.first.template.annotations.get(LIMIT_RANGER, "").removeprefix(_LIMIT_RANGER_SET).split("; ")
    names = {name for part in parts for name in part.partition(" request for ")[0].split(", ") if " request " in part}
    for shortage in pool.nearest.shortages if pool.nearest is not None else ():
        if shortage.resource in names:
            yield shortage.resource


def _rule_off_nodes(view: ClusterView, group: PendingGroup, pool: str) -> str:
    """Return the topology rule that keeps pods off a NodePool's nodes with room; empty if there is none."""
    names = {entry.name for entry in view.node_entries if entry.pool == pool}
    refusals = group.explanation.nodes if group.explanation is not None else ()
    return next((r.reason for r in refusals if r.gate is PlacementGate.TOPOLOGY and r.node in names), "")


def _daemonsets_as_large(view: ClusterView, pool: PoolExplanation) -> Iterator[str]:
    """Yield DaemonSets that request at least the shortage on the closest instance type."""
    if pool.nearest is None or not pool.nearest.shortages:
        return
    for key, daemonset in view.state.daemonsets.items():
        requests = daemonset.template.requests
        if all(resources.nano(requests, s.resource) >= s.lacking_nano for s in pool.nearest.shortages):
            yield f"DaemonSet/{key}"


def limit_lines(view: ClusterView, pause: Pause = no_pause) -> Iterator[LimitLine]:
    """Yield the NodePools with a limit that their nodes use up, or almost."""
    limited = {pool.name: pool for pool in view.state.nodepools.values() if pool.limits}
    if not limited:
        return
    nodes: dict[str, list[StateNode]] = {}
    for track in tracked(view.state.nodes.values(), view.state.nodeclaims.values()):
        state = StateNode(*track)
        if state.nodepool_name in limited and not state.is_marked_for_deletion:
            nodes.setdefault(state.nodepool_name, []).append(state)
    for name, pool in limited.items():
        line = _fullest(pool, sorted(nodes.get(name, ()), key=_created_ns))
        if line is not None:
            pause()
            yield line if line.is_open else _with_types(view, _with_user(view, line, nodes[name], pause))
            pause()


def _with_user(view: ClusterView, line: LimitLine, nodes: Sequence[StateNode], pause: Pause) -> LimitLine:
    """Return a limit that is used up, with the workload whose pods request more than half of the nodes' capacity.

    Without one, with the largest workload of placeholders that pods of ordinary priority do not preempt.
    """
    origins, requested, pods, kept = OriginIndex(view.owners), Counter[str](), Counter[str](), set[str]()
    for state in with_pauses(nodes, pause, 100):
        for pod in view.state.pods_on(state.name).values():
            amount = resources.nano(pod.requests, line.resource)
            if pod.is_active and amount and not pod.template.is_daemonset_owned:
                origin = origins.of(pod)
                requested[origin] += amount
                pods[origin] += 1
                if pod.template.priority >= 0 and _keeps_place(pod):
                    kept.add(origin)
    user, most = next(iter(requested.most_common(1)), ("", 0))
    used = sum(state.capacity_nano.get(line.resource, 0) for state in nodes)
    if 2 * most > used:
        return replace(line, user=user, user_pods=pods[user])
    user = max(kept, key=lambda origin: requested[origin], default="")
    if not user:
        return line
    return replace(line, user=user, user_pods=pods[user], placeholders=_limit_text(line.resource, requested[user]))


def _keeps_place(pod: Pod) -> bool:
    """Return whether a pod is a placeholder."""
    return all(map(PAUSE_IMAGE.search, pod.template.images))


def _with_types(view: ClusterView, line: LimitLine) -> LimitLine:
    """Return a limit with whether an allowed instance type still fits under it."""
    types = types_of_pool(view, line.pool)
    uses = limit_uses(types) if types is not None else ()
    use = next((use for use in uses if use.resource == line.resource and use.smallest is not None), None)
    if use is None or use.is_closed:
        return line
    return replace(line, spares_types=True) if use.smallest == 0 else replace(line, since_ns=0, is_open=True)


def _created_ns(state: StateNode) -> int:
    item = state.node or state.claim
    return item.created_ns if item is not None else 0


def _limit_text(resource: str, nano: int) -> str:
    """Return an amount as limits have it: cpu in cores."""
    if resource != resources.CPU:
        return amount_text(resource, nano)
    return f"{nano / NANO:,.2f}".rstrip("0").removesuffix(".")


def _fullest(pool: NodePool, nodes: Sequence[StateNode]) -> LimitLine | None:
    """Return the first limit that is used up, or almost, and since when; else the one closest to it."""
    limits = pool.limits or {}
    fullest: tuple[float, LimitLine] | None = None
    for name in pool.limited:
        limit = limits[name]
        if name == resources.NODES and pool.is_static:
            continue
        if not limit.nano:
            return LimitLine(pool.name, f"{name} 0", resource=name, is_open=True, is_zero=True)
        enough = as_good_as_full(name, limit.nano)
        used, since_ns = 0, 0
        for state in nodes:
            used += state.capacity_nano.get(name, 0)
            since_ns = since_ns or (_created_ns(state) if used >= enough else 0)
        text = f"{name} {_limit_text(name, used)} of {_limit_text(name, limit.nano)}"
        line = LimitLine(pool.name, text, since_ns, name, is_open=not since_ns)
        if since_ns:
            return line
        if fullest is None or used / limit.nano > fullest[0]:
            fullest = used / limit.nano, line
    return fullest[1] if fullest is not None else None
