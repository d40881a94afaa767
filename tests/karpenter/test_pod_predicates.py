from __future__ import annotations

import pytest

from karptui.karpenter.do_not_disrupt import ProtectionKind, read_value
from karptui.karpenter.labels import DISRUPTION_COST, DO_NOT_DISRUPT, POD_DELETION_COST
from karptui.karpenter.pod_predicates import PodPredicates, eviction_cost
from karptui.karpenter.settings import DEFAULTS, Settings, parse_settings
from karptui.kube.pod import Pod
from karptui.kube.taints import Toleration
from karptui.kube.workload import PodDisruptionBudget
from tests.builders import HOUR_NS, MINUTE_NS, NOW_NS, a_pdb, a_pod, a_pod_template, an_owner

EVERYTHING = (Toleration(operator="Exists"),)


AS_1_14 = parse_settings({}, "1.14.1")
MANAGED = parse_settings({"FEATURE_GATES": "PodDeletionCostManagement=true"})


@pytest.mark.parametrize(("annotations", "priority", "cost"), [
    ({}, 0, 1.0),
    ({POD_DELETION_COST: "134217728"}, 0, 2.0),
    ({POD_DELETION_COST: "what"}, 0, 1.0),
    ({}, 2_000_001_000, 10.0),
    ({}, -33_554_432, 0.0),
])  # fmt: skip
def test_eviction_cost(annotations: dict[str, str], priority: int, cost: float) -> None:
    template = a_pod_template(annotations=annotations, priority=priority)
    assert eviction_cost(template) == eviction_cost(template, AS_1_14) == cost


@pytest.mark.parametrize(("annotations", "settings", "cost"), [
    ({POD_DELETION_COST: "-Inf"}, AS_1_14, -10.0),
    ({POD_DELETION_COST: "-Inf"}, DEFAULTS, 1.0),
    ({POD_DELETION_COST: "-1.4e8"}, DEFAULTS, 1.0),
    ({POD_DELETION_COST: "2147483648"}, DEFAULTS, 1.0),
    ({POD_DELETION_COST: "9" * 5000}, DEFAULTS, 1.0),
    ({POD_DELETION_COST: "0" * 5000 + "134217728"}, DEFAULTS, 2.0),
    ({POD_DELETION_COST: "134217728"}, MANAGED, 1.0),
    ({DISRUPTION_COST: "134217728", POD_DELETION_COST: "-134217728"}, DEFAULTS, 2.0),
    ({DISRUPTION_COST: "134217728", POD_DELETION_COST: "-134217728"}, AS_1_14, 0.0),
    ({DISRUPTION_COST: "much", POD_DELETION_COST: "-134217728"}, DEFAULTS, 1.0),
    ({DISRUPTION_COST: "134217728"}, MANAGED, 2.0),
])  # fmt: skip
def test_costs_are_whole_numbers_since_1_15(annotations: dict[str, str], settings: Settings, cost: float) -> None:
    assert eviction_cost(a_pod_template(annotations=annotations), settings) == cost


def _predicates(*pdbs: PodDisruptionBudget) -> PodPredicates:
    return PodPredicates(pdbs, NOW_NS)


@pytest.mark.parametrize(("pod", "reschedulable", "evictable", "disruptable", "waited_for"), [
    (a_pod(node="n"), True, True, True, True),
    (a_pod(node="n", phase="Succeeded"), False, False, True, False),
    (a_pod(node="n", phase="Failed"), False, False, True, False),
    (a_pod(node="n", deletion_ns=NOW_NS), False, False, True, True),
    (a_pod(node="n", deletion_ns=NOW_NS - MINUTE_NS), False, False, True, True),
    (a_pod(node="n", deletion_ns=NOW_NS - MINUTE_NS - 1), False, False, True, False),
    (a_pod(node="n", owner=an_owner(kind="StatefulSet"), deletion_ns=NOW_NS), True, False, True, True),
    (a_pod(node="n", daemonset="agent"), False, True, True, True),
    (a_pod(node="n", owner=an_owner(kind="Node", api_version="v1")), False, False, True, False),
    (a_pod(node="n", owner=an_owner(kind="DaemonSet", api_version="apps.kruise.io/v1")), True, True, True, True),
    (a_pod(node="n", tolerations=EVERYTHING), True, False, True, False),
    (a_pod(node="n", annotations={DO_NOT_DISRUPT: "true"}), True, False, False, True),
    (a_pod(node="n", annotations={DO_NOT_DISRUPT: "true"}, tolerations=EVERYTHING), True, False, False, False),
    (a_pod(node="n", annotations={DO_NOT_DISRUPT: "false"}), True, True, True, True),
    (a_pod(node="n", annotations={DO_NOT_DISRUPT: "true"}, daemonset="agent"), False, False, False, True),
    (a_pod(node="n", annotations={DO_NOT_DISRUPT: "true"}, phase="Succeeded"), False, False, True, False),
])  # fmt: skip
def test_predicates(pod: Pod, reschedulable: bool, evictable: bool, disruptable: bool, waited_for: bool) -> None:
    predicates = _predicates()
    assert predicates.is_reschedulable(pod) is reschedulable
    assert predicates.is_evictable(pod) is evictable
    assert predicates.is_disruptable(pod) is disruptable
    assert predicates.is_waited_for(pod) is waited_for


@pytest.mark.parametrize(
    ("pod", "is_sought_a_place"),
    [
        (a_pod(node="n"), False),
        (a_pod(node="n", labels={"app": "free"}), True),
        (a_pod(node="n", annotations={DO_NOT_DISRUPT: "true"}, labels={"app": "free"}), False),
        # Karpenter does not evict pods that tolerate the taint, so their PDBs do not matter.
        (a_pod(node="n", tolerations=EVERYTHING), True),
        (a_pod(node="n", daemonset="agent", labels={"app": "free"}), False),
    ],
)
def test_pods_are_rescheduled_unless_pinned_forever(pod: Pod, is_sought_a_place: bool) -> None:
    assert _predicates(a_pdb(max_unavailable=0, allowed=1)).is_currently_reschedulable(pod) is is_sought_a_place


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("true", ProtectionKind.ALWAYS), ("30m", ProtectionKind.ELAPSED), ("2h", ProtectionKind.TIMED),
        ("1.5h", ProtectionKind.TIMED), (".5h", ProtectionKind.ELAPSED), ("+2h", ProtectionKind.TIMED),
        ("false", ProtectionKind.INVALID), ("", ProtectionKind.INVALID), ("True", ProtectionKind.INVALID),
        ("true ", ProtectionKind.INVALID), ("1d", ProtectionKind.INVALID), ("90", ProtectionKind.INVALID),
        ("0", ProtectionKind.INVALID), ("0s", ProtectionKind.INVALID), ("-5m", ProtectionKind.INVALID),
        ("2H", ProtectionKind.INVALID), ("1h", ProtectionKind.ELAPSED),
    ],
)  # fmt: skip
def test_values_on_an_hour_old_pod(text: str, kind: ProtectionKind) -> None:
    protection = read_value(text).at(NOW_NS - HOUR_NS, NOW_NS)
    assert protection.kind is kind
    assert protection.is_active is (kind in (ProtectionKind.ALWAYS, ProtectionKind.TIMED))


def test_do_not_disrupt_durations_start_with_the_pod() -> None:
    protection = read_value("2h").at(NOW_NS - HOUR_NS, NOW_NS)
    assert protection.until_ns == NOW_NS + HOUR_NS
    assert read_value("2h").at(0, NOW_NS).kind is ProtectionKind.NOT_STARTED
    assert read_value("2h").at(0, NOW_NS).is_active
