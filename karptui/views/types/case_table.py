"""The table of `karptui types CASE`: types as an EC2NodeClass and settings come to them, without a NodePool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from karptui.views.column import Column, Heading, SortKey
from karptui.views.fields import Field, FieldKind
from karptui.views.row import Cell
from karptui.views.sanitize import clean
from karptui.views.table import Sort, TableSpec, natural_key

_MIB: Final = 1 << 20


class CaseType(msgspec.Struct, frozen=True):
    """An instance type of a case; the fields are the columns of CSV."""

    name: str
    vcpus: int
    memory_mib: int
    """As EC2 advertises it."""
    allocatable_cpu_millis: int
    allocatable_memory_mib: int
    pods: int
    on_demand_price_per_hour: float | None
    offered_in: tuple[str, ...]
    """Zones where it is to be had."""
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


FIELDS: Final[Mapping[str, Field[CaseType]]] = {
    "name": Field(FieldKind.TEXT, lambda one, _: one.name, help="instance type"),
    "family": Field(FieldKind.TEXT, lambda one, _: one.name.partition(".")[0], help="part before the dot"),
    "zone": Field(FieldKind.TEXT, lambda one, _: one.offered_in, help="zone where it is to be had"),
    "out": Field(FieldKind.TEXT, lambda one, _: one.ruled_out or "no", help="whether the NodeClass rules it out"),
    "cpu": Field(FieldKind.CPU, lambda one, _: one.vcpus * 1000, help="processors"),
    "mem": Field(
        FieldKind.BYTES, lambda one, _: one.allocatable_memory_mib * _MIB, help="memory that pods may request"
    ),
    "pods": Field(FieldKind.COUNT, lambda one, _: one.pods, help="pods that a node takes"),
    "$": Field(FieldKind.MONEY, lambda one, _: one.on_demand_price_per_hour, help="on-demand price per hour"),
}


def _column(
    column_id: str, title: str, text: Callable[[CaseType], str], sort: Callable[[CaseType], SortKey]
) -> Column[CaseType]:
    is_text = column_id in ("name", "offered", "out")
    return Column(Heading(column_id, title, is_right_aligned=not is_text), lambda one, _: Cell(text(one)), sort)


def _price(one: CaseType) -> str:
    return "n/a" if one.on_demand_price_per_hour is None else f"{one.on_demand_price_per_hour:.4f}"


CASE_TABLE: Final[TableSpec[CaseType]] = TableSpec(
    noun="types",
    columns=(
        _column("name", "NAME", lambda one: one.name, lambda one: natural_key(one.name)),
        _column("vcpu", "VCPU", lambda one: str(one.vcpus), lambda one: float(one.vcpus)),
        _column("adv", "MEM Mi", lambda one: str(one.memory_mib), lambda one: float(one.memory_mib)),
        _column(
            "cpu",
            "ALLOC CPU m",
            lambda one: str(one.allocatable_cpu_millis),
            lambda one: float(one.allocatable_cpu_millis),
        ),
        _column(
            "mem",
            "ALLOC MEM Mi",
            lambda one: str(one.allocatable_memory_mib),
            lambda one: float(one.allocatable_memory_mib),
        ),
        _column("pods", "PODS", lambda one: str(one.pods), lambda one: float(one.pods)),
        _column("od", "$/H", _price, lambda one: one.on_demand_price_per_hour),
        _column(
            "offered",
            "OFFERED IN",
            lambda one: clean(" ".join(one.offered_in)) or "-",
            lambda one: float(len(one.offered_in)),
        ),
        _column("out", "RULED OUT", lambda one: one.ruled_out, lambda one: one.ruled_out or None),
    ),
    text=lambda one: one.name.lower(),
    more_filters=FIELDS,
    key=lambda one: one.name,
    default_sort=Sort("name"),
)
"""One row per type."""
