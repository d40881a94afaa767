"""Whose dollars: each node's price divided between its pods by their requests, DaemonSets and idle capacity apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from karptui.kube import resources
from karptui.kube.group import group_by
from karptui.kube.pod import MIRROR, PodTemplate
from karptui.kube.quantity import NANO
from karptui.kube.resources import ResourceList
from karptui.session.nodes import NodeEntry, is_accelerator
from karptui.session.pods import PodEntry

BY_LABEL: Final = "label="
GROUPINGS: Final = ("namespace", "owner")
"""Properties of pods that dollars are grouped by, in addition to ``label=KEY``."""
CORE: Final = 0.031611
GIB: Final = 0.004237
ACCELERATOR: Final = 0.95
"""Weights of a core, a GiB of memory and an accelerator: OpenCost's default prices (configs/default.json)."""


class Part(StrEnum):
    """The part of a cluster that a share of the dollars pays for."""

    PODS = "pods"
    DAEMONSETS = "daemonsets"
    """Pods of DaemonSets, and static pods: every node has them."""
    IDLE = "idle"
    """Capacity that no pod requests."""


class Spent(msgspec.Struct, frozen=True):
    """Dollars per hour at one moment of a history."""

    at_ns: int
    per_hour: float


class Payer(msgspec.Struct, frozen=True, kw_only=True):
    """Pods with the same namespace, owner or label; or DaemonSets, or idle capacity."""

    part: Part
    name: str = ""
    """Empty for pods without the label, DaemonSets and idle capacity."""
    pods: int = 0
    nodes: int = 0
    """Nodes that they run on; for idle capacity nodes and NodeClaims with any."""
    cpu_millis: int = 0
    memory_bytes: int = 0
    per_hour: float = 0.0
    """Average if there are several moments."""
    unpriced: int = 0
    """Pods, or nodes of idle capacity, on nodes without a known price: they add no dollars."""
    all_per_hour: float = 0.0
    """Of all parts together."""
    series: tuple[Spent, ...] = ()
    """Moments of a history, oldest first; empty without one."""

    @property
    def key(self) -> str:
        """Identity across refreshes."""
        return f"{self.part}/{self.name}"


class Dollars(msgspec.Struct, frozen=True):
    """The parts of a cluster's cost, the most expensive first; DaemonSets and idle capacity last."""

    payers: tuple[Payer, ...]
    unpriced: tuple[str, ...] = ()
    """Nodes and NodeClaims without a known price."""
    recorded: int = 0
    """Moments of a history that the figures are of; 0 without one."""
    asked: int = 0

    @property
    def per_hour(self) -> float:
        """Dollars of all parts together."""
        return sum(payer.per_hour for payer in self.payers)


def weight_of(amounts: ResourceList) -> float:
    """Return the weight of requests or capacity: cpu, memory and accelerators by fixed prices."""
    weight = CORE * resources.nano(amounts, resources.CPU) / NANO
    weight += GIB * resources.nano(amounts, resources.MEMORY) / NANO / 2**30
    devices = sum(amount.nano for name, amount in amounts.items() if is_accelerator(name))
    return weight + ACCELERATOR * devices / NANO


def payer_name(grouping: str) -> Callable[[PodEntry], str]:
    """Return the function from a pod to the name of its group.

    Args:
        grouping: One of ``GROUPINGS``, or ``label=KEY``.
    """
    if grouping.startswith(BY_LABEL):
        key = grouping.removeprefix(BY_LABEL)
        return lambda entry: entry.pod.labels.get(key, "")
    if grouping == "owner":
        return _owner
    return lambda entry: entry.pod.namespace


def _owner(entry: PodEntry) -> str:
    kind, name = (entry.made_by.kind, entry.made_by.name) if entry.made_by is not None else ("Pod", entry.pod.name)
    return f"{kind}/{entry.pod.namespace}/{name}"


