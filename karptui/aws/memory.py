"""Memory of a node before anything is reserved, as Karpenter estimates it.

Source: ``memory`` in pkg/providers/instancetype/types.go of Karpenter's AWS provider.
"""

from __future__ import annotations

import math
from typing import Final

from karptui.aws.facts import InstanceTypeFacts

MIB: Final = 1 << 20
ARM64_CMA_MIB: Final = 64
"""Contiguous memory that Graviton kernels set aside."""


def contiguous_memory_mib(facts: InstanceTypeFacts) -> int:
    """Return what the kernel sets aside before the overhead percent is taken."""
    return ARM64_CMA_MIB if facts.architectures[:1] == ("arm64",) else 0


def vm_overhead_mib(facts: InstanceTypeFacts, overhead_percent: float) -> int:
    """Return what VM_MEMORY_OVERHEAD_PERCENT takes, in whole MiB rounded up.

    Args:
        facts: The instance type.
        overhead_percent: A fraction in spite of its name: 0.075 is 7.5 %.
    """
    # Doubles in this order, as Karpenter computes it.
    size_bytes = (facts.memory_mib - contiguous_memory_mib(facts)) * MIB
    return math.ceil(size_bytes * overhead_percent / 1024 / 1024)


def estimated_memory_mib(facts: InstanceTypeFacts, overhead_percent: float) -> int:
    """Return the memory capacity that Karpenter plans with until a node of the type has reported its own."""
    return facts.memory_mib - contiguous_memory_mib(facts) - vm_overhead_mib(facts, overhead_percent)
