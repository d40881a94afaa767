"""The objects of a cluster while edits are made to them; what no edit touches stays the same object."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from karptui.decode.kinds import CLUSTER_SCOPED, Kind, kind_named
from karptui.disruption.owner import OwnerIndex
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.nodeclass import NodeClassRef, nodeclass_key
from karptui.karpenter.nodepool import unread_nodeclasses
from karptui.kube.objects import controller_of
from karptui.kube.pod import Pod, PodTemplate
from karptui.state.cluster import FIELDS
from karptui.whatif.edits import EditError, ObjectRef, SetField, TakeOut
from karptui.whatif.situation import WhatIfBase

_WORKLOADS: Final = "workloads"


class ClusterDraft:
    """A cluster being edited."""

    def __init__(self, base: WhatIfBase) -> None:
        self._base = base
        self._inventory = base.inventory
        self.settings = base.settings
        self.now_ns = base.now_ns
        self.outages: list[TakeOut] = []
        self.removed: list[str] = []
        """Names of nodes that are taken away."""
        self._changed: dict[str, dict[Any, Any]] = {}
        self._notes: dict[str, None] = {}
        self._owners: OwnerIndex | None = None
        self._interned: dict[tuple[object, ...], PodTemplate] = {}

    def note(self, sentence: str) -> None:
        """Say something about the edits, once."""
        self._notes[sentence] = None

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes."""
        return tuple(self._notes)

    # Objects

    def values(self, kind: Kind) -> Iterable[Any]:
        """Return the current objects of a kind; all workloads for a workload kind."""
        field = FIELDS.get(kind, _WORKLOADS)
        changed = self._changed.get(field)
        values: Iterable[Any] = getattr(self._inventory, field) if changed is None else changed.values()
        return values

    def kind(self, ref: ObjectRef) -> Kind:
        """Return the kind of a reference."""
        kind = kind_named(ref.kind)
        if kind is None:
            raise EditError(f"{ref.kind} {ref.key}: objects of this kind are not modelled")
        return kind

    def get(self, ref: ObjectRef) -> Any:
        """Return an object."""
        get = self.find(ref)
        if get is None:
            raise EditError(f"there is no {ref.kind} {ref.key}")
        return get

    def find(self, ref: ObjectRef) -> Any:
        """Return an object; None if it does not exist."""
        kind = self.kind(ref)
        field = FIELDS.get(kind, _WORKLOADS)
        changed = self._changed.get(field)
        return (self._index(kind) if changed is None else changed).get(_key(kind, ref))

    def is_unread(self, ref: NodeClassRef) -> bool:
        """Return whether a NodeClass exists, according to its NodePools, but could not be read."""
        unread = unread_nodeclasses(self._inventory.nodepools, self._inventory.nodeclasses)
        return any((class_ref.kind, class_ref.name) == (ref.kind, ref.name) for class_ref in unread)

    def put(self, kind: Kind, item: Any) -> None:
        """Put an object in the place of the one with its key, or add it at the end."""
        self._writable(kind)[_key_of(kind, item)] = item

    def drop(self, kind: Kind, item: Any) -> None:
        """Take an object away."""
        self._writable(kind).pop(_key_of(kind, item), None)

    def _writable(self, kind: Kind) -> dict[Any, Any]:
        field = FIELDS.get(kind, _WORKLOADS)
        if field == _WORKLOADS:
            self._owners = None
        if field not in self._changed:
            self._changed[field] = dict(self._index(kind))
        return self._changed[field]

    def _index(self, kind: Kind) -> Mapping[Any, Any]:
        return self._base.index(FIELDS.get(kind, _WORKLOADS), lambda item: _key_of(kind, item))

    # Pods

    def pods_of(self, ref: ObjectRef) -> list[Pod]:
        """Return the running pods of a workload or DaemonSet, in order."""
        owned: dict[PodTemplate, bool] = {}
        pods: list[Pod] = []
        for pod in self.values(Kind.POD):
            template = pod.template
            is_own = owned.get(template)
            if is_own is None:
                is_own = owned[template] = self._owns(ref, pod)
            if is_own and not pod.is_terminal:
                pods.append(pod)
        return pods

    def _owns(self, ref: ObjectRef, pod: Pod) -> bool:
        namespace = ref.namespace or "default"
        if pod.namespace != namespace:
            return False
        controller = controller_of(pod.owners)
        if controller is not None and (controller.kind, controller.name) == (ref.kind, ref.name):
            return True
        if self._owners is None:
            self._owners = OwnerIndex(self.values(Kind.DEPLOYMENT))
        owner = self._owners.of(pod)
        return owner is not None and (owner.kind, owner.name) == (ref.kind, ref.name)

    def interned(self, edit: SetField, template: PodTemplate, make: Callable[[], PodTemplate]) -> PodTemplate:
        """Return the edited template; pods that shared a template share the edited one."""
        key = (template, edit.path, msgspec.json.encode(edit.value))
        pod_template = self._interned.get(key)
        if pod_template is None:
            pod_template = self._interned[key] = make()
        return pod_template

    # The result

    def inventory(self) -> Inventory:
        """Return the cluster as the edits made it."""
        if not self._changed:
            return self._inventory
        return replace(self._inventory, **{field: tuple(items.values()) for field, items in self._changed.items()})

    def touched(self, kind: Kind) -> bool:
        """Return whether an edit put or dropped an object of a kind."""
        return FIELDS.get(kind, _WORKLOADS) in self._changed


def _key(kind: Kind, ref: ObjectRef) -> Any:
    if kind is Kind.NODECLASS:
        return nodeclass_key(ref.kind, ref.name)
    key = f"{ref.namespace or 'default'}/{ref.name}" if kind not in CLUSTER_SCOPED else ref.name
    return key if kind in FIELDS else (ref.kind, key)


def _key_of(kind: Kind, item: Any) -> Any:
    return item.key if kind in FIELDS else (item.kind, item.key)
