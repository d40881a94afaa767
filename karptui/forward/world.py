"""A cluster while it is played forward: objects that come, change and go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from karptui.disruption.termination import deadline_of
from karptui.forward.journal import CLAIMS, NODECLAIMS, NODES, PDBS, PODS, Changed, Journal
from karptui.forward.result import PodWait
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import DISRUPTED_TAINT, TERMINATION_TIMESTAMP, is_disrupted
from karptui.karpenter.nodeclaim import DISRUPTION_REASON, NodeClaim
from karptui.karpenter.pdb_limits import PdbCredits
from karptui.karpenter.pod_predicates import UNSCHEDULABLE
from karptui.karpenter.rules import NEWEST, Rules
from karptui.kube.objects import (
    EMPTY_LABELS,
    Condition,
    Node,
    controller_of,
    cordoned,
    with_condition,
    without_condition,
)
from karptui.kube.pod import Pod, PodTemplate
from karptui.kube.taints import Taint
from karptui.kube.timestamps import ABSENT_NS, NS_PER_SECOND, format_timestamp
from karptui.kube.volumes import IMMEDIATE
from karptui.provisioning.kube_scheduler import awaits_node
from karptui.provisioning.state_node import StateNode, tracked

_INSTANCE_TERMINATING: Final = "InstanceTerminating"
_DEDUPE_NS: Final = 10 * NS_PER_SECOND
"""How long Karpenter takes no notice of pods that come or go on a node, once one has."""
_STATEFUL: Final = "StatefulSet"


class World:
    """Objects by uid or name, in order of creation; every change counts as a new version."""

    def __init__(self, inventory: Inventory, journal: Journal | None = None, rules: Rules = NEWEST) -> None:
        self._rules = rules
        self._journal = journal
        self.version = 0
        """Counts every change."""
        self.news = 0
        """Counts what may matter to disruption: every change but pods that begin to run."""
        self.claims_version = 0
        """Counts changes of NodeClaims."""
        self.nodes_version = 0
        """Counts changes of Nodes."""
        self.room_version = 0
        """Counts what may give a pod a place that had none: pods that seek one or have gone, nodes that came."""
        self.pods: dict[str, Pod] = {pod.uid: pod for pod in inventory.pods}
        self.nodes: dict[str, Node] = {node.name: node for node in inventory.nodes}
        self.claims: dict[str, NodeClaim] = {claim.name: claim for claim in inventory.nodeclaims}
        self._rest = inventory
        self._volume_claims = {claim.key: claim for claim in inventory.claims}
        self._late_classes = {s.name for s in inventory.storage_classes if s.volume_binding_mode != IMMEDIATE}
        """Names of the StorageClasses whose claims are bound once their pods have nodes."""
        self.credits = PdbCredits(inventory.pdbs)
        self._by_node: dict[str, dict[str, None]] = {}
        self._places = {uid: place for place, uid in enumerate(self.pods)}
        """Index of each pod in `pods`."""
        self._bound: dict[str, dict[PodTemplate, dict[str, None]]] = {}
        self._next_place = len(self._places)
        self._without_node = {pod.uid: None for pod in inventory.pods if not pod.node_name}
        self._states: dict[str, StateNode] = {}
        self._objects_version = 0
        """Version of the Nodes and NodeClaims."""
        self._tracked_at = -1
        """Version that `_states` were derived from."""
        self.pods_versions: dict[str, int] = {}
        """Counts changes of the pods of each node, and of when its drain ends by force."""
        self.leaving = {claim.name: None for claim in inventory.nodeclaims if claim.is_deleting}
        """Names of the NodeClaims that are being deleted."""
        self.commanded: dict[str, None] = {}
        """Names of the NodeClaims that a command holds: Karpenter takes their nodes as leaving, and seeks places."""
        self._stale: set[str] = set()
        """Keys of tracked nodes that have changed, or whose pods have, since their states were made."""
        self._by_provider: dict[str, str] = {}
        self._created_count = 0
        self._waits: list[PodWait] = []
        self.lost: list[str] = []
        """``namespace/name`` of the pods that are gone and that nothing recreates, in order."""
        for pod in inventory.pods:
            if pod.node_name:
                self._by_node.setdefault(pod.node_name, {})[pod.uid] = None
                self._note_bound(pod)
        for claim in inventory.nodeclaims:
            self._by_provider[claim.provider_id] = claim.name
        self._inventory: tuple[int, Inventory] = (0, inventory)

    @property
    def inventory(self) -> Inventory:
        """All current objects."""
        if self._inventory[0] != self.version:
            inventory = msgspec.structs.replace(
                self._rest,
                pods=tuple(self.pods.values()),
                nodes=tuple(self.nodes.values()),
                nodeclaims=tuple(self.claims.values()),
                pdbs=self.credits.pdbs,
            )
            self._inventory = (self.version, inventory)
        return self._inventory[1]

    def pods_on(self, node_name: str) -> list[Pod]:
        """Return the pods bound to a node."""
        return [self.pods[uid] for uid in self._by_node.get(node_name, ())]

    @property
    def without_node(self) -> list[Pod]:
        """Every pod without a node."""
        return [self.pods[uid] for uid in self._without_node]

    def adopt(self, states: Iterable[StateNode]) -> None:
        """Take tracked nodes that were derived from the current cluster."""
        self._states = {state.provider_id: state for state in states}
        self._tracked_at = -1
        self._stale.clear()

    def states(self) -> list[StateNode]:
        """Return the nodes that Karpenter tracks; unchanged ones are the same objects as last time."""
        if self._tracked_at != self._objects_version:
            self._tracked_at = self._objects_version
            nodes: dict[str, StateNode] = {}
            for key, node, claim in tracked(self.nodes.values(), self.claims.values()):
                state = self._states.get(key)
                is_commanded = claim is not None and claim.name in self.commanded
                is_same = state is not None and state.node is node and state.claim is claim
                if state is None or not is_same or state.is_commanded is not is_commanded:
                    state = self._state(key, node, claim)
                nodes[key] = state
            self._states = nodes
        for key in self._stale & self._states.keys():
            was = self._states[key]
            node = self.nodes[was.node.name] if was.node is not None else None
            claim = self.claims[was.claim.name] if was.claim is not None else None
            self._states[key] = self._state(key, node, claim)
        self._stale.clear()
        return list(self._states.values())

    def _state(self, key: str, node: Node | None, claim: NodeClaim | None) -> StateNode:
        is_commanded = claim is not None and claim.name in self.commanded
        state = StateNode(key, node, claim, is_commanded=is_commanded, rules=self._rules)
        if node is not None:
            for uid in sorted(self._by_node.get(node.name, ()), key=self._places.__getitem__):
                state.take(self.pods[uid])
        return state

    def bound(self, namespace: str) -> Iterator[tuple[PodTemplate, Iterable[Pod]]]:
        """Yield the bound pods of a namespace, by template."""
        for template, uids in self._bound.get(namespace, {}).items():
            yield template, map(self.pods.__getitem__, uids)

    def unbound(self) -> list[Pod]:
        """Return the pods that a scheduler may bind."""
        return [pod for pod in self.without_node if awaits_node(pod)]

    def claim_of(self, node: Node) -> NodeClaim | None:
        """Return the NodeClaim of a node, None if Karpenter does not manage it."""
        return self.claims.get(self._by_provider.get(node.provider_id, ""))

    # Changes

    def cordon(self, node_name: str) -> None:
        """Have no further pod put on a node."""
        self.add_node(cordoned(msgspec.structs.replace(self.nodes[node_name], is_unschedulable=True)))

    def remove_node(self, node_name: str, now_ns: int) -> None:
        """Remove a node and its pods; owners recreate the pods."""
        node = self.nodes[node_name]
        for pod in self.pods_on(node_name):
            self._leave_behind(pod, now_ns)
        self._by_node.pop(node_name, None)
        self.nodes.pop(node_name)
        self._objects_version += 1
        self.nodes_version += 1
        self._changed()
        self._note(NODES, node, is_gone=True)

    def bind(self, pod: Pod, node_name: str, now_ns: int) -> Pod:
        """Bind a pod to a node, unless it already runs there."""
        if now_ns > pod.created_ns != ABSENT_NS:
            self._waits.append(PodWait(pod.key, pod.created_ns, now_ns))
        bound = msgspec.structs.replace(
            pod,
            node_name=node_name,
            nominated_node_name="",
            scheduled_reason="",
            scheduled_message="",
            scheduled_ns=now_ns,
        )
        self._put(bound)
        self._by_node.setdefault(node_name, {})[pod.uid] = None
        self._note_pod_event(bound, now_ns)
        return bound

    def waits(self) -> tuple[PodWait, ...]:
        """Return the times that pods were without a node; pods that still are come last."""
        left = [pod for pod in self.without_node if pod.is_active and pod.created_ns != ABSENT_NS]
        return (*self._waits, *(PodWait(pod.key, pod.created_ns, None) for pod in left))

    def mark_unschedulable(self, pod: Pod) -> None:
        """Note that kube-scheduler found no node for a pod; it waits for victims of its preemption to end."""
        nominated = pod.nominated_node_name if self._has_victims(pod) else ""
        if (pod.scheduled_reason, pod.nominated_node_name) != (UNSCHEDULABLE, nominated):
            self._put(msgspec.structs.replace(pod, scheduled_reason=UNSCHEDULABLE, nominated_node_name=nominated))

    def _has_victims(self, pod: Pod) -> bool:
        """Return whether pods of lower priority are ending on the node that kube-scheduler nominated for a pod.

        Rule: ``PodEligibleToPreemptOthers`` in kube-scheduler's ``plugins/defaultpreemption``.
        """
        if pod.nominated_node_name not in self.nodes:
            return False
        priority = pod.template.priority
        return any(
            pod.is_terminating and pod.template.priority < priority for pod in self.pods_on(pod.nominated_node_name)
        )

    def start(self, uid: str, now_ns: int) -> None:
        """Let a bound pod run and be ready, if it is still there."""
        pod = self.pods.get(uid)
        if pod is None or not pod.node_name or not pod.is_active or pod.ready:
            return
        pod = msgspec.structs.replace(pod, phase="Running", start_ns=now_ns, ready=True)
        self.pods[uid] = pod
        self._note(PODS, pod)
        self._touch(pod.node_name)
        self.version += 1
        self._credit(pod, 1)

    def end(self, uid: str, now_ns: int) -> str:
        """End a pod if it still runs; return its node."""
        pod = self.pods.get(uid)
        if pod is None or not pod.node_name or not pod.is_active:
            return ""
        self._discredit(pod)
        self._put(msgspec.structs.replace(pod, phase="Succeeded", ready=False, ended_ns=now_ns))
        self.room_version += 1
        self._note_pod_event(pod, now_ns)
        return pod.node_name

    def evict(self, pod: Pod, now_ns: int, grace_ns: int) -> None:
        """Begin the end of a pod; its owner makes another at once, but a StatefulSet once this one has gone."""
        self._put(msgspec.structs.replace(pod, deletion_ns=now_ns + max(grace_ns, 1)))
        self._discredit(pod)
        self._note_pod_event(pod, now_ns)
        if not _is_stateful(pod):
            self._make_again(pod, now_ns)

    def remove_pod(self, uid: str, now_ns: int) -> None:
        """Take a pod away; a StatefulSet makes it again only now."""
        pod = self.pods.pop(uid, None)
        if pod is None:
            return
        self._note(PODS, pod, is_gone=True)
        self._forget(pod)
        self._changed()
        if pod.node_name:
            self.room_version += 1
            self._by_node.get(pod.node_name, {}).pop(uid, None)
            if not pod.is_terminating:
                self._note_pod_event(pod, now_ns)
        if _is_stateful(pod):
            self._make_again(pod, now_ns)

    def add_claim(self, claim: NodeClaim) -> None:
        """Add a NodeClaim, or put a changed one in the place of the one of its name."""
        self.claims_version += 1
        node_claim = self.claims.get(claim.name)
        if node_claim is None or node_claim.provider_id != claim.provider_id:
            self._objects_version += 1
        self._stale.add(claim.provider_id)
        self.claims[claim.name] = claim
        self._note(NODECLAIMS, claim)
        if claim.is_deleting:
            self.leaving[claim.name] = None
        self._by_provider[claim.provider_id] = claim.name
        self._changed()

    def add_node(self, node: Node) -> None:
        """Add a node, or put a changed one in the place of the one of its name."""
        node_before = self.nodes.get(node.name)
        if node_before is None or (node_before.provider_id, node_before.labels) != (node.provider_id, node.labels):
            self._objects_version += 1
        self._stale.add(node.provider_id or node.name)
        self.nodes[node.name] = node
        self._note(NODES, node)
        self.nodes_version += 1
        self._changed()
        self.room_version += 1

    def taint(self, node_name: str, reason: str, now_ns: int) -> None:
        """Mark a node and its NodeClaim as Karpenter does when a command takes them."""
        node = self.nodes.get(node_name)
        if node is None:
            return
        self.add_node(msgspec.structs.replace(node, taints=_disrupted(node)))
        if (claim := self.claim_of(node)) is not None:
            self.commanded[claim.name] = None
            condition = Condition(DISRUPTION_REASON, "True", reason, "", now_ns)
            self.add_claim(msgspec.structs.replace(claim, conditions=with_condition(claim.conditions, condition)))

    def hold(self, claim_name: str) -> None:
        """Note that a command holds a NodeClaim: it is marked already."""
        self.commanded[claim_name] = None
        self._objects_version += 1
        self._changed()

    def release(self, node_name: str) -> None:
        """Take the marks of a command away from a node and its NodeClaim."""
        node = self.nodes.get(node_name)
        claim = self.claim_of(node) if node is not None else None
        if node is None or claim is None:
            return
        if self.commanded.pop(claim.name, self) is None:
            self._objects_version += 1
        taints = tuple(taint for taint in node.taints if not taint.matches(DISRUPTED_TAINT))
        self.add_node(msgspec.structs.replace(node, taints=taints))
        self.add_claim(
            msgspec.structs.replace(claim, conditions=without_condition(claim.conditions, DISRUPTION_REASON))
        )

    def delete_claims(
        self, names: Iterable[str], now_ns: int, bounds_ns: Mapping[str, int] = MappingProxyType({})
    ) -> None:
        """Delete NodeClaims by name that exist and are not being deleted.

        Args:
            bounds_ns: Drain limits of some, in addition to their grace periods.
        """
        for name in names:
            claim = self.claims.get(name)
            if claim is not None and not claim.is_deleting:
                bound_ns = bounds_ns.get(name)
                self.delete_claim(claim, now_ns, ends_ns=None if bound_ns is None else now_ns + bound_ns)

    def delete_claim(self, claim: NodeClaim, now_ns: int, *, ends_ns: int | None = None) -> None:
        """Delete a NodeClaim and its node.

        Args:
            ends_ns: Latest end of its drain, in addition to its grace period.
        """
        annotations = dict(claim.annotations)
        if ends_ns is not None:
            annotations = _ended_by(claim, ends_ns)
        elif claim.termination_grace_period_ns is not None:
            ends_ns = now_ns + claim.termination_grace_period_ns
            annotations.setdefault(TERMINATION_TIMESTAMP, format_timestamp(ends_ns - ends_ns % NS_PER_SECOND))
        self.add_claim(msgspec.structs.replace(claim, deletion_ns=now_ns, annotations=annotations))
        if (node := self.node_of(claim)) is not None:
            self.add_node(msgspec.structs.replace(node, deletion_ns=now_ns, taints=_disrupted(node)))

    def end_drain(self, claim: NodeClaim, ends_ns: int) -> None:
        """End the drain of a NodeClaim by force, unless it ends earlier."""
        self.add_claim(msgspec.structs.replace(claim, annotations=_ended_by(claim, ends_ns)))
        if (node := self.node_of(claim)) is not None:
            self._touch(node.name)

    def end_instance(self, claim: NodeClaim, now_ns: int) -> None:
        """Note that the instance of a NodeClaim is being terminated: from then on it uses no budget up."""
        ending = Condition(_INSTANCE_TERMINATING, "True", _INSTANCE_TERMINATING, "", now_ns)
        self.add_claim(msgspec.structs.replace(claim, conditions=with_condition(claim.conditions, ending)))

    def node_of(self, claim: NodeClaim) -> Node | None:
        """Return the node of a NodeClaim, None while it has none."""
        node = self.nodes.get(claim.node_name)
        if node is not None:
            return node
        return next((node for node in self.nodes.values() if node.provider_id == claim.provider_id), None)

    def remove_claim(self, name: str, now_ns: int) -> None:
        """Remove a NodeClaim, its node and its pods; owners recreate the pods."""
        claim = self.claims.pop(name, None)
        self.leaving.pop(name, None)
        self.commanded.pop(name, None)
        self.claims_version += 1
        self._objects_version += 1
        self._changed()
        if claim is None:
            return
        self._note(NODECLAIMS, claim, is_gone=True)
        node = self.node_of(claim)
        self._by_provider.pop(claim.provider_id, None)
        if node is not None:
            self.remove_node(node.name, now_ns)

    def _leave_behind(self, pod: Pod, now_ns: int) -> None:
        was_active = pod.is_active
        if was_active:
            self._discredit(pod)
        self.pods.pop(pod.uid, None)
        self._note(PODS, pod, is_gone=True)
        self._forget(pod)
        if was_active or _is_stateful(pod):
            self._make_again(pod, now_ns)

    def _make_again(self, pod: Pod, now_ns: int) -> None:
        """Recreate a pod by its owner, unless it has none or ends with its node."""
        if pod.is_terminal:
            return
        if pod.template.is_lost_if_evicted:
            self.lost.append(pod.key)
            return
        owner = controller_of(pod.owners)
        if owner is None or pod.template.is_daemonset_owned or pod.template.is_node_owned:
            return
        self._created_count += 1
        number = self._created_count
        name = pod.name if _is_stateful(pod) else f"{owner.name}-f{number:04d}"
        again = Pod(
            name=name,
            template=pod.template,
            uid=f"forward-{number}",
            phase="Pending",
            created_ns=now_ns,
            own_labels=pod.own_labels if _is_stateful(pod) else EMPTY_LABELS,
            volumes=pod.volumes,
        )
        self._claim_storage(pod, again)
        self._put(again)
        self.room_version += 1

    def _claim_storage(self, pod: Pod, again: Pod) -> None:
        """Give a pod that comes in another's place the claims of its ephemeral volumes, not bound yet.

        A class that binds at once is taken to give the next volume where the last was.
        """
        for volume in pod.volumes:
            claim = self._volume_claims.get(f"{pod.namespace}/{volume.claim_of(pod.name)}")
            if not volume.is_ephemeral or claim is None:
                continue
            volume_claim = msgspec.structs.replace(claim, name=volume.claim_of(again.name))
            if claim.storage_class_name in self._late_classes:
                volume_claim = msgspec.structs.replace(volume_claim, volume_name="", phase="Pending")
            self._volume_claims[volume_claim.key] = volume_claim
            self._rest = msgspec.structs.replace(self._rest, claims=tuple(self._volume_claims.values()))
            self._note(CLAIMS, volume_claim)

    def _note(self, field: str, thing: Changed, *, is_gone: bool = False) -> None:
        if self._journal is not None:
            self._journal.note(field, thing, is_gone=is_gone)

    def _changed(self) -> None:
        self.version += 1
        self.news += 1

    def _touch(self, node_name: str) -> None:
        if (node := self.nodes.get(node_name)) is not None:
            self._stale.add(node.provider_id or node.name)
        self.pods_versions[node_name] = self.pods_versions.get(node_name, 0) + 1

    def _note_bound(self, pod: Pod) -> None:
        template = pod.template
        self._bound.setdefault(template.namespace, {}).setdefault(template, {})[pod.uid] = None

    def _forget(self, pod: Pod) -> None:
        self._without_node.pop(pod.uid, None)
        if pod.node_name:
            self._bound[pod.template.namespace][pod.template].pop(pod.uid, None)
        del self._places[pod.uid]
        self._touch(pod.node_name)

    def _put(self, pod: Pod) -> None:
        self.pods[pod.uid] = pod
        self._note(PODS, pod)
        self._places.setdefault(pod.uid, self._next_place)
        self._next_place += 1
        if pod.node_name:
            self._touch(pod.node_name)
            self._without_node.pop(pod.uid, None)
            self._note_bound(pod)
        else:
            self._without_node[pod.uid] = None
        self._changed()

    def _discredit(self, pod: Pod) -> None:
        if pod.ready is not False and pod.phase != "Pending":
            self._credit(pod, -1)

    def _credit(self, pod: Pod, count: int) -> None:
        for pdb in self.credits.change(pod, count):
            self._note(PDBS, pdb)
            self._changed()

    def _note_pod_event(self, pod: Pod, now_ns: int) -> None:
        """Restart consolidateAfter, at most every ten seconds: pkg/controllers/nodeclaim/podevents/controller.go."""
        if pod.template.is_daemonset_owned:
            return
        node = self.nodes.get(pod.node_name)
        claim = self.claim_of(node) if node is not None else None
        if claim is None:
            return
        last_ns = claim.last_pod_event_ns
        if last_ns != ABSENT_NS and now_ns - last_ns < _DEDUPE_NS:
            return
        self.add_claim(msgspec.structs.replace(claim, last_pod_event_ns=now_ns))


def _is_stateful(pod: Pod) -> bool:
    owner = controller_of(pod.owners)
    return owner is not None and owner.kind == _STATEFUL


def _ended_by(claim: NodeClaim, ends_ns: int) -> dict[str, str]:
    """Return a NodeClaim's annotations with when its drain ends by force: a deadline may come earlier, never later."""
    deadline = deadline_of(claim)
    if deadline is not None and deadline.at_ns <= ends_ns:
        return dict(claim.annotations)
    return {**claim.annotations, TERMINATION_TIMESTAMP: format_timestamp(ends_ns - ends_ns % NS_PER_SECOND)}


def _disrupted(node: Node) -> tuple[Taint, ...]:
    if is_disrupted(node.taints):
        return node.taints
    return (*node.taints, DISRUPTED_TAINT)
