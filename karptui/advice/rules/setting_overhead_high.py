"""VM_MEMORY_OVERHEAD_PERCENT against what nodes report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.rule import Rule
from karptui.advice.words import counted, memory, verb
from karptui.aws.ledger import rounded_up, safe_overhead_percent
from karptui.aws.memory import estimated_memory_mib
from karptui.whatif.edits import ObjectRef, SetSetting

NAME: Final = "VM_MEMORY_OVERHEAD_PERCENT"
_WORTH_BYTES: Final = 1 << 30
"""Less than so much on the largest type that runs is not worth a setting."""


def _find(context: AdviceContext) -> Iterator[Finding]:
    reported = context.reported_types
    safe = safe_overhead_percent((one.facts, one.memory_bytes) for one in reported)
    percent = context.settings.vm_memory_overhead_percent
    if safe is None or safe >= percent:
        return
    gaps = [(one.memory_bytes - (estimated_memory_mib(one.facts, percent) << 20), one) for one in reported]
    gap, worst = max(gaps, key=lambda pair: (pair[0], pair[1].facts.name))
    if gap < _WORTH_BYTES:
        return
    suggested = rounded_up(safe)
    assumed = ", assumed as nobody tells it" if context.is_assumed(NAME) else ""
    nodes = sum(one.nodes for one in reported)
    yield Finding(
        severity=Severity.INFO if context.is_assumed(NAME) else Severity.WARNING,
        objects=(ObjectRef("Setting", NAME),),
        fact=f"{NAME} is {percent:g}{assumed}; {counted(nodes, 'node')} of "
        f"{counted(len(reported), 'type')} {verb(nodes, 'reports', 'report')} more memory than that leaves, "
        f"{worst.facts.name} {memory(gap)} more. {suggested:g} would not overestimate any of them; it takes effect "
        "for types that Karpenter has not seen.",
        edits=(SetSetting(NAME, f"{suggested:g}"),),
    )


RULE: Final = Rule(
    id="setting-overhead-high",
    title="the memory overhead is too high",
    what="All types that run report more memory than VM_MEMORY_OVERHEAD_PERCENT leaves, one of them by 1Gi or more.",
    why="Until a node of a type has registered, Karpenter reckons its memory as the advertised size less this share, "
    "0.075 unless it is set. Large instances lose far less, so a pod that fits the real node is sent to a larger type. "
    "Once a node has reported, its memory is used for the type and NodeClass. A NodeOverlay cannot change memory.",
    source="memory in pkg/providers/instancetype/types.go of the AWS provider",
    remedy="Set VM_MEMORY_OVERHEAD_PERCENT to the suggested share on the controller. It holds for every type, also for "
    "those that no node has reported yet: leave a margin if pools allow very different families.",
    find=_find,
)
