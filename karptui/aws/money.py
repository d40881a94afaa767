"""Text of prices: four decimals for a node's hourly price, two for sums."""

from __future__ import annotations

from typing import Final

HOURS_PER_MONTH: Final = 730
"""365 × 24 / 12, the month that AWS and eks-node-viewer use."""
LEAST_CHANGE: Final = 0.005
"""Smallest price per hour that two digits show."""
_SYMBOLS: Final = {"USD": "$", "CNY": "¥"}


def node_price_text(amount: float, currency: str = "USD") -> str:
    """Return a node's hourly price: ``$0.0960``."""
    return f"{'-' if amount < 0 else ''}{_symbol(currency)}{abs(amount):,.4f}"


def sum_text(amount: float, currency: str = "USD") -> str:
    """Return a sum of money: ``$25.08``, ``-$3.10``."""
    return f"{'-' if amount < 0 else ''}{_symbol(currency)}{abs(amount):,.2f}"


def per_hour_text(amount: float, currency: str = "USD") -> str:
    """Return an hourly sum: ``$25.08/h``."""
    return f"{sum_text(amount, currency)}/h"


def saved_text(
    amount: float, currency: str = "USD", *, digits: int = 4, is_whole: bool = True, is_upper_bound: bool = False
) -> str:
    """Return hourly savings: ``saves $0.3830/h``, or ``costs $0.2380/h more`` if negative.

    Args:
        digits: Two or four.
        is_whole: Whether the amount is complete; otherwise a plus sign is appended.
        is_upper_bound: Whether the savings may be less.
    """
    if is_whole and not round(abs(amount), digits):
        return "saves nothing"
    number = (node_price_text if digits > 2 else sum_text)(abs(amount), currency)
    text = f"{'up to ' if is_upper_bound else ''}{number}/h{'' if is_whole else '+'}"
    return f"saves {text}" if amount >= 0 else f"costs {text} more"


def per_month_text(amount_per_hour: float, currency: str = "USD") -> str:
    """Return an hourly sum as a monthly one: ``$18,310/mo``."""
    return f"{_symbol(currency)}{amount_per_hour * HOURS_PER_MONTH:,.0f}/mo"


def total_text(amount: float, currency: str = "USD") -> str:
    """Return an hourly sum with the monthly one: ``$25.08/h · $18,310/mo``."""
    return f"{per_hour_text(amount, currency)} · {per_month_text(amount, currency)}"


def per_hour_change_text(amount: float) -> str:
    """Return the change of an hourly sum with its currency: ``+$5.42/h``."""
    return f"{'-' if amount < 0 else '+'}{per_hour_text(abs(amount))}"


def _symbol(currency: str) -> str:
    return _SYMBOLS.get(currency, f"{currency} ")
