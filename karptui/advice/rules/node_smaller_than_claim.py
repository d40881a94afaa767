"""Nodes that offer less than their NodeClaims promised."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import node_refs
from karptui.advice.rule import Rule
from karptui.advice.words import counted, listed, nano_amount, verb
from karptui.karpenter.labels import INSTANCE_TYPE
from karptui.kube.resources import CPU, MEMORY, PODS, nano
from karptui.provisioning.state_node import StateNode

_SLACK: Final = 100
"""A hundredth of an amount is measurement, not a difference."""


def _find(context: AdviceContext) -> Iterator[Finding]:
    by_resource: dict[str, list[tuple[int, StateNode]]] = {}
    for state in context.fleet.nodes:
        if state.node is None or state.claim is None or not state.is_initialized:
            continue
        for resource in (CPU, MEMORY, PODS):
            promised, real = nano(state.claim.allocatable, resource), nano(state.node.allocatable, resource)
            if real and promised - real > promised // _SLACK:
                by_resource.setdefault(resource, []).append((promised - real, state))
    for resource, found in by_resource.items():
        found.sort(key=lambda pair: (-pair[0], pair[1].name))
        gap, worst = found[0]
        types = dict.fromkeys(state.labels.get(INSTANCE_TYPE, "") for _, state in found)
        yield Finding(
            severity=Severity.WARNING,
            objects=node_refs(state for _, state in found),
            fact=f"{counted(len(found), 'node')} ({listed(types)}) {verb(len(found), 'offers', 'offer')} less "
            f"{resource} than the NodeClaim said, {worst.name} {nano_amount(gap, resource)} less: pods that Karpenter "
            "makes such a node for may not fit.",
        )


RULE: Final = Rule(
    id="node-smaller-than-claim",
    title="a node smaller than promised",
    what="An initialised node's allocatable cpu, memory or pods is more than one percent below its NodeClaim's.",
    why="The NodeClaim carries what Karpenter planned with. A node that offers less, because of kubelet settings, the "
    "image or the memory overhead, cannot take the pods it was made for; they wait, and another node of the kind "
    "comes.",
    source="pkg/controllers/nodeclaim/consistency/nodeshape.go",
    remedy="Bring spec.kubelet of the NodeClass in line with what the image sets, or raise VM_MEMORY_OVERHEAD_PERCENT.",
    find=_find,
)
