"""A pause of voluntary disruption, or its end: its budgets, removals that go on, its cost, and removals it releases.

Two forecasts are compared, without and with the change. A pause without an end is released after the horizon.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

import msgspec

from karptui.disruption.budgets import Reason, budget_state, is_repairing, reasons_of_pool
from karptui.disruption.command import Method
from karptui.disruption.pauses import (
    DEFAULT_BUDGET,
    LONGEST_NS,
    MOST_BUDGETS,
    PauseRequest,
    ZeroBudget,
    budget_documents,
    end_of,
    pause_budget,
    zero_budgets,
)
from karptui.disruption.repair import LEGACY_REPAIR
from karptui.disruption.termination import deadline_of
from karptui.errors import RequestError, no_such
from karptui.forward.result import Played, Step, StepKind
from karptui.forward.run import HORIZON_NS
from karptui.forward.static_pools import DEPROVISIONING
from karptui.karpenter.labels import CAPACITY_TYPE, NODEPOOL, SPOT
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodepool import NodePool
from karptui.kube.gitops import GitOpsOwner, gitops_owner
from karptui.kube.group import group_by
from karptui.kube.timestamps import HOUR_NS
from karptui.provisioning.reporter import Each, Reporter, one_by_one, silent
from karptui.studies.forecasts import RUNS, drained, leave_out_alike, played_with, spent
from karptui.whatif.edits import ObjectRef, SetField
from karptui.whatif.situation import WhatIfBase

VOLUNTARY: Final = (Reason.EMPTY, Reason.DRIFTED, Reason.UNDERUTILIZED)
"""Reasons that a pause may name; repair is not one of them."""
LONGEST_PLAYED_NS: Final = 72 * HOUR_NS
"""The longest simulated pause: a longer one is released then."""
_PATH: Final = ("spec", "disruption", "budgets")
_POINTER: Final = "/spec/disruption/budgets"


class PoolState(StrEnum):
    """Effect of the change on a NodePool."""

    CHANGED = "changed"
    ALREADY = "alreadyPaused"
    """Other budgets pause it at least as long."""
    NOT_PAUSED = "notPaused"
    """No budget to end."""
    UNREADABLE = "unreadableBudgets"
    """A budget cannot be parsed: Karpenter disrupts no node of it anyway."""
    FULL = "tooManyBudgets"
    NOT_CONCERNED = "notConcerned"
    """A static NodePool, and only reasons of consolidation are paused."""


class PoolPause(msgspec.Struct, frozen=True, kw_only=True):
    """The change of one NodePool."""

    name: str
    state: PoolState
    budgets: tuple[dict[str, Any], ...] = ()
    """Its budgets after the change, as a manifest has them."""
    patch: tuple[dict[str, Any], ...] = ()
    """The change as a JSON patch; empty without a change."""
    ended: tuple[ZeroBudget, ...] = ()
    kept: tuple[ZeroBudget, ...] = ()
    """Budgets that stay and allow nothing now."""
    is_default_written: bool = False
    """Whether the default budget is written because no other is left, which would mean no limit."""
    owner: GitOpsOwner | None = None
    is_deleting: bool = False
    spot_nodes: int = 0
    nodes: int = 0


class EventKind(StrEnum):
    """Why nodes are removed."""

    DRAINING = "draining"
    COMMANDED = "commanded"
    EXPIRES = "expires"
    REPAIRED = "repaired"
    SCALE_DOWN = "staticScaleDown"
    NOT_PAUSED = "notPaused"
    """A NodePool or reason that is not paused."""
    RELEASED = "released"


class PauseEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes that are removed during a pause or after its end."""

    at_ns: int
    kind: EventKind
    nodes: tuple[str, ...]
    pools: tuple[str, ...]
    method: str = ""
    decision: str = ""
    evictions: int = 0
    gone_ns: int | None = None
    """When the last of its nodes is gone in the forecast; None if it is not."""
    forced_ns: int | None = None
    """When terminationGracePeriod ends the drain by force; None without one."""


