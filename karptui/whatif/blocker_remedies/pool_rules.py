"""What can be done about what NodePools and nodes themselves put in the way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from karptui.disruption.analysis import NodeFindings
from karptui.disruption.blocker import Blocker
from karptui.karpenter.labels import DO_NOT_DISRUPT
from karptui.karpenter.nodepool import NodePool
from karptui.whatif.blocker_remedies.effect import effect_of
from karptui.whatif.blocker_remedies.remedy import BlockerRemedy, Objects, RemedyKind
from karptui.whatif.edits import ObjectRef, SetField

_STEPS: Final = (10, 20, 50, 100)
Findings = Mapping[str, NodeFindings]


def node_remedies(blockers: Sequence[Blocker], _: Objects, findings: Findings) -> Iterator[BlockerRemedy]:
    """Yield what can be done about nodes that say do-not-disrupt themselves."""
    names = dict.fromkeys(one.node_name for one in blockers)
    yield BlockerRemedy(
        RemedyKind.REMOVE_NODE_ANNOTATION,
        'On a node only "true" counts, and it never runs out.',
        tuple(SetField(ObjectRef("Node", name), ("metadata", "annotations", DO_NOT_DISRUPT), None) for name in names),
        effect_of(blockers, findings),
    )


def budget_remedies(blockers: Sequence[Blocker], objects: Objects, findings: Findings) -> Iterator[BlockerRemedy]:
    """Yield what can be done about disruption budgets that leave nothing."""
    names = dict.fromkeys(one.pool_name for one in blockers)
    edits = [
        SetField(
            ObjectRef("NodePool", name), ("spec", "disruption", "budgets"), [{"nodes": wider(objects.nodepools[name])}]
        )
        for name in names
        if name in objects.nodepools
    ]
    yield BlockerRemedy(
        RemedyKind.WIDER_BUDGET,
        "Replaces all budgets of the NodePool; nodes that are deleted or NotReady use the allowance up.",
        tuple(edits),
        effect_of(blockers, findings),
    )


def wider(pool: NodePool) -> str:
    """Return a share of the nodes that is wider than each budget of a NodePool, in steps."""
    shares = [int(one.nodes[:-1]) for one in pool.budgets or () if one.nodes.endswith("%") and one.nodes[:-1].isdigit()]
    return next((f"{step}%" for step in _STEPS if step > max(shares, default=0)), f"{_STEPS[-1]}%")


def never_remedies(blockers: Sequence[Blocker], objects: Objects, findings: Findings) -> Iterator[BlockerRemedy]:
    """Yield what can be done about consolidateAfter: Never."""
    yield BlockerRemedy(
        RemedyKind.CONSOLIDATE_AFTER,
        "Nodes then count as consolidatable after five minutes without change.",
        _on_pools(blockers, objects, ("spec", "disruption", "consolidateAfter"), "5m"),
        effect_of(blockers, findings),
    )


def policy_remedies(blockers: Sequence[Blocker], objects: Objects, findings: Findings) -> Iterator[BlockerRemedy]:
    """Yield what can be done about the policy WhenEmpty."""
    yield BlockerRemedy(
        RemedyKind.POLICY,
        "Pods are moved to make nodes go.",
        _on_pools(blockers, objects, ("spec", "disruption", "consolidationPolicy"), "WhenEmptyOrUnderutilized"),
        effect_of(blockers, findings),
    )


def headroom_remedies(blockers: Sequence[Blocker], objects: Objects, findings: Findings) -> Iterator[BlockerRemedy]:
    """Yield what can be done about a static NodePool whose limit leaves no room for a replacement."""
    limits = {
        one.pool_name: (objects.nodepools[one.pool_name].limits or {}).get("nodes")
        for one in blockers
        if one.pool_name in objects.nodepools
    }
    yield BlockerRemedy(
        RemedyKind.NODE_LIMIT,
        "limits.nodes one above replicas lets a replacement start before the node goes.",
        tuple(
            SetField(ObjectRef("NodePool", name), ("spec", "limits", "nodes"), str(limit.units + 1))
            for name, limit in limits.items()
            if limit is not None
        ),
        effect_of(blockers, findings),
    )


def _on_pools(
    blockers: Sequence[Blocker], objects: Objects, path: tuple[str | int, ...], value: Any
) -> tuple[SetField, ...]:
    names = dict.fromkeys(one.pool_name for one in blockers)
    return tuple(SetField(ObjectRef("NodePool", name), path, value) for name in names if name in objects.nodepools)
