"""Columns as data: table, sorting, filters, help, the line below, JSON, CSV and schema follow from one declaration."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from functools import partial
from operator import attrgetter
from types import GenericAlias, UnionType
from typing import Any, Final, Generic, TypeAlias, TypeVar, get_type_hints

import msgspec

from karptui.kube.quantity import QuantityError, parse_quantity
from karptui.kube.units import count_text, cpu_text, memory_text
from karptui.views.row import NOT_APPLICABLE, Cell, Tone
from karptui.views.sanitize import clean

ItemT = TypeVar("ItemT")
PartT = TypeVar("PartT")
FieldValue: TypeAlias = float | str | tuple[str, ...] | None

_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w|y)")
_SECONDS: Final = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800, "y": 31_536_000}


class FieldKind(StrEnum):
    """Type of a field, which decides how filter values are parsed."""

    TEXT = "text"
    CPU = "cpu"
    """Millicores; ``2`` and ``2000m`` are the same."""
    BYTES = "bytes"
    """Bytes; ``4Gi`` and ``4294967296`` are the same."""
    COUNT = "count"
    DURATION = "duration"
    """Seconds; ``90s``, ``2h``, ``1d12h``."""
    MONEY = "money"
    """US dollars per hour."""


class Field(msgspec.Struct, Generic[ItemT], frozen=True):
    """One thing a filter can ask about an item."""

    kind: FieldKind
    value: Callable[[ItemT, int], FieldValue]
    """From the item and now (nanoseconds since the epoch) to the value in the unit of the kind.

    None when there is none.
    """
    help: str = ""
    """Description on the help screen."""
    share: Callable[[ItemT], float | None] | None = None
    """The same as a percentage, for fields that have one: ``cpu>80%``."""


Fields: TypeAlias = Mapping[str, Field[ItemT]]

_EXAMPLES: Final = {
    FieldKind.TEXT: "word*",
    FieldKind.CPU: "500m or 2",
    FieldKind.BYTES: "4Gi",
    FieldKind.COUNT: "10",
    FieldKind.DURATION: "2h",
    FieldKind.MONEY: "0.5",
}


def example(kind: FieldKind, *, has_share: bool) -> str:
    """Return values that a field of this kind understands, for help and errors."""
    return f"{_EXAMPLES[kind].replace(' or', ',')} or 80%" if has_share else _EXAMPLES[kind]


def parse_amount(kind: FieldKind, text: str) -> float:
    """Return the amount in the unit of the kind. Raises ValueError when the text is not such an amount."""
    if kind is FieldKind.DURATION:
        return parse_duration(text)
    if kind is FieldKind.MONEY:
        return float(text.removeprefix("$"))
    try:
        quantity = parse_quantity(text)
        return quantity.nano / 1_000_000 if kind is FieldKind.CPU else quantity.nano / 1_000_000_000
    except (QuantityError, OverflowError) as error:
        raise ValueError(str(error)) from error


def parse_duration(text: str) -> float:
    """Return the seconds of ``45s``, ``2h``, ``1d12h``; a plain number is seconds.

    Raises:
        ValueError: when the text is not a duration.
    """
    if text.isdecimal():
        return float(text)
    position, seconds = 0, 0.0
    for match in _DURATION.finditer(text):
        if match.start() != position:
            break
        seconds += float(match[1]) * _SECONDS[match[2]]
        position = match.end()
    if not text or position != len(text):
        raise ValueError(f"{text!r} is not a duration")
    return seconds


SortKey: TypeAlias = float | str | tuple[float | str, ...] | None
"""Texts alone are ordered as ``natural_keys`` does."""
Schema: TypeAlias = Any
"""A type, such as ``int | None``, or JSON Schema; types may be part of it."""
NOTHING: Final = ("", Tone.NORMAL)
"""Text of a column without a value."""


class Heading(msgspec.Struct, frozen=True):
    """Layout of a column."""

    id: str
    """Stable name: snake_case, the name for ``:sort`` and ``--sort-by``."""
    title: str
    help: str = ""
    """One sentence for the help screen."""
    min_width: int = 4
    """Cells below which the column is dropped rather than drawn."""
    max_width: int = 60
    """Cells above which it never grows."""
    fill_width: int = 0
    """Cells it grows to when room is left over; 0 does not grow. Columns with bars use it."""
    bar_min: int = 4
    """Cells below which a bar is left out of its column."""
    drop_order: int = 0
    """0 is never dropped; of the others the highest is dropped first when room is short."""
    is_right_aligned: bool = False
    is_name: bool = False
    """Holds names that differ at the end; long ones are shortened in the middle."""
    is_wide_only: bool = False
    """Shown only in the wide layout."""
    is_descending_first: bool = False
    """Sorting by it starts with the largest."""


NumberHeading: Final = partial(Heading, is_right_aligned=True, is_descending_first=True)


class Value(msgspec.Struct, Generic[ItemT], frozen=True):
    """One value of ``-o json`` and ``-o csv``: what scripts read by its name."""

    name: str
    read: Callable[[ItemT, int], Any]
    """From an item and now (nanoseconds since the epoch) to the value; None is not known, or does not apply."""
    schema: Schema
    """What JSON may hold there."""
    about: str = ""
    """Description, if the name is not enough."""
    after: str = ""
    """Value it follows in JSON and CSV; empty for the one declared before it. Published orders do not change."""
    flat: Callable[[Any], Any] | None = None
    """Converts the value for CSV; None if CSV has the same value."""
    is_optional: bool = False
    """Whether JSON has no such key if the value is None."""
    is_csv_only: bool = False
    """Whether JSON holds it within another value."""

    @property
    def described(self) -> Schema:
        """The schema with its description."""
        schema = _schema_of(self.schema)
        return {"description": self.about, **schema} if self.about else schema


Values: TypeAlias = Value[ItemT] | tuple[Value[ItemT], ...]
Filters: TypeAlias = Field[ItemT] | Mapping[str, Field[ItemT]]


class Words(msgspec.Struct, Generic[ItemT], frozen=True):
    """Text of a hidden column, shown in the line below the table."""

    place: int
    """Position among the columns, most urgent first."""
    say: Callable[[ItemT, int], tuple[str, Tone]]
    """From an item and now (nanoseconds since the epoch) to text with a unit; ``NOTHING`` without a value."""
    joins: bool = False
    """Whether it is one fact with the column before: an instance type, its capacity type and its zone."""


class Column(msgspec.Struct, Generic[ItemT], frozen=True):
    """A column, with everything derived from it: cells, order, values, filters and texts."""

    heading: Heading
    cell: Callable[[ItemT, int], Cell]
    """From an item and now (nanoseconds since the epoch) to the cell."""
    sort: Callable[[ItemT], SortKey]
    """The item's place among the others; None and an empty text sort last in both directions."""
    sort_at: Callable[[ItemT, int], SortKey] | None = None
    """The same for a place that changes with time; goes before ``sort``."""
    values: Values[ItemT] = ()
    filters: Filters[ItemT] = {}
    """Filters by name; a single one has the column's id as its name."""
    words: Words[ItemT] | None = None
    """Text below the table if the column is hidden; None if other lines contain it."""

    def every_value(self) -> tuple[Value[ItemT], ...]:
        """Return the values for scripts."""
        return (self.values,) if isinstance(self.values, Value) else self.values

    def every_filter(self) -> Mapping[str, Field[ItemT]]:
        """Return the filters by name."""
        return {self.heading.id: self.filters} if isinstance(self.filters, Field) else self.filters


