"""Table of `karptui types CASE`: types of an EC2NodeClass and settings, without a NodePool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from karptui.aws.money import node_price_text
from karptui.kube.units import NA
from karptui.views.column import INTEGER, NUMBER_OR_NULL, TEXT, TEXTS, Column, Field, FieldKind, Heading, SortKey, Value
from karptui.views.row import Cell
from karptui.views.sanitize import clean
from karptui.views.table import Sort, TableSpec, natural_key

_MIB: Final = 1 << 20


class CaseType(msgspec.Struct, frozen=True):
    """An instance type of a case."""

    name: str
    vcpus: int
    memory_mib: int
    """As EC2 advertises it."""
    allocatable_cpu_millis: int
    allocatable_memory_mib: int
    pods: int
    on_demand_price_per_hour: float | None
    offered_in: tuple[str, ...]
    """Zones with an available offering."""
    ruled_out: str
    """``yes`` where the NodeClass rules it out, empty otherwise."""


def case_types(document: Mapping[str, Any]) -> tuple[CaseType, ...]:
    """Return the types of an answer document of `karptui.aws.case.answer`."""
    ruled_out = frozenset(document["incompatible"])
    return tuple(_case_type(name, one, is_out=name in ruled_out) for name, one in document["types"].items())


def _case_type(name: str, one: Mapping[str, Any], *, is_out: bool) -> CaseType:
    labels = {entry["key"]: entry["values"] for entry in one["requirements"]}
    prices = [offer["price"] for offer in one["offerings"] if offer["capacityType"] == "on-demand" and offer["price"]]
    return CaseType(
        name=name,
        vcpus=one["capacity"]["cpuMilli"] // 1000,
        memory_mib=int(labels["karpenter.k8s.aws/instance-memory"][0]),
        allocatable_cpu_millis=one["allocatable"]["cpuMilli"],
        allocatable_memory_mib=one["allocatable"]["memoryBytes"] // _MIB,
        pods=one["capacity"]["pods"],
        on_demand_price_per_hour=prices[0] if prices else None,
        offered_in=tuple(sorted({offer["zone"] for offer in one["offerings"] if offer["available"]})),
        ruled_out="yes" if is_out else "",
    )


def _column(
    heading: Heading,
    text: Callable[[CaseType], str],
    sort: Callable[[CaseType], SortKey],
    value: Value[CaseType],
    filters: Mapping[str, Field[CaseType]],
) -> Column[CaseType]:
    return Column(heading, lambda one, _: Cell(text(one)), sort, values=(value,), filters=filters)


def _number(column_id: str, title: str, help_: str) -> Heading:
    return Heading(column_id, title, help_, is_right_aligned=True)


def _price(one: CaseType) -> str:
    price = one.on_demand_price_per_hour
    return NA if price is None else node_price_text(price).lstrip("$")


CASE_TABLE: Final[TableSpec[CaseType]] = TableSpec(
    noun="types",
    columns=(
        _column(
            Heading("name", "NAME", "The instance type."),
            lambda one: one.name,
            lambda one: natural_key(one.name),
            Value("name", lambda one, _: one.name, TEXT),
            {
                "name": Field(FieldKind.TEXT, lambda one, _: one.name, help="instance type"),
                "family": Field(FieldKind.TEXT, lambda one, _: one.name.partition(".")[0], help="part before the dot"),
            },
        ),
        _column(
            _number("vcpu", "VCPU", "Processors."),
            lambda one: str(one.vcpus),
            lambda one: float(one.vcpus),
            Value("vcpus", lambda one, _: one.vcpus, INTEGER),
            {"cpu": Field(FieldKind.CPU, lambda one, _: one.vcpus * 1000, help="processors")},
        ),
        _column(
            _number("adv", "MEM Mi", "Memory that EC2 advertises."),
            lambda one: str(one.memory_mib),
            lambda one: float(one.memory_mib),
            Value("memory_mib", lambda one, _: one.memory_mib, INTEGER),
            {},
        ),
        _column(
            _number("cpu", "ALLOC CPU m", "Cpu that pods may request."),
            lambda one: str(one.allocatable_cpu_millis),
            lambda one: float(one.allocatable_cpu_millis),
            Value("allocatable_cpu_millis", lambda one, _: one.allocatable_cpu_millis, INTEGER),
            {},
        ),
        _column(
            _number("mem", "ALLOC MEM Mi", "Memory that pods may request."),
            lambda one: str(one.allocatable_memory_mib),
            lambda one: float(one.allocatable_memory_mib),
            Value("allocatable_memory_mib", lambda one, _: one.allocatable_memory_mib, INTEGER),
            {
                "mem": Field(
                    FieldKind.BYTES,
                    lambda one, _: one.allocatable_memory_mib * _MIB,
                    help="memory that pods may request",
                )
            },
        ),
        _column(
            _number("pods", "PODS", "Pods that a node takes."),
            lambda one: str(one.pods),
            lambda one: float(one.pods),
            Value("pods", lambda one, _: one.pods, INTEGER),
            {"pods": Field(FieldKind.COUNT, lambda one, _: one.pods, help="pods that a node takes")},
        ),
        _column(
            _number("od", "$/H", "The on-demand price per hour."),
            _price,
            lambda one: one.on_demand_price_per_hour,
            Value("on_demand_price_per_hour", lambda one, _: one.on_demand_price_per_hour, NUMBER_OR_NULL),
            {"$": Field(FieldKind.MONEY, lambda one, _: one.on_demand_price_per_hour, help="on-demand price per hour")},
        ),
        _column(
            Heading("offered", "OFFERED IN", "Zones where it is to be had."),
            lambda one: clean(" ".join(one.offered_in)) or "-",
            lambda one: float(len(one.offered_in)),
            Value("offered_in", lambda one, _: one.offered_in, TEXTS),
            {"zone": Field(FieldKind.TEXT, lambda one, _: one.offered_in, help="zone where it is to be had")},
        ),
        _column(
            Heading("out", "RULED OUT", "yes where the NodeClass rules it out."),
            lambda one: one.ruled_out,
            lambda one: one.ruled_out or None,
            Value("ruled_out", lambda one, _: one.ruled_out, TEXT),
            {
                "out": Field(
                    FieldKind.TEXT, lambda one, _: one.ruled_out or "no", help="whether the NodeClass rules it out"
                )
            },
        ),
    ),
    text=lambda one: one.name.lower(),
    key=lambda one: one.name,
    default_sort=Sort("name"),
)
"""One row per type."""