class Pause(msgspec.Struct, frozen=True, kw_only=True):
    """A pause, or its end."""

    is_release: bool
    reasons: tuple[Reason, ...]
    """The paused reasons; none for all voluntary ones."""
    pools: tuple[PoolPause, ...]
    from_ns: int
    until_ns: int | None
    """Written end; None without one, and for a release."""
    released_ns: int
    """When the forecast releases it."""
    as_is: Played
    """Forecast without the change."""
    changed: Played
    events: tuple[PauseEvent, ...]
    names_reasons: bool = False
    """Whether the written pause lists the voluntary reasons, as one for all reasons would stop node repair too."""
    pool_by_node: Mapping[str, str] = {}

    @property
    def dollars(self) -> float | None:
        """Cost of the pause until it is released; None if unknown, and for a release."""
        if self.is_release or not self._is_priced:
            return None
        return spent(self.changed, self.released_ns) - spent(self.as_is, self.released_ns)

    @property
    def dollars_per_hour(self) -> float | None:
        """Average cost of the pause, or savings at the end of the forecast of a release; None if unknown."""
        if self.is_release:
            return self.as_is.end.price_per_hour - self.changed.end.price_per_hour if self._is_priced else None
        return None if self.dollars is None else self.dollars * HOUR_NS / (self.released_ns - self.from_ns)

    @property
    def assumed(self) -> tuple[str, ...]:
        """Assumptions of the forecasts."""
        return RUNS, *self.changed.assumptions

    @property
    def _is_priced(self) -> bool:
        return self.as_is.has_prices and leave_out_alike(self.as_is, self.changed)

    @property
    def going_on(self) -> tuple[PauseEvent, ...]:
        """Removals that the pause does not stop."""
        return tuple(event for event in self.events if event.kind is not EventKind.RELEASED)

    @property
    def released(self) -> tuple[PauseEvent, ...]:
        """Voluntary removals after the end of the pause."""
        return tuple(event for event in self.events if event.kind is EventKind.RELEASED)

    @property
    def disrupted_otherwise(self) -> int:
        """Nodes that Karpenter disrupts for the same reasons without the change, until the forecast ends."""
        names = {pool.name for pool in self.pools if pool.state is PoolState.CHANGED}
        return sum(
            len(step.nodes)
            for step in self.as_is.steps
            if step.kind is StepKind.DISRUPT and _reason(step) in (self.reasons or VOLUNTARY)
            if names.intersection(_pools_of(step, self.pool_by_node))
        )


def pause(
    base: WhatIfBase,
    request: PauseRequest,
    *,
    horizon_ns: int = HORIZON_NS,
    reporter: Reporter = silent,
    each: Each = one_by_one,
) -> Pause:
    """Return a pause of voluntary disruption, or its end.

    Args:
        horizon_ns: Length of the forecast after the release, and of a simulated pause without an end.

    Raises:
        RequestError: If a NodePool does not exist, or the end is past or too far away.
    """
    now_ns, reasons, is_release = base.now_ns, request.reasons, request.is_release
    chosen = _chosen_pools(base, request.pools)
    until_ns = _end(request, now_ns)
    released_ns = now_ns
    if not is_release:
        released_ns = now_ns + min((until_ns or now_ns + horizon_ns) - now_ns, LONGEST_PLAYED_NS)
    names_reasons = not reasons and is_repairing(base.settings)
    written = VOLUNTARY if names_reasons else reasons
    claims = group_by(base.inventory.nodeclaims, lambda claim: claim.labels.get(NODEPOOL, ""))
    changes = tuple(
        _with_nodes(
            _ended(base, pool, reasons) if is_release else _paused(base, pool, written, until_ns),
            claims.get(pool.name, ()),
        )
        for pool in chosen
    )
    played_budget = pause_budget(now_ns, released_ns, written)
    edits = tuple(
        _edit(change if is_release else msgspec.structs.replace(change, budgets=(*change.budgets[:-1], played_budget)))
        for change in changes
        if change.state is PoolState.CHANGED
    )
    span_ns = released_ns - now_ns + horizon_ns
    as_is, changed = each(played_with, (base, span_ns), ((), edits), reporter)
    pool_by_node = {
        name: claim.labels.get(NODEPOOL, "")
        for claim in base.inventory.nodeclaims
        for name in (claim.node_name, claim.name)
        if name
    }
    names = frozenset(change.name for change in changes if change.state is PoolState.CHANGED)
    return Pause(
        is_release=is_release,
        reasons=reasons,
        pools=changes,
        from_ns=now_ns,
        until_ns=until_ns,
        released_ns=released_ns,
        as_is=as_is,
        changed=changed,
        events=tuple(_events(base, changed, released_ns, _Scope(names, reasons or VOLUNTARY, pool_by_node))),
        names_reasons=names_reasons,
        pool_by_node=pool_by_node,
    )


