"""Problems and risks of a cluster, worst first: one finding for each cause."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from msgspec.structs import replace

from karptui.disruption.codes import Code
from karptui.provisioning.reporter import Pause, no_pause, with_pauses
from karptui.verdict.advice import SEPARATE_RULES, advice_findings, urgent_advice, with_unreported
from karptui.verdict.blocked import held
from karptui.verdict.case import VerdictCase
from karptui.verdict.churn import churn_findings
from karptui.verdict.containers import container_findings
from karptui.verdict.controller import controller_findings, has_leader, is_running
from karptui.verdict.creation import creation_findings, stopped_controllers
from karptui.verdict.drift import drift_findings
from karptui.verdict.finding import ClusterFinding, FindingCode, FindingSeverity, Manner
from karptui.verdict.joining import without_expected
from karptui.verdict.launches import launch_findings
from karptui.verdict.leaving import all_leaving, leaving_for_long
from karptui.verdict.missing_data import missing_data
from karptui.verdict.nodepools import gone_pools, nodepool_findings
from karptui.verdict.nodes import node_findings
from karptui.verdict.pending_pods import PendingPods, pending_findings
from karptui.verdict.ranking import interleaved, is_quiet, rank
from karptui.verdict.stopped import stopped_findings
from karptui.verdict.unconsolidated import timed_out, unconsolidated_findings
from karptui.verdict.upcoming import next_finding, upcoming_findings


def verdict_of(case: VerdictCase, pause: Pause = no_pause) -> tuple[ClusterFinding, ...]:
    """Return the problems and risks of a cluster, worst first; one reassuring finding if there are none."""
    pending = PendingPods(case.pending)
    subjects = (
        controller_findings(case, pending),
        stopped_controllers(case),
        creation_findings(case),
        all_leaving(case),
        stopped_findings(case, pending),
        nodepool_findings(case),
        launch_findings(case, pending),
        node_findings(case, pending),
        container_findings(case),
        urgent_advice(case, pending),
        _without_other_cause(case, pending),
        gone_pools(case),
        held(case),
        leaving_for_long(case),
        unconsolidated_findings(case),
        drift_findings(case),
        churn_findings(case),
        timed_out(case),
        upcoming_findings(case),
        missing_data(case),
        advice_findings(case),
    )
    findings = [finding for subject in with_pauses(subjects, pause, 1) for finding in subject]
    findings = with_unreported(_without_repeats(_with_budgets(findings)), case)
    findings.sort(key=lambda finding: rank(finding, case.now_ns))
    if not any(finding.code in _NEEDS_ATTENTION or not is_quiet(finding) for finding in findings):
        is_noted = any(finding.code not in _OF_DATA for finding in findings) or _has_passing_states(case)
        findings.insert(0, _fine(case, has_notes=is_noted))
    acts = is_running(case.controller) and has_leader(case.controller)
    then = [finding for finding in next_finding(case) if acts]
    return (*interleaved(findings), *then)


def _without_other_cause(case: VerdictCase, pending: PendingPods) -> Iterator[ClusterFinding]:
    """Yield findings about the pending pods that the subjects before have not explained."""
    yield from pending_findings(without_expected(case, pending.left()))


_NAMES_POOLS: Final = (FindingCode.NODECLASS_NOT_READY, FindingCode.POOL_NOT_READY)


def _with_budgets(findings: Sequence[ClusterFinding]) -> list[ClusterFinding]:
    """Return the findings; a disruption budget that blocks both drifted and other nodes has one finding."""
    drifts = {f.names: f for f in findings if f.code is FindingCode.DRIFT and f.detail == Code.BUDGET_ZERO}
    others = {
        f.names: f
        for f in findings
        if f.code is FindingCode.BUDGET and f.names in drifts and f.manner is drifts[f.names].manner and not f.reasons
    }
    joined = {
        names: replace(
            drift,
            others=budget.nodes,
            price_per_hour=budget.price_per_hour,
            is_upper_bound=budget.is_upper_bound,
            saves_in_seconds=budget.saves_in_seconds,
            is_partial=budget.is_partial,
        )
        for names, drift in drifts.items()
        if (budget := others.get(names)) is not None
    }
    return [
        joined.get(f.names, f) if f.code is FindingCode.DRIFT and f.detail == Code.BUDGET_ZERO else f
        for f in findings
        if f.code is not FindingCode.BUDGET or f.names not in joined
    ]


_NAMES_WHY: Final = (FindingCode.STOPPED, FindingCode.LAUNCH_REFUSED, *_NAMES_POOLS)


def _without_repeats(findings: Sequence[ClusterFinding]) -> list[ClusterFinding]:
    """Return findings without repeats of why NodePools launch nothing, and of pods that keep nodes from joining."""
    telling = [finding for finding in findings if finding.code in _NAMES_WHY]
    named = {name for finding in telling for name in finding.objects}
    is_named = any(finding.code in _NAMES_POOLS for finding in telling)
    told = {name for finding in findings for name in finding.failing[2:]}
    distinct = []
    for finding in findings:
        pods = [name for name in finding.objects if name.startswith("Pod/")]
        repeats_pods = (
            finding.manner is Manner.CRASHING and told.issuperset(pods) and not (finding.detail or finding.words)
        )
        repeats_pools = finding.code is FindingCode.NO_NODEPOOLS and finding.manner is not Manner.STATIC and is_named
        repeats_advice = (
            finding.code is FindingCode.ADVICE
            and not finding.of_nodes
            and not SEPARATE_RULES.issuperset(finding.names)
            and named.issuperset(finding.objects)
        )
        if not (repeats_pools or repeats_pods or (repeats_advice and finding.objects)):
            distinct.append(finding)
    return distinct


_NEEDS_ATTENTION: Final = (FindingCode.ADVICE, FindingCode.PODS_NOT_STARTING)
"""Findings that are not passing states, even if they are notes."""
_OF_DATA: Final = (FindingCode.NO_PRICES, FindingCode.ASSUMED_CLASS, FindingCode.ASSUMED_VOLUMES)
"""Findings about missing knowledge, not about the cluster's state."""


def _has_passing_states(case: VerdictCase) -> bool:
    """Return whether Blockers or Advice list what needs no finding."""
    analysis, advice = case.analysis, case.advice
    if analysis is not None:
        blockers = chain(analysis.cluster, *(findings.blockers for findings in analysis.findings.values()))
        if any(blocker.is_wanted for blocker in blockers):
            return True
    return advice is not None and any(str(finding.severity) != "info" for finding in advice.findings)


def _fine(case: VerdictCase, *, has_notes: bool) -> ClusterFinding:
    """Return the finding for a cluster without problems; one without Karpenter nodes is not called healthy."""
    manner = Manner.WITH_NOTES if has_notes else Manner.PLAIN
    if case.unchecked or case.hidden:
        manner = Manner.INCOMPLETE
    if not case.nodes:
        manner = Manner.NO_NODES
    elif not any(line.claim is not None or line.pool for line in case.nodes):
        manner = Manner.NOT_KARPENTERS
    return ClusterFinding(
        severity=FindingSeverity.INFO,
        code=FindingCode.FINE,
        nodes=len(case.nodes),
        names=tuple(pool.name for pool in case.pools),
        detail=", ".join((*case.unchecked, *case.hidden)),
        manner=manner,
    )
