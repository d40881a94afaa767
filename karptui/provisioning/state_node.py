"""Nodes as Karpenter tracks them: a Node, its NodeClaim, or both, with what their pods use.

Those within consolidateAfter are left alone for a while after pods have come or gone. Rules:
``pkg/controllers/state/cluster.go`` and ``pkg/controllers/state/statenode.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final

from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import HOSTNAME, INITIALIZED, INSTANCE_TYPE, NODEPOOL, REGISTERED, is_disrupted
from karptui.karpenter.nodeclaim import DISRUPTION_REASON, REBOOTING, NodeClaim
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.rules import NEWEST, Rules
from karptui.kube.node import Node, cordoned
from karptui.kube.objects import condition_of
from karptui.kube.pod import Pod
from karptui.kube.quantity import NANO
from karptui.kube.resources import NODES, ResourceList
from karptui.kube.taints import NO_EXECUTE, NO_SCHEDULE, Taint
from karptui.kube.timestamps import ABSENT_NS

_EPHEMERAL: Final = frozenset(
    {
        ("node.kubernetes.io/not-ready", NO_SCHEDULE),
        ("node.kubernetes.io/not-ready", NO_EXECUTE),
        ("node.kubernetes.io/unreachable", NO_SCHEDULE),
        ("node.cloudprovider.kubernetes.io/uninitialized", NO_SCHEDULE),
        ("karpenter.sh/unregistered", NO_EXECUTE),
    }
)
"""Taints that a new node loses by itself."""
_NOT_READY: Final = Taint("node.kubernetes.io/not-ready", NO_SCHEDULE)
_REBOOTING: Final = ("karpenter.sh/rebooting", NO_SCHEDULE)
_ENDED: Final = frozenset({"Succeeded", "Failed"})
_READINESS_PREFIX: Final = "readiness.k8s.io/"


class StateNode:
    """One tracked node; ``node`` or ``claim`` may be missing, never both."""

    def __init__(
        self,
        provider_id: str,
        node: Node | None,
        claim: NodeClaim | None,
        *,
        is_commanded: bool = False,
        rules: Rules = NEWEST,
    ) -> None:
        """Track a node.

        Args:
            provider_id: Of its instance.
            node: Where it has joined.
            claim: Where Karpenter made it.
            is_commanded: Whether Karpenter holds it in a command, which it remembers and writes down nowhere.
            rules: Whether this version of Karpenter knows reboots.
        """
        self.provider_id = provider_id
        self.node = node
        self.claim = claim
        self.is_commanded = is_commanded
        self._reboots = rules.reboots
        self.pods: list[Pod] = []
        """Pods bound to the node that have not ended."""
        self.ending: list[Pod] = []
        """Pods that have ended but are still being deleted: a StatefulSet's come back, so they need a place yet."""

    def take(self, pod: Pod) -> None:
        """Add a pod that is bound to the node, unless it has ended and gone."""
        if pod.phase not in _ENDED:
            self.pods.append(pod)
        elif pod.is_terminating:
            self.ending.append(pod)

    @property
    def is_managed(self) -> bool:
        """Whether Karpenter made it."""
        return self.claim is not None

    @cached_property
    def is_registered(self) -> bool:
        """Whether the Node has joined; always so for nodes that Karpenter did not make."""
        return self.claim is None or (self.node is not None and self.node.labels.get(REGISTERED) == "true")

    @cached_property
    def is_initialized(self) -> bool:
        """Whether the Node is ready for pods; always so for nodes that Karpenter did not make."""
        return self.claim is None or (self.node is not None and self.node.labels.get(INITIALIZED) == "true")

    @cached_property
    def is_marked_for_deletion(self) -> bool:
        """Whether it is on its way out, so that its pods need another place."""
        claim, node = self.claim, self.node
        if self.is_commanded:
            return True
        if claim is not None:
            return claim.is_deleting or self.is_ending
        return node is not None and node.is_deleting

    @cached_property
    def is_ending(self) -> bool:
        """Whether its instance is being terminated."""
        return self.claim is not None and self.claim.is_true("InstanceTerminating")

    @cached_property
    def is_ready(self) -> bool:
        """Whether its Node says that it is ready."""
        ready = condition_of(self.node.conditions, "Ready") if self.node is not None else None
        return ready is not None and ready.status == "True"

    @cached_property
    def is_held_by_command(self) -> bool:
        """Whether a command waits for replacements: tainted and marked, and not being deleted yet.

        After a restart Karpenter forgets the command and takes both marks away again within moments.
        """
        if self.node is None or self.claim is None or self.is_marked_for_deletion:
            return False
        return self.claim.is_true(DISRUPTION_REASON) and is_disrupted(self.node.taints)

    @cached_property
    def is_rebooting(self) -> bool:
        """Whether Karpenter reboots its instance in place, which it does since 1.15."""
        return self._reboots and self.claim is not None and self.claim.is_true(REBOOTING)

    @cached_property
    def _face(self) -> Node | NodeClaim:
        if self.node is not None and self.is_registered:
            return self.node
        assert self.claim is not None
        return self.claim

    @cached_property
    def name(self) -> str:
        """Name of the NodeClaim until the Node has registered, then of the Node."""
        return self._face.name

    @property
    def node_name(self) -> str:
        """Name of the Node, of the NodeClaim where there is none yet."""
        return self.node.name if self.node is not None else self.name

    @property
    def labels(self) -> Mapping[str, str]:
        """Labels of the NodeClaim until the Node has registered, then of the Node."""
        return self._face.labels

    @property
    def annotations(self) -> Mapping[str, str]:
        """Annotations of the NodeClaim until the Node has registered, then of the Node."""
        return self._face.annotations

    @property
    def hostname(self) -> str:
        """The host name label, or the name where there is none."""
        return self.labels.get(HOSTNAME) or self.name

    @cached_property
    def nodepool_name(self) -> str:
        """NodePool it belongs to, empty for nodes that Karpenter did not make."""
        return self.labels.get(NODEPOOL, "")

    @cached_property
    def taints(self) -> tuple[Taint, ...]:
        """Taints that a pod must tolerate; of a node that starts, without those that a new node loses by itself."""
        claim = self.claim
        if claim is None:
            assert self.node is not None
            return self.node.taints
        taints = self.node.taints if self.node is not None and self.is_registered else claim.taints
        if self.is_initialized and not self.is_rebooting:
            return taints
        return tuple(
            taint
            for taint in taints
            if (taint.key, taint.effect) not in _EPHEMERAL
            and not (self.is_rebooting and (taint.key, taint.effect) == _REBOOTING)
            and not taint.key.startswith(_READINESS_PREFIX)
            and not any(startup.matches(taint) for startup in claim.startup_taints)
        )

    @cached_property
    def scheduler_taints(self) -> tuple[Taint, ...]:
        """Taints that kube-scheduler sees, with those that Kubernetes adds to cordoned and not ready nodes.

        The same object as `taints` if they are equal.
        """
        node = self.node
        if node is None:
            return self.taints
        found = cordoned(node).taints if node.is_unschedulable else node.taints
        if node.ready is not None and node.ready.status != "True":
            found = (*found, _NOT_READY)
        return self.taints if found == self.taints else found

    @cached_property
    def capacity_nano(self) -> dict[str, int]:
        """Capacity in nano-units, with one ``nodes``."""
        node, claim = self.node, self.claim
        amounts = self._reported(node.capacity if node else None, claim.capacity if claim else None)
        amounts[NODES] = NANO
        return amounts

    @cached_property
    def allocatable_nano(self) -> dict[str, int]:
        """Allocatable in nano-units."""
        node, claim = self.node, self.claim
        return self._reported(node.allocatable if node else None, claim.allocatable if claim else None)

    def _reported(self, of_node: ResourceList | None, of_claim: ResourceList | None) -> dict[str, int]:
        """Return what the node reports; until it is initialised the claim's promise stands in for zeroes."""
        amounts = {name: amount.nano for name, amount in (of_node or {}).items()}
        if of_claim is not None and not self.is_initialized:
            for name, amount in of_claim.items():
                if not amounts.get(name):
                    amounts[name] = amount.nano
        return amounts


