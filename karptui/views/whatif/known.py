"""Names and values of the cluster that are offered while typing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from karptui.decode.kinds import Kind
from karptui.karpenter.instance_type import InstanceType
from karptui.state.inventory import WORKLOAD_KINDS, inventory_of
from karptui.views.cluster_view import ClusterView
from karptui.views.why.prepare import pool_instance_types
from karptui.whatif.documents import KnownValues

MOST_VALUES = 1_200
"""Values of a label that are offered; every instance type is fewer."""


def known_values(view: ClusterView) -> KnownValues:
    """Return what the cluster and its instance types know: labels with values, and names of objects."""
    state = view.state
    classes: dict[str, list[str]] = {}
    for nodeclass in state.nodeclasses.values():
        classes.setdefault(nodeclass.kind, []).append(nodeclass.name)
    taints = {taint.key for pool in state.nodepools.values() for taint in (*pool.taints, *pool.startup_taints)}
    taints.update(taint.key for node in state.nodes.values() for taint in node.taints)
    return KnownValues(
        labels=_labels(view),
        node_pools=tuple(sorted(state.nodepools)),
        node_classes={kind: tuple(sorted(names)) for kind, names in classes.items()},
        namespaces=tuple(sorted(state.of(Kind.NAMESPACE))),
        workloads=tuple(sorted({key.rpartition("/")[2] for kind in WORKLOAD_KINDS for key in state.of(kind)})),
        priority_classes=tuple(sorted(state.of(Kind.PRIORITY_CLASS))),
        taints=tuple(sorted(taints)),
    )


def _labels(view: ClusterView) -> dict[str, tuple[str, ...]]:
    """Return label keys with the values that instance types, offerings and NodePools have for them."""
    found: dict[str, set[str]] = {}
    types, _ = pool_instance_types(inventory_of(view.state), view.evidence.settings, view.evidence)
    for one in _distinct(types.values() if isinstance(types, Mapping) else [types]):
        for requirement in (*one.requirements, *(r for offering in one.offerings for r in offering.requirements)):
            found.setdefault(requirement.key, set()).update(requirement.values)
    for pool in view.state.nodepools.values():
        for key, value in pool.template_labels.items():
            found.setdefault(key, set()).add(value)
    return {key: tuple(sorted(values)[:MOST_VALUES]) for key, values in sorted(found.items())}


def _distinct(lists: Iterable[Sequence[InstanceType]]) -> Iterable[InstanceType]:
    seen: set[int] = set()
    for types in lists:
        for one in types:
            if id(one) not in seen:
                seen.add(id(one))
                yield one
