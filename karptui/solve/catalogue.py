"""The goals that can be asked for, and what is given with each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import msgspec


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """What is given with a goal."""

    name: str
    """As the command's flag has it."""
    metavar: str
    title: str
    """Above its field in a dialog."""
    help: str
    default: str = ""
    is_required: bool = False


class Goal(msgspec.Struct, frozen=True, kw_only=True):
    """Something that can be asked for; the module of the same name in ``karptui/solve/goals`` finds it."""

    name: str
    title: str
    """What is looked for, in words."""
    parameters: tuple[Parameter, ...]


_TRIES: Final = Parameter(
    name="tries",
    metavar="N",
    title="Changes tried at most",
    help="how many changes or sets of them are tried at most",
    default="200",
)
_GOALS: Final = (
    Goal(
        name="pending",
        title="the cheapest change that leaves nothing pending",
        parameters=(
            Parameter(
                name="change",
                metavar="WHAT",
                title="May change (any, karpenter)",
                help="what may be changed: karpenter (NodePools, NodeClasses, settings), or any, which changes pods"
                " where nothing else places them",
                default="any",
            ),
            _TRIES,
        ),
    ),
    Goal(
        name="overhead",
        title="the highest vmMemoryOverheadPercent with which all that fits today still fits",
        parameters=(
            Parameter(
                name="dearer-by",
                metavar="SHARE",
                title="Dearer by at most",
                help="how much more all workload pods may cost from scratch, such as 0% or 5% (default: any)",
            ),
            Parameter(
                name="tries",
                metavar="N",
                title="Values tried at most",
                help="how many values are tried at most where a higher one is better again",
                default="100",
            ),
        ),
    ),
    Goal(
        name="weight",
        title="the weights with which some pods come to a NodePool",
        parameters=(
            Parameter(
                name="pods",
                metavar="PODS",
                title="Pods",
                help="the pods: namespace/name, in which * stands for anything, or Kind/namespace/name of their owner",
                is_required=True,
            ),
            Parameter(
                name="nodepool", metavar="NAME", title="NodePool", help="the NodePool that is meant", is_required=True
            ),
            _TRIES,
        ),
    ),
    Goal(
        name="families",
        title="the instance families to add that make a NodePool cheapest",
        parameters=(
            Parameter(
                name="nodepool", metavar="NAME", title="NodePool", help="the NodePool that is meant", is_required=True
            ),
            Parameter(
                name="most",
                metavar="N",
                title="Families at most",
                help="how many families are added at most",
                default="3",
            ),
            Parameter(
                name="replay",
                metavar="MODE",
                title="Replay (scratch, pending)",
                help="scratch places every workload pod anew, pending the pods that wait",
                default="scratch",
            ),
            _TRIES,
        ),
    ),
    Goal(
        name="consolidate-after",
        title="the cheapest consolidateAfter with at most so many evictions a day",
        parameters=(
            Parameter(
                name="evictions",
                metavar="N",
                title="Evictions a day at most",
                help="how many pods may be evicted within a day, by whatever evicts them",
                is_required=True,
            ),
            Parameter(
                name="nodepool",
                metavar="NAME",
                title="NodePool (empty: all)",
                help="the NodePool whose consolidateAfter is looked for (default: one value for all)",
            ),
        ),
    ),
)
GOALS: Final[Mapping[str, Goal]] = MappingProxyType({goal.name: goal for goal in _GOALS})
"""By name."""
