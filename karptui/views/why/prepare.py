"""From a view of the cluster to what the disruption engine takes."""

from __future__ import annotations

from collections.abc import Sequence

from karptui.aws.cluster_types import cluster_types
from karptui.aws.evidence import markets_of
from karptui.aws.live import live_instance_types
from karptui.aws.nodeclass import KIND
from karptui.decode.kinds import Kind
from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.labels import AWS_GROUP
from karptui.karpenter.nodepool import NodePool
from karptui.provisioning import Prepared, prepare
from karptui.state.inventory import inventory_of
from karptui.views.cluster_view import ClusterView
from karptui.views.types.seen import seen_types
from karptui.views.why.readiness import unheeded


def prepare_view(view: ClusterView, now_ns: int) -> tuple[Prepared, tuple[str, ...]]:
    """Return a cluster made ready for the engines, and what was assumed about its instance types, in sentences.

    Types are those that came with a snapshot, else what each EC2NodeClass comes to, else what nodes of other
    providers report. Takes a good part of a second for a large cluster, so it belongs in a thread.

    Args:
        view: The cluster.
        now_ns: The instant to look at it from: nanoseconds since the epoch.
    """
    evidence, inventory = view.evidence, inventory_of(view.state)
    if evidence.instance_types is not None:
        return prepare(inventory, evidence.instance_types, evidence.settings, now_ns), unheeded(view)
    resolved = cluster_types(
        inventory,
        evidence.settings,
        market_of=markets_of(evidence, has_overlays=bool(view.state.of(Kind.NODEOVERLAY))),
        facts=live_instance_types(evidence.facts).values(),
    )
    by_pool: dict[str, Sequence[InstanceType]] = {}
    notes = [*unheeded(view), *resolved.notes, *(f"{KIND} {name}: {why}" for name, why in resolved.problems.items())]
    for pool in inventory.nodepools:
        found = resolved.by_nodeclass.get(pool.node_class_ref.name) if _is_ec2(pool) else None
        if found is not None:
            by_pool[pool.name] = found.types
        elif not _is_ec2(pool):
            by_pool[pool.name] = seen_types(inventory.nodes)
            notes.append(f"NodePool {pool.name}: its instance types are taken from what nodes report")
        else:
            notes.append(f"NodePool {pool.name}: no instance types are known for {KIND} {pool.node_class_ref.name}")
    return prepare(inventory, by_pool, evidence.settings, now_ns), tuple(notes)


def _is_ec2(pool: NodePool) -> bool:
    ref = pool.node_class_ref
    return ref.kind == KIND and ref.group in ("", AWS_GROUP)
