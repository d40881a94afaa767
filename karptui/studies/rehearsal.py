"""Node groups moved to Karpenter: their nodes drained in a forecast, with NodePools as they would be.

A drain has a duration, blockers, and a peak number and price of nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from karptui.disruption.owner import OwnerIndex
from karptui.errors import RequestError, no_such
from karptui.forward.draining import DrainedNode, HeldPod
from karptui.forward.durations import observed
from karptui.forward.play import Play
from karptui.forward.result import Moment, Played, StepKind, without_dollars
from karptui.forward.run import HORIZON_NS, about_dollars, premises
from karptui.karpenter.inventory import Inventory, unmanaged_nodes
from karptui.karpenter.labels import COMPUTE_TYPE, FARGATE, INSTANCE_TYPE, NODEPOOL, ZONE, capacity_type_of
from karptui.karpenter.pdb_limits import PdbLimits
from karptui.karpenter.pod_predicates import is_reschedulable
from karptui.kube.objects import Node
from karptui.provisioning.reporter import Each, Reporter, one_by_one, silent
from karptui.studies.drill import AT_THE_CHEAPEST, DrillLaunch, Placements, left_by
from karptui.whatif.difference import difference
from karptui.whatif.edits import AnyEdit
from karptui.whatif.edits.apply import apply
from karptui.whatif.scenario import Replay
from karptui.whatif.situation import Situation, WhatIfBase

_PREMISES: Final = (
    "all nodes are cordoned, then drained by name: kubectl drain --ignore-daemonsets --force --delete-emptydir-data",
    "an eviction that a PodDisruptionBudget refuses is tried again every 5 s, as kubectl does",
    "a drained node is deleted, and its group does not replace it: scale the group down as you go",
)


class GroupDrain(msgspec.Struct, frozen=True, kw_only=True):
    """A simulated drain."""

    at_once: int
    """How many nodes are drained at a time."""
    from_ns: int
    until_ns: int
    """When the last node was gone and the last new one ready, or the horizon."""
    nodes: tuple[DrainedNode, ...]
    held: tuple[HeldPod, ...]
    """Pods with refused evictions, those that are never evicted first."""
    do_not_disrupt: tuple[str, ...]
    """Pods that ask not to be disrupted, which kubectl does not know: ``namespace/name``."""
    launched: int
    """Nodes that Karpenter launches meanwhile."""
    nodes_before: int
    most_nodes: int
    price_before: float
    """Price per hour of the managed nodes and the node group."""
    most_price: float
    unpriced: int
    """Highest number of nodes that prices leave out at a time, because their price is unknown."""
    has_prices: bool
    longest_wait_ns: int
    """Longest time that a pod was without a node during the drain."""
    waiting_before: int
    waiting: int
    """Pods without a node at the end."""
    assumed: tuple[str, ...]
    not_modelled: tuple[str, ...]

    @property
    def took_ns(self) -> int | None:
        """Time until the last node is removed; None if some are left."""
        ends = [node.gone_ns for node in self.nodes if node.gone_ns is not None]
        return max(ends, default=self.from_ns) - self.from_ns if len(ends) == len(self.nodes) else None

    @property
    def left(self) -> tuple[str, ...]:
        """Nodes that are not empty at the end."""
        return tuple(node.node for node in self.nodes if node.empty_ns is None)

    def waited_ns(self, held: HeldPod) -> int:
        """Return the time during which a pod's eviction was refused."""
        return (self.until_ns if held.until_ns is None else held.until_ns) - held.from_ns


