"""All rules together: their cases, the order of findings, failures and documentation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from karptui.advice import rules
from karptui.advice.catalogue import BEGIN, BY_ID, RULES, RULES_BY_SUBJECT, rule_text, sections
from karptui.advice.finding import Finding, Rule, Severity
from karptui.advice.report import Adviser, advise
from karptui.whatif.edits import ObjectRef
from tests import story_e
from tests.advice import churn_cases, node_cases, nodeclass_cases, pod_cases, pool_cases, reservation_cases, usage_cases
from tests.advice.asking import Case, check, context_of
from tests.builders import an_inventory

PAGE = Path(__file__).parents[2] / "docs" / "advice.md"
FOLDERS = (pool_cases, nodeclass_cases, node_cases, pod_cases, churn_cases, usage_cases, reservation_cases)
CASES = [case for folder in FOLDERS for case in folder.CASES]


def a_rule(id_: str, *findings: Finding, error: Exception | None = None) -> Rule:
    def find(_context: Any) -> Iterator[Finding]:
        yield from findings
        if error is not None:
            raise error

    return msgspec.structs.replace(RULES[0], id=id_, find=find)


def a_finding(severity: Severity, name: str = "a", per_hour: float | None = None) -> Finding:
    return Finding(severity=severity, objects=(ObjectRef("NodePool", name),), fact="so it is", per_hour=per_hour)


def test_the_most_severe_and_expensive_findings_are_first() -> None:
    rules = [
        a_rule("z", a_finding(Severity.INFO, per_hour=9.0), a_finding(Severity.WARNING, "cheap", 1.0)),
        a_rule("y", a_finding(Severity.ERROR), a_finding(Severity.WARNING, "dear", 2.0)),
    ]
    report = advise(context_of(an_inventory()), rules)
    assert [(finding.severity.value, finding.per_hour, finding.rule) for finding in report.findings] == [
        ("error", None, "y"),
        ("warning", 2.0, "y"),
        ("warning", 1.0, "z"),
        ("info", 9.0, "z"),
    ]
    assert (report.notable, report.count(Severity.INFO), report.rules) == (3, 1, 2)


def test_an_exception_in_a_rule_is_one_message() -> None:
    rules = [a_rule("bad", error=KeyError("x")), a_rule("good", a_finding(Severity.INFO))]
    adviser = Adviser(context_of(an_inventory()), rules)
    assert list(adviser.ask()) == ["bad", "good"]
    assert adviser.report.failures == ("rule bad failed: KeyError: 'x'",)
    assert [finding.rule for finding in adviser.report.findings] == ["good"]


def test_findings_of_story_e() -> None:
    report = advise(context_of(story_e.inventory(), story_e.TYPES))
    assert {"node-receives-pods", "budget-never-opens"} <= {finding.rule for finding in report.findings}


def test_no_rule_fails_on_an_empty_cluster() -> None:
    report = advise(context_of(msgspec.structs.replace(an_inventory(nodes=0), nodepools=())))
    assert (report.findings, report.failures) == ((), ())


def test_every_rule_has_all_texts() -> None:
    for rule in RULES:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", rule.id)
        assert 0 < len(rule.title) <= 40, rule.id
        assert not rule.title.endswith("."), rule.id
        assert {text[-1:] for text in (rule.what, rule.why, rule.remedy)} == {"."}, rule.id
        assert "pkg/" in rule.source, rule.id
        assert rule.id in rule_text(rule)
    prefixes = [{rule.id.partition("-")[0] for rule in rules} for rules in RULES_BY_SUBJECT.values()]
    assert [len(prefix) for prefix in prefixes] == [1] * len(prefixes)
    assert len(set().union(*prefixes)) == len(prefixes)
    modules = {f"{rules.__name__}.{path.stem}" for path in Path(rules.__file__).parent.glob("[a-z]*.py")}
    assert {rule.find.__module__ for rule in RULES} == modules
    assert [rule.id for rule in RULES if _kind(rule) != rule.id.partition("-")[0]] == []


def _kind(rule: Rule) -> str:
    """Return the kind of a rule's subject, from the name of its module."""
    return rule.find.__module__.rpartition(".")[2].partition("_")[0]


def test_the_documentation_is_generated_from_the_rules() -> None:
    """`python tools/make_advice_docs.py` updates it."""
    page = PAGE.read_text(encoding="utf-8")
    assert page.endswith(sections())
    assert page.count(BEGIN) == 1
    headings = re.findall(r"^### (\S+)$", page, re.MULTILINE)
    assert sorted(headings) == sorted(BY_ID)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_rule_finds_its_case(case: Case) -> None:
    check(case)


def test_every_rule_has_a_positive_and_a_negative_case() -> None:
    finds = {case.rule for case in CASES if case.says}
    quiets = {case.rule for case in CASES if not case.says}
    assert sorted(set(BY_ID) - finds) == []
    assert sorted(set(BY_ID) - quiets) == []
    assert [rule for rule, count in Counter(rule.id for rule in RULES).items() if count > 1] == []
