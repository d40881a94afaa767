"""Result of a forecast: its steps, the cluster over time, and its state at the end."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import count
from typing import Any, Final, TypeVar

import msgspec
from msgspec.structs import replace

from karptui.disruption.codes import CODES, Code


class StepKind(StrEnum):
    """What happened."""

    PROVISION = "provision"
    """Karpenter made NodeClaims for pods."""
    DISRUPT = "disrupt"
    """A command of disruption was carried out."""
    READY = "ready"
    """A node took its first pods."""
    BIND = "bind"
    """kube-scheduler put pods on nodes."""
    DRAIN = "drain"
    """A node was emptied and is gone."""
    EXPIRE = "expire"
    """A NodeClaim was deleted for its age."""
    JOB_ENDS = "job-ends"
    REJECT = "reject"
    """A command failed."""


class Failure(StrEnum):
    """Why a command failed."""

    NO_LONGER_VALID = "no longer valid"
    """It did not hold on the second look."""
    NOTHING_ON_OFFER = "no offering available"
    """Nothing can be launched in place of its nodes."""
    TIMEOUT = "timeout"
    """Its replacements were not ready in time."""
    REPLACEMENT_GONE = "replacement gone"
    """A replacement was deleted before it was ready."""


class Step(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """One thing that happened."""

    at_ns: int
    kind: StepKind
    method: str = ""
    """Of a command: the method that gave it."""
    decision: str = ""
    """Decision of a command: ``delete``, ``replace``, ``terminate-first`` or ``reboot``; empty if it failed."""
    nodes: tuple[str, ...] = ()
    """Nodes that go, or that it is about."""
    equivalence_keys: tuple[str, ...] = ()
    """Sorted equivalence keys of a command's nodes; Karpenter may pick any node with an equal key."""
    claims: tuple[dict[str, Any], ...] = ()
    """NodeClaims that come, in the form of ``karptui simulate``."""
    savings_per_hour: float | None = None
    """Savings of a command; None if unknown: `Command.priced_savings`."""
    reckoned_savings: float | None = 0.0
    """The same as Karpenter counts it, with templates as 0; None if a price is missing, or prices are off."""
    evictions: int = 0
    pods: tuple[str, ...] = ()
    """``namespace/name`` of the pods that it moves or places."""
    lost: tuple[str, ...] = ()
    """Evicted pods that nothing recreates."""
    because: Failure | None = None
    """Why a command failed."""


class Moment(msgspec.Struct, frozen=True, gc=False):
    """The cluster at one instant."""

    at_ns: int
    nodes: int
    price_per_hour: float
    pending: int
    unpriced: int = 0
    """Karpenter's nodes that ``price_per_hour`` leaves out, because no price is known by their NodeClaim."""

    @property
    def known_price_per_hour(self) -> float | None:
        """Price of the nodes with a known price; None without any."""
        return None if self.unpriced and not self.price_per_hour else self.price_per_hour


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """Lowest and highest results over several seeds."""

    seeds: int
    """How many were played."""
    seed: int
    """Seed of the shown forecast: at each command it does what most forecasts with the same history do."""
    nodes: tuple[int, int]
    price_per_hour: tuple[float, float] | None
    """None if no price is known."""
    evictions: tuple[int, int]
    pending: tuple[int, int]
    commands: tuple[int, int]
    same_commands: int
    """Number of forecasts with the same commands in order, the shown one included."""