def cell_words(cell: Cell, before: str = "", after: str = "") -> tuple[str, Tone]:
    """Return a cell's text between words that name it, or ``NOTHING`` if the column does not apply."""
    if cell == NOT_APPLICABLE:
        return NOTHING
    return f"{before}{' '.join(cell.text.split())}{after}", cell.tone


def in_published_order(values: Iterable[Value[ItemT]]) -> tuple[Value[ItemT], ...]:
    """Return values in published order, each after the value it follows.

    Raises:
        ValueError: if a value follows an unknown value, or values follow each other in a loop.
    """
    followers: dict[str, list[Value[ItemT]]] = {}
    before = ""
    for value in values:
        behind = followers.setdefault(value.after or before, [])
        behind.insert(0 if value.after else len(behind), value)
        before = value.name
    ordered: list[Value[ItemT]] = []
    waiting = followers.pop("", [])[::-1]
    while waiting:
        value = waiting.pop()
        ordered.append(value)
        waiting += followers.pop(value.name, [])[::-1]
    if followers:
        raise ValueError(f"no value is called {', '.join(followers)}, or values follow each other in a loop")
    return tuple(ordered)


_INSTANT: Final = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$"
INSTANT: Final[Schema] = {"type": "string", "pattern": _INSTANT}
INSTANT_OR_NULL: Final[Schema] = {"type": ["string", "null"], "pattern": _INSTANT}


def _schema_of(schema: Schema) -> Any:
    """Return JSON Schema: types in it are replaced by their schemas."""
    if isinstance(schema, Mapping):
        return {name: _schema_of(part) for name, part in schema.items()}
    if not isinstance(schema, type | UnionType | GenericAlias):
        return schema
    options = msgspec.json.schema(schema)
    if "anyOf" not in options:
        return options
    first, *_ = options["anyOf"]
    return {**first, "type": [option["type"] for option in options["anyOf"]]}


