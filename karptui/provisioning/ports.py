"""Host ports: which pods cannot share a node.

Rules: ``pkg/scheduling/hostportusage.go``.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import ip_address

from karptui.kube.pod import HostPort

OwnedPorts = tuple[str, tuple[HostPort, ...]]
"""A pod (``namespace/name``) and the host ports it takes."""


@lru_cache(maxsize=1024)
def _address(text: str) -> tuple[str, bool]:
    """Return an address in one spelling, and whether it stands for every address."""
    try:
        address = ip_address(text or "0.0.0.0")  # noqa: S104 - the unspecified address, not a socket
    except ValueError:
        return "", False
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address), (mapped or address).is_unspecified


def clashes(one: HostPort, other: HostPort) -> bool:
    """Return whether two host ports exclude each other: same port and protocol, on one address or on all."""
    if one.port != other.port or one.protocol != other.protocol:
        return False
    (first, first_is_any), (second, second_is_any) = _address(one.host_ip), _address(other.host_ip)
    return first == second or first_is_any or second_is_any


def clash(pod_key: str, ports: Iterable[HostPort], taken: Iterable[OwnedPorts]) -> tuple[str, HostPort] | None:
    """Return the pod and the port that leave no room for a pod's ports, None if there is room.

    Args:
        pod_key: ``namespace/name``; a pod of this name never clashes with itself.
        ports: What the pod takes.
        taken: What others on the node take.
    """
    for port in ports:
        for owner, others in taken:
            if owner != pod_key:
                for other in others:
                    if clashes(port, other):
                        return owner, other
    return None
