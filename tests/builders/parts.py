"""Parts of objects: amounts, conditions, owners, requirements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from karptui.kube.objects import Condition, OwnerReference
from karptui.kube.quantity import Quantity, parse_quantity
from karptui.kube.selectors import NodeSelectorRequirement
from tests.builders.instants import HOUR_NS, NOW_NS

T = TypeVar("T")


def present(value: T | None) -> T:
    """Return the value, which must not be None."""
    assert value is not None
    return value


def text_of(pieces: Iterable[tuple[str, Any]]) -> str:
    return "".join(text for text, _ in pieces)


def texts_of(lines: Iterable[Iterable[tuple[str, Any]]]) -> list[str]:
    return [*map(text_of, lines)]


def amounts(texts: Mapping[str, str]) -> dict[str, Quantity]:
    return {name: parse_quantity(text) for name, text in texts.items()}


def a_condition(
    type_: str, *, status: str = "True", reason: str = "", message: str = "", since_ns: int = NOW_NS - HOUR_NS
) -> Condition:
    return Condition(type=type_, status=status, reason=reason or type_, message=message, last_transition_ns=since_ns)


def an_owner(
    *, kind: str = "ReplicaSet", name: str = "web", api_version: str = "apps/v1", uid: str = ""
) -> OwnerReference:
    """Return an owner reference to a controller."""
    return OwnerReference(
        api_version=api_version, kind=kind, name=name, uid=uid or f"uid-{kind}-{name}", controller=True
    )


def a_requirement(
    key: str, operator: str = "In", *values: str, min_values: int | None = None
) -> NodeSelectorRequirement:
    return NodeSelectorRequirement(key, operator, values, min_values)
