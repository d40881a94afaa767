"""From a snapshot to a cluster that the engines can answer questions about."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from karptui.karpenter.instance_type import InstanceType
    from karptui.provisioning.problem import Prepared
    from karptui.sources.snapshot.reader import Snapshot


def prepare_snapshot(snapshot: Snapshot, *, command: str) -> Prepared:
    """Return a snapshot made ready for the engines; what had to be assumed about instance types goes to stderr.

    Args:
        snapshot: The snapshot; instance types that it does not bring are worked out from its NodeClasses.
        command: Name of the command, for the notes.
    """
    from karptui.provisioning import prepare

    types: Sequence[InstanceType] | Mapping[str, Sequence[InstanceType]]
    if snapshot.instance_types is not None:
        types = snapshot.instance_types
    else:
        types, notes = _types_of(snapshot)
        for note in notes:
            print(f"karptui {command}: {snapshot.name}: {note}", file=sys.stderr)
    return prepare(snapshot.inventory, types, snapshot.settings, snapshot.captured_at_ns)


def _types_of(snapshot: Snapshot) -> tuple[dict[str, Sequence[InstanceType]], list[str]]:
    from karptui.aws.cluster_types import cluster_types

    resolved = cluster_types(snapshot.inventory, snapshot.settings)
    by_pool: dict[str, Sequence[InstanceType]] = {}
    notes = [*resolved.notes, *(f"EC2NodeClass {name}: {why}" for name, why in resolved.problems.items())]
    for pool in snapshot.inventory.nodepools:
        ref = pool.node_class_ref
        found = resolved.by_nodeclass.get(ref.name)
        if found is None:
            notes.append(f"NodePool {pool.name}: no instance types are known for {ref.kind} {ref.name}")
        else:
            by_pool[pool.name] = found.types
    return by_pool, notes
