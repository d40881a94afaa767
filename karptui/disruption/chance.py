"""Orders that Karpenter leaves to Go's map iteration: between equal nodes, and between NodePools.

Rules: ``DeepCopyNodes`` in ``pkg/controllers/state/cluster.go``, whose order may survive unstable sorts, and
``shuffleCandidates`` in ``pkg/controllers/disruption/singlenodeconsolidation.go``.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Final

from karptui.disruption.candidate import Candidate

_GROUP: Final = 8
"""Slots of a small Go map: an iteration starts at a random one and continues in insertion order."""


class Chance:
    """Draws random orders; without a generator, takes equal nodes by name and NodePools in order."""

    def __init__(self, rng: random.Random | None = None) -> None:
        self._rng = rng

    def nodes(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        """Return candidates in the order before sorting."""
        ordered = sorted(candidates, key=lambda candidate: candidate.name)
        if self._rng is not None:
            self._rng.shuffle(ordered)
        return ordered

    def pools(self, entered: Iterable[str]) -> list[str]:
        """Return the names of NodePools in the order of a map iteration.

        Args:
            entered: In the order of insertion into the map.
        """
        names = list(entered)
        if self._rng is None:
            return names
        if len(names) > _GROUP:
            self._rng.shuffle(names)
            return names
        first = self._rng.randrange(_GROUP)
        return names[first:] + names[:first]


LIKELIEST: Final = Chance()
