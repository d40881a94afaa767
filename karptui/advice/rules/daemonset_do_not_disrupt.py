"""DaemonSets whose pods say do-not-disrupt."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.rule import Rule
from karptui.advice.words import at_cost, counted, share, verb


def _find(context: AdviceContext) -> Iterator[Finding]:
    predicates = context.fleet.pods
    total = sum(1 for node in context.fleet.nodes if node.claim is not None)
    for group in context.groups:
        if not group.is_daemon or predicates.traits(group.template).do_not_disrupt is None:
            continue
        pods = [pod for pod in group.pods if not predicates.is_disruptable(pod)]
        nodes = context.nodes_with(pods)
        if nodes:
            cost = context.cost(nodes)
            yield Finding(
                severity=Severity.WARNING,
                objects=(group.owner,),
                fact=f"{counted(len(pods), 'pod')} of the {group.owner.kind} {group.owner.key} "
                f"{verb(len(pods), 'says', 'say')} do-not-disrupt: that holds {share(len(nodes), total)} nodes of "
                f"Karpenter{at_cost(cost)}, empty ones too.",
                per_hour=cost,
            )


RULE: Final = Rule(
    id="daemonset-do-not-disrupt",
    title="a DaemonSet holds every node",
    what="Pods of a DaemonSet, or static pods, carry a do-not-disrupt that protects, on nodes of Karpenter.",
    why="Nodes without other pods count as empty whatever DaemonSets run there, but a pod with do-not-disrupt blocks "
    "its node whoever owns it: DaemonSets' and static pods are no exception. One annotation in a DaemonSet's template "
    "stops all consolidation and drift.",
    source="ValidatePodsDisruptable in pkg/controllers/state/statenode.go",
    remedy="Take the annotation out of the DaemonSet's template.",
    find=_find,
)
