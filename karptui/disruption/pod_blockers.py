"""Blockers that pods cause: do-not-disrupt, PodDisruptionBudgets, and pods that a drain waits for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.disruption.blocker import Blocker
from karptui.disruption.codes import Code
from karptui.disruption.command import Method
from karptui.disruption.do_not_disrupt import pod_message
from karptui.disruption.drain import Hold, WaitingPod, waiting_pods
from karptui.disruption.fleet import Fleet
from karptui.disruption.gates import pdb_message
from karptui.disruption.owner import OriginIndex, OwnerIndex
from karptui.disruption.should_disrupt import WantedBy, not_before
from karptui.disruption.termination import deadline_of
from karptui.karpenter.pdb_limits import PdbBlock
from karptui.kube.pod import Pod
from karptui.kube.timestamps import ABSENT_NS
from karptui.provisioning.state_node import StateNode

_EVENTUAL: Final = frozenset({Method.DRIFT, Method.STATIC_DRIFT})
_HOLD_CODES: Final = {Hold.DND: Code.POD_DND, Hold.PDB: Code.PDB_EXHAUSTED, Hold.TERMINATING: Code.TERMINATING}


class PodBlockers:
    """Finds the blockers that a node's pods cause."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self._owners = OwnerIndex(fleet.inventory.workloads)
        self._origins = OriginIndex(self._owners)

    def of(self, node: StateNode, blocks: frozenset[Method], wanted: WantedBy) -> Iterator[Blocker]:
        """Yield a blocker for each protected pod, and for each pod whose eviction PodDisruptionBudgets prevent."""
        assert node.claim is not None
        if node.claim.termination_grace_period_ns is not None:
            blocks -= _EVENTUAL
        predicates = self.fleet.pods
        may_hold = predicates.may_hold
        holding = [pod for pod in (*node.pods, *node.ending) if may_hold(pod)]
        if not holding:
            return
        wanted_ns = wanted.floor(blocks)
        holding.sort(key=lambda pod: (pod.template.namespace, pod.name))
        for pod in holding:
            if not predicates.is_disruptable(pod):
                yield self._protected(pod, blocks, wanted_ns)
            else:
                block = predicates.pdb_block(pod)
                if block is not None:
                    yield self._held(pod, block, blocks, wanted_ns)

    def _protected(self, pod: Pod, blocks: frozenset[Method], wanted_ns: int | None) -> Blocker:
        protection = self.fleet.pods.protection(pod)
        return Blocker(
            code=Code.POD_DND,
            blocks=blocks,
            object_kind="Pod",
            object_key=pod.key,
            owner=self._owner(pod),
            origin=self._origins.of(pod),
            value=protection.value,
            since_ns=not_before(bound_ns(pod), wanted_ns),
            until_ns=protection.until_ns if protection.until_ns != ABSENT_NS else None,
            message=pod_message(pod),
            is_wanted=wanted_ns is not None,
            pod_uid=pod.uid,
        )

    def _held(self, pod: Pod, block: PdbBlock, blocks: frozenset[Method], wanted_ns: int | None) -> Blocker:
        if len(block.pdbs) > 1:
            began = max(pod.created_ns, *(pdb.created_ns for pdb in block.pdbs)) or None
        else:
            began = block.pdbs[0].allowed_since_ns or None
        return Blocker(
            code=Code(block.kind),
            blocks=blocks,
            object_kind="Pod",
            object_key=pod.key,
            owner=self._owner(pod),
            origin=self._origins.of(pod),
            value=" ".join(pdb.key for pdb in block.pdbs),
            since_ns=not_before(began, wanted_ns),
            message=pdb_message(block),
            is_wanted=wanted_ns is not None,
            pod_uid=pod.uid,
        )

    def of_drain(self, node: StateNode) -> Iterator[Blocker]:
        """Yield the pods that a drain waits for and cannot simply evict."""
        assert node.claim is not None
        deadline = deadline_of(node.claim)
        for waiting in waiting_pods(self.fleet, node, deadline):
            if waiting.hold in _HOLD_CODES:
                yield self._draining(node, waiting)

    def _draining(self, node: StateNode, waiting: WaitingPod) -> Blocker:
        assert node.claim is not None
        pod = waiting.pod
        code = _HOLD_CODES[waiting.hold]
        if waiting.hold is Hold.PDB:
            block = self.fleet.pods.pdb_block(pod)
            assert block is not None
            code = Code(block.kind)
        ends = [end for end in (waiting.until_ns, waiting.forced_ns) if end is not None]
        return Blocker(
            code=code,
            blocks_drain=True,
            object_kind="Pod",
            object_key=pod.key,
            owner=self._owner(pod),
            origin=self._origins.of(pod),
            value=waiting.holder,
            since_ns=max(node.claim.deletion_ns, bound_ns(pod) or 0) or None,
            until_ns=min(ends, default=None),
            message=f"the drain waits for the pod ({waiting.hold})",
            is_wanted=True,
            pod_uid=pod.uid,
        )

    def _owner(self, pod: Pod) -> str:
        owner = self._owners.of(pod)
        return "" if owner is None else str(owner)


def bound_ns(pod: Pod) -> int | None:
    """Return when a pod was bound to its node, or the best known approximation."""
    return pod.scheduled_ns or pod.start_ns or pod.created_ns or None
