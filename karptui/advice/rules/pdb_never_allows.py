"""PodDisruptionBudgets that can never allow an eviction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.rule import Rule
from karptui.advice.words import at_cost, counted, verb
from karptui.kube.pdb import PodDisruptionBudget
from karptui.kube.pod import Pod
from karptui.provisioning.eligible_pods import is_always_blocking
from karptui.whatif.edits import ObjectRef, SetField


def _find(context: AdviceContext) -> Iterator[Finding]:
    pods_of = _pods_by_pdb(context)
    for pdb in sorted(context.inventory.pdbs, key=lambda one: one.key):
        pods = pods_of.get(pdb.key, [])
        because = _because(pdb)
        if not because or not pods:
            continue
        nodes = context.nodes_with(pods)
        cost = context.cost(nodes)
        ref = ObjectRef("PodDisruptionBudget", pdb.name, pdb.namespace)
        edits = (SetField(ref, ("spec", "minAvailable")), SetField(ref, ("spec", "maxUnavailable"), 1))
        yield Finding(
            severity=Severity.WARNING,
            objects=(ref, *dict.fromkeys(map(context.owner_of, pods))),
            fact=f"PodDisruptionBudget {pdb.key} has {because}: its {counted(len(pods), 'pod')} cannot be evicted "
            f"while all are healthy, and {counted(len(nodes), 'node')} of Karpenter{at_cost(cost)} "
            f"{verb(len(nodes), 'stays', 'stay')} with them.",
            edits=edits,
            per_hour=cost,
        )


def _pods_by_pdb(context: AdviceContext) -> dict[str, list[Pod]]:
    found: dict[str, list[Pod]] = {}
    for matching, group in context.budgeted:
        for pdb in matching:
            found.setdefault(pdb.key, []).extend(group.pods)
    return found


def _because(pdb: PodDisruptionBudget) -> str:
    """Return why a budget never allows a disruption of healthy pods, empty where it may."""
    if is_always_blocking(pdb):
        return _spec(pdb)
    if isinstance(pdb.min_available, int) and 0 < pdb.expected_pods <= pdb.min_available:
        return f"{_spec(pdb)} of {counted(pdb.expected_pods, 'pod')} expected"
    return ""


def _spec(pdb: PodDisruptionBudget) -> str:
    if pdb.max_unavailable is not None:
        return f"maxUnavailable {pdb.max_unavailable}"
    return f"minAvailable {pdb.min_available}"


RULE: Final = Rule(
    id="pdb-never-allows",
    title="a PDB that never allows",
    what="A PodDisruptionBudget with pods has maxUnavailable 0 or 0%, minAvailable 100%, or a minAvailable of as many "
    "pods as it expects.",
    why="Karpenter does not disrupt a node while a pod on it cannot be evicted, and says so on the node. A drain that "
    "has begun waits. A single replica with minAvailable 1 is the usual case.",
    source="pkg/utils/pdb/pdb.go",
    remedy="Use maxUnavailable 1, or run more replicas; unhealthyPodEvictionPolicy AlwaysAllow lets unhealthy pods go.",
    find=_find,
)
