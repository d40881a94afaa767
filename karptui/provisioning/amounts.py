"""Resource amounts as rows of integers in nano-units, and things in order of how much they have, as bit sets."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from karptui.kube.quantity import NANO, Quantity, QuantityFormat
from karptui.kube.resources import PODS, ResourceList

ONE_POD = Quantity(NANO, QuantityFormat.DECIMAL_EXPONENT)
"""The slot that every pod takes, in the format in which Karpenter counts it."""


class Columns:
    """Which resource stands in which column."""

    def __init__(self, lists: Iterable[ResourceList]) -> None:
        names: set[str] = set()
        for amounts in lists:
            if not amounts.keys() <= names:
                names.update(name for name, amount in amounts.items() if amount.nano)
        self.names = tuple(sorted(names | {PODS}))
        self.index = {name: i for i, name in enumerate(self.names)}
        self.pods = self.index[PODS]
        self.zero = (0,) * len(self.names)

    def row(self, amounts: ResourceList, pods: int = 0) -> tuple[int, ...]:
        """Return amounts as a row, with a number of pod slots; resources that nothing asks for are left out."""
        row = [0] * len(self.names)
        for name, amount in amounts.items():
            i = self.index.get(name)
            if i is not None:
                row[i] = amount.nano
        if pods:
            row[self.pods] = pods * NANO
        return tuple(row)


def with_pod_slots(amounts: ResourceList, pods: int = 1) -> dict[str, Quantity]:
    """Return requests with the slots of this many pods, as ``RequestsForPods`` counts them."""
    return {**amounts, PODS: ONE_POD if pods == 1 else Quantity(pods * NANO, QuantityFormat.DECIMAL_EXPONENT)}


class AmountIndex:
    """Things by how much they have of one resource: answers which have at least so much."""

    __slots__ = ("amounts", "masks")

    def __init__(self, mask_by_amount: dict[int, int]) -> None:
        self.amounts = sorted(mask_by_amount)
        masks = []
        mask = 0
        for amount in reversed(self.amounts):
            mask |= mask_by_amount[amount]
            masks.append(mask)
        masks.reverse()
        self.masks = masks

    def at_least(self, amount: int) -> int:
        """Return those that have this much or more."""
        i = bisect_left(self.amounts, amount)
        return self.masks[i] if i < len(self.masks) else 0

    def greatest(self, mask: int) -> int:
        """Return the most that any of ``mask`` has; 0 if none of them has any."""
        amounts, masks = self.amounts, self.masks
        low, high = 0, len(masks)
        while low < high:
            middle = (low + high) // 2
            if masks[middle] & mask:
                low = middle + 1
            else:
                high = middle
        return amounts[low - 1] if low else 0


def roomy(amount_indexes: Sequence[AmountIndex], need: Sequence[int]) -> int:
    """Return what has at least these amounts, an index per column; everything without indexes."""
    mask = -1
    for amount_index, amount in zip(amount_indexes, need, strict=False):
        mask &= amount_index.at_least(amount)
    return mask