def dollars_of(nodes: Sequence[NodeEntry], pods: Iterable[PodEntry], grouping: str) -> Dollars:
    """Divide the price of every node between its pods and its idle capacity.

    A pod pays by the weight of its requests; the base is the allocatable capacity, or the requests if they exceed it.
    A NodeClaim without a node, and a node that reports no capacity, are idle. The parts add up to the cluster's cost.
    """
    name_of = payer_name(grouping)
    bound_pods = (entry for entry in pods if entry.pod.node_name and not entry.pod.is_terminal)
    on_node = group_by(bound_pods, lambda entry: entry.pod.node_name)
    payers = {(part, ""): Payer(part=part) for part in (Part.DAEMONSETS, Part.IDLE)}
    unpriced: list[str] = []

    def add(part: Part, name: str, amounts: ResourceList, per_hour: float, *, is_new_node: bool, unpriced: int) -> None:
        payer = payers.get((part, name)) or Payer(part=part, name=name)
        payers[part, name] = msgspec.structs.replace(
            payer,
            pods=payer.pods + (part is not Part.IDLE),
            nodes=payer.nodes + is_new_node,
            cpu_millis=payer.cpu_millis + max(resources.cpu_millis(amounts), 0),
            memory_bytes=payer.memory_bytes + max(resources.memory_bytes(amounts), 0),
            per_hour=payer.per_hour + per_hour,
            unpriced=payer.unpriced + unpriced,
        )

    for node in nodes:
        bound = on_node.get(node.name, ()) if node.node is not None else ()
        has_no_price = node.price is None and (node.node is not None or bool(node.instance_type))
        unpriced += [node.name] if has_no_price else []
        rest = price = node.price.per_hour if node.price is not None else 0.0
        requested = resources.add(*(entry.pod.requests for entry in bound))
        base = weight_of(resources.maximum((node.allocatable, requested)))
        seen: set[tuple[Part, str]] = set()
        for entry in bound:
            is_daemon = _is_on_every_node(entry.pod.template)
            key = (Part.DAEMONSETS, "") if is_daemon else (Part.PODS, name_of(entry))
            share = price * weight_of(entry.pod.requests) / base if base else 0.0
            rest -= share
            add(*key, entry.pod.requests, share, is_new_node=key not in seen, unpriced=has_no_price)
            seen.add(key)
        free = resources.subtract(node.allocatable, requested)
        add(Part.IDLE, "", free, max(rest, 0.0), is_new_node=True, unpriced=has_no_price)
    return Dollars(_in_order(payers.values()), tuple(sorted(unpriced)))


def _is_on_every_node(template: PodTemplate) -> bool:
    return template.is_daemonset_owned or template.is_node_owned or MIRROR in template.annotations


def _in_order(payers: Iterable[Payer]) -> tuple[Payer, ...]:
    all_payers = list(payers)
    whole = sum(payer.per_hour for payer in all_payers)
    parts = list(Part)
    return tuple(
        msgspec.structs.replace(payer, all_per_hour=whole)
        for payer in sorted(all_payers, key=lambda payer: (parts.index(payer.part), -payer.per_hour, payer.name))
    )


def over_time(moments: Mapping[int, Dollars | None]) -> Dollars:
    """Return the averages of several moments, with the dollars of each moment; pods, nodes and requests are averages.

    Args:
        moments: Dollars by instant; None if nothing was recorded then.
    """
    known_moments = {at_ns: dollars for at_ns, dollars in sorted(moments.items()) if dollars is not None}
    by_key = {at_ns: {payer.key: payer for payer in dollars.payers} for at_ns, dollars in known_moments.items()}
    names = {payer.key: payer for dollars in known_moments.values() for payer in dollars.payers}
    count = max(len(known_moments), 1)

    def average(payer: Payer) -> Payer:
        payer_at = {at_ns: payers.get(payer.key) for at_ns, payers in by_key.items()}
        there = [payer for payer in payer_at.values() if payer is not None]
        counts = ("pods", "nodes", "cpu_millis", "memory_bytes")
        return msgspec.structs.replace(
            payer,
            **{name: round(sum(getattr(paid, name) for paid in there) / count) for name in counts},
            per_hour=sum(paid.per_hour for paid in there) / count,
            unpriced=max(paid.unpriced for paid in there),
            series=tuple(Spent(at_ns, paid.per_hour if paid is not None else 0.0) for at_ns, paid in payer_at.items()),
        )

    unpriced = sorted({name for dollars in known_moments.values() for name in dollars.unpriced})
    return Dollars(_in_order(map(average, names.values())), tuple(unpriced), len(known_moments), len(moments))
