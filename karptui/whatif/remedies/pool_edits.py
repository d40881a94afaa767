"""Edits of NodePools, as remedies make them."""

from __future__ import annotations

from typing import Any, Final

from karptui.karpenter.nodepool import NodePool
from karptui.whatif.edits import ObjectRef, SetField
from karptui.whatif.remedies.remedy import RemedyKind
from karptui.whatif.remedies.trial import Trial, once

REQUIREMENTS: Final = ("spec", "template", "spec", "requirements")
_IN: Final = "In"


def subject_of(pool: NodePool) -> str:
    """Return a NodePool as the subject of a change."""
    return f"NodePool {pool.name}"


def set_pool(pool: NodePool, path: tuple[str | int, ...], value: Any) -> SetField:
    """Return the edit of one field of a NodePool; None takes the field away."""
    return SetField(ObjectRef("NodePool", pool.name), path, value)


def allow_value(pool: NodePool, index: int, value: str, kind: RemedyKind, words: str = "") -> Trial | None:
    """Return the change that makes a requirement allow a value, None where it does or no value could.

    Args:
        pool: The NodePool.
        index: Position of the requirement.
        value: The value.
        kind: What sort of change it is.
        words: What it means; made of key and value where empty.
    """
    requirement, path = pool.requirements[index], (*REQUIREMENTS, index)
    said = words or f"allow {requirement.key} {value}"
    values = list(requirement.values)
    if requirement.operator == _IN and value not in values:
        return once(kind, subject_of(pool), said, (set_pool(pool, (*path, "values"), [*values, value]),))
    if requirement.operator == "NotIn" and value in values:
        left = [one for one in values if one != value]
        edit = set_pool(pool, (*path, "values"), left) if left else set_pool(pool, path, None)
        return once(kind, subject_of(pool), said, (edit,))
    if requirement.operator in ("Gt", "Lt", "Gte", "Lte") and value.isdecimal():
        bound = int(value) + {"Gt": -1, "Lt": 1}.get(requirement.operator, 0)
        if bound >= 0 and [str(bound)] != values:
            return once(kind, subject_of(pool), said, (set_pool(pool, (*path, "values"), [str(bound)]),))
    return None
