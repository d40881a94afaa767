"""Builders of EC2NodeClasses, settings and resolved types, with ordinary defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from karptui.aws.catalogue import instance_type_facts
from karptui.aws.instance_types import instance_types
from karptui.aws.nodeclass import Ec2NodeClass, SubnetZone, parse_spec_and_status
from karptui.aws.prices import Market, built_in_market
from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.settings import Settings, parse_settings

ZONES = (SubnetZone("us-east-1a", "use1-az4"), SubnetZone("us-east-1b", "use1-az6"))
SUBNETS = [{"id": f"subnet-{zone.name}", "zone": zone.name, "zoneID": zone.zone_id} for zone in ZONES]


def a_nodeclass(*, alias: str = "al2023@latest", status: Mapping[str, Any] | None = None, **spec: Any) -> Ec2NodeClass:
    """Return an EC2NodeClass with subnets in two zones; fields of the spec have their API names."""
    terms = {} if "amiFamily" in spec else {"amiSelectorTerms": [{"alias": alias}]}
    return parse_spec_and_status("default", {**terms, **spec}, {"subnets": SUBNETS, **(status or {})})


def some_settings(**environment: str) -> Settings:
    return parse_settings(environment)


def a_market() -> Market:
    return built_in_market("us-east-1", ZONES)


def resolve(
    name: str, nodeclass: Ec2NodeClass | None = None, settings: Settings | None = None, **options: Any
) -> InstanceType:
    (instance_type,) = instance_types(nodeclass or a_nodeclass(), settings or some_settings(),
                                      options.pop("market", None) or a_market(), facts=[instance_type_facts()[name]],
                                      **options)  # fmt: skip
    return instance_type
