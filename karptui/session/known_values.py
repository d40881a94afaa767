"""Names and values of the cluster that are offered while typing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain

from karptui.decode.kinds import Kind
from karptui.karpenter.instance_type import InstanceType
from karptui.kube.selectors import NodeSelectorRequirement
from karptui.session.cluster_view import ClusterView
from karptui.session.offered_types import offered_types_of
from karptui.state.inventory import WORKLOAD_KINDS
from karptui.whatif.schema.offers import KnownValues

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
        types=_types(view),
    )


def _types(view: ClusterView) -> tuple[Mapping[str, tuple[str, ...]], ...]:
    """Return the labels of every instance type that some NodePool may have."""
    types = offered_types_of(view).types
    lists = {id(one): one for one in (types.values() if isinstance(types, Mapping) else [types])}
    named = {
        one.name: labels for own in lists.values() for one, labels in zip(own, type_labels(tuple(own)), strict=True)
    }
    return tuple(named.values())


@lru_cache(maxsize=8)
def type_labels(types: tuple[InstanceType, ...]) -> tuple[Mapping[str, tuple[str, ...]], ...]:
    """Return the labels of types and of their offerings, with every value; kept for the same types."""
    return tuple(_labels_of(one) for one in types)


def _labels_of(one: InstanceType) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    offered = {id(offering.requirements): offering.requirements for offering in one.offerings}
    for selector in (*one.requirements, *chain.from_iterable(offered.values())):
        found.setdefault(selector.key, {}).update(dict.fromkeys(selector.values))
    return {key: tuple(values) for key, values in found.items()}


def _labels(view: ClusterView) -> dict[str, tuple[str, ...]]:
    """Return label keys with the values that instance types, offerings and NodePools have for them."""
    types = offered_types_of(view).types
    lists = {id(one): one for one in (types.values() if isinstance(types, Mapping) else [types])}
    found: dict[str, tuple[str, ...]] = {}
    for source in (*(label_values(tuple(one)) for one in lists.values()), *_pool_labels(view)):
        for key, values in source.items():
            before = found.get(key, values)
            found[key] = values if before == values else tuple(sorted({*before, *values}))
    return {key: found[key][:MOST_VALUES] for key in sorted(found)}


def _pool_labels(view: ClusterView) -> Iterator[Mapping[str, tuple[str, ...]]]:
    for pool in view.state.nodepools.values():
        yield {key: (value,) for key, value in pool.template_labels.items()}


@lru_cache(maxsize=8)
def label_values(types: tuple[InstanceType, ...]) -> Mapping[str, tuple[str, ...]]:
    """Return label keys with the values that types and their offerings have, sorted; kept for the same types.

    Types are compared by identity, and `karptui.aws.cluster_types` returns the same ones as long as nothing that they
    follow from changes, so that a cluster that changes several times a second costs this once.
    """
    found: dict[str, set[str]] = {}
    offered: dict[int, tuple[NodeSelectorRequirement, ...]] = {}
    for one in types:
        for selector in one.requirements:
            found.setdefault(selector.key, set()).update(selector.values)
        # Types share the requirements of their offerings, of which there are few.
        offered.update((id(offering.requirements), offering.requirements) for offering in one.offerings)
    for selector in chain.from_iterable(offered.values()):
        found.setdefault(selector.key, set()).update(selector.values)
    return {key: tuple(sorted(values)) for key, values in found.items()}
