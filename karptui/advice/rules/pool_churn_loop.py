"""Nodes that come and go in circles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.churn import longer_after, loop_fact, remedies
from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.advice.words import span
from karptui.whatif.edits import SetField


def _find(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.pools:
        loops = [loop for loop in context.loops if loop.pool == pool.name]
        if not loops:
            continue
        after_ns = longer_after(loops, pool)
        path = ("spec", "disruption", "consolidateAfter")
        yield Finding(
            severity=Severity.WARNING,
            objects=(pool_ref(pool),),
            fact=" ".join(map(loop_fact, loops)),
            remedy=" ".join(remedies(loops, pool)),
            edits=(SetField(pool_ref(pool), path, span(after_ns)),) if after_ns is not None else (),
        )


RULE: Final = Rule(
    id="pool-churn-loop",
    title="nodes come and go in circles",
    what="At least three times in the time that is known, Karpenter took a node away within half an hour of its "
    "creation; or took one away as underutilized or empty and launched the same type in its place or within 15 "
    "minutes; or created a NodeClaim that never became a node.",
    why="Consolidation looks at the present moment: a node is taken away as soon as its pods fit elsewhere, and pods "
    "that come a minute later need it again. Every round costs launches, evictions, and pods that start cold. The time "
    "that is known is that of the events the API server still has, an hour as a rule, and what karptui saw go itself.",
    source="pkg/controllers/disruption/queue.go, pkg/controllers/nodeclaim/disruption/consolidation.go and "
    "pkg/controllers/nodeclaim/lifecycle",
    remedy="Raise consolidateAfter above the time between two waves of pods, take policy Balanced or WhenEmpty, or "
    "give short-lived pods a NodePool of their own; the Churn screen shows the rounds one by one.",
    find=_find,
)