def track_nodes(inventory: Inventory, rules: Rules = NEWEST) -> list[StateNode]:
    """Return the nodes that Karpenter tracks: launched NodeClaims and Nodes that it can make sense of.

    A Node of a NodePool is passed over while it has no provider id, or neither an instance type nor the initialised
    label. Pods are attached to the Node they are bound to.
    """
    found = [StateNode(*one, rules=rules) for one in tracked(inventory.nodes, inventory.nodeclaims)]
    by_name = {one.node.name: one for one in found if one.node is not None}
    for pod in inventory.pods:
        state = by_name.get(pod.node_name)
        if state is not None:
            state.take(pod)
    return found


def tracked(nodes: Iterable[Node], claims: Iterable[NodeClaim]) -> Iterator[tuple[str, Node | None, NodeClaim | None]]:
    """Yield key, Node and NodeClaim of everything that Karpenter tracks; see `track_nodes`."""
    claims_by_key = {claim.provider_id: claim for claim in claims if claim.provider_id}
    nodes_by_key: dict[str, Node] = {}
    for node in nodes:
        is_pooled = bool(node.labels.get(NODEPOOL))
        if is_pooled and not node.provider_id:
            continue
        if is_pooled and not node.labels.get(INSTANCE_TYPE) and not node.labels.get(INITIALIZED):
            continue
        nodes_by_key[node.provider_id or node.name] = node
    for key in {**claims_by_key, **nodes_by_key}:
        yield key, nodes_by_key.get(key), claims_by_key.get(key)


StateChange = tuple[StateNode | None, StateNode | None]
"""A tracked node as it was, None where it is new, and as it is, None where it has gone."""


def state_changes(before: Iterable[StateNode], after: Iterable[StateNode]) -> list[StateChange]:
    """Return the tracked nodes that differ between two moments; those that do not must be the same objects."""
    known = {state.provider_id: state for state in before}
    changes: list[StateChange] = []
    for state in after:
        was = known.pop(state.provider_id, None)
        if was is not state:
            changes.append((was, state))
    changes.extend((state, None) for state in known.values())
    return changes


def is_under_consolidate_after(state: StateNode, pool: NodePool | None, now_ns: int) -> bool:
    """Return whether a node is too young, or had a pod come or go too recently, to be consolidated.

    Rule: ``IsUnderConsolidateAfter`` in ``pkg/utils/disruption/disruption.go``.
    """
    claim = state.claim
    if pool is None or claim is None or not pool.consolidate_after_ns:
        return False
    initialized = condition_of(claim.conditions, "Initialized")
    if initialized is None or initialized.status != "True":
        return False
    since_ns = claim.last_pod_event_ns
    if since_ns == ABSENT_NS:
        since_ns = initialized.last_transition_ns
    return now_ns - since_ns < pool.consolidate_after_ns
