"""Who stands behind a pod, as far as it is known: the Deployment rather than its ReplicaSet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from karptui.decode.kinds import Kind
from karptui.disruption.owner import OwnerIndex
from karptui.kube.objects import controller_of
from karptui.kube.pod import Pod
from karptui.state.cluster import ClusterState

POD_TEMPLATE_HASH: Final = "pod-template-hash"
"""The label with which a Deployment tells its ReplicaSets apart: it names them ``<deployment>-<hash>``."""
_MADE_BY_OTHERS: Final = (Kind.REPLICASET, Kind.JOB)


class PodOwner(msgspec.Struct, frozen=True, gc=False):
    """The workload that made a pod."""

    kind: str
    name: str
    is_by_name: bool = False
    """Whether it is concluded from the ReplicaSet's name, as the ReplicaSet itself is not known."""


class Owners(NamedTuple):
    """Finds owners in one generation of a cluster."""

    sources: tuple[Mapping[str, Any], ...]
    known: OwnerIndex

    def of(self, pod: Pod) -> PodOwner | None:
        """Return a pod's owner, None for one that nobody would make again."""
        found, controller = self.known.of(pod), controller_of(pod.owners)
        if found is None or controller is None:
            return None
        if found.kind == Kind.REPLICASET and f"{pod.namespace}/{found.name}" not in self.sources[0]:
            stem = found.name.removesuffix(f"-{pod.template.labels.get(POD_TEMPLATE_HASH, '')}")
            if stem and stem != found.name:
                return PodOwner(Kind.DEPLOYMENT.value, stem, is_by_name=True)
        return PodOwner(found.kind, found.name)


def owners_of(state: ClusterState, before: Owners | None = None) -> Owners:
    """Return what finds the owners of a state's pods; the same as before where nothing bears on it has changed."""
    sources = tuple(state.of(kind) for kind in _MADE_BY_OTHERS)
    if before is not None and all(one is other for one, other in zip(sources, before.sources, strict=True)):
        return before
    return Owners(sources, OwnerIndex(item for objects in sources for item in objects.values()))
