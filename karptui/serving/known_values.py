"""Names and values of the cluster that are offered while typing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

from karptui.decode.kinds import WORKLOAD_KINDS, Kind
from karptui.karpenter.instance_type import InstanceType
from karptui.kube.group import group_by
from karptui.kube.recent import LastAnswer
from karptui.kube.selectors import NodeSelectorRequirement
from karptui.session.cluster_view import ClusterView
from karptui.session.pool_types import offered_types_of
from karptui.whatif.schema.offers import KnownValues

MOST_VALUES: Final = 1_200
"""Values of a label that are offered; every instance type is fewer."""


class _OfTypes(NamedTuple):
    by_type: tuple[Mapping[str, tuple[str, ...]], ...]
    by_list: tuple[Mapping[str, tuple[str, ...]], ...]


_OF_LISTS: Final[LastAnswer[_OfTypes]] = LastAnswer()
"""`karptui.aws.cluster_types` returns the same lists as long as nothing changes that they follow from, so that a
cluster that changes several times a second pays for this once; older lists are released."""
_OF_LABELS: Final[LastAnswer[_OfTypes]] = LastAnswer()
"""The same labels even if offerings become unavailable or prices change."""


def known_values(view: ClusterView) -> KnownValues:
    """Return the labels (with values) and the object names of a cluster and its instance types."""
    state = view.state
    classes = group_by(state.nodeclasses.values(), lambda nodeclass: nodeclass.kind)
    taints = {taint.key for pool in state.nodepools.values() for taint in (*pool.taints, *pool.startup_taints)}
    taints.update(taint.key for node in state.nodes.values() for taint in node.taints)
    return KnownValues(
        labels=_labels(view),
        node_pools=tuple(sorted(state.nodepools)),
        node_classes={kind: tuple(sorted(n.name for n in of_kind)) for kind, of_kind in classes.items()},
        namespaces=tuple(sorted(state.of(Kind.NAMESPACE))),
        workloads=tuple(sorted({key.rpartition("/")[2] for kind in WORKLOAD_KINDS for key in state.of(kind)})),
        priority_classes=tuple(sorted(state.of(Kind.PRIORITY_CLASS))),
        taints=tuple(sorted(taints)),
        types=_of_types(view).by_type,
    )


def _of_types(view: ClusterView) -> _OfTypes:
    lists = _lists(view)
    return _OF_LISTS.get(lists, lambda: _OF_LABELS.get(tuple(_label_sources(lists)), lambda: _labelled(lists)))


def _label_sources(lists: Iterable[Sequence[InstanceType]]) -> Iterator[object]:
    """Yield everything that labels of types follow from, type by type."""
    for types in lists:
        for instance_type in types:
            yield instance_type.requirements
            yield from (offering.requirements for offering in instance_type.offerings)
        yield None


def _labelled(lists: Iterable[Sequence[InstanceType]]) -> _OfTypes:
    return _OfTypes(
        tuple({t.name: label_values((t,)) for types in lists for t in types}.values()), tuple(map(label_values, lists))
    )


def _lists(view: ClusterView) -> tuple[Sequence[InstanceType], ...]:
    """Return the lists of instance types that NodePools have, each once."""
    types = offered_types_of(view).types
    return tuple({id(ins): ins for ins in (types.values() if isinstance(types, Mapping) else [types])}.values())


def _labels(view: ClusterView) -> dict[str, tuple[str, ...]]:
    """Return label keys with the values that instance types, offerings and NodePools have for them."""
    values_by_field: dict[str, tuple[str, ...]] = {}
    for source in (*_of_types(view).by_list, *_pool_labels(view)):
        for key, values in source.items():
            before = values_by_field.get(key, values)
            values_by_field[key] = values if before == values else tuple(sorted({*before, *values}))
    return {key: values_by_field[key][:MOST_VALUES] for key in sorted(values_by_field)}


def _pool_labels(view: ClusterView) -> Iterator[Mapping[str, tuple[str, ...]]]:
    for pool in view.state.nodepools.values():
        yield {key: (value,) for key, value in pool.template_labels.items()}


def label_values(types: Sequence[InstanceType]) -> Mapping[str, tuple[str, ...]]:
    """Return label keys with the values that types and their offerings have, sorted."""
    values_by_key: dict[str, set[str]] = {}
    offered: dict[int, tuple[NodeSelectorRequirement, ...]] = {}
    for instance_type in types:
        for selector in instance_type.requirements:
            values_by_key.setdefault(selector.key, set()).update(selector.values)
        # Types share the few requirement objects of their offerings.
        offered.update((id(offering.requirements), offering.requirements) for offering in instance_type.offerings)
    for selector in chain.from_iterable(offered.values()):
        values_by_key.setdefault(selector.key, set()).update(selector.values)
    return {key: tuple(sorted(values)) for key, values in values_by_key.items()}
