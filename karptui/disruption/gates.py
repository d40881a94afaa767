"""The gates that every node must pass before methods consider it, in Karpenter's order.

Karpenter stops at the first closed gate and publishes only that; here every gate is evaluated.
Rules: ``NewCandidate`` in ``pkg/controllers/disruption/types.go``, ``ValidateNodeDisruptable`` and
``ValidatePodsDisruptable`` in ``pkg/controllers/state/statenode.go``.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

import msgspec

from karptui.disruption.do_not_disrupt import NODE_MESSAGE, first_protected, pod_message, protects_node
from karptui.disruption.events import Recorder
from karptui.disruption.fleet import Fleet
from karptui.karpenter.labels import NODEPOOL
from karptui.karpenter.pdb_limits import PdbBlock, PdbBlockKind
from karptui.provisioning.state_node import StateNode


class Gate(StrEnum):
    """A gate, in Karpenter's order of evaluation."""

    IN_COMMAND = "IN_COMMAND"
    UNMANAGED = "UNMANAGED"
    NO_NODE = "NO_NODE"
    REBOOTING = "REBOOTING"
    DELETING = "DELETING"
    NOT_INITIALIZED = "NOT_INITIALIZED"
    NOMINATED = "NOMINATED"
    NODE_DND = "NODE_DND"
    NO_NODEPOOL_LABEL = "NO_NODEPOOL_LABEL"
    NODEPOOL_UNRESOLVED = "NODEPOOL_UNRESOLVED"
    NODEPOOL_NO_TYPES = "NODEPOOL_NO_TYPES"
    """Replaces the previous gate if the NodePool exists; Karpenter does not distinguish the two."""
    POD_DND = "POD_DND"
    PDB_MULTIPLE = "PDB_MULTIPLE"
    PDB_EXHAUSTED = "PDB_EXHAUSTED"


NOMINATED_MESSAGE: Final = "Node is nominated for a pending pod"
POD_GATES: Final = frozenset({Gate.POD_DND, Gate.PDB_MULTIPLE, Gate.PDB_EXHAUSTED})
"""Gates that a terminationGracePeriod opens for Drift and StaticDrift."""


_TRANSIENT: Final = frozenset({Gate.IN_COMMAND, Gate.NOMINATED})


class GateCheck(msgspec.Struct, frozen=True, gc=False):
    """A gate's state for a node."""

    gate: Gate
    is_open: bool | None
    """None if not applicable (a node without NodeClaim has no further gates) or not known."""
    message: str = ""
    """Karpenter's message if closed; empty if Karpenter publishes none."""
    object_key: str = ""
    """``Kind/name`` of the object that closes it; empty if that is the node itself."""


def is_overridden(gate: Gate, node: StateNode) -> bool:
    """Return whether Drift and StaticDrift ignore a closed gate: pod gates, if the NodeClaim bounds the drain."""
    return gate in POD_GATES and node.claim is not None and node.claim.termination_grace_period_ns is not None


def first_failure(fleet: Fleet, node: StateNode, recorder: Recorder | None = None) -> GateCheck | None:
    """Return the first closed gate, or None if all are open.

    Args:
        recorder: Records Karpenter's events about evaluated pods, up to the first protected one.
    """
    if _passes_node_gates(fleet, node):
        return _closed_by_annotation(fleet, node, recorder) or _closed_by_pdb(fleet, node)
    return next((check for check in iter_gates(fleet, node, recorder) if check.is_open is False), None)


def _passes_node_gates(fleet: Fleet, node: StateNode) -> bool:
    """Return whether the gates that do not depend on pods are known to be open, as for most nodes."""
    return (
        fleet.is_sound(node, _has_open_gates)
        and node.name not in fleet.commanded
        and fleet.nominated.get(node.name, 0) <= fleet.now_ns
    )


def _has_open_gates(fleet: Fleet, node: StateNode) -> bool:
    """Return whether the gates that depend on neither time nor commands nor pods are open."""
    if node.claim is None:
        return False
    return all(check.is_open for check in iter_node_gates(fleet, node) if check.gate not in _TRANSIENT)


def all_gates(fleet: Fleet, node: StateNode) -> tuple[GateCheck, ...]:
    """Return the state of every gate in Karpenter's order."""
    return tuple(iter_gates(fleet, node))


def iter_gates(fleet: Fleet, node: StateNode, recorder: Recorder | None = None) -> Iterator[GateCheck]:
    """Yield the gates' states lazily, in Karpenter's order."""
    yield from iter_node_gates(fleet, node)
    if node.claim is None:
        yield from (GateCheck(gate, None) for gate in _AFTER_UNMANAGED)
    else:
        yield from _pod_gates(fleet, node, recorder)


