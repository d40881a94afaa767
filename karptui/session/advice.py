"""Rows of the Advice screen: findings, and findings in groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from karptui.advice.catalogue import BY_ID
from karptui.advice.finding import Finding, Rule, Severity
from karptui.advice.report import AdviceReport
from karptui.kube.group import group_by
from karptui.session.grouping import Folding, GroupHeading, Grouping
from karptui.whatif.edits import ObjectRef


class AdviceEntry(msgspec.Struct, frozen=True, eq=False):
    """A finding."""

    finding: Finding

    @property
    def rule(self) -> Rule:
        """The rule that reported it."""
        return BY_ID[self.finding.rule]

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


class AdviceGroup(GroupHeading[AdviceEntry], frozen=True, eq=False):
    """The heading of findings that have something in common."""

    @property
    def severity(self) -> Severity:
        """That of the worst member."""
        return min((member.severity for member in self.members), key=lambda severity: severity.rank)

    @property
    def severities(self) -> tuple[Severity, ...]:
        """Severities of the members."""
        return tuple(member.severity for member in self.members)


AdviceLine: TypeAlias = AdviceEntry | AdviceGroup


def advice_entries(report: AdviceReport | None) -> tuple[AdviceEntry, ...]:
    """Return a row for every finding, the worst first."""
    if report is None:
        return ()
    return tuple(map(AdviceEntry, report.findings))


class AdviceGrouping(Grouping):
    """The property that the findings of a group share."""

    NOTHING = "nothing"
    SEVERITY = "severity"
    RULE = "rule"
    OBJECT = "object"


def grouped(entries: Sequence[AdviceEntry], grouping: AdviceGrouping, folding: Folding) -> list[AdviceLine]:
    """Return headings and rows: groups in the order of their first row."""
    if not grouping.has_groups:
        return list(entries)
    lines: list[AdviceLine] = []
    for name, members in group_by(entries, lambda entry: _name(entry, grouping)).items():
        group = AdviceGroup(name, tuple(members), folding.hides(name))
        lines.append(group)
        if not group.is_folded:
            lines.extend(members)
    return lines


def _name(entry: AdviceEntry, grouping: AdviceGrouping) -> str:
    if grouping is AdviceGrouping.SEVERITY:
        return str(entry.severity)
    if grouping is AdviceGrouping.RULE:
        return entry.rule.id
    return f"{entry.first.kind} {entry.first.key}" if entry.first is not None else "(no object)"
