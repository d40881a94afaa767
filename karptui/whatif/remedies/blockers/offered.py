"""Every remedy for a blocker: pods, evictions, and the rules of NodePools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, TypeAlias

from karptui.disruption.analysis import NodeFindings
from karptui.disruption.budgets import BudgetLine, PoolUse, Reason, count_use, read_line, scaled
from karptui.disruption.codes import Blocker, Code
from karptui.disruption.command import Method
from karptui.karpenter.labels import DO_NOT_DISRUPT
from karptui.karpenter.nodepool import NodePool
from karptui.kube.group import group_by
from karptui.provisioning.state_node import StateNode, tracked
from karptui.whatif.edits import AnyEdit, DeleteObject, ObjectRef, ScaleWorkload, SetField
from karptui.whatif.remedies.blockers.protected_pods import preemption_remedy, protected_pod_remedies
from karptui.whatif.remedies.blockers.remedy import BlockerRemedy, BlockerRemedyKind, ChangedObjects, effect_of, ref_of

Findings: TypeAlias = Mapping[str, NodeFindings]
"""Analysis of nodes by key."""
_Maker: TypeAlias = Callable[[Sequence[Blocker], ChangedObjects, Findings], Iterator[BlockerRemedy]]
_STEPS: Final = (10, 20, 50, 100)
_SCALED: Final = frozenset({"Deployment", "StatefulSet", "ReplicaSet", "ReplicationController"})


def exhausted_remedies(
    blockers: Sequence[Blocker], objects: ChangedObjects, findings: Findings, *, makes_edits: bool = True
) -> Iterator[BlockerRemedy]:
    """Yield remedies for PodDisruptionBudgets that allow no eviction, which are the value of a blocker.

    Pods are counted to scale their workload only if ``makes_edits``.
    """
    effect = effect_of(blockers, findings)
    edits: list[AnyEdit] = []
    for key in dict.fromkeys(blocker.value for blocker in blockers):
        ref = _pdb_ref(key)
        if key in objects.pdbs:
            if objects.pdbs[key].min_available is not None:
                edits.append(SetField(ref, ("spec", "minAvailable"), None))
            edits.append(SetField(ref, ("spec", "maxUnavailable"), 1))
    yield BlockerRemedy(
        BlockerRemedyKind.ALLOW_EVICTION,
        "maxUnavailable: 1 lets pods be evicted one at a time; unhealthyPodEvictionPolicy: AlwaysAllow lets unready "
        "pods be evicted.",
        tuple(edits),
        effect,
    )
    yield preemption_remedy(objects.pods_of(blockers))
    if owners := _counting_owners(blockers, objects):
        yield BlockerRemedy(
            BlockerRemedyKind.MORE_REPLICAS,
            "With one pod more than minAvailable requires, one may be evicted.",
            tuple(_one_more(owners, objects)) if makes_edits else (),
        )


def several_remedies(
    blockers: Sequence[Blocker], objects: ChangedObjects, findings: Findings
) -> Iterator[BlockerRemedy]:
    """Yield remedies for pods that several PodDisruptionBudgets select, which are the value of a blocker."""
    spare = dict.fromkeys(key for blocker in blockers for key in blocker.value.split()[1:])
    yield BlockerRemedy(
        BlockerRemedyKind.ONE_PDB,
        "A pod that two PodDisruptionBudgets select can never be evicted, whatever they allow: delete one, or narrow"
        " its selector.",
        tuple(DeleteObject(_pdb_ref(key)) for key in spare if key in objects.pdbs),
        effect_of(blockers, findings),
    )


def _pdb_ref(key: str) -> ObjectRef:
    namespace, _, name = key.partition("/")
    return ObjectRef("PodDisruptionBudget", name, namespace)


def _counting_owners(blockers: Sequence[Blocker], objects: ChangedObjects) -> dict[str, str]:
    """Return the workloads behind pods whose budget asks for a number of pods, with the key of one pod each."""
    return {
        blocker.owner: blocker.object_key
        for blocker in blockers
        if blocker.owner in objects.workloads
        and blocker.owner.partition("/")[0] in _SCALED
        and blocker.object_key in objects.pods
        and blocker.value in objects.pdbs
        and isinstance(objects.pdbs[blocker.value].min_available, int)
    }


def _one_more(owners: Mapping[str, str], objects: ChangedObjects) -> Iterator[ScaleWorkload]:
    """Yield for each workload an edit to one pod more than it has now."""
    counts = Counter(pod.owners for pod in objects.pods.values() if pod.is_active)
    for owner, key in owners.items():
        yield ScaleWorkload(ref_of(owner), counts[objects.pods[key].owners] + 1)


def node_remedies(blockers: Sequence[Blocker], _: ChangedObjects, findings: Findings) -> Iterator[BlockerRemedy]:
    """Yield remedies for nodes with do-not-disrupt."""
    names = dict.fromkeys(blocker.node_name for blocker in blockers)
    yield BlockerRemedy(
        BlockerRemedyKind.REMOVE_NODE_ANNOTATION,
        'On a node only "true" counts, and it never expires.',
        tuple(SetField(ObjectRef("Node", name), ("metadata", "annotations", DO_NOT_DISRUPT), None) for name in names),
        effect_of(blockers, findings),
    )


def budget_remedies(
    blockers: Sequence[Blocker], objects: ChangedObjects, findings: Findings, now_ns: int
) -> Iterator[BlockerRemedy]:
    """Yield remedies for closed disruption budgets; other budgets and fields stay."""
    methods: dict[str, set[Method]] = {}
    for blocker in blockers:
        methods.setdefault(blocker.pool_name, set()).update(blocker.blocks)
    nodes = [StateNode(*pair) for pair in tracked(objects.nodes, objects.nodeclaims)]
    uses = count_use(nodes)
    edits, before, unready = [], [], 0
    for name, blocked in methods.items():
        if name not in objects.nodepools:
            continue
        pool, use = objects.nodepools[name], uses.get(name, PoolUse())
        for line in closing_lines(pool, {method.reason for method in blocked}, use, now_ns):
            path = ("spec", "disruption", "budgets", line.index, "nodes")
            edits.append(SetField(ObjectRef("NodePool", name), path, _opening(use)))
            before.append(line.budget.nodes)
        unready += _unready_newest([node for node in nodes if node.nodepool_name == name], use)
    yield BlockerRemedy(
        BlockerRemedyKind.WIDER_BUDGET,
        "Changes only budgets with no disruption left now; nodes being deleted or NotReady use them up.",
        tuple(edits),
        effect_of(blockers, findings),
        before=tuple(before),
        unready_newest=unready,
    )


def closing_lines(pool: NodePool, reasons: Collection[Reason], use: PoolUse, now_ns: int) -> list[BudgetLine]:
    """Return the budgets of a NodePool that leave no node for one of the reasons now."""
    lines = [read_line(index, budget, use.nodes, now_ns) for index, budget in enumerate(pool.budgets or ())]
    used = len(use.deleting) + len(use.not_ready)
    return [
        line
        for line in lines
        if line.is_active and line.allowed <= used and (not reasons or any(map(line.covers, reasons)))
    ]


def _unready_newest(nodes: Sequence[StateNode], use: PoolUse) -> int:
    """Return how many of a NodePool's newest nodes are not ready, if at least half of these are not."""
    newest = sorted((node.node for node in nodes if node.node is not None), key=lambda node: -node.created_ns)
    unready = [at for at, node in enumerate(newest) if node.name in use.not_ready]
    return max((count for count, at in enumerate(unready, 1) if 2 * count > at), default=0)