def _pod_gates(fleet: Fleet, node: StateNode, recorder: Recorder | None) -> Iterator[GateCheck]:
    yield _closed_by_annotation(fleet, node, recorder) or GateCheck(Gate.POD_DND, is_open=True)
    closed = _closed_by_pdb(fleet, node)
    # Without any PodDisruptionBudget nothing is known: output of kubectl may lack them.
    otherwise = True if fleet.inventory.pdbs else None
    for gate in (Gate.PDB_MULTIPLE, Gate.PDB_EXHAUSTED):
        yield closed if closed is not None and closed.gate is gate else GateCheck(gate, is_open=otherwise)


def iter_node_gates(fleet: Fleet, node: StateNode) -> Iterator[GateCheck]:
    """Yield the gates that do not depend on pods; only the first two for unmanaged nodes."""
    yield _check(Gate.IN_COMMAND, node.name not in fleet.commanded)
    claim = node.claim
    yield _check(Gate.UNMANAGED, claim is not None)
    if claim is None:
        return
    key = f"NodeClaim/{claim.name}"
    yield _check(Gate.NO_NODE, node.node is not None, "Nodeclaim does not have an associated node", key)
    checks = {
        Gate.NOT_INITIALIZED: _check(Gate.NOT_INITIALIZED, node.is_initialized, _uninitialized(fleet, node)),
        Gate.DELETING: _check(
            Gate.DELETING, not node.is_marked_for_deletion, "Node is deleting or marked for deletion", key
        ),
        Gate.REBOOTING: _check(Gate.REBOOTING, not node.is_rebooting, "Node is rebooting", key),
    }
    yield from (checks[gate] for gate in (_ORDER_1_15 if fleet.settings.rules.asks_deleting_first else _ORDER_1_14))
    is_nominated = fleet.nominated.get(node.name, 0) > fleet.now_ns
    yield _check(Gate.NOMINATED, not is_nominated, NOMINATED_MESSAGE)
    yield _check(Gate.NODE_DND, not protects_node(node.annotations), NODE_MESSAGE)
    message = f"Node doesn't have required label (label={NODEPOOL})"
    yield _check(Gate.NO_NODEPOOL_LABEL, NODEPOOL in node.labels, message)
    pool = node.nodepool_name
    is_resolved = fleet.resolved(pool) is not None
    gate = Gate.NODEPOOL_NO_TYPES if not is_resolved and pool in fleet.pools else Gate.NODEPOOL_UNRESOLVED
    yield _check(gate, is_resolved, f"NodePool not found (NodePool={pool})", f"NodePool/{pool}")


_ORDER_1_15: Final = (Gate.REBOOTING, Gate.DELETING, Gate.NOT_INITIALIZED)
_ORDER_1_14: Final = (Gate.NOT_INITIALIZED, Gate.DELETING)


def _uninitialized(fleet: Fleet, node: StateNode) -> str:
    if fleet.settings.rules.asks_deleting_first and not node.is_registered:
        return "Node isn't initialized nor registered"
    return "Node isn't initialized"


def _check(gate: Gate, is_open: bool, message: str = "", object_key: str = "") -> GateCheck:  # noqa: FBT001 - the answer
    return GateCheck(gate, True) if is_open else GateCheck(gate, False, message, object_key)


_AFTER_UNMANAGED: Final = tuple(
    gate for gate in Gate if gate not in (Gate.IN_COMMAND, Gate.UNMANAGED, Gate.NODEPOOL_NO_TYPES)
)


def _closed_by_annotation(fleet: Fleet, node: StateNode, recorder: Recorder | None) -> GateCheck | None:
    pod = first_protected(fleet, node, recorder)
    return None if pod is None else GateCheck(Gate.POD_DND, False, pod_message(pod), f"Pod/{pod.key}")


def _closed_by_pdb(fleet: Fleet, node: StateNode) -> GateCheck | None:
    """Return the gate that PodDisruptionBudgets close: the first blocking pod decides which of the two."""
    for pod in fleet.guarded_pods(node):
        block = fleet.pods.pdb_block(pod)
        if block is not None:
            gate = Gate.PDB_MULTIPLE if block.kind is PdbBlockKind.MULTIPLE else Gate.PDB_EXHAUSTED
            return GateCheck(gate, False, pdb_message(block), f"Pod/{pod.key}")
    return None


def pdb_message(block: PdbBlock) -> str:
    """Return Karpenter's message for PodDisruptionBudgets that prevent an eviction."""
    names = " ".join(pdb.key for pdb in block.pdbs)
    if block.kind is PdbBlockKind.MULTIPLE:
        return f"Eviction does not support multiple PDBs (PodDisruptionBudget(s)=[{names}])"
    return f"Pdb prevents pod evictions (PodDisruptionBudget=[{names}])"
