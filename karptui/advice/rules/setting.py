"""The controller's settings and metrics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity, rule
from karptui.advice.words import listed, span
from karptui.aws.capacity import estimated_memory_mib
from karptui.aws.ledger import rounded_up, safe_overhead_percent
from karptui.karpenter.controller import ControllerInfo
from karptui.karpenter.labels import SPOT
from karptui.kube.timestamps import HOUR_NS, MINUTE_NS
from karptui.kube.units import counted, mebibytes_text, verb
from karptui.whatif.edits import ObjectRef, SetSetting

_MINUTES: Final = {"single": 3, "multi": 1}
"""Maximum duration of a pass in minutes, by the metric's ``consolidation_type``."""


@rule(
    "setting-consolidation-timeouts",
    title="consolidation runs out of time",
    what="Karpenter's metrics can be read, and karpenter_voluntary_disruption_consolidation_timeouts_total is not 0.",
    why="Karpenter stops a pass over single nodes after 3 minutes, and over several nodes after 1 minute. Nodes at the "
    "end of the list are evaluated late or never, and the largest combined savings are missed. Removable nodes stay, "
    "without an event.",
    source="pkg/controllers/disruption/singlenodeconsolidation.go and multinodeconsolidation.go",
    remedy="Give the controller more cpu. Reduce pending pods, because each is scheduled again for every evaluated "
    "node. Use few NodePools, and required instead of preferred affinity.",
)
def _consolidation_timeouts(context: AdviceContext) -> Iterator[Finding]:
    metrics = context.evidence.metrics
    if metrics is None or not metrics.is_leader or not metrics.started_at_ns:
        return
    running_ns = metrics.read_at_ns - metrics.started_at_ns
    for kind, minutes in _MINUTES.items():
        times = metrics.consolidation_timeouts.get(kind, 0)
        if not times or running_ns <= 0:
            continue
        nodes = sum(len(context.nodes_of(pool)) for pool in context.pools)
        is_often = times * HOUR_NS >= running_ns
        yield Finding(
            severity=Severity.WARNING if is_often else Severity.INFO,
            objects=(ObjectRef("Setting", f"{kind}-node consolidation"),),
            fact=f"{kind.capitalize()}-node consolidation has run out of its {counted(minutes, 'minute')} "
            f"{counted(times, 'time')} in the {span(running_ns)} since Karpenter started; it has "
            f"{counted(nodes, 'node')} to evaluate.",
        )


@rule(
    "setting-gate-off",
    title="a feature gate is off",
    what="There are static NodePools (spec.replicas), NodeOverlays or CapacityBuffers, and their gate is off. It is an "
    "error if a static NodePool lacks nodes, or pending pods request a resource that only an overlay adds.",
    why="StaticCapacity, NodeOverlay and CapacityBuffer are off by default. The API server accepts the objects all the "
    "same, and nothing acts on them.",
    source="pkg/operator/options/options.go",
    remedy="Turn the gate on in FEATURE_GATES, or delete the objects.",
)
def _gate_off(context: AdviceContext) -> Iterator[Finding]:
    inventory = context.inventory
    static = [ObjectRef("NodePool", pool.name) for pool in context.pools if pool.is_static]
    lacks_nodes = any(len(context.nodes_of(pool)) < (pool.replicas or 0) for pool in context.pools if pool.is_static)
    overlays = [ObjectRef("NodeOverlay", overlay.name) for overlay in inventory.overlays]
    added = {name for overlay in inventory.overlays for name in overlay.capacity}
    lacks_added = any(not added.isdisjoint(pod.requests) for pod in context.solution.failed)
    buffers = [ObjectRef("CapacityBuffer", buffer.name, buffer.namespace) for buffer in inventory.capacity_buffers]
    for gate, kind, refs, effect in (
        (
            "StaticCapacity",
            "static NodePool",
            static,
            f"{verb(len(static), 'its', 'their')} replicas are not maintained",
        ),
        ("NodeOverlay", "NodeOverlay", overlays, "prices and extended resources stay as the provider has them"),
        ("CapacityBuffer", "CapacityBuffer", buffers, f"no room is kept for {verb(len(buffers), 'it', 'them')}"),
    ):
        if refs and not context.settings.gate(gate):
            is_missed = (gate == "StaticCapacity" and lacks_nodes) or (gate == "NodeOverlay" and lacks_added)
            severity = Severity.ERROR if is_missed else Severity.WARNING
            yield Finding(
                severity=Severity.INFO if context.is_assumed("FEATURE_GATES") else severity,
                objects=tuple(refs),
                fact=f"{counted(len(refs), kind)} ({listed(ref.key for ref in refs)}) "
                f"{verb(len(refs), 'needs', 'need')} the feature gate {gate}, which is off"
                f"{context.doubt('FEATURE_GATES')}: {effect}.",
                edits=(SetSetting(f"FEATURE_GATES.{gate}", "true"),),
            )


