"""The inputs of a survey, so that the next one recomputes only nodes whose inputs changed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from karptui.disruption.blockers import BlockerSurvey, price_of
from karptui.disruption.budgets import PoolUse
from karptui.disruption.codes import Blocker
from karptui.disruption.fleet import Fleet
from karptui.disruption.termination import InstanceWarning
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodepool import NodePool
from karptui.kube.objects import Node
from karptui.kube.pod import Pod
from karptui.kube.timestamps import HOUR_NS
from karptui.provisioning.state_node import StateNode

_NEVER: Final = 1 << 63


class PoolFacts(msgspec.Struct, frozen=True, eq=False):
    """A NodePool's inputs to its nodes' findings; the same object while nothing changes."""

    pool: NodePool | None
    use: PoolUse | None
    blockers: tuple[Blocker, ...]
    """The blockers that the NodePool causes for all its nodes."""
    has_types: bool


class NodeFacts(msgspec.Struct, frozen=True, eq=False):
    """The inputs of a node's findings; its pods are compared by identity."""

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
    """Events about the node and its claim, by message."""
    warning: InstanceWarning | None
    namespaces: frozenset[str]
    expires_ns: int
    """The earliest time at which the passing of time changes the findings."""


class SurveyMemory:
    """Inputs of a survey, compared with those of the previous one."""

    def __init__(self, fleet: Fleet, survey: BlockerSurvey, before: SurveyMemory | None = None) -> None:
        self._fleet = fleet
        self._survey = survey
        self.settings = fleet.settings
        self.pdbs = fleet.inventory.pdbs
        self.workloads = fleet.inventory.workloads
        self.nodes: dict[str, NodeFacts] = {}
        self.pools: dict[str, PoolFacts] = {}
        self._before = before if before is not None and before.settings == fleet.settings else None
        self._changed_namespaces: frozenset[str] = frozenset()
        """Namespaces with a changed PodDisruptionBudget or workload."""
        if self._before is not None:
            self._changed_namespaces = _changed_between(self._before.pdbs, self.pdbs) | _changed_between(
                self._before.workloads, self.workloads
            )

    def forget_before(self) -> None:
        """Release the previous survey: this one is complete."""
        self._before = None

    def is_unchanged(self, key: str, node: StateNode) -> bool:
        """Return whether no input of a node's findings has changed since the previous survey.

        A node being deleted always counts as changed.
        """
        facts = self._before.nodes.get(key) if self._before is not None else None
        if facts is None or node.is_marked_for_deletion or self._fleet.now_ns >= facts.expires_ns:
            return False
        fleet, name = self._fleet, node.name
        is_same = (
            facts.node is node.node
            and facts.claim is node.claim
            and facts.pods == node.pods
            and facts.ending == node.ending
            and facts.pool is self._pool(node.nodepool_name)
            and facts.nominated_ns == fleet.nominated.get(name, 0)
            and facts.is_buffered == (name in fleet.buffered)
            and facts.events == self._survey.events_about(node)
            and facts.warning == fleet.warning(node)
            and self._changed_namespaces.isdisjoint(facts.namespaces)
            and facts.price == price_of(fleet, node)
            and facts.is_type_known == self._survey.is_type_known(node)
        )
        if is_same:
            self.nodes[key] = facts
        return is_same

    def note(self, key: str, node: StateNode, blockers: Iterable[Blocker]) -> None:
        """Record the inputs of a node's findings."""
        if node.is_marked_for_deletion:
            return
        fleet, now_ns = self._fleet, self._fleet.now_ns
        ends = [blocker.until_ns for blocker in blockers if blocker.until_ns is not None and blocker.until_ns > now_ns]
        arrivals = [pod.scheduled_ns for pod in node.pods if pod.scheduled_ns > now_ns - HOUR_NS]
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
            expires_ns=min(min(ends, default=_NEVER), min(arrivals, default=_NEVER) + HOUR_NS),
        )

    def _pool(self, name: str) -> PoolFacts:
        facts = self.pools.get(name)
        if facts is None:
            facts = self.pools[name] = self._pool_facts(name)
        return facts

    def _pool_facts(self, name: str) -> PoolFacts:
        fleet = self._fleet
        pool = fleet.pools.get(name)
        facts = PoolFacts(
            pool=pool,
            use=fleet.use.get(name),
            blockers=self._survey.of_pool(name),
            has_types=fleet.resolved(name) is not None,
        )
        previous = self._before.pools.get(name) if self._before is not None else None
        if (
            previous is not None
            and previous.pool is pool
            and previous.use == facts.use
            and previous.has_types == facts.has_types
            and list(map(msgspec.structs.astuple, previous.blockers))
            == list(map(msgspec.structs.astuple, facts.blockers))
        ):
            return previous
        return facts


def _changed_between(before: Iterable[Any], now: Iterable[Any]) -> frozenset[str]:
    """Return the namespaces of objects that were created, deleted or changed."""
    previous, present = {id(item): item for item in before}, {id(item): item for item in now}
    return frozenset(
        item.namespace
        for items, others in ((previous, present), (present, previous))
        for key, item in items.items()
        if key not in others
    )
