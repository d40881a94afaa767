"""DaemonSets of other API groups keep nodes from being empty."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.facts.pods import PodGroup
from karptui.advice.finding import Finding, Severity
from karptui.advice.rule import Rule
from karptui.advice.words import at_cost, counted, listed
from karptui.kube.owners import controller_of
from karptui.whatif.edits import ObjectRef


def _find(context: AdviceContext) -> Iterator[Finding]:
    by_owner: dict[tuple[str, str, str], list[PodGroup]] = {}
    for group in context.workload_groups:
        owner = controller_of(group.template.owners)
        if owner is not None and owner.kind == "DaemonSet" and owner.api_version != "apps/v1":
            by_owner.setdefault((owner.api_version, group.template.namespace, owner.name), []).append(group)
    if not by_owner:
        return
    pods = [pod for groups in by_owner.values() for group in groups for pod in group.pods]
    nodes = context.nodes_with(pods)
    keys = {pod.key for pod in pods}
    alone = [
        node
        for node in nodes
        if not any(context.fleet.pods.is_reschedulable(pod) and pod.key not in keys for pod in node.pods)
    ]
    cost = context.cost(alone)
    versions = sorted({version for version, _, _ in by_owner})
    yield Finding(
        severity=Severity.WARNING if alone else Severity.INFO,
        objects=tuple(ObjectRef("DaemonSet", name, namespace) for _, namespace, name in by_owner),
        fact=f"{counted(len(pods), 'pod')} of {counted(len(by_owner), 'DaemonSet')} of {listed(versions)} on "
        f"{counted(len(nodes), 'node')} count as ordinary pods: their nodes are never empty"
        f"{f', and on {len(alone):,} of them there is nothing else{at_cost(cost)}' if alone else ''}.",
        per_hour=cost,
    )


RULE: Final = Rule(
    id="daemonset-other-group",
    title="a DaemonSet that is not apps/v1",
    what="Pods are owned by a kind DaemonSet of another API group, such as OpenKruise's.",
    why="Only pods of apps/v1 DaemonSets are left out when Karpenter asks whether a node is empty, and only these are "
    "planned for on new nodes. Others have to be placed elsewhere before their node may go.",
    source="pkg/utils/pod/scheduling.go",
    remedy="Use an apps/v1 DaemonSet, or give these pods a pod-deletion-cost so low that they count as nothing.",
    find=_find,
)
