"""The instance types of a NodePool as a whole: their order by price, and how many each filter leaves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from karptui.provisioning.type_verdict import Filter, FilterCount, TypeVerdict


def ranked_by_price(verdicts: Sequence[TypeVerdict]) -> tuple[TypeVerdict, ...]:
    """Return verdicts with the rank of each type that is left and has a price; types of one price share a rank."""
    prices = sorted(
        {one.price_per_hour for one in verdicts if one.removed_by is None and one.price_per_hour is not None}
    )
    order = {price: index for index, price in enumerate(prices, 1)}
    shared = Counter(one.price_per_hour for one in verdicts if one.removed_by is None)
    starts, before = {}, 0
    for price in order:
        starts[price] = before + 1
        before += shared[price]
    return tuple(
        msgspec.structs.replace(one, rank=starts[one.price_per_hour])
        if one.removed_by is None and one.price_per_hour is not None
        else one
        for one in verdicts
    )


def counts_by_filter(verdicts: Sequence[TypeVerdict]) -> tuple[FilterCount, ...]:
    """Return how many types each filter has removed and left, in the order of the filters."""
    left, counts = len(verdicts), []
    for step in Filter:
        reasons = Counter(one.reason for one in verdicts if one.removed_by is step)
        removed = sum(reasons.values())
        left -= removed
        counts.append(FilterCount(step, removed, left, tuple(reasons.most_common())))
    return tuple(counts)
