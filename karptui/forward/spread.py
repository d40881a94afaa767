"""Range of a forecast over several seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import count
from typing import TypeVar

from msgspec.structs import replace

from karptui.forward.result import Played, Spread, Step, StepKind

_NumberT = TypeVar("_NumberT", int, float)
_Command = tuple[str, str, tuple[str, ...]]


def shown_of(plays: Sequence[Played], first_seed: int = 0) -> Played:
    """Return the likeliest of several plays of one cluster, with what chance changes.

    Args:
        plays: Each with another seed.
        first_seed: That of the first of them; the others follow it.
    """
    place = likeliest(plays)
    return replace(plays[place], spread=_spread_of(plays, place, first_seed + place)) if len(plays) > 1 else plays[0]


def likeliest(plays: Sequence[Played]) -> int:
    """Return the forecast that does at each command what most of those with the same history do.

    In a tie the command of the first forecast wins.
    """
    commands = [_commands(play.steps) for play in plays]
    left = list(range(len(plays)))
    for at in count():
        nexts = {place: commands[place][at] if at < len(commands[place]) else None for place in left}
        ((chosen, _),) = Counter(nexts.values()).most_common(1)
        left = [place for place in left if nexts[place] == chosen]
        if chosen is None or len(left) == 1:
            return left[0]
    raise AssertionError("commands end")


def _spread_of(plays: Sequence[Played], place: int, seed: int) -> Spread:
    ends = [play.end for play in plays]
    shown = _commands(plays[place].steps)
    return Spread(
        seeds=len(plays),
        seed=seed,
        nodes=_ends(end.nodes for end in ends),
        price_per_hour=None if ends[place].known_price_per_hour is None else _ends(end.price_per_hour for end in ends),
        evictions=_ends(play.evictions for play in plays),
        pending=_ends(end.pending for end in ends),
        commands=_ends(len(_commands(play.steps)) for play in plays),
        same_commands=sum(1 for play in plays if _commands(play.steps) == shown),
    )


def _ends(values: Iterable[_NumberT]) -> tuple[_NumberT, _NumberT]:
    found = sorted(values)
    return found[0], found[-1]


def _commands(steps: Iterable[Step]) -> list[_Command]:
    return [(step.method, step.decision, step.looks) for step in steps if step.kind is StepKind.DISRUPT]
