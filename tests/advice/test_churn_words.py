"""Texts about churn loops and their remedies."""

from __future__ import annotations

from typing import Any

import pytest

from karptui.advice.churn import loop_fact, remedies
from karptui.disruption.churn.life import Removal
from karptui.disruption.churn.loops import Loop, LoopKind
from karptui.karpenter.nodepool import NodePool
from tests.builders import HOUR_NS, MINUTE_NS, a_nodepool
from tests.disruption.churn.lives import ago

UNDERUTILIZED = ((Removal.UNDERUTILIZED, 3),)


def a_loop(kind: LoopKind = LoopKind.SHORT_LIVED, **fields: Any) -> Loop:
    given: dict[str, Any] = {"pool": "general", "times": 3, "reasons": UNDERUTILIZED, **fields}
    return Loop(kind=kind, first_ns=ago(60), last_ns=ago(5), **given)


SHORT = a_loop(median_life_ns=9 * MINUTE_NS)
SAME = a_loop(LoopKind.SAME_TYPE, median_life_ns=90 * MINUTE_NS, instance_type="m5.large")
FAILED = a_loop(LoopKind.NEVER_JOINED, reasons=((Removal.LAUNCH_FAILED, 3),))
MOVED = a_loop(LoopKind.MOVED, pool="", workload="Deployment/web/front", reasons=(), pods=1)
DRIFTED = a_loop(reasons=((Removal.DRIFTED, 4),), times=4)


TOOK = "Karpenter removed {} nodes of general within 30m of their creation, between 11:00Z and 11:55Z"
BACK = (
    "3 times between 11:00Z and 11:55Z a node of general was removed (Underutilized 3), and the same type was launched "
    "in its place or within 15m"
)
WENT = "between 11:00Z and 11:55Z, because their nodes were removed; "


@pytest.mark.parametrize(("loop", "fact"), [
    (SHORT, f"{TOOK.format(3)} (Underutilized 3); half of them lived at most 9m."),
    (DRIFTED, f"{TOOK.format(4)} (Drifted 4)."),
    (SAME, f"{BACK}, mostly m5.large."),
    (a_loop(LoopKind.SAME_TYPE), f"{BACK}."),
    (FAILED, "3 NodeClaims of general were deleted between 11:00Z and 11:55Z without becoming nodes (LaunchFailed 3)."),
    (MOVED, "Pods of Deployment web/front had to move 3 times " + WENT + "it has 1 pod."),
    (a_loop(LoopKind.MOVED, pool="", workload="Pod/ci/job", reasons=()),
     "Pods of Pod ci/job had to move 3 times " + WENT + "none of them exists now."),
])  # fmt: skip
def test_the_fact_describes_the_loop(loop: Loop, fact: str) -> None:
    assert loop_fact(loop) == fact


AFTER_0 = a_nodepool(consolidate_after_ns=0)


@pytest.mark.parametrize(("loops", "pool", "says"), [
    ((SHORT, SAME), AFTER_0, ("Raise consolidateAfter (now 0s) to 30m, so that", "or take policy Balanced.")),
    ((SAME,), AFTER_0, ("Raise consolidateAfter (now 0s) to 15m, so that",)),
    ((SHORT,), a_nodepool(consolidate_after_ns=3 * HOUR_NS), ("Raise consolidateAfter (now 3h), so that",)),
    ((SHORT,), None, ("Raise consolidateAfter, so that",)),
    ((DRIFTED, FAILED), AFTER_0, ("NodePool or NodeClass that keeps changing", "more instance types and zones")),
    ((MOVED,), None, ("See which NodePool's nodes are removed, and why",)),
])  # fmt: skip
def test_the_remedy_ends_the_loop(loops: tuple[Loop, ...], pool: NodePool | None, says: tuple[str, ...]) -> None:
    text = " ".join(remedies(loops, pool))
    for part in says:
        assert part in text
