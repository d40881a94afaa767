"""Seeded oddities added to a snapshot: values that the API allows but authors of tests rarely write.

For example fractions of a byte, offerings of every capacity type except one, cron strings with time zones, volumes
without a class, equal ports on several addresses, minValues of several keys. Karpenter's code gives the answers.
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
"""All functions that add an oddity."""


def odd(seed: str, base: Json, *, version: str = "", steps: Sequence[Callable[[Odd], None]] = STEPS) -> Json:
    """Return a snapshot with oddities; equal seeds and snapshots give equal results."""
    document: Json = json.loads(json.dumps(base))
    chance = random.Random(seed)
    oddities = Odd(chance, document, newer=version.startswith("1.15"))
    for _ in range(chance.choice((2, 4, 8, 16, 30))):
        chance.choice(steps)(oddities)
    return document | {"name": f"odd-{seed}"} | ({"karpenterVersion": version} if version else {})
