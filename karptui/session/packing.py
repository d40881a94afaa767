"""How pods fill nodes: every node as a bin, with its pods as blocks."""

from __future__ import annotations

import msgspec

from karptui.kube import resources
from karptui.kube.quantity import NANO, NANO_PER_MILLI
from karptui.kube.resources import ResourceList
from karptui.session.cluster_view import ClusterView
from karptui.session.nodes import NodeEntry, PodAccess


class Block(msgspec.Struct, frozen=True, gc=False):
    """What a pod requests."""

    cpu: int
    """Millicores."""
    memory: int
    """Bytes."""


class Bin(msgspec.Struct, frozen=True, kw_only=True):
    """A node."""

    key: str
    name: str
    pool: str
    cpu: int
    """Allocatable millicores."""
    memory: int
    """Allocatable bytes."""
    daemons: Block
    """All pods of DaemonSets together."""
    pods: tuple[Block, ...]
    """Every other pod."""


def bins_of(view: ClusterView) -> tuple[Bin, ...]:
    """Return the nodes that say what they have, those of a NodePool together, the fullest first in each."""
    found = [
        _bin(view, entry)
        for entry in view.node_entries
        if entry.node is not None and entry.cpu.capacity and entry.access is PodAccess.KNOWN
    ]
    return tuple(sorted(found, key=lambda one: (one.pool == "", one.pool, -one.cpu, -_filled(one), one.name)))


def _filled(one: Bin) -> float:
    return (one.daemons.cpu + sum(pod.cpu for pod in one.pods)) / one.cpu


def _bin(view: ClusterView, entry: NodeEntry) -> Bin:
    pods = view.state.pods_on(entry.name).values()
    return Bin(
        key=entry.key,
        name=entry.name,
        pool=entry.pool,
        cpu=entry.cpu.capacity,
        memory=entry.memory.capacity,
        daemons=Block(entry.cpu.daemons, entry.memory.daemons),
        pods=tuple(block_of(pod.requests) for pod in pods if not pod.template.is_daemonset_owned),
    )


def block_of(asked: ResourceList) -> Block:
    """Return what is requested, in whole units."""
    return Block(
        -(-resources.nano(asked, resources.CPU) // NANO_PER_MILLI), -(-resources.nano(asked, resources.MEMORY) // NANO)
    )
