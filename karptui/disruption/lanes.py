"""What each method makes of a node: whether it wants it, and if so the first thing that holds it.

Only what holds a method that wants the node is a reason why it is still here; the row's WHY is the first such method's
in Karpenter's order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from karptui.disruption.blocker import Blocker
from karptui.disruption.budgets import budget_state
from karptui.disruption.codes import CODES, RANKS, Code, WhyCode
from karptui.disruption.command import Method
from karptui.disruption.consolidation import SPOT_TO_SPOT_TYPES, RefusalCode
from karptui.disruption.deletion import DrainStage
from karptui.disruption.drain import DrainState
from karptui.disruption.emptiness import FilterCode
from karptui.disruption.fleet import Fleet
from karptui.disruption.node_verdict import Verdict
from karptui.disruption.outlook import Outcome
from karptui.disruption.should_disrupt import WantedBy
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
}
_ORDER: Final = {**_POD_ORDER, **_LATER}
"""Places of blockers that come after the gates, which stand in Karpenter's order already."""
_BARE: Final = frozenset(
    {"", FilterCode.STATIC, FilterCode.EMPTY, FilterCode.NOT_EMPTY, FilterCode.NOT_DRIFTED, FilterCode.HEALTHY}
)
"""What a method may miss that is no blocker."""
_LACKS: Final[dict[str, tuple[Code, ...]]] = {
    FilterCode.NOT_CONSOLIDATABLE: (Code.CONSOLIDATE_AFTER, Code.NOT_CONSOLIDATABLE),
}
"""Blockers that stand for what a method misses, where they have another code."""
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
    """What one method makes of one node."""

    method: str
    """Its name; StaticDrift's lane is Drift's."""
    is_wanted: bool = False
    code: str = ""
    """The first thing that holds it, where it is wanted, else the first thing that it lacks."""
    blocker: int | None = None
    """Its place among the blockers of the node; None where it is none of them."""
    outcome: Outcome | None = None
    """What becomes of the node by this method, where nothing holds it and that is known."""

    @property
    def is_held(self) -> bool:
        """Whether the method wants the node, and something holds it."""
        return self.is_wanted and bool(self.code)

    @property
    def goes(self) -> bool:
        """Whether the method takes the node."""
        return self.outcome in _GOES


_lane = lru_cache(maxsize=2_048)(Lane)
"""Lanes alike are one object: of thousands of nodes most are."""


def lanes_of(
    methods: Iterable[Method],
    wanted: WantedBy,
    blockers: Sequence[Blocker],
    now: Verdict | None,
    with_others: Outcome | None = None,
) -> tuple[Lane, ...]:
    """Return what each method makes of a node.

    Args:
        methods: Those that can ever take it, in Karpenter's order.
        wanted: Which of them want it.
        blockers: Everything in its way.
        now: What becomes of it as things are; None while that is not worked out.
        with_others: What MultiNodeConsolidation makes of it; None where it does not take it, or was not asked.
    """
    return tuple(_of_method(method, wanted, blockers, now, with_others) for method in methods)


def _of_method(
    method: Method, wanted: WantedBy, blockers: Sequence[Blocker], now: Verdict | None, with_others: Outcome | None
) -> Lane:
    name = lane_name(method)
    lack = wanted.lacks.get(method)
    if lack is not None or method not in wanted.since:
        return _lane(name, False, lack or "", _place(blockers, lack or ""))
    held = _first(method, blockers)
    if held is not None:
        return _lane(name, True, str(blockers[held].code), held)
    if method is Method.MULTI_NODE:
        return _lane(name, True, outcome=with_others)
    if now is None:
        return _lane(name, True)
    if now.goes and now.method == method:
        return _lane(name, True, outcome=now.outcome)
    return _lane(name, True, next((one.code for one in now.refused if one.method == method), ""))


def lane_name(method: Method) -> str:
    """Return the name of a method's lane: StaticDrift shares Drift's."""
    return str(Method.DRIFT if method is Method.STATIC_DRIFT else method)


def _place(blockers: Sequence[Blocker], lack: str) -> int | None:
    if lack in _BARE:
        return None
    codes = _LACKS.get(lack, (lack,))
    return next((place for place, one in enumerate(blockers) if one.code in codes), None)


def _first(method: Method, blockers: Sequence[Blocker]) -> int | None:
    """Return the place of the first blocker of a method in Karpenter's order; gates stand in theirs already."""
    first, least = None, len(_LATER)
    for place, one in enumerate(blockers):
        if method in one.blocks:
            order = _ORDER.get(one.code, 0)
            if not order:
                return place
            if first is None or order < least:
                first, least = place, order
    return first


