"""Cells of plain values: a text, a count, dollars; and text that stays what it is in markdown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from karptui.aws.money import per_hour_text
from karptui.kube.units import count_text
from karptui.views.column import Column, Field, FieldKind, Heading, ItemT
from karptui.views.row import NOT_APPLICABLE, Cell, Tone
from karptui.views.sanitize import clean


def text_column(
    heading: Heading,
    read: Callable[[ItemT], str],
    *,
    tone: Callable[[ItemT], Tone] = lambda _: Tone.NORMAL,
    short: Callable[[ItemT], str] = lambda _: "",
) -> Column[ItemT]:
    """Return a column of texts, ``short`` where there is little room; an empty one is a dash."""

    def cell(item: ItemT, _: int) -> Cell:
        text = clean(read(item))
        return Cell(text, tone(item), clean(short(item))) if text else NOT_APPLICABLE

    field = Field[ItemT](FieldKind.TEXT, lambda item, _: read(item), help=heading.help.rstrip(".").lower())
    return Column(heading, cell, read, filters={heading.id: field})


def count_column(
    heading: Heading,
    read: Callable[[ItemT], int],
    *,
    tone: Callable[[ItemT], Tone] = lambda _: Tone.NORMAL,
    is_at_least: Callable[[ItemT], bool] = lambda _: False,
) -> Column[ItemT]:
    """Return a column of counts; none is a dash, and one that may be greater ends in a plus."""

    def cell(item: ItemT, _: int) -> Cell:
        count = read(item)
        return Cell(f"{count_text(count)}{'+' if is_at_least(item) else ''}", tone(item)) if count else NOT_APPLICABLE

    field = Field[ItemT](FieldKind.COUNT, lambda item, _: read(item), help=heading.help.rstrip(".").lower())
    return Column(heading, cell, read, filters={heading.id: field})


def money_column(heading: Heading, read: Callable[[ItemT], float]) -> Column[ItemT]:
    """Return a column of dollars per hour; nothing is a dash."""

    def cell(item: ItemT, _: int) -> Cell:
        amount = read(item)
        return Cell(per_hour_text(amount).removesuffix("/h"), Tone.NORMAL) if amount else NOT_APPLICABLE

    field = Field[ItemT](FieldKind.MONEY, lambda item, _: read(item), help=heading.help.rstrip(".").lower())
    return Column(heading, cell, read, filters={heading.id: field})


def number_heading(column_id: str, title: str, about: str, width: int = 8, *, drop_order: int = 0) -> Heading:
    """Return the heading of a column of numbers: set to the right, the greatest first when sorted."""
    return Heading(
        column_id,
        title,
        about,
        len(title),
        max(width, len(title)),
        drop_order=drop_order,
        is_right_aligned=True,
        is_descending_first=True,
    )


_ESCAPED: Final = str.maketrans({character: f"\\{character}" for character in "\\`*_{}[]<>()#+!|~"})


def markdown_text(text: str) -> str:
    """Return text of a cluster as markdown that is no markup, mentions nobody, and stays on its line."""
    return text.translate(_ESCAPED).replace("@", "@\u200b").replace("\n", " ")
