"""A proportion between NodePools: what weights cannot do, a topology spread over a label can.

Every NodePool is given some values of one label, as many as its share, and pods are spread over the label: each value
gets as many pods as any other. That is Karpenter's own recipe for a ratio of spot to on-demand
(https://karpenter.sh/docs/concepts/scheduling/, "On-Demand/Spot Ratio Split").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import gcd
from typing import Any, Final

import msgspec

from karptui.decode.kinds import WORKLOAD_KINDS, Kind
from karptui.disruption.owner import Owner, OwnerIndex
from karptui.errors import RequestError, no_such
from karptui.karpenter.nodepool import NodePool
from karptui.kube.pod import Pod, PodTemplate
from karptui.kube.workload import workload_labels
from karptui.provisioning.overlap import Overlap
from karptui.state.cluster import ClusterState
from karptui.whatif.edits import AnyEdit, ObjectRef, SetField
from karptui.whatif.edits.document import template_document
from karptui.whatif.field_path import POOL_REQUIREMENTS, value_at
from karptui.whatif.scenario import Opening, Replay

LABEL: Final = "capacity-spread"
"""The label, called as Karpenter's documentation calls it."""
MOST_VALUES: Final = 20
"""Maximum number of label values: each of them needs a node."""
MOST_DOCUMENTS: Final = 6
"""Objects that are opened as text."""
MOST_NAME: Final = 60
_WITH_TEMPLATE: Final = frozenset({"Deployment", "StatefulSet", "ReplicaSet", "ReplicationController"})
"""Owners whose template can be changed; the pods of others are changed as if they had been made so."""
_SPREADS: Final = ("spec", "topologySpreadConstraints")


class EditedOwner(msgspec.Struct, frozen=True):
    """The object to edit so that pods change: their workload, or a single pod."""

    ref: ObjectRef
    template: PodTemplate


def first_shares(pools: Sequence[str], node_pools: Mapping[str, NodePool]) -> str:
    """Return the proposed shares: the weights, since users mean these, or else equal shares."""
    weights = [node_pools[name].weight for name in pools if name in node_pools]
    shares = weights if len(weights) == len(pools) and all(weights) else [1] * len(pools)
    common = gcd(*shares)
    return " ".join(f"{name}={share // common}" for name, share in zip(pools, shares, strict=True))


def parse_shares(text: str, offered: Sequence[str], nodepool_names: Iterable[str]) -> Mapping[str, int]:
    """Parse ``70/30``, the shares of the offered NodePools in order, or ``primary=70 spare=30``.

    Args:
        offered: Names of the NodePools for numbers without names.
        nodepool_names: Names of every NodePool.

    Returns:
        Number of label values by NodePool, without common divisors.

    Raises:
        RequestError: with a message for the user.
    """
    words = text.replace("/", " ").replace(":", " ").replace(",", " ").split()
    if not any("=" in word for word in words):
        if len(words) != len(offered):
            raise RequestError(f"{len(offered)} numbers are needed, for {', '.join(offered)}; or name=number each")
        words = [f"{name}={word}" for name, word in zip(offered, words, strict=True)]
    shares: dict[str, int] = {}
    names = frozenset(nodepool_names)
    for word in words:
        name, _, number = word.partition("=")
        if name not in names:
            raise no_such("NodePool", name, sorted(names))
        if not (number.isascii() and number.isdecimal() and 0 < int(number[:7]) < 1_000_000):
            raise RequestError(f"{word}: a share is a whole number from 1 up")
        shares[name] = int(number)
    if len(shares) < 2:
        raise RequestError("a ratio needs two NodePools")
    return _reduced(shares)


