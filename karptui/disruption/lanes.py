"""Each method's state for a node: whether it wants the node, and the first thing that blocks it.

Only a blocker of a method that wants the node is a reason why the node still exists. The row's WHY is the reason of the
first such method in Karpenter's order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from karptui.disruption.budgets import budget_state
from karptui.disruption.codes import CODES, RANKS, Blocker, Code, WhyCode
from karptui.disruption.command import Method
from karptui.disruption.consolidation import SPOT_TO_SPOT_TYPES, RefusalCode
from karptui.disruption.drain import DrainState
from karptui.disruption.emptiness import FilterCode
from karptui.disruption.fleet import Fleet
from karptui.disruption.node_verdict import Verdict
from karptui.disruption.outlook import Outcome
from karptui.disruption.should_disrupt import WantedBy
from karptui.karpenter.nodeclaim import DrainStage
from karptui.kube.timestamps import ABSENT_NS
from karptui.provisioning.state_node import StateNode

_GOES: Final = (Outcome.DELETE, Outcome.REPLACE, Outcome.REBOOT)
_POD_ORDER: Final = {Code.POD_DND: 1, Code.PDB_MULTIPLE: 2, Code.PDB_EXHAUSTED: 2}
_LATER: Final = {
    Code.DO_NOT_REPAIR: 3,
    Code.REPAIR_UNBOUNDED: 4,
    Code.REPAIR_TRIPPED: 5,
    Code.BUDGET_ZERO: 6,
    Code.STATIC_SCALING: 7,
    Code.STATIC_NO_HEADROOM: 7,
    Code.NOMINATED: 8,
}
_ORDER: Final = {**_POD_ORDER, **_LATER}
"""Ranks of blockers after the gates, which are in Karpenter's order. A nomination, which ends on its own, is last."""
_NOT_BLOCKING: Final = frozenset(
    {"", FilterCode.STATIC, FilterCode.EMPTY, FilterCode.NOT_EMPTY, FilterCode.NOT_DRIFTED, FilterCode.HEALTHY}
)
"""Unmet conditions of methods that are no blockers."""
_LACKS: Final[dict[str, tuple[Code, ...]]] = {
    FilterCode.NOT_CONSOLIDATABLE: (Code.CONSOLIDATE_AFTER, Code.NOT_CONSOLIDATABLE),
}
"""Blockers of unmet conditions that have other codes."""
_REFUSALS: Final = {
    RefusalCode.UNSCHEDULABLE: WhyCode.NOFIT,
    RefusalCode.NEEDS_NODES: WhyCode.NODES,
    RefusalCode.NOT_CHEAPER: WhyCode.PRICE,
    RefusalCode.MIN_VALUES: WhyCode.MIN_VALUES,
    RefusalCode.SPOT_OFF: WhyCode.GATE_OFF,
    RefusalCode.SPOT_FLEXIBILITY: WhyCode.SPOT,
    RefusalCode.SCORE: WhyCode.SCORE,
    RefusalCode.NOT_KNOWN: WhyCode.UNKNOWN,
}
_COMMANDED: Final = (Code.IN_COMMAND, Code.REBOOTING)
_STARTING: Final = (Code.NO_NODE, Code.NOT_INITIALIZED)


class Lane(msgspec.Struct, frozen=True, gc=False):
    """A method's state for a node."""

    method: str
    """The method's name; StaticDrift shares Drift's lane."""
    is_wanted: bool = False
    code: str = ""
    """If the method wants the node, the first thing that blocks it; else its first unmet condition."""
    blocker: int | None = None
    """Index among the node's blockers; None if the code is not one of them."""
    outcome: Outcome | None = None
    """The node's outcome by this method, if nothing blocks it and it is known."""

    @property
    def is_held(self) -> bool:
        """Whether the method wants the node and is blocked."""
        return self.is_wanted and bool(self.code)

    @property
    def goes(self) -> bool:
        """Whether the method disrupts the node."""
        return self.outcome in _GOES


_lane = lru_cache(maxsize=2_048)(Lane)
"""Equal lanes share an object: most of thousands of nodes are alike."""


