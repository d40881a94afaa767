"""Prices as text, cells and columns: node prices, their source, and sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from karptui.aws.money import LEAST_CHANGE, node_price_text, per_hour_change_text, per_hour_text, sum_text, total_text
from karptui.aws.prices import NodePrices, Price
from karptui.karpenter.inventory import NotCounted
from karptui.karpenter.labels import SPOT
from karptui.kube.units import NA, count_text, counted
from karptui.session.costs import Total
from karptui.session.nodes import NodeEntry
from karptui.views.column import Column, Field, FieldKind, Heading, ItemT, filter_help, named
from karptui.views.row import NOT_APPLICABLE, NOT_AVAILABLE, Cell, Tone
from karptui.views.sanitize import clean
from karptui.views.top_bar import Fact


class KnownDollars(Protocol):
    """Known cost per hour of nodes: at one moment of a forecast, or on one side of a what-if."""

    @property
    def price_per_hour(self) -> float:
        """Of the nodes whose price is known."""

    @property
    def unpriced(self) -> int:
        """Nodes that it leaves out, as their price is not known."""


def known_text(dollars: KnownDollars) -> str:
    """Return a sum per hour: ``$0.77/h``, ``$0.77/h+`` if some nodes have no price, n/a if none has."""
    return known_sum_text(dollars.price_per_hour, dollars.unpriced)


def known_sum_text(per_hour: float, unpriced: int, *, is_bare: bool = False) -> str:
    """Return the same for an amount and the number of unpriced nodes; ``0.77+`` without currency if ``is_bare``."""
    if unpriced and not per_hour:
        return NA
    return f"{f'{per_hour:,.2f}' if is_bare else per_hour_text(per_hour)}{'+' if unpriced else ''}"


def known_change_text(was: KnownDollars, now: KnownDollars) -> str:
    """Return the change of a sum per hour: ``-$0.77/h``; empty if unchanged or unknown.

    It is unknown if the number of unpriced nodes differs.
    """
    change = round(now.price_per_hour - was.price_per_hour, 2)
    return per_hour_change_text(change) if change and was.unpriced == now.unpriced else ""


def price_cell(entry: NodeEntry) -> Cell:
    """Return the price of a node; a dash before its instance type is chosen, n/a if unknown."""
    if not entry.instance_type and entry.node is None:
        return NOT_APPLICABLE
    return amount_cell(entry.price)


def amount_cell(price: Price | None) -> Cell:
    """Return a price per hour, n/a if unknown."""
    if price is None:
        return NOT_AVAILABLE
    return money_cell(price.per_hour, price.currency, Tone.RESERVED if price.is_reservation else Tone.NORMAL)


def money_cell(
    per_hour: float, currency: str, tone: Tone, *, is_upper_bound: bool = False, is_partial: bool = False
) -> Cell:
    """Return a price per hour with four decimals; in a narrow column without its currency."""
    bound, short_bound = ("up to ", "≤") if is_upper_bound else ("", "")
    more = "+" if is_partial else ""
    text = node_price_text(per_hour, currency)
    return Cell(f"{bound}{text}{more}", tone, f"{short_bound}{per_hour:,.4f}{more}")


def price_sentence(entry: NodeEntry) -> str:
    """Return the price of a node with its origin, or why there is none."""
    price = entry.price
    if price is None:
        if not entry.instance_type:
            return "price n/a: no instance type"
        if entry.capacity_type == SPOT:
            return "price n/a: spot prices are unknown"
        return f"price n/a: no list has {entry.instance_type}"
    return f"{node_price_text(price.per_hour, price.currency)}/h, {_origin_words(price)}"


def _origin_words(price: Price) -> str:
    words = price.origin.label
    if price.is_reservation:
        words += ", on-demand rate: the reservation is billed whether it is used or not"
    if price.counted_with:
        words += f": the same instance as Node {clean(price.counted_with)}, whose price counts"
    elif price.per_hour != price.listed_per_hour:
        words += f", listed {node_price_text(price.listed_per_hour, price.currency)}"
    return words


def book_sentence(book: NodePrices) -> str:
    """Return the source of all prices: ``prices: built-in list, 2026-07-06 · ×0.72 + $0.0100 a node``."""
    if book.settings.is_disabled:
        return "prices: off (--disable-pricing)"
    if not book.origins:
        return "prices: unknown"
    labels = dict.fromkeys(origin.label for origin in book.origins)
    words = f"prices: {' · '.join(labels)}"
    settings = book.settings
    if settings.multiplier != 1:
        words += f" · ×{settings.multiplier:g}"
    if settings.surcharge_per_node_hour:
        words += f" · +{node_price_text(settings.surcharge_per_node_hour)} a node"
    return words


def total_words(total: Total) -> str:
    """Return a sum as text, with the number of unpriced nodes."""
    if not total.priced:
        return f"$/h {NA}" if total.unpriced else total_text(0.0)
    missing = f" + {count_text(total.unpriced)} {NA}" if total.unpriced else ""
    return f"{total_text(total.per_hour, total.currency)}{missing}"


def cost_fact(total: Total) -> Fact:
    """Return the figure for the top bar."""
    short = f"$/h {NA}" if total.unpriced else per_hour_text(0.0)
    if total.priced:
        short = f"{per_hour_text(total.per_hour, total.currency)}{'+' if total.unpriced else ''}"
    return Fact(total_words(total), short, Tone.STRONG if total.priced else Tone.MUTED)


def without_text(left_out: NotCounted) -> str:
    """Return ``without 2 unmanaged nodes``: the nodes that totals leave out; empty if there are none."""
    parts = (
        (left_out.unmanaged, counted(left_out.unmanaged, "unmanaged node")),
        (left_out.leaving, f"{counted(left_out.leaving, 'node')} being removed"),
        (left_out.unlaunched, f"{counted(left_out.unlaunched, 'NodeClaim')} not launched"),
    )
    text = ", ".join(text for count, text in parts if count)
    return f"without {text}" if text else ""


def cost_change_tone(per_hour: float) -> Tone:
    """Return the tone of a change of the costs: savings are good."""
    if abs(per_hour) < LEAST_CHANGE:
        return Tone.MUTED
    return Tone.WARNING if per_hour > 0 else Tone.GOOD


def per_hour_of(price: Price | None) -> float | None:
    """Return a price per hour; None if unknown."""
    return price.per_hour if price is not None else None


def sort_price(entry: NodeEntry) -> float | None:
    """Return the price to sort by; None sorts last."""
    return per_hour_of(entry.price)


def money_column(
    heading: Heading, read: Callable[[ItemT], float], unpriced: Callable[[ItemT], int] = lambda _: 0, *, json: str = ""
) -> Column[ItemT]:
    """Return a column of dollars per hour; 0 is a dash.

    Args:
        unpriced: Nodes that they leave out: a plus behind them, n/a if there are no dollars.
        json: Their name in JSON and CSV; empty if these do not hold them.
    """

    def cell(item: ItemT, _: int) -> Cell:
        amount, left_out = read(item), unpriced(item)
        if not amount:
            return NOT_AVAILABLE if left_out else NOT_APPLICABLE
        return Cell(f"{sum_text(amount)}{'+' if left_out else ''}", Tone.NORMAL)

    field = Field[ItemT](FieldKind.MONEY, lambda item, _: read(item), filter_help(heading))
    return Column(heading, cell, read, filters=field, values=named(json, read, float, heading))
