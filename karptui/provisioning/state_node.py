"""Nodes as Karpenter tracks them: a Node, its NodeClaim, or both, with their pods.

Also whether a node is within consolidateAfter. Rules: ``pkg/controllers/state/cluster.go`` and
``pkg/controllers/state/statenode.go``.
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
from karptui.kube.objects import Node, condition_of, cordoned
from karptui.kube.pod import ENDED, Pod
from karptui.kube.quantity import NANO
from karptui.kube.resources import NODES, ResourceList
from karptui.kube.taints import NO_EXECUTE, NO_SCHEDULE, Taint
from karptui.kube.timestamps import ABSENT_NS
from karptui.provisioning.reporter import Pause, no_pause, with_pauses

_EPHEMERAL: Final = frozenset(
    {
        ("node.kubernetes.io/not-ready", NO_SCHEDULE),
        ("node.kubernetes.io/not-ready", NO_EXECUTE),
        ("node.kubernetes.io/unreachable", NO_SCHEDULE),
        ("node.cloudprovider.kubernetes.io/uninitialized", NO_SCHEDULE),
        ("karpenter.sh/unregistered", NO_EXECUTE),
    }
)
"""Startup taints that Kubernetes and Karpenter remove."""
_NOT_READY: Final = Taint("node.kubernetes.io/not-ready", NO_SCHEDULE)
_REBOOTING: Final = ("karpenter.sh/rebooting", NO_SCHEDULE)
_READINESS_PREFIX: Final = "readiness.k8s.io/"


class StateNode:
    """A tracked node; either ``node`` or ``claim`` may be missing."""

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
            is_commanded: Whether it is part of a disruption command, which is only in Karpenter's memory.
            rules: Rules of the Karpenter version, which may not have reboots.
        """
        self.provider_id = provider_id
        self.node = node
        self.claim = claim
        self.is_commanded = is_commanded
        self._reboots = rules.reboots
        self.pods: list[Pod] = []
        """Bound pods that are not terminal."""
        self.ending: list[Pod] = []
        """Terminal pods still being deleted: StatefulSets recreate theirs, which and must be scheduled."""

    def take(self, pod: Pod) -> None:
        """Add a bound pod, unless it is terminal and not being deleted."""
        if pod.phase not in ENDED:
            self.pods.append(pod)
        elif pod.is_terminating:
            self.ending.append(pod)

    @property
    def is_managed(self) -> bool:
        """Whether Karpenter launched it."""
        return self.claim is not None

    @cached_property
    def is_registered(self) -> bool:
        """Whether the Node has joined the cluster; True for nodes that Karpenter did not launch."""
        return self.claim is None or (self.node is not None and self.node.labels.get(REGISTERED) == "true")

    @cached_property
    def is_initialized(self) -> bool:
        """Whether the Node is ready for pods; True for nodes that Karpenter did not launch."""
        return self.claim is None or (self.node is not None and self.node.labels.get(INITIALIZED) == "true")

    @cached_property
    def is_marked_for_deletion(self) -> bool:
        """Whether it is being deleted, so that its pods must be rescheduled."""
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
        """Whether its Node is Ready."""
        return self.node is not None and self.node.is_ready

    @cached_property
    def is_held_by_command(self) -> bool:
        """Whether a disruption command holds it while waiting for replacements: tainted and marked, not deleted.

        After a restart Karpenter forgets the command and soon removes the taint and the mark.
        """
        if self.node is None or self.claim is None or self.is_marked_for_deletion:
            return False
        return self.claim.is_true(DISRUPTION_REASON) and is_disrupted(self.node.taints)

    @cached_property
    def is_rebooting(self) -> bool:
        """Whether Karpenter is rebooting its instance in place, since 1.15."""
        return self._reboots and self.claim is not None and self.claim.is_true(REBOOTING)

    @cached_property
    def _metadata(self) -> Node | NodeClaim:
        if self.node is not None and self.is_registered:
            return self.node
        assert self.claim is not None
        return self.claim

    @cached_property
    def name(self) -> str:
        """Name of the NodeClaim until the Node has registered, then of the Node."""
        return self._metadata.name

    @property
    def node_name(self) -> str:
        """Name of the Node, or of the NodeClaim if there is no Node yet."""
        return self.node.name if self.node is not None else self.name

    @property
    def labels(self) -> Mapping[str, str]:
        """Labels of the NodeClaim until the Node has registered, then of the Node."""
        return self._metadata.labels

    @property
    def annotations(self) -> Mapping[str, str]:
        """Annotations of the NodeClaim until the Node has registered, then of the Node."""
        return self._metadata.annotations

    @cached_property
    def hostname(self) -> str:
        """Hostname label, or the name without one."""
        return self.labels.get(HOSTNAME) or self.name

    @cached_property
    def nodepool_name(self) -> str:
        """Its NodePool, empty for nodes that Karpenter did not launch."""
        return self.labels.get(NODEPOOL, "")

    @cached_property
    def taints(self) -> tuple[Taint, ...]:
        """Taints that pods must tolerate; without startup taints until the node is initialized."""
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
    def scheduling_facts(self) -> tuple[object, ...]:
        """What scheduling reads from a node and its pods; unequal states with equal facts make no difference to it.

        Of a node being deleted, only pods that count for topology rules.
        """
        is_joined = self.is_registered and self.is_initialized
        is_leaving = self.is_marked_for_deletion
        pods = [
            (pod.uid, pod.is_active)
            for pod in self.pods
            if not is_leaving or pod.is_active or pod.template.pod_anti_affinity
        ]
        return self.provider_id, self.node, None if is_joined else self.claim, self.taints, is_leaving, pods

    @cached_property
    def scheduler_taints(self) -> tuple[Taint, ...]:
        """Taints that kube-scheduler sees, also of cordoned and unready nodes; `taints` itself if equal."""
        node = self.node
        if node is None:
            return self.taints
        taints = cordoned(node).taints if node.is_unschedulable else node.taints
        if node.ready is not None and node.ready.status != "True":
            taints = (*taints, _NOT_READY)
        return self.taints if taints == self.taints else taints

    @cached_property
    def capacity_nano(self) -> dict[str, int]:
        """Capacity in nano-units, including one ``nodes``."""
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
        """Return the node's resources; until it is initialized, zeros are replaced by the NodeClaim's amounts."""
        amounts = {name: amount.nano for name, amount in (of_node or {}).items()}
        if of_claim is not None and not self.is_initialized:
            for name, amount in of_claim.items():
                if not amounts.get(name):
                    amounts[name] = amount.nano
        return amounts


