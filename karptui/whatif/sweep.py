"""A sweep: the results for several values of one parameter."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

import msgspec

from karptui.errors import RequestError
from karptui.karpenter.inventory import NotCounted
from karptui.karpenter.labels import DO_NOT_DISRUPT
from karptui.kube.durations import DurationError, parse_duration
from karptui.kube.timestamps import HOUR_NS, NS_PER_SECOND
from karptui.provisioning.reporter import Reporter, silent
from karptui.whatif.difference import totals_of
from karptui.whatif.difference_lines import Totals
from karptui.whatif.drift.drift import drift_changes
from karptui.whatif.edits import AnyEdit, EditError, ObjectRef, SetField, SetSetting
from karptui.whatif.edits.apply import apply
from karptui.whatif.field_path import PathError, parse_path, path_text
from karptui.whatif.manifests import refusals
from karptui.whatif.outcome import not_counted
from karptui.whatif.replay import replay
from karptui.whatif.scenario import Replay
from karptui.whatif.situation import WhatIfBase

MOST_VALUES: Final = 200
_NUMBER: Final = r"(-?[0-9]+(?:\.[0-9]+)?)"
_RANGE: Final = re.compile(rf"{_NUMBER}([A-Za-z%]*)\.\.{_NUMBER}([A-Za-z%]*)(?:/{_NUMBER}([A-Za-z%]*))?")
_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)")
_DECIMAL: Final = re.compile(r"-?[0-9]+\.[0-9]+")
_SETTING: Final = re.compile(r"[A-Z][A-Z0-9_]*(?:\.[A-Za-z]+)?")
_UNITS: Final = frozenset({"s", "m", "h"})
_STEPS: Final = 10
"""Steps of a range that names none."""


class Sweep(msgspec.Struct, frozen=True):
    """A parameter and its values."""

    values: tuple[str, ...]
    object: ObjectRef | None = None
    """Whose field it is; None for a setting."""
    path: tuple[str | int, ...] = ()
    setting: str = ""
    edits: tuple[AnyEdit, ...] = ()
    """Made before the parameter is set."""

    @property
    def name(self) -> str:
        """The parameter as text."""
        return self.setting if self.object is None else f"{self.object.kind}/{self.object.key}:{path_text(self.path)}"

    @property
    def is_of_disruption(self) -> bool:
        """Whether the parameter changes what Karpenter disrupts over time, not where pods are scheduled."""
        if self.object is None:
            return self.setting.startswith("FEATURE_GATES.")
        if self.object.kind == "PodDisruptionBudget" or DO_NOT_DISRUPT in self.path:
            return True
        return self.object.kind == "NodePool" and (
            self.path[:2] == ("spec", "disruption") or self.path[-1:] in (("expireAfter",), ("terminationGracePeriod",))
        )

    def edits_for(self, value: str) -> tuple[AnyEdit, ...]:
        """Return the edits that give the parameter a value."""
        if self.object is None:
            return (*self.edits, SetSetting(self.setting, value))
        return (*self.edits, SetField(self.object, self.path, typed(value)))


class SweepResult(msgspec.Struct, frozen=True):
    """Results for all values, in their order."""

    sweep: Sweep
    mode: Replay
    points: tuple[SweepPoint, ...]

    @property
    def recommended(self) -> SweepPoint | None:
        """The value with the fewest pending pods, then the lowest cost, then the least drift; None if none is valid."""
        valid = [point for point in self.points if not point.problem]
        return min(valid, key=lambda point: point.rank, default=None)


class SweepPoint(Totals, frozen=True, kw_only=True):
    """Result for one value."""

    value: str
    place: int = 0
    """Position among the values."""
    not_counted: NotCounted = NotCounted()
    """Nodes that exist and that the figures leave out."""
    problem: str = ""
    """Why the value cannot be set; the figures mean nothing then."""

    @property
    def rank(self) -> tuple[int, float, int]:
        """Pending pods, cost and drift: the lower the better."""
        return self.pending, round(self.at_most_per_hour, 2), self.drifted


def mode_for(base: WhatIfBase, sweep: Sweep, replay: Replay) -> Replay:
    """Return the replay that a parameter affects: the next disruption, pending pods, or all pods if none is pending."""
    if replay is not Replay.PENDING:
        return replay
    if sweep.is_of_disruption:
        return Replay.NEXT
    return Replay.PENDING if base.prepared.pending else Replay.SCRATCH


def parse_sweep(text: str) -> Sweep:
    """Return the sweep of ``NodePool/general:spec.weight=1..100/10`` or ``VM_MEMORY_OVERHEAD_PERCENT=0,0.05,0.075``.

    Values are a list with commas, or a range ``from..to/step``: numbers, also with a unit (``100Gi..200Gi/20Gi``), or
    durations (``30s..10m/30s``). The last value of a range always belongs to it; without a step there are ten.

    Raises:
        RequestError: saying what cannot be read.
    """
    target, separator, listed = text.partition("=")
    if not separator or not listed:
        raise RequestError(f"{text!r:.120} is not PARAMETER=VALUES")
    values = parse_values(listed)
    reference, colon, path = target.partition(":")
    if not colon:
        if not _SETTING.fullmatch(target):
            raise RequestError(f"{target!r:.120} is neither a setting nor Kind/name:path.of.field")
        return Sweep(values, setting=target)
    parts = reference.split("/")
    if len(parts) not in (2, 3) or not all(parts):
        raise RequestError(f"{reference!r:.120} is not Kind/name or Kind/namespace/name")
    try:
        steps = parse_path(path)
    except PathError as error:
        raise RequestError(str(error)) from None
    namespace = parts[1] if len(parts) == 3 else ""
    return Sweep(values, ObjectRef(parts[0], parts[-1], namespace), steps)


def parse_values(text: str) -> tuple[str, ...]:
    """Return the values of a list or range.

    Raises:
        RequestError: saying what cannot be read, or that there are too many.
    """
    if ".." not in text:
        values = tuple(part.strip() for part in text.split(","))
        if not all(values):
            raise RequestError(f"{text!r:.120} has an empty value")
    else:
        values = _range(text)
    if len(values) > MOST_VALUES:
        raise RequestError(f"{text!r:.120} has more than {MOST_VALUES} values")
    return values


_QUANTITY: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)([A-Za-z]*)")
_LONG: Final = ("1h", "2h", "4h", "8h", "12h", "24h")
_SHORT: Final = ("0s", "30s", "1m", "5m", "15m", "30m", "1h")


def proposed_values(current: str, *, stride: float = 0, most: int = 0, is_duration: bool = False) -> str:
    """Return a range or list around a parameter's current value that includes it; empty if none can be derived.

    Args:
        stride: Step of its values, if known: a share such as ``0.005``.
        most: Largest allowed value; 0 for no limit.
    """
    if is_duration:
        try:
            is_long = parse_duration(current) > HOUR_NS
        except DurationError:
            is_long = False
        usual = _LONG if is_long else _SHORT
        return ",".join(usual if not current or current in usual else (*usual, current))
    if most:
        usual_numbers = {1, most // 10, most // 4, most // 2, most * 3 // 4, most}
        return ",".join(map(str, sorted({*usual_numbers, *([int(current)] if current.isdecimal() else [])})))
    match = _QUANTITY.fullmatch(current)
    if match is None:
        return ""
    amount, unit = Decimal(match[1]), match[2]
    if stride and stride < 1:
        top = amount * 4 / 3 if amount else Decimal(str(stride)) * 10
        return f"0..{round(top, 4).normalize():f}/{round(top / 8, 5).normalize():f}"
    step = max(1, int(amount / 4))
    low, high = max(int(amount) - 2 * step, 0), int(amount) + 4 * step
    return f"{low}{unit}..{high}{unit}/{step}{unit}"


def typed(value: str) -> Any:
    """Return a value as in JSON: a number or boolean if it looks like one, else text."""
    if value in ("true", "false"):
        return value == "true"
    if _INTEGER.fullmatch(value):
        return int(value)
    return float(value) if _DECIMAL.fullmatch(value) else value


def sweep_point(base: WhatIfBase, sweep: Sweep, value: str, mode: Replay, reporter: Reporter = silent) -> SweepPoint:
    """Return the result for one value."""
    place = sweep.values.index(value)
    try:
        edited = apply(base, sweep.edits_for(value))
    except EditError as error:
        return SweepPoint(value=value, place=place, problem=str(error))
    if refused := refusals(edited):
        return SweepPoint(value=value, place=place, problem=next(iter(refused.values())))
    outcome = replay(edited, mode, reporter)
    gained, lost = drift_changes(base, edited)
    totals = totals_of(outcome, edited.drifted + len(gained) - len(lost))
    return SweepPoint(
        **msgspec.structs.asdict(totals), value=value, place=place, not_counted=not_counted(outcome.prepared)
    )


def _range(text: str) -> tuple[str, ...]:
    match = _RANGE.fullmatch(text.strip())
    if match is None:
        raise RequestError(f"{text!r:.120} is not a range such as 1..100/10, 30s..10m/30s or 100Gi..200Gi/20Gi")
    numbers, units = match.groups()[::2], {unit for unit in match.groups()[1::2] if unit}
    if len(units) > 1 and units <= _UNITS:
        return _durations(text, match)
    if len(units) > 1:
        raise RequestError(f"{text!r:.120} mixes the units {', '.join(sorted(units))}")
    unit = next(iter(units), "")
    first, last = Decimal(numbers[0]), Decimal(numbers[1])
    step = Decimal(numbers[2]) if numbers[2] is not None else (last - first) / _STEPS
    return tuple(f"{_plain(value)}{unit}" for value in _steps(text, first, last, step))


def _durations(text: str, match: re.Match[str]) -> tuple[str, ...]:
    first, last, step = (
        _seconds(number, unit or "s") if number is not None else None
        for number, unit in zip(match.groups()[::2], match.groups()[1::2], strict=True)
    )
    assert first is not None
    assert last is not None
    values = _steps(text, first, last, step if step is not None else (last - first) / _STEPS)
    return tuple(f"{_plain(value)}s" for value in values)


def _seconds(number: str, unit: str) -> Decimal:
    try:
        return Decimal(parse_duration(f"{number}{unit}")) / NS_PER_SECOND
    except DurationError as error:
        raise RequestError(str(error)) from None


def _steps(text: str, first: Decimal, last: Decimal, step: Decimal) -> Sequence[Decimal]:
    if step <= 0 or last < first:
        raise RequestError(f"{text!r:.120} must rise, in steps above zero")
    if (last - first) / step >= MOST_VALUES:
        raise RequestError(f"{text!r:.120} has more than {MOST_VALUES} values")
    values = []
    value = first
    while value < last:
        values.append(value)
        value += step
    return [*values, last]


def _plain(value: Decimal) -> str:
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
