"""How money is written: four digits for one node's hour, two for sums."""

from __future__ import annotations

from typing import Final

HOURS_PER_MONTH: Final = 730
"""365 × 24 / 12, the month that AWS and eks-node-viewer bill by."""
_SYMBOLS: Final = {"USD": "$", "CNY": "¥"}


def node_price_text(amount: float, currency: str = "USD") -> str:
    """Return what one node costs per hour: ``$0.0960``."""
    return f"{'-' if amount < 0 else ''}{_symbol(currency)}{abs(amount):,.4f}"


def sum_text(amount: float, currency: str = "USD") -> str:
    """Return a sum: ``$25.08``, ``-$3.10``."""
    return f"{'-' if amount < 0 else ''}{_symbol(currency)}{abs(amount):,.2f}"


def per_hour_text(amount: float, currency: str = "USD") -> str:
    """Return a sum per hour: ``$25.08/h``."""
    return f"{_symbol(currency)}{amount:,.2f}/h"


def saved_text(amount: float, *, digits: int = 4, is_whole: bool = True) -> str:
    """Return what a change saves per hour: ``saves $0.3830/h``, or ``costs $0.2380/h more`` where it saves less than 0.

    Args:
        amount: Saved per hour.
        digits: Behind the point.
        is_whole: Whether nothing is missing in it; else a plus stands behind it.
    """
    said = f"{abs(amount):,.{digits}f}"
    if is_whole and not float(said.replace(",", "")):
        return "saves nothing"
    text = f"${said}/h{'' if is_whole else '+'}"
    return f"saves {text}" if amount >= 0 else f"costs {text} more"


def per_month_text(amount_per_hour: float, currency: str = "USD") -> str:
    """Return what a sum per hour comes to in a month: ``$18,310/mo``."""
    return f"{_symbol(currency)}{amount_per_hour * HOURS_PER_MONTH:,.0f}/mo"


def total_text(amount: float, currency: str = "USD") -> str:
    """Return a sum per hour and month: ``$25.08/h · $18,310/mo``."""
    return f"{per_hour_text(amount, currency)} · {per_month_text(amount, currency)}"


def change_text(amount: float) -> str:
    """Return by how much a sum per hour changes: ``+5.42 $/h``."""
    return f"{amount:+,.2f} $/h"


def per_hour_change_text(amount: float, currency: str = "USD") -> str:
    """Return the same with the currency: ``+$5.42/h``."""
    return f"{'-' if amount < 0 else '+'}{per_hour_text(abs(amount), currency)}"


def _symbol(currency: str) -> str:
    return _SYMBOLS.get(currency, f"{currency} ")