def track_nodes(inventory: Inventory, rules: Rules = NEWEST, pause: Pause = no_pause) -> list[StateNode]:
    """Return the nodes that Karpenter tracks: launched NodeClaims and valid Nodes.

    A Node of a NodePool is ignored while it has no provider id, or neither an instance type nor the initialized label.
    Pods are attached to their Node.
    """
    states = [StateNode(*parts, rules=rules) for parts in tracked(inventory.nodes, inventory.nodeclaims)]
    by_name = {state.node.name: state for state in states if state.node is not None}
    for pod in with_pauses(inventory.pods, pause):
        state = by_name.get(pod.node_name)
        if state is not None:
            state.take(pod)
    return states


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
"""A tracked node before (None if new) and after (None if removed)."""


def state_changes(before: Iterable[StateNode], after: Iterable[StateNode]) -> list[StateChange]:
    """Return the changed nodes between two points in time; unchanged ones must be the same objects."""
    old_states = {state.provider_id: state for state in before}
    changes: list[StateChange] = []
    for state in after:
        old = old_states.pop(state.provider_id, None)
        if old is not state:
            changes.append((old, state))
    changes.extend((state, None) for state in old_states.values())
    return changes


def is_under_consolidate_after(state: StateNode, pool: NodePool | None, now_ns: int) -> bool:
    """Return whether a node is too new, or had pods added or removed too recently, to be consolidated.

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
