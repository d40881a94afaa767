"""From a view of the cluster to what the rules look at."""

from __future__ import annotations

from karptui.advice.context import AdviceContext
from karptui.advice.report import AdviceReport, advise
from karptui.disruption.study import Study
from karptui.provisioning.problem import Prepared
from karptui.session.cluster_view import ClusterView
from karptui.session.prepare import prepare_view

_ON_THE_WAY = frozenset({"connecting", "syncing", "disconnected"})


def advice_context(view: ClusterView, prepared: Prepared, study: Study) -> AdviceContext:
    """Return what rules look at, from a study that has surveyed all nodes."""
    hidden = frozenset(
        kind
        for kind, status in view.statuses.items()
        if status.phase == "forbidden" or (status.phase in _ON_THE_WAY and not status.count)
    )
    return AdviceContext(
        prepared,
        study.fleet,
        findings=study.analysis.findings,
        evidence=view.evidence,
        hidden=hidden,
        history=view.state.history,
        usage=view.live_usage,
    )


def advice_of(view: ClusterView, now_ns: int) -> tuple[AdviceReport, tuple[str, ...]]:
    """Return what all rules find, and what was assumed about instance types, in sentences; belongs in a thread.

    Args:
        view: The cluster.
        now_ns: The instant to look at it from: nanoseconds since the epoch.
    """
    prepared, notes = prepare_view(view, now_ns)
    study = Study(prepared, view.state.generation, prices=view.evidence.price_settings)
    for _ in study.survey():
        pass
    return advise(advice_context(view, prepared, study)), notes
