"""What Karpenter leaves to the order of Go's maps: which of equal nodes is first, and which NodePool begins.

Rules: ``DeepCopyNodes`` in ``pkg/controllers/state/cluster.go``, whose order unstable sorts keep or not, and
``shuffleCandidates`` in ``pkg/controllers/disruption/singlenodeconsolidation.go``.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Final

from karptui.disruption.candidate import Candidate

_GROUP: Final = 8
"""Places of a small map of Go: a walk begins with any of them, and goes round in the order of entry."""


class Chance:
    """Draws an order where Karpenter has none; without a generator the likeliest, with equal nodes by name."""

    def __init__(self, rng: random.Random | None = None) -> None:
        self._rng = rng

    def nodes(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        """Return candidates in the order in which they come before anything sorts them."""
        found = sorted(candidates, key=lambda one: one.name)
        if self._rng is not None:
            self._rng.shuffle(found)
        return found

    def pools(self, entered: Iterable[str]) -> list[str]:
        """Return the names of NodePools as a walk over a map gives them.

        Args:
            entered: In the order in which they entered the map.
        """
        found = list(entered)
        if self._rng is None:
            return found
        if len(found) > _GROUP:
            self._rng.shuffle(found)
            return found
        first = self._rng.randrange(_GROUP)
        return found[first:] + found[:first]


LIKELIEST: Final = Chance()
