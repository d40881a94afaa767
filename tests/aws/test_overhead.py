from __future__ import annotations

from typing import Any

import pytest

from karptui.aws.nodeclass import NodeClassError
from karptui.aws.overhead import eviction_threshold, kube_reserved, kube_reserved_cpu_millis, system_reserved
from karptui.kube.quantity import parse_quantity
from tests.aws.builders import a_nodeclass

MEMORY, STORAGE = parse_quantity("8Gi"), parse_quantity("20Gi")


@pytest.mark.parametrize(("vcpus", "millis"), [(1, 60), (2, 70), (4, 80), (8, 90), (32, 150), (96, 310), (192, 550)])
def test_cpu_by_tiers(vcpus: int, millis: int) -> None:
    assert kube_reserved_cpu_millis(vcpus) == millis


@pytest.mark.parametrize(("kubelet", "sentence"), [
    ({"evictionHard": {"memory.available": ""}}, "spec.kubelet.evictionHard[memory.available]: '' is not a quantity"),
    ({"evictionHard": {"memory.available": "5 %"}}, "'5 %' is not a percentage"),
    ({"evictionHard": {"nodefs.available": "inf%"}}, "'inf%' is not a percentage"),
    ({"evictionHard": {"nodefs.available": "1e999%"}}, "'1e999%' is not a percentage"),
    ({"systemReserved": {"memory": "1 GiB"}}, "spec.kubelet.systemReserved[memory]: '1 GiB' is not a quantity"),
    ({"kubeReserved": {"cpu": "half"}}, "spec.kubelet.kubeReserved[cpu]: 'half' is not a quantity"),
])  # fmt: skip
def test_values_that_crash_karpenter_are_reported(kubelet: dict[str, Any], sentence: str) -> None:
    nodeclass = a_nodeclass(kubelet=kubelet)
    with pytest.raises(NodeClassError) as caught:
        (kube_reserved(2, 29, nodeclass), system_reserved(nodeclass), eviction_threshold(MEMORY, STORAGE, nodeclass))
    assert sentence in str(caught.value)
