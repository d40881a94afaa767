"""Resource amounts as rows of integers in nano-units, and items indexed by amount as bit sets."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from karptui.kube.quantity import NANO, Quantity, QuantityFormat
from karptui.kube.resources import PODS, ResourceList

ONE_POD = Quantity(NANO, QuantityFormat.DECIMAL_EXPONENT)
"""The pod slot of every pod, in Karpenter's format."""


class Columns:
    """Maps resource names to columns of a row."""

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
        """Return amounts as a row, with a number of pod slots; resources that no pod requests are left out."""
        row = [0] * len(self.names)
        for name, amount in amounts.items():
            i = self.index.get(name)
            if i is not None:
                row[i] = amount.nano
        if pods:
            row[self.pods] = pods * NANO
        return tuple(row)


def with_pod_slots(amounts: ResourceList, pods: int = 1) -> dict[str, Quantity]:
    """Return requests including the slots of this many pods, as ``RequestsForPods`` does."""
    return {**amounts, PODS: ONE_POD if pods == 1 else Quantity(pods * NANO, QuantityFormat.DECIMAL_EXPONENT)}


class AmountIndex:
    """Items by amount of a resource, to find those with at least a given amount."""

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
        """Return the items with at least this amount, as bits."""
        i = bisect_left(self.amounts, amount)
        return self.masks[i] if i < len(self.masks) else 0

    def greatest(self, mask: int) -> int:
        """Return the largest amount of the items in ``mask``; 0 if there are none."""
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
    """Return the items with at least these amounts, given an index per column; all items without indexes."""
    mask = -1
    for amount_index, amount in zip(amount_indexes, need, strict=False):
        mask &= amount_index.at_least(amount)
    return mask
