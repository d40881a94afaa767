"""Pod requests by node, updated as pods are created, changed and deleted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final
from weakref import WeakKeyDictionary

import msgspec

from karptui.kube import resources
from karptui.kube.pod import ENDED, Pod, PodTemplate
from karptui.kube.quantity import NANO, Quantity
from karptui.kube.resources import PODS, ResourceList

PodsByNode = Mapping[str, Mapping[str, Pod]]
_Booking = tuple[bool, tuple[tuple[str, int], ...]]
_bookings: Final[WeakKeyDictionary[PodTemplate, _Booking]] = WeakKeyDictionary()
"""Templates never change, and looking at owners and requests takes longer than the sums."""


class NodeUsage(msgspec.Struct, frozen=True, gc=False):
    """Sums over the pods bound to one node that have not ended; those being deleted still count.

    Zero amounts are left out. Pod slots are part of the sums, as ``pods``.
    """

    daemonset: ResourceList = resources.EMPTY
    """Of the pods that DaemonSets own."""
    workload: ResourceList = resources.EMPTY
    """Of all others."""
    daemonset_pods: int = 0
    workload_pods: int = 0

    @property
    def pods(self) -> int:
        """Pods of both sorts."""
        return self.daemonset_pods + self.workload_pods

    @property
    def requests(self) -> ResourceList:
        """The sums of both sorts together."""
        return resources.add(self.daemonset, self.workload)


NO_USAGE: Final = NodeUsage()
_NO_PODS: Final[Mapping[str, Pod]] = MappingProxyType({})


class Share(msgspec.Struct, frozen=True, gc=False):
    """Requests of one resource, as integers of one unit."""

    daemons: int
    workload: int
    capacity: int
    """Allocatable; 0 if the node has not reported it."""

    @property
    def requested(self) -> int:
        """Everything that pods ask for."""
        return self.daemons + self.workload

    @property
    def free(self) -> int:
        """Free amount; negative if requests exceed it."""
        return self.capacity - self.requested

    @property
    def percent(self) -> float | None:
        """Requests in percent of allocatable; None if the node has not reported it."""
        return 100 * self.requested / self.capacity if self.capacity > 0 else None


NO_SHARE: Final = Share(0, 0, 0)


def total_share(shares: Iterable[Share]) -> Share:
    """Return the sum of shares of one resource."""
    daemons = workload = capacity = 0
    for share in shares:
        daemons += share.daemons
        workload += share.workload
        capacity += share.capacity
    return Share(daemons, workload, capacity)


class _Sums:
    """Pending changes of a node's sums, as plain integers while many pods are counted."""

    __slots__ = ("daemonset", "daemonset_pods", "pods", "workload", "workload_pods")

    def __init__(self, pods: Mapping[str, Pod]) -> None:
        self.pods = dict(pods)
        self.daemonset: dict[str, int] = {}
        """Nano-units by resource."""
        self.workload: dict[str, int] = {}
        self.daemonset_pods = self.workload_pods = 0

    @property
    def is_changed(self) -> bool:
        """Whether a pod has come or gone, or asks for something else."""
        return bool(self.daemonset or self.workload)

    def usage(self, before: NodeUsage) -> NodeUsage:
        """Return the finished sums; a side that nothing has changed is the same object as before."""
        return NodeUsage(
            _changed(before.daemonset, self.daemonset),
            _changed(before.workload, self.workload),
            before.daemonset_pods + self.daemonset_pods,
            before.workload_pods + self.workload_pods,
        )


def _changed(before: ResourceList, changes: Mapping[str, int]) -> ResourceList:
    if not changes:
        return before
    after = dict(before)
    for name, change in changes.items():
        present = after.get(name)
        nano = change if present is None else present.nano + change
        if nano:
            after[name] = Quantity(nano)
        else:
            after.pop(name, None)
    return after or resources.EMPTY


class UsageTally:
    """Updates the pods by node and the sums; nodes without changes keep their objects."""

    def __init__(self, pods_by_node: PodsByNode, usage: Mapping[str, NodeUsage]) -> None:
        self._pods_by_node = pods_by_node
        self._usage = usage
        self._touched: dict[str, _Sums] = {}
        self._bookings: dict[PodTemplate, _Booking] = {}
        """Templates seen so far: plain dictionaries are faster to search than weak ones."""

    def change(self, key: str, old: Pod | None, new: Pod | None) -> None:
        """Replace one pod by another; None if there is none."""
        if old is not None and new is not None and _takes_the_same(old, new):
            self._sums(new.node_name).pods[key] = new
            return
        if old is not None and old.phase not in ENDED:
            sums = self._sums(old.node_name)
            del sums.pods[key]
            self._count(sums, old.template, -1)
        if new is not None and new.phase not in ENDED:
            sums = self._sums(new.node_name)
            sums.pods[key] = new
            self._count(sums, new.template, 1)

    def add(self, pods: Mapping[str, Pod]) -> None:
        """Put pods in that were not there."""
        touched, find = self._touched, self._sums
        for key, pod in pods.items():
            if pod.phase in ENDED:
                continue
            node_name = pod.node_name
            sums = touched.get(node_name) or find(node_name)
            sums.pods[key] = pod
            self._count(sums, pod.template, 1)

    def finish(self) -> tuple[PodsByNode, Mapping[str, NodeUsage]]:
        """Return the new index and the new sums."""
        if not self._touched:
            return self._pods_by_node, self._usage
        by_node, usage = dict(self._pods_by_node), dict(self._usage)
        for node_name, sums in self._touched.items():
            if not sums.pods:
                by_node.pop(node_name, None)
                usage.pop(node_name, None)
                continue
            by_node[node_name] = sums.pods
            if node_name and sums.is_changed:
                usage[node_name] = sums.usage(usage.get(node_name, NO_USAGE))
        return by_node, usage

    def _sums(self, node_name: str) -> _Sums:
        sums = self._touched.get(node_name)
        if sums is None:
            sums = self._touched[node_name] = _Sums(self._pods_by_node.get(node_name, _NO_PODS))
        return sums

    def _count(self, sums: _Sums, template: PodTemplate, sign: int) -> None:
        booking = self._bookings.get(template)
        if booking is None:
            booking = self._bookings[template] = _booking(template)
        if booking[0]:
            sums.daemonset_pods += sign
            changes = sums.daemonset
        else:
            sums.workload_pods += sign
            changes = sums.workload
        for name, nano in booking[1]:
            changes[name] = changes.get(name, 0) + sign * nano


def _takes_the_same(old: Pod, new: Pod) -> bool:
    same_place = old.node_name == new.node_name and old.template is new.template
    return same_place and old.phase not in ENDED and new.phase not in ENDED


def _booking(template: PodTemplate) -> _Booking:
    """Return whether a template's pods belong to a DaemonSet, and the requests of each pod with its slot."""
    booking = _bookings.get(template)
    if booking is None:
        amounts = [(name, amount.nano) for name, amount in template.requests.items() if amount]
        booking = _bookings[template] = (template.is_daemonset_owned, (*amounts, (PODS, NANO)))
    return booking
