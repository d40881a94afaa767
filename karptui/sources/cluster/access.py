"""What the user may do, asked of the API server."""

from __future__ import annotations

from dataclasses import dataclass

from karptui.sources.cluster.errors import UnreachableError, one_line
from karptui.sources.cluster.resources import Resource
from karptui.sources.cluster.transport import Transport


@dataclass(frozen=True, slots=True)
class Permission:
    """The answer to a SelfSubjectAccessReview."""

    is_allowed: bool
    reason: str
    """The authorizer's words, which may be empty."""


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
    # Imported by whoever asks first: it takes longer than the first rows.
    from karptui.sources.cluster.official_client import UnreadableAnswerError, review_access  # noqa: PLC0415

    attributes = {
        "verb": verb,
        "group": resource.group,
        "version": resource.version,
        "resource": resource.plural,
        "subresource": subresource,
        "namespace": namespace,
        "name": name,
    }
    try:
        is_allowed, reason = review_access(transport, {key: value for key, value in attributes.items() if value})
    except UnreadableAnswerError as error:
        raise UnreachableError(
            f"{transport.server} did not answer with an access review: {one_line(str(error))}"
        ) from error
    return Permission(is_allowed, one_line(reason))