def row_schema(values: Iterable[Value[ItemT]]) -> dict[str, Any]:
    """Return the schema of an object with these values."""
    shown = [value for value in values if not value.is_csv_only]
    required = [value.name for value in shown if not value.is_optional]
    return {"type": "object", "required": required, "properties": {value.name: value.described for value in shown}}


def plain(values: Iterable[Value[ItemT]], item: ItemT, now_ns: int = 0) -> dict[str, Any]:
    """Return an item as JSON holds it: its values by name."""
    pairs = ((value, value.read(item, now_ns)) for value in values if not value.is_csv_only)
    return {value.name: read for value, read in pairs if read is not None or not value.is_optional}


def record(
    name: str,
    read: Callable[[ItemT], PartT | None],
    values: tuple[Value[PartT], ...],
    about: str = "",
    *,
    may_be_null: bool = False,
    is_optional: bool = False,
) -> Value[ItemT]:
    """Return a value that is a nested record."""

    def read_plain(item: ItemT, now_ns: int) -> dict[str, Any] | None:
        part = read(item)
        return None if part is None else plain(values, part, now_ns)

    schema = row_schema(values)
    if may_be_null:
        schema["type"] = ["object", "null"]
    return Value(name, read_plain, schema, about, is_optional=is_optional)


def records(
    name: str,
    read: Callable[[ItemT], Iterable[PartT]],
    values: tuple[Value[PartT], ...],
    about: str = "",
    flat: Callable[[Any], Any] = len,
) -> Value[ItemT]:
    """Return a value that is a list of records; CSV has their number unless told otherwise."""
    schema = {"type": "array", "items": row_schema(values)}
    return Value(
        name, lambda item, now_ns: [plain(values, part, now_ns) for part in read(item)], schema, about, flat=flat
    )


def texts(name: str, read: Callable[[ItemT], Iterable[str]], about: str = "") -> Value[ItemT]:
    """Return a value that is a list of texts; CSV has their number."""
    return Value(name, lambda item, _: list(read(item)), list[str], about, flat=len)


def lifted(values: Iterable[Value[PartT]], part: Callable[[ItemT], PartT | None]) -> tuple[Value[ItemT], ...]:
    """Return the values of a part as values of the whole item; null if the item has no such part."""

    def reader(value: Value[PartT]) -> Callable[[ItemT, int], Any]:
        def read(item: ItemT, now_ns: int) -> Any:
            item_part = part(item)
            return None if item_part is None else value.read(item_part, now_ns)

        return read

    return tuple(
        Value(value.name, reader(value), value.schema, value.about, value.after, value.flat, value.is_optional)
        for value in values
    )


def struct_values(kind: type[PartT], about: Mapping[str, str] = {}) -> tuple[Value[PartT], ...]:
    """Return the fields of a record as values: named in camel case, with the schemas of their types.

    Args:
        kind: A msgspec Struct of plain fields.
        about: Descriptions of fields, by JSON name.
    """
    values = []
    for field, annotation in get_type_hints(kind).items():
        name = _camel_name(field)
        values.append(Value(name, _attribute(field), annotation, about.get(name, "")))
    return tuple(values)


def _attribute(field: str) -> Callable[[Any, int], Any]:
    read = attrgetter(field)
    return lambda item, _: read(item)


def _camel_name(field: str) -> str:
    """Return the JSON name of a field: ``pool_name`` is ``nodePool``."""
    first, *rest = field.replace("pool_name", "node_pool").replace("claim_name", "node_claim").split("_")
    return first + "".join(part.capitalize() for part in rest)


def least_and_greatest(
    name: str,
    read: Callable[[ItemT], tuple[float, float] | None],
    schema: Schema,
    about: str = "",
    *,
    may_be_null: bool = False,
) -> Value[ItemT]:
    """Return a value that is the least and the greatest of several figures."""
    ends: tuple[Value[tuple[float, float]], ...] = (
        Value("least", lambda pair, _: pair[0], schema),
        Value("greatest", lambda pair, _: pair[1], schema),
    )
    return record(name, read, ends, about, may_be_null=may_be_null)


def one_of(*options: str) -> Schema:
    """Return the schema of a text that is one of some."""
    return {"enum": list(map(str, options))}


_NUMBER: Final = re.compile(r"\d+")


def natural_key(text: str) -> str:
    """Return a sort key that orders ``node-9`` before ``node-10``, and ``node`` before both."""
    return _NUMBER.sub(_number_key, text)


def _number_key(match: re.Match[str]) -> str:
    digits = match[0].lstrip("0")
    return f"\0{chr(ord('0') + min(len(digits), 999))}{digits}"


