"""DaemonSet pods that have no room on their node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.rule import Rule
from karptui.advice.words import counted, listed, span
from karptui.kube.timestamps import NS_PER_SECOND

_LONG_NS: Final = 5 * 60 * NS_PER_SECOND


def _find(context: AdviceContext) -> Iterator[Finding]:
    waiting = [
        (group.owner, pod)
        for group in context.groups
        if group.template.is_daemonset_owned
        for pod in group.pods
        if not pod.node_name and 0 < pod.created_ns < context.now_ns - _LONG_NS
    ]
    if not waiting:
        return
    owners = tuple(dict.fromkeys(owner for owner, _ in waiting))
    oldest = min(pod.created_ns for _, pod in waiting)
    said = next((pod.scheduled_message for _, pod in waiting if pod.scheduled_message), "")
    quoted = f' kube-scheduler: "{said}"' if said else ""
    yield Finding(
        severity=Severity.WARNING,
        objects=owners,
        fact=f"{counted(len(waiting), 'DaemonSet pod')} of {listed(ref.key for ref in owners)} "
        f"{'has' if len(waiting) == 1 else 'have'} had no room on the node for up to {span(context.now_ns - oldest)}; "
        f"Karpenter makes no node for these.{quoted}",
    )


RULE: Final = Rule(
    id="daemonset-pending",
    title="DaemonSet pods without room",
    what="Pods of DaemonSets have been without a node for more than five minutes.",
    why="DaemonSets count when a node is sized, and their share is not kept free afterwards: pods that come first, or "
    "a DaemonSet added or enlarged later, leave too little. Karpenter does not provision for DaemonSet pods.",
    source="pkg/controllers/provisioning/provisioner.go and pkg/utils/pod/scheduling.go",
    remedy="Give the DaemonSet a priority class such as system-node-critical, so that it displaces other pods.",
    find=_find,
)
