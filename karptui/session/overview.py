"""How much is known of a cluster, in a few figures that every screen shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from karptui.decode.kinds import Kind
from karptui.session.border import Overview
from karptui.session.cluster_view import ClusterView
from karptui.session.readiness import is_out_of_reach, unready_because

if TYPE_CHECKING:
    from collections.abc import Mapping

    from karptui.disruption.analysis import Analysis
    from karptui.sources.base import SourceStatus

MOMENTS_OF_A_NODE: Final = 12
"""About how many moments a node and its claim record of their own."""
HOLDS_NOBODY: Final = frozenset({"DELETING"})
"""That a node is being deleted keeps nobody: what its drain waits for does."""


def overview_of(view: ClusterView) -> Overview:
    """Return the figures of a view."""
    return Overview(
        generation=view.state.generation,
        statuses=cast("Mapping[str, SourceStatus]", view.statuses),
        totals=view.totals,
        sizes={
            "nodes": len(view.state.nodes),
            "pods": len(view.state.of(Kind.POD)),
            "events": len(view.state.events) + MOMENTS_OF_A_NODE * len(view.state.nodes),
        },
        counts={
            "blockers": blocker_count(view.analysis),
            "pending": len(view.state.pending_pods),
            "advice": view.advice.notable if view.advice is not None else 0,
        },
        unready_because=unready_because(view),
        is_out_of_reach=is_out_of_reach(view),
        analysis_problem=view.analysis.problem if view.analysis is not None else "",
    )


def blocker_count(analysis: Analysis | None) -> int:
    """Return how many things hold a method that wants a node, those of the whole cluster among them."""
    if analysis is None:
        return 0
    return len(analysis.cluster) + sum(
        one.is_wanted and one.code not in HOLDS_NOBODY for found in analysis.findings.values() for one in found.blockers
    )
