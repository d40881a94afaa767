"""Annotations and labels of Karpenter's past."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import owner_refs, ref_text
from karptui.advice.rule import Rule
from karptui.advice.words import counted, listed, verb
from karptui.whatif.edits import ObjectRef

DEAD: Final = {
    "karpenter.sh/do-not-evict": "karpenter.sh/do-not-disrupt on the pod",
    "karpenter.sh/do-not-consolidate": "karpenter.sh/do-not-disrupt on the node",
    "karpenter.sh/provisioner-name": "karpenter.sh/nodepool",
    "karpenter.sh/voluntary-disruption": "conditions of the NodeClaim",
}


def _find(context: AdviceContext) -> Iterator[Finding]:
    for key, instead in DEAD.items():
        groups = [group for group in context.groups if key in group.template.annotations]
        selecting = [group for group in context.groups if key in group.template.node_selector]
        pods = sum(len(group.pods) for group in (*groups, *selecting))
        if pods:
            owners = owner_refs((*groups, *selecting))
            how = (
                verb(pods, "selects nodes by", "select nodes by")
                if selecting and not groups
                else verb(pods, "carries", "carry")
            )
            yield Finding(
                severity=Severity.WARNING,
                objects=owners,
                fact=f"{counted(pods, 'pod')} ({listed(map(ref_text, owners))}) {how} {key}, which Karpenter no "
                f"longer reads; since v1beta1 it is {instead}.",
            )
        nodes = [node.name for node in context.inventory.nodes if key in node.annotations]
        if nodes:
            yield Finding(
                severity=Severity.WARNING,
                objects=tuple(ObjectRef("Node", name) for name in nodes),
                fact=f"{counted(len(nodes), 'node')} ({listed(nodes)}) {verb(len(nodes), 'carries', 'carry')} {key}, "
                f"which Karpenter no longer reads; since v1beta1 it is {instead}.",
            )


RULE: Final = Rule(
    id="pod-dead-annotation",
    title="an annotation no longer read",
    what="Pods or nodes carry do-not-evict, do-not-consolidate, or other names of the v1alpha5 and v1beta1 APIs.",
    why="Names of older APIs are not looked at any more, and nothing warns about them: what they should protect is "
    "disrupted like anything else.",
    source="pkg/apis/v1/labels.go",
    remedy="Use today's name, on the object that it belongs to.",
    find=_find,
)