_PATIENCE_NS: Final = 15 * MINUTE_NS


@rule(
    "setting-no-spot-prices",
    title="spot counts at on-demand prices",
    what="Karpenter's metrics can be read, it has run for 15 minutes, and no spot price differs from the on-demand "
    "price of the same offering.",
    why="Until it has read spot prices, Karpenter uses each type's on-demand price instead. A filter at launch then "
    "drops the spot offerings of every type dearer than the cheapest on-demand type, so that a mixed NodePool "
    "collapses to its cheapest type.",
    source="pkg/providers/pricing/pricing.go and pkg/providers/instance/filter/filter.go of the AWS provider",
    remedy="Allow the controller ec2:DescribeSpotPriceHistory, and check that it can reach the EC2 API.",
)
def _no_spot_prices(context: AdviceContext) -> Iterator[Finding]:
    metrics = context.evidence.metrics
    if metrics is None or not metrics.is_leader or metrics.has_spot_prices or not metrics.started_at_ns:
        return
    running_ns = metrics.read_at_ns - metrics.started_at_ns
    if running_ns < _PATIENCE_NS or not any(name.capacity_type == SPOT for name in metrics.offerings):
        return
    yield Finding(
        severity=Severity.WARNING,
        objects=(ObjectRef("Setting", "spot prices"),),
        fact=f"Karpenter has run for {span(running_ns)} and every spot price in its metrics is the on-demand price of "
        "its type: it has not read spot prices.",
    )


_OVERHEAD: Final = "VM_MEMORY_OVERHEAD_PERCENT"
_WORTH_BYTES: Final = 1 << 30
"""Minimum gain on the largest running type that justifies a finding."""


@rule(
    "setting-overhead-high",
    title="the memory overhead is too high",
    what="All types that run report more memory than VM_MEMORY_OVERHEAD_PERCENT leaves, one of them by 1Gi or more.",
    why="Until a node of a type has registered, Karpenter computes its memory as the advertised size less this share, "
    "0.075 unless it is set. Large instances lose far less, so a pod that fits the real node is sent to a larger "
    "type. Once a node has reported, its memory is used for the type and NodeClass. A NodeOverlay cannot change "
    "memory.",
    source="memory in pkg/providers/instancetype/types.go of the AWS provider",
    remedy="Set VM_MEMORY_OVERHEAD_PERCENT on the controller to the suggested share. It applies to every type, also "
    "without nodes: leave a margin if pools allow very different families.",
)
def _overhead_high(context: AdviceContext) -> Iterator[Finding]:
    reported = context.reported_types
    safe = safe_overhead_percent((reported_type.facts, reported_type.memory_bytes) for reported_type in reported)
    percent = context.settings.vm_memory_overhead_percent
    if safe is None or safe >= percent:
        return
    gaps = [(r.memory_bytes - (estimated_memory_mib(r.facts, percent) << 20), r) for r in reported]
    gap, worst = max(gaps, key=lambda pair: (pair[0], pair[1].facts.name))
    if gap < _WORTH_BYTES:
        return
    suggested = rounded_up(safe)
    assumed = ", assumed because it is unknown" if context.is_assumed(_OVERHEAD) else ""
    nodes = sum(reported_type.nodes for reported_type in reported)
    yield Finding(
        severity=Severity.INFO if context.is_assumed(_OVERHEAD) else Severity.WARNING,
        objects=(ObjectRef("Setting", _OVERHEAD),),
        fact=f"{_OVERHEAD} is {percent:g}{assumed}; {counted(nodes, 'node')} of "
        f"{counted(len(reported), 'type')} {verb(nodes, 'reports', 'report')} more memory than that leaves, "
        f"{worst.facts.name} {mebibytes_text(gap)} more. {suggested:g} would not overestimate any of them; it takes "
        "effect for types that Karpenter has not seen.",
        edits=(SetSetting(_OVERHEAD, f"{suggested:g}"),),
    )


@rule(
    "setting-overhead-low",
    title="the memory overhead is too low",
    what="Nodes of some types report less memory than VM_MEMORY_OVERHEAD_PERCENT leaves.",
    why="Karpenter packs the first node of a type to the estimate. If the real node is smaller, the pods it was "
    "launched for do not fit, stay pending and get another node of the same kind, until the memory has been learned.",
    source="memory in pkg/providers/instancetype/types.go of the AWS provider",
    remedy="Raise VM_MEMORY_OVERHEAD_PERCENT to the suggested share.",
)
def _overhead_low(context: AdviceContext) -> Iterator[Finding]:
    percent = context.settings.vm_memory_overhead_percent
    short = [
        (r, lacking)
        for r in context.reported_types
        if (lacking := (estimated_memory_mib(r.facts, percent) << 20) - r.memory_bytes) >= 1 << 20
    ]
    safe = safe_overhead_percent((reported_type.facts, reported_type.memory_bytes) for reported_type, _ in short)
    if safe is None:
        return
    names = (f"{reported_type.facts.name} by {mebibytes_text(lacking)}" for reported_type, lacking in short)
    suggested = rounded_up(safe)
    assumed = ", assumed because it is unknown," if context.is_assumed(_OVERHEAD) else ""
    yield Finding(
        severity=Severity.INFO if context.is_assumed(_OVERHEAD) else Severity.WARNING,
        objects=(ObjectRef("Setting", _OVERHEAD),),
        fact=f"{_OVERHEAD} {percent:g}{assumed} overestimates {counted(len(short), 'type')} that "
        f"{verb(len(short), 'runs', 'run')} ({listed(names)}): a first node of the type is smaller than planned, and "
        f"its pods may not fit. From {suggested:g} on none is overestimated.",
        edits=(SetSetting(_OVERHEAD, f"{suggested:g}"),),
    )


