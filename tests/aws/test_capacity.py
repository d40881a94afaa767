"""Pod slots and ephemeral storage."""

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


BOTTLEROCKET, WINDOWS, CUSTOM = (
    {"alias": "bottlerocket@latest"},
    {"alias": "windows2022@latest"},
    {"amiFamily": "Custom"},
)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, "20Gi"),
        (BOTTLEROCKET, "20Gi"),
        (WINDOWS, "50Gi"),
        (CUSTOM, "20Gi"),
        ({"blockDeviceMappings": []}, "20Gi"),
        ({"blockDeviceMappings": [volume(size="100Gi")]}, "100Gi"),
        ({"blockDeviceMappings": [volume(size=1000)]}, "1k"),
        ({"blockDeviceMappings": [volume("/dev/sdf", "100Gi")]}, "20Gi"),
        ({"blockDeviceMappings": [volume(), volume(size="100Gi")]}, "20Gi"),
        ({"blockDeviceMappings": [volume(size="1Gi"), volume("/dev/sdf", "9Gi", root=True)]}, "9Gi"),
        ({"blockDeviceMappings": [volume(size="2Gi"), volume("/dev/sdf", root=True)]}, "2Gi"),
        ({"blockDeviceMappings": [volume("/dev/sda1", "8Gi"), volume("/dev/sdf", "250G")], **CUSTOM}, "250G"),
        ({"blockDeviceMappings": [volume(size="8Gi"), volume("/dev/sdf")], **CUSTOM}, "20Gi"),
        ({"blockDeviceMappings": [volume(size="8Gi")], **BOTTLEROCKET}, "20Gi"),
        ({"blockDeviceMappings": [volume("/dev/xvdb", "8Gi")], **BOTTLEROCKET}, "8Gi"),
        ({"blockDeviceMappings": [volume(size="8Gi")], **WINDOWS}, "50Gi"),
        ({"blockDeviceMappings": [volume(size="8Gi")], "instanceStorePolicy": "RAID0"}, "75G"),
    ],
)
def test_the_size_that_counts(spec: dict[str, Any], expected: str) -> None:
    assert str(ephemeral_storage(instance_type_facts()["m5d.large"], a_nodeclass(**spec))) == expected


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
