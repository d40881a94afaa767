"""Prices in words, cells and columns: what a node costs per hour, who says so, and what all of them come to."""

from __future__ import annotations

from collections.abc import Callable

from karptui.aws.money import node_price_text, per_hour_text, total_text
from karptui.aws.prices import NodePrices, Price
from karptui.karpenter.labels import SPOT
from karptui.kube.units import NA, count_text
from karptui.session.costs import Total
from karptui.session.nodes import NodeEntry
from karptui.views.column import Column, Field, FieldKind, Heading, ItemT
from karptui.views.row import NOT_APPLICABLE, NOT_AVAILABLE, Cell, Tone
from karptui.views.top_bar import Fact


def price_cell(entry: NodeEntry) -> Cell:
    """Return the price of a node; a dash before an instance type is chosen, and n/a where nobody knows it."""
    if not entry.instance_type and entry.node is None:
        return NOT_APPLICABLE
    return amount_cell(entry.price)


def amount_cell(price: Price | None) -> Cell:
    """Return a price per hour, and n/a where nobody knows it."""
    if price is None:
        return NOT_AVAILABLE
    text = node_price_text(price.per_hour, price.currency)
    return Cell(text, Tone.RESERVED if price.is_reservation else Tone.NORMAL, text.lstrip("$¥"))


def price_sentence(entry: NodeEntry) -> str:
    """Return the price of a node with its origin, or why there is none."""
    price = entry.price
    if price is None:
        if not entry.instance_type:
            return "price n/a: no instance type"
        if entry.capacity_type == SPOT:
            return "price n/a: no spot prices are known"
        return f"price n/a: no list has {entry.instance_type}"
    return f"{node_price_text(price.per_hour, price.currency)}/h, {origin_words(price)}"


def origin_words(price: Price) -> str:
    """Return where a price comes from, and what was made of it."""
    words = price.origin.label
    if price.is_reservation:
        words += ", on-demand rate: the reservation is billed whether it is used or not"
    if price.per_hour != price.listed_per_hour:
        words += f", listed {node_price_text(price.listed_per_hour, price.currency)}"
    return words


def book_sentence(book: NodePrices) -> str:
    """Return where all prices come from: ``prices: built-in list, 2026-07-06 · ×0.72 + $0.0100 a node``."""
    if book.settings.is_disabled:
        return "prices: off (--disable-pricing)"
    if not book.origins:
        return "prices: none known"
    labels = dict.fromkeys(origin.label for origin in book.origins)
    words = f"prices: {' · '.join(labels)}"
    settings = book.settings
    if settings.multiplier != 1:
        words += f" · ×{settings.multiplier:g}"
    if settings.surcharge_per_node_hour:
        words += f" · +{node_price_text(settings.surcharge_per_node_hour)} a node"
    return words


def total_words(total: Total) -> str:
    """Return a sum in words, with how many nodes it leaves out."""
    if not total.priced:
        return f"$/h {NA}" if total.unpriced else total_text(0.0)
    missing = f" + {count_text(total.unpriced)} {NA}" if total.unpriced else ""
    return f"{total_text(total.per_hour, total.currency)}{missing}"


def cost_fact(total: Total) -> Fact:
    """Return the figure for the top bar."""
    short = total_words(total).partition(" · ")[0]
    if total.priced and total.unpriced:
        short += "+"
    return Fact(total_words(total), short, Tone.STRONG if total.priced else Tone.MUTED)


def sort_price(entry: NodeEntry) -> float | None:
    """Return the price to sort by; None sorts last."""
    return entry.price.per_hour if entry.price is not None else None


def money_column(heading: Heading, read: Callable[[ItemT], float]) -> Column[ItemT]:
    """Return a column of dollars per hour; nothing is a dash."""

    def cell(item: ItemT, _: int) -> Cell:
        amount = read(item)
        return Cell(per_hour_text(amount).removesuffix("/h"), Tone.NORMAL) if amount else NOT_APPLICABLE

    field = Field[ItemT](FieldKind.MONEY, lambda item, _: read(item), help=heading.help.rstrip(".").lower())
    return Column(heading, cell, read, filters={heading.id: field})
