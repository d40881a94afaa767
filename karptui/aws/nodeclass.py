"""EC2NodeClasses: the fields that determine instance types and their resources; AMI families.

Sources: pkg/apis/v1/ec2nodeclass.go, ec2nodeclass_status.go and pkg/providers/amifamily in Karpenter's AWS provider.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Final, TypeVar

import msgspec

from karptui.aws.kubelet_rules import parse_problem
from karptui.decode.errors import field_error
from karptui.karpenter.nodeclass import EC2_KIND, NodeClass
from karptui.kube.selectors import NodeSelectorRequirement


class NodeClassError(ValueError):
    """Karpenter would reject or crash on the EC2NodeClass; the message names the object and the field."""


GIB: Final = 1 << 30


class AmiFamily(msgspec.Struct, frozen=True, kw_only=True):
    """Properties of an AMI family that affect a node's resources."""

    name: str
    data_device: str | None = "/dev/xvda"
    """Device with pods' ephemeral storage; None if unknown."""
    default_storage_bytes: int = 20 * GIB
    """Size of the data device if the NodeClass does not set it."""
    reserves_for_eni_pods: bool = True
    """Whether kubeReserved memory depends on the network interface limit instead of the effective number of pods."""
    honours_pods_per_core: bool = True
    limits_pods_by_enis: bool = True
    """Otherwise 110 pods for every type."""
    windows_build: str | None = None
    """``node.kubernetes.io/windows-build`` of the family's nodes."""
    owns_max_pods: bool = True
    """Whether Karpenter's maxPods overrides userData."""

    @property
    def is_windows(self) -> bool:
        """Whether nodes run Windows."""
        return self.windows_build is not None


def _windows(name: str, build: str) -> AmiFamily:
    return AmiFamily(
        name=name,
        data_device="/dev/sda1",
        default_storage_bytes=50 * GIB,
        reserves_for_eni_pods=False,
        limits_pods_by_enis=False,
        windows_build=build,
    )


AL2: Final = AmiFamily(name="AL2")
AL2023: Final = AmiFamily(name="AL2023")
BOTTLEROCKET: Final = AmiFamily(
    name="Bottlerocket", data_device="/dev/xvdb", reserves_for_eni_pods=False, honours_pods_per_core=False
)
CUSTOM: Final = AmiFamily(name="Custom", data_device=None, owns_max_pods=False)
WINDOWS_2019: Final = _windows("Windows2019", "10.0.17763")
WINDOWS_2022: Final = _windows("Windows2022", "10.0.20348")
WINDOWS_2025: Final = _windows("Windows2025", "10.0.26100")

FAMILIES: Final[Mapping[str, AmiFamily]] = {
    family.name: family for family in (AL2, AL2023, BOTTLEROCKET, CUSTOM, WINDOWS_2019, WINDOWS_2022, WINDOWS_2025)
}

AUTO_MODE: Final = AmiFamily(
    name="EKS Auto Mode",
    data_device="/dev/xvdb",
    default_storage_bytes=80 * GIB,
    reserves_for_eni_pods=False,
    honours_pods_per_core=False,
)
"""EKS Auto Mode's Bottlerocket; an EC2NodeClass cannot use it."""

ALIASES: Final[Mapping[str, AmiFamily]] = {
    name.lower(): family for name, family in FAMILIES.items() if family is not CUSTOM
}
"""Families by the prefix of AMI aliases such as ``al2023@latest``."""


RAID0: Final = "RAID0"
EFA_ONLY: Final = "efa-only"
EXPIRING: Final = "expiring"

_Shape = TypeVar("_Shape", bound="Shape")


