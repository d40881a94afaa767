"""Data that is missing or assumed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from karptui.verdict.case import VerdictCase
from karptui.verdict.finding import ClusterFinding, FindingCode, FindingSeverity, Manner


def missing_data(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield kinds that could not be read, and the assumptions in place of their data."""
    groups: defaultdict[tuple[FindingSeverity, str], list[str]] = defaultdict(list)
    for kind in case.hidden:
        severity = case.ignored.get(kind, FindingSeverity.WARNING)
        groups[severity, "none" if kind in case.ignored else ""].append(kind)
    for (severity, counts_as), kinds in groups.items():
        yield ClusterFinding(
            severity=severity,
            code=FindingCode.NO_PERMISSION,
            names=tuple(kinds),
            manner=Manner.MISSING if case.is_file else Manner.PLAIN,
            detail=counts_as,
        )
    if case.assumed:
        yield ClusterFinding(
            severity=FindingSeverity.INFO,
            code=FindingCode.ASSUMED_CLASS,
            names=tuple(case.assumed),
            detail=", ".join(dict.fromkeys(case.assumed.values())),
            objects=tuple(f"EC2NodeClass/{name}" for name in case.assumed),
            screen="pools",
        )
    if case.unread:
        yield ClusterFinding(
            severity=FindingSeverity.INFO,
            code=FindingCode.ASSUMED_VOLUMES,
            names=case.unread,
            screen="sources",
        )
    unpriced = [line for line in case.nodes if line.has_node and line.per_hour is None]
    if case.has_prices and unpriced:
        yield ClusterFinding(
            severity=FindingSeverity.INFO,
            code=FindingCode.NO_PRICES,
            nodes=len(unpriced),
            objects=tuple(f"Node/{line.name}" for line in unpriced),
            screen="sources",
        )
