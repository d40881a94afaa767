"""The highest vmMemoryOverheadPercent that still fits all pods that fit today."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from karptui.aws.money import LEAST_CHANGE
from karptui.errors import RequestError
from karptui.kube.units import counted
from karptui.solve.answer import MOST_NOTED, Effort, Figures, Solved, Tried, costs_more
from karptui.solve.question import LESS_MEMORY, TOO_LOW, GoalQuestion, names_of
from karptui.solve.search import highest_good
from karptui.whatif.edits import SetSetting
from karptui.whatif.remedies.pending.search import FIXED_TYPES, SETTING
from karptui.whatif.scenario import Replay

STEPS: Final = 1000
"""A step is a tenth of a percent point."""
_NOTHING_HANGS: Final = f"all pods that fit today fit with every value of {SETTING} that was tried"
_NO_OTHER: Final = "all pods that fit today still fit, as they do without it"
_LOWER: Final = "lower, and all pods that fit today also fit with a higher value"
_SHARE: Final = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,3})?)%?")


class _Bounds(msgspec.Struct, frozen=True):
    """Bounds that a value must not exceed."""

    now: Figures
    share: float | None
    """Highest price increase in percent; None for any."""
    has_prices: bool


def find(question: GoalQuestion) -> Solved:
    """Return the answer to the goal."""
    base = question.base
    if base.types.is_fixed:
        raise RequestError(FIXED_TYPES)
    most = question.count("tries")
    share = _share(question.text("dearer-by"))
    today = base.settings.vm_memory_overhead_percent
    first = min(max(round(today * STEPS), 0), STEPS - 1)
    now = question.now(Replay.SCRATCH)
    bounds = _Bounds(now, share, question.has_prices)
    question.to_try = 28  # to halve a thousand steps, and the values on either side of the answer
    attempts: dict[int, Tried] = {}

    def are_good(positions: Iterable[int]) -> Iterator[bool]:
        changes = ((position, _edits(position)) for position in positions)
        for position, measured in question.measured(changes, (Replay.PENDING, Replay.SCRATCH)):
            attempts[position] = _attempt(position, measured, bounds)
            yield attempts[position].is_enough

    line = highest_good(STEPS, are_good, most)
    is_idle = all(attempt.is_enough for attempt in attempts.values())
    best = attempts[line.highest] if line.highest is not None and not is_idle else None
    above = attempts.get(line.highest + 1) if line.highest is not None else None
    others = (
        replace(attempt, why_not=attempt.why_not or (_NO_OTHER if is_idle else _LOWER))
        for attempt in attempts.values()
        if attempt is not best and attempt is not above
    )
    rest = sorted(others, key=_percent, reverse=True)
    accuracy = question.accuracy(best.edits if best is not None else (), Replay.SCRATCH)
    how = (
        f"{counted(STEPS, 'value')} from 0 to {(STEPS - 1) / STEPS:g} by halving, then values on either side: pending "
        "pods, and all workload pods from scratch"
    )
    notes = () if line.is_monotone else (f"values between the {len(line.tried)} that were tried",)
    return Solved(
        replay=Replay.SCRATCH,
        now=now,
        best=best,
        runner_up=above,
        is_reached=best is not None or is_idle,
        others=tuple(rest)[:MOST_NOTED],
        because=_NOTHING_HANGS if is_idle else _because(best, first),
        effort=Effort(
            tried=len(line.tried),
            all=STEPS,
            how=how,
            not_tried=notes if len(line.tried) < STEPS else (),
            is_monotone=line.is_monotone,
        ),
        approximated=accuracy.approximated,
        not_modelled=(*accuracy.not_modelled, TOO_LOW),
        risk=LESS_MEMORY if best is not None and _percent(best) < today else "",
    )


def _edits(position: int) -> tuple[SetSetting, ...]:
    return (SetSetting(SETTING, f"{position / STEPS:g}"),)


def _attempt(position: int, measured: tuple[Figures, ...] | None, bounds: _Bounds) -> Tried:
    edits = _edits(position)
    parts = (f"{SETTING} {edits[0].value}",)
    if measured is None:
        return Tried(parts=parts, edits=edits, outcome="", figures=bounds.now, is_enough=False, why_not="cannot be set")
    waiting, scratch = measured
    lost = tuple(dict.fromkeys((*waiting.lost, *scratch.lost)))
    figures = replace(scratch, lost=lost)
    why = _why_not(figures, bounds)
    outcome = why or "all pods that fit today still fit"
    return Tried(parts=parts, outcome=outcome, edits=edits, figures=figures, is_enough=not why, why_not=why)


def _why_not(figures: Figures, bounds: _Bounds) -> str:
    if figures.lost:
        return f"leaves {counted(len(figures.lost), 'pod')} unschedulable that fit today: {names_of(figures.lost)}"
    now, share = bounds.now.price_per_hour, bounds.share
    extra = figures.price_per_hour - now
    if share is not None and extra > now * share / 100 + LEAST_CHANGE:
        return f"{costs_more(extra, has_prices=bounds.has_prices)} from scratch"
    return ""


def _because(best: Tried | None, today: int) -> str:
    if best is None:
        return "with no value do all pods that fit today still fit"
    if _percent(best) == today / STEPS:
        return "it cannot be higher"
    return ""


def _percent(tried: Tried) -> float:
    settings: Sequence[SetSetting] = [edit for edit in tried.edits if isinstance(edit, SetSetting)]
    return float(settings[0].value)


def _share(text: str) -> float | None:
    if not text:
        return None
    match = _SHARE.fullmatch(text)
    if match is None:
        raise RequestError(f"dearer-by: {text!r:.60} is not a share such as 0% or 5%")
    return float(match[1])
