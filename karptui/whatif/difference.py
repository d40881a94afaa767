"""What edits change: the difference of two replays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from karptui.aws.prices import PriceSettings, settings_of
from karptui.disruption.blockers import BlockerSurvey
from karptui.disruption.budgets import UNLIMITED, Reason, budget_state, reasons_of
from karptui.disruption.codes import Blocker
from karptui.disruption.command import Command, Method
from karptui.disruption.methods import NextPass, observed_fleet
from karptui.karpenter.inventory import NotCounted
from karptui.kube.pod import Pod, lost_pods
from karptui.kube.units import counted
from karptui.provisioning.pool_order import served_pools
from karptui.provisioning.prepared import Prepared
from karptui.provisioning.reporter import Reporter, silent
from karptui.whatif.difference_lines import (
    BudgetChange,
    ClaimLine,
    CommandLine,
    DriftLine,
    MoveLine,
    NextLines,
    NodeLine,
    PoolChange,
    Totals,
    Unplaced,
    WeightChange,
)
from karptui.whatif.drift.drift import drift_changes, with_drift
from karptui.whatif.outcome import PoolFigures, ReplayOutcome, not_counted
from karptui.whatif.placement_difference import claim_lines, move_lines, node_lines, shifts_of, unplaced_lines
from karptui.whatif.replay import replay
from karptui.whatif.scenario import Replay
from karptui.whatif.situation import EditedCluster, Situation, without_nodes

_Allowance = dict[tuple[str, str], tuple[int | None, int | None]]


def budget_changes(before: Situation, after: Situation) -> tuple[BudgetChange, ...]:
    """Return the NodePools and reasons whose budgets change."""
    if before is after:
        return ()
    reasons = [reason for reason in reasons_of(before.settings) if reason in reasons_of(after.settings)]
    old, new = _allowances(before, reasons), _allowances(after, reasons)
    nothing = (0, 0)
    sides = {key: (old.get(key, nothing), new.get(key, nothing)) for key in (*new, *old)}
    return tuple(
        BudgetChange(pool, reason, allowed[0], allowed_then[0], allowed[1], allowed_then[1])
        for (pool, reason), (allowed, allowed_then) in sides.items()
        if allowed != allowed_then
    )


def _allowances(situation: Situation, reasons: Iterable[Reason]) -> _Allowance:
    use = situation.budget_use
    allowance: _Allowance = {}
    for pool in served_pools(situation.inventory.nodepools):
        for reason in reasons:
            state = budget_state(pool, reason, use.get(pool.name), situation.now_ns)
            is_unlimited = state.allowed >= UNLIMITED
            allowance[pool.name, str(reason)] = (None, None) if is_unlimited else (state.allowed, state.left)
    return allowance


def next_lines(outcome: ReplayOutcome) -> NextLines:
    """Return the next disruption of one side."""
    next_pass = outcome.next_pass
    assert next_pass is not None
    method = next_pass.acting.method if next_pass.acting is not None else None
    settings = settings_of(outcome.prices)
    commands = tuple(_command_line(method, c, settings) for c in next_pass.commands) if method is not None else ()
    return NextLines(commands, because="" if commands else _because(next_pass))


def _because(next_pass: NextPass) -> str:
    if next_pass.paused_by:
        names = ", ".join(next_pass.paused_by[:3])
        return f"Karpenter disrupts nothing while NodeClaims have no provider ID: {names}"
    if next_pass.error:
        return f"the pass ends early: {next_pass.error}"
    nodes, closed = next_pass.considered
    if not nodes:
        return "no node passes the gates: each is blocked, too young or not managed by Karpenter"
    if closed == nodes:
        return f"disruption budgets allow none of {counted(len(nodes), 'node')} to be removed"
    some = f"; disruption budgets allow none of {counted(len(closed), 'other node')} to be removed" if closed else ""
    return f"nothing to gain: {counted(len(nodes - closed), 'node')} considered{some}"


def _command_line(method: Method, command: Command, settings: PriceSettings) -> CommandLine:
    replacements = [(node.pool_name, node.type_names[0] if node.type_names else "") for node in command.replacements]
    replacements += [(command.candidates[0].pool.name, "")] * command.from_template
    saved = None if settings.is_disabled else command.known_savings
    return CommandLine(
        method=str(method),
        decision=str(command.decision),
        nodes=tuple(sorted(candidate.node.node_name for candidate in command.candidates)),
        replacements=tuple(replacements),
        savings_per_hour=None if saved is None else settings.saved(saved, len(command.candidates) - len(replacements)),
    )


_REPORT_EVERY = 64


class BlockerLine(msgspec.Struct, frozen=True):
    """One blocker of one node."""

    code: str
    """Of `karptui.disruption.codes.Code`."""
    node_name: str
    """Empty if it blocks the whole cluster."""
    pool_name: str
    object: str
    """``Kind/namespace/name`` of what blocks."""
    owner: str
    """Owner as ``Kind/namespace/name``; empty if none."""
    value: str
    message: str
    price_per_hour: float | None
    """Dollars that the node costs."""


def blocker_changes(
    base: Situation, edited: EditedCluster, reporter: Reporter = silent
) -> tuple[tuple[BlockerLine, ...], tuple[BlockerLine, ...]]:
    """Return the blockers that the edits add and remove, by node.

    This takes longer than a replay on a large cluster, so it is computed afterwards. NodeClaims that the edits drift
    count as drifted. The blockers of nodes that the edits remove are removed, if a method wanted the node.
    """
    inventory = with_drift(edited.inventory, base, edited)
    if edited.removed:
        inventory = without_nodes(inventory, edited.removed)
    after = edited if inventory is edited.inventory else edited.derive(inventory)
    old, new = _survey(base, reporter), _survey(after, reporter)
    gained = [new[key] for key in new if key not in old]
    lost = [old[key] for key in old if key not in new and old[key].is_wanted]
    settings = settings_of(base.prices)
    return _lines(gained, settings), _lines(lost, settings)


def _survey(situation: Situation, reporter: Reporter) -> dict[tuple[str, ...], Blocker]:
    fleet = observed_fleet(situation.prepared)
    survey = BlockerSurvey(fleet)
    blockers = {_key(blocker): blocker for blocker in survey.cluster}
    for index, node in enumerate(fleet.nodes):
        if not index % _REPORT_EVERY:
            reporter(index, len(fleet.nodes))
        blockers.update((_key(blocker), blocker) for blocker in survey.of(node))
    return blockers


def _key(blocker: Blocker) -> tuple[str, ...]:
    return str(blocker.code), blocker.node_name, blocker.object_ref, blocker.pod_uid


def _lines(blockers: Iterable[Blocker], settings: PriceSettings) -> tuple[BlockerLine, ...]:
    lines = [
        BlockerLine(
            code=str(blocker.code),
            node_name=blocker.node_name,
            pool_name=blocker.pool_name,
            object=blocker.object_ref,
            owner=blocker.owner,
            value=blocker.value,
            message=blocker.message,
            price_per_hour=settings.paid(blocker.price_per_hour),
        )
        for blocker in blockers
    ]
    return tuple(sorted(lines, key=lambda line: (line.node_name, line.code, line.object)))


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """Two replays, compared."""

    mode: Replay
    before: Totals
    after: Totals
    pools: tuple[PoolChange, ...]
    """Every NodePool of both sides, in the order of the edited side."""
    claims: tuple[ClaimLine, ...]
    """New nodes of the edited side: changed ones first, then by NodePool."""
    claims_before: tuple[ClaimLine, ...]
    """New nodes of the base that the edited side has none like."""
    nodes: tuple[NodeLine, ...]
    """Nodes that exist and receive pods on the edited side; changed ones first."""
    moves: tuple[MoveLine, ...]
    """Pods whose NodePool or node changes."""
    no_longer_fit: tuple[Unplaced, ...]
    """Unschedulable pods that are schedulable without the edits, or new."""
    still_pending: tuple[Unplaced, ...]
    """Unschedulable pods of both sides."""
    now_fit: tuple[MoveLine, ...]
    """Pods with a place that have none in the base."""
    drift_gained: tuple[DriftLine, ...] = ()
    drift_lost: tuple[DriftLine, ...] = ()
    budgets: tuple[BudgetChange, ...] = ()
    weights: tuple[WeightChange, ...] = ()
    """NodePools with edited weights, in the order of the edited side."""
    lost_pods: tuple[str, ...] = ()
    """``namespace/name`` of pods that nothing recreates, on removed nodes or those of the next command."""
    without_types: tuple[str, ...] = ()
    """NodePools without instance types after the edits, in the order of the edited side."""
    not_counted: NotCounted = NotCounted()
    """Nodes that the totals leave out."""
    next_before: NextLines | None = None
    """Only of `Replay.NEXT`."""
    next_after: NextLines | None = None

    @property
    def places_alike(self) -> bool:
        """Whether every pod is placed as without the edits, on the same number of nodes at the same price."""
        is_alike = (self.before.nodes, self.before.price_per_hour) == (self.after.nodes, self.after.price_per_hour)
        return is_alike and not (self.moves or self.now_fit or self.no_longer_fit)

    @property
    def price_delta_per_hour(self) -> float:
        """Change in dollars per hour, for known prices; negative if cheaper."""
        return self.after.price_per_hour - self.before.price_per_hour

    @property
    def at_most_delta_per_hour(self) -> float:
        """The same, with spot nodes of unknown price at their on-demand price."""
        return self.price_delta_per_hour + (
            self.after.unpriced_at_most_per_hour - self.before.unpriced_at_most_per_hour
        )

    @property
    def price_delta_share(self) -> float | None:
        """The same as a share of the cost before; None if that is zero."""
        before = self.before.price_per_hour
        return self.price_delta_per_hour / before if before else None


def difference(base: Situation, edited: Situation, mode: Replay, reporter: Reporter = silent) -> Difference:
    """Replay both sides and compare the outcomes."""
    before, after = replay(base, mode, reporter), replay(edited, mode, reporter)
    after.claim_types.tidy()
    drift_gained, drift_lost = drift_changes(base, edited)
    claims, claims_before = claim_lines(before, after)
    shifts = shifts_of(before, after)
    lost = frozenset() if mode is Replay.SCRATCH else frozenset(lost_pods(_evicted(edited, after)))
    moves, now_fit = move_lines(after, [shift for shift in shifts if shift.pod.key not in lost])
    no_longer_fit, still_pending = unplaced_lines(after, shifts)
    is_next = mode is Replay.NEXT
    return Difference(
        mode=mode,
        before=totals_of(before, base.drifted),
        not_counted=not_counted(before.prepared),
        after=totals_of(after, edited.drifted + len(drift_gained) - len(drift_lost)),
        pools=_pools(before, after),
        claims=claims,
        claims_before=claims_before,
        nodes=node_lines(before, after),
        moves=moves,
        no_longer_fit=no_longer_fit,
        still_pending=still_pending,
        now_fit=now_fit,
        drift_gained=drift_gained,
        drift_lost=drift_lost,
        budgets=budget_changes(base, edited),
        lost_pods=tuple(sorted(lost)),
        weights=_weights(base.prepared, edited.prepared),
        without_types=tuple(
            pool.name
            for pool in edited.prepared.pools
            if pool.name in edited.prepared.left_out and pool.name not in base.prepared.left_out
        ),
        next_before=next_lines(before) if is_next else None,
        next_after=next_lines(after) if is_next else None,
    )


def _evicted(edited: Situation, after: ReplayOutcome) -> Iterator[Pod]:
    """Yield the pods of nodes that the edits or the next commands remove."""
    removed = frozenset(edited.removed) if isinstance(edited, EditedCluster) else frozenset[str]()
    if removed:
        yield from (pod for pod in edited.inventory.pods if pod.node_name in removed)
    for command in () if after.next_pass is None else after.next_pass.commands:
        for candidate in command.candidates:
            yield from candidate.reschedulable_pods


def _weights(before: Prepared, after: Prepared) -> tuple[WeightChange, ...]:
    old = {pool.name: pool for pool in before.pools}
    places = {name: place for place, name in enumerate(old)}
    both = [pool for pool in after.pools if pool.name in old]
    changes = []
    for at, pool in enumerate(both):
        if pool.weight == old[pool.name].weight:
            continue
        place = places[pool.name]
        changes.append(
            WeightChange(
                pool.name,
                ahead_of=tuple(node_pool.name for node_pool in both[at + 1 :] if places[node_pool.name] < place),
                behind=tuple(node_pool.name for node_pool in both[:at] if places[node_pool.name] > place),
                is_usable=pool.name not in after.left_out,
            )
        )
    return tuple(changes)


def totals_of(outcome: ReplayOutcome, drifted: int) -> Totals:
    """Return a replay in figures."""
    pools = outcome.pools.values()
    return Totals(
        nodes=sum(pool.nodes for pool in pools),
        launched=sum(pool.launched for pool in pools),
        price_per_hour=sum(pool.price_per_hour for pool in pools),
        unpriced=sum(pool.unpriced for pool in pools),
        pending=len(outcome.unplaced),
        drifted=drifted,
        unpriced_at_most_per_hour=sum(pool.unpriced_at_most_per_hour for pool in pools),
        unbounded=sum(pool.unbounded for pool in pools),
    )


def _pools(before: ReplayOutcome, after: ReplayOutcome) -> tuple[PoolChange, ...]:
    nothing = PoolFigures()
    known_before = {pool.name for pool in before.prepared.inventory.nodepools}
    known_after = {pool.name for pool in after.prepared.inventory.nodepools}
    changes = []
    for name in dict.fromkeys((*after.pools, *before.pools)):
        old, new = before.pools.get(name, nothing), after.pools.get(name, nothing)
        changes.append(
            PoolChange(
                name=name,
                nodes_before=old.nodes,
                nodes_after=new.nodes,
                launched_before=old.launched,
                launched_after=new.launched,
                price_before=old.price_per_hour,
                price_after=new.price_per_hour,
                unpriced_before=old.unpriced,
                unpriced_after=new.unpriced,
                is_new=name in known_after and name not in known_before,
                is_gone=name in known_before and name not in known_after,
                pods_before=before.pods_by_pool.get(name, 0),
                pods_after=after.pods_by_pool.get(name, 0),
            )
        )
    return tuple(changes)
