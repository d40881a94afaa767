"""Resources that are not available to pods: VM memory overhead, kubeReserved, systemReserved, eviction thresholds.

Source: ``memory``, ``kubeReservedResources``, ``systemReservedResources`` and ``evictionThreshold`` in
pkg/providers/instancetype/types.go in Karpenter's AWS provider.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from karptui.aws.facts import InstanceTypeFacts
from karptui.aws.kubelet import eni_limited_pods
from karptui.aws.nodeclass import GIB, Ec2NodeClass, NodeClassError
from karptui.karpenter.instance_type import Overhead
from karptui.karpenter.nodeclass import EC2_KIND
from karptui.kube.quantity import (
    NANO,
    Quantity,
    QuantityError,
    QuantityFormat,
    of_millis,
    of_units,
    parse_float,
    parse_quantity,
)
from karptui.kube.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, ResourceList

MIB: Final = 1 << 20
ARM64_CMA_MIB: Final = 64
"""Contiguous memory that Graviton kernels reserve."""


def contiguous_memory_mib(facts: InstanceTypeFacts) -> int:
    """Return memory that the kernel reserves before the overhead percent is applied."""
    return ARM64_CMA_MIB if facts.architectures[:1] == ("arm64",) else 0


def vm_overhead_mib(facts: InstanceTypeFacts, overhead_percent: float) -> int:
    """Return VM_MEMORY_OVERHEAD_PERCENT of a type's memory, in whole MiB rounded up.

    Args:
        overhead_percent: A fraction in spite of its name: 0.075 is 7.5 %.
    """
    # Doubles, in the same order of operations as in Karpenter.
    size_bytes = (facts.memory_mib - contiguous_memory_mib(facts)) * MIB
    return math.ceil(size_bytes * overhead_percent / 1024 / 1024)


MEMORY_SIGNAL: Final = "memory.available"
STORAGE_SIGNAL: Final = "nodefs.available"

_MIB_PER_POD: Final = 11
_MIB_PER_NODE: Final = 255
_DEFAULT_STORAGE: Final = of_units(GIB, QuantityFormat.BINARY_SI)
_DEFAULT_EVICTION_MEMORY: Final = of_units(100 * MIB, QuantityFormat.BINARY_SI)
_CPU_TIERS: Final = ((0, 1000, 0.06), (1000, 2000, 0.01), (2000, 4000, 0.005), (4000, 1 << 31, 0.0025))
"""From millicores, to millicores, reserved share."""
_EXPONENT_FROM: Final = 1e6
"""From here on Go prints doubles with an exponent, which becomes the format of the quantity."""


@lru_cache(maxsize=256)
def kube_reserved_cpu_millis(vcpus: int) -> int:
    """Return the reserved cpu, the sum of each tier's share truncated to millicores."""
    millis = vcpus * 1000
    return sum(int((min(millis, end) - start) * share) for start, end, share in _CPU_TIERS if millis >= start)


def kube_reserved(vcpus: int, pods: int, nodeclass: Ec2NodeClass) -> dict[str, Quantity]:
    """Return kubeReserved: defaults, overridden per key by ``spec.kubelet.kubeReserved``.

    Args:
        pods: Pods allowed by the network interfaces; on Bottlerocket and Windows the effective number of pods.
    """
    reserved = {
        CPU: of_millis(kube_reserved_cpu_millis(vcpus)),
        MEMORY: of_units((_MIB_PER_POD * pods + _MIB_PER_NODE) * MIB, QuantityFormat.BINARY_SI),
        EPHEMERAL_STORAGE: _DEFAULT_STORAGE,
    }
    reserved.update(_quantities(nodeclass, "kubeReserved", nodeclass.kubelet.kube_reserved))
    return reserved


def system_reserved(nodeclass: Ec2NodeClass) -> dict[str, Quantity]:
    """Return ``spec.kubelet.systemReserved``; there is no default."""
    return _quantities(nodeclass, "systemReserved", nodeclass.kubelet.system_reserved)


def eviction_threshold(memory: Quantity, storage: Quantity, nodeclass: Ec2NodeClass) -> dict[str, Quantity]:
    """Return the hard eviction thresholds; ``evictionSoft`` and other signals have no effect on scheduling.

    Args:
        memory: Estimated capacity; percentages refer to it even if a node has reported its memory.
    """
    hard = nodeclass.kubelet.eviction_hard or {}
    memory_signal, storage_signal = hard.get(MEMORY_SIGNAL), hard.get(STORAGE_SIGNAL)
    return {
        MEMORY: _DEFAULT_EVICTION_MEMORY
        if memory_signal is None
        else _threshold(nodeclass, MEMORY_SIGNAL, memory_signal, memory),
        EPHEMERAL_STORAGE: _from_double(math.ceil(float(storage.units) / 100 * 10))
        if storage_signal is None
        else _threshold(nodeclass, STORAGE_SIGNAL, storage_signal, storage),
    }


def _threshold(nodeclass: Ec2NodeClass, signal: str, text: str, capacity: Quantity) -> Quantity:
    if not text.endswith("%"):
        return _quantity(nodeclass, f"evictionHard[{signal}]", text)
    number = text.strip("%")
    percent = parse_float(number)
    if percent is None or not math.isfinite(percent):
        field = f"spec.kubelet.evictionHard[{signal}]"
        raise NodeClassError(f"{EC2_KIND} {nodeclass.name}: {field}: {text!r} is not a percentage")
    # 100 % disables the threshold.
    share = 0.0 if percent == 100 else percent
    # The order of operations affects the last byte.
    return _from_double(math.ceil(capacity.nano / NANO / 100 * share))


def _from_double(whole: int) -> Quantity:
    """Return an integer in the format it has after Karpenter prints it as a double and parses it."""
    return of_units(
        whole, QuantityFormat.DECIMAL_EXPONENT if abs(whole) >= _EXPONENT_FROM else QuantityFormat.DECIMAL_SI
    )


def _quantities(nodeclass: Ec2NodeClass, field: str, texts: Mapping[str, str] | None) -> dict[str, Quantity]:
    return {key: _quantity(nodeclass, f"{field}[{key}]", text) for key, text in (texts or {}).items()}


def _quantity(nodeclass: Ec2NodeClass, field: str, text: str) -> Quantity:
    try:
        return parse_quantity(text)
    except QuantityError as error:
        raise NodeClassError(f"{EC2_KIND} {nodeclass.name}: spec.kubelet.{field}: {error}") from None


def overhead(facts: InstanceTypeFacts, nodeclass: Ec2NodeClass, estimate: ResourceList) -> Overhead:
    """Return a node's reserved resources.

    Args:
        estimate: Capacity from `karptui.aws.capacity.capacity`, with estimated memory.
    """
    if nodeclass.family.reserves_for_eni_pods:
        pods = eni_limited_pods(facts, 0, nodeclass.efa_only_on_first_card)
    else:
        pods = estimate[PODS].units
    memory, storage = estimate[MEMORY], estimate[EPHEMERAL_STORAGE]
    return Overhead(
        kube_reserved=kube_reserved(facts.vcpus, pods, nodeclass),
        system_reserved=system_reserved(nodeclass),
        eviction_threshold=eviction_threshold(memory, storage, nodeclass),
    )
