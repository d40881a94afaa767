"""Consolidation candidates that stay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.rule import Rule
from karptui.advice.words import counted, listed, span, verb
from karptui.disruption.drain import Stage
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.whatif.edits import ObjectRef

_SAID: Final = frozenset({"ConsolidationCandidate", "ConsolidationApproved"})
_LONG_NS: Final = 30 * 60 * NS_PER_SECOND


def _find(context: AdviceContext) -> Iterator[Finding]:
    first: dict[str, int] = {}
    times = 0
    for event in context.inventory.events:
        if event.reason not in _SAID or event.involved_kind != "Node":
            continue
        node = context.node_by_name.get(event.involved_name)
        is_old = 0 < event.first_ns < context.now_ns - _LONG_NS
        if node is None or node.is_marked_for_deletion or event.count < 2 or not is_old:
            continue
        known = context.findings.get(f"claim/{node.claim.name}") if node.claim is not None else None
        if known is not None and known.drain is not None and known.drain.stage is not Stage.WANTED:
            continue
        first[event.involved_name] = min(first.get(event.involved_name, event.first_ns), event.first_ns)
        times += event.count
    if first:
        yield Finding(
            severity=Severity.INFO,
            objects=tuple(ObjectRef("Node", name) for name in first),
            fact=f"{counted(len(first), 'node')} ({listed(first)}) {verb(len(first), 'has', 'have')} been called a "
            f"consolidation candidate {times:,} times for up to {span(context.now_ns - min(first.values()))} and "
            f"{verb(len(first), 'is', 'are')} still here: the event is written "
            "before scoring and validation, and decides nothing.",
        )


RULE: Final = Rule(
    id="node-candidate-only",
    title="a candidate is no decision",
    what="Events have called a node ConsolidationCandidate or ConsolidationApproved more than once over half an hour.",
    why="ConsolidationCandidate is published while moves are computed, also for moves that a later rule refuses; "
    "ConsolidationApproved of the Balanced policy comes before the fifteen seconds of validation, which a new pod, a "
    "nomination or a changed budget cancels.",
    source="pkg/controllers/disruption/consolidation.go, balanced.go and validation.go",
    remedy="Look at the node's gates: what changes within the validation time, most often pods that come and go.",
    find=_find,
)
