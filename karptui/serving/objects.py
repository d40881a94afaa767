"""Reports on single objects: nodes, pending pods, instance types, names, and how NodePools share pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from karptui.decode.kinds import Kind
from karptui.errors import RequestError
from karptui.kube.recent import LastAnswer
from karptui.kube.units import count_text, first_of
from karptui.provisioning.overlap import Overlap
from karptui.session.answers import NodeReport, PendingPod, Proportion, TypeReport, TypeSources
from karptui.session.cluster_view import ClusterView
from karptui.session.pending import surroundings_of
from karptui.session.pending_report import PodSurroundings
from karptui.session.pods import PodEntry
from karptui.session.pool_types import offered_types_of
from karptui.session.readiness import may_list_events
from karptui.session.types_of_pools import pool_entries, types_of_pool
from karptui.state.cluster import ClusterState
from karptui.views.sanitize import clean
from karptui.views.types.pools import source_lines
from karptui.views.verdict.sentence import pending_reasons
from karptui.whatif.edits import ObjectRef
from karptui.whatif.proportion import LABEL, first_shares, owners_of_shared, parse_shares, proportion_opening
from karptui.whatif.scenario import ref_of

MOST_PODS: Final = 2_000
"""Pods that are named: those without a node first, then one of each workload."""

NAMED: Final = 3
"""Workloads that a hint names."""


class Objects:
    """Reports that are the same object as long as nothing has changed."""

    def __init__(self) -> None:
        self._pods: LastAnswer[tuple[PodEntry, ...]] = LastAnswer()
        self._reasons: LastAnswer[Mapping[str, str]] = LastAnswer()
        self._type_sources: LastAnswer[TypeSources] = LastAnswer()

    def node(self, view: ClusterView, key: str, name: str) -> NodeReport:
        """Return one node by its row key; pods by its name once it is gone."""
        entry = view.node_entry(key)
        node = entry.node if entry is not None else None
        name = node.name if node is not None else name
        detail = view.analysis.detail if view.analysis is not None else None
        return NodeReport(
            entry=entry,
            pods=self._pods.get((view,), lambda: view.pods_on(name) if name else (), equals=(name,)),
            detail=detail if detail is not None and detail.key == key else None,
            usage=replace(view.live_usage, nodes={}, pods={}, containers={}),
        )

    def pending_reasons(self, view: ClusterView) -> Mapping[str, str]:
        """Return short reasons of pending pods, by the key of their group."""
        return self._reasons.get((view.pending,), lambda: pending_reasons(view))

    def type_sources(self, view: ClusterView, pool_name: str) -> TypeSources:
        """Return the sources of instance types, settings and prices."""

        def sources() -> TypeSources:
            pools = pool_entries(view) if pool_name else ()
            pool = next((entry for entry in pools if entry.name == pool_name), None)
            [line] = source_lines(pool, view.evidence, view.prices)
            notes = () if pool_name else offered_types_of(view).nodeclasses.notes
            overhead = view.evidence.overhead_origin
            return TypeSources(text="".join(text for text, _ in line), overhead=overhead, notes=tuple(notes))

        state = view.state
        inputs = view.evidence, view.prices, state.nodepools, state.nodeclasses, state.nodes
        return self._type_sources.get(inputs, sources, equals=(pool_name,))


def pending_pod(view: ClusterView, key: str) -> PendingPod:
    """Return the reason of a pending pod."""
    pod, report = view.state.pods.get(key), view.pending
    detail = report.detail if report is not None else None
    group = report.by_pod.get(key) if report is not None else None
    shown = group.first if group is not None else pod
    return PendingPod(
        exists=pod is not None,
        node_name=pod.node_name if pod is not None and pod.node_name in view.state.nodes else "",
        group=group,
        detail=detail if detail is not None and detail.pod_key == key else None,
        around=surroundings_of(shown, view.state) if shown is not None else PodSurroundings(),
        may_list_events=may_list_events(view),
    )


def instance_type(view: ClusterView, pool: str, name: str, pods: frozenset[str]) -> TypeReport:
    """Return one type of a NodePool at length."""
    types = types_of_pool(view, pool)
    if types is None:
        return TypeReport()
    entry = types.type(name)
    if entry is None:
        return TypeReport(pool=types.entry)
    return TypeReport(pool=types.entry, entry=entry, fit=types.fit(entry, pods), family=types.family(entry.name))


def names(state: ClusterState, kinds: Sequence[str]) -> tuple[ObjectRef, ...]:
    """Return the objects of some kinds, kind by kind."""
    return tuple(ref for kind in kinds for ref in _of_kind(state, Kind(kind)))


def _of_kind(state: ClusterState, kind: Kind) -> Iterator[ObjectRef]:
    if kind is Kind.POD:
        yield from _pods(state)
    elif kind is Kind.NODECLASS:
        for nodeclass in sorted(state.nodeclasses.values(), key=lambda node_class: (node_class.name, node_class.kind)):
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


def proportion(view: ClusterView, pools: Sequence[str], shares: str | None = None) -> Proportion:
    """Return the overlap of NodePools, and the what-if for the given shares."""
    overlap = view.analysis.overlap if view.analysis is not None else None
    if overlap is None:
        return Proportion()
    result = Proportion(
        is_known=True,
        pods=overlap.shared_by(pools),
        first=first_shares(pools, view.state.nodepools),
        hint=_hint(pools, view.state, overlap),
    )
    if shares is None:
        return result
    try:
        begun = proportion_opening(parse_shares(shares, pools, view.state.nodepools), view.state, overlap)
    except RequestError as error:
        return Proportion(is_known=True, pods=result.pods, problem=clean(str(error)))
    return Proportion(is_known=True, pods=result.pods, opening=begun)


def _hint(pools: Sequence[str], state: ClusterState, overlap: Overlap) -> str:
    """Return the accepted input, and the pods that it applies to."""
    names = [clean(str(owner)) for owner in owners_of_shared(pools, state, overlap)]
    many = f"{count_text(overlap.shared_by(pools))} pods{f' of {first_of(names, NAMED)}' if names else ''}"
    return (
        f"shares such as 70/30, or NodePool=share for each; {many} may go to either. Each share is a value of the "
        f"label {LABEL}, and pods are spread over it, so that weight no longer decides"
    )
