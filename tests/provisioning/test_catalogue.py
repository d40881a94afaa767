from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from karptui.karpenter.instance_type import InstanceType, Offering, Overhead
from karptui.karpenter.labels import CAPACITY_TYPE, ZONE
from karptui.karpenter.requirements import Requirement, Requirements
from karptui.karpenter.rules import NEWEST, RULES_1_14_1
from karptui.provisioning import type_index
from karptui.provisioning.catalogue import Catalogue, allocatable_nano, bits, catalogue_of
from tests.builders import a_requirement, amounts, an_instance_type

CORE = 10**9


def names(catalogue: Catalogue, mask: int) -> list[str]:
    return [catalogue.types[i].name for i in bits(mask)]


def label(key: str, operator: str, *values: str) -> Requirement:
    return Requirement.of(key, operator, values)


GPU = "example.com/gpu"
TYPES = [
    an_instance_type(name="small", cpu="2", requirements=[a_requirement(GPU, "DoesNotExist")]),
    an_instance_type(name="large", cpu="8", memory="32Gi", requirements=[a_requirement(GPU, "In", "1", "2")]),
    an_instance_type(name="any", cpu="4", requirements=[a_requirement(GPU, "Exists")]),
    an_instance_type(name="not2", cpu="4", requirements=[a_requirement(GPU, "NotIn", "2")]),
    an_instance_type(name="open", cpu="4"),
]


class TestLabels:
    @pytest.mark.parametrize(("wanted", "meeting"), [
        (label(GPU, "In", "1"), ["large", "any", "not2", "open"]),
        (label(GPU, "In", "2"), ["large", "any", "open"]),
        (label(GPU, "In", "9"), ["any", "not2", "open"]),
        (label(GPU, "NotIn", "1"), ["small", "large", "any", "not2", "open"]),
        (label(GPU, "Exists"), ["large", "any", "not2", "open"]),
        (label(GPU, "DoesNotExist"), ["small", "not2", "open"]),
        (label(GPU, "Gt", "1"), ["large", "any", "not2", "open"]),
        (label(GPU, "Gt", "2"), ["any", "not2", "open"]),
        (label("unknown", "In", "x"), ["small", "large", "any", "not2", "open"]),
    ])  # fmt: skip
    def test_types_compatible_with_a_requirement(self, wanted: Requirement, meeting: list[str]) -> None:
        catalogue = Catalogue(TYPES)
        assert names(catalogue, catalogue.meeting(wanted)) == meeting
        assert names(catalogue, catalogue.compatible([wanted])) == meeting

    def test_requirements_on_one_key_are_intersected(self) -> None:
        twice = an_instance_type(
            name="t", requirements=[a_requirement(GPU, "In", "1", "2"), a_requirement(GPU, "NotIn", "1")]
        )
        assert Catalogue([twice]).meeting(label(GPU, "In", "1")) == 0

    def test_value_masks_include_excluded_values(self) -> None:
        masks = dict(Catalogue(TYPES).keys[GPU].value_masks())
        assert masks == {"1": 0b00010, "2": 0b01010}


class TestRoom:
    def test_types_that_fit_requests(self) -> None:
        catalogue = Catalogue(TYPES)
        assert names(catalogue, catalogue.fitting_rows([("cpu", 4 * CORE), ("memory", 0), ("none", 0)])) == [
            "large", "any", "not2", "open",
        ]  # fmt: skip
        assert catalogue.fitting_rows([("none", 1)]) == 0
        assert catalogue.allocatable_of(0)["cpu"] == 2 * CORE
        broken = an_instance_type(name="broken", cpu="1", reserved={"cpu": "2"})
        assert Catalogue([broken]).fitting_rows([]) == 0
        held = Overhead(amounts({"cpu": "100m", "fpga": "1"}), amounts({"cpu": "100m"}), amounts({"memory": "1Gi"}))
        numbers = allocatable_nano(
            InstanceType(name="t", requirements=(), capacity=amounts({"cpu": "1", "memory": "2Gi"}), overhead=held)
        )
        assert numbers == {"cpu": 8 * 10**8, "memory": 2**30 * CORE}


