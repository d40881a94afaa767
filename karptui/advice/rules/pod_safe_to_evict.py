"""Cluster Autoscaler's annotation, which Karpenter does not read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import owner_refs, ref_text
from karptui.advice.rule import Rule
from karptui.advice.words import counted, listed, verb
from karptui.karpenter.labels import DO_NOT_DISRUPT, SAFE_TO_EVICT


def _find(context: AdviceContext) -> Iterator[Finding]:
    groups = [
        group
        for group in context.workload_groups
        if group.template.annotations.get(SAFE_TO_EVICT) == "false"
        and DO_NOT_DISRUPT not in group.template.annotations
        and context.nodes_with(group.pods)
    ]
    if groups:
        owners, pods = owner_refs(groups), sum(len(group.pods) for group in groups)
        yield Finding(
            severity=Severity.WARNING,
            objects=owners,
            fact=f"{counted(pods, 'pod')} ({listed(map(ref_text, owners))}) {verb(pods, 'says', 'say')} safe-to-evict "
            '"false" and run on nodes of Karpenter, which reads only karpenter.sh/do-not-disrupt: nothing protects '
            "them.",
        )


RULE: Final = Rule(
    id="pod-safe-to-evict",
    title="safe-to-evict does nothing here",
    what="Pods with cluster-autoscaler.kubernetes.io/safe-to-evict false and no do-not-disrupt run on Karpenter's "
    "nodes.",
    why="The annotation belongs to Cluster Autoscaler. Karpenter's counterpart is karpenter.sh/do-not-disrupt; without "
    "it such a pod is evicted whenever its node drifts, empties or gets cheaper elsewhere.",
    source="pkg/utils/pod/scheduling.go",
    remedy="Add karpenter.sh/do-not-disrupt, with a duration where one will do.",
    find=_find,
)