class Circle(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Commands that repeat without end: nodes replace each other again and again."""

    from_ns: int
    """When the first round began."""
    period_ns: int
    """From a command to the same one of the next round."""
    commands: tuple[Step, ...]
    """The last round that was played."""

    @property
    def evictions(self) -> int:
        """Pods that each round evicts."""
        return sum(step.evictions for step in self.commands)


class PodWait(msgspec.Struct, frozen=True, gc=False):
    """Time that a pod was without a node."""

    pod: str
    """``namespace/name``."""
    from_ns: int
    """When it was made, which may be before the play began."""
    until_ns: int | None
    """When it got a node; None if it never did."""


class KeptNode(msgspec.Struct, frozen=True, gc=False):
    """A node that is still there at the end although something wants it, and what keeps it."""

    node: str
    code: str
    object: str = ""


class Played(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A cluster played forward."""

    from_ns: int
    until_ns: int
    """When nothing more was to happen, or the horizon."""
    is_quiescent: bool
    """Whether nothing more was to happen before the horizon."""
    steps: tuple[Step, ...]
    series: tuple[Moment, ...]
    kept: tuple[KeptNode, ...]
    assumptions: tuple[str, ...]
    not_modelled: tuple[str, ...]
    problem: str = ""
    """Why it ended early."""
    waits: tuple[PodWait, ...] = ()
    """Times that pods were without a node, in order of scheduling; pods that stay pending come last."""
    lost: tuple[str, ...] = ()
    """``namespace/name`` of the pods that are gone at the end because nothing recreates them."""
    circle: Circle | None = None
    """Cycle at the end, if there is one."""
    spread: Spread | None = None
    """Range over several seeds; this forecast is the likeliest."""
    has_prices: bool = True
    next_date_ns: int | None = None
    """The first date after it on which something may happen: an expiry, a budget's window, the end of a protection.

    None if there is none, or if it was not over at the horizon.
    """
    unmanaged: int = 0
    """Nodes that Karpenter did not make: they count among the nodes, and not in dollars."""
    spot_at_on_demand: int = 0
    """Spot nodes of unknown price at the beginning: they count at the on-demand price."""

    @property
    def end(self) -> Moment:
        """The cluster at the end."""
        return self.series[-1]

    def moment_at(self, at_ns: int) -> Moment:
        """Return the cluster at an instant of the play."""
        latest = self.series[0]
        for moment in self.series:
            if moment.at_ns > at_ns:
                break
            latest = moment
        return latest

    @property
    def evictions(self) -> int:
        """Pods evicted by all commands and expiries."""
        return sum(step.evictions for step in self.steps)

    @property
    def kept_by(self) -> tuple[tuple[str, int], ...]:
        """How many nodes are kept at the end by what, most first, in the words of Nodes."""
        counts = Counter(CODES[Code(node.code)].word for node in self.kept)
        return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def without_dollars(played: Played) -> Played:
    """Return a forecast without prices."""
    return replace(
        played,
        steps=tuple(_without_dollars(step) for step in played.steps),
        series=tuple(replace(moment, price_per_hour=0.0, unpriced=moment.nodes) for moment in played.series),
        has_prices=False,
    )


def _without_dollars(step: Step) -> Step:
    claims = tuple({**claim, "cheapestPrice": -1} for claim in step.claims)
    return replace(step, claims=claims, savings_per_hour=None, reckoned_savings=None)


_LONGEST: Final = 12
"""Highest number of commands in a cycle."""
_ROUNDS: Final = 3
"""How often commands come, one after the other and to the end, before they are a circle."""


def circle_of(played: Played) -> Circle | None:
    """Return the cycle at the end of a forecast, None if there is none.

    Only nodes launched in the forecast take part, and the number and price of nodes are the same after each round.
    """
    if played.is_quiescent:
        return None
    created = {name for step in played.steps if step.kind is StepKind.READY for name in step.nodes}
    commands = [step for step in played.steps if step.kind is StepKind.DISRUPT]
    for length in range(1, _LONGEST + 1):
        last = commands[-length * _ROUNDS :]
        if len(last) < length * _ROUNDS:
            return None
        if all(created.issuperset(step.nodes) for step in last) and _is_round(last, length, played.series):
            begin = len(commands) - len(last)
            while begin and _is_like(commands[begin - 1], commands[begin - 1 + length], created):
                begin -= 1
            period_ns = last[-1].at_ns - last[-1 - length].at_ns
            return Circle(from_ns=commands[begin].at_ns, period_ns=period_ns, commands=tuple(last[-length:]))
    return None


def _is_round(last: Sequence[Step], length: int, series: Sequence[Moment]) -> bool:
    """Return whether commands are the same in every round, and the cluster at the same command of each."""
    pairs = list(zip(last, last[length:], strict=False))
    return all(_key(step) == _key(other) and _state(step, series) == _state(other, series) for step, other in pairs)


def _is_like(step: Step, other: Step, created: set[str]) -> bool:
    return _key(step) == _key(other) and created.issuperset(step.nodes)


def _key(step: Step) -> tuple[str, str, tuple[str, ...], int]:
    return step.method, step.decision, step.equivalence_keys, step.evictions


def _state(step: Step, series: Sequence[Moment]) -> tuple[int, float]:
    """Return nodes and $/h right before a command, as its replacements count at once."""
    moment = series[max(bisect_right(series, step.at_ns - 1, key=lambda moment: moment.at_ns) - 1, 0)]
    return moment.nodes, moment.price_per_hour


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
    ordered = sorted(values)
    return ordered[0], ordered[-1]


def _commands(steps: Iterable[Step]) -> list[_Command]:
    return [(step.method, step.decision, step.equivalence_keys) for step in steps if step.kind is StepKind.DISRUPT]
