from __future__ import annotations

import json
import re
from pathlib import Path

from karptui.sources.aws.facts import RULES

DOCUMENT = (Path(__file__).resolve().parents[3] / "docs" / "aws-access.md").read_text(encoding="utf-8")


def test_the_documented_policy_is_what_is_asked_for() -> None:
    policy = re.search(r"```json\n(.*?)```", DOCUMENT, re.DOTALL)
    assert policy is not None
    assert set(json.loads(policy[1])["Statement"][0]["Action"]) == {rule.action for rule in RULES.values()}


def test_the_documented_ages_are_those_kept() -> None:
    for rule in RULES.values():
        row = re.search(rf"\| `{rule.action}` \|[^|]*\| (\d+) (h|min) \|", DOCUMENT)
        assert row is not None
        assert int(row[1]) * {"h": 3600, "min": 60}[row[2]] == rule.holds_seconds