def _reduced(shares: Mapping[str, int]) -> Mapping[str, int]:
    common = gcd(*shares.values())
    values = {name: share // common for name, share in shares.items()}
    if sum(values.values()) <= MOST_VALUES:
        return values
    near = "/".join(map(str, _nearest(list(values.values()))))
    raise RequestError(
        f"it takes {sum(values.values()):,} label values, and each needs a node; {near} is close with {MOST_VALUES} "
        "or fewer"
    )


def _nearest(shares: list[int]) -> list[int]:
    """Return the proportion of few enough values that is nearest: least is the largest error of a share."""
    whole = sum(shares)
    best, least = [1] * len(shares), 2.0
    for total in range(len(shares), MOST_VALUES + 1):
        parts = [max(1, round(share * total / whole)) for share in shares]
        error = max(abs(part / sum(parts) - share / whole) for part, share in zip(parts, shares, strict=True))
        if sum(parts) <= MOST_VALUES and error < least:
            best, least = parts, error
    return best


def proportion_edits(
    values: Mapping[str, int], nodepools: Mapping[str, NodePool], edited: Iterable[EditedOwner]
) -> tuple[AnyEdit, ...]:
    """Return the edits: label values for every NodePool, and a spread over them for every workload.

    Args:
        values: Number of label values by NodePool.
        edited: Objects to edit so that the pods change; those without labels are skipped, since nothing distinguishes
            their
            pods.

    Raises:
        RequestError: if the original object of a NodePool is unknown.
    """
    edits: list[AnyEdit] = []
    first = 1
    for name, count in values.items():
        pool = nodepools.get(name)
        if pool is None or not pool.raw:
            raise RequestError(f"the NodePool {name}: its original object is unknown, so it cannot be edited")
        label_requirement = {
            "key": LABEL,
            "operator": "In",
            "values": [str(value) for value in range(first, first + count)],
        }
        written = value_at(pool.raw, POOL_REQUIREMENTS, [])
        others = [
            requirement
            for requirement in written
            if not (isinstance(requirement, Mapping) and requirement.get("key") == LABEL)
        ]
        edits.append(SetField(ObjectRef("NodePool", name), POOL_REQUIREMENTS, [*others, label_requirement]))
        first += count
    edits += [
        SetField(o.ref, (*(() if o.ref.kind == "Pod" else ("spec", "template")), *_SPREADS), _spreads(o.template))
        for o in edited
        if workload_labels(o.template.labels)
    ]
    return tuple(edits)


def _spreads(template: PodTemplate) -> list[dict[str, Any]]:
    """Return the spreads that pods have, and the one over the label; an older one over the label gives way."""
    written: list[dict[str, Any]] = value_at(template_document(template), _SPREADS, [])
    spread = {
        "maxSkew": 1,
        "topologyKey": LABEL,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": workload_labels(template.labels)},
    }
    return [*(document for document in written if document.get("topologyKey") != LABEL), spread]


def proportion_opening(values: Mapping[str, int], state: ClusterState, overlap: Overlap) -> Opening:
    """Return the what-if of a proportion: every pod placed from scratch, with the label and the spread.

    Args:
        values: Number of label values by NodePool.

    Raises:
        RequestError: with a message for the user.
    """
    edited = tuple(_edited_owners(owners_of_shared(values, state, overlap), state))
    if not edited:
        named = " and ".join(values)
        raise RequestError(f"no pod with labels fits {named} alike: there is nothing to spread")
    edits = proportion_edits(values, state.nodepools, edited)
    documents = dict.fromkeys(edit.object for edit in edits if isinstance(edit, SetField) and edit.object.kind != "Pod")
    name = ", ".join(f"{pool} {count}" for pool, count in values.items())
    return Opening(name[:MOST_NAME], tuple(documents)[:MOST_DOCUMENTS], edits, Replay.SCRATCH)


def owners_of_shared(pools: Iterable[str], state: ClusterState, overlap: Overlap) -> dict[Owner | ObjectRef, Pod]:
    """Return the owners of pods that all of the NodePools accept, each with one of its pods."""
    all_of = frozenset(pools)
    index = OwnerIndex(item for kind in WORKLOAD_KINDS for item in state.of(kind).values())
    pods: dict[Owner | ObjectRef, Pod] = {}
    for kind in overlap.kinds:
        if not all_of <= frozenset(kind.pools):
            continue
        for key in kind.examples:
            pod = state.pods.get(key)
            if pod is not None and workload_labels(pod.template.labels):
                pods.setdefault(index.of(pod) or ObjectRef(str(Kind.POD), pod.name, pod.namespace), pod)
    return pods


def _edited_owners(owners: Mapping[Owner | ObjectRef, Pod], state: ClusterState) -> Iterator[EditedOwner]:
    """Yield the objects to edit: a workload if it is known and has a template, or else each of its pods."""
    workload_keys = {f"{kind}/{key}" for kind in WORKLOAD_KINDS for key in state.of(kind)}
    apart: set[Owner] = set()
    for owner, pod in owners.items():
        if isinstance(owner, ObjectRef):
            yield EditedOwner(owner, pod.template)
        elif owner.kind in _WITH_TEMPLATE and str(owner) in workload_keys:
            yield EditedOwner(ObjectRef(owner.kind, owner.name, owner.namespace), pod.template)
        else:
            apart.add(owner)
    if apart:
        index = OwnerIndex(item for kind in WORKLOAD_KINDS for item in state.of(kind).values())
        for pod in state.pods.values():
            if not pod.is_terminal and index.of(pod) in apart:
                yield EditedOwner(ObjectRef(str(Kind.POD), pod.name, pod.namespace), pod.template)