def lanes_of(
    methods: Iterable[Method],
    wanted_by: WantedBy,
    blockers: Sequence[Blocker],
    now: Verdict | None,
    with_others: Outcome | None = None,
) -> tuple[Lane, ...]:
    """Return each method's state for a node.

    Args:
        now: Its verdict in the current state; None if not computed yet.
        with_others: Its outcome by MultiNodeConsolidation; None if that does not disrupt it or was not run.
    """
    return tuple(_of_method(method, wanted_by, blockers, now, with_others) for method in methods)


def _of_method(
    method: Method, wanted_by: WantedBy, blockers: Sequence[Blocker], now: Verdict | None, with_others: Outcome | None
) -> Lane:
    name = lane_name(method)
    lack = wanted_by.lacks.get(method)
    if lack is not None or method not in wanted_by.since:
        return _lane(name, False, lack or "", _index(blockers, lack or ""))
    held = _first(method, blockers)
    if held is not None:
        return _lane(name, True, str(blockers[held].code), held)
    if method is Method.MULTI_NODE:
        return _lane(name, True, outcome=with_others)
    if now is None:
        return _lane(name, True)
    if now.goes and now.method == method:
        return _lane(name, True, outcome=now.outcome)
    return _lane(name, True, next((refused.code for refused in now.refused if refused.method == method), ""))


def lane_name(method: Method) -> str:
    """Return the name of a method's lane: StaticDrift shares Drift's."""
    return str(Method.DRIFT if method is Method.STATIC_DRIFT else method)


def _index(blockers: Sequence[Blocker], lack: str) -> int | None:
    if lack in _NOT_BLOCKING:
        return None
    codes = _LACKS.get(lack, (lack,))
    return next((index for index, blocker in enumerate(blockers) if blocker.code in codes), None)


def _first(method: Method, blockers: Sequence[Blocker]) -> int | None:
    """Return the index of a method's first blocker in Karpenter's order; gates are already in order."""
    first, least = None, len(_LATER)
    for index, blocker in enumerate(blockers):
        if method in blocker.blocks:
            order = _ORDER.get(blocker.code, 0)
            if not order:
                return index
            if first is None or order < least:
                first, least = index, order
    return first


