"""Dynamic Resource Allocation devices that Karpenter expects on an instance type before it has a node.

Behind the provider's gates DRANVIDIAGPU and DRAEFA, and IGNORE_DRA_REQUESTS. Sources: pkg/cloudprovider/
dynamicresources.go, pkg/providers/nvidiadra, efadra and drametadata in Karpenter's AWS provider 1.15.1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from karptui.aws.catalogue import known_devices
from karptui.karpenter.labels import AWS_GROUP
from karptui.karpenter.settings import Settings

GPU_GATE: Final = "DRANVIDIAGPU"
EFA_GATE: Final = "DRAEFA"
SHARING: Final = f"{AWS_GROUP}/nvidia-consumable-capacity"
"""EC2NodeClass annotation that lets pods share a GPU."""
_GPU_DRIVER: Final = "gpu.nvidia.com"
_EFA_DRIVER: Final = "dra.net"
_BOUND: Final = tuple(f"{_GPU_DRIVER}/{name}" for name in ("driverVersion", "cudaDriverVersion"))
"""Attributes known only on the node, with the same value for all its GPUs."""
_OFF: Final = ("", "disabled")
_SHARES: Final = re.compile(r"\+?0*[1-9][0-9]{0,18}", re.ASCII)
_MOST_SHARES: Final = (1 << 63) - 1


class DevicePool(msgspec.Struct, frozen=True, kw_only=True):
    """Devices that a driver is expected to publish on a node."""

    driver: str
    name: str
    devices: tuple[Mapping[str, Any], ...]
    """As in a ResourceSlice."""
    bound: tuple[str, ...] = ()
    """Attributes whose value is still unknown, but the same for all devices."""


def sharing_problem(value: str, settings: Settings) -> tuple[str, str]:
    """Return reason and message if the annotation makes a condition False, otherwise two empty strings."""
    if value not in (*_OFF, "memory", "unlimited") and not _shares(value):
        allowed = '"disabled", "memory", "unlimited", or a positive integer share count'
        return "NVIDIAConsumableCapacityInvalid", f'annotation {SHARING}, "{value}" is not one of {allowed}'
    if value not in _OFF and not settings.aws_gates.get(GPU_GATE, False):
        return (
            "DRADisabled",
            f"annotation {SHARING} enables GPU sharing, but the {GPU_GATE} feature gate is disabled",
        )
    return "", ""


def device_pools(instance_type: str, settings: Settings, sharing: str) -> tuple[DevicePool, ...]:
    """Return the devices of an instance type.

    Args:
        settings: Feature gates, IGNORE_DRA_REQUESTS and the version's rules are used.
        sharing: The NodeClass's annotation, or an empty string.
    """
    if settings.ignore_dra_requests or not settings.rules.has_dra_devices:
        return ()
    pools = []
    if settings.aws_gates.get(GPU_GATE, False):
        gpus = tuple(_shared(device, sharing) for device in known_devices("gpus").get(instance_type, ()))
        if gpus:
            pools.append(
                DevicePool(
                    driver=_GPU_DRIVER, name=f"gpus-{instance_type}", devices=_numbered("gpu", gpus), bound=_BOUND
                )
            )
    if settings.aws_gates.get(EFA_GATE, False) and (interfaces := known_devices("efas").get(instance_type, ())):
        name = f"network-{instance_type}"
        pools.append(DevicePool(driver=_EFA_DRIVER, name=name, devices=_numbered("efa", interfaces)))
    return tuple(pools)


def devices_document(pools: tuple[DevicePool, ...]) -> dict[str, Any]:
    """Return the devices of a type as a JSON document."""
    bindings = [
        {"attribute": attribute, "devices": [device["name"] for device in pool.devices]}
        for pool in pools
        for attribute in pool.bound
    ]
    templates = [{"driver": pool.driver, "pool": pool.name, "devices": list(pool.devices)} for pool in pools]
    return {"templates": templates, "bindings": bindings} if bindings else {"templates": templates}


def _numbered(prefix: str, devices: tuple[Mapping[str, Any], ...]) -> tuple[Mapping[str, Any], ...]:
    return tuple({"name": f"{prefix}-{index}", **device} for index, device in enumerate(devices))


def _shares(value: str) -> int:
    shares = int(value) if _SHARES.fullmatch(value) else 0
    return shares if shares <= _MOST_SHARES else 0


def _shared(device: Mapping[str, Any], sharing: str) -> Mapping[str, Any]:
    """Return a GPU that several claims may share; a GPU without a memory capacity is never shared."""
    memory = device.get("capacity", {}).get("memory")
    shares = _shares(sharing)
    if memory is None or not (sharing in ("memory", "unlimited") or shares):
        return device
    size = memory["value"]
    default, least = (size, "1Mi") if sharing == "memory" else ("0", "0")
    capacity = {
        **device["capacity"],
        "memory": {"value": size, "default": default, "min": least, "max": size, "step": "1Mi"},
    }
    if shares:
        capacity["shares"] = {"value": str(shares), "default": "1", "min": "1", "max": str(shares), "step": "1"}
    return {"allowMultipleAllocations": True, **device, "capacity": capacity}
