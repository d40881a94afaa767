"""Facts around the rows of lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec

if TYPE_CHECKING:
    from karptui.advice.finding import Severity
    from karptui.advice.report import AdviceReport
    from karptui.disruption.analysis import NextReport
    from karptui.disruption.churn.report import Churn
    from karptui.disruption.termination import Expiry
    from karptui.session.budgets import BudgetEntry
    from karptui.session.capacity import CapacityEntry
    from karptui.session.dollars import Dollars
    from karptui.session.pools import PoolRow, PoolsAround
    from karptui.session.types import PoolEntry


class TypesAround(msgspec.Struct, frozen=True, eq=False):
    """The NodePools, and the type counts of one of them."""

    names: tuple[str, ...]
    """In Karpenter's order."""
    pool: PoolEntry | None = None
    """None if there is no such NodePool."""


class AdviceAround(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """Summary of all findings."""

    severities: tuple[Severity, ...]
    """Of all findings, the worst first."""
    failures: tuple[str, ...]
    now_ns: int
    """The instant that it holds for: nanoseconds since the epoch."""
    rules: int
    rule_ids: frozenset[str]
    """Ids of the rules that have found something."""
    is_there: bool
    """Whether the finding in question still holds."""


def advice_around(report: AdviceReport | None, finding: str = "") -> AdviceAround | None:
    """Return a summary of all findings; None before the rules have run."""
    if report is None:
        return None
    return AdviceAround(
        severities=tuple(finding.severity for finding in report.findings),
        failures=report.failures,
        now_ns=report.now_ns,
        rules=report.rules,
        rule_ids=frozenset(finding.rule for finding in report.findings),
        is_there=any(other.key == finding for other in report.findings),
    )


if TYPE_CHECKING:
    Around: TypeAlias = (
        tuple[BudgetEntry, ...]
        | tuple[CapacityEntry, ...]
        | tuple[Expiry, ...]
        | AdviceAround
        | Churn
        | Dollars
        | NextReport
        | PoolRow
        | PoolsAround
        | TypesAround
    )
    """Facts around the rows of a list."""
