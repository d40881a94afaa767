"""Devices of Dynamic Resource Allocation that Karpenter expects on a type before a node of it exists.

Behind the provider's gates DRANVIDIAGPU and DRAEFA, and IGNORE_DRA_REQUESTS. Sources: pkg/cloudprovider/
dynamicresources.go, pkg/providers/nvidiadra, efadra and drametadata of Karpenter's AWS provider 1.15.1.
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
"""The annotation of an EC2NodeClass that lets pods share a GPU."""
_GPU_DRIVER: Final = "gpu.nvidia.com"
_EFA_DRIVER: Final = "dra.net"
_BOUND: Final = tuple(f"{_GPU_DRIVER}/{name}" for name in ("driverVersion", "cudaDriverVersion"))
"""What is known on the node alone, and the same for all its GPUs."""
_OFF: Final = ("", "disabled")
_SHARES: Final = re.compile(r"\+?0*[1-9][0-9]{0,18}", re.ASCII)
_MOST_SHARES: Final = (1 << 63) - 1


class DevicePool(msgspec.Struct, frozen=True, kw_only=True):
    """The devices that one driver is expected to publish on a node."""

    driver: str
    name: str
    devices: tuple[Mapping[str, Any], ...]
    """As a ResourceSlice holds them."""
    bound: tuple[str, ...] = ()
    """Attributes whose value is not known yet, and one for all devices."""


def sharing_problem(value: str, settings: Settings) -> tuple[str, str]:
    """Return reason and message of the condition that the annotation makes False, empty where it makes none."""
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
    """Return the devices of a type.

    Args:
        instance_type: Its name; most types with accelerators have no table.
        settings: The gates, IGNORE_DRA_REQUESTS and the rules of the version count.
        sharing: The NodeClass's annotation, empty where it has none.
    """
    if settings.ignore_dra_requests or not settings.rules.has_dra_devices:
        return ()
    found = []
    if settings.aws_gates.get(GPU_GATE, False):
        gpus = tuple(_shared(one, sharing) for one in known_devices("gpus").get(instance_type, ()))
        if gpus:
            found.append(
                DevicePool(driver=_GPU_DRIVER, name=f"gpus-{instance_type}", devices=_named("gpu", gpus), bound=_BOUND)
            )
    if settings.aws_gates.get(EFA_GATE, False):
        interfaces = known_devices("efas").get(instance_type, ())
        if interfaces:
            name = f"network-{instance_type}"
            found.append(DevicePool(driver=_EFA_DRIVER, name=name, devices=_named("efa", interfaces)))
    return tuple(found)


def devices_document(pools: tuple[DevicePool, ...]) -> dict[str, Any]:
    """Return the devices of a type as scripts read them."""
    bindings = [
        {"attribute": attribute, "devices": [one["name"] for one in pool.devices]}
        for pool in pools
        for attribute in pool.bound
    ]
    templates = [{"driver": pool.driver, "pool": pool.name, "devices": list(pool.devices)} for pool in pools]
    return {"templates": templates, "bindings": bindings} if bindings else {"templates": templates}


def _named(prefix: str, devices: tuple[Mapping[str, Any], ...]) -> tuple[Mapping[str, Any], ...]:
    return tuple({"name": f"{prefix}-{index}", **one} for index, one in enumerate(devices))


def _shares(value: str) -> int:
    shares = int(value) if _SHARES.fullmatch(value) else 0
    return shares if shares <= _MOST_SHARES else 0


def _shared(device: Mapping[str, Any], sharing: str) -> Mapping[str, Any]:
    """Return a GPU that several claims may take from; one without a memory capacity is never shared."""
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
