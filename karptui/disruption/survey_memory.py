"""What a survey of nodes rested on, so that the next one looks again only at nodes of which something changed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from karptui.disruption.blocker import Blocker
from karptui.disruption.blockers import BlockerSurvey, price_of
from karptui.disruption.budgets import PoolUse
from karptui.disruption.fleet import HOUR_NS, Fleet
from karptui.disruption.termination import InstanceWarning
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodepool import NodePool
from karptui.kube.node import Node
from karptui.kube.pod import Pod
from karptui.provisioning.state_node import StateNode

_NEVER: Final = 1 << 63


class PoolFacts(msgspec.Struct, frozen=True, eq=False):
    """What a NodePool adds to the findings of its nodes; kept as one object as long as nothing of it changes."""

    pool: NodePool | None
    use: PoolUse | None
    blockers: tuple[Blocker, ...]
    """What the NodePool puts in the way of every node."""
    has_types: bool


class NodeFacts(msgspec.Struct, frozen=True, eq=False):
    """What the findings of one node rest on; its pods are compared one by one, by identity."""

    node: Node | None
    claim: NodeClaim | None
    pods: list[Pod]
    ending: list[Pod]
    pool: PoolFacts
    price: float | None
    is_type_known: bool
    nominated_ns: int
    is_buffered: bool
    events: tuple[Any, ...]
    """What events say about the node and its claim."""
    warning: InstanceWarning | None
    namespaces: frozenset[str]
    """Of its pods."""
    expires_ns: int
    """The first instant at which a clock changes something."""


class SurveyMemory:
    """Facts of one survey, compared with those of the one before.

    Args:
        fleet: The cluster.
        survey: Finds its blockers.
        before: Of the survey before, None for the first.
    """

    def __init__(self, fleet: Fleet, survey: BlockerSurvey, before: SurveyMemory | None = None) -> None:
        self._fleet = fleet
        self._survey = survey
        self.settings = fleet.settings
        self.pdbs = fleet.inventory.pdbs
        self.workloads = fleet.inventory.workloads
        self.nodes: dict[str, NodeFacts] = {}
        self.pools: dict[str, PoolFacts] = {}
        self._before = before if before is not None and before.settings == fleet.settings else None
        self._stirred: frozenset[str] = frozenset()
        """Namespaces of which a PodDisruptionBudget or a workload changed."""
        if self._before is not None:
            self._stirred = _stirred(self._before.pdbs, self.pdbs) | _stirred(self._before.workloads, self.workloads)

    def forget_before(self) -> None:
        """Let go of the survey before: this one is complete."""
        self._before = None

    def is_unchanged(self, key: str, node: StateNode) -> bool:
        """Return whether nothing that the findings of a node rest on has changed since the survey before.

        A node on its way out is always looked at again.
        """
        known = self._before.nodes.get(key) if self._before is not None else None
        if known is None or node.is_marked_for_deletion or self._fleet.now_ns >= known.expires_ns:
            return False
        fleet, name = self._fleet, node.name
        is_same = (
            known.node is node.node
            and known.claim is node.claim
            and known.pods == node.pods
            and known.ending == node.ending
            and known.pool is self._pool(node.nodepool_name)
            and known.nominated_ns == fleet.nominated.get(name, 0)
            and known.is_buffered == (name in fleet.buffered)
            and known.events == self._survey.events_about(node)
            and known.warning == fleet.warning(node)
            and self._stirred.isdisjoint(known.namespaces)
            and known.price == price_of(fleet, node)
            and known.is_type_known == self._survey.is_type_known(node)
        )
        if is_same:
            self.nodes[key] = known
        return is_same

    def note(self, key: str, node: StateNode, blockers: Iterable[Blocker]) -> None:
        """Remember what the findings of a node rest on."""
        if node.is_marked_for_deletion:
            return
        fleet, now_ns = self._fleet, self._fleet.now_ns
        ends = [one.until_ns for one in blockers if one.until_ns is not None and one.until_ns > now_ns]
        came = [pod.scheduled_ns for pod in node.pods if pod.scheduled_ns > now_ns - HOUR_NS]
        self.nodes[key] = NodeFacts(
            node=node.node,
            claim=node.claim,
            pods=node.pods,
            ending=node.ending,
            pool=self._pool(node.nodepool_name),
            price=price_of(fleet, node),
            is_type_known=self._survey.is_type_known(node),
            nominated_ns=fleet.nominated.get(node.name, 0),
            is_buffered=node.name in fleet.buffered,
            events=self._survey.events_about(node),
            warning=fleet.warning(node),
            namespaces=frozenset(pod.template.namespace for pod in (*node.pods, *node.ending)),
            expires_ns=min(min(ends, default=_NEVER), min(came, default=_NEVER) + HOUR_NS),
        )

    def _pool(self, name: str) -> PoolFacts:
        found = self.pools.get(name)
        if found is None:
            found = self.pools[name] = self._pool_facts(name)
        return found

    def _pool_facts(self, name: str) -> PoolFacts:
        fleet = self._fleet
        pool = fleet.pools.get(name)
        found = PoolFacts(
            pool=pool,
            use=fleet.use.get(name),
            blockers=self._survey.of_pool(name),
            has_types=fleet.resolved(name) is not None,
        )
        known = self._before.pools.get(name) if self._before is not None else None
        if (
            known is not None
            and known.pool is pool
            and known.use == found.use
            and known.has_types == found.has_types
            and list(map(msgspec.structs.astuple, known.blockers)) == list(map(msgspec.structs.astuple, found.blockers))
        ):
            return known
        return found


def _stirred(before: Iterable[Any], now: Iterable[Any]) -> frozenset[str]:
    """Return the namespaces of objects that came, went or changed."""
    known, present = {id(one): one for one in before}, {id(one): one for one in now}
    return frozenset(
        one.namespace
        for mine, others in ((known, present), (present, known))
        for key, one in mine.items()
        if key not in others
    )
