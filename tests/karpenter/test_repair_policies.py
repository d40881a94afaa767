from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from karptui.aws.repair_policies import aws_repair_policies
from karptui.karpenter.repair_policies import RepairAction, RepairPolicies, RepairPolicyError, parse_policies
from karptui.karpenter.settings import parse_settings
from karptui.kube.objects import Condition
from tests.builders import MINUTE_NS, NOW_NS, a_node

DEFAULT: dict[str, Any] = {"conditionType": "Ready", "conditionStatus": "False", "tolerationDuration": "30m"}
REBOOT = {**DEFAULT, "reasonRegex": "XID", "tolerationDuration": "10m", "action": "RebootNode"}


def sick(reason: str = "X", *, minutes: int = 60, type_: str = "Ready", status: str = "False") -> Condition:
    return Condition(type_, status, reason, last_transition_ns=NOW_NS - minutes * MINUTE_NS)


def node_with(*conditions: Condition) -> Any:
    return replace(a_node(), conditions=conditions, created_ns=NOW_NS - 1000 * MINUTE_NS)


@pytest.mark.parametrize(("policies", "words"), [
    ([], "exactly one"),
    ([DEFAULT, DEFAULT], "exactly one"),
    ([{**DEFAULT, "action": "RebootNode"}], "must replace"),
    ([{**DEFAULT, "priority": 101}], "priority"),
    ([{**DEFAULT, "tolerationDuration": "soon"}], "duration"),
    ([{**DEFAULT, "action": "Hope"}], "Hope"),
    ([DEFAULT, {**DEFAULT, "reasonRegex": "("}], "unterminated"),
    ([{"conditionType": "Ready"}], "conditionStatus"),
])  # fmt: skip
def test_policies_that_karpenter_refuses_at_startup(policies: list[dict[str, Any]], words: str) -> None:
    with pytest.raises(RepairPolicyError, match=words):
        parse_policies(policies)


def test_the_policy_without_regex_matches_the_remaining_reasons() -> None:
    policies = RepairPolicies(parse_policies([DEFAULT, REBOOT]))
    ailment = policies.ailment(node_with(sick("XID46")), NOW_NS)
    other = policies.ailment(node_with(sick("Kubelet")), NOW_NS)
    assert ailment is not None
    assert other is not None
    assert (ailment.action, ailment.reason_regex) == (RepairAction.REBOOT, "XID")
    assert (other.action, other.reason_regex) == (RepairAction.REPLACE, "")
    assert policies.ailment(node_with(sick(status="True")), NOW_NS) is None
    assert policies.ailment(node_with(sick(minutes=29)), NOW_NS) is None


def test_replacing_takes_precedence_with_the_shortest_drain_bound() -> None:
    bounded = {**REBOOT, "terminationGracePeriod": "5m", "priority": 9}
    disk = {**DEFAULT, "conditionType": "Disk", "reasonRegex": ".*", "terminationGracePeriod": "10m"}
    ailment = RepairPolicies(parse_policies([DEFAULT, bounded, disk])).ailment(
        node_with(sick("XID1"), sick(type_="Disk")), NOW_NS
    )
    assert ailment is not None
    assert (ailment.condition.type, ailment.action, ailment.bound_ns) == ("Disk", RepairAction.REPLACE, 5 * MINUTE_NS)
    assert ailment.score == pytest.approx(1 + 50 / 30)


@pytest.mark.parametrize(
    ("policy", "grace_minutes", "drain", "written"),
    [("5m", None, 5, 5), ("5m", 10, 5, 5), ("10m", 5, 5, 5), (None, 5, 5, None), (None, None, None, None)],
)
def test_only_a_policys_drain_bound_is_written(
    policy: str | None, grace_minutes: int | None, drain: int | None, written: int | None
) -> None:
    ailment = RepairPolicies(parse_policies([{**DEFAULT, "terminationGracePeriod": policy}])).ailment(
        node_with(sick()), NOW_NS
    )
    assert ailment is not None
    grace_ns = None if grace_minutes is None else grace_minutes * MINUTE_NS
    bounds = (ailment.drain_bound(grace_ns), ailment.written_bound(grace_ns))
    assert bounds == tuple(None if number is None else number * MINUTE_NS for number in (drain, written))


def test_a_reboot_restarts_the_toleration() -> None:
    policies = RepairPolicies(parse_policies([DEFAULT]))
    assert policies.ailment(node_with(sick()), NOW_NS, NOW_NS - 29 * MINUTE_NS) is None
    assert policies.ailment(node_with(sick()), NOW_NS, NOW_NS - 30 * MINUTE_NS) is not None
    assert list(policies.eligible(node_with(sick()))) == [NOW_NS - 30 * MINUTE_NS]
    assert list(policies.eligible(node_with(sick()), NOW_NS - 10 * MINUTE_NS)) == [NOW_NS + 20 * MINUTE_NS]


def test_the_policies_of_aws_by_settings() -> None:
    reboots = parse_settings({"AWS_FEATURE_GATES": "RebootForRepair=true"})
    assert [policy.action for policy in aws_repair_policies(reboots)].count(RepairAction.REBOOT) == 1
    assert RepairAction.REBOOT not in {policy.action for policy in aws_repair_policies(parse_settings({}))}
    assert len(aws_repair_policies(parse_settings({"LEGACY_NODE_REPAIR": "true"}))) == 7
    assert len(aws_repair_policies(parse_settings({}, "1.14.1"))) == 7