class Shape(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of API objects; unknown fields are ignored."""


class Kubelet(Shape, frozen=True, kw_only=True):
    """``spec.kubelet``."""

    max_pods: int | str | None = None
    """Text is a CEL expression, evaluated per type by `karptui.aws.kubelet`."""
    pods_per_core: int | None = None
    kube_reserved: Mapping[str, str] | None = None
    system_reserved: Mapping[str, str] | None = None
    eviction_hard: Mapping[str, str] | None = None
    eviction_soft: Mapping[str, str] | None = None


class Ebs(Shape, frozen=True, kw_only=True):
    """``spec.blockDeviceMappings[].ebs``."""

    volume_size: str | int | None = None


class BlockDevice(Shape, frozen=True, kw_only=True):
    """An entry of ``spec.blockDeviceMappings``."""

    device_name: str | None = None
    ebs: Ebs | None = None
    root_volume: bool = False


class NetworkInterface(Shape, frozen=True, kw_only=True):
    """An entry of ``spec.networkInterfaces``."""

    network_card_index: int = 0
    device_index: int = 0
    interface_type: str = "interface"


class AmiTerm(Shape, frozen=True, kw_only=True):
    """An entry of ``spec.amiSelectorTerms``."""

    alias: str = ""


class CpuOptions(Shape, frozen=True, kw_only=True):
    """``spec.cpuOptions``."""

    nested_virtualization: str | None = None


class EnclaveOptions(Shape, frozen=True, kw_only=True):
    """``spec.enclaveOptions``, new in 1.15."""

    enabled: bool = False


class Spec(Shape, frozen=True, kw_only=True):
    """``spec``."""

    ami_family: str | None = None
    ami_selector_terms: tuple[AmiTerm, ...] | None = None
    kubelet: Kubelet | None = None
    block_device_mappings: tuple[BlockDevice, ...] | None = None
    instance_store_policy: str | None = None
    network_interfaces: tuple[NetworkInterface, ...] | None = None
    connection_tracking: Mapping[str, Any] | None = None
    cpu_options: CpuOptions | None = None
    enclave_options: EnclaveOptions | None = None
    placement_group_selector: Mapping[str, Any] | None = None
    user_data: str | None = None


class Subnet(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of ``status.subnets``."""

    id: str = ""
    zone: str = ""
    zone_id: str = msgspec.field(default="", name="zoneID")


class CapacityReservation(Shape, frozen=True, kw_only=True):
    """An entry of ``status.capacityReservations``."""

    id: str = ""
    instance_type: str = ""
    availability_zone: str = ""
    reservation_type: str = "default"
    interruptible: bool = False
    state: str = "active"


class AmiRequirement(Shape, frozen=True, kw_only=True):
    """An entry of an AMI's requirements."""

    key: str
    operator: str
    values: tuple[str, ...] | None = None


class Ami(Shape, frozen=True, kw_only=True):
    """An entry of ``status.amis``."""

    id: str = ""
    requirements: tuple[AmiRequirement, ...] | None = None

    @property
    def selectors(self) -> tuple[NodeSelectorRequirement, ...]:
        """Requirements that an instance type must meet to use the AMI."""
        return tuple(NodeSelectorRequirement(r.key, r.operator, r.values or ()) for r in self.requirements or ())


class Status(Shape, frozen=True, kw_only=True):
    """``status``."""

    subnets: tuple[Subnet, ...] | None = None
    amis: tuple[Ami, ...] | None = None
    capacity_reservations: tuple[CapacityReservation, ...] | None = None


class SubnetZone(msgspec.Struct, frozen=True):
    """A zone with subnets."""

    name: str
    zone_id: str
    """Empty if unknown."""


class Ec2NodeClass(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The fields of an EC2NodeClass that affect instance types."""

    name: str
    family: AmiFamily
    spec: Spec
    status: Status

    @property
    def kubelet(self) -> Kubelet:
        """``spec.kubelet``, empty if absent."""
        return self.spec.kubelet or _NO_KUBELET

    @property
    def block_devices(self) -> tuple[BlockDevice, ...]:
        """``spec.blockDeviceMappings``; an empty list counts as none."""
        return self.spec.block_device_mappings or ()

    @property
    def uses_raid0(self) -> bool:
        """Whether local disks are used for pods' ephemeral storage."""
        return self.spec.instance_store_policy == RAID0

    @property
    def efa_only_count(self) -> int:
        """Number of network interfaces that only support EFA."""
        return sum(interface.interface_type == EFA_ONLY for interface in self.spec.network_interfaces or ())

    @property
    def efa_only_on_first_card(self) -> int:
        """Number of EFA-only interfaces on card 0, where they reduce the addresses for pods."""
        return sum(
            interface.interface_type == EFA_ONLY and interface.network_card_index == 0
            for interface in self.spec.network_interfaces or ()
        )

    @property
    def wants_nested_virtualization(self) -> bool:
        """Whether only types with nested virtualization are compatible."""
        options = self.spec.cpu_options
        return options is not None and options.nested_virtualization == "enabled"

    @property
    def wants_enclaves(self) -> bool:
        """Whether only types with Nitro Enclaves are compatible."""
        options = self.spec.enclave_options
        return options is not None and options.enabled

    @cached_property
    def zones(self) -> tuple[SubnetZone, ...]:
        """Zones of the subnets, one per zone ID; the first subnet with an ID determines the name.

        Subnets without a zone ID therefore count as a single zone, that of the first one.
        """
        by_id: dict[str, SubnetZone] = {}
        for subnet in self.status.subnets or ():
            by_id.setdefault(subnet.zone_id, SubnetZone(subnet.zone, subnet.zone_id))
        return tuple(by_id.values())

    @cached_property
    def reservations(self) -> Mapping[str, tuple[CapacityReservation, ...]]:
        """Capacity reservations in the status, by instance type."""
        by_type: dict[str, tuple[CapacityReservation, ...]] = {}
        for reservation in self.status.capacity_reservations or ():
            by_type[reservation.instance_type] = (*by_type.get(reservation.instance_type, ()), reservation)
        return by_type

    @property
    def amis(self) -> tuple[Ami, ...]:
        """AMIs in the status, in the order in which Karpenter tries them."""
        return self.status.amis or ()


_NO_KUBELET: Final = Kubelet()


def parse_nodeclass(nodeclass: NodeClass) -> Ec2NodeClass:
    """Parse an EC2NodeClass.

    Raises:
        NodeClassError: A field has the wrong type, or an alias is unknown; names object and field.
    """
    return parse_spec_and_status(nodeclass.name, nodeclass.spec, nodeclass.status)


def readable(nodeclass: NodeClass) -> Ec2NodeClass | None:
    """Return an EC2NodeClass; None if it cannot be parsed."""
    try:
        return parse_nodeclass(nodeclass)
    except NodeClassError:
        return None


def parse_spec_and_status(name: str, spec: Mapping[str, Any], status: Mapping[str, Any]) -> Ec2NodeClass:
    """Parse an EC2NodeClass from its spec and status; see `parse_nodeclass`."""
    parsed_spec = _convert(name, "spec", spec, Spec)
    if problem := parse_problem(spec.get("kubelet") or {}):
        raise NodeClassError(f"{EC2_KIND} {name}: spec.kubelet: {problem}")
    parsed_status = _convert(name, "status", status, Status)
    return Ec2NodeClass(name=name, family=_family(name, parsed_spec), spec=parsed_spec, status=parsed_status)


def read_auto_mode(nodeclass: NodeClass) -> Ec2NodeClass:
    """Parse a NodeClass of EKS Auto Mode as an EC2NodeClass; invalid fields are ignored.

    Source: "Create node class" in the EKS User Guide.
    """
    storage = nodeclass.spec.get("ephemeralStorage")
    size = storage.get("size") if isinstance(storage, Mapping) else None
    device = BlockDevice(device_name=AUTO_MODE.data_device, ebs=Ebs(volume_size=str(size) if size else None))
    spec = Spec(block_device_mappings=(device,))
    status = Status(subnets=subnets_of(nodeclass))
    return Ec2NodeClass(name=nodeclass.name, family=AUTO_MODE, spec=spec, status=status)


def subnets_of(nodeclass: NodeClass) -> tuple[Subnet, ...]:
    """Return the subnets in a NodeClass's status; empty if they cannot be parsed."""
    try:
        return msgspec.convert({"subnets": nodeclass.status.get("subnets")}, Status).subnets or ()
    except msgspec.ValidationError:
        return ()


def _convert(name: str, part: str, content: Mapping[str, Any], type_: type[_Shape]) -> _Shape:
    try:
        return msgspec.convert(content, type_)
    except msgspec.ValidationError as error:
        problem = field_error(error, content)
        where = f"{part}.{problem.path}" if problem.path else part
        raise NodeClassError(f"{EC2_KIND} {name}: {where}: {problem.problem}") from None


def _family(name: str, spec: Spec) -> AmiFamily:
    """Return the family of ``amiFamily``, of the first alias, or Custom; unknown families behave like AL2."""
    if spec.ami_family is not None:
        return FAMILIES.get(spec.ami_family, AL2)
    return family_of_terms(name, spec.ami_selector_terms or ())


def family_of_terms(name: str, terms: Iterable[AmiTerm]) -> AmiFamily:
    """Return the family that AMI selector terms imply.

    Raises:
        NodeClassError: The alias is not ``family@version`` with a known family, which stops Karpenter.
    """
    alias = next((term.alias for term in terms if term.alias), None)
    if alias is None:
        return CUSTOM
    parts = alias.split("@")
    if len(parts) != 2 or parts[0] not in ALIASES:
        families = ", ".join(ALIASES)
        raise NodeClassError(
            f"{EC2_KIND} {name}: spec.amiSelectorTerms: alias {alias!r} is not one of {families}, @ and a version"
        )
    return ALIASES[parts[0]]
