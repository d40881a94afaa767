"""Seeded oddities on top of a snapshot: values that the API allows and that nobody writes first.

Fractions of a byte, offerings that are of any capacity type but one, cron strings with zones, volumes without a class,
ports of one number and several addresses, minimums of several keys… Karpenter's own code says what comes of them.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import Final

from tests.provisioning import odd_nodes, odd_pods, odd_pools
from tests.provisioning.crossing import Json
from tests.provisioning.odd import Odd

STEPS: Final[Sequence[Callable[[Odd], None]]] = (*odd_pools.STEPS, *odd_pods.STEPS, *odd_nodes.STEPS)
"""Whatever makes a snapshot odd."""


def odd(seed: str, base: Json, *, version: str = "", steps: Sequence[Callable[[Odd], None]] = STEPS) -> Json:
    """Return a snapshot with oddities; the same for the same seed and snapshot."""
    document: Json = json.loads(json.dumps(base))
    chance = random.Random(seed)
    oddities = Odd(chance, document, newer=version.startswith("1.15"))
    for _ in range(chance.choice((2, 4, 8, 16, 30))):
        chance.choice(steps)(oddities)
    return document | {"name": f"odd-{seed}"} | ({"karpenterVersion": version} if version else {})
