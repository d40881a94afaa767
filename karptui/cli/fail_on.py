"""Conditions and severities of ``--fail-on``, and the exit status if one is met."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from karptui.whatif.difference import Difference

FAILED: Final = 3
"""Exit status where a condition of ``--fail-on`` is met."""
REFUSED: Final = "refused"
"""A condition of ``--fail-on``: the API server would reject the edits."""
_COST: Final = re.compile(r"cost(?:\+(?P<amount>[0-9]+(?:\.[0-9]+)?)(?P<percent>%?))?")
_CENT: Final = 1e-6


class FailCondition(NamedTuple):
    """A condition of ``--fail-on``."""

    text: str
    kind: str
    """``pending``, ``drift`` or ``cost``."""
    amount: float = 0.0
    """Dollars per hour, or a share, that the costs may rise by."""
    is_share: bool = False

    def met(self, difference: Difference) -> str:
        """Return the reason if the condition is met, else an empty string."""
        if self.kind == "pending":
            count = len(difference.no_longer_fit)
            return f"{count} pods become unschedulable" if count else ""
        if self.kind == "drift":
            count = len(difference.drift_gained)
            return f"{count} NodeClaims would drift" if count else ""
        # Spot nodes of unknown price count as on-demand, so that no increase is missed.
        sides = difference.before
        before, change = sides.at_most_per_hour, difference.at_most_delta_per_hour
        limit = before * self.amount if self.is_share else self.amount
        most = "at most " if change != difference.price_delta_per_hour else ""
        return f"costs rise by {most}{change:.4f} $/h from {before:.4f} $/h" if change > limit + _CENT else ""


def parse_condition(text: str, *words: str) -> FailCondition | str:
    """Return a condition of ``--fail-on``: ``pending``, ``drift``, ``cost``, ``cost+10%``, ``cost+2.50``, or a word."""
    if text in words:
        return text
    if text in ("pending", "drift"):
        return FailCondition(text, text)
    match = _COST.fullmatch(text)
    if match is None:
        extra = "".join(f" {word}," for word in words)
        raise argparse.ArgumentTypeError(f"{text!r} is not pending, drift,{extra} cost, cost+10% or cost+2.50 ($/h)")
    amount = float(match["amount"] or 0)
    return FailCondition(text, "cost", amount / 100 if match["percent"] else amount, bool(match["percent"]))


SEVERITIES: Final = ("error", "warning", "info")
"""Worst first."""
_STATUSES: Final = {"error": 4, "warning": 3, "info": 3}


def severity_status(severities: Iterable[str], fail_on: str) -> int:
    """Return the exit status of findings: 0 if none has the severity ``fail_on`` or a worse one; ``never``: always."""
    bad = SEVERITIES[: SEVERITIES.index(fail_on) + 1] if fail_on in SEVERITIES else ()
    return max((_STATUSES[severity] for severity in severities if severity in bad), default=0)
