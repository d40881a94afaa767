"""One row of the Advice screen: a finding with its rule, or the heading of several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from karptui.advice.catalogue import BY_ID
from karptui.advice.finding import Finding, Severity
from karptui.advice.report import AdviceReport
from karptui.advice.rule import Rule
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


@dataclass(frozen=True, eq=False)
class AdviceGroup:
    """The heading of findings that have something in common."""

    name: str
    members: tuple[AdviceEntry, ...]
    is_folded: bool

    @property
    def key(self) -> str:
        """Identity across refreshes."""
        return f"group/{self.name}"

    @property
    def severity(self) -> Severity:
        """That of the worst member."""
        return min((one.severity for one in self.members), key=lambda severity: severity.rank)


AdviceLine: TypeAlias = AdviceEntry | AdviceGroup


class Grouping(StrEnum):
    """What the findings of a group have in common."""

    NOTHING = "nothing"
    SEVERITY = "severity"
    RULE = "rule"
    OBJECT = "object"

    @property
    def next(self) -> Grouping:
        """The grouping that comes after this one."""
        every = list(Grouping)
        return every[(every.index(self) + 1) % len(every)]


def advice_entries(report: AdviceReport | None) -> tuple[AdviceEntry, ...]:
    """Return a row for every finding, the worst first."""
    if report is None:
        return ()
    return tuple(AdviceEntry(finding, BY_ID[finding.rule]) for finding in report.findings)


def grouped(
    entries: Sequence[AdviceEntry], grouping: Grouping, folded: frozenset[str], *, is_folded: bool
) -> list[AdviceLine]:
    """Return headings and rows: groups in the order of their first row.

    Args:
        entries: The rows, in order.
        grouping: What groups have in common; without any there are no headings.
        folded: Names of the groups that differ from ``is_folded``.
        is_folded: Whether groups show their heading only.
    """
    if grouping is Grouping.NOTHING:
        return list(entries)
    members: dict[str, list[AdviceEntry]] = {}
    for entry in entries:
        members.setdefault(_name(entry, grouping), []).append(entry)
    lines: list[AdviceLine] = []
    for name, own in members.items():
        group = AdviceGroup(name, tuple(own), is_folded is not (name in folded))
        lines.append(group)
        if not group.is_folded:
            lines.extend(own)
    return lines


def _name(entry: AdviceEntry, grouping: Grouping) -> str:
    if grouping is Grouping.SEVERITY:
        return str(entry.severity)
    if grouping is Grouping.RULE:
        return entry.rule.id
    return f"{entry.first.kind} {entry.first.key}" if entry.first is not None else "(no object)"


def counts_text(entries: Iterable[AdviceEntry]) -> str:
    """Return ``3 errors, 6 warnings, 9 infos``; what there is none of is left out."""
    counts = dict.fromkeys(Severity, 0)
    for entry in entries:
        counts[entry.severity] += 1
    return ", ".join(f"{number} {severity}{'s' * (number > 1)}" for severity, number in counts.items() if number)
