"""Owners and origins of pods: the workload behind a pod's controller; similar CI jobs have the same origin.

A pod's origin follows from the first rule that applies:

1. A controller that users write, or one reachable through owners (``OwnerIndex``): Deployment, StatefulSet, CronJob…
2. A ReplicaSet named after the pod's ``pod-template-hash``: its Deployment, even if the ReplicaSet was not listed;
   after ``rollouts-pod-template-hash``: its Argo Rollout.
3. A label by which a CI or batch system names the origin (``ORIGIN_LABELS``).
4. The name of the controller, or of a pod without one, without generated suffixes: a GitLab runner's
   ``-<token>-project-…-concurrent-…``, UUIDs, numbers, and random suffixes such as those of ``generateName``.
   Controllers of the same kind and namespace with the same remaining name share an origin.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from karptui.kube.generated_names import ORIGIN_LABELS, WRITTEN_KINDS, stem, written_owner
from karptui.kube.objects import OwnerReference, controller_of
from karptui.kube.pod import Pod, PodTemplate
from karptui.kube.workload import Workload

_MADE_BY_OTHERS: Final = frozenset({"ReplicaSet", "Job"})
_MAX_CACHED: Final = 20_000
"""Maximum number of cached owners, so that those of deleted pods do not accumulate."""


class Owner(msgspec.Struct, frozen=True, gc=False):
    """The owner of a pod."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.namespace}/{self.name}"


class OwnerIndex:
    """Finds owners; ReplicaSets and Jobs are replaced by their Deployments and CronJobs if known."""

    def __init__(self, workloads: Iterable[Workload]) -> None:
        self._parents: dict[tuple[str, str, str], OwnerReference] = {}
        for workload in workloads:
            parent = controller_of(workload.owners)
            if workload.kind in _MADE_BY_OTHERS and parent is not None:
                self._parents[workload.kind, workload.namespace, workload.name] = parent
        self._cached: dict[tuple[str, str, str], Owner] = {}

    def of(self, pod: Pod) -> Owner | None:
        """Return a pod's owner; None for a pod that nothing recreates."""
        template = pod.template
        controller = controller_of(template.owners)
        if controller is None:
            return None
        key = controller.kind, template.namespace, controller.name
        owner = self._cached.get(key)
        if owner is None:
            if len(self._cached) >= _MAX_CACHED:
                self._cached.clear()
            owner = self._cached[key] = self.behind(*key)
        return owner

    def behind(self, kind: str, namespace: str, name: str) -> Owner:
        """Return the top-level workload of a controller; the controller itself if none is known."""
        parent = self._parents.get((kind, namespace, name))
        return Owner(kind, namespace, name) if parent is None else Owner(parent.kind, namespace, parent.name)


class OriginIndex:
    """Finds the origins of pods."""

    def __init__(self, owners: OwnerIndex) -> None:
        self._owners = owners
        self._origins: dict[PodTemplate, str] = {}

    def of(self, pod: Pod) -> str:
        """Return a pod's origin as ``Kind/namespace/name``."""
        template = pod.template
        origin = self._origins.get(template) if not pod.own_labels else None
        if origin is None:
            origin = self._find(pod)
            if not pod.own_labels and self._owners.of(pod) is not None:
                self._origins[template] = origin
        return origin

    def _find(self, pod: Pod) -> str:
        owner = self._owners.of(pod)
        if owner is not None and owner.kind in WRITTEN_KINDS:
            return str(owner)
        labels = pod.labels
        kind, name = ("Pod", pod.name) if owner is None else (owner.kind, owner.name)
        if kind == "ReplicaSet":
            kind, name = written_owner(kind, name, labels)
            return str(Owner(kind, pod.namespace, name))
        named = next((labels[key] for key in ORIGIN_LABELS if labels.get(key)), "")
        return str(Owner(kind, pod.namespace, stem(named or name)))
