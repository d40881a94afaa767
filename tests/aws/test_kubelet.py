from __future__ import annotations

from typing import Any

import pytest

from karptui.aws.catalogue import instance_type_facts
from karptui.aws.kubelet import expression_results, expressions, failures
from karptui.aws.kubelet_rules import parse_problem, rule_breaks
from karptui.aws.nodeclass import NodeClassError
from karptui.karpenter.settings import Settings, parse_settings
from tests.aws.builders import a_nodeclass, resolve

GATE = parse_settings({"AWS_FEATURE_GATES": "NodeClassCEL=true"}, "v1.15.1")
GATE_OFF = parse_settings({}, "v1.15.1")


def pods_and_reserved(settings: Settings, **kubelet: Any) -> tuple[int, dict[str, str]]:
    """Return what an m5.large (2 vCPUs, 8192 MiB, 3 interfaces of 10 addresses, 29 pods) comes to."""
    result = resolve("m5.large", a_nodeclass(kubelet=kubelet), settings)
    return result.capacity["pods"].units, {key: str(value) for key, value in result.overhead.kube_reserved.items()}


@pytest.mark.parametrize(("expression", "pods"), [
    ("42", 42),
    ("min(20, max_pods)", 20),
    ("max(double(vcpus), 3.9)", 3),
    ("min(3, 3.5) > 3.0 ? 1 : 2", 2),
    ("default_enis * (ips_per_eni - 1) + 2", 29),
    ("instance_type.startsWith('m5.') ? memory_mib / 1024 : 0", 8),
])  # fmt: skip
def test_max_pods_is_the_result_of_the_expression(expression: str, pods: int) -> None:
    assert pods_and_reserved(GATE, maxPods=expression)[0] == pods


def test_a_failing_or_negative_amount_keeps_the_default() -> None:
    default = pods_and_reserved(GATE)[1]
    for expression in ("vcpus / (vcpus - 2)", "1 - vcpus", "no such thing"):
        assert pods_and_reserved(GATE, kubeReserved={"cpu": expression})[1] == default


def test_results_include_their_expressions() -> None:
    kubelet = {"maxPods": "min(20, max_pods)", "kubeReserved": {"cpu": "vcpus * 31", "memory": "1 / 0", "pid": "9"}}
    facts = instance_type_facts()["m5.large"]
    assert expression_results(facts, a_nodeclass(kubelet=kubelet), GATE) == {
        "maxPods": "20 = min(20, max_pods)",
        "kubeReserved[cpu]": "70m = vcpus * 31",
        "kubeReserved[memory]": "1 / 0: no result, the default applies",
    }
    off = expression_results(facts, a_nodeclass(kubelet=kubelet), GATE_OFF)
    assert off["maxPods"] == "min(20, max_pods): not used, NodeClassCEL is off"
    assert expression_results(facts, a_nodeclass(kubelet={"maxPods": "-1"}), GATE)["maxPods"].endswith(
        "no instance types"
    )
    assert expression_results(facts, a_nodeclass(kubelet=kubelet), parse_settings({}, "v1.14.1")) == {}


@pytest.mark.parametrize("expression", ["1 - vcpus", "memory_mib * 1000000", "vcpus / 0", "vcpus * 1.5", "max(1,"])
def test_max_pods_without_a_result_leaves_no_types(expression: str) -> None:
    with pytest.raises(NodeClassError, match=r"spec\.kubelet\.maxPods: .* finds no instance types"):
        resolve("m5.large", a_nodeclass(kubelet={"maxPods": expression}), GATE)


def test_failures_include_their_position() -> None:
    kubelet = {
        "maxPods": "max_pods / 2",
        "kubeReserved": {"cpu": "100 - max_pods * 30", "memory": "1Gi"},
        "systemReserved": {"memory": "memory_mib / (vcpus - 2)"},
    }
    nodeclass = a_nodeclass(kubelet=kubelet)
    assert set(expressions(nodeclass.kubelet)) == {"maxPods", "kubeReserved[cpu]", "systemReserved[memory]"}
    texts = failures(instance_type_facts()["m5.large"], nodeclass, GATE)
    assert texts["kubeReserved[cpu]"] == "100 - max_pods * 30 is -320: an amount cannot be negative"
    assert "has no result on m5.large" in texts["systemReserved[memory]"]
    assert set(texts) == {"kubeReserved[cpu]", "systemReserved[memory]"}
    assert failures(instance_type_facts()["m5.large"], a_nodeclass(kubelet={"maxPods": "-1"}), GATE) == {
        "maxPods": "is -1, must be from 0 to 2147483647"
    }


def _refused(text: str, field: str, kind: str, reader: str = "KubeletConfiguration") -> str:
    return f"json: cannot unmarshal {text} into Go struct field {reader}.{field} of type {kind}"


def _unread(text: str, field: str, kind: str) -> str:
    return _refused(text, field, kind, "ParsedKubeletConfig")


@pytest.mark.parametrize(("kubelet", "refusal", "unread"), [
    ({"cpuCFSQuota": 1}, _refused("number", "cpuCFSQuota", "bool"), _unread("number", "cpuCFSQuota", "bool")),
    ({"podsPerCore": "4", "shutdownGracePeriod": -1}, _refused("number", "shutdownGracePeriod", "string"),
     _unread("string", "podsPerCore", "int32")),
    ({"evictionMaxPodGracePeriod": "x", "maxPods": [1]}, _refused("string", "evictionMaxPodGracePeriod", "int32"),
     _unread("array", "maxPods", "int32")),
    ({"evictionSoftGracePeriod": 7}, _refused("number", "evictionSoftGracePeriod", "map[string]string"),
     _unread("number", "evictionSoftGracePeriod", "map[string]v1.Duration")),
    ({"shutdownGracePeriod": None}, 'time: invalid duration ""', ""),
    ({"MaxPods": [1], "maxPods": 5}, 'unknown field "MaxPods"', _unread("array", "maxPods", "int32")),
])  # fmt: skip
def test_error_of_a_types_decoder_takes_precedence(kubelet: dict[str, Any], refusal: str, unread: str) -> None:
    """Hold what ValidateKubeletConfig and ParseKubeletConfig of pkg/apis/v1, v1.15.1, answer."""
    assert rule_breaks(kubelet) == (f"spec.kubelet: {refusal}",)
    assert parse_problem(kubelet) == unread
