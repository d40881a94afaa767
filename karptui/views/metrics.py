"""Metrics for Prometheus: their names, labels and values. Never a series per pod, node or NodeClaim."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from karptui.kube.timestamps import NS_PER_SECOND
from karptui.session.budgets import budget_entries
from karptui.session.controller import controller_of_view
from karptui.session.costs import held_per_hour, total_of
from karptui.session.status import age_ns
from karptui.verdict.controller import has_leader
from karptui.views.sanitize import clean

if TYPE_CHECKING:
    from karptui.session.cluster_view import ClusterView
    from karptui.session.nodes import NodeEntry
    from karptui.verdict.finding import ClusterFinding

MOST_POOLS: Final = 200
"""NodePools with separate series, by name; all others share one."""
OTHER: Final = "(other)"
"""Label of the NodePools beyond these, of nodes whose NodePool does not exist, and of unusual capacity types."""
_LONGEST: Final = 63
"""Characters of a label's value."""
_CAPACITY_TYPES: Final = frozenset({"on-demand", "spot", "reserved", ""})


class Metric(NamedTuple):
    """A gauge."""

    name: str
    help: str
    labels: tuple[str, ...] = ()


Values = Mapping[tuple[str, ...], float]
"""Values of a metric by their labels."""

FINDINGS: Final = Metric("karptui_findings", "Problems in the verdict, by cause.", ("cause", "severity"))
HELD_NODES: Final = Metric(
    "karptui_held_nodes", "Nodes that Karpenter wants to remove and that something blocks.", ("reason", "nodepool")
)
HELD_DOLLARS: Final = Metric(
    "karptui_held_dollars_per_hour",
    "Sum of the savings of removing each blocked node alone; absent if one is unknown.",
    ("reason", "nodepool"),
)
CLUSTER_HELD: Final = Metric(
    "karptui_cluster_held_dollars_per_hour", "Savings if all blocked nodes were removed together, as in the app."
)
NODES: Final = Metric("karptui_nodes", "Nodes.", ("nodepool", "capacity_type"))
NODE_DOLLARS: Final = Metric(
    "karptui_nodes_dollars_per_hour", "Cost of nodes; absent if a price is unknown.", ("nodepool", "capacity_type")
)
BUDGET_LEFT: Final = Metric(
    "karptui_budget_left_nodes", "Nodes that disruption budgets still allow to disrupt now.", ("nodepool", "reason")
)
PENDING: Final = Metric("karptui_pending_pods", "Pending pods, by cause.", ("cause",))
LEADER: Final = Metric("karptui_karpenter_has_leader", "1 if a replica of Karpenter holds the leader lease, else 0.")
KARPENTER: Final = Metric("karptui_karpenter_info", "Version of Karpenter.", ("version",))
JUDGED: Final = Metric("karptui_verdict_timestamp_seconds", "Time of the last verdict.")
AGE: Final = Metric("karptui_data_age_seconds", "Time since the data of a kind was known to be current.", ("kind",))
HISTORY_SIZE: Final = Metric("karptui_history_size_bytes", "Size of the history's files.")
RECORDING: Final = Metric("karptui_history_recording", "1 if the history is being recorded, else 0.")
BUILD: Final = Metric("karptui_build_info", "Version of karptui.", ("version",))
METRICS: Final = (
    FINDINGS,
    HELD_NODES,
    HELD_DOLLARS,
    CLUSTER_HELD,
    NODES,
    NODE_DOLLARS,
    BUDGET_LEFT,
    PENDING,
    LEADER,
    KARPENTER,
    JUDGED,
    AGE,
    HISTORY_SIZE,
    RECORDING,
    BUILD,
)


def label(text: str) -> str:
    """Return text as a label's value: short, and without anything a terminal would act on."""
    return clean(text, limit=_LONGEST)


def verdict_metrics(view: ClusterView, problems: Iterable[ClusterFinding], now_ns: int) -> dict[Metric, Values]:
    """Return the metrics of a verdict; unknown values are left out."""
    pools = {"": "", **{name: label(name) for name in sorted(view.state.nodepools)[:MOST_POOLS]}}
    findings: defaultdict[tuple[str, ...], float] = defaultdict(float)
    for finding in problems:
        findings[str(finding.code), str(finding.severity)] += 1
    controller = controller_of_view(view, (), now_ns)
    held = view.totals.held
    is_held_known = held is not None and view.analysis is not None and not (held.waiting or held.unpriced)
    version = view.evidence.karpenter_version
    return {
        FINDINGS: findings,
        CLUSTER_HELD: {(): held.per_hour} if held is not None and is_held_known else {},
        **_held_values(view.node_entries, pools),
        **_nodes(view.node_entries, pools),
        BUDGET_LEFT: dict(_budgets(view, pools)),
        PENDING: _pending(view),
        LEADER: {(): float(has_leader(controller))} if controller.lease_holder is not None else {},
        KARPENTER: {(label(version),): 1.0} if version else {},
        JUDGED: {(): now_ns / 1e9},
    }


def ages(view: ClusterView, merged_ns: int, now_ns: int) -> dict[Metric, Values]:
    """Return the age of each kind's data, for kinds that have been read."""
    ages_ns = {kind: age_ns(status, merged_ns, now_ns) for kind, status in view.statuses.items()}
    return {AGE: {(label(kind),): age / NS_PER_SECOND for kind, age in ages_ns.items() if age is not None}}


def _held_values(entries: Iterable[NodeEntry], pools: Mapping[str, str]) -> dict[Metric, Values]:
    nodes: defaultdict[tuple[str, ...], float] = defaultdict(float)
    dollars: dict[tuple[str, ...], float | None] = {}
    for entry in entries:
        if entry.findings is None or not entry.findings.is_held:
            continue
        labels = (str(entry.findings.why.code), pools.get(entry.pool, OTHER))
        nodes[labels] += 1
        amount, before = held_per_hour(entry), dollars.get(labels, 0.0)
        dollars[labels] = None if amount is None or before is None else before + amount
    return {HELD_NODES: nodes, HELD_DOLLARS: _known_values(dollars)}


def _nodes(entries: Iterable[NodeEntry], pools: Mapping[str, str]) -> dict[Metric, Values]:
    groups: defaultdict[tuple[str, ...], list[NodeEntry]] = defaultdict(list)
    for entry in entries:
        if entry.node is not None:
            kind = entry.capacity_type if entry.capacity_type in _CAPACITY_TYPES else OTHER
            groups[pools.get(entry.pool, OTHER), kind].append(entry)
    totals = {labels: total_of(nodes) for labels, nodes in groups.items()}
    return {
        NODES: {labels: float(len(nodes)) for labels, nodes in groups.items()},
        NODE_DOLLARS: _known_values({key: None if total.unpriced else total.per_hour for key, total in totals.items()}),
    }


def _known_values(values: Mapping[tuple[str, ...], float | None]) -> Values:
    return {labels: value for labels, value in values.items() if value is not None}


def _budgets(view: ClusterView, pools: Mapping[str, str]) -> Iterator[tuple[tuple[str, ...], float]]:
    """Yield the nodes that budgets still allow; NodePools that share a label have no common budget."""
    for entry in budget_entries(view):
        if entry.state is not None and (pool := pools.get(entry.pool.name, OTHER)) != OTHER:
            yield (pool, str(entry.reason)), float(entry.state.left)


def _pending(view: ClusterView) -> Values:
    pods: defaultdict[tuple[str, ...], float] = defaultdict(float)
    for group in view.pending.groups if view.pending is not None else ():
        pods[group.cause.name,] += len(group.pods)
    return pods
