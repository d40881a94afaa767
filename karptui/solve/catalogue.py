"""The goals and their parameters."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from karptui.errors import RequestError


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """A parameter of a goal."""

    name: str
    """As the command's flag has it."""
    metavar: str
    question: str
    help: str
    default: str = ""
    is_required: bool = False
    numbers: tuple[int, int] | None = None
    """The least and the greatest, of a number."""
    choices: Mapping[str, str] = MappingProxyType({})
    """Possible values with their meaning; without any, all values are possible."""

    def fault(self, value: str) -> str:
        """Return the reason a value is invalid; empty if it is valid."""
        if self.numbers is not None:
            least, most = self.numbers
            if not value.isdecimal() or not value.isascii() or not least <= int(value[:12]) <= most:
                return f"{self.name}: {value!r:.60} is not a number from {least:,} to {most:,}"
        if self.choices and value not in self.choices:
            return f"{self.name}: {value!r:.60} is neither {' nor '.join(self.choices)}"
        return ""


MOST_TRIES: Final = 5_000


class Goal(msgspec.Struct, frozen=True, kw_only=True):
    """A goal; the module of the same name in ``karptui/solve/goals`` implements it."""

    name: str
    title: str
    parameters: tuple[Parameter, ...]
    is_cheapest: bool = False
    """Whether the answer is the cheapest of what reaches it."""