def drain_groups(
    situation: Situation,
    prices: Mapping[str, float],
    *,
    names: Sequence[str],
    at_once: int = 1,
    horizon_ns: int = HORIZON_NS,
    reporter: Reporter = silent,
) -> GroupDrain:
    """Simulate the drain of nodes that Karpenter does not manage.

    Args:
        prices: Known prices per hour by node.
    """
    inventory, settings, now_ns = situation.inventory, situation.settings, situation.now_ns
    durations = observed(inventory.nodeclaims)
    play = Play(
        inventory,
        situation.types.types,
        settings,
        now_ns,
        until_ns=now_ns + horizon_ns,
        durations=durations,
        refused_until_ns=situation.types.refused_until_ns,
        reporter=reporter,
    )
    ordered, going = sorted(names), frozenset(names)
    drain = play.drain_by_hand(ordered, at_once)
    predicates = situation.fleet.pods
    do_not_disrupt = (
        pod.key
        for pod in inventory.pods
        if pod.node_name in going and is_reschedulable(pod) and not predicates.is_disruptable(pod)
    )
    has_prices = situation.has_prices
    played = play.run() if has_prices else without_dollars(play.run())
    assumed, left_out = premises(
        inventory,
        settings,
        durations,
        now_ns,
        refused_until_ns=situation.types.refused_until_ns,
        stalled=play.stalled,
    )
    costs = list(_costs(played.series, drain.nodes, prices))
    unpriced = max(moment.unpriced for moment in played.series) + sum(1 for name in names if name not in prices)
    return GroupDrain(
        at_once=at_once,
        from_ns=now_ns,
        until_ns=play.now_ns,
        nodes=drain.nodes,
        held=_longest_first(drain.held, play.now_ns),
        do_not_disrupt=tuple(sorted(do_not_disrupt)),
        launched=sum(len(step.claims) for step in played.steps if step.kind in (StepKind.PROVISION, StepKind.DISRUPT)),
        nodes_before=played.series[0].nodes,
        most_nodes=max(moment.nodes for moment in played.series),
        price_before=costs[0],
        most_price=max(costs),
        unpriced=unpriced,
        has_prices=has_prices,
        longest_wait_ns=_longest_wait(played, play.now_ns),
        waiting_before=played.series[0].pending,
        waiting=played.end.pending,
        assumed=(*_PREMISES, *assumed, *(about_dollars(played) if has_prices else ())),
        not_modelled=left_out,
    )


def _costs(series: Iterable[Moment], nodes: Sequence[DrainedNode], prices: Mapping[str, float]) -> Iterable[float]:
    """Yield the price per hour of the managed nodes and the node group at each moment."""
    for moment in series:
        left = (node.node for node in nodes if node.gone_ns is None or node.gone_ns > moment.at_ns)
        yield round(moment.price_per_hour + sum(prices.get(name, 0.0) for name in left), 6)


def _longest_first(held: Iterable[HeldPod], now_ns: int) -> tuple[HeldPod, ...]:
    def key(pod: HeldPod) -> tuple[bool, int, str]:
        until_ns = now_ns if pod.until_ns is None else pod.until_ns
        return pod.until_ns is not None, pod.from_ns - until_ns, pod.pod

    return tuple(sorted(held, key=key))


def _longest_wait(played: Played, now_ns: int) -> int:
    waits = (wait for wait in played.waits if wait.from_ns >= played.from_ns)
    return max(((now_ns if wait.until_ns is None else wait.until_ns) - wait.from_ns for wait in waits), default=0)


GROUP_LABELS: Final = (
    "eks.amazonaws.com/nodegroup",
    "alpha.eksctl.io/nodegroup-name",
    "kops.k8s.io/instancegroup",
    "kubernetes.azure.com/agentpool",
    "cloud.google.com/gke-nodepool",
)
"""Labels that name a node group, the first that a node has."""
TOGETHER: Final = "all together"
"""Name of all node groups together."""
ASSUMED: Final = (
    "the final placement is computed as if all nodes disappeared at once; the drain over time is a separate simulation",
    AT_THE_CHEAPEST,
    "pods that are pending today are scheduled with them",
)


class Rehearsal(Placements, frozen=True, kw_only=True):
    """Result of moving one node group, whose nodes are drained."""

    group: str
    """Name of the node group or value of the given label; empty for nodes without it."""
    price_before: float
    """Price per hour of the nodes with a known price."""
    unpriced: int
    """Nodes without a known price."""
    held: tuple[str, ...]
    """Pods that a PodDisruptionBudget keeps from eviction today: ``namespace/name``."""
    daemons: tuple[tuple[str, int], ...]
    """DaemonSets whose pods end with the nodes, and how many."""
    absent_daemons: tuple[tuple[str, tuple[str, ...]], ...]
    """DaemonSets that would not run on new nodes, with the NodePools of these nodes."""
    drain: GroupDrain
    """The same over time."""
    notes: tuple[str, ...] = ()
    """Non-obvious effects of the manifests, as messages."""

    @property
    def assumed(self) -> tuple[str, ...]:
        """Assumptions about placements and about the drain."""
        return (*ASSUMED, *self.drain.assumed)


def group_of(labels: Mapping[str, str]) -> str:
    """Return the node group named by a node's labels; empty if they name none."""
    return next((labels[key] for key in GROUP_LABELS if labels.get(key)), "")


def unmanaged(inventory: Inventory) -> tuple[Node, ...]:
    """Return the nodes that Karpenter does not manage, without Fargate."""
    return tuple(
        node
        for node in unmanaged_nodes(inventory)
        if not node.labels.get(NODEPOOL) and node.labels.get(COMPUTE_TYPE) != FARGATE
    )


