"""Keeps a history's marks and samples while a cluster is followed, with and without screens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from karptui.kube.timestamps import MINUTE_NS, NS_PER_SECOND
from karptui.session.cluster_view import ClusterView
from karptui.session.history_marks import (
    EDIT,
    OpenFinding,
    Seen,
    change_marks,
    measured_of,
    refusal_marks,
    samples_of,
    seen_of,
    verdict_marks,
)
from karptui.session.predictions import Ledger, mark_of
from karptui.verdict.finding import ClusterFinding
from karptui.views.verdict.sentence import pending_reasons, sentence

if TYPE_CHECKING:
    from karptui.sources.history.store import Mark, Sample
    from karptui.sources.history.tap import HistoryTap

SAMPLE_NS: Final = MINUTE_NS
USAGE_NS: Final = 55 * NS_PER_SECOND
"""Shortest time between two kept readings of usage: those of a screen come more often."""


class Keeper:
    """Compares each view with the one before, and has the recorder write what happened. Belongs to one thread."""

    def __init__(self, tap: HistoryTap) -> None:
        self._tap = tap
        self._before: Seen | None = None
        self._refused_in: tuple[object, object] | None = None
        """The events and NodeClaims that were last searched for refusals."""
        self._open: tuple[OpenFinding, ...] = ()
        self._refused: dict[str, int] = {}
        """When each offering was marked as refused last."""
        self._ledger = Ledger()
        self._began_ns = 0
        self._sampled_ns = 0
        self._usage_ns = 0
        self.edits = 0
        """Edits that are already marked."""

    def saw(self, view: ClusterView, findings: Sequence[ClusterFinding], now_ns: int) -> None:
        """Take the newest view, and its verdict; no findings if they are not known yet."""
        before, self._before = self._before, seen_of(view)
        self._began_ns = self._began_ns or now_ns
        marks = list(change_marks(before, view, now_ns)) if before is not None else []
        report = view.analysis.next if view.analysis is not None else None
        marks += map(mark_of, self._ledger.saw(view.state, view.pending, report, now_ns))
        if findings:
            reasons = pending_reasons(view)
            self._open, verdicts = verdict_marks(
                self._open, findings, now_ns, lambda finding: sentence(finding, now_ns, reasons), self._began_ns
            )
            marks += verdicts
        searched = view.state.events, view.state.nodeclaims
        if self._refused_in is None or any(old is not new for old, new in zip(self._refused_in, searched, strict=True)):
            self._refused_in = searched
            marks += self._refusals(view, now_ns)
        samples: tuple[Sample, ...] = ()
        if findings and not 0 <= now_ns - self._sampled_ns < SAMPLE_NS:
            self._sampled_ns = now_ns
            samples = samples_of(view, now_ns)
        read_ns = view.live_usage.read_at_ns
        if read_ns and not 0 <= read_ns - self._usage_ns < USAGE_NS:
            self._usage_ns = read_ns
            self._tap.measure(read_ns, measured_of(view))
        self.edits += sum(mark.cause == EDIT for mark in marks)
        self._write(marks, samples)

    def _refusals(self, view: ClusterView, now_ns: int) -> tuple[Mark, ...]:
        marks = refusal_marks(view, self._refused, self._began_ns, now_ns)
        # Never forgotten: events of refusals stay for longer than three minutes.
        self._refused |= {mark.name: mark.at_ns for mark in marks}
        return marks

    def _write(self, marks: Sequence[Mark], samples: Sequence[Sample]) -> None:
        if marks:
            self._tap.mark(*marks)
        if samples:
            self._tap.sample(samples)
