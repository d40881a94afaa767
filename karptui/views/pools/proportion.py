"""A wanted proportion between NodePools: what is asked, and the what-if that it begins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import gcd
from typing import Final

from karptui.decode.kinds import Kind
from karptui.disruption.owner import Owner, OwnerIndex
from karptui.kube.pod import Pod
from karptui.kube.units import count_text, first_of
from karptui.kube.workload import workload_labels
from karptui.provisioning.overlap import Overlap
from karptui.session.cluster_view import ClusterView
from karptui.state.cluster import ClusterState
from karptui.state.inventory import WORKLOAD_KINDS
from karptui.views.sanitize import clean
from karptui.whatif.edits import ObjectRef, SetField
from karptui.whatif.opening import Opening
from karptui.whatif.proportion import LABEL, Bearer, ProportionError, proportion_edits
from karptui.whatif.scenario import Replay

WITH_TEMPLATE: Final = frozenset({"Deployment", "StatefulSet", "ReplicaSet", "ReplicationController"})
"""Owners whose template can be changed; the pods of others are changed as if they had been made so."""
MOST_DOCUMENTS: Final = 6
"""Objects that are opened as text."""
NAMED: Final = 3


def partners_of(pool: str, overlap: Overlap | None) -> tuple[str, ...]:
    """Return a NodePool and the one it shares most pods with; it alone where it shares none."""
    found = overlap.pools.get(pool) if overlap is not None else None
    return (pool, *list(found.shared_with)[:1]) if found is not None else (pool,)


def first_shares(pools: Sequence[str], view: ClusterView) -> str:
    """Return what stands in the line at first: the weights, which is what people mean by them, else equal shares."""
    weights = [view.state.nodepools[name].weight for name in pools if name in view.state.nodepools]
    shares = weights if len(weights) == len(pools) and all(weights) else [1] * len(pools)
    common = gcd(*shares)
    return " ".join(f"{name}={share // common}" for name, share in zip(pools, shares, strict=True))


def shared_pods(pools: Iterable[str], overlap: Overlap | None) -> int:
    """Return how many pods could go to every one of some NodePools."""
    wanted = frozenset(pools)
    return sum(kind.pods for kind in overlap.kinds if wanted <= frozenset(kind.pools)) if overlap is not None else 0


def hint_of(pools: Sequence[str], view: ClusterView) -> str:
    """Return what the line takes, and for which pods."""
    overlap = view.analysis.overlap if view.analysis is not None else None
    names = [str(owner) for owner in _owners(frozenset(pools), view.state, overlap)]
    whose = f" of {first_of([clean(name) for name in names], NAMED)}" if names else ""
    many = f"{count_text(shared_pods(pools, overlap))} pods{whose}"
    return (
        f"shares such as 70/30, or NodePool=share for each; {many} may go to either. Each share is a value of the "
        f"label {LABEL}, and pods are spread over it, so that weight no longer decides"
    )


def proportion_opening(values: Mapping[str, int], view: ClusterView) -> Opening:
    """Return the what-if of a proportion: every pod placed from scratch, with the label and the spread.

    Args:
        values: by NodePool, how many values of the label it gets.
        view: the cluster, with its overlap.

    Raises:
        ProportionError: with a sentence.
    """
    state = view.state
    overlap = view.analysis.overlap if view.analysis is not None else None
    bearers = tuple(_bearers(_owners(frozenset(values), state, overlap), state))
    if not bearers:
        named = " and ".join(map(clean, values))
        raise ProportionError(f"no pod with labels of its own could go to {named} alike: there is nothing to spread")
    edits = proportion_edits(values, state.nodepools, bearers)
    documents = dict.fromkeys(one.object for one in edits if isinstance(one, SetField) and one.object.kind != "Pod")
    name = ", ".join(f"{pool} {count}" for pool, count in values.items())
    return Opening(clean(name)[:60], tuple(documents)[:MOST_DOCUMENTS], edits, Replay.SCRATCH)


def _owners(wanted: frozenset[str], state: ClusterState, overlap: Overlap | None) -> dict[Owner | ObjectRef, Pod]:
    """Return who stands behind the pods that could go to all of the NodePools, each with one of its pods."""
    index = OwnerIndex(item for kind in WORKLOAD_KINDS for item in state.of(kind).values())
    found: dict[Owner | ObjectRef, Pod] = {}
    for kind in overlap.kinds if overlap is not None else ():
        if not wanted <= frozenset(kind.pools):
            continue
        for key in kind.examples:
            pod = state.pods.get(key)
            if pod is not None and workload_labels(pod.template.labels):
                found.setdefault(index.of(pod) or ObjectRef(str(Kind.POD), pod.name, pod.namespace), pod)
    return found


def _bearers(owners: Mapping[Owner | ObjectRef, Pod], state: ClusterState) -> Iterator[Bearer]:
    """Yield what is edited: the workload where it is known and has a template, else each of its pods."""
    known = {f"{kind}/{key}" for kind in WORKLOAD_KINDS for key in state.of(kind)}
    apart: set[Owner] = set()
    for owner, pod in owners.items():
        if isinstance(owner, ObjectRef):
            yield Bearer(owner, pod.template)
        elif owner.kind in WITH_TEMPLATE and str(owner) in known:
            yield Bearer(ObjectRef(owner.kind, owner.name, owner.namespace), pod.template)
        else:
            apart.add(owner)
    if apart:
        index = OwnerIndex(item for kind in WORKLOAD_KINDS for item in state.of(kind).values())
        for pod in state.pods.values():
            if not pod.is_terminal and index.of(pod) in apart:
                yield Bearer(ObjectRef(str(Kind.POD), pod.name, pod.namespace), pod.template)
