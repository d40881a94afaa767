"""One row of the Advice screen: a finding with its rule, or the heading of several."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from karptui.advice.catalogue import BY_ID
from karptui.advice.finding import Finding, Severity
from karptui.advice.report import AdviceReport
from karptui.advice.rule import Rule
from karptui.kube.units import counted
from karptui.views.grouping import GroupHeading
from karptui.views.row import Tone
from karptui.whatif.edits import ObjectRef

TONES: Final = {Severity.ERROR: Tone.FAULT, Severity.WARNING: Tone.WARNING, Severity.INFO: Tone.MUTED}
MARKS: Final = {Severity.ERROR: "✘", Severity.WARNING: "▲", Severity.INFO: "·"}


@dataclass(frozen=True, eq=False)
class AdviceEntry:
    """A finding."""

    finding: Finding
    rule: Rule

    @property
    def key(self) -> str:
        """Identity across refreshes."""
        return self.finding.key

    @property
    def severity(self) -> Severity:
        """How bad it is."""
        return self.finding.severity

    @property
    def first(self) -> ObjectRef | None:
        """The object that tells most."""
        return self.finding.objects[0] if self.finding.objects else None

    @property
    def object_name(self) -> str:
        """``namespace/name`` of the first object, and how many more there are."""
        if self.first is None:
            return ""
        more = len(self.finding.objects) - 1
        return f"{self.first.key} +{more}" if more else self.first.key


class AdviceGroup(GroupHeading[AdviceEntry]):
    """The heading of findings that have something in common."""

    @property
    def severity(self) -> Severity:
        """That of the worst member."""
        return min((one.severity for one in self.members), key=lambda severity: severity.rank)


AdviceLine: TypeAlias = AdviceEntry | AdviceGroup


def advice_entries(report: AdviceReport | None) -> tuple[AdviceEntry, ...]:
    """Return a row for every finding, the worst first."""
    if report is None:
        return ()
    return tuple(AdviceEntry(finding, BY_ID[finding.rule]) for finding in report.findings)


def counts_text(entries: Iterable[AdviceEntry]) -> str:
    """Return ``3 errors, 6 warnings, 9 infos``; what there is none of is left out."""
    counts = dict.fromkeys(Severity, 0)
    for entry in entries:
        counts[entry.severity] += 1
    return ", ".join(counted(number, severity) for severity, number in counts.items() if number)
