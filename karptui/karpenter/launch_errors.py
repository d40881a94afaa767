"""EC2's error codes that Karpenter takes for lack of capacity, in words."""

from __future__ import annotations

from typing import Final

NO_FREE_ADDRESSES: Final = "InsufficientFreeAddressesInSubnet"
NO_SPOT_ROLE: Final = "AuthFailure.ServiceLinkedRoleCreationNotPermitted"
RESERVATION_FULL: Final = "ReservationCapacityExceeded"
UNFULFILLABLE: Final = "UnfulfillableCapacity"
"""Also stands for a code that is not known."""

_WORDS: Final = {
    NO_FREE_ADDRESSES: "no free IP addresses in the subnets",
    NO_SPOT_ROLE: "no permission to create EC2's service-linked role for spot",
    RESERVATION_FULL: "reservation full",
    "MaxFleetCountExceeded": "quota of EC2 fleets reached",
    "MaxSpotInstanceCountExceeded": "spot quota reached",
    "Unsupported": "not supported by EC2",
    "VcpuLimitExceeded": "vCPU quota reached",
}


def error_words(code: str) -> str:
    """Return the words for an error code; codes without words of their own mean that EC2 has no capacity."""
    return _WORDS.get(code, "insufficient capacity in EC2")
