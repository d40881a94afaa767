"""Writes numbers and names in findings, and refers to their objects."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from karptui.advice.context import PodGroup
from karptui.aws.money import per_hour_text
from karptui.karpenter.nodepool import NodePool
from karptui.kube.durations import short_duration
from karptui.kube.units import counted, first_of
from karptui.provisioning.state_node import StateNode
from karptui.whatif.edits import ObjectRef

NAMES_SHOWN: Final = 3


def listed(names: Iterable[str], most: int = NAMES_SHOWN) -> str:
    """Return the first names and the number of the others."""
    return first_of(list(dict.fromkeys(names)), most)


def span(duration_ns: int) -> str:
    """Return a duration in whole seconds, without parts that are zero: ``24h``, ``1h30m``, ``45s``."""
    return short_duration(duration_ns - duration_ns % 1_000_000_000)


def at_cost(per_hour: float | None) -> str:
    """Return `` ($1.23/h)``, or an empty string if the price is unknown."""
    return f" ({per_hour_text(per_hour)})" if per_hour else ""


def share(part: int, whole: int, noun: str) -> str:
    """Return ``9 of 12 nodes``."""
    return f"{part:,} of {counted(whole, noun)}"


def joined(parts: Sequence[str]) -> str:
    """Return ``a, b and c``."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def pool_ref(pool: NodePool) -> ObjectRef:
    """Return the reference to a NodePool."""
    return ObjectRef("NodePool", pool.name)


def node_refs(nodes: Iterable[StateNode]) -> tuple[ObjectRef, ...]:
    """Return the references to nodes."""
    return tuple(ObjectRef("Node", node.node.name) for node in nodes if node.node is not None)


def named_nodes(nodes: Collection[StateNode]) -> str:
    """Return ``5 nodes (node-1, node-2, node-3 and 2 more)``."""
    return f"{counted(len(nodes), 'node')} ({listed(node.name for node in nodes)})"


def owner_refs(groups: Iterable[PodGroup]) -> tuple[ObjectRef, ...]:
    """Return the workloads behind groups of pods, each once, the largest first."""
    sizes: dict[ObjectRef, int] = {}
    for group in groups:
        sizes[group.owner] = sizes.get(group.owner, 0) + len(group.pods)
    return tuple(sorted(sizes, key=lambda ref: (-sizes[ref], ref.kind, ref.key)))


def ref_text(ref: ObjectRef) -> str:
    """Return ``Kind/namespace/name``."""
    return f"{ref.kind}/{ref.key}"