def natural_keys(texts: Iterable[str | None]) -> list[str | None]:
    """Return the natural keys of many texts, and None for those that are missing or empty.

    Digits within a last part such as ``x2k9p`` are no number: a table has as many of them as pods.
    """
    known: dict[str | None, str | None] = {None: None, "": None}
    keys: list[str | None] = []
    for text in texts:
        if text not in known:
            assert text is not None
            head, dash, tail = text.rpartition("-")
            stem = tail.rstrip("0123456789")
            if dash and tail.isalnum() and stem and (stem == tail or not stem.isalpha()):
                if head not in known:
                    known[head] = natural_key(head)
                keys.append(f"{known[head] or ''}-{tail}")
                continue
            known[text] = natural_key(text)
        keys.append(known[text])
    return keys


def filter_help(heading: Heading) -> str:
    """Return a heading's help as a phrase: ``its NodePool``."""
    text = heading.help.rstrip(".")
    return f"{text[0].lower()}{text[1:]}" if text[1:2].islower() else text


def text_column(
    heading: Heading,
    read: Callable[[ItemT], str],
    *,
    tone: Callable[[ItemT], Tone] = lambda _: Tone.NORMAL,
    short: Callable[[ItemT], str] = lambda _: "",
    missing: Cell = NOT_APPLICABLE,
    sort: Callable[[ItemT], SortKey] | None = None,
    json: str = "",
    or_null: str = "",
    values: Values[ItemT] = (),
    filters: Filters[ItemT] | None = None,
    words: Words[ItemT] | None = None,
) -> Column[ItemT]:
    """Return a column of texts; items without a text show a dash and sort last.

    Args:
        missing: The cell of an item without a text.
        sort: The item's place, if it is not that of its text.
        json: The text's name in JSON and CSV, if exported unchanged.
        or_null: The same if an empty text is exported as null.
        filters: Filters, if they differ from one on the text.
    """

    def cell(item: ItemT, _: int) -> Cell:
        text = clean(read(item))
        return Cell(text, tone(item), clean(short(item))) if text else missing

    if filters is None:
        filters = Field[ItemT](FieldKind.TEXT, lambda item, _: read(item), filter_help(heading))
    values = values or named(json, read, str, heading)
    values = values or named(or_null, lambda item: read(item) or None, str | None, heading)
    return Column(heading, cell, sort or read, values=values, filters=filters, words=words)


def count_column(
    heading: Heading,
    read: Callable[[ItemT], int],
    *,
    tone: Callable[[ItemT], Tone] = lambda _: Tone.NORMAL,
    zero: Cell = NOT_APPLICABLE,
    is_at_least: Callable[[ItemT], bool] = lambda _: False,
    json: str = "",
    values: Values[ItemT] = (),
    filters: Filters[ItemT] | None = None,
    words: Words[ItemT] | None = None,
) -> Column[ItemT]:
    """Return a column of counts; a lower bound ends in a plus."""

    def cell(item: ItemT, _: int) -> Cell:
        count, more = read(item), "+" if is_at_least(item) else ""
        return Cell(f"{count_text(count)}{more}", tone(item)) if count or more else zero

    if filters is None:
        filters = Field[ItemT](FieldKind.COUNT, lambda item, _: read(item), filter_help(heading))
    return Column(heading, cell, read, values=values or named(json, read, int, heading), filters=filters, words=words)


def amount_column(
    heading: Heading,
    kind: FieldKind,
    read: Callable[[ItemT], int],
    name: str,
    about: str = "",
    *,
    filter_name: str = "",
) -> Column[ItemT]:
    """Return a column of cpu (millicores) or memory (bytes); 0 is dim."""
    text = cpu_text if kind is FieldKind.CPU else memory_text

    def cell(item: ItemT, _: int) -> Cell:
        amount = read(item)
        return Cell(text(amount), Tone.NORMAL if amount else Tone.MUTED)

    def value(item: ItemT, _: int) -> int:
        return read(item)

    field = Field[ItemT](kind, value, filter_help(heading))
    return Column(
        heading, cell, read, values=Value(name, value, int, about), filters={filter_name or heading.id: field}
    )


def named(name: str, read: Callable[[ItemT], Any], schema: Schema, heading: Heading) -> tuple[Value[ItemT], ...]:
    """Return a column's value for scripts, described like its heading, if it has a name."""
    return (Value(name, lambda item, _: read(item), schema, heading.help),) if name else ()


def number_heading(column_id: str, title: str, about: str, width: int = 8, *, drop_order: int = 0) -> Heading:
    """Return the heading of a column of numbers that is at least as wide as its title."""
    return NumberHeading(column_id, title, about, len(title), max(width, len(title)), drop_order=drop_order)
