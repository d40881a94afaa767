"""What the pods of a node ask of it, kept up to date pod by pod."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from karptui.kube.pod import Pod, PodTemplate
from karptui.kube.quantity import NANO, Quantity, QuantityFormat
from karptui.kube.resources import CPU, PODS, ResourceList

_NOTHING: Final[Mapping[str, int]] = MappingProxyType({})
_NO_PODS: Final[Mapping[str, Pod]] = MappingProxyType({})


class NodeUsage:
    """The pods of one node and the sums of their requests; immutable."""

    __slots__ = ("_daemonset", "_workload", "daemonset_nanos", "pods", "workload_nanos")

    def __init__(
        self, pods: Mapping[str, Pod], daemonset_nanos: Mapping[str, int], workload_nanos: Mapping[str, int]
    ) -> None:
        self.pods = pods
        """Pods bound to the node that have not ended, by key; terminating ones still hold their room."""
        self.daemonset_nanos = daemonset_nanos
        """Requests of DaemonSet pods in nano-units by resource, their slots as ``pods``."""
        self.workload_nanos = workload_nanos
        """Requests of all other pods in nano-units by resource, their slots as ``pods``."""
        self._daemonset: ResourceList | None = None
        self._workload: ResourceList | None = None

    @property
    def daemonset(self) -> ResourceList:
        """Requests of DaemonSet pods, their slots as ``pods``."""
        if self._daemonset is None:
            self._daemonset = _quantities(self.daemonset_nanos)
        return self._daemonset

    @property
    def workload(self) -> ResourceList:
        """Requests of all other pods, their slots as ``pods``."""
        if self._workload is None:
            self._workload = _quantities(self.workload_nanos)
        return self._workload


NO_USAGE: Final = NodeUsage(_NO_PODS, _NOTHING, _NOTHING)


def is_booked(pod: Pod | None) -> bool:
    """Whether a pod takes room on a node: bound, and not ended; a terminating pod still does."""
    return pod is not None and bool(pod.node_name) and not pod.is_terminal


def rebook(
    usage: Mapping[str, NodeUsage], changes: Iterable[tuple[str, Pod | None, Pod | None]]
) -> dict[str, NodeUsage]:
    """Return usage by node name after some pods have changed; nodes without pods are left out.

    Args:
        usage: usage by node name; the nodes themselves need not be known.
        changes: key, the pod before, the pod now; None where there is none.
    """
    ledgers: dict[str, _Ledger] = {}
    for key, before, now in changes:
        if before is not None and is_booked(before):
            _ledger(ledgers, usage, before.node_name).take(key, before)
        if now is not None and is_booked(now):
            _ledger(ledgers, usage, now.node_name).put(key, now)
    if not ledgers:
        return dict(usage)
    booked = dict(usage)
    for name, ledger in ledgers.items():
        if ledger.pods:
            booked[name] = NodeUsage(ledger.pods, ledger.daemonset, ledger.workload)
        else:
            booked.pop(name, None)
    return booked


class _Ledger:
    """A node's usage while pods are booked in and out."""

    __slots__ = ("daemonset", "pods", "workload")

    def __init__(self, usage: NodeUsage) -> None:
        self.pods = dict(usage.pods)
        self.daemonset = dict(usage.daemonset_nanos)
        self.workload = dict(usage.workload_nanos)

    def put(self, key: str, pod: Pod) -> None:
        self.pods[key] = pod
        is_daemonset, amounts = _booking(pod.template)
        sums = self.daemonset if is_daemonset else self.workload
        for name, nano in amounts:
            sums[name] = sums.get(name, 0) + nano

    def take(self, key: str, pod: Pod) -> None:
        del self.pods[key]
        is_daemonset, amounts = _booking(pod.template)
        sums = self.daemonset if is_daemonset else self.workload
        for name, nano in amounts:
            left = sums[name] - nano
            if left:
                sums[name] = left
            else:
                del sums[name]


def _ledger(ledgers: dict[str, _Ledger], usage: Mapping[str, NodeUsage], name: str) -> _Ledger:
    ledger = ledgers.get(name)
    if ledger is None:
        ledger = ledgers[name] = _Ledger(usage.get(name, NO_USAGE))
    return ledger


@lru_cache(maxsize=65_536)
def _booking(template: PodTemplate) -> tuple[bool, tuple[tuple[str, int], ...]]:
    """Return whether pods of a template belong to a DaemonSet, and what each takes, with its slot."""
    amounts = tuple((name, amount.nano) for name, amount in template.requests.items() if amount.nano)
    return template.is_daemonset_owned, (*amounts, (PODS, NANO))


def _quantities(nanos: Mapping[str, int]) -> ResourceList:
    return {
        name: Quantity(
            nano, QuantityFormat.DECIMAL_SI if name in (CPU, PODS) or "/" in name else QuantityFormat.BINARY_SI
        )
        for name, nano in nanos.items()
    }