@rule(
    "setting-reserved-enis",
    title="RESERVED_ENIS keeps kubeReserved",
    what="RESERVED_ENIS is above 0 and the cluster has EC2NodeClasses.",
    why="The setting subtracts interfaces from the pod limit. Its help text says that kubeReserved follows; since "
    "version 1.6 it does not on AL2, AL2023 and Custom.",
    source="pkg/operator/options/options.go and pkg/providers/instancetype/types.go of the AWS provider",
    remedy="Set spec.kubelet.kubeReserved memory yourself if the difference matters.",
)
def _reserved_enis(context: AdviceContext) -> Iterator[Finding]:
    count = context.settings.reserved_enis
    if count and context.ec2_nodeclasses:
        yield Finding(
            severity=Severity.INFO,
            objects=(ObjectRef("Setting", "RESERVED_ENIS"),),
            fact=f"RESERVED_ENIS is {count}: every type has fewer pod slots, and the memory reserved for the kubelet "
            "stays that of all interfaces, except on Bottlerocket and Windows.",
        )


@rule(
    "setting-others-labelled",
    title="something else is labelled as Karpenter",
    what="Deployments or pods that are not recognizable as Karpenter have the label app.kubernetes.io/name=karpenter.",
    why="Tools find Karpenter by that label. karptui reads settings and prices only from kube-system, from a service "
    "account that may write NodeClaims, or from the holder of the lease karpenter-leader-election next to NodePools "
    "that Karpenter has written. Other tools may trust any pod with the label. Two controllers on the same NodePools "
    "work against each other.",
    source="pkg/operator/options/options.go for the lease; the chart of the AWS provider for the label",
    remedy="Ask the owners about these pods, and remove the label or the second Karpenter.",
)
def _others_labelled(context: AdviceContext) -> Iterator[Finding]:
    evidence = context.evidence
    if not evidence.others_labelled:
        return
    others = evidence.others_labelled
    refs = [(kind, *key.partition("/")[::2]) for kind, _, key in (other.partition(" ") for other in others)]
    if evidence.controller is None:
        besides = "but not recognizable as Karpenter; karptui ignores the settings and prices there"
    else:
        besides = (
            f"in addition to {evidence.controller.title}; settings and prices are taken from "
            f"{evidence.controller.title} alone"
        )
    yield Finding(
        severity=Severity.WARNING,
        objects=tuple(ObjectRef(kind, name, namespace) for kind, namespace, name in refs),
        fact=f"{listed(others)} {verb(len(refs), 'is', 'are')} labelled as Karpenter {besides}.",
    )


@rule(
    "setting-unread",
    title="a setting that cannot be parsed",
    what="An environment variable of the controller is not a valid number, boolean or duration.",
    why="Numbers, booleans and durations that cannot be parsed leave the default in force, without a message.",
    source="pkg/utils/env/env.go",
    remedy="Use a form that Karpenter can parse: 0.075, true, 30s.",
)
def _unread(context: AdviceContext) -> Iterator[Finding]:
    for name in context.settings.unread:
        value = context.settings.environment.get(name, "")
        yield Finding(
            severity=Severity.WARNING,
            objects=(ObjectRef("Setting", name),),
            fact=f'{name} is "{value}", which Karpenter cannot parse: it silently uses the default.',
        )


@rule(
    "setting-version",
    title="another version is modelled",
    what="Karpenter's metrics, image or labels show a version that karptui does not model. It models 1.14 and 1.15.",
    why="All results follow the source of the nearest version of Karpenter. Rules change between minor versions: when "
    "a node counts as empty, the order of candidates, which gates there are.",
    source="pkg/operator/operator.go for the reported version, and the tags of Karpenter's repository",
    remedy="Read verdicts of another minor version with care, and check surprising ones against Karpenter's events.",
)
def _version(context: AdviceContext) -> Iterator[Finding]:
    version = context.evidence.karpenter_version
    if sentence := ControllerInfo(title="", version=version).version_sentence:
        yield Finding(severity=Severity.WARNING, objects=(ObjectRef("Setting", "version"),), fact=f"{sentence}.")
