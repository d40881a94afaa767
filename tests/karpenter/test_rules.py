from __future__ import annotations

import pytest

from karptui.karpenter.rules import NEWEST, RULES_1_14_1, RULES_1_14_3, RULES_1_15, Rules, rules_for


@pytest.mark.parametrize(
    ("version", "rules"),
    [
        ("", NEWEST),
        ("latest", NEWEST),
        ("1.9.2", RULES_1_14_1),
        ("1.14.1", RULES_1_14_1),
        ("1.14.2", RULES_1_14_1),
        ("1.14.3", RULES_1_14_3),
        ("v1.14.4", RULES_1_14_3),
        ("1.15", RULES_1_15),
        ("1.15.2", RULES_1_15),
        ("1.16.0", RULES_1_15),
        ("2.0.0", RULES_1_15),
    ],
)
def test_the_nearest_version_decides(version: str, rules: Rules) -> None:
    assert rules_for(version) is rules