def _end(request: PauseRequest, now_ns: int) -> int | None:
    if not request.until or request.is_release:
        return None
    try:
        until_ns = end_of(request.until, now_ns)
    except ValueError as error:
        raise RequestError(f"the end of the pause, {error}") from None
    if until_ns <= now_ns:
        raise RequestError(f"the end of the pause, {request.until!r}, is not in the future")
    if until_ns > now_ns + LONGEST_NS:
        raise RequestError(
            f"the end of the pause, {request.until!r}, is more than 31 days away: write one without an end"
        )
    return until_ns


def _chosen_pools(base: WhatIfBase, names: Collection[str]) -> list[NodePool]:
    pools = {pool.name: pool for pool in base.inventory.nodepools}
    for name in names:
        if name not in pools:
            raise no_such("NodePool", name, sorted(pools))
    if not pools:
        raise RequestError("there is no NodePool")
    return [pool for name, pool in pools.items() if not names or name in names]


def _edit(change: PoolPause) -> SetField:
    return SetField(ObjectRef("NodePool", change.name), _PATH, [dict(budget) for budget in change.budgets])


def _change(pool: NodePool, state: PoolState, **facts: Any) -> PoolPause:
    return PoolPause(
        name=pool.name,
        state=state,
        owner=gitops_owner("NodePool", pool.name, pool.labels, pool.annotations),
        is_deleting=pool.is_deleting,
        **facts,
    )


def _with_nodes(change: PoolPause, claims: Iterable[NodeClaim]) -> PoolPause:
    staying = [claim for claim in claims if not claim.is_deleting]
    spot = sum(claim.labels.get(CAPACITY_TYPE) == SPOT for claim in staying)
    return msgspec.structs.replace(change, nodes=len(staying), spot_nodes=spot)


def _is_unreadable(base: WhatIfBase, pool: NodePool) -> bool:
    return bool(budget_state(pool, Reason.DRIFTED, None, base.now_ns).problem)


def _paused(base: WhatIfBase, pool: NodePool, reasons: Sequence[Reason], until_ns: int | None) -> PoolPause:
    """Return the pause of one NodePool: one budget more."""
    now_ns = base.now_ns
    applying = [reason for reason in reasons_of_pool(pool, base.settings) if reason in (reasons or VOLUNTARY)]
    if not applying:
        return _change(pool, PoolState.NOT_CONCERNED)
    if _is_unreadable(base, pool):
        return _change(pool, PoolState.UNREADABLE)
    active = zero_budgets(pool, now_ns)
    lasting = [budget for budget in active if _lasts(budget, until_ns)]
    if all(any(budget.covers(reason) for budget in lasting) for reason in applying):
        return _change(pool, PoolState.ALREADY, kept=tuple(lasting))
    present = budget_documents(pool)
    if len(present) >= MOST_BUDGETS:
        return _change(pool, PoolState.FULL)
    budget = pause_budget(now_ns, until_ns, reasons)
    patch = ({"op": "add", "path": f"{_POINTER}/-", "value": budget},)
    return _change(pool, PoolState.CHANGED, budgets=(*present, budget), patch=patch, kept=active)


def _lasts(pause: ZeroBudget, until_ns: int | None) -> bool:
    if pause.budget.schedule is None:
        return True
    return until_ns is not None and not pause.is_recurring and pause.end_ns is not None and pause.end_ns >= until_ns


