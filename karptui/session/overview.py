"""Summary of a cluster that every screen shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from karptui.decode.kinds import Kind
from karptui.session.answers import Overview
from karptui.session.cluster_view import ClusterView
from karptui.session.readiness import is_out_of_reach, unready_because

if TYPE_CHECKING:
    from collections.abc import Mapping

    from karptui.sources.source import SourceStatus

DEAR: Final = 1_000_000
"""Size of a short list that takes a tenth of a second to build."""
MOMENTS_OF_A_NODE: Final = 12
"""Approximate number of own events of a node and its claim."""


def overview_of(view: ClusterView) -> Overview:
    """Return the figures of a view."""
    nodes, pods, events = len(view.state.nodes), len(view.state.of(Kind.POD)), len(view.state.events)
    return Overview(
        generation=view.state.generation,
        statuses=cast("Mapping[str, SourceStatus]", view.statuses),
        totals=view.totals,
        hidden=view.hidden,
        sizes={
            "nodes": nodes,
            "pods": pods,
            "events": events + MOMENTS_OF_A_NODE * nodes,
            **dict.fromkeys(("pools", "daemonsets", "types", "types of a pool"), DEAR if view.state.nodepools else 0),
            "claims": len(view.state.nodeclaims),
            "budgets": len(view.state.nodepools),
            "capacity": nodes,
            "dollars": pods,
            "churn": pods + events,
            "replacements": pods + events,
            "next": nodes,
            "sources": len(view.statuses),
            "advice": len(view.advice.findings) if view.advice is not None else 0,
            "blockers": view.analysis.all_blocker_count if view.analysis is not None else 0,
            "pending": len(view.pending.groups) if view.pending is not None else 0,
        },
        counts={
            "blockers": view.analysis.blocker_count if view.analysis is not None else 0,
            "pending": len(view.state.pending_pods),
            "advice": view.advice.notable if view.advice is not None else 0,
        },
        unready_because=unready_because(view),
        is_out_of_reach=is_out_of_reach(view),
        analysed=view.analysis,
        pending=view.pending,
        karpenter_version=view.evidence.karpenter_version,
        has_prices=not view.evidence.price_settings.is_disabled,
    )
