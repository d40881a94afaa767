"""What Karpenter reckons as what the user pays: with the multiplier and the surcharge of the price settings.

Karpenter decides by prices as they are listed; only the dollars that are told of its decisions change.
"""

from __future__ import annotations

import msgspec

from karptui.aws.prices import LIST_PRICES, PriceSettings
from karptui.disruption.analysis import NextCommand
from karptui.disruption.verdict import Replacement, Verdict


def billed_verdict(verdict: Verdict, settings: PriceSettings) -> Verdict:
    """Return what becomes of one node, in dollars that are paid."""
    if settings == LIST_PRICES or not verdict.goes:
        return verdict
    return msgspec.structs.replace(
        verdict,
        savings_per_hour=settings.saved(verdict.savings_per_hour, 1 - len(verdict.replacements)),
        replacements=_billed(verdict.replacements, settings),
    )


def billed_command(command: NextCommand, settings: PriceSettings) -> NextCommand:
    """Return a command in dollars that are paid."""
    if settings == LIST_PRICES:
        return command
    fewer_nodes = len(command.node_names) - len(command.replacements)
    return msgspec.structs.replace(
        command,
        savings_per_hour=settings.saved(command.savings_per_hour, fewer_nodes),
        replacements=_billed(command.replacements, settings),
    )


def _billed(replacements: tuple[Replacement, ...], settings: PriceSettings) -> tuple[Replacement, ...]:
    return tuple(
        msgspec.structs.replace(one, price_per_hour=settings.paid(one.price_per_hour) or 0.0) for one in replacements
    )
