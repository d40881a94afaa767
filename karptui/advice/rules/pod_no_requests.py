"""Pods that ask for neither cpu nor memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import owner_refs, ref_text
from karptui.advice.rule import Rule
from karptui.advice.words import counted, listed, share
from karptui.kube.resources import CPU, MEMORY

_MANY: Final = 10
"""From one in so many pods on it is a warning."""


def _find(context: AdviceContext) -> Iterator[Finding]:
    found = [
        group
        for group in context.workload_groups
        if not any((asked := group.template.requests.get(name)) is not None and asked.nano for name in (CPU, MEMORY))
        and context.nodes_with(group.pods)
    ]
    if not found:
        return
    pods = sum(len(group.pods) for group in found)
    total = sum(len(group.pods) for group in context.workload_groups)
    owners = owner_refs(found)
    yield Finding(
        severity=Severity.WARNING if _MANY * pods >= total else Severity.INFO,
        objects=owners,
        fact=f"{share(pods, total)} workload pods ask for neither cpu nor memory ({listed(map(ref_text, owners))}): to "
        f"Karpenter they take a pod slot and nothing else, so {counted(len(owners), 'workload')} may be packed onto "
        "nodes without the room they use.",
    )


RULE: Final = Rule(
    id="pod-no-requests",
    title="pods without requests",
    what="Pods on Karpenter's nodes, DaemonSets' left out, request neither cpu nor memory.",
    why="Karpenter plans with requests alone. Pods without them fit anywhere, are packed by the hundred onto small "
    "nodes, and are the first to be evicted when memory runs out; low usage makes no room and high usage takes none.",
    source="pkg/utils/resources/resources.go",
    remedy="Set requests, if only by a LimitRange of the namespace: memory at what the pod needs, cpu at its usual "
    "use.",
    find=_find,
)
