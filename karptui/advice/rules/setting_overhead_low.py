"""Types whose nodes have less memory than VM_MEMORY_OVERHEAD_PERCENT leaves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.rule import Rule
from karptui.advice.words import counted, listed, memory, verb
from karptui.aws.ledger import rounded_up, safe_overhead_percent
from karptui.aws.memory import estimated_memory_mib
from karptui.whatif.edits import ObjectRef, SetSetting

NAME: Final = "VM_MEMORY_OVERHEAD_PERCENT"


def _find(context: AdviceContext) -> Iterator[Finding]:
    percent = context.settings.vm_memory_overhead_percent
    short = [
        (one, lacking)
        for one in context.reported_types
        if (lacking := (estimated_memory_mib(one.facts, percent) << 20) - one.memory_bytes) >= 1 << 20
    ]
    safe = safe_overhead_percent((one.facts, one.memory_bytes) for one, _ in short)
    if safe is None:
        return
    names = (f"{one.facts.name} by {memory(lacking)}" for one, lacking in short)
    suggested = rounded_up(safe)
    assumed = ", assumed as nobody tells it," if context.is_assumed(NAME) else ""
    yield Finding(
        severity=Severity.INFO if context.is_assumed(NAME) else Severity.WARNING,
        objects=(ObjectRef("Setting", NAME),),
        fact=f"{NAME} {percent:g}{assumed} overestimates {counted(len(short), 'type')} that "
        f"{verb(len(short), 'runs', 'run')} ({listed(names)}): a first node of the type is smaller than planned, and "
        f"its pods may not fit. From {suggested:g} on none is overestimated.",
        edits=(SetSetting(NAME, f"{suggested:g}"),),
    )


RULE: Final = Rule(
    id="setting-overhead-low",
    title="the memory overhead is too low",
    what="Nodes of some types report less memory than VM_MEMORY_OVERHEAD_PERCENT leaves.",
    why="Karpenter packs the first node of a type to the estimate. If the real node is smaller, pods that it was made "
    "for do not fit, stay pending and get another node of the same kind, until the memory has been learned.",
    source="memory in pkg/providers/instancetype/types.go of the AWS provider",
    remedy="Raise VM_MEMORY_OVERHEAD_PERCENT to the suggested share.",
    find=_find,
)
