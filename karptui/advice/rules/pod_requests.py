"""Pods that stay pending, and pod requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from karptui.advice.context import AdviceContext, PodGroup
from karptui.advice.finding import Finding, Severity, rule
from karptui.advice.words import at_cost, listed, owner_refs, pool_ref, ref_text, share, span
from karptui.disruption.events import NOMINATED
from karptui.kube import resources
from karptui.kube.group import group_by
from karptui.kube.pod import Pod
from karptui.kube.quantity import NANO, NANO_PER_MILLI
from karptui.kube.resources import CPU, MEMORY
from karptui.kube.timestamps import MINUTE_NS
from karptui.kube.units import counted, cpu_text, mebibytes_text, verb
from karptui.kube.usage import Used
from karptui.provisioning.ports import OwnedPorts, clash
from karptui.provisioning.state_node import StateNode
from karptui.whatif.edits import ObjectRef


@rule(
    "pod-fails-silently",
    title="pending pods that Karpenter ignores",
    what="Unschedulable pods fail Karpenter's validation, or their requirements exclude all NodePools.",
    why="Before it plans, Karpenter drops pods with a required term on kubernetes.io/hostname or another label that it "
    "may not set, with an unknown tenancy or capacity type, or with volumes that cannot be resolved: they only get "
    "an event. karpenter.sh/nodepool DoesNotExist, even as the strongest preference, drops a pod without an event."
    "",
    source="Validate in pkg/controllers/provisioning/provisioner.go",
    remedy="Fix the term or the volume that the event names; remove the DoesNotExist term if Karpenter should "
    "schedule the pod.",
)
def _fails_silently(context: AdviceContext) -> Iterator[Finding]:
    by_cause = group_by(context.prepared.ignored, lambda pod: "; ".join(pod.problems))
    for cause, pods in sorted(by_cause.items()):
        is_silent = not cause
        owners = tuple(dict.fromkeys(context.owner_of(pod.pod) for pod in pods))
        text = (
            f"{verb(len(pods), 'it asks', 'they ask')} for karpenter.sh/nodepool DoesNotExist, which excludes the pods "
            "even as a preference, without error or event"
            if is_silent
            else f"only an event on the pod reports it: {cause}"
        )
        yield Finding(
            severity=Severity.WARNING if is_silent else Severity.ERROR,
            objects=owners,
            fact=f"{counted(len(pods), 'pending pod')} ({listed(map(ref_text, owners))}) "
            f"{verb(len(pods), 'is', 'are')} ignored by Karpenter; {text}.",
        )


@rule(
    "pod-host-port-daemonset",
    title="host port used by a DaemonSet",
    what="On every instance type of every NodePool open to a pod, a DaemonSet uses a host port that the pod requests.",
    why="Karpenter drops types whose DaemonSets conflict with the pod's ports without counting them, so its error "
    "names requirements, resources and offerings, but not ports.",
    source="pkg/controllers/provisioning/scheduling/nodeclaim.go",
    remedy="Use another port, or keep the DaemonSet off a NodePool for these pods.",
)
def _host_port_daemonset(context: AdviceContext) -> Iterator[Finding]:
    for group in context.workload_groups:
        if group.template.host_ports and (finding := _blocking_daemonsets(context, group)) is not None:
            yield finding


def _blocking_daemonsets(context: AdviceContext, group: PodGroup) -> Finding | None:
    """Return a finding where on every type of every NodePool open to the pods a DaemonSet has the port."""
    templates = [t for t in context.prepared.templates if t.pool in context.pools_for(group.template)]
    taken: list[OwnedPorts] = []
    for template in templates:
        for daemon_group in template.groups:
            conflict = clash("", group.template.host_ports, daemon_group.ports)
            if conflict is None:
                return None
            taken.append((conflict[0], (conflict[1],)))
    if not taken:
        return None
    daemon, (port, *_) = taken[0]
    waiting = sum(1 for pod in group.pods if not pod.node_name)
    return Finding(
        severity=Severity.ERROR if waiting else Severity.WARNING,
        objects=(group.owner,),
        fact=f"{counted(len(group.pods), 'pod')} of {ref_text(group.owner)} "
        f"{verb(len(group.pods), 'requests', 'request')} "
        f"host port {port.port}/{port.protocol}, which the DaemonSet pod {daemon} uses on every new node: "
        f"{verb(len(group.pods), 'it fits', 'they fit')} on none ({counted(waiting, 'is pending', 'are pending')}). "
        "Karpenter's error names only requirements, resources or offerings.",
    )


_MANY: Final = 10
"""Denominator of the share of pods that makes it a warning."""


@rule(
    "pod-no-requests",
    title="pods without requests",
    what="Pods on Karpenter's nodes, other than DaemonSet pods, request neither cpu nor memory.",
    why="Karpenter plans with requests alone. Pods without them fit anywhere, are packed by the hundred onto small "
    "nodes, and are the first to be evicted when memory runs out; low usage makes no room and high usage takes none.",
    source="pkg/utils/resources/resources.go",
    remedy="Set requests, at least by a LimitRange of the namespace: memory for the peak, cpu for typical usage.",
)
def _no_requests(context: AdviceContext) -> Iterator[Finding]:
    groups = [
        group
        for group in context.workload_groups
        if not any((amount := group.template.requests.get(name)) is not None and amount.nano for name in (CPU, MEMORY))
        and context.nodes_with(group.pods)
    ]
    if not groups:
        return
    pods = sum(len(group.pods) for group in groups)
    total = sum(len(group.pods) for group in context.workload_groups)
    owners = owner_refs(groups)
    yield Finding(
        severity=Severity.WARNING if _MANY * pods >= total else Severity.INFO,
        objects=owners,
        fact=f"{share(pods, total, 'workload pod')} {verb(pods, 'requests', 'request')} neither cpu nor memory "
        f"({listed(map(ref_text, owners))}): for Karpenter {verb(pods, 'it uses', 'they use')} only a pod slot, "
        f"so {counted(len(owners), 'workload')} may be packed onto nodes without the room they use.",
    )


@rule(
    "pod-no-usable-pool",
    title="no NodePool is usable at all",
    what="Pods are pending, and no NodePool is ready, dynamic and not being deleted.",
    why="Without a usable NodePool the provisioner stops before it looks at pods. It reports this in metrics and "
    "logs it once; the pods stay pending.",
    source="pkg/controllers/provisioning/provisioner.go",
    remedy="Create a NodePool, or make one ready; pool-not-ready names the conditions.",
)
def _no_usable_pool(context: AdviceContext) -> Iterator[Finding]:
    waiting = context.prepared.pending
    if not waiting or context.ready_pools:
        return
    among = f"none of {counted(len(context.pools), 'NodePool')} is usable"
    missing = f"{among} (ready, not static, not being deleted)" if context.pools else "there is no NodePool"
    pods = tuple(ObjectRef("Pod", pod.name, pod.namespace) for pod in waiting)
    yield Finding(
        severity=Severity.ERROR,
        objects=tuple(map(pool_ref, context.pools)) or pods,
        fact=f"{counted(len(waiting), 'pod')} {verb(len(waiting), 'is', 'are')} pending, and {missing}: "
        f"Karpenter reports neither error nor event for {verb(len(waiting), 'it', 'them')}.",
    )


_LONG_NS: Final = 10 * MINUTE_NS
_FEWEST: Final = 3


@rule(
    "pod-nominated-limbo",
    title="pods nominated again and again",
    what="A pending pod has been nominated three times or more, for more than ten minutes and within the last ten.",
    why="Karpenter found room on an existing node or on one in flight, but kube-scheduler disagrees, because of a "
    "scheduler plugin, a volume limit, ports, or a node with less than planned. Karpenter launches no further node "
    "for the pod, and each nomination keeps its node from being disrupted for some twenty seconds more.",
    source="pkg/controllers/provisioning/scheduling/events.go and Nominate in pkg/controllers/state/statenode.go",
    remedy="Compare both messages on the Pending screen; kube-scheduler names the rule that Karpenter ignores.",
)
def _nominated_limbo(context: AdviceContext) -> Iterator[Finding]:
    waiting = {pod.key: pod for pod in context.prepared.pending}
    events = [
        event
        for event in context.inventory.events
        if event.reason == NOMINATED
        and event.involved_kind == "Pod"
        and f"{event.involved_namespace}/{event.involved_name}" in waiting
        and event.count >= _FEWEST
        and 0 < event.first_ns < context.now_ns - _LONG_NS
        and event.last_ns > context.now_ns - _LONG_NS
    ]
    if not events:
        return
    pods = [waiting[f"{event.involved_namespace}/{event.involved_name}"] for event in events]
    owners = tuple(dict.fromkeys(map(context.owner_of, pods)))
    text = next((pod.scheduled_message for pod in pods if pod.scheduled_message), "")
    quoted = f' kube-scheduler: "{text}"' if text else ""
    yield Finding(
        severity=Severity.WARNING,
        objects=owners,
        fact=f"{counted(len(pods), 'pod')} ({listed(map(ref_text, owners))}) {verb(len(pods), 'has', 'have')} been "
        f"nominated up to {max(event.count for event in events):,} times over "
        f"{span(context.now_ns - min(event.first_ns for event in events))} ({events[0].message}) and still "
        f"{verb(len(pods), 'is', 'are')} pending: Karpenter thinks {verb(len(pods), 'it fits', 'they fit')}, and "
        f"a nominated node is not disrupted.{quoted}",
    )


@rule(
    "pod-pending-in-simulations",
    title="pending pods slow consolidation",
    what="Pods have been unschedulable for more than ten minutes, and Karpenter manages nodes.",
    why="Every simulated removal also schedules the pending pods. If one of them needs a new node, that node counts as "
    "a replacement, and a deletion becomes a more expensive replacement or is dropped.",
    source="SimulateScheduling in pkg/controllers/disruption/helpers.go",
    remedy="Remove the cause of the pending pods; the Pending screen shows it.",
)
def _pending_in_simulations(context: AdviceContext) -> Iterator[Finding]:
    waiting = [pod for pod in context.prepared.pending if 0 < pod.scheduled_ns < context.now_ns - _LONG_NS]
    if not waiting or not any(context.nodes_of(pool) for pool in context.pools):
        return
    owners = tuple(dict.fromkeys(map(context.owner_of, waiting)))
    oldest = min(pod.scheduled_ns for pod in waiting)
    yield Finding(
        severity=Severity.INFO,
        objects=owners,
        fact=f"{counted(len(waiting), 'pod')} ({listed(map(ref_text, owners))}) {verb(len(waiting), 'has', 'have')} "
        f"been pending for up to {span(context.now_ns - oldest)}: every simulated removal of a node has to place "
        f"{verb(len(waiting), 'it', 'them')} too, which can turn a delete into a replacement or prevent it.",
    )


_TIMES: Final = 4
"""Minimum ratio of requests to usage."""
_LEAST_CPU_MILLIS: Final = 1_000
_LEAST_MEMORY_BYTES: Final = 4 << 30
"""Minimum unused amount of all pods of a workload."""


class _Measured(NamedTuple):
    """A pod of a managed node with its measured usage."""

    pod: Pod
    node: StateNode
    used: Used


class _Waste(NamedTuple):
    """Requested and used amount of one resource, for the pods of one workload."""

    resource: str
    requested: int
    used: int
    """The sum of the most that each pod was seen to use."""
    nodes: float
    """The unused requests as a share of the nodes that the pods run on."""
    per_hour: float | None
    """Cost of that share of the nodes."""

    @property
    def text(self) -> str:
        unit = cpu_text if self.resource == resources.CPU else mebibytes_text
        name = "cpu" if self.resource == resources.CPU else "memory"
        return f"{name} {unit(self.requested)}, used {unit(self.used)}"


@rule(
    "pod-requests-above-usage",
    title="requests far above usage",
    what="The pods of a workload on Karpenter's nodes request at least four times the cpu or memory of their measured "
    "usage, and leave at least a core or 4Gi unused in total. Needs metrics-server, which karptui queries while "
    "a history is recorded, or Pods, Advice, a node or the wide Nodes are on the screen; `karptui advice --usage` "
    "queries it once.",
    why="Karpenter launches and removes nodes by requests, not by usage. A node full of requests stays however idle "
    "it is, and new nodes are sized by requests. One measurement shows no peaks: before you lower requests, look at "
    "several days and at the workload's start-up.",
    source="pkg/utils/resources/resources.go; metrics.k8s.io/v1beta1",
    remedy="Lower requests towards long-term measurements, or the recommendation of a VerticalPodAutoscaler; try the "
    "effect in the what-if.",
)
def _requests_above_usage(context: AdviceContext) -> Iterator[Finding]:
    if not context.usage.pods:
        return
    by_owner = group_by(context.workload_groups, lambda group: group.owner)
    for owner, groups in by_owner.items():
        pods = tuple(_measured(context, groups))
        wastes = [waste for name in (resources.CPU, resources.MEMORY) if (waste := _waste(context, pods, name))]
        if not wastes:
            continue
        costs = [waste.per_hour for waste in wastes if waste.per_hour is not None]
        per_hour = max(costs) if costs else None
        most = max(wastes, key=lambda waste: waste.nodes)
        yield Finding(
            severity=Severity.INFO,
            objects=(owner,),
            fact=f"{counted(len(pods), 'pod')} of {ref_text(owner)} request {'; '.join(waste.text for waste in wastes)}"
            f" ({_samples_text(pods)}). The unused requests take up to {most.nodes:.1f} of their nodes"
            f"{at_cost(per_hour)}.",
            per_hour=per_hour,
        )


def _measured(context: AdviceContext, groups: Iterable[PodGroup]) -> Iterator[_Measured]:
    for group in groups:
        for pod in group.pods:
            used, node = context.usage.pods.get(pod.key), context.node_by_name.get(pod.node_name)
            if used is not None and node is not None and node.claim is not None:
                yield _Measured(pod, node, used)


def _waste(context: AdviceContext, pods: Iterable[_Measured], name: str) -> _Waste | None:
    """Return the unused requests of a resource, or None if they are small."""
    is_cpu = name == resources.CPU
    unit = NANO_PER_MILLI if is_cpu else NANO
    requested = used = 0
    nodes, per_hour, is_priced = 0.0, 0.0, False
    for pod, node, seen in pods:
        request, peak = (
            resources.nano(pod.requests, name) // unit,
            seen.peak_cpu_millis if is_cpu else seen.peak_memory_bytes,
        )
        requested, used = requested + request, used + peak
        allocatable = node.allocatable_nano.get(name, 0) // unit
        if request > peak and allocatable:
            share = (request - peak) / allocatable
            price = context.price(node)
            nodes += share
            if price is not None:
                per_hour, is_priced = per_hour + share * price, True
    least = _LEAST_CPU_MILLIS if is_cpu else _LEAST_MEMORY_BYTES
    if requested < _TIMES * used or requested - used < least:
        return None
    return _Waste(name, requested, used, nodes, per_hour if is_priced else None)


def _samples_text(pods: Iterable[_Measured]) -> str:
    used = [pod.used for pod in pods]
    most = max(used, key=lambda used: used.samples)
    if most.samples == 1:
        return "one sample, which shows no peaks"
    return f"the most of {most.samples:,} samples seen over {span(most.latest.at_ns - most.first_ns)}"