class Why(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The code of a node's row with its numbers."""

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
    """The code, then those of what else holds a method that wants the node, worst first."""
    method: str = ""
    """The method that it is taken from; empty where none wants the node."""


class NodeCase(NamedTuple):
    """What WHY follows from, of one node."""

    node: StateNode
    blockers: Sequence[Blocker]
    """Everything that keeps it."""
    lanes: Sequence[Lane]
    drain: DrainState
    now: Verdict | None
    """What becomes of it as things are; None while that is not worked out."""


def why_of(fleet: Fleet, case: NodeCase, stopped: Collection[Method] = ()) -> Why:
    """Return why a node is still here.

    Args:
        fleet: The cluster.
        case: The node.
        stopped: Methods that something stops for every node.
    """
    node, blockers, drain = case.node, case.blockers, case.drain
    if node.claim is None:
        return Why(code=WhyCode.UNMANAGED, codes=(WhyCode.UNMANAGED,))
    wanted_codes = {CODES[one.code].why for one in blockers if one.is_wanted}
    held_by = tuple(sorted(wanted_codes, key=RANKS.__getitem__))
    if node.is_marked_for_deletion:
        is_draining = drain.stage is DrainStage.DRAINING
        code = WhyCode.DRAIN if is_draining else WhyCode.DELETING
        others = tuple(one for one in held_by if one not in (WhyCode.DRAIN, WhyCode.DELETING))
        return Why(code=code, since_ns=drain.since_ns, codes=(code, *others))
    if any(one.code in _COMMANDED for one in blockers):
        return Why(code=WhyCode.COMMAND, codes=(WhyCode.COMMAND,))
    found = _found(fleet, case, stopped)
    return msgspec.structs.replace(found, codes=(found.code, *(one for one in held_by if one is not found.code)))


def _found(fleet: Fleet, case: NodeCase, stopped: Collection[Method]) -> Why:
    lanes, now = case.lanes, case.now
    taken = next((lane for lane in lanes if lane.goes), None)
    if taken is not None:
        code = WhyCode.WAITS if _asked(fleet, case, taken) in stopped else WhyCode.OK
        return Why(code=code, outcome=taken.outcome, method=taken.method)
    held = next((lane for lane in lanes if lane.is_held), None)
    wanting = [lane for lane in lanes if lane.is_wanted]
    if wanting and (held is None or _is_open_before(held, wanting, now)):
        first = wanting[0]
        if now is None:
            return Why(code=WhyCode.PENDING, method=first.method)
        code = WhyCode.WAITS if _asked(fleet, case, first) in stopped else WhyCode.NOFIT
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
        )
    return _of_blocker(fleet, case, held)


def _asked(fleet: Fleet, case: NodeCase, lane: Lane) -> Method:
    """Return the method of a lane: that of Drift is StaticDrift's for nodes of static NodePools."""
    is_static = fleet.is_static(case.node) and lane.method == Method.DRIFT
    return Method.STATIC_DRIFT if is_static else Method(lane.method)


def _is_open_before(held: Lane, wanting: Sequence[Lane], now: Verdict | None) -> bool:
    """Whether a method before the first that is held is still being worked out."""
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
    own = [one for one in blockers if CODES[one.code].why is code and method in one.blocks]
    return Why(code=code, count=len(own), until_ns=_last_end(own), method=held.method)


def _method(name: str, blocker: Blocker) -> Method:
    is_static = Method.STATIC_DRIFT in blocker.blocks and Method.DRIFT not in blocker.blocks
    return Method.STATIC_DRIFT if is_static and name == Method.DRIFT else Method(name)


def _last_end(blockers: Sequence[Blocker]) -> int:
    ends = [one.until_ns for one in blockers]
    return max((end for end in ends if end is not None), default=ABSENT_NS) if None not in ends else ABSENT_NS


def _of_lack(blockers: Sequence[Blocker], lanes: Sequence[Lane]) -> Why:
    """Return what consolidation lacks, of a node that no method wants."""
    starting = next((one for one in blockers if one.code in _STARTING), None)
    if starting is not None:
        return Why(code=WhyCode.INIT)
    lacks = {lane.method: lane for lane in lanes}
    lane = lacks.get(Method.SINGLE_NODE)
    if lane is not None and lane.code == FilterCode.EMPTY:
        lane = lacks[Method.EMPTINESS]
    if lane is None or lane.blocker is None:
        is_static = lane is None or lane.code == FilterCode.STATIC
        return Why(code=WhyCode.STATIC if is_static else WhyCode.NO_POOL)
    one = blockers[lane.blocker]
    return Why(code=CODES[one.code].why, count=1, until_ns=_last_end([one]))
