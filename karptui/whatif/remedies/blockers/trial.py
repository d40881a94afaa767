"""Remedies compared by simulation: nodes freed, savings, evictions and risks; best first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from karptui.aws.money import saved_text
from karptui.aws.prices import PriceSettings, settings_of
from karptui.disruption.blockers import BlockerSurvey, price_of
from karptui.disruption.codes import CODES, Blocker, Code
from karptui.disruption.fleet import Fleet
from karptui.disruption.joint_removal import JointRemovals
from karptui.disruption.joint_saving import JointFigures, JointSaving, NodeSaving, joint_saving
from karptui.disruption.methods import observed_fleet
from karptui.disruption.outlook import Outcome, RemovalSimulator
from karptui.karpenter.nodeclaim import node_key
from karptui.karpenter.pod_predicates import is_reschedulable
from karptui.kube.pod import Pod, lost_pods
from karptui.kube.timestamps import ABSENT_NS, NS_PER_SECOND
from karptui.kube.units import count_text, counted, duration_text, verb
from karptui.provisioning.reporter import Reporter, silent
from karptui.provisioning.solution import solve
from karptui.provisioning.state_node import StateNode
from karptui.whatif.drift.drift import drift_changes
from karptui.whatif.edits import EditError, SetField
from karptui.whatif.edits.apply import apply
from karptui.whatif.remedies.blockers.preemption import preemptions
from karptui.whatif.remedies.blockers.protected_pods import ends_by_itself, is_outlived
from karptui.whatif.remedies.blockers.remedy import BlockerRemedy, BlockerRemedyKind
from karptui.whatif.situation import Situation, WhatIfBase

DAY_SECONDS: Final = 86_400
_GOES: Final = frozenset({Outcome.DELETE, Outcome.REPLACE})
_RISKS: Final[Mapping[BlockerRemedyKind, str]] = {
    BlockerRemedyKind.OWN_POOL: "one more NodePool to maintain",
    BlockerRemedyKind.CORDON: "uncordon a node to keep it",
    BlockerRemedyKind.DURATION: "a job that starts there later blocks the node longer, and one that runs longer than"
    " {value} is ended",
    BlockerRemedyKind.GRACE: "a job that runs longer than {value} on a drifted node is ended",
    BlockerRemedyKind.SPREAD: "more nodes may hold one pod each",
    BlockerRemedyKind.PRIORITY: "any pod of higher priority may preempt them later",
    BlockerRemedyKind.REMOVE_ANNOTATION: "nothing protects the pods any more",
    BlockerRemedyKind.REMOVE_NODE_ANNOTATION: "nothing protects the node any more",
    BlockerRemedyKind.ALLOW_EVICTION: "one of its pods is down at a time",
    BlockerRemedyKind.MORE_REPLICAS: "one more pod to pay for",
    BlockerRemedyKind.ONE_PDB: "only the other PodDisruptionBudget protects",
    BlockerRemedyKind.WIDER_BUDGET: "more nodes are removed at the same time",
    BlockerRemedyKind.NODE_LIMIT: "one more node for a while",
}
_RISKS_OF_SERVICES: Final[Mapping[BlockerRemedyKind, str]] = {
    BlockerRemedyKind.OWN_POOL: "one more NodePool to maintain, and the pods are recreated there",
    BlockerRemedyKind.DURATION: "each of them may be evicted {value} after its start",
    BlockerRemedyKind.GRACE: "each of them is ended at the latest {value} after its node begins to drain",
}
"""Risks if no protected pod ends automatically."""


class Holder(msgspec.Struct, frozen=True):
    """What still blocks a node: a workload's pod, a NodePool's budget, or a condition of the node."""

    name: str = ""
    """``namespace/name`` of the workload, or the NodePool of the budget; empty for a condition."""
    code: Code | None = None
    """Code of a budget or condition; None for a workload, whose pods may block by several codes."""

    @property
    def text(self) -> str:
        """Its name, or the meaning of its code."""
        if self.code is None:
            return self.name
        return f"a disruption budget of {self.name}" if self.name else CODES[self.code].meaning


class Trial(msgspec.Struct, frozen=True):
    """The effect of a remedy."""

    nodes: int = 0
    """Nodes that the blockers keep."""
    freed: tuple[str, ...] = ()
    """Nodes that go, and would not without it."""
    saves_per_hour: float = 0.0
    """Dollars by the prices of the NodePools, once they have gone."""
    wait_seconds: int = 0
    """Time until the last node is removed, by forecast; otherwise until the last protection ends; 0 if unknown."""
    is_waiting: bool = False
    """Whether its nodes stay until protected pods or their protections have ended."""
    oldest_seconds: int = 0
    """Age of the oldest protected pod, if the nodes stay until these pods have ended."""
    evictions: int = 0
    """Pods that are moved from them."""
    cut: int = 0
    """Protected pods that are killed although they would end automatically."""
    spares: int = 0
    """Protected pods that end automatically and are not killed."""
    lost_seconds: int = 0
    """For how long those have run: work that is done again."""
    lost_dollars: float = 0.0
    """Cost of their nodes for that time."""
    drifts: int = 0
    """NodeClaims that it drifts."""
    risk: str = ""
    problem: str = ""
    """Why it could not be tried."""
    preempting: int | None = None
    """For a lower priority: pending pods that would preempt the killed ones (approximated)."""
    held: tuple[tuple[Holder, int], ...] = ()
    """What keeps the others of the nodes all the same, with how many, the most first."""
    unpriced: int = 0
    """Freed nodes whose savings are unknown and left out."""
    is_upper_bound: bool = False
    """Whether the dollars are of several nodes whose removal under budgets is not simulated."""
    is_forecast: bool = False
    """Whether nodes, cost, evictions and time come from forecasts with and without it; all other nodes stay."""
    lost: int = 0
    """Moved pods that nothing recreates."""
    otherwise_seconds: int | None = None
    """``wait_seconds`` without the remedy, by forecast; None if a node stays."""

    @property
    def is_saving_known(self) -> bool:
        """Whether any savings are known."""
        return self.unpriced < max(len(self.freed), 1)

    @property
    def is_time_known(self) -> bool:
        """Whether ``wait_seconds`` says when its nodes can be removed."""
        return self.is_forecast or self.wait_seconds > 0

    @property
    def score(self) -> float:
        """Savings of one day in dollars, minus the cost of repeated work."""
        return self.saves_per_hour * max(0, DAY_SECONDS - self.wait_seconds) / 3_600 - self.lost_dollars

    @property
    def why(self) -> str:
        """The effect as text."""
        if self.problem:
            return f"It could not be tried: {self.problem}."
        if self.preempting:
            cut = f"end {count_text(self.cut)} of them after {duration_text(self.lost_seconds)} of work"
            whose = counted(self.preempting, "waiting pod")
            return f"Frees no node; {whose} would preempt them and {cut} (approximated); {self._aside}."
        if self.preempting == 0:
            return f"Frees no node, and no pending pod would preempt them now (approximated); {self._aside}."
        if not self.freed:
            held = f": {self._held_text}" if self.held else ""
            return f"Frees no node alone{held}; {self._aside}."
        wait = duration_text(self.wait_seconds)
        when = f" in {wait}" if self.is_forecast else ""
        if self.otherwise_seconds is not None:
            when += f" instead of {duration_text(self.otherwise_seconds)}"
        if self.is_waiting and self.wait_seconds:
            when = f" once their pods' protection has ended ({wait} at most)"
        elif self.is_waiting:
            when = f" once the protected pods have ended (the oldest has run for {duration_text(self.oldest_seconds)})"
        saved = "savings unknown"
        if self.is_saving_known:
            amount, bound = self.saves_per_hour, self.is_upper_bound
            saved = saved_text(amount, digits=2, is_whole=not self.unpriced, is_upper_bound=bound)
            saved += " by forecast" if self.is_forecast else ""
        moves = [f"moves {counted(self.evictions, 'pod')}"] if self.evictions else []
        if self.cut:
            moves = [f"cuts {counted(self.cut, 'protected pod')} after {duration_text(self.lost_seconds)} of work"]
        elif self.spares:
            moves.append("cuts no protected pod")
        if self.lost:
            moves.append(f"{counted(self.lost, 'pod')} {'is' if self.lost == 1 else 'are'} lost (no owner)")
        parts = [f"Frees {counted(len(self.freed), 'node')}{when}", saved, *moves]
        held = f" ({self._held_text})" if self.held else ""
        return f"{', '.join(parts)}{held}; {self._aside}."

    @property
    def _held_text(self) -> str:
        holder, count = self.held[0]
        by = f" by {holder.text}" if holder.name else f", as {holder.text}"
        rest = sum(nodes for _, nodes in self.held[1:])
        more = f", {count_text(rest)} by other things" if rest else ""
        return f"{counted(count, 'node')} {'is' if count == 1 else 'are'} still blocked{by}{more}"

    @property
    def _aside(self) -> str:
        drifts = f", and {counted(self.drifts, 'node')} would drift" if self.drifts else ""
        return f"{self.risk}{drifts}"


def try_remedies(
    base: WhatIfBase, remedies: Sequence[BlockerRemedy], blockers: Sequence[Blocker], reporter: Reporter = silent
) -> tuple[Trial, ...]:
    """Simulate each remedy alone and return the effects, in the order of the remedies.

    Only the nodes of the blockers are simulated. If a remedy takes effect once the protected pods have ended, their
    nodes are simulated without these pods.
    """
    blockers = [blocker for blocker in blockers if blocker.is_wanted]
    names = frozenset(blocker.claim_name for blocker in blockers if blocker.claim_name)
    protected = frozenset(blocker.object_key for blocker in blockers if blocker.code is Code.POD_DND)
    pods = {pod.key: pod for pod in base.inventory.pods}
    jobs = frozenset(b.object_key for b in blockers if b.code is Code.POD_DND and ends_by_itself(b, pods))
    moving = protected - {blocker.object_key for blocker in blockers if is_outlived(blocker, pods)}
    evictable = frozenset(blocker.object_key for blocker in blockers if blocker.code is Code.PDB_EXHAUSTED)
    going = frozenset(_going(base, names).freed)
    trials: list[Trial] = []
    for at, remedy in enumerate(remedies):
        reporter(at, len(remedies))
        if remedy.preempts:
            trials.append(_preempted(base, remedy, names, protected | evictable))
        else:
            trials.append(_trial_of(base, remedy, names, moving=moving, jobs=jobs, going=going))
    return tuple(trials)


def ranked(remedies: Sequence[BlockerRemedy], trials: Sequence[Trial]) -> tuple[int, ...]:
    """Return indexes of remedies, best first.

    First remedies that free nodes and kill no protected pod, then remedies that kill some, then remedies that may
    launch nodes like those that are not ready, then remedies without effect; equal remedies by score, by evicted pods,
    and in their original order.
    """

    def rank(at: int) -> tuple[bool, bool, bool, bool, float, int, int]:
        trial = trials[at]
        is_tried = bool(remedies[at].edits or remedies[at].preempts) and not trial.problem
        is_risky = remedies[at].unready_newest > 0
        return not is_tried, not trial.freed, is_risky, trial.cut > 0, -round(trial.score, 2), trial.evictions, at

    return tuple(sorted(range(len(remedies)), key=rank))


def _trial_of(
    base: WhatIfBase,
    remedy: BlockerRemedy,
    names: Collection[str],
    *,
    moving: frozenset[str],
    jobs: frozenset[str],
    going: Collection[str],
) -> Trial:
    risks = _RISKS if remedy.has_jobs else {**_RISKS, **_RISKS_OF_SERVICES}
    risk = risks[remedy.kind].format(value=remedy.value)
    if remedy.unready_newest:
        not_ready = verb(remedy.unready_newest, "is", "are")
        risk = f"{remedy.unready_newest} of its newest nodes {not_ready} not ready: new nodes may not be either"
    if not remedy.edits:
        return Trial(risk=risk, problem="the original objects are unknown")
    try:
        edited = apply(base, remedy.edits)
    except EditError as error:
        return Trial(risk=risk, problem=str(error))
    effect = remedy.effect
    is_moving = remedy.kind is BlockerRemedyKind.OWN_POOL
    waits = effect is not None and (is_moving or not effect.is_at_once)
    is_over = remedy.kind is BlockerRemedyKind.DURATION
    after: Situation = edited
    if waits:
        # Services go on: where their protection ends they are as if they had none.
        lifted = [replace(edit, value=None) for edit in remedy.edits if isinstance(edit, SetField)]
        after = apply(base, lifted) if is_over else edited
        gone = moving if is_moving else jobs
        after = after.derive(replace(after.inventory, pods=tuple(p for p in after.inventory.pods if p.key not in gone)))
    later = _going(after, names, is_later=waits)
    freed = {name: node_and_saving for name, node_and_saving in later.freed.items() if name not in going}
    drifted, _ = drift_changes(base, edited)
    moved = [pod for node, _ in freed.values() for pod in node.pods if is_reschedulable(pod)]
    cut = [pod for pod in moved if pod.key in jobs]
    ages = [_age_seconds(pod, base.now_ns) for pod in base.inventory.pods if pod.key in jobs]
    settings = settings_of(base.prices)
    launched = _launched_for(edited, moving - jobs) if is_moving else []
    if launched is None:
        return Trial(nodes=len(names), risk=risk, problem="its pods would not fit there")
    paid = [settings.paid(price) for price in launched]
    saved = [
        None if saving is None or settings.is_disabled else settings.saved(saving, 1) for _, saving in freed.values()
    ]
    joint = _joint_saving(after, [node for node, _ in freed.values()], saved, settings)
    return Trial(
        nodes=len(names),
        freed=tuple(sorted(freed)),
        saves_per_hour=(joint.per_hour or 0.0) - sum(price or 0.0 for price in paid),
        is_upper_bound=joint.is_upper_bound,
        unpriced=len(freed) if None in paid else saved.count(None),
        wait_seconds=effect.within_seconds if effect is not None else 0,
        is_waiting=effect is not None and not effect.is_at_once,
        oldest_seconds=max(ages, default=0),
        evictions=len(moved),
        lost=len(lost_pods(moved)),
        cut=len(cut),
        spares=0 if is_over else len(jobs) - len(cut),
        lost_seconds=sum(_age_seconds(pod, base.now_ns) for pod in cut),
        lost_dollars=_lost_dollars(freed.values(), jobs, after, settings),
        drifts=len(drifted),
        risk=risk,
        held=tuple(later.held.most_common()) if effect is not None else (),
    )


def _joint_saving(
    after: Situation, freed: Sequence[StateNode], saved: Sequence[float | None], settings: PriceSettings
) -> JointSaving:
    """Return the savings if the freed nodes are removed together."""
    if settings.is_disabled:
        return JointSaving()
    fleet = observed_fleet(after.prepared)
    alone = [
        NodeSaving(node_key(node.claim, node.name), saving, settings.paid(_price(fleet, node)))
        for node, saving in zip(freed, saved, strict=True)
    ]
    if any((saving.saves_per_hour or 0.0) < 0 for saving in alone):
        total, is_one = sum(saving.saves_per_hour or 0.0 for saving in alone), len(alone) == 1
        return JointSaving(total, len(alone), is_joint=is_one, is_upper_bound=not is_one)
    joint = JointFigures()
    joint.simulate_at_once(JointRemovals(after.prepared, fleet, prices=settings).of)
    return joint_saving(alone, joint)


def _launched_for(edited: Situation, services: frozenset[str]) -> list[float | None] | None:
    """Return prices per hour of nodes launched for pods that move; None if a pod is unschedulable."""
    pods = tuple(
        replace(pod, node_name="", phase="Pending", scheduled_reason="Unschedulable") if pod.key in services else pod
        for pod in edited.inventory.pods
    )
    solution = solve(edited.derive(replace(edited.inventory, pods=pods)).prepared)
    if services & solution.errors.keys():
        return None
    claims = [claim for claim in solution.claims if any(pod.key in services for pod in claim.pods)]
    return [claim.cheapest_price_per_hour for claim in claims]


def _preempted(base: WhatIfBase, remedy: BlockerRemedy, names: Collection[str], lowered: Collection[str]) -> Trial:
    """Return the pods that would preempt pods whose priority is lowered."""
    predicted = preemptions(base, lowered, int(remedy.value))
    victims = [pod for preemption in predicted for pod in preemption.victims]
    ages = dict.fromkeys((preemption.node_name for preemption in predicted), 0)
    for pod in victims:
        ages[pod.node_name] = max(ages[pod.node_name], _age_seconds(pod, base.now_ns))
    fleet, settings = observed_fleet(base.prepared), settings_of(base.prices)
    prices = {node.node.name: _price(fleet, node) for node in fleet.nodes if node.node is not None}
    return Trial(
        nodes=len(names),
        cut=len(victims),
        spares=len(lowered) - len(victims),
        lost_seconds=sum(_age_seconds(pod, base.now_ns) for pod in victims),
        lost_dollars=sum((settings.paid(prices.get(name, 0.0)) or 0.0) * age / 3_600 for name, age in ages.items()),
        risk=_RISKS[remedy.kind],
        preempting=len(predicted),
    )


class _Going(NamedTuple):
    freed: dict[str, tuple[StateNode, float | None]]
    """The removed nodes by name, with their savings; None if unknown."""
    held: Counter[Holder]
    """Blockers of the other nodes, with their numbers."""


def _going(situation: Situation, names: Collection[str], *, is_later: bool = False) -> _Going:
    """Return the nodes of some NodeClaims that would be removed now."""
    fleet = observed_fleet(situation.prepared)
    survey, outlook = BlockerSurvey(fleet), RemovalSimulator(situation.prepared, fleet)
    result = _Going({}, Counter())
    for node in fleet.nodes:
        if node.claim is None or node.node is None or node.claim.name not in names:
            continue
        blockers = [blocker for blocker in survey.of(node) if not (is_later and CODES[blocker.code].is_passing)]
        prospect = outlook.now(node, blockers)
        if node.is_marked_for_deletion:
            holding = [blocker for blocker in blockers if blocker.blocks_drain]
            if not holding:
                result.freed[node.node.name] = node, price_of(fleet, node)
        else:
            holding = [blocker for blocker in blockers if blocker.is_wanted]
            if prospect.outcome in _GOES:
                savings = prospect.savings_per_hour if prospect.is_saving_known else None
                result.freed[node.node.name] = node, savings
                continue
        if holding:
            # What ends on its own is named only if nothing else blocks.
            result.held[_holder(min(holding, key=lambda blocker: blocker.code is Code.NOMINATED))] += 1
    return result


def _holder(blocker: Blocker) -> Holder:
    if blocker.origin:
        return Holder(blocker.origin.partition("/")[2])
    return Holder(blocker.pool_name if blocker.code is Code.BUDGET_ZERO else "", blocker.code)


def _price(fleet: Fleet, node: StateNode) -> float:
    return price_of(fleet, node) or 0.0


def _age_seconds(pod: Pod, now_ns: int) -> int:
    return max(0, now_ns - pod.start_ns) // NS_PER_SECOND if pod.start_ns != ABSENT_NS else 0


def _lost_dollars(
    freed: Iterable[tuple[StateNode, float | None]], jobs: Collection[str], after: Situation, settings: PriceSettings
) -> float:
    """Return the cost of the nodes for the age of the oldest job killed on each."""
    fleet = observed_fleet(after.prepared)
    total = 0.0
    for node, _ in freed:
        ages = [_age_seconds(pod, after.now_ns) for pod in node.pods if pod.key in jobs and is_reschedulable(pod)]
        if ages:
            total += (settings.paid(_price(fleet, node)) or 0.0) * max(ages) / 3_600
    return total
