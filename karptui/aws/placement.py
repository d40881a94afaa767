"""Placement groups that a NodeClass launches into."""

from __future__ import annotations

from typing import Final

import msgspec

PARTITION: Final = "partition"


class PlacementGroup(msgspec.Struct, frozen=True):
    """An EC2 placement group."""

    id: str
    strategy: str
    """``cluster``, ``spread`` or ``partition``."""
    partitions: int = 0
    """Of a partition group."""

    @property
    def partition_names(self) -> tuple[str, ...]:
        """``1`` to the number of partitions; empty for other strategies."""
        return tuple(str(number + 1) for number in range(self.partitions)) if self.strategy == PARTITION else ()
