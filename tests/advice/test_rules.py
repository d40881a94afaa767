"""Every rule finds what it is about, and is quiet where there is nothing."""

from __future__ import annotations

from collections import Counter

import pytest

from karptui.advice.catalogue import BY_ID, RULES
from tests.advice import churn_cases, node_cases, nodeclass_cases, pod_cases, pool_cases, reservation_cases, usage_cases
from tests.advice.asking import Case, check

FOLDERS = (pool_cases, nodeclass_cases, node_cases, pod_cases, churn_cases, usage_cases, reservation_cases)
CASES = [case for folder in FOLDERS for case in folder.CASES]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_rule(case: Case) -> None:
    check(case)


def test_every_rule_has_a_positive_and_a_negative_case() -> None:
    finds = {case.rule for case in CASES if case.says}
    quiets = {case.rule for case in CASES if not case.says}
    assert sorted(set(BY_ID) - finds) == []
    assert sorted(set(BY_ID) - quiets) == []
    assert [rule for rule, count in Counter(rule.id for rule in RULES).items() if count > 1] == []
