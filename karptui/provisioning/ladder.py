"""Things in order of how much they have of a resource, as bit sets."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence


class Ladder:
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


def roomy(ladders: Sequence[Ladder], need: Sequence[int]) -> int:
    """Return what has at least these amounts, a ladder per column; everything without ladders."""
    mask = -1
    for ladder, amount in zip(ladders, need, strict=False):
        mask &= ladder.at_least(amount)
    return mask
