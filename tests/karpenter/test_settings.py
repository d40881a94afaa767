from __future__ import annotations

import pytest

from karptui.karpenter.rules import NEWEST, RULES_1_14_1, RULES_1_14_3, RULES_1_15, Rules, rules_for
from karptui.karpenter.settings import GATE_DEFAULTS, Settings, SettingsError, parse_settings


@pytest.mark.parametrize(("name", "text", "field", "expected"), [
    ("PREFERENCE_POLICY", "Ignore", "preference_policy", "Ignore"),
    ("MIN_VALUES_POLICY", "BestEffort", "min_values_policy", "BestEffort"),
    ("IGNORE_DRA_REQUESTS", "false", "ignore_dra_requests", False),
    ("IGNORE_DRA_REQUESTS", "F", "ignore_dra_requests", False),
    ("IGNORE_DRA_REQUESTS", "1", "ignore_dra_requests", True),
    ("BATCH_MAX_DURATION", "1m30s", "batch_max_seconds", 90.0),
    ("VM_MEMORY_OVERHEAD_PERCENT", "0.1", "vm_memory_overhead_percent", 0.1),
    ("VM_MEMORY_OVERHEAD_PERCENT", "0", "vm_memory_overhead_percent", 0.0),
    ("VM_MEMORY_OVERHEAD_PERCENT", "0x1p-4", "vm_memory_overhead_percent", 0.0625),
    ("VM_MEMORY_OVERHEAD_PERCENT", "0.0_5", "vm_memory_overhead_percent", 0.05),
    ("RESERVED_ENIS", "2", "reserved_enis", 2),
    ("RESERVED_ENIS", "+1", "reserved_enis", 1),
    ("CLUSTER_NAME", "prod", "cluster_name", "prod"),
    ("ISOLATED_VPC", "true", "isolated_vpc", True),
])  # fmt: skip
def test_reads_each_setting(name: str, text: str, field: str, expected: object) -> None:
    settings = parse_settings({name: text})
    assert getattr(settings, field) == expected
    assert settings.environment == {name: text}
    assert settings.unread == ()


@pytest.mark.parametrize(("name", "text", "field"), [
    ("IGNORE_DRA_REQUESTS", "yes", "ignore_dra_requests"),
    ("IGNORE_DRA_REQUESTS", "", "ignore_dra_requests"),
    ("ISOLATED_VPC", "on", "isolated_vpc"),
    ("BATCH_MAX_DURATION", "10", "batch_max_seconds"),
    ("BATCH_MAX_DURATION", "1d", "batch_max_seconds"),
    ("VM_MEMORY_OVERHEAD_PERCENT", "7%", "vm_memory_overhead_percent"),
    ("VM_MEMORY_OVERHEAD_PERCENT", " 0.1", "vm_memory_overhead_percent"),
    ("VM_MEMORY_OVERHEAD_PERCENT", "1__0", "vm_memory_overhead_percent"),
    ("VM_MEMORY_OVERHEAD_PERCENT", "inf", "vm_memory_overhead_percent"),
    ("RESERVED_ENIS", "1.5", "reserved_enis"),
    ("RESERVED_ENIS", "٣", "reserved_enis"),
    ("RESERVED_ENIS", "9223372036854775808", "reserved_enis"),
    ("RESERVED_ENIS", "9" * 5000, "reserved_enis"),
])  # fmt: skip
def test_invalid_text_keeps_the_default_and_is_reported(name: str, text: str, field: str) -> None:
    settings = parse_settings({name: text})
    assert getattr(settings, field) == getattr(Settings(), field)
    assert settings.unread == (name,)


@pytest.mark.parametrize(("environment", "sentence"), [
    ({"PREFERENCE_POLICY": "ignore"}, "PREFERENCE_POLICY is 'ignore', must be Respect or Ignore"),
    ({"PREFERENCE_POLICY": ""}, "PREFERENCE_POLICY is '', must be Respect or Ignore"),
    ({"MIN_VALUES_POLICY": "Lax"}, "MIN_VALUES_POLICY is 'Lax', must be Strict or BestEffort"),
    ({"VM_MEMORY_OVERHEAD_PERCENT": "-0.1"}, "VM_MEMORY_OVERHEAD_PERCENT is '-0.1', must not be negative"),
    ({"RESERVED_ENIS": "-1"}, "RESERVED_ENIS is '-1', must not be negative"),
    ({"FEATURE_GATES": "NodeRepair"}, "FEATURE_GATES has 'NodeRepair', must be Name=true or Name=false"),
    ({"FEATURE_GATES": "NodeRepair=on"}, "FEATURE_GATES NodeRepair is 'on', must be true or false"),
])  # fmt: skip
def test_settings_that_karpenter_refuses_at_startup(environment: dict[str, str], sentence: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_settings(environment)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(("text", "changed"), [
    ("", {}),
    ("SpotToSpotConsolidation=true", {"SpotToSpotConsolidation": True}),
    (" NodeOverlay = 1 ,ReservedCapacity=f,", {"NodeOverlay": True, "ReservedCapacity": False}),
    ("NodeRepair=true,NodeRepair=false", {"NodeRepair": False}),
    ("Unknown=true", {"Unknown": True}),
])  # fmt: skip
def test_feature_gates_change_only_the_named_gates(text: str, changed: dict[str, bool]) -> None:
    assert parse_settings({"FEATURE_GATES": text}).gates == {**GATE_DEFAULTS, **changed}


@pytest.mark.parametrize(("version", "rules"), [
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
])  # fmt: skip
def test_the_rules_are_those_of_the_nearest_version(version: str, rules: Rules) -> None:
    assert rules_for(version) is rules
