"""The pod that is added over and over: one of a workload, of a manifest, or one of the cluster copied."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from karptui.disruption.owner import OriginIndex, OwnerIndex
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.pod_predicates import is_reschedulable
from karptui.kube.pod import Pod
from karptui.whatif.edits import AnyEdit, CopyPod, ObjectRef, PutObject, ScaleWorkload
from karptui.whatif.situation import WhatIfBase


class HeadroomError(ValueError):
    """A pod that cannot be added."""


class SamplePod(msgspec.Struct, frozen=True):
    """The pod that is added over and over."""

    name: str
    """``Kind/namespace/name`` of its workload or pod; its requests if it is made up."""
    ref: ObjectRef
    """The object that is scaled or copied."""
    first: tuple[AnyEdit, ...] = ()
    """What puts it into the cluster."""
    present: int = 0
    """Pods that exist before the first is added."""

    def edits(self, count: int) -> tuple[AnyEdit, ...]:
        """Return the edits that add pods."""
        if self.ref.kind != "Pod":
            return (*self.first, ScaleWorkload(self.ref, self.present + count))
        copies = count - len(self.first)
        return (*self.first, *((CopyPod(self.ref, copies),) if copies > 0 else ()))


def sample_of(base: WhatIfBase, ref: ObjectRef) -> SamplePod:
    """Return a pod, or a pod of a workload.

    Raises:
        HeadroomError: There is none.
    """
    name = f"{ref.kind}/{ref.key}"
    pods = [pod for pod in base.inventory.pods if pod.is_active]
    if ref.kind == "Pod":
        if any(pod.key == ref.key for pod in pods):
            return SamplePod(name, ref)
        raise HeadroomError(f"there is no pod {ref.key}")
    owners = OwnerIndex(base.inventory.workloads)
    origins = OriginIndex(owners)
    own = [pod for pod in pods if name in (str(owners.of(pod)), origins.of(pod))]
    if own:
        newest = max(own, key=lambda pod: (pod.created_ns, pod.name))
        return SamplePod(name, ObjectRef("Pod", newest.name, newest.namespace))
    known = any((one.kind, one.namespace, one.name) == (ref.kind, ref.namespace, ref.name) for one in _scalable(base))
    if known:
        return SamplePod(name, ref)
    raise HeadroomError(f"there is no {ref.kind} {ref.key} with pods or a template")


def _scalable(base: WhatIfBase) -> Iterable[Any]:
    return (one for one in base.inventory.workloads if hasattr(one, "replicas"))


def sample_of_manifest(base: WhatIfBase, edit: PutObject, ref: ObjectRef) -> SamplePod:
    """Return the pod of a manifest, which is put into the cluster: of a Pod, or of a workload."""
    ref = ref if ref.namespace else msgspec.structs.replace(ref, namespace="default")
    present = 0
    if ref.kind != "Pod":
        owners = OwnerIndex(base.inventory.workloads)
        name = f"{ref.kind}/{ref.key}"
        present = sum(1 for pod in base.inventory.pods if pod.is_active and str(owners.of(pod)) == name)
    return SamplePod(f"{ref.kind}/{ref.key}", ref, (edit,), present)


def samples(inventory: Inventory) -> tuple[SamplePod, ...]:
    """Return a pod of every workload whose pods may run anywhere else, by name."""
    origins = OriginIndex(OwnerIndex(inventory.workloads))
    newest: dict[str, Pod] = {}
    for pod in inventory.pods:
        if not pod.owners or not pod.is_active or not is_reschedulable(pod):
            continue
        origin = origins.of(pod)
        known = newest.get(origin)
        if known is None or (pod.created_ns, pod.name) > (known.created_ns, known.name):
            newest[origin] = pod
    return tuple(
        SamplePod(name, ObjectRef("Pod", newest[name].name, newest[name].namespace)) for name in sorted(newest)
    )
