"""Commands that repeat: nodes replace each other, and the cluster never comes to rest.

Consolidation plans places for pods to which kube-scheduler then does not bind them: a node is launched for the
remaining pods, and soon is worth replacing, with the first, by a node like the one before.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from karptui.forward.result import Circle, Moment, Played, Step, StepKind

_LONGEST: Final = 12
"""Highest number of commands in a cycle."""
_ROUNDS: Final = 3
"""How often commands come, one after the other and to the end, before they are a circle."""


def circle_of(played: Played) -> Circle | None:
    """Return the cycle in which a forecast ends, None if it comes to rest or something else happens.

    Only nodes launched in the forecast take part, and the number and price of nodes are the same after each round.
    """
    if played.is_quiescent:
        return None
    made = {name for step in played.steps if step.kind is StepKind.READY for name in step.nodes}
    commands = [step for step in played.steps if step.kind is StepKind.DISRUPT]
    for length in range(1, _LONGEST + 1):
        last = commands[-length * _ROUNDS :]
        if len(last) < length * _ROUNDS:
            return None
        if all(made.issuperset(step.nodes) for step in last) and _is_round(last, length, played.series):
            begin = len(commands) - len(last)
            while begin and _is_like(commands[begin - 1], commands[begin - 1 + length], made):
                begin -= 1
            period_ns = last[-1].at_ns - last[-1 - length].at_ns
            return Circle(from_ns=commands[begin].at_ns, period_ns=period_ns, commands=tuple(last[-length:]))
    return None


def _is_round(last: Sequence[Step], length: int, series: Sequence[Moment]) -> bool:
    """Return whether commands are the same in every round, and the cluster at the same command of each."""
    pairs = list(zip(last, last[length:], strict=False))
    return all(_key(one) == _key(other) and _state(one, series) == _state(other, series) for one, other in pairs)


def _is_like(one: Step, other: Step, made: set[str]) -> bool:
    return _key(one) == _key(other) and made.issuperset(one.nodes)


def _key(step: Step) -> tuple[str, str, tuple[str, ...], int]:
    return step.method, step.decision, step.looks, step.evictions


def _state(step: Step, series: Sequence[Moment]) -> tuple[int, float]:
    """Return nodes and $/h right before a command, as its replacements count at once."""
    moment = series[max(bisect_right(series, step.at_ns - 1, key=lambda one: one.at_ns) - 1, 0)]
    return moment.nodes, moment.price_per_hour
