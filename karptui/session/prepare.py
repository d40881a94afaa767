"""From a view of the cluster to what the disruption engine takes."""

from __future__ import annotations

from collections.abc import Sequence

from karptui.aws.cluster_types import cluster_types
from karptui.aws.evidence import Evidence, markets_of
from karptui.aws.live import live_instance_types
from karptui.aws.nodeclass import KIND, is_ec2
from karptui.disruption.pdb_limits import refused_selectors
from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.settings import Settings
from karptui.provisioning import InstanceTypes, Prepared, prepare
from karptui.provisioning.reporter import Pause, no_pause
from karptui.session.cluster_view import ClusterView
from karptui.session.readiness import unheeded
from karptui.session.seen_types import seen_types
from karptui.state.inventory import inventory_of


def prepare_view(view: ClusterView, now_ns: int, pause: Pause = no_pause) -> tuple[Prepared, tuple[str, ...]]:
    """Return a cluster made ready for the engines, and what was assumed about its instance types, in sentences.

    Takes a good part of a second for a large cluster, so it belongs in a thread.

    Args:
        view: The cluster.
        now_ns: The instant to look at it from: nanoseconds since the epoch.
        pause: Called now and then while it is made ready, now and later.
    """
    inventory, settings = inventory_of(view.state), view.evidence.settings
    types, notes = pool_instance_types(inventory, settings, view.evidence)
    pause()
    said = (*unheeded(view), *refused_selectors(inventory.pdbs), *notes)
    return prepare(inventory, types, settings, now_ns, pause), said


def pool_instance_types(
    inventory: Inventory, settings: Settings, evidence: Evidence
) -> tuple[InstanceTypes, tuple[str, ...]]:
    """Return the instance types of every NodePool, and what was assumed about them, in sentences.

    Types are those that came with a snapshot, else what each EC2NodeClass comes to, else what nodes of other
    providers report.

    Args:
        inventory: The cluster.
        settings: Karpenter's; they need not be those of the evidence.
        evidence: What is known of instance types and prices.
    """
    if evidence.instance_types is not None:
        return evidence.instance_types, ()
    resolved = cluster_types(
        inventory,
        settings,
        market_of=markets_of(evidence, has_overlays=bool(inventory.overlays)),
        facts=live_instance_types(evidence.facts).values(),
    )
    by_pool: dict[str, Sequence[InstanceType]] = {}
    notes = [*resolved.notes, *resolved.problems.values()]
    for pool in inventory.nodepools:
        found = resolved.of(pool.node_class_ref)
        if found is not None:
            by_pool[pool.name] = found.types
        elif not is_ec2(pool.node_class_ref):
            by_pool[pool.name] = seen_types(inventory.nodes)
            notes.append(f"NodePool {pool.name}: its instance types are taken from what nodes report")
        else:
            notes.append(f"NodePool {pool.name}: no instance types are known for {KIND} {pool.node_class_ref.name}")
    return by_pool, tuple(notes)