def override(cpu: str, **fields: Any) -> Offering:
    requirements = (a_requirement(CAPACITY_TYPE, "In", "on-demand"), a_requirement(ZONE, "In", "za"))
    return Offering(requirements=requirements, price_per_hour=1.0, capacity_override=amounts({"cpu": cpu}), **fields)


class TestOfferings:
    def test_offerings_may_override_the_allocatable(self) -> None:
        plain = an_instance_type(name="plain", cpu="2", zones=["zb"])
        bigger = InstanceType(
            name="bigger",
            requirements=(),
            capacity=amounts({"cpu": "2", "pods": "9"}),
            offerings=(override("2"), override("2"), override("3", overhead_override=Overhead(amounts({"cpu": "1"})))),
        )
        catalogue = Catalogue([plain, bigger])
        everywhere = Requirements()
        rows = catalogue.offering_rows(everywhere)
        assert self.roomy(catalogue, 2) == ["plain", "bigger"]
        assert self.roomy(catalogue, 3) == []
        assert self.roomy(Catalogue([plain, bigger], rules=RULES_1_14_1), 4) == ["bigger"]
        assert names(catalogue, catalogue.types_of_rows(rows)) == ["plain", "bigger"]
        assert len(catalogue.row_types) == 2

    @staticmethod
    def roomy(catalogue: Catalogue, cores: int) -> list[str]:
        rows = catalogue.offering_rows(Requirements()) & catalogue.fitting_rows([("cpu", cores * CORE)])
        return names(catalogue, catalogue.types_of_rows(rows))

    @pytest.mark.parametrize(("operator", "values", "is_reserved", "needs_room"), [
        ("In", ("reserved",), True, True),
        ("In", ("spot",), False, False),
        ("NotIn", ("spot",), False, True),
        ("NotIn", ("reserved",), False, False),
        ("Exists", (), False, True),
        ("DoesNotExist", (), False, False),
    ])  # fmt: skip
    def test_offerings_that_may_be_reserved_need_capacity(
        self, operator: str, values: tuple[str, ...], is_reserved: bool, needs_room: bool
    ) -> None:
        """Follows ``CapacityType`` and ``Launchable`` of pkg/cloudprovider/types.go."""
        offering = Offering(requirements=(a_requirement(CAPACITY_TYPE, operator, *values),), price_per_hour=1.0)
        index = Catalogue([InstanceType(name="t", requirements=(), capacity={}, offerings=(offering,))]).index
        assert (offering.is_reserved, offering.is_launchable(NEWEST)) == (is_reserved, not needs_room)
        assert (bool(index.reserved_kinds), bool(index.offering_kinds[0].roomy)) == (is_reserved, not needs_room)
        assert offering.is_launchable(RULES_1_14_1)

    def test_lists_that_differ_only_in_capacity_share_an_index(self) -> None:
        types = tuple(TYPES)
        catalogue = catalogue_of(types)
        smaller = tuple(replace(instance_type, capacity=amounts({"cpu": "1", "pods": "3"})) for instance_type in types)
        assert catalogue_of(smaller).index is catalogue.index
        assert catalogue_of(smaller).fitting_rows([("cpu", 2 * CORE)]) == 0
        assert catalogue_of(smaller[1:]).index is not catalogue.index
        relabelled = (*types[:-1], replace(types[-1], requirements=(a_requirement(GPU, "Exists"),)))
        assert catalogue_of(relabelled).index is not catalogue.index

    def test_the_cache_of_answers_is_limited(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(type_index, "_MOST_KEPT", 2)
        catalogue = Catalogue(TYPES)
        for _ in range(2):
            for value in ("1", "2", "9"):
                assert catalogue.compatible([label(GPU, "In", value)]) == Catalogue(TYPES).compatible(
                    [label(GPU, "In", value)]
                )
