"""EC2 error codes that Karpenter treats as insufficient capacity, with short texts."""

from __future__ import annotations

from typing import Final

NO_FREE_ADDRESSES: Final = "InsufficientFreeAddressesInSubnet"
NO_SPOT_ROLE: Final = "AuthFailure.ServiceLinkedRoleCreationNotPermitted"
RESERVATION_FULL: Final = "ReservationCapacityExceeded"
UNFULFILLABLE: Final = "UnfulfillableCapacity"
"""Also used if the error code is unknown."""

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
    """Return the text for an error code; other codes mean insufficient capacity."""
    return _WORDS.get(code, "insufficient capacity in EC2")
