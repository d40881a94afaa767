"""The counts that stand behind the titles of tabs."""

from __future__ import annotations

from collections.abc import Mapping

from karptui.kube.units import count_text
from karptui.session.cluster_view import ClusterView
from karptui.views.blockers.entry import blocker_count


def tab_notes(view: ClusterView) -> Mapping[str, str]:
    """Return by the name of a screen the count behind its tab; screens that need no attention have none."""
    counts = {
        "blockers": blocker_count(view.analysis),
        "pending": len(view.state.pending_pods),
        "advice": view.advice.notable if view.advice is not None else 0,
    }
    return {name: count_text(count) for name, count in counts.items() if count}
