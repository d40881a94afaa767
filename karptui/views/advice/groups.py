"""Findings in groups: by severity, rule or object."""

from __future__ import annotations

from collections.abc import Sequence

from karptui.views.advice.entry import AdviceEntry, AdviceGroup, AdviceLine
from karptui.views.grouping import Folding, Grouping, members_by_name


class AdviceGrouping(Grouping):
    """What the findings of a group have in common."""

    NOTHING = "nothing"
    SEVERITY = "severity"
    RULE = "rule"
    OBJECT = "object"


def grouped(entries: Sequence[AdviceEntry], grouping: AdviceGrouping, folding: Folding) -> list[AdviceLine]:
    """Return headings and rows: groups in the order of their first row.

    Args:
        entries: The rows, in order.
        grouping: What groups have in common; without any there are no headings.
        folding: Which groups show their heading only.
    """
    if not grouping.has_groups:
        return list(entries)
    lines: list[AdviceLine] = []
    for name, members in members_by_name(entries, lambda entry: _name(entry, grouping)).items():
        group = AdviceGroup(name, members, folding.hides(name))
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
