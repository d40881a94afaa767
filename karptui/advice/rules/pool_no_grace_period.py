"""Protected pods on nodes whose drain nothing bounds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref, ref_text
from karptui.advice.rule import Rule
from karptui.advice.words import at_cost, counted, listed, verb
from karptui.karpenter.labels import DO_NOT_DISRUPT
from karptui.kube.pod import Pod
from karptui.whatif.edits import ObjectRef, SetField

_PATH: Final = ("spec", "template", "spec", "terminationGracePeriod")


def _find(context: AdviceContext) -> Iterator[Finding]:
    predicates = context.fleet.pods
    protected: dict[str, list[tuple[ObjectRef, Pod]]] = {}
    for group in context.groups:
        if DO_NOT_DISRUPT in group.template.annotations:
            for pod in group.pods:
                if pod.node_name and not predicates.is_disruptable(pod):
                    protected.setdefault(pod.node_name, []).append((group.owner, pod))
    for pool in context.pools:
        nodes = [
            node
            for node in context.nodes_of(pool)
            if node.node is not None
            and node.node.name in protected
            and node.claim is not None
            and node.claim.termination_grace_period_ns is None
        ]
        own = [one for node in nodes if node.node is not None for one in protected[node.node.name]]
        if not own:
            continue
        owners = tuple(dict.fromkeys(owner for owner, _ in own))
        cost = context.cost(nodes)
        endless = "" if pool.termination_grace_period_ns is None else " New nodes of the pool have one, these do not."
        yield Finding(
            severity=Severity.WARNING,
            objects=(pool_ref(pool), *owners),
            fact=f"{counted(len(own), 'pod')} ({listed(map(ref_text, owners))}) {verb(len(own), 'says', 'say')} "
            f"do-not-disrupt on {counted(len(nodes), 'node')} of {pool.name}{at_cost(cost)} without "
            "terminationGracePeriod: when such a node drifts it stays, and when it expires or is deleted its drain "
            f"has no end while they run.{endless}",
            edits=(SetField(pool_ref(pool), _PATH, "24h"),) if not endless else (),
            per_hour=cost,
        )


RULE: Final = Rule(
    id="pool-no-grace-period",
    title="do-not-disrupt without an end",
    what="Pods that karpenter.sh/do-not-disrupt protects now run on nodes without terminationGracePeriod.",
    why="do-not-disrupt keeps drift and consolidation from the node, and a drain that has begun anyway (expiry, "
    "deletion) waits for the pod. Only terminationGracePeriod ends that wait; with it drift may take the node too. "
    "It never lets consolidation take a node with a protected pod.",
    source="pkg/controllers/state/statenode.go and pkg/controllers/node/termination/terminator",
    remedy="Set terminationGracePeriod on the NodePool to the longest that such a pod may take (changing it makes the "
    "present nodes drift), or give the annotation a duration, such as 4h, instead of true.",
    find=_find,
)
