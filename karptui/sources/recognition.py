"""Whose word counts: the namespaces in which objects that are labelled as Karpenter are Karpenter's.

A label proves nothing, as whoever may make pods in a namespace may put it there. What proves something is what others
cannot have: a place in kube-system, else the lease by which Karpenter's replicas agree on a leader, held by one of the
pods; of several such leases the oldest, as nobody else chooses when an object was made. Source of the names:
pkg/operator/options/options.go of Karpenter, and the chart of its AWS provider.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Protocol
from urllib.parse import quote

import msgspec

from karptui.sources.cluster.body import decoded
from karptui.sources.cluster.errors import ApiError

SELECTOR: Final = "app.kubernetes.io/name=karpenter"
LEASE: Final = "karpenter-leader-election"
OWN_NAMESPACE: Final = "kube-system"
"""Nobody but who runs the cluster puts anything there."""
USUAL_NAMESPACE: Final = "karpenter"
"""Believed where nothing proves another one."""
JSON: Final = "application/json"
_LEASES: Final = "/apis/coordination.k8s.io/v1"


class ProxyClient(Protocol):
    """Sends GET requests to the API server as the user; ``sources.cluster.transport.Transport`` is one."""

    def get(
        self,
        path: str,
        query: Mapping[str, str] | None = None,
        *,
        accept: str = JSON,
        read_seconds: float | None = None,
    ) -> bytes:
        """Return the body of the answer.

        Raises:
            SourceError: when there is none, or it is an error.
        """
        ...


class Place(msgspec.Struct, frozen=True):
    """A namespace that may be Karpenter's."""

    namespace: str
    holder: str = ""
    """The pod that holds the lease; empty where the namespace itself is proof enough."""

    def is_proven_by(self, name: str) -> bool:
        """Return whether a pod, or what makes such pods, holds the lease where one is needed."""
        return not self.holder or self.holder == name or self.holder.startswith(f"{name}-")


class _Metadata(msgspec.Struct, rename="camel"):
    namespace: str = ""
    creation_timestamp: str = ""


class _LeaseSpec(msgspec.Struct, rename="camel"):
    holder_identity: str = ""


class _Lease(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    spec: _LeaseSpec = msgspec.field(default_factory=_LeaseSpec)


class _Leases(msgspec.Struct):
    items: list[_Lease] = []


def places(client: ProxyClient, *, read_seconds: float) -> Iterator[Place]:
    """Return where Karpenter may be, the best proof first; leases are asked for only when they are needed.

    Raises:
        SourceError: when the server does not answer.
    """
    yield Place(OWN_NAMESPACE)
    for lease in sorted(_leases(client, read_seconds), key=lambda one: one.metadata.creation_timestamp):
        holder, namespace = lease.spec.holder_identity.partition("_")[0], lease.metadata.namespace
        if holder and namespace not in ("", OWN_NAMESPACE):
            yield Place(namespace, holder)
    yield Place(USUAL_NAMESPACE)


def _leases(client: ProxyClient, read_seconds: float) -> list[_Lease]:
    """Return the leases of that name, of all namespaces or, where that is not allowed, of the usual one."""
    query = {"fieldSelector": f"metadata.name={LEASE}"}
    for path in (f"{_LEASES}/leases", f"{_LEASES}/namespaces/{USUAL_NAMESPACE}/leases"):
        try:
            body = client.get(path, query, read_seconds=read_seconds)
        except ApiError:
            continue
        return decoded(body, _Leases, "the API server's answer cannot be read").items
    return []


def path_in(group: str, namespace: str, resource: str) -> str:
    """Return the path of a collection in one namespace."""
    return f"{group}/namespaces/{quote(namespace, safe='')}/{resource}"
