"""Quick edits: fields that are read and changed without typing YAML, one constructor per sort of value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NamedTuple

from karptui.kube.quantity import QuantityError, parse_quantity
from karptui.whatif.edits import ObjectRef
from karptui.whatif.field_path import Path, value_at
from karptui.whatif.schema.offers import KnownValues
from karptui.whatif.yaml.splice import REMOVE, EditRefusedError, set_value

At = int | ObjectRef
"""Which document of the buffer: its position, or the object it describes."""
Body = Mapping[str, Any]
"""A document as JSON would give it."""


class Input(StrEnum):
    """The way a value is entered."""

    NUMBER = "number"
    QUANTITY = "quantity"
    DURATION = "duration"
    CHOICE = "choice"
    """One of the options."""
    TOGGLES = "toggles"
    """Options that are on or off, each for itself."""
    ITEMS = "items"
    """A list or mapping whose items are lines of text, added and dropped one by one."""
    TEXT = "text"


class Option(NamedTuple):
    """Something that can be chosen, toggled or dropped."""

    value: str
    is_on: bool
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QuickEdit:
    """One field, and how it is read and written; values are text as a person types it."""

    id: str
    """Stable name, e.g. ``nodepool.weight``."""
    title: str
    kinds: frozenset[str]
    path: Path
    """The field that changes and nothing else; for a requirement the list of requirements."""
    input: Input
    current: Callable[[Body], str]
    """Returns the value as text; empty if the field is not set."""
    put: Callable[[str, At, str], str]
    """Returns the buffer with a value set, given buffer, document and value. For TOGGLES the value is the option to
    toggle;
    for ITEMS an item to add. An empty text removes the field if possible. Raises ``EditRefusedError`` with a message.
    """
    fault: Callable[[str], str] = lambda _: ""
    """Returns an error message for a text, empty if valid."""
    options: Callable[[Body, KnownValues], tuple[Option, ...]] = lambda _body, _values: ()
    """Returns the options to choose or toggle; for ITEMS the existing ones."""
    drop: Callable[[str, At, str], str] | None = None
    """For ITEMS: takes an item away."""
    step: Callable[[Body, int], str] | None = None
    """Returns the value one step up or down; None if steps make no sense."""
    hint: str = ""
    """The form of the value, with an example."""


def refuse(sentence: str) -> EditRefusedError:
    """Make the error of an edit that cannot be made."""
    return EditRefusedError(sentence)


def as_text(value: Any) -> str:
    """Return a scalar as a user would type it; empty for None and anything else."""
    if value is None or isinstance(value, dict | list):
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


DURATION: Final = re.compile(r"(?:[0-9]+[smh])+\Z")
NEVER: Final = "Never"
_QUANTITY_PARTS: Final = re.compile(r"([0-9]+)(?:\.[0-9]+)?([a-zA-Z]*)\Z")


def _scalar_field(
    id_: str,
    title: str,
    kinds: Iterable[str],
    path: Path,
    input_: Input,
    *,
    fault: Callable[[str], str],
    hint: str,
    convert: Callable[[str], Any] = str,
    step: Callable[[Body, int], str] | None = None,
    options: Callable[[Body], Sequence[Option]] = lambda _: (),
) -> QuickEdit:
    """Make a quick edit of one value that is read and written as text."""

    def put(text: str, at: At, value: str) -> str:
        if sentence := fault(value):
            raise refuse(sentence)
        return set_value(text, at, path, convert(value) if value else REMOVE, prune=True)

    return QuickEdit(
        id=id_,
        title=title,
        kinds=frozenset(kinds),
        path=path,
        input=input_,
        current=lambda body: as_text(value_at(body, path)),
        put=put,
        fault=fault,
        options=lambda body, _: tuple(options(body)),
        step=step,
        hint=hint,
    )


def number_field(
    id_: str, title: str, kinds: Iterable[str], path: Path, *, low: int = 0, high: int | None = None, hint: str = ""
) -> QuickEdit:
    """Make a quick edit of an integer."""

    def fault(text: str) -> str:
        if not text:
            return ""
        if not re.fullmatch(r"[0-9]{1,10}", text) or not low <= int(text) <= (int(text) if high is None else high):
            return f"must be a whole number {f'from {low} to {high}' if high is not None else f'of at least {low}'}"
        return ""

    def step(body: Body, direction: int) -> str:
        value = value_at(body, path)
        start = value if isinstance(value, int) else low if direction < 0 else low - 1
        most = start + direction if high is None else min(start + direction, high)
        return str(max(low, most))

    words = hint or (f"{low} to {high}" if high is not None else "a whole number")
    return _scalar_field(id_, title, kinds, path, Input.NUMBER, fault=fault, convert=int, step=step, hint=words)


def quantity_field(id_: str, title: str, kinds: Iterable[str], path: Path, *, start: str, hint: str) -> QuickEdit:
    """Make a quick edit of an amount of a resource, see ``number_field``; the first step from nothing is ``start``."""

    def step(body: Body, direction: int) -> str:
        current = as_text(value_at(body, path))
        return step_quantity(current, direction) if current else start

    return _scalar_field(
        id_, title, kinds, path, Input.QUANTITY, fault=quantity_fault, convert=quantity_value, step=step, hint=hint
    )


def duration_field(
    id_: str, title: str, kinds: Iterable[str], path: Path, *, ladder: Sequence[str], removable: bool = True
) -> QuickEdit:
    """Make a quick edit of a duration.

    Args:
        removable: The field may be missing.
    """
    words = "a duration such as 30s, 5m or 720h" + (", or Never" if NEVER in ladder else "")

    def fault(text: str) -> str:
        if not text:
            return "" if removable else "is required"
        return "" if DURATION.match(text) or (text == NEVER and NEVER in ladder) else f"must be {words}"

    def step(body: Body, direction: int) -> str:
        return step_ladder(as_text(value_at(body, path)), ladder, direction)

    def options(body: Body) -> list[Option]:
        current = as_text(value_at(body, path))
        return [Option(duration, duration == current) for duration in ladder]

    return _scalar_field(id_, title, kinds, path, Input.DURATION, fault=fault, step=step, options=options, hint=words)


def choice_field(
    id_: str, title: str, kinds: Iterable[str], path: Path, *, choices: Sequence[tuple[str, str]], truth: bool = False
) -> QuickEdit:
    """Make a quick edit of one of a few values.

    Args:
        choices: Values with their meanings.
        truth: Whether the values are booleans.
    """
    values = [value for value, _ in choices]

    def fault(text: str) -> str:
        return "" if not text or text in values else f"must be one of {', '.join(values)}"

    def options(body: Body) -> list[Option]:
        current = as_text(value_at(body, path))
        return [Option(value, value == current, meaning) for value, meaning in choices]

    def step(body: Body, direction: int) -> str:
        current = as_text(value_at(body, path))
        return values[(values.index(current) + direction) % len(values)] if current in values else values[0]

    return _scalar_field(
        id_,
        title,
        kinds,
        path,
        Input.CHOICE,
        fault=fault,
        convert=(lambda text: text == "true") if truth else str,
        step=step,
        options=options,
        hint=", ".join(values),
    )


def text_field(
    id_: str, title: str, kinds: Iterable[str], path: Path, *, fault: Callable[[str], str], hint: str
) -> QuickEdit:
    """Make a quick edit of a line of text, see ``number_field``."""
    return _scalar_field(id_, title, kinds, path, Input.TEXT, fault=fault, hint=hint)


def quantity_fault(text: str) -> str:
    """Return an error message for a quantity; empty for no text."""
    if not text:
        return ""
    try:
        return "must not be negative" if parse_quantity(text).nano < 0 else ""
    except QuantityError:
        return "must be a quantity such as 500m, 16 or 64Gi"


def quantity_value(text: str) -> int | str:
    """Return a quantity as users write it: a number if possible, or else text."""
    return int(text) if re.fullmatch(r"0|[1-9][0-9]{0,17}", text) else text


def step_quantity(text: str, direction: int) -> str:
    """Go one step up or down in the second digit of an amount: 400 to 410, 64Gi to 65Gi, 1000 to 1100."""
    match = _QUANTITY_PARTS.match(text)
    if match is None:
        return text
    number, suffix = int(match[1]), match[2]
    stride = 10 ** max(0, len(match[1]) - 2)
    if direction < 0 and number == 10 ** (len(match[1]) - 1) and number > 1:
        stride = max(1, stride // 10)
    return f"{max(0, number + direction * stride)}{suffix}"


def step_ladder(text: str, ladder: Sequence[str], direction: int) -> str:
    """Go to the next longer or shorter of the usual durations."""
    here = _seconds(text)
    if here is None:
        return ladder[0]
    if direction > 0:
        return next((duration for duration in ladder if _order(duration) > here), ladder[-1])
    return next((duration for duration in reversed(ladder) if _order(duration) < here), ladder[0])


def _order(text: str) -> float:
    seconds = _seconds(text)
    assert seconds is not None
    return seconds


def _seconds(text: str) -> float | None:
    if text == NEVER:
        return float("inf")
    if not DURATION.match(text):
        return None
    units = {"s": 1, "m": 60, "h": 3600}
    return float(sum(int(number) * units[unit] for number, unit in re.findall(r"([0-9]+)([smh])", text)))
