from __future__ import annotations

from typing import Any

import pytest

from karptui.aws.nodeclass import (
    AL2,
    AL2023,
    BOTTLEROCKET,
    CUSTOM,
    WINDOWS_2022,
    NodeClassError,
    parse_nodeclass,
    parse_spec_and_status,
)
from karptui.karpenter.nodeclass import NodeClass, NodeClassRef, is_ec2


@pytest.mark.parametrize(("spec", "family"), [
    ({"amiSelectorTerms": [{"alias": "al2023@latest"}]}, AL2023),
    ({"amiSelectorTerms": [{"alias": "bottlerocket@v1.20.0"}]}, BOTTLEROCKET),
    ({"amiSelectorTerms": [{"alias": "windows2022@latest"}]}, WINDOWS_2022),
    ({"amiFamily": "Custom", "amiSelectorTerms": [{"alias": "al2023@latest"}]}, CUSTOM),
    ({"amiFamily": "Ubuntu"}, AL2),
    ({"amiSelectorTerms": [{"id": "ami-1"}]}, CUSTOM),
    ({}, CUSTOM),
])  # fmt: skip
def test_ami_family(spec: dict[str, Any], family: object) -> None:
    assert parse_spec_and_status("default", spec, {}).family == family


@pytest.mark.parametrize(("spec", "status", "sentence"), [
    ({"kubelet": {"podsPerCore": "many"}}, {}, "spec.kubelet.podsPerCore: must be a whole number, is text"),
    ({"kubelet": {"kubeReserved": {"cpu": 1}}}, {},
     "spec.kubelet.kubeReserved.cpu: must be text, is a number: write it in quotes"),
    ({"blockDeviceMappings": {}}, {}, "spec.blockDeviceMappings: must be a list, is an object"),
    ({}, {"subnets": [{"zone": 1}]}, "status.subnets[0].zone: must be text, is a number: write it in quotes"),
    ({"amiSelectorTerms": [{"alias": "al2023"}]}, {}, "alias 'al2023' is not one of al2, al2023, bottlerocket"),
    ({"amiSelectorTerms": [{"alias": "debian@latest"}]}, {}, "alias 'debian@latest' is not one of"),
])  # fmt: skip
def test_invalid_values_are_reported(spec: dict[str, Any], status: dict[str, Any], sentence: str) -> None:
    with pytest.raises(NodeClassError) as caught:
        parse_spec_and_status("gpu", spec, status)
    assert str(caught.value).startswith("EC2NodeClass gpu: ")
    assert sentence in str(caught.value)


def test_nodeclasses_of_aws() -> None:
    ours = NodeClass(name="default", group="karpenter.k8s.aws", kind="EC2NodeClass", spec={"amiFamily": "AL2"})
    assert is_ec2(ours)
    assert not is_ec2(NodeClass(name="default", group="karpenter.kwok.sh", kind="KWOKNodeClass"))
    assert parse_nodeclass(ours).family == AL2
    assert is_ec2(NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default"))
    assert is_ec2(NodeClassRef("", "EC2NodeClass", "default"))
    assert not is_ec2(NodeClassRef("karpenter.kwok.sh", "KWOKNodeClass", "default"))
