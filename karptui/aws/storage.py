"""Ephemeral storage of a node.

Source: ``ephemeralStorage`` in pkg/providers/instancetype/types.go of Karpenter's AWS provider.
"""

from __future__ import annotations

from typing import Final

from karptui.aws.ami_family import GIB
from karptui.aws.errors import NodeClassError
from karptui.aws.facts import InstanceTypeFacts
from karptui.aws.nodeclass import KIND, BlockDevice, Ec2NodeClass
from karptui.kube.quantity import Quantity, QuantityError, QuantityFormat, of_units, parse_quantity

GIGABYTE: Final = 10**9
UNKNOWN_STORAGE_BYTES: Final = 20 * GIB
"""Assumed where nothing says how large the disk is."""


def ephemeral_storage(facts: InstanceTypeFacts, nodeclass: Ec2NodeClass) -> Quantity:
    """Return the size of the file system that pods' ephemeral storage comes from.

    Raises:
        NodeClassError: A mapping that decides has no ``ebs`` or no ``deviceName``: Karpenter crashes on it.
    """
    if nodeclass.uses_raid0 and facts.store_gb is not None:
        return of_units(facts.store_gb * GIGABYTE)
    return volume_storage(nodeclass)


def volume_storage(nodeclass: Ec2NodeClass) -> Quantity:
    """Return what the EBS volumes give: the same for every type; see `ephemeral_storage`."""
    deciding = _deciding_sizes(nodeclass)
    for size in deciding:
        if size is not None:
            return size
    family = nodeclass.family
    default = UNKNOWN_STORAGE_BYTES if family.data_device is None else family.default_storage_bytes
    return of_units(default, QuantityFormat.BINARY_SI)


def _deciding_sizes(nodeclass: Ec2NodeClass) -> list[Quantity | None]:
    """Return the sizes of the mappings that Karpenter looks at, in its order, up to the first that has one."""
    devices = nodeclass.block_devices
    if not devices:
        return []
    root = next((index for index, device in enumerate(devices) if device.root_volume), None)
    if root is not None:
        size = _size(nodeclass, root)
        if size is not None:
            return [size]
    if nodeclass.family.data_device is None:
        return [_size(nodeclass, len(devices) - 1)]
    data = _data_device(nodeclass, devices)
    return [] if data is None else [_size(nodeclass, data)]


def _data_device(nodeclass: Ec2NodeClass, devices: tuple[BlockDevice, ...]) -> int | None:
    """Return the index of the first mapping of the family's data device; a second one is never read."""
    for index, device in enumerate(devices):
        if device.device_name is None:
            raise NodeClassError(
                f"{KIND} {nodeclass.name}: spec.blockDeviceMappings[{index}] has no deviceName; Karpenter crashes on it"
            )
        if device.device_name == nodeclass.family.data_device:
            return index
    return None


def _size(nodeclass: Ec2NodeClass, index: int) -> Quantity | None:
    field = f"{KIND} {nodeclass.name}: spec.blockDeviceMappings[{index}]"
    ebs = nodeclass.block_devices[index].ebs
    if ebs is None:
        raise NodeClassError(f"{field} has no ebs; Karpenter crashes on it")
    if ebs.volume_size is None:
        return None
    try:
        return parse_quantity(str(ebs.volume_size))
    except QuantityError as error:
        raise NodeClassError(f"{field}.ebs.volumeSize: {error}") from None
