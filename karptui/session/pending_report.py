"""Pending pods: their rows, and the pod on the screen."""

from __future__ import annotations

import msgspec

from karptui.aws.lint import LintFinding
from karptui.pending.groups import PendingGroup, PendingReport
from karptui.provisioning.explain import PodExplanation
from karptui.whatif.remedies.pending.remedy import RemedyReport


class PodDetail(msgspec.Struct, frozen=True, eq=False):
    """A pod, at length."""

    pod_key: str
    generation: int
    now_ns: int
    explanation: PodExplanation | None = None
    """None if the pod is not part of a run."""
    remedies: RemedyReport | None = None
    """Single changes that were tried; None if there is nothing to remedy."""


class PodSurroundings(msgspec.Struct, frozen=True):
    """Facts of the cluster that are shown next to a pod's reason."""

    zones: tuple[tuple[str, frozenset[str]], ...] = ()
    """Volumes that bind it, with the zones they leave."""
    findings: tuple[tuple[str, LintFinding], ...] = ()
    """Problems of NodePools' requirements, with the NodePool's name."""


class PendingAnswer(PendingReport, frozen=True, eq=False, dict=True):
    """Known reasons of pending pods."""

    detail: PodDetail | None = None
    """The pod on the screen; it may be of an older generation."""


def answer_of(report: PendingReport, detail: PodDetail | None = None) -> PendingAnswer:
    """Return a report as an answer, with one pod in detail."""
    return PendingAnswer(report.generation, report.now_ns, report.groups, report.notes, detail)


class PendingEntry(msgspec.Struct, frozen=True, eq=False):
    """A group of pods that wait, and whether events may be read."""

    group: PendingGroup
    may_list_events: bool = True
    """False where events may not be listed: silence then means nothing."""

    @property
    def key(self) -> str:
        """Identity across refreshes."""
        return self.group.key