class Why(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The WHY code of a node's row, with its numbers."""

    code: WhyCode
    count: int = 0
    """The number that the code counts: blocking pods, disruptions left, cheaper types, new nodes needed."""
    of: int = 0
    """The number that ``count`` is compared with, for some codes: disruptions allowed, cheaper types needed."""
    since_ns: int = ABSENT_NS
    """When the drain began."""
    until_ns: int = ABSENT_NS
    """When the blocker ends without action."""
    score: float = 0.0
    """The score of the Balanced policy."""
    outcome: Outcome | None = None
    """What Karpenter would do with the node, if nothing blocks it."""
    codes: tuple[WhyCode, ...] = ()
    """The code, then those of other blockers of methods that want the node, worst first."""
    method: str = ""
    """The method it is from; empty if none wants the node."""
    is_assumed: bool = False
    """Whether it follows from a default of Karpenter, assumed because its settings were not read."""


class NodeCase(NamedTuple):
    """The inputs of a node's WHY."""

    node: StateNode
    blockers: Sequence[Blocker]
    lanes: Sequence[Lane]
    drain: DrainState
    now: Verdict | None
    """Its verdict in the current state; None if not computed yet."""


def why_of(fleet: Fleet, case: NodeCase, stopped: Collection[Method] = ()) -> Why:
    """Return the reason why a node still exists.

    Args:
        stopped: Methods that are blocked for the whole cluster.
    """
    node, blockers, drain = case.node, case.blockers, case.drain
    if node.claim is None:
        return Why(code=WhyCode.UNMANAGED, codes=(WhyCode.UNMANAGED,))
    wanted_codes = {CODES[blocker.code].why for blocker in blockers if blocker.is_wanted}
    held_by = tuple(sorted(wanted_codes, key=RANKS.__getitem__))
    if node.is_marked_for_deletion:
        is_draining = drain.stage is DrainStage.DRAINING
        code = WhyCode.DRAIN if is_draining else WhyCode.DELETING
        others = tuple(other for other in held_by if other not in (WhyCode.DRAIN, WhyCode.DELETING))
        return Why(code=code, since_ns=drain.since_ns, codes=(code, *others))
    if any(blocker.code in _COMMANDED for blocker in blockers):
        return Why(code=WhyCode.COMMAND, codes=(WhyCode.COMMAND,))
    why = _why_by_lanes(fleet, case, stopped)
    return msgspec.structs.replace(why, codes=(why.code, *(code for code in held_by if code is not why.code)))


def _why_by_lanes(fleet: Fleet, case: NodeCase, stopped: Collection[Method]) -> Why:
    lanes, now = case.lanes, case.now
    taken = next((lane for lane in lanes if lane.goes), None)
    if taken is not None:
        code = WhyCode.WAITS if _lane_method(fleet, case, taken) in stopped else WhyCode.OK
        return Why(code=code, outcome=taken.outcome, method=taken.method)
    held = next((lane for lane in lanes if lane.is_held), None)
    wanting = [lane for lane in lanes if lane.is_wanted]
    if wanting and (held is None or _is_open_before(held, wanting, now)):
        first = wanting[0]
        if now is None:
            return Why(code=WhyCode.PENDING, method=first.method)
        code = WhyCode.WAITS if _lane_method(fleet, case, first) in stopped else WhyCode.NOFIT
        return Why(code=code, method=first.method)
    if held is None:
        return _of_lack(case.blockers, lanes)
    if held.blocker is None:
        assert now is not None
        code = _REFUSALS.get(held.code, WhyCode.NOFIT)
        is_refusal_now = held.code == now.refusal_code
        return Why(
            code=code,
            count=now.count if is_refusal_now else 0,
            of=SPOT_TO_SPOT_TYPES if code is WhyCode.SPOT else 0,
            score=now.score if is_refusal_now else 0.0,
            method=held.method,
            is_assumed=is_refusal_now and now.is_assumed,
        )
    return _of_blocker(fleet, case, held)


def _lane_method(fleet: Fleet, case: NodeCase, lane: Lane) -> Method:
    """Return a lane's method: Drift's lane is StaticDrift's for nodes of static NodePools."""
    is_static = fleet.is_static(case.node) and lane.method == Method.DRIFT
    return Method.STATIC_DRIFT if is_static else Method(lane.method)


def _is_open_before(held: Lane, wanting: Sequence[Lane], now: Verdict | None) -> bool:
    """Whether a method before the first blocked one has not been simulated yet."""
    return now is None and wanting[0] is not held and wanting[0].method != Method.MULTI_NODE


def _of_blocker(fleet: Fleet, case: NodeCase, held: Lane) -> Why:
    blockers = case.blockers
    assert held.blocker is not None
    first = blockers[held.blocker]
    code = CODES[first.code].why
    method = _method(held.method, first)
    if code is WhyCode.BUDGET:
        pool = fleet.pools[case.node.nodepool_name]
        state = budget_state(pool, method.reason, fleet.use.get(pool.name), fleet.now_ns)
        return Why(code=code, count=state.left, of=state.allowed, method=held.method)
    same_code = [blocker for blocker in blockers if CODES[blocker.code].why is code and method in blocker.blocks]
    return Why(code=code, count=len(same_code), until_ns=_last_end(same_code), method=held.method)


def _method(name: str, blocker: Blocker) -> Method:
    is_static = Method.STATIC_DRIFT in blocker.blocks and Method.DRIFT not in blocker.blocks
    return Method.STATIC_DRIFT if is_static and name == Method.DRIFT else Method(name)


def _last_end(blockers: Sequence[Blocker]) -> int:
    ends = [blocker.until_ns for blocker in blockers]
    return max((end for end in ends if end is not None), default=ABSENT_NS) if None not in ends else ABSENT_NS


def _of_lack(blockers: Sequence[Blocker], lanes: Sequence[Lane]) -> Why:
    """Return consolidation's unmet condition, for a node that no method wants."""
    starting = next((blocker for blocker in blockers if blocker.code in _STARTING), None)
    if starting is not None:
        return Why(code=WhyCode.INIT)
    lacks = {lane.method: lane for lane in lanes}
    lane = lacks.get(Method.SINGLE_NODE)
    if lane is not None and lane.code == FilterCode.EMPTY:
        lane = lacks[Method.EMPTINESS]
    if lane is None or lane.blocker is None:
        is_static = lane is None or lane.code == FilterCode.STATIC
        return Why(code=WhyCode.STATIC if is_static else WhyCode.NO_POOL)
    blocker = blockers[lane.blocker]
    return Why(code=CODES[blocker.code].why, count=1, until_ns=_last_end([blocker]))