_TRIES: Final = Parameter(
    name="tries",
    metavar="N",
    question="How many changes may be tried?",
    help="limit of changes, or sets of changes, that are tried",
    default="200",
    numbers=(1, MOST_TRIES),
)
_NODEPOOL: Final = Parameter(
    name="nodepool", metavar="NAME", question="Which NodePool?", help="the NodePool", is_required=True
)
_GOALS: Final = (
    Goal(
        name="pending",
        title="the cheapest of the changes tried that leave nothing pending",
        is_cheapest=True,
        parameters=(
            Parameter(
                name="change",
                metavar="WHAT",
                question="May pods be changed too?",
                help=(
                    "what may change: karpenter (NodePools, NodeClasses, settings), or any, which also changes "
                    "pods if nothing else makes them schedulable"
                ),
                default="any",
                choices={
                    "any": "yes: pods and DaemonSets, if nothing else places the pods",
                    "karpenter": "no: only NodePools, NodeClasses and settings",
                },
            ),
            _TRIES,
        ),
    ),
    Goal(
        name="overhead",
        title="the highest vmMemoryOverheadPercent tried that still fits all pods that fit today",
        parameters=(
            Parameter(
                name="dearer-by",
                metavar="SHARE",
                question="How much more may it cost?",
                help="how much more all workload pods may cost from scratch, such as 0% or 5% (default: any)",
            ),
            Parameter(
                name="tries",
                metavar="N",
                question="How many values may be tried?",
                help="limit of values that are tried, if a higher one can be good again",
                default="100",
                numbers=(1, MOST_TRIES),
            ),
        ),
    ),
    Goal(
        name="weight",
        title="the weights that move some pods to a NodePool",
        parameters=(
            Parameter(
                name="pods",
                metavar="PODS",
                question="Which pods?",
                help="the pods: namespace/name (* matches anything), or Kind/namespace/name of their owner",
                is_required=True,
            ),
            _NODEPOOL,
            _TRIES,
        ),
    ),
    Goal(
        name="families",
        title="the instance families to add to a NodePool to make it cheapest, among those tried",
        is_cheapest=True,
        parameters=(
            _NODEPOOL,
            Parameter(
                name="most",
                metavar="N",
                question="How many families may be added?",
                help="how many families are added at most",
                default="3",
                numbers=(1, 10),
            ),
            Parameter(
                name="replay",
                metavar="MODE",
                question="Which pods are placed?",
                help="scratch places every workload pod again, pending only the pods that are pending now",
                default="scratch",
                choices={
                    "scratch": "every workload pod, as if Karpenter had no nodes yet",
                    "pending": "only the pods that are pending now",
                },
            ),
            _TRIES,
        ),
    ),
    Goal(
        name="consolidate-after",
        title="the cheapest consolidateAfter tried within a limit of evictions per day",
        is_cheapest=True,
        parameters=(
            Parameter(
                name="evictions",
                metavar="N",
                question="How many evictions a day are allowed?",
                help="how many pods may be evicted in a day, for any reason",
                is_required=True,
                numbers=(0, 1_000_000),
            ),
            Parameter(
                name="nodepool",
                metavar="NAME",
                question="For which NodePool?",
                help="the NodePool whose consolidateAfter changes (default: one value for all)",
            ),
            Parameter(
                name="days",
                metavar="N",
                question="How many days are simulated?",
                help="how many days are simulated; the limit of evictions holds for each day",
                default="1",
                numbers=(1, 14),
            ),
            Parameter(
                name="seeds",
                metavar="N",
                question="With how many seeds is each day simulated?",
                help="how many seeds each day is simulated with; the limit of evictions holds for each seed",
                default="1",
                numbers=(1, 20),
            ),
        ),
    ),
    Goal(
        name="expirations",
        title="the nodes to replace early so that no more than N nodes expire in an hour",
        parameters=(
            Parameter(
                name="most",
                metavar="N",
                question="How many nodes may expire in an hour?",
                help="how many nodes may expire, or be replaced early, in an hour",
                is_required=True,
                numbers=(1, 10_000),
            ),
            Parameter(
                name="nodepool",
                metavar="NAME",
                question="For which NodePool?",
                help="the NodePool whose nodes count (default: all together)",
            ),
        ),
    ),
    Goal(
        name="window",
        title="the budgets of a weekly disruption window",
        parameters=(
            Parameter(
                name="weekdays",
                metavar="DAYS",
                question="On which days does it open?",
                help="days on which the window opens: mon-fri, sat,sun or daily",
                default="daily",
            ),
            Parameter(
                name="hours",
                metavar="HH:MM-HH:MM",
                question="From when to when?",
                help="hours of the window: 22:00-06:00 (the end may be on the next day)",
                is_required=True,
            ),
            Parameter(
                name="zone",
                metavar="ZONE",
                question="In which time zone?",
                help="time zone of days and hours, such as Europe/Berlin",
                default="UTC",
            ),
            Parameter(
                name="share",
                metavar="N|N%",
                question="How many nodes of a NodePool at once?",
                help="nodes that may be disrupted at once in the window",
                default="10%",
            ),
            Parameter(
                name="nodepool",
                metavar="NAME",
                question="For which NodePool?",
                help="the NodePool whose budgets are written (default: all)",
            ),
        ),
    ),
)
GOALS: Final[Mapping[str, Goal]] = MappingProxyType({goal.name: goal for goal in _GOALS})


def with_defaults(goal: Goal, parameters_given: Mapping[str, str]) -> dict[str, str]:
    """Return a value for every parameter of a goal.

    Args:
        parameters_given: Values by name; defaults apply to missing or empty ones.

    Raises:
        RequestError: A value is unknown, invalid or missing.
    """
    parameters = {parameter.name: parameter for parameter in goal.parameters}
    for name in parameters_given:
        if name not in parameters:
            raise RequestError(f"{goal.name}: there is no {name}; it takes {', '.join(parameters)}")
    defaults = {name: parameters_given.get(name) or parameter.default for name, parameter in parameters.items()}
    for name, parameter in parameters.items():
        if parameter.is_required and not defaults[name]:
            raise RequestError(f"{goal.name}: {name} is missing: {parameter.help}")
        if defaults[name] and (fault := parameter.fault(defaults[name])):
            raise RequestError(fault)
    return defaults


def given_of(text: str) -> dict[str, str]:
    """Return the parameters of ``nodepool=general most=2``.

    Raises:
        RequestError: A word is not name=value.
    """
    results: dict[str, str] = {}
    for word in text.split():
        name, separator, value = word.partition("=")
        if not name or not separator:
            raise RequestError(f"{word!r:.60} is not name=value, such as nodepool=general")
        results[name] = value
    return results
