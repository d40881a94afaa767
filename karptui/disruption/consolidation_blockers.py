"""What keeps Emptiness and consolidation from a node: consolidateAfter, the policy, missing labels, unknown types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.disruption.blocker import Blocker
from karptui.disruption.codes import Code
from karptui.disruption.command import Method
from karptui.disruption.consolidate_after import quiet_period
from karptui.disruption.emptiness import CONSOLIDATABLE
from karptui.disruption.fleet import Fleet
from karptui.disruption.price import PriceBook
from karptui.karpenter.labels import CAPACITY_TYPE, INSTANCE_TYPE, ZONE
from karptui.karpenter.nodepool import WHEN_EMPTY, NodePool
from karptui.provisioning.state_node import StateNode

_CONSOLIDATION: Final = frozenset({Method.MULTI_NODE, Method.SINGLE_NODE})
_REMOVAL: Final = _CONSOLIDATION | {Method.EMPTINESS}
_LABEL_CODES: Final = ((CAPACITY_TYPE, Code.NO_CAPACITY_TYPE_LABEL), (ZONE, Code.NO_ZONE_LABEL))


def consolidation_blockers(fleet: Fleet, node: StateNode, pool: NodePool, book: PriceBook) -> Iterator[Blocker]:
    """Yield what keeps Emptiness and consolidation from a managed node of a dynamic NodePool."""
    yield from _of_labels(node, book)
    assert node.claim is not None
    if pool.consolidate_after_ns is None:
        message = f'NodePool "{pool.name}" has consolidation disabled'
        yield _of_pool(pool, Code.CONSOLIDATION_DISABLED, _REMOVAL, "Never", message)
    elif not node.claim.is_true(CONSOLIDATABLE):
        yield _quiet(fleet, node, pool)
    if pool.consolidation_policy == WHEN_EMPTY and not fleet.is_empty(node):
        message = f'NodePool "{pool.name}" has consolidation policy WhenEmpty, but node is not empty'
        yield _of_pool(pool, Code.WHEN_EMPTY_POLICY, _CONSOLIDATION, WHEN_EMPTY, message)
    if node.name in fleet.buffered:
        message = f'Node "{_node_name(node)}" has buffer pods'
        yield _of_node(node, Code.BUFFER_PODS, frozenset({Method.EMPTINESS}), "", message)


def _of_labels(node: StateNode, book: PriceBook) -> Iterator[Blocker]:
    type_name = node.labels.get(INSTANCE_TYPE, "")
    if type_name not in book.types:
        message = f'Instance Type "{type_name}" not found'
        yield _of_node(node, Code.INSTANCE_TYPE_UNKNOWN, _CONSOLIDATION, type_name, message)
    for key, code in _LABEL_CODES:
        if key not in node.labels:
            yield _of_node(node, code, _CONSOLIDATION, key, f'Node does not have label "{key}"')


def _of_pool(pool: NodePool, code: Code, blocks: frozenset[Method], value: str, message: str) -> Blocker:
    return Blocker(code=code, blocks=blocks, object_kind="NodePool", object_key=pool.name, value=value, message=message)


def _of_node(node: StateNode, code: Code, blocks: frozenset[Method], value: str, message: str) -> Blocker:
    return Blocker(
        code=code, blocks=blocks, object_kind="Node", object_key=_node_name(node), value=value, message=message
    )


def _node_name(node: StateNode) -> str:
    return node.node.name if node.node is not None else ""


def _quiet(fleet: Fleet, node: StateNode, pool: NodePool) -> Blocker:
    assert node.claim is not None
    period = quiet_period(node.claim, pool)
    code, until_ns, message = Code.NOT_CONSOLIDATABLE, None, "the NodeClaim is not marked Consolidatable"
    since_ns = None if period is None else period.until_ns
    if period is not None and period.until_ns > fleet.now_ns:
        what = "a pod came or went" if period.has_pod_event else "the node was initialised"
        code, since_ns, until_ns = Code.CONSOLIDATE_AFTER, period.since_ns, period.until_ns
        message = f"consolidateAfter of its NodePool has not passed since {what}"
    return Blocker(
        code=code,
        blocks=_REMOVAL,
        object_kind="NodeClaim",
        object_key=node.claim.name,
        since_ns=since_ns,
        until_ns=until_ns,
        message=message,
    )
