"""Answers about single objects: their descriptions, their names, and what a what-if of them begins with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from karptui.decode.kinds import Kind
from karptui.kube.units import count_text, first_of
from karptui.provisioning.overlap import Overlap
from karptui.session.cluster_view import ClusterView
from karptui.session.questions import (
    DescriptionFound,
    DescriptionWanted,
    NamesFound,
    NamesWanted,
    OpeningFound,
    OpeningWanted,
    ProportionFound,
    ProportionWanted,
)
from karptui.state.cluster import ClusterState
from karptui.views.describe import describe
from karptui.views.sanitize import clean
from karptui.whatif.edits import ObjectRef
from karptui.whatif.opening import opening_for_all, ref_of
from karptui.whatif.proportion import (
    LABEL,
    ProportionError,
    first_shares,
    owners_of_shared,
    parse_shares,
    proportion_opening,
)

MOST_PODS: Final = 2_000
"""Pods that are named: those without a node first, then one of each workload."""

NAMED: Final = 3
"""Workloads that a hint names."""


def description(view: ClusterView, wanted: DescriptionWanted) -> DescriptionFound:
    """Return an object as a page of text; a sentence when it is not there any more."""
    return DescriptionFound(text=describe(view, wanted.kind, wanted.key, wanted.now_ns))


def names(view: ClusterView, wanted: NamesWanted) -> NamesFound:
    """Return the objects of some kinds, kind by kind."""
    return NamesFound(refs=tuple(ref for kind in wanted.kinds for ref in _of_kind(view.state, Kind(kind))))


def _of_kind(state: ClusterState, kind: Kind) -> Iterator[ObjectRef]:
    if kind is Kind.POD:
        yield from _pods(state)
    elif kind is Kind.NODECLASS:
        for nodeclass in sorted(state.nodeclasses.values(), key=lambda one: (one.name, one.kind)):
            yield ObjectRef(nodeclass.kind, nodeclass.name)
    else:
        yield from (ref_of(str(kind), key) for key in sorted(state.of(kind)))


def _pods(state: ClusterState) -> Iterator[ObjectRef]:
    """Yield pods without a node, then one of each workload: a copy of one is like a copy of its siblings."""
    seen: set[object] = set()
    chosen = list(state.pending_pods)[:MOST_PODS]
    for key, pod in state.pods.items():
        if len(chosen) >= MOST_PODS:
            break
        if pod.node_name and pod.template not in seen:
            seen.add(pod.template)
            chosen.append(key)
    yield from (ref_of("Pod", key) for key in chosen)


def opening(view: ClusterView, wanted: OpeningWanted) -> OpeningFound:
    """Return what a what-if of some objects begins with."""
    return OpeningFound(opening=opening_for_all(view.state, wanted.objects))


def proportion(view: ClusterView, wanted: ProportionWanted) -> ProportionFound:
    """Return how NodePools share out their pods, and what would keep the shares that were asked."""
    pools, overlap = wanted.pools, view.analysis.overlap if view.analysis is not None else None
    if overlap is None:
        return ProportionFound()
    found = ProportionFound(
        is_known=True,
        pods=overlap.shared_by(pools),
        first=first_shares(pools, view.state.nodepools),
        hint=_hint(pools, view.state, overlap),
    )
    if wanted.shares is None:
        return found
    try:
        begun = proportion_opening(parse_shares(wanted.shares, pools, view.state.nodepools), view.state, overlap)
    except ProportionError as error:
        return ProportionFound(is_known=True, pods=found.pods, problem=clean(str(error)))
    return ProportionFound(is_known=True, pods=found.pods, opening=begun)


def _hint(pools: Sequence[str], state: ClusterState, overlap: Overlap) -> str:
    """Return what the line takes, and for which pods."""
    names = [clean(str(owner)) for owner in owners_of_shared(pools, state, overlap)]
    many = f"{count_text(overlap.shared_by(pools))} pods{f' of {first_of(names, NAMED)}' if names else ''}"
    return (
        f"shares such as 70/30, or NodePool=share for each; {many} may go to either. Each share is a value of the "
        f"label {LABEL}, and pods are spread over it, so that weight no longer decides"
    )
