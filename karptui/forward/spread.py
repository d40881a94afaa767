"""What is left to chance in a play, told by playing it with several seeds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from karptui.forward.result import Played, Spread, Step, StepKind

_NumberT = TypeVar("_NumberT", int, float)


def spread_of(plays: Sequence[Played]) -> Spread:
    """Return what plays of one cluster with different seeds have between them."""
    ends = [play.end for play in plays]
    first = _commands(plays[0].steps)
    return Spread(
        seeds=len(plays),
        nodes=_ends(end.nodes for end in ends),
        price_per_hour=_ends(end.price_per_hour for end in ends),
        evictions=_ends(play.evictions for play in plays),
        pending=_ends(end.pending for end in ends),
        commands=_ends(len(_commands(play.steps)) for play in plays),
        same_commands=sum(1 for play in plays if _commands(play.steps) == first),
    )


def _ends(values: Iterable[_NumberT]) -> tuple[_NumberT, _NumberT]:
    found = sorted(values)
    return found[0], found[-1]


def _commands(steps: Iterable[Step]) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(step.method, step.decision, step.nodes) for step in steps if step.kind is StepKind.DISRUPT]
