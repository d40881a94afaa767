"""Pod slots and ephemeral storage."""

from __future__ import annotations

from typing import Any

import pytest

from karptui.aws.capacity import ephemeral_storage
from karptui.aws.catalogue import instance_type_facts
from karptui.aws.nodeclass import NodeClassError
from karptui.aws.pod_slots import max_pods
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
        ("i7ie.48xlarge", {}, 0, 394),
        ("i7ie.metal-48xl", {}, 0, 394),
        ("i8ge.48xlarge", {}, 0, 590),
        ("i8ge.metal-48xl", {}, 0, 590),
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


def test_raid0_without_local_disks_keeps_the_volume() -> None:
    nodeclass = a_nodeclass(instanceStorePolicy="RAID0", blockDeviceMappings=[volume(size="8Gi")])
    assert str(ephemeral_storage(instance_type_facts()["m5.large"], nodeclass)) == "8Gi"


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


def test_a_mapping_that_is_never_reached_may_be_incomplete() -> None:
    nodeclass = a_nodeclass(blockDeviceMappings=[volume(size="8Gi"), {}])
    assert str(ephemeral_storage(instance_type_facts()["m5.large"], nodeclass)) == "8Gi"