def _ended(base: WhatIfBase, pool: NodePool, reasons: Sequence[Reason]) -> PoolPause:
    """Return the end of a NodePool's pauses; windows that recur stay, and so do pauses of other reasons."""
    if _is_unreadable(base, pool):
        return _change(pool, PoolState.UNREADABLE)
    active = zero_budgets(pool, base.now_ns)
    ended = tuple(
        budget for budget in active if not budget.is_recurring and (not reasons or any(map(budget.covers, reasons)))
    )
    kept = tuple(budget for budget in active if budget not in ended)
    if not ended:
        return _change(pool, PoolState.NOT_PAUSED, kept=kept)
    present = budget_documents(pool)
    gone = {budget.index for budget in ended}
    left = [budget for index, budget in enumerate(present) if index not in gone]
    patch: list[dict[str, Any]] = []
    for index in sorted(gone, reverse=True):
        path = f"{_POINTER}/{index}"
        patch += [{"op": "test", "path": path, "value": present[index]}, {"op": "remove", "path": path}]
    if not left:
        # A NodePool without any budget has no limit at all.
        left = [dict(DEFAULT_BUDGET)]
        patch.append({"op": "add", "path": f"{_POINTER}/-", "value": DEFAULT_BUDGET})
    return _change(
        pool,
        PoolState.CHANGED,
        budgets=tuple(left),
        patch=tuple(patch),
        ended=ended,
        kept=kept,
        is_default_written=len(gone) == len(present),
    )


class _Scope(NamedTuple):
    """What is paused."""

    pools: frozenset[str]
    reasons: Collection[Reason]
    pool_by_node: Mapping[str, str]


def _events(base: WhatIfBase, played: Played, released_ns: int, scope: _Scope) -> Iterator[PauseEvent]:
    """Yield the removals that go on until the release, then the released ones, in order of time."""
    claims = {claim.node_name or claim.name: claim for claim in base.inventory.nodeclaims}
    gone = drained(played)
    yield from _under_way(base, {name: at_ns for name, at_ns in gone.items() if at_ns <= released_ns})
    for step in played.steps:
        if step.kind not in (StepKind.DISRUPT, StepKind.EXPIRE):
            continue
        step_pools = _pools_of(step, scope.pool_by_node)
        kind = _kind(step, step_pools, scope)
        if (kind is EventKind.RELEASED) is (step.at_ns >= released_ns):
            yield PauseEvent(
                at_ns=step.at_ns,
                kind=kind,
                nodes=step.nodes,
                pools=step_pools,
                method=step.method,
                decision=step.decision,
                evictions=step.evictions,
                gone_ns=_all_gone(step.nodes, gone),
                forced_ns=_forced(step, claims),
            )


def _under_way(base: WhatIfBase, gone: Mapping[str, int]) -> Iterator[PauseEvent]:
    """Yield nodes that are being deleted, and nodes that a command holds."""
    for state in base.fleet.nodes:
        claim = state.claim
        if claim is None or not (claim.is_deleting or state.is_held_by_command):
            continue
        deadline = deadline_of(claim)
        yield PauseEvent(
            at_ns=base.now_ns,
            kind=EventKind.DRAINING if claim.is_deleting else EventKind.COMMANDED,
            nodes=(state.name,),
            pools=(state.nodepool_name,),
            gone_ns=_all_gone((claim.node_name or claim.name,), gone),
            forced_ns=deadline.at_ns if deadline is not None else None,
        )


def _kind(step: Step, pools: Collection[str], scope: _Scope) -> EventKind:
    if step.kind is StepKind.EXPIRE:
        return EventKind.EXPIRES
    if step.method in (LEGACY_REPAIR, Method.REPAIR):
        return EventKind.REPAIRED
    if step.method == DEPROVISIONING:
        return EventKind.SCALE_DOWN
    is_paused = _reason(step) in scope.reasons and not scope.pools.isdisjoint(pools)
    return EventKind.RELEASED if is_paused else EventKind.NOT_PAUSED


def _reason(step: Step) -> Reason | None:
    return Method(step.method).reason if step.method in set(Method) else None


def _pools_of(step: Step, pool_by_node: Mapping[str, str]) -> tuple[str, ...]:
    """Return the NodePools of a step's nodes; a forecast names its nodes ``POOL-f0001``."""
    return tuple(dict.fromkeys(pool_by_node.get(name) or name.rpartition("-f")[0] for name in step.nodes))


def _all_gone(names: Iterable[str], gone: Mapping[str, int]) -> int | None:
    ends = [gone.get(name) for name in names]
    known_ends = [end for end in ends if end is not None]
    return max(known_ends) if known_ends and len(known_ends) == len(ends) else None


def _forced(step: Step, claims: Mapping[str, NodeClaim]) -> int | None:
    graces = [
        claims[name].termination_grace_period_ns
        for name in step.nodes
        if name in claims and step.kind is StepKind.EXPIRE
    ]
    known_graces = [grace for grace in graces if grace is not None]
    return step.at_ns + max(known_graces) if known_graces else None
