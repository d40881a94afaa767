"""Why a node is still here, as one short code: the worst of everything that keeps it, or what Karpenter would do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from karptui.disruption.blocker import Blocker
from karptui.disruption.budgets import Reason, budget_state
from karptui.disruption.codes import CODES, RANKS, WhyCode
from karptui.disruption.command import Method
from karptui.disruption.consolidation import SPOT_TO_SPOT_TYPES, RefusalCode
from karptui.disruption.drain import DrainState, Stage
from karptui.disruption.fleet import Fleet
from karptui.disruption.outlook import Outcome
from karptui.disruption.verdict import Verdict
from karptui.kube.timestamps import ABSENT_NS
from karptui.provisioning.state_node import StateNode

_REFUSALS: Final = {
    RefusalCode.UNSCHEDULABLE: WhyCode.NOFIT,
    RefusalCode.NEEDS_NODES: WhyCode.NODES,
    RefusalCode.NOT_CHEAPER: WhyCode.PRICE,
    RefusalCode.MIN_VALUES: WhyCode.MIN_VALUES,
    RefusalCode.SPOT_OFF: WhyCode.GATE_OFF,
    RefusalCode.SPOT_FLEXIBILITY: WhyCode.SPOT,
    RefusalCode.SCORE: WhyCode.SCORE,
}
_REASONS: Final = {
    Method.EMPTINESS: Reason.EMPTY,
    Method.DRIFT: Reason.DRIFTED,
    Method.STATIC_DRIFT: Reason.DRIFTED,
    Method.MULTI_NODE: Reason.UNDERUTILIZED,
    Method.SINGLE_NODE: Reason.UNDERUTILIZED,
}


class Why(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The code of a node with its numbers."""

    code: WhyCode
    count: int = 0
    """Pods that hold it, disruptions left, cheaper types found, new nodes needed: whatever the code counts."""
    of: int = 0
    """Of how many, where the code says so: disruptions allowed, cheaper types needed."""
    since_ns: int = ABSENT_NS
    """When a drain began."""
    until_ns: int = ABSENT_NS
    """When it ends by itself."""
    score: float = 0.0
    """Of the Balanced policy."""
    outcome: Outcome | None = None
    """What Karpenter would do with the node, where nothing keeps it."""
    codes: tuple[WhyCode, ...] = ()
    """Every code that applies, worst first."""


def why_of(fleet: Fleet, node: StateNode, blockers: Sequence[Blocker], drain: DrainState, now: Verdict | None) -> Why:
    """Return why a node is still here.

    Args:
        fleet: The cluster.
        node: The node.
        blockers: Everything that keeps it.
        drain: How far its end has come.
        now: What becomes of it as things are; None while that is not worked out.
    """
    if node.claim is None:
        return Why(code=WhyCode.UNMANAGED, codes=(WhyCode.UNMANAGED,))
    found = tuple(sorted({CODES[one.code].why for one in blockers}, key=RANKS.__getitem__))
    if node.is_marked_for_deletion:
        is_draining = drain.stage is Stage.DRAINING
        code = WhyCode.DRAIN if is_draining else WhyCode.DELETING
        others = tuple(one for one in found if one not in (WhyCode.DRAIN, WhyCode.DELETING))
        return Why(code=code, since_ns=drain.since_ns, codes=(code, *others))
    if now is not None and now.outcome in (Outcome.DELETE, Outcome.REPLACE):
        # Drift takes what consolidation may not: with a terminationGracePeriod pods do not keep a node from it.
        return Why(code=WhyCode.OK, outcome=now.outcome, codes=(WhyCode.OK, *found))
    if found:
        return _of_blockers(fleet, node, found, [one for one in blockers if CODES[one.code].why is found[0]])
    return _of_verdict(fleet, node, now)


def _of_blockers(fleet: Fleet, node: StateNode, found: tuple[WhyCode, ...], worst: Sequence[Blocker]) -> Why:
    if found[0] is WhyCode.BUDGET:
        pool = fleet.pools[node.nodepool_name]
        methods = (method for method in Method if any(method in one.blocks for one in worst))
        state = budget_state(pool, _REASONS[next(methods)], fleet.use.get(pool.name), fleet.now_ns)
        return Why(code=found[0], count=state.left, of=state.allowed, codes=found)
    ends = [one.until_ns for one in worst]
    until_ns = max((end for end in ends if end is not None), default=ABSENT_NS) if None not in ends else ABSENT_NS
    return Why(code=found[0], count=len(worst), until_ns=until_ns, codes=found)


def _of_verdict(fleet: Fleet, node: StateNode, now: Verdict | None) -> Why:
    pool = fleet.pools.get(node.nodepool_name)
    if pool is not None and pool.is_static:
        return Why(code=WhyCode.STATIC, codes=(WhyCode.STATIC,))
    if now is None:
        return Why(code=WhyCode.PENDING, codes=(WhyCode.PENDING,))
    code = _REFUSALS.get(now.refusal_code, WhyCode.NOFIT)
    of = SPOT_TO_SPOT_TYPES if code is WhyCode.SPOT else 0
    return Why(code=code, count=now.count, of=of, score=now.score, codes=(code,))
