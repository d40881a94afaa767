"""AMI families: what the operating system decides about pods, reservations and disks.

Source: pkg/providers/amifamily of Karpenter's AWS provider, one file per family.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

GIB: Final = 1 << 30


class AmiFamily(msgspec.Struct, frozen=True, kw_only=True):
    """The traits of one family that change what a node offers."""

    name: str
    data_device: str | None = "/dev/xvda"
    """The device that holds pods' ephemeral storage; None where it cannot be known."""
    default_storage_bytes: int = 20 * GIB
    """Size of the data device where the NodeClass gives none."""
    reserves_for_eni_pods: bool = True
    """Whether kubeReserved memory follows the interface limit rather than the effective number of pods."""
    honours_pods_per_core: bool = True
    limits_pods_by_enis: bool = True
    """Otherwise 110 pods, whatever the type."""
    windows_build: str | None = None
    """``node.kubernetes.io/windows-build`` of the family's nodes."""
    owns_max_pods: bool = True
    """Whether Karpenter writes maxPods to the node itself, over what userData says."""

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

ALIASES: Final[Mapping[str, AmiFamily]] = {
    name.lower(): family for name, family in FAMILIES.items() if family is not CUSTOM
}
"""Families by the word that an AMI alias such as ``al2023@latest`` begins with."""
