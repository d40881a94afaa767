"""Helpers that run one rule on a small cluster."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from karptui.advice.catalogue import BY_ID
from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.report import advise
from karptui.aws.evidence import NO_EVIDENCE, Evidence
from karptui.disruption.analysis_steps import AnalysisSteps
from karptui.karpenter import labels
from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.settings import parse_settings
from karptui.kube.usage import NO_LIVE_USAGE, LiveUsage
from karptui.provisioning.prepared import prepare
from tests.builders import NOW_NS, a_requirement, an_instance_type

_SEVERAL_OF_ONE = re.compile(r"^1 (pod|node)\b(?!.*nodes on their way).*\b(they|their)\b", re.MULTILINE)
"""Matches a text about one pod or node that uses the plural."""
LARGE = an_instance_type(name="m5.large")
XLARGE = an_instance_type(name="m5.xlarge", cpu="4", memory="16Gi", pods="58", prices={"on-demand": 0.192})
TYPES = (LARGE, XLARGE)


@dataclass(frozen=True)
class Case:
    """A cluster and one rule's expected finding; none if ``says`` is empty."""

    rule: str
    make: Callable[[], Inventory]
    says: tuple[str, ...] = ()
    severity: Severity = Severity.WARNING
    count: int = 1
    types: tuple[InstanceType, ...] = TYPES
    settings: Mapping[str, str] = field(default_factory=dict)
    evidence: Evidence = NO_EVIDENCE
    hidden: frozenset[str] = frozenset()
    per_hour: float | None = None
    name: str = ""
    version: str = ""
    """Version of Karpenter; the newest modelled one if empty."""
    usage: LiveUsage = NO_LIVE_USAGE
    is_simulated: bool = False
    """Whether node removals are simulated before the rule runs."""

    @property
    def id(self) -> str:
        return f"{self.rule}-{'finds' if self.says else 'quiet'}{'-' + self.name if self.name else ''}"


def reserved_type(left: int) -> InstanceType:
    instance_type = an_instance_type(name="m5.xlarge", prices={"reserved": 0.0})
    held = instance_type.offerings[0]
    requirements = (*held.requirements, a_requirement(labels.RESERVATION_ID, "In", "cr-1"))
    return replace(instance_type, offerings=(replace(held, reservation_capacity=left, requirements=requirements),))


def quiet(rule: str, *makes: Callable[[], Inventory], **setup: Any) -> list[Case]:
    """Return cases in which the rule finds nothing."""
    return [Case(rule, make, name=str(number), **setup) for number, make in enumerate(makes, 1)]


def context_of(
    inventory: Inventory,
    types: Iterable[InstanceType] | Mapping[str, tuple[InstanceType, ...]] = TYPES,
    settings: Mapping[str, str] | None = None,
    evidence: Evidence = NO_EVIDENCE,
    hidden: frozenset[str] = frozenset(),
    *,
    usage: LiveUsage = NO_LIVE_USAGE,
    version: str = "",
    is_simulated: bool = False,
) -> AdviceContext:
    given = types if isinstance(types, Mapping) else tuple(types)
    prepared = prepare(inventory, given, parse_settings(settings or {}, version), NOW_NS)
    steps = AnalysisSteps(prepared, 1)
    for _ in steps.survey():
        pass
    for key in steps.unsimulated() if is_simulated else ():
        steps.simulate(key)
    return AdviceContext(
        prepared, steps.fleet, findings=steps.analysis.findings, evidence=evidence, hidden=hidden, usage=usage
    )


def ask(case: Case) -> tuple[Finding, ...]:
    """Return the findings of the case's rule; an exception in the rule fails the test."""
    given = case.types, case.settings, case.evidence, case.hidden
    context = context_of(case.make(), *given, usage=case.usage, version=case.version, is_simulated=case.is_simulated)
    report = advise(context, [BY_ID[case.rule]])
    assert report.failures == ()
    return report.findings


def check(case: Case) -> None:
    """Check that the rule finds what the case expects."""
    findings = ask(case)
    if not case.says:
        assert [finding.fact for finding in findings] == []
        return
    facts = "\n".join(finding.fact for finding in findings)
    assert _SEVERAL_OF_ONE.search(facts) is None
    for part in case.says:
        assert part in facts
    assert len(findings) == case.count
    assert findings[0].severity is case.severity
    assert all(finding.remedy and finding.objects for finding in findings)
    if case.per_hour is not None:
        assert findings[0].per_hour is not None
        assert round(findings[0].per_hour, 4) == case.per_hour
