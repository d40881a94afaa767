"""Helper that runs all questions of the Pending screen at once."""

from __future__ import annotations

from karptui.session.pending import PendingQuestions
from karptui.session.pending_report import PendingAnswer


def answer_all(desk: PendingQuestions, pod_key: str = "") -> PendingAnswer:
    """Return the complete report, with details of one pod."""
    while desk.step(pod_key):
        pass
    assert desk.report is not None
    return desk.report
