from __future__ import annotations

from typing import Any

import pytest

from karptui.aws.capacity import ephemeral_storage
from karptui.aws.catalogue import instance_type_facts
from karptui.aws.nodeclass import NodeClassError
from tests.aws.builders import a_nodeclass


def volume(device: str | None = "/dev/xvda", size: str | int | None = None, *, root: bool = False) -> dict[str, Any]:
    mapping: dict[str, Any] = {"ebs": {} if size is None else {"volumeSize": size}}
    if device is not None:
        mapping["deviceName"] = device
    if root:
        mapping["rootVolume"] = True
    return mapping


@pytest.mark.parametrize(
    ("mappings", "sentence"),
    [
        ([{"deviceName": "/dev/xvda"}], "spec.blockDeviceMappings[0] has no ebs"),
        ([volume("/dev/sdf", "1Gi"), volume(None, "1Gi")], "spec.blockDeviceMappings[1] has no deviceName"),
        ([volume(size="large")], "spec.blockDeviceMappings[0].ebs.volumeSize: 'large' is not a quantity"),
    ],
)
def test_values_that_crash_karpenter_are_reported(mappings: list[dict[str, Any]], sentence: str) -> None:
    with pytest.raises(NodeClassError) as caught:
        ephemeral_storage(instance_type_facts()["m5.large"], a_nodeclass(blockDeviceMappings=mappings))
    assert sentence in str(caught.value)
