"""Who stands behind a pod: its controller, followed up to what people write; CI jobs of one kind count together.

The first rule that applies decides where a pod comes from:

1. A controller that people write, or one that objects lead up to (``OwnerIndex``): Deployment, StatefulSet, CronJob…
2. A ReplicaSet named after the pod's ``pod-template-hash``: the Deployment that made it, also where it was not listed.
3. A label by which a CI or batch system names the origin of its pods (``ORIGIN_LABELS``).
4. The name of the controller, or of a pod without one, less its generated endings: a GitLab runner's
   ``-<token>-project-…-concurrent-…``, UUIDs, numbers, and random suffixes such as those of ``generateName``.
   Controllers of one kind with the same rest in one namespace are of one origin.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from karptui.kube.generated_names import ORIGIN_LABELS, TEMPLATE_HASH, WRITTEN_KINDS, stem
from karptui.kube.objects import OwnerReference, controller_of
from karptui.kube.pod import Pod, PodTemplate
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


class OriginIndex:
    """Finds the origin of pods."""

    def __init__(self, owners: OwnerIndex) -> None:
        self._owners = owners
        self._known: dict[PodTemplate, str] = {}

    def of(self, pod: Pod) -> str:
        """Return ``Kind/namespace/name`` of a pod's origin."""
        if pod.own_labels or self._owners.of(pod) is None:
            return self._find(pod)
        found = self._known.get(pod.template)
        if found is None:
            found = self._known[pod.template] = self._find(pod)
        return found

    def _find(self, pod: Pod) -> str:
        owner = self._owners.of(pod)
        if owner is not None and owner.kind in WRITTEN_KINDS:
            return str(owner)
        labels = pod.labels
        kind, name = ("Pod", pod.name) if owner is None else (owner.kind, owner.name)
        template_hash = labels.get(TEMPLATE_HASH)
        if kind == "ReplicaSet":
            if template_hash and name.endswith(f"-{template_hash}"):
                return str(Owner("Deployment", pod.namespace, name[: -len(template_hash) - 1]))
            return str(owner)
        named = next((labels[key] for key in ORIGIN_LABELS if labels.get(key)), "")
        return str(Owner(kind, pod.namespace, stem(named or name)))
