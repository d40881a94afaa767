"""Asks the desk of the Pending screen for everything at once."""

from __future__ import annotations

from msgspec import structs

from karptui.pending.groups import PendingReport
from karptui.session.pending import PendingQuestions
from karptui.session.pending_report import PendingAnswer


def answer_of(report: PendingReport) -> PendingAnswer:
    """Return a report as a session gives it, with no pod at length."""
    return PendingAnswer(**structs.asdict(report))


def answer_all(desk: PendingQuestions, pod_key: str = "") -> PendingAnswer:
    """Return the whole report, with one pod at length."""
    while desk.step(pod_key):
        pass
    assert desk.report is not None
    return desk.report
