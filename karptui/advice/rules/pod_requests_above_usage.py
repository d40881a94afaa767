"""Workloads that request far more than they are seen to use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from karptui.advice.context import AdviceContext
from karptui.advice.facts.pods import PodGroup
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import ref_text
from karptui.advice.rule import Rule
from karptui.advice.words import at_cost, counted, memory, span
from karptui.kube import resources
from karptui.kube.live_usage import Used
from karptui.kube.pod import Pod
from karptui.kube.quantity import NANO, NANO_PER_MILLI
from karptui.provisioning.state_node import StateNode
from karptui.whatif.edits import ObjectRef

_TIMES: Final = 4
"""Requests are far above usage from so many times on."""
_LEAST_CPU_MILLIS: Final = 1_000
_LEAST_MEMORY_BYTES: Final = 4 << 30
"""What all pods of a workload must leave unused together."""


class _Measured(NamedTuple):
    """A pod of a managed node, with what it was seen to use."""

    pod: Pod
    node: StateNode
    used: Used


class _Waste(NamedTuple):
    """What pods of one workload request of one resource, and use."""

    resource: str
    requested: int
    used: int
    """The sum of the most that each pod was seen to use."""
    nodes: float
    """The unused requests as a share of the nodes that the pods run on."""
    per_hour: float | None
    """What that share of the nodes costs."""

    @property
    def text(self) -> str:
        unit = _cores if self.resource == resources.CPU else memory
        name = "cpu" if self.resource == resources.CPU else "memory"
        return f"{name} {unit(self.requested)}, used {unit(self.used)}"


def _find(context: AdviceContext) -> Iterator[Finding]:
    if not context.usage.pods:
        return
    by_owner: dict[ObjectRef, list[PodGroup]] = {}
    for group in context.workload_groups:
        by_owner.setdefault(group.owner, []).append(group)
    for owner, groups in by_owner.items():
        pods = tuple(_measured(context, groups))
        found = [waste for name in (resources.CPU, resources.MEMORY) if (waste := _waste(context, pods, name))]
        if not found:
            continue
        costs = [waste.per_hour for waste in found if waste.per_hour is not None]
        per_hour = max(costs) if costs else None
        most = max(found, key=lambda waste: waste.nodes)
        yield Finding(
            severity=Severity.INFO,
            objects=(owner,),
            fact=f"{counted(len(pods), 'pod')} of {ref_text(owner)} request {'; '.join(waste.text for waste in found)}"
            f" ({_seen(pods)}). What is requested and not used holds up to {most.nodes:.1f} nodes' worth"
            f"{at_cost(per_hour)} of those they run on.",
            per_hour=per_hour,
        )


def _measured(context: AdviceContext, groups: Iterable[PodGroup]) -> Iterator[_Measured]:
    for group in groups:
        for pod in group.pods:
            used, node = context.usage.pods.get(pod.key), context.node_by_name.get(pod.node_name)
            if used is not None and node is not None and node.claim is not None:
                yield _Measured(pod, node, used)


def _waste(context: AdviceContext, pods: Iterable[_Measured], name: str) -> _Waste | None:
    """Return what is requested of a resource and not used; None where that is not much."""
    is_cpu = name == resources.CPU
    unit = NANO_PER_MILLI if is_cpu else NANO
    requested = used = 0
    nodes, per_hour, is_priced = 0.0, 0.0, False
    for pod, node, seen in pods:
        asked, peak = (
            resources.nano(pod.requests, name) // unit,
            seen.peak_cpu_millis if is_cpu else seen.peak_memory_bytes,
        )
        requested, used = requested + asked, used + peak
        allocatable = node.allocatable_nano.get(name, 0) // unit
        if asked > peak and allocatable:
            share = (asked - peak) / allocatable
            price = context.price(node)
            nodes += share
            if price is not None:
                per_hour, is_priced = per_hour + share * price, True
    least = _LEAST_CPU_MILLIS if is_cpu else _LEAST_MEMORY_BYTES
    if requested < _TIMES * used or requested - used < least:
        return None
    return _Waste(name, requested, used, nodes, per_hour if is_priced else None)


def _seen(pods: Iterable[_Measured]) -> str:
    """Return what the measurements are worth."""
    used = [one.used for one in pods]
    most = max(used, key=lambda one: one.samples)
    if most.samples == 1:
        return "one sample, which says nothing of peaks"
    return f"the most of {most.samples:,} samples seen over {span(most.latest.at_ns - most.first_ns)}"


def _cores(millis: int) -> str:
    return f"{millis}m" if millis < 10_000 else f"{millis / 1000:.1f}"


RULE: Final = Rule(
    id="pod-requests-above-usage",
    title="requests far above usage",
    what="The pods of a workload on Karpenter's nodes request at least four times the cpu, or memory, that they were "
    "seen to use, and leave a core or 4Gi of it unused together. Needs metrics-server, which is asked while Pods, "
    "Advice, a node or the wide Nodes are looked at; `karptui advice --usage` asks once.",
    why="Requests alone decide which nodes there are and which may go; usage frees nothing. A node full of requests "
    "is kept however idle it is, and every new one is sized by requests. One measurement says nothing of peaks: look "
    "at days before lowering anything, and at the workload's own start-up.",
    source="pkg/utils/resources/resources.go; metrics.k8s.io/v1beta1",
    remedy="Lower requests towards what long measurements, or a VerticalPodAutoscaler in recommendation mode, say; try "
    "in the what-if what the cluster comes to.",
    find=_find,
)
