"""Pods that have waited for long take part in every consolidation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import ref_text
from karptui.advice.rule import Rule
from karptui.advice.words import counted, listed, span
from karptui.kube.timestamps import NS_PER_SECOND

_LONG_NS: Final = 10 * 60 * NS_PER_SECOND


def _find(context: AdviceContext) -> Iterator[Finding]:
    waiting = [pod for pod in context.prepared.pending if 0 < pod.scheduled_ns < context.now_ns - _LONG_NS]
    if not waiting or not any(context.nodes_of(pool) for pool in context.pools):
        return
    owners = tuple(dict.fromkeys(map(context.owner_of, waiting)))
    oldest = min(pod.scheduled_ns for pod in waiting)
    yield Finding(
        severity=Severity.INFO,
        objects=owners,
        fact=f"{counted(len(waiting), 'pod')} ({listed(map(ref_text, owners))}) "
        f"{'has' if len(waiting) == 1 else 'have'} waited for up to {span(context.now_ns - oldest)}: every simulated "
        "removal of a node has to place them too, which can turn a delete into a replacement or prevent it.",
    )


RULE: Final = Rule(
    id="pod-pending-in-simulations",
    title="pending pods slow consolidation",
    what="Pods have been unschedulable for more than ten minutes, and Karpenter manages nodes.",
    why="Each simulation of a removal places the pending pods along with those of the node. If one of them needs a new "
    "node, that node counts as the removal's replacement, and a plain deletion becomes a dearer exchange or nothing.",
    source="SimulateScheduling in pkg/controllers/disruption/helpers.go",
    remedy="Settle what keeps the pods pending; the Pending screen says which gate refuses them.",
    find=_find,
)