def groups(inventory: Inventory) -> tuple[str, ...]:
    """Return the node groups that there are, by name; empty for nodes without one."""
    return tuple(sorted({group_of(node.labels) for node in unmanaged(inventory)}))


def rehearsals(
    base: WhatIfBase,
    names: Sequence[str] = (),
    manifests: Sequence[AnyEdit] = (),
    *,
    at_once: int = 1,
    horizon_ns: int = HORIZON_NS,
    reporter: Reporter = silent,
    each: Each = one_by_one,
) -> tuple[Rehearsal, ...]:
    """Return the result of moving each node group, and all together if there are several.

    Args:
        names: Names of node groups, or ``label=value`` of nodes; every node group without any.
        manifests: Edits applied first: planned NodePools, NodeClasses and DaemonSets.

    Raises:
        RequestError: There is no such node group.
        EditError: A manifest is invalid.
    """
    chosen = [(name, _nodes(base.inventory, name)) for name in names or groups(base.inventory)]
    if len(chosen) > 1:
        every = {node.name: node for _, nodes in chosen for node in nodes}
        chosen.append((TOGETHER, tuple(every.values())))
    rehearsals: list[Rehearsal] = []

    def report(done: int, total: int) -> None:
        """Report finished groups, and the progress of the current drain."""
        reporter(len(rehearsals) * 100 + done * 100 // max(total, 1), len(chosen) * 100)

    reporter(0, len(chosen) * 100)
    rehearsals.extend(each(_rehearse, (base, tuple(manifests), at_once, horizon_ns), chosen, report))
    return tuple(rehearsals)


def _nodes(inventory: Inventory, name: str) -> tuple[Node, ...]:
    free = unmanaged(inventory)
    key, has_value, value = name.partition("=")
    if has_value:
        nodes = tuple(node for node in free if node.labels.get(key) == value)
        if not nodes:
            raise RequestError(f"no node outside NodePools has the label {name}")
        return nodes
    nodes = tuple(node for node in free if group_of(node.labels) == name)
    if not nodes:
        raise no_such("node group", name, filter(None, groups(inventory)))
    return nodes


def _rehearse(common: Any, part: Any, reporter: Reporter) -> Rehearsal:
    base, manifests, at_once, horizon_ns = common
    name, nodes = part
    inventory = base.inventory
    left = left_by(inventory, (node.name for node in nodes))
    edits = (*manifests, *left.edits)
    edited = apply(base, edits)
    changes = difference(base, edited, Replay.PENDING)
    prices = {node.name: _price(base, node) for node in nodes}
    known_prices = {name: price for name, price in prices.items() if price is not None}
    limits = PdbLimits(inventory.pdbs)
    placements = left.placements(edited, changes)
    there = [pod for pod in inventory.pods if pod.node_name in left.nodes]
    held = [
        pod.key
        for pod in there
        if pod.key in left.moved and any(pdb.disruptions_allowed <= 0 for pdb in limits.matching(pod))
    ]
    owners = OwnerIndex(inventory.workloads)
    daemons = Counter(str(owners.of(pod)) for pod in there if pod.template.is_daemonset_owned and pod.is_active)
    return Rehearsal(
        **placements,
        group=name,
        price_before=sum(known_prices.values()),
        unpriced=len(prices) - len(known_prices),
        held=tuple(sorted(held)),
        daemons=tuple(sorted(daemons.items())),
        absent_daemons=tuple(_absent_daemons(edited, sorted(daemons), placements["launches"])),
        edits=edits,
        drain=drain_groups(
            apply(base, manifests) if manifests else base,
            known_prices,
            names=left.nodes,
            at_once=at_once,
            horizon_ns=horizon_ns,
            reporter=reporter,
        ),
        notes=edited.notes,
    )


def _absent_daemons(
    edited: Situation, daemons: Iterable[str], launches: Iterable[DrillLaunch]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the DaemonSets that run on no instance type of some NodePools whose nodes come, with these."""
    pool_names = {launch.pool_name for launch in launches}
    templates = [template for template in edited.prepared.templates if template.name in pool_names]
    running = {t.name: {daemon.daemonset_key for group in t.groups for daemon in group.daemons} for t in templates}
    for name in daemons:
        without = tuple(pool for pool, keys in running.items() if name.partition("/")[2] not in keys)
        if without:
            yield name, without


def _price(base: Situation, node: Node) -> float | None:
    labels = node.labels
    place = labels.get(INSTANCE_TYPE, ""), labels.get(ZONE, ""), capacity_type_of(labels)
    if base.prices is not None:
        price = base.prices.price(*place)
        return price.per_hour if price is not None else None
    prices = (book.price(*place) for book in base.books.values() if place[0] in book.types)
    return next((price for price in prices if price), None)
