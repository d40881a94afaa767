"""Pod slots."""

from __future__ import annotations

from typing import Any

import pytest

from karptui.aws.catalogue import instance_type_facts
from karptui.aws.pods import max_pods
from tests.aws.builders import a_nodeclass

EFA_ONLY = {"networkCardIndex": 0, "deviceIndex": 1, "interfaceType": "efa-only"}


@pytest.mark.parametrize(
    ("name", "spec", "reserved_enis", "expected"),
    [
        ("r5a.8xlarge", {}, 0, 234),
        ("r5a.8xlarge", {}, 1, 205),
        ("m6g.medium", {}, 0, 8),
        ("m6g.medium", {}, 2, 0),
        ("m6g.medium", {}, 5, 0),
        ("p4d.24xlarge", {}, 0, 737),
        ("p4d.24xlarge", {"networkInterfaces": [EFA_ONLY]}, 0, 688),
        ("m6g.medium", {"kubelet": {"maxPods": 110}}, 0, 110),
        ("m6g.medium", {"kubelet": {"maxPods": 0}}, 0, 0),
        ("m5.large", {"kubelet": {"podsPerCore": 4}}, 0, 8),
        ("m5.large", {"kubelet": {"podsPerCore": 0}}, 0, 29),
        ("m5.large", {"kubelet": {"podsPerCore": 100, "maxPods": 30}}, 0, 30),
        ("m5.large", {"kubelet": {"podsPerCore": 4}, "alias": "bottlerocket@latest"}, 0, 29),
        ("m5.large", {"alias": "windows2022@latest"}, 0, 110),
        ("m5.large", {"alias": "windows2022@latest", "kubelet": {"podsPerCore": 4}}, 0, 8),
    ],
)
def test_pod_slots(name: str, spec: dict[str, Any], reserved_enis: int, expected: int) -> None:
    assert max_pods(instance_type_facts()[name], a_nodeclass(**spec), reserved_enis) == expected
