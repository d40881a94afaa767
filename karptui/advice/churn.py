"""Churn loops as text, with their remedies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

from karptui.advice.words import span
from karptui.disruption.churn.life import Removal
from karptui.disruption.churn.loops import AGAIN_NS, SHORT_NS, Loop, LoopKind
from karptui.karpenter.nodepool import BALANCED, NodePool
from karptui.kube.timestamps import MINUTE_NS, NS_PER_SECOND
from karptui.kube.units import counted, verb

AFTER_NS: Final = tuple(minutes * MINUTE_NS for minutes in (5, 15, 30, 60, 120))
"""What consolidateAfter may be raised to."""
_CONSOLIDATED: Final = frozenset({Removal.UNDERUTILIZED, Removal.EMPTY})


def clock(instant_ns: int) -> str:
    """Return ``12:00Z``."""
    return f"{datetime.fromtimestamp(instant_ns // NS_PER_SECOND, UTC):%H:%M}Z"


def loop_fact(loop: Loop) -> str:
    """Return the description of a loop with its numbers."""
    when = f"between {clock(loop.first_ns)} and {clock(loop.last_ns)}"
    why = ", ".join(f"{reason} {count:,}" for reason, count in loop.reasons)
    match loop.kind:
        case LoopKind.SHORT_LIVED:
            half = f"; half of them lived at most {span(loop.median_life_ns)}" if loop.median_life_ns else ""
            return (
                f"Karpenter removed {counted(loop.times, 'node')} of {loop.pool} within {span(SHORT_NS)} of "
                f"{verb(loop.times, 'its', 'their')} creation, {when} ({why}){half}."
            )
        case LoopKind.SAME_TYPE:
            mostly = f", mostly {loop.instance_type}" if loop.instance_type else ""
            return (
                f"{loop.times:,} times {when} a node of {loop.pool} was removed ({why}), and the same type was "
                f"launched in its place or within {span(AGAIN_NS)}{mostly}."
            )
        case LoopKind.NEVER_JOINED:
            return f"{loop.times:,} NodeClaims of {loop.pool} were deleted {when} without becoming nodes ({why})."
        case LoopKind.MOVED:
            kind, _, name = loop.workload.partition("/")
            has = f"it has {counted(loop.pods, 'pod')}" if loop.pods else "none of them exists now"
            moved = f"Pods of {kind} {name} had to move {loop.times:,} times {when}"
            return f"{moved}, because their nodes were removed; {has}."


def remedies(loops: Sequence[Loop], pool: NodePool | None) -> tuple[str, ...]:
    """Return the remedies for loops, each once.

    Args:
        loops: Of one NodePool, or of workloads.
        pool: The NodePool; None for workloads or if it is deleted.

    """
    texts = [] if not any(map(is_consolidated, loops)) else [_slower(pool, longer_after(loops, pool))]
    texts += [_remedy(loop) for loop in loops if not is_consolidated(loop)]
    return tuple(dict.fromkeys(texts))


def longer_after(loops: Iterable[Loop], pool: NodePool | None) -> int | None:
    """Return a consolidateAfter longer than the loops, in nanoseconds; None if there is none."""
    if pool is None or pool.consolidate_after_ns is None:
        return None
    consolidated = [loop for loop in loops if is_consolidated(loop)]
    least_ns = max((_outlasts(loop) for loop in consolidated), default=0)
    return next(
        (
            after_ns
            for after_ns in AFTER_NS
            if consolidated and after_ns >= least_ns and after_ns > pool.consolidate_after_ns
        ),
        None,
    )


def is_consolidated(loop: Loop) -> bool:
    """Return whether consolidation removes the new nodes as underutilized or empty."""
    return any(reason in _CONSOLIDATED for reason, _ in loop.reasons)


def _outlasts(loop: Loop) -> int:
    return AGAIN_NS if loop.kind is LoopKind.SAME_TYPE else 2 * (loop.median_life_ns or 0)


def _slower(pool: NodePool | None, after_ns: int | None) -> str:
    now_ns = pool.consolidate_after_ns if pool is not None else None
    raised = "Raise consolidateAfter"
    if now_ns is not None:
        raised += f" (now {span(now_ns)})"
    if after_ns is not None:
        raised += f" to {span(after_ns)}"
    policy = "" if pool is not None and pool.consolidation_policy == BALANCED else ", or take policy Balanced"
    return f"{raised}, so that short-lived pods do not restart it{policy}."


def _remedy(loop: Loop) -> str:
    if loop.kind is LoopKind.MOVED:
        return (
            "See which NodePool's nodes are removed, and why; until then karpenter.sh/do-not-disrupt with a duration, "
            "or a PodDisruptionBudget, slows the moves down."
        )
    if loop.kind is LoopKind.NEVER_JOINED:
        return (
            "Read the conditions and events of the NodeClaims. For missing capacity allow more instance"
            " types and zones; for nodes that never register check the instance's log, role and "
            "network."
        )
    return (
        "Nodes that drift minutes after their launch come from a NodePool or NodeClass that keeps changing, often "
        "because two controllers overwrite each other: see who edits it, and check for an AMI alias."
    )
