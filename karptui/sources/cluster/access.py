"""What the user may do, asked of the API server."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from karptui.sources.cluster.errors import UnreachableError, one_line
from karptui.sources.cluster.resources import Resource
from karptui.sources.cluster.transport import Transport

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


@dataclass(frozen=True, slots=True)
class Permission:
    """The answer to a SelfSubjectAccessReview."""

    is_allowed: bool
    reason: str
    """The authorizer's words, which may be empty."""


class _Status(msgspec.Struct):
    allowed: bool = False
    reason: str | None = None


class _Review(msgspec.Struct):
    status: _Status = msgspec.field(default_factory=_Status)


def may(
    transport: Transport, verb: str, resource: Resource, *, namespace: str = "", name: str = "", subresource: str = ""
) -> Permission:
    """Ask whether the user may do something.

    Args:
        transport: the connection.
        verb: ``get``, ``list``, ``patch``, ``delete`` and so on.
        resource: what to.
        namespace: where; empty asks for all namespaces, and is right for cluster-scoped kinds.
        name: the object; empty asks for all of them.
        subresource: such as ``eviction``.

    Raises:
        SourceError: as ``Transport.get``.
    """
    attributes = {
        "verb": verb,
        "group": resource.group,
        "version": resource.version,
        "resource": resource.plural,
        "subresource": subresource,
        "namespace": namespace,
        "name": name,
    }
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {key: value for key, value in attributes.items() if value}},
    }
    try:
        answer = msgspec.json.decode(transport.post(REVIEWS, review), type=_Review)
    except msgspec.DecodeError as error:
        raise UnreachableError(f"{transport.server} did not answer with an access review: {error}") from error
    return Permission(answer.status.allowed, one_line(answer.status.reason or ""))