def _opening(use: PoolUse) -> str:
    """Return the smallest share, in steps, that allows one more node than those in use."""
    used = len(use.deleting) + len(use.not_ready)
    return next((f"{step}%" for step in _STEPS if scaled(f"{step}%", use.nodes) > used), f"{_STEPS[-1]}%")


def headroom_remedies(
    blockers: Sequence[Blocker], objects: ChangedObjects, findings: Findings
) -> Iterator[BlockerRemedy]:
    """Yield remedies for a static NodePool whose limit allows no replacement."""
    limits = {
        blocker.pool_name: (objects.nodepools[blocker.pool_name].limits or {}).get("nodes")
        for blocker in blockers
        if blocker.pool_name in objects.nodepools
    }
    yield BlockerRemedy(
        BlockerRemedyKind.NODE_LIMIT,
        "limits.nodes one above replicas lets a replacement start before the node is removed.",
        tuple(
            SetField(ObjectRef("NodePool", name), ("spec", "limits", "nodes"), str(limit.units + 1))
            for name, limit in limits.items()
            if limit is not None
        ),
        effect_of(blockers, findings),
    )


def blocker_remedies(
    blockers: Sequence[Blocker],
    objects: ChangedObjects,
    findings: Findings,
    now_ns: int,
    *,
    makes_edits: bool = True,
) -> tuple[BlockerRemedy, ...]:
    """Return remedies for blockers, by kind; none for blockers that end automatically.

    Args:
        blockers: Blockers of the analysis: the effect of a remedy comes from their simulations.
        makes_edits: Whether to make edits of pods; without them it is fast for thousands of blockers too.
    """
    makers: dict[Code, _Maker] = {
        Code.POD_DND: partial(protected_pod_remedies, now_ns=now_ns, makes_edits=makes_edits),
        Code.PDB_EXHAUSTED: partial(exhausted_remedies, makes_edits=makes_edits),
        Code.NODE_DND: node_remedies,
        Code.PDB_MULTIPLE: several_remedies,
        Code.BUDGET_ZERO: partial(budget_remedies, now_ns=now_ns),
        Code.STATIC_NO_HEADROOM: headroom_remedies,
    }
    by_code = group_by(blockers, lambda blocker: blocker.code)
    by_kind: dict[BlockerRemedyKind, BlockerRemedy] = {}
    for code, make in makers.items():
        for remedy in make(by_code[code], objects, findings) if code in by_code else ():
            by_kind.setdefault(remedy.kind, remedy)  # of pods that are protected twice preemption is offered once
    return tuple(by_kind.values())
