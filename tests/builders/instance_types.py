"""Instance types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from karptui.karpenter import labels as karpenter
from karptui.karpenter.instance_type import InstanceType, Offering, Overhead
from karptui.kube.selectors import NodeSelectorRequirement
from tests.builders.parts import a_requirement, amounts


def an_instance_type(
    *,
    name: str = "m5.large",
    cpu: str = "2",
    memory: str = "8Gi",
    pods: str = "29",
    zones: Iterable[str] = ("us-east-1a", "us-east-1b"),
    prices: Mapping[str, float] | None = None,
    requirements: Iterable[NodeSelectorRequirement] = (),
    reserved: Mapping[str, str] | None = None,
) -> InstanceType:
    """Return an instance type offered in every zone at the price of each capacity type (default: on-demand $0.096)."""
    sold, where = dict(prices or {"on-demand": 0.096}), tuple(zones)
    return InstanceType(
        name=name,
        requirements=(
            a_requirement(karpenter.INSTANCE_TYPE, "In", name),
            a_requirement(karpenter.ARCH, "In", "amd64"),
            a_requirement(karpenter.OS, "In", "linux"),
            a_requirement(karpenter.ZONE, "In", *where),
            a_requirement(karpenter.CAPACITY_TYPE, "In", *sold),
            *requirements,
        ),
        capacity=amounts({"cpu": cpu, "memory": memory, "pods": pods}),
        overhead=Overhead(kube_reserved=amounts(reserved or {})),
        offerings=tuple(
            Offering(
                requirements=(
                    a_requirement(karpenter.CAPACITY_TYPE, "In", kind),
                    a_requirement(karpenter.ZONE, "In", zone),
                ),
                price_per_hour=price,
            )
            for kind, price in sold.items()
            for zone in where
        ),
    )
