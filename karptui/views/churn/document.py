"""Parts of the churn as plain values."""

from __future__ import annotations

from typing import Any, Final

from karptui.advice.churn import loop_fact
from karptui.disruption.churn.loops import Loop
from karptui.disruption.churn.moves import Moved
from karptui.disruption.churn.report import Churn, ChurnWindow
from karptui.kube.timestamps import NS_PER_SECOND, format_timestamp
from karptui.views.churn.chart import chart_of
from karptui.views.churn.sentences import window_limits

BINS: Final = 24
"""The most bins of a chart."""


def window_values(window: ChurnWindow) -> dict[str, Any]:
    """Return what time is known; None is what is not."""
    return {
        "now": _whole(window.now_ns),
        "events_since": format_timestamp(window.events_since_ns) if window.events_since_ns else None,
        "observed_since": _whole(window.observed_since_ns) if window.observed_since_ns else None,
        "seconds": window.length_ns // NS_PER_SECOND,
        "not_seen": window_limits(window),
    }


def _whole(instant_ns: int) -> str:
    return format_timestamp(instant_ns // NS_PER_SECOND * NS_PER_SECOND)


def chart_values(churn: Churn) -> dict[str, Any]:
    """Return counts over the window, in bins of the same length."""
    chart = chart_of(churn, BINS)
    return {
        "begin": format_timestamp(chart.begin_ns),
        "step_seconds": chart.step_ns // NS_PER_SECOND,
        "created": list(chart.created),
        "removed": list(chart.removed),
        "pods_moved": list(chart.moved),
    }


def workload_values(one: Moved) -> dict[str, Any]:
    """Return a workload of which pods were moved."""
    return {
        "workload": one.workload,
        "moves": one.moves,
        "pods": one.pods,
        "first": _whole(one.first_ns),
        "last": _whole(one.last_ns),
        "reasons": list(one.reasons),
    }


def loop_values(loop: Loop) -> dict[str, Any]:
    """Return a loop; None is what does not apply, or is not known."""
    return {
        "kind": str(loop.kind),
        "pool": loop.pool or None,
        "workload": loop.workload or None,
        "times": loop.times,
        "first": _whole(loop.first_ns),
        "last": _whole(loop.last_ns),
        "reasons": {str(reason): count for reason, count in loop.reasons},
        "median_life_seconds": None if loop.median_life_ns is None else loop.median_life_ns // NS_PER_SECOND,
        "nodeclaims": list(loop.claims),
        "fact": loop_fact(loop),
    }
