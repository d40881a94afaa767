"""All rules for one cluster; a rule that fails does not stop the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from karptui.advice.catalogue import RULES
from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Rule, Severity
from karptui.disruption.churn.loops import Loop
from karptui.disruption.churn.moves import Moved


class AdviceReport(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """Findings of all rules for one state of the cluster."""

    findings: tuple[Finding, ...] = ()
    """The worst first; of equal severity those with the most money, then by rule."""
    failures: tuple[str, ...] = ()
    """Messages of rules that failed."""
    now_ns: int = 0
    """The instant that it holds for: nanoseconds since the epoch."""
    rules: int = 0
    """Number of rules that ran."""
    loops: tuple[Loop, ...] = ()
    """Loops of launches and removals, which the rules looked at too."""
    moved: tuple[Moved, ...] = ()
    """Workloads whose pods Karpenter moved, most moves first."""

    def count(self, severity: Severity) -> int:
        """Return the number of findings of a severity."""
        return sum(finding.severity is severity for finding in self.findings)

    @property
    def notable(self) -> int:
        """How many findings are errors or warnings."""
        return sum(finding.severity is not Severity.INFO for finding in self.findings)


class Adviser:
    """Asks one rule after the other, so that whoever runs it may pause or stop between two of them."""

    def __init__(self, context: AdviceContext, rules: Iterable[Rule] = RULES) -> None:
        self._context = context
        self._rules = tuple(rules)
        self._findings: list[Finding] = []
        self._failures: list[str] = []

    def ask(self) -> Iterator[str]:
        """Ask every rule, and yield its id when it has answered."""
        for rule in self._rules:
            try:
                self._findings.extend(_with_rule(rule, finding) for finding in rule.find(self._context))
            except Exception as error:  # noqa: BLE001 - a fault in one rule must not silence the others
                self._failures.append(f"rule {rule.id} failed: {type(error).__name__}: {error}")
            yield rule.id

    @property
    def report(self) -> AdviceReport:
        """The findings so far."""
        return AdviceReport(
            findings=tuple(sorted(self._findings, key=_order)),
            failures=tuple(self._failures),
            now_ns=self._context.now_ns,
            rules=len(self._rules),
            loops=self._context.loops,
            moved=self._context.churn.moved if self._context.loops else (),
        )


def advise(context: AdviceContext, rules: Iterable[Rule] = RULES) -> AdviceReport:
    """Return the findings of all rules."""
    adviser = Adviser(context, rules)
    for _ in adviser.ask():
        pass
    return adviser.report


def _with_rule(rule: Rule, finding: Finding) -> Finding:
    return msgspec.structs.replace(finding, rule=rule.id, remedy=finding.remedy or rule.remedy)


def _order(finding: Finding) -> tuple[int, float, str, str]:
    return finding.severity.rank, -(finding.per_hour or 0.0), finding.rule, finding.key
