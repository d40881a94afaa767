"""A plan: decisions, dollars, drift, the rollout under budgets, Advice before and after, and risks, worst first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.report import advise
from karptui.aws.money import LEAST_CHANGE, per_hour_change_text
from karptui.disruption.budgets import budget_state, count_use, reasons_of
from karptui.disruption.codes import CODES, Code
from karptui.disruption.drift import DRIFTED
from karptui.forward.result import Played, StepKind
from karptui.karpenter.labels import CAPACITY_TYPE, NODEPOOL, SPOT
from karptui.kube.units import clock_text, counted, first_of, span_text, verb
from karptui.provisioning.reporter import Each, Reporter, one_by_one, silent
from karptui.studies.forecasts import leave_out_alike, most_more_nodes, played_with, spent
from karptui.whatif.difference import BlockerLine, Difference
from karptui.whatif.drift.drift import is_template_changed
from karptui.whatif.edits import AnyEdit, CordonNode, EditError, ObjectRef, PutObject, RemoveNode, SetSetting, TakeOut
from karptui.whatif.edits.apply import apply
from karptui.whatif.edits.objects import read_document
from karptui.whatif.manifests import refusals, without_objects
from karptui.whatif.replay import replay
from karptui.whatif.run import Answer, answers
from karptui.whatif.scenario import Replay, Scenario
from karptui.whatif.situation import EditedCluster, Situation, WhatIfBase


class PausedPool(msgspec.Struct, frozen=True):
    """A NodePool whose edited budgets allow no disruption now, and what goes on nevertheless."""

    name: str
    expiring: tuple[str, ...]
    """Nodes that expire during the play."""
    first_ns: int
    """When the first of them does."""
    spot_nodes: int


class Plan(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """What edits do to a cluster."""

    answer: Answer
    decisions_now: dict[str, Any]
    """What Karpenter would do for pods that wait, in the form of ``karptui simulate``."""
    decisions_edited: dict[str, Any]
    now: Played
    """Forecast of the cluster without the edits."""
    edited: Played
    """As the edits make it."""
    gained: tuple[Finding, ...]
    """Advice that the edits bring, the worst first."""
    lost: tuple[Finding, ...]
    drifted_before: tuple[str, ...] = ()
    """Nodes of the rollout that drifted before: the edits change their NodePool's template, or start or stop their
    replacement.
    """
    placed_again: Answer | None = None
    """The edits where every pod is placed again, if they change nothing for the pods that are pending now."""

    paused: tuple[PausedPool, ...] = ()
    refused: tuple[str, ...] = ()
    """Edits that the API server would reject, as messages; the rest leaves manifests that it rejects out."""

    @property
    def difference(self) -> Difference:
        """Immediate effect of the edits."""
        assert self.answer.difference is not None
        return self.answer.difference

    @property
    def new_blockers(self) -> tuple[BlockerLine, ...]:
        """Blockers of disruption that the edits bring, by node."""
        return self.answer.blockers_gained or ()

    @property
    def drifted(self) -> tuple[str, ...]:
        """Nodes that the rollout replaces: nodes that the edits drift, and nodes that drifted before."""
        return (*(line.node_name or line.claim_name for line in self.difference.drift_gained), *self.drifted_before)

    @property
    def unfinished(self) -> tuple[str, ...]:
        """Drifted nodes that are still there at the end of the play."""
        gone = _nodes_of(self.edited, StepKind.DRAIN)
        return tuple(name for name in self.drifted if name not in gone)

    @property
    def rollout_ns(self) -> int | None:
        """Time until no drifted node is left; None if some are left, or none drifts."""
        drifted = set(self.drifted)
        ends = [step.at_ns for step in self.edited.steps if step.kind is StepKind.DRAIN and drifted & set(step.nodes)]
        return None if self.unfinished or not ends else max(ends) - self.edited.from_ns

    @property
    def extra_nodes(self) -> int:
        """Most extra nodes at once during the rollout."""
        return most_more_nodes(self.edited, self.now, self._until_ns)

    @property
    def extra_dollars(self) -> float | None:
        """Extra cost of the rollout; None if nodes without a price change."""
        if not leave_out_alike(self.edited, self.now):
            return None
        return spent(self.edited, self._until_ns) - spent(self.now, self._until_ns)

    @property
    def _until_ns(self) -> int:
        """When the rollout is through, or nothing more happens."""
        took_ns = self.rollout_ns
        return self.edited.until_ns if took_ns is None else self.edited.from_ns + took_ns

    @property
    def stalled_by(self) -> tuple[tuple[str, str], ...]:
        """Drifted nodes that are left at the end, with the label of their blocker; empty without one."""
        going = _nodes_of(self.edited, StepKind.DISRUPT) | _nodes_of(self.edited, StepKind.EXPIRE)
        by = dict.fromkeys(going, "its drain, which continues")
        by |= {node.node: CODES[Code(node.code)].word for node in self.edited.kept}
        return tuple((name, by.get(name, "")) for name in self.unfinished)

    def risks(self) -> list[str]:
        """Return the risks as messages, the worst first."""
        return list(self._risks())

    def _risks(self) -> Iterator[str]:
        difference = self.difference
        yield from self.refused
        if difference.no_longer_fit:
            first = difference.no_longer_fit[0]
            count = len(difference.no_longer_fit)
            become = verb(count, "becomes", "become")
            yield f"{counted(count, 'pod')} {become} unschedulable, such as {first.pod_key}: {first.reason}"
        for finding in self.gained:
            if finding.severity is Severity.ERROR:
                yield f"Advice {finding.rule}: {finding.fact}"
        more = self.edited.end.pending - self.now.end.pending
        if more > 0 and not difference.no_longer_fit:
            yield f"{counted(more, 'more pod')} without a node at the end of the forecast"
        left = self.unfinished
        if left:
            nodes = f"{len(left)} of {counted(len(self.drifted), 'drifted node')} left{self._held_text()}"
            is_stuck = self.edited.is_quiescent
            state = "the rollout stalls" if is_stuck else f"rollout not complete after {_span(self.edited)}"
            yield f"{state}: {nodes}"
        if self.answer.blockers_gained:
            yield f"{counted(len(self.answer.blockers_gained), 'new blocker')} of disruption"
        if difference.at_most_delta_per_hour >= LEAST_CHANGE:
            yield f"costs rise by {per_hour_change_text(difference.at_most_delta_per_hour).lstrip('+')} at once"
        if self.drifted and not left:
            last = f", the last after {span_text(self.rollout_ns)}" if self.rollout_ns else ""
            yield (
                f"{counted(len(self.drifted), 'NodeClaim')} {verb(len(self.drifted), 'drifts', 'drift')} and"
                f" {verb(len(self.drifted), 'is', 'are')} replaced{last};"
                f" {counted(self.edited.evictions, 'eviction')} in all within {_span(self.edited)}"
            )
        yield from map(_paused_text, self.paused)
        for finding in self.gained:
            if finding.severity is Severity.WARNING:
                yield f"Advice {finding.rule}: {finding.fact}"

    def _held_text(self) -> str:
        by = sorted({words for _, words in self.stalled_by if words})
        return f", blocked by {', '.join(by)}" if by else ""


def plan(
    base: WhatIfBase,
    edits: Sequence[AnyEdit],
    *,
    horizon_ns: int,
    reporter: Reporter = silent,
    each: Each = one_by_one,
) -> Plan:
    """Return the effect of edits on a cluster, without manifests that the API server rejects."""
    refused = refusals(apply(base, edits))
    accepted = without_objects(edits, refused)
    now, then = each(played_with, (base, horizon_ns), ((), accepted), reporter)
    return replace(plan_of(base, accepted, now, then, reporter), refused=tuple(refused.values()))


def plan_of(base: WhatIfBase, edits: Sequence[AnyEdit], now: Played, then: Played, reporter: Reporter = silent) -> Plan:
    """Return the effect of edits on a cluster, from the forecasts without and with them."""
    edited = apply(base, edits)
    scenario = Scenario(name="plan", edits=tuple(edits), replay=Replay.PENDING)
    *_, answer = answers(base, scenario, reporter, edited=edited)
    placed_again = _placed_again(base, edited, answer, reporter)
    gained, lost = _advice(base, edited)
    return Plan(
        answer=answer,
        decisions_now=_decisions(base),
        decisions_edited=_decisions(edited),
        now=now,
        edited=then,
        gained=gained,
        lost=lost,
        drifted_before=_drifted_before(base, edited, answer, now, then),
        placed_again=placed_again,
        paused=tuple(_paused(base, edited, then)),
        refused=tuple(refusals(edited).values()),
    )


def _placed_again(base: WhatIfBase, edited: EditedCluster, answer: Answer, reporter: Reporter) -> Answer | None:
    """Return the edits with every pod placed again, if they change nothing now and something then."""
    difference = answer.difference
    if difference is None or not difference.places_alike or difference.drift_gained or difference.drift_lost:
        return None
    *_, anew = answers(base, msgspec.structs.replace(answer.scenario, replay=Replay.SCRATCH), reporter, edited=edited)
    return None if anew.difference is None or anew.difference.places_alike else anew


def _paused(base: WhatIfBase, edited: EditedCluster, then: Played) -> Iterator[PausedPool]:
    """Yield NodePools whose budgets the edits close, where nodes go nevertheless: budgets hold neither back."""
    was = {pool.name: pool.budgets for pool in base.inventory.nodepools}
    use = count_use(edited.fleet.nodes)
    expiries = [step for step in then.steps if step.kind is StepKind.EXPIRE]
    for pool in edited.inventory.nodepools:
        states = [
            budget_state(pool, reason, use.get(pool.name), edited.now_ns) for reason in reasons_of(edited.settings)
        ]
        if was.get(pool.name) == pool.budgets or any(state.allowed for state in states):
            continue
        claims = [claim for claim in edited.inventory.nodeclaims if claim.labels.get(NODEPOOL) == pool.name]
        names = {claim.node_name or claim.name for claim in claims}
        steps = [step for step in expiries if names & set(step.nodes)]
        spot = sum(1 for claim in claims if claim.labels.get(CAPACITY_TYPE) == SPOT and not claim.is_deleting)
        if steps or spot:
            expiring = tuple(dict.fromkeys(name for step in steps for name in step.nodes))
            yield PausedPool(pool.name, expiring, min((step.at_ns for step in steps), default=0), spot)


def _paused_text(paused: PausedPool) -> str:
    parts = []
    if paused.expiring:
        count = len(paused.expiring)
        first = "at" if count == 1 else "the first at"
        when = f"{first} {clock_text(paused.first_ns)} ({first_of(paused.expiring, 3)})"
        parts.append(f"{counted(count, 'node')} {verb(count, 'expires', 'expire')}, {when}")
    if paused.spot_nodes:
        parts.append(f"AWS may interrupt its {counted(paused.spot_nodes, 'spot node')} at any time")
    return f"the budgets of {paused.name} pause disruption, but not expiration and interruption: {'; '.join(parts)}"


def _drifted_before(
    base: WhatIfBase, edited: EditedCluster, answer: Answer, now: Played, then: Played
) -> tuple[str, ...]:
    """Return the nodes that have drifted already, do not go yet, and are of the rollout."""
    was = {pool.name: pool for pool in base.inventory.nodepools}
    changed = {
        pool.name
        for pool in edited.inventory.nodepools
        if pool.name not in was or is_template_changed(was[pool.name], pool)
    }
    lost = {line.claim_name for line in answer.difference.drift_lost} if answer.difference is not None else set()
    kept = _nodes_of(now, StepKind.DRAIN) - _nodes_of(then, StepKind.DRAIN)
    return tuple(
        claim.node_name or claim.name
        for claim in edited.inventory.nodeclaims
        if claim.is_true(DRIFTED) and not claim.is_deleting and claim.name not in lost
        if claim.labels.get(NODEPOOL) in changed or claim.node_name in kept
    )


def _nodes_of(played: Played, kind: StepKind) -> set[str]:
    return {name for step in played.steps if step.kind is kind for name in step.nodes}


def _decisions(situation: Situation) -> dict[str, Any]:
    solution = replay(situation, Replay.PENDING).solution
    assert solution is not None
    return solution.as_json()


def _advice(before: Situation, after: Situation) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """Return the findings that come, and those that go; another number in the same finding is no change."""
    was, now = (advise(AdviceContext(situation.prepared, situation.fleet)).findings for situation in (before, after))
    subjects_before, subjects_after = set(map(_subject, was)), set(map(_subject, now))
    return (
        tuple(finding for finding in now if _subject(finding) not in subjects_before),
        tuple(finding for finding in was if _subject(finding) not in subjects_after),
    )


def _subject(finding: Finding) -> tuple[str, Severity, tuple[ObjectRef, ...]]:
    return finding.rule, finding.severity, finding.objects


def _span(played: Played) -> str:
    return span_text(played.until_ns - played.from_ns)


def objects_of(edits: Iterable[AnyEdit]) -> tuple[str, ...]:
    """Return the objects of edits, each once: ``Kind/name``."""
    return tuple(dict.fromkeys(_named_objects(edits)))


def _named_objects(edits: Iterable[AnyEdit]) -> Iterator[str]:
    for edit in edits:
        if isinstance(edit, PutObject):
            try:
                document = read_document(edit.text)
            except EditError:
                continue
            yield f"{document['kind']}/{document['metadata']['name']}"
        elif isinstance(edit, SetSetting):
            yield f"setting {edit.name}"
        elif isinstance(edit, TakeOut):
            yield f"without {edit.words}"
        elif isinstance(edit, RemoveNode | CordonNode):
            yield f"Node/{edit.name}"
        else:
            yield f"{edit.object.kind}/{edit.object.key}"
