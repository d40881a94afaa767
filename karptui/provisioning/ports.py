"""Host ports that prevent pods from sharing a node.

Rules: ``pkg/scheduling/hostportusage.go``.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import ip_address

from karptui.kube.pod import HostPort

OwnedPorts = tuple[str, tuple[HostPort, ...]]
"""A pod (``namespace/name``) and its host ports."""


@lru_cache(maxsize=1024)
def _address(text: str) -> tuple[str, bool]:
    """Return an address in canonical form, and whether it means every address."""
    try:
        address = ip_address(text or "0.0.0.0")  # noqa: S104 - the unspecified address, not a socket
    except ValueError:
        return "", False
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address), (mapped or address).is_unspecified


def clashes(left: HostPort, right: HostPort) -> bool:
    """Return whether two host ports conflict: same port and protocol, on the same address or on all."""
    if left.port != right.port or left.protocol != right.protocol:
        return False
    (first, first_is_any), (second, second_is_any) = _address(left.host_ip), _address(right.host_ip)
    return first == second or first_is_any or second_is_any


def clash(pod_key: str, ports: Iterable[HostPort], taken: Iterable[OwnedPorts]) -> tuple[str, HostPort] | None:
    """Return the pod and host port that conflict with a pod's host ports, or None.

    Args:
        pod_key: ``namespace/name``; pods of the same name never conflict.
        taken: Host ports of the other pods on the node.
    """
    for port in ports:
        for owner, others in taken:
            if owner != pod_key:
                for other in others:
                    if clashes(port, other):
                        return owner, other
    return None
