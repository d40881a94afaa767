"""How fresh the answers about pending pods are, and what may be wrong with what they rest on."""

from __future__ import annotations

from collections.abc import Sequence

from karptui.decode.kinds import Kind
from karptui.kube.units import count_text
from karptui.pending.report import PendingReport
from karptui.session.cluster_view import ClusterView
from karptui.views.pending.entry import PendingEntry
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.why.freshness import computed, unready_line


def hears_events(view: ClusterView) -> bool:
    """Whether events may be listed."""
    status = view.statuses.get(str(Kind.EVENT))
    return status is None or status.phase not in ("forbidden", "not installed")


def pending_entries(view: ClusterView) -> tuple[PendingEntry, ...]:
    """Return the groups of the newest report, without those whose pods have all found a node or gone since."""
    report = view.pending
    if report is None:
        return ()
    hears, pods = hears_events(view), view.state.pods
    is_now = report.generation == view.state.generation
    return tuple(
        PendingEntry(group, hears)
        for group in report.groups
        if is_now
        or any((now := pods.get(pod.key)) is not None and now.node_name == pod.node_name for pod in group.pods)
    )


def pending_freshness(view: ClusterView, now_ns: int) -> Pieces:
    """Return when the answers were computed, how far behind the cluster they are, and what is still open."""
    report = view.pending
    analysis = view.analysis
    if analysis is not None and analysis.problem:
        return ((f"the newest state could not be analysed: {clean(analysis.problem)}", Tone.FAULT),)
    if report is None:
        return (unready_line(view, "being worked out"),)
    return (*_age(report, view.state.generation, now_ns), *_notes(report.notes))


def _age(report: PendingReport, generation: int, now_ns: int) -> Pieces:
    is_open = report.explained < len(report.groups)
    still_open = f"{count_text(report.explained)} of {count_text(len(report.groups))} groups explained"
    return computed(now_ns - report.now_ns, generation - report.generation, still_open if is_open else "")


def _notes(notes: Sequence[str]) -> Pieces:
    return tuple((f" · {clean(note)}", Tone.WARNING) for note in notes[:1])
