"""Discovers Karpenter's kinds on an API server, and their versions.

Source of the protocol: the Kubernetes document "The Kubernetes API", sections on aggregated and unaggregated
discovery.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

import msgspec

from karptui.decode.kinds import Kind, kind_of, may_hold_nodeclasses
from karptui.sources.cluster.body import decoded
from karptui.sources.cluster.resources import KARPENTER, Resource
from karptui.sources.cluster.transport import Transport

AGGREGATED: Final = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
    "application/json"
)
KINDS: Final = frozenset({Kind.NODEPOOL, Kind.NODECLAIM, Kind.NODECLASS, Kind.NODEOVERLAY})
VERSIONS: Final = ("v1", "v1beta1", "v1alpha1")
"""API versions of Karpenter's kinds, best first, regardless of the server's preference."""
VERBS: Final = frozenset({"list", "watch"})


Document = TypeVar("Document")


class _ResponseKind(msgspec.Struct):
    kind: str = ""


class _Resource(msgspec.Struct, rename="camel"):
    resource: str = ""
    response_kind: _ResponseKind | None = None
    scope: str = ""
    verbs: list[str] | None = None


class _Version(msgspec.Struct):
    version: str = ""
    resources: list[_Resource] | None = None


class _Name(msgspec.Struct):
    name: str = ""


class _ApiGroup(msgspec.Struct):
    metadata: _Name = msgspec.field(default_factory=_Name)
    name: str = ""
    versions: list[_Version] | None = None


class _ApiGroups(msgspec.Struct):
    items: list[_ApiGroup] | None = None
    groups: list[_ApiGroup] | None = None


class _PlainResource(msgspec.Struct):
    name: str = ""
    kind: str = ""
    namespaced: bool = False
    verbs: list[str] | None = None


class _PlainResources(msgspec.Struct):
    resources: list[_PlainResource] | None = None


def discover(transport: Transport) -> tuple[Resource, ...]:
    """Return Karpenter's resources and every provider's NodeClasses, each in the version to use.

    One request where the server aggregates (Kubernetes 1.27 and newer), else one per group version that may hold some.

    Raises:
        SourceError: as ``Transport.get``; also when the answer is not a discovery document.
    """
    groups = _decoded(transport, "/apis", _ApiGroups, accept=AGGREGATED)
    served = _aggregated(groups.items) if groups.items is not None else _by_groups(transport, groups.groups or ())
    best: dict[str, Resource] = {}
    for resource in served:
        before = best.get(resource.title)
        if before is None or (resource.group == KARPENTER and _rank(resource.version) < _rank(before.version)):
            best[resource.title] = resource
    return tuple(best.values())


def _rank(version: str) -> int:
    return VERSIONS.index(version) if version in VERSIONS else len(VERSIONS)


def _aggregated(groups: Iterable[_ApiGroup]) -> Iterator[Resource]:
    for group in groups:
        for version in group.versions or ():
            for served in version.resources or ():
                api_kind = served.response_kind.kind if served.response_kind is not None else ""
                is_namespaced = served.scope == "Namespaced"
                names = group.metadata.name, version.version, served.resource, api_kind
                yield from _followed(*names, served.verbs or (), is_namespaced=is_namespaced)


def _by_groups(transport: Transport, groups: Iterable[_ApiGroup]) -> Iterator[Resource]:
    for group in groups:
        if not may_hold_nodeclasses(group.name):
            continue
        for version in group.versions or ():
            listed = _decoded(transport, f"/apis/{group.name}/{version.version}", _PlainResources)
            for served in listed.resources or ():
                names = group.name, version.version, served.name, served.kind
                yield from _followed(*names, served.verbs or (), is_namespaced=served.namespaced)


def _followed(
    group: str, version: str, plural: str, api_kind: str, verbs: Iterable[str], *, is_namespaced: bool
) -> Iterator[Resource]:
    """Yield a resource if its kind matters and can be listed and watched."""
    kind = kind_of(f"{group}/{version}", api_kind)
    if kind is not None and kind in KINDS and VERBS.issubset(verbs):
        yield Resource(
            kind=kind, group=group, version=version, plural=plural, api_kind=api_kind, is_namespaced=is_namespaced
        )


def _decoded(transport: Transport, path: str, type_: type[Document], *, accept: str = "application/json") -> Document:
    data = transport.get(path, accept=accept)
    return decoded(data, type_, f"{transport.server} did not answer {path} with a discovery document")
