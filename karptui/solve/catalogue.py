"""The goals that can be asked for, and what is given with each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import msgspec


class SolveError(ValueError):
    """A question that cannot be asked of a cluster, in a sentence."""


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
    numbers: tuple[int, int] | None = None
    """The least and the greatest, of a number."""
    choices: tuple[str, ...] = ()
    """What it may be; anything where there are none."""

    def fault(self, value: str) -> str:
        """Return what is wrong with a value, in a sentence; empty where nothing is."""
        if self.numbers is not None:
            least, most = self.numbers
            if not value.isdecimal() or not value.isascii() or not least <= int(value[:12]) <= most:
                return f"{self.name}: {value!r:.60} is not a number from {least:,} to {most:,}"
        if self.choices and value not in self.choices:
            return f"{self.name}: {value!r:.60} is neither {' nor '.join(self.choices)}"
        return ""


MOST_TRIES: Final = 5_000


class Goal(msgspec.Struct, frozen=True, kw_only=True):
    """Something that can be asked for; the module of the same name in ``karptui/solve/goals`` finds it."""

    name: str
    title: str
    """What is looked for, in words."""
    parameters: tuple[Parameter, ...]
    is_cheapest: bool = False
    """Whether the answer is the cheapest of what reaches it."""


_TRIES: Final = Parameter(
    name="tries",
    metavar="N",
    title="Changes tried at most",
    help="how many changes or sets of them are tried at most",
    default="200",
    numbers=(1, MOST_TRIES),
)
_NODEPOOL: Final = Parameter(
    name="nodepool", metavar="NAME", title="NodePool", help="the NodePool that is meant", is_required=True
)
_GOALS: Final = (
    Goal(
        name="pending",
        title="the cheapest change that leaves nothing pending",
        is_cheapest=True,
        parameters=(
            Parameter(
                name="change",
                metavar="WHAT",
                title="May change (any, karpenter)",
                help="what may be changed: karpenter (NodePools, NodeClasses, settings), or any, which changes pods"
                " where nothing else places them",
                default="any",
                choices=("any", "karpenter"),
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
                numbers=(1, MOST_TRIES),
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
            _NODEPOOL,
            _TRIES,
        ),
    ),
    Goal(
        name="families",
        title="the instance families to add that make a NodePool cheapest",
        is_cheapest=True,
        parameters=(
            _NODEPOOL,
            Parameter(
                name="most",
                metavar="N",
                title="Families at most",
                help="how many families are added at most",
                default="3",
                numbers=(1, 10),
            ),
            Parameter(
                name="replay",
                metavar="MODE",
                title="Replay (scratch, pending)",
                help="scratch places every workload pod anew, pending the pods that wait",
                default="scratch",
                choices=("scratch", "pending"),
            ),
            _TRIES,
        ),
    ),
    Goal(
        name="consolidate-after",
        title="the cheapest consolidateAfter with at most so many evictions a day",
        is_cheapest=True,
        parameters=(
            Parameter(
                name="evictions",
                metavar="N",
                title="Evictions a day at most",
                help="how many pods may be evicted within a day, by whatever evicts them",
                is_required=True,
                numbers=(0, 1_000_000),
            ),
            Parameter(
                name="nodepool",
                metavar="NAME",
                title="NodePool (empty: all)",
                help="the NodePool whose consolidateAfter is looked for (default: one value for all)",
            ),
            Parameter(
                name="days",
                metavar="N",
                title="Days played",
                help="how many days are played: of no one of them may more be evicted",
                default="1",
                numbers=(1, 14),
            ),
            Parameter(
                name="seeds",
                metavar="N",
                title="Seeds played",
                help="with how many seeds each is played: with none of them may more be evicted",
                default="1",
                numbers=(1, 20),
            ),
        ),
    ),
)
GOALS: Final[Mapping[str, Goal]] = MappingProxyType({goal.name: goal for goal in _GOALS})
"""By name."""


def with_defaults(goal: Goal, given: Mapping[str, str]) -> dict[str, str]:
    """Return a value for every parameter of a goal.

    Args:
        goal: The goal.
        given: Values by name; what is missing or empty is as by default.

    Raises:
        SolveError: where something is given that the goal does not take, or cannot be, or missing.
    """
    known = {one.name: one for one in goal.parameters}
    for name in given:
        if name not in known:
            raise SolveError(f"{goal.name}: there is no {name}; it takes {', '.join(known)}")
    found = {name: given.get(name) or one.default for name, one in known.items()}
    for name, one in known.items():
        if one.is_required and not found[name]:
            raise SolveError(f"{goal.name}: {name} is missing: {one.help}")
        if found[name] and (fault := one.fault(found[name])):
            raise SolveError(fault)
    return found


def given_of(text: str) -> dict[str, str]:
    """Return what is given as ``nodepool=general most=2``.

    Raises:
        SolveError: where a word is not name=value.
    """
    found: dict[str, str] = {}
    for word in text.split():
        name, separator, value = word.partition("=")
        if not name or not separator:
            raise SolveError(f"{word!r:.60} is not name=value, such as nodepool=general")
        found[name] = value
    return found
