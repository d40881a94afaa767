"""Why nodes are still here, for commands that print nodes."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from karptui.session.cluster_view import ClusterView

MOST_SIMULATED: Final = 500
"""Nodes up to which removals are simulated without being asked for: a few milliseconds each."""


def add_why_flags(parser: argparse.ArgumentParser) -> None:
    """Add what decides how much is worked out."""
    group = parser.add_argument_group("why nodes are still here")
    group.add_argument(
        "--simulate",
        action=argparse.BooleanOptionalAction,
        default=None,
        help=f"simulate the removal of every node (default: of clusters of up to {MOST_SIMULATED} nodes)",
    )


def analysed(view: ClusterView, now_ns: int, *, simulates: bool | None) -> tuple[ClusterView, tuple[str, ...]]:
    """Return the view with why its nodes are still here, and what was assumed or left out, in sentences.

    Args:
        view: The cluster.
        now_ns: The instant: nanoseconds since the epoch.
        simulates: Whether to simulate removals; by the size of the cluster where None.
    """
    from karptui.disruption.study import Study, study_all
    from karptui.session.cluster_view import ClusterView
    from karptui.session.prepare import prepare_view
    from karptui.session.readiness import unready_because

    reason = unready_because(view)
    if reason:
        return view, (f"why nodes are still here is left out: {reason}",)
    prepared, notes = prepare_view(view, now_ns)
    chosen = len(view.state.nodes) <= MOST_SIMULATED if simulates is None else simulates
    study = Study(prepared, view.state.generation, prices=view.evidence.price_settings)
    analysis = study_all(study, None if chosen else ())
    if simulates is None and not chosen:
        notes = (*notes, "removals are not simulated for so many nodes: --simulate does it")
    return ClusterView(view.state, view.statuses, view, evidence=view.evidence, analysis=analysis), notes
