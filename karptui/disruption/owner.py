"""Who stands behind a pod: its controller, followed up to the object that people write."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from karptui.kube.objects import OwnerReference, controller_of
from karptui.kube.pod import Pod
from karptui.kube.workload import Workload

_MADE_BY_OTHERS: Final = frozenset({"ReplicaSet", "Job"})
_MOST_KNOWN: Final = 20_000
"""So many owners are kept at most: those of pods that are gone must not pile up."""


class Owner(msgspec.Struct, frozen=True, gc=False):
    """The owner of a pod."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.namespace}/{self.name}"


class OwnerIndex:
    """Finds owners; ReplicaSets and Jobs give way to their Deployments and CronJobs where those are known."""

    def __init__(self, workloads: Iterable[Workload]) -> None:
        self._parents: dict[tuple[str, str, str], OwnerReference] = {}
        for workload in workloads:
            parent = controller_of(workload.owners)
            if workload.kind in _MADE_BY_OTHERS and parent is not None:
                self._parents[workload.kind, workload.namespace, workload.name] = parent
        self._known: dict[tuple[str, str, str], Owner] = {}

    def of(self, pod: Pod) -> Owner | None:
        """Return a pod's owner, None for a pod that nobody would make again."""
        template = pod.template
        controller = controller_of(template.owners)
        if controller is None:
            return None
        key = controller.kind, template.namespace, controller.name
        owner = self._known.get(key)
        if owner is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            owner = self._known[key] = self.behind(*key)
        return owner

    def behind(self, kind: str, namespace: str, name: str) -> Owner:
        """Return the object that people write behind a controller; the controller itself where none is known."""
        parent = self._parents.get((kind, namespace, name))
        return Owner(kind, namespace, name) if parent is None else Owner(parent.kind, namespace, parent.name)
