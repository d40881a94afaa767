"""What pods ask of the node they are bound to, kept up as pods come, change and go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from karptui.kube import resources
from karptui.kube.pod import Pod, PodTemplate
from karptui.kube.quantity import NANO, Quantity
from karptui.kube.resources import PODS, ResourceList

PodsByNode = Mapping[str, Mapping[str, Pod]]


class NodeUsage(msgspec.Struct, frozen=True, gc=False):
    """Sums over the pods bound to one node that have not ended; those being deleted still count.

    Amounts that come to zero are left out. Pod slots are part of the sums, as ``pods``.
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


@dataclass(slots=True)
class _Sums:
    """A node in the making: nano-units by resource."""

    pods: dict[str, Pod]
    daemonset: dict[str, int] = field(default_factory=dict)
    workload: dict[str, int] = field(default_factory=dict)
    daemonset_pods: int = 0
    workload_pods: int = 0


class UsageTally:
    """Works changes to pods into the index by node and the sums; what is not touched stays the same object."""

    def __init__(self, pods_by_node: PodsByNode, usage: Mapping[str, NodeUsage]) -> None:
        self._pods_by_node = pods_by_node
        self._usage = usage
        self._touched: dict[str, _Sums] = {}
        # A template outlives the tally, as its pods are part of the state; looking at owners once per template is
        # what keeps a hundred thousand pods fast.
        self._is_daemonset: dict[PodTemplate, bool] = {}

    def change(self, key: str, old: Pod | None, new: Pod | None) -> None:
        """Take one pod out and put another in; None where there is none."""
        if old is not None and not old.is_terminal:
            sums = self._sums(old.node_name)
            del sums.pods[key]
            self._count(sums, old.template, -1)
        if new is not None and not new.is_terminal:
            sums = self._sums(new.node_name)
            sums.pods[key] = new
            self._count(sums, new.template, 1)

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
            if node_name:
                usage[node_name] = NodeUsage(
                    daemonset=_amounts(sums.daemonset),
                    workload=_amounts(sums.workload),
                    daemonset_pods=sums.daemonset_pods,
                    workload_pods=sums.workload_pods,
                )
        return by_node, usage

    def _sums(self, node_name: str) -> _Sums:
        sums = self._touched.get(node_name)
        if sums is None:
            before = self._usage.get(node_name, NO_USAGE)
            sums = self._touched[node_name] = _Sums(
                pods=dict(self._pods_by_node.get(node_name, {})),
                daemonset={name: amount.nano for name, amount in before.daemonset.items()},
                workload={name: amount.nano for name, amount in before.workload.items()},
                daemonset_pods=before.daemonset_pods,
                workload_pods=before.workload_pods,
            )
        return sums

    def _count(self, sums: _Sums, template: PodTemplate, sign: int) -> None:
        is_daemonset = self._is_daemonset.get(template)
        if is_daemonset is None:
            is_daemonset = self._is_daemonset[template] = template.is_daemonset_owned
        if is_daemonset:
            total = sums.daemonset
            sums.daemonset_pods += sign
        else:
            total = sums.workload
            sums.workload_pods += sign
        total[PODS] = total.get(PODS, 0) + sign * NANO
        for name, amount in template.requests.items():
            total[name] = total.get(name, 0) + sign * amount.nano


def _amounts(nano: Mapping[str, int]) -> ResourceList:
    return {name: Quantity(amount) for name, amount in nano.items() if amount} or resources.EMPTY
