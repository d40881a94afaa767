"""Karpenter's provisioner as a pure function of cluster, instance types and settings.

`prepare` indexes a cluster once; `solve` returns the result of one provisioning run, for the cluster as it is or with
some nodes removed and their pods rescheduled. No clock, no randomness, no input or output.

    prepared = prepare(inventory, instance_types, settings, now_ns)
    solution = solve(prepared)
    simulated = solve(prepared, pods, excluded=[provider_id], reserved_fallback=True, enforce_consolidate_after=True)
"""

from __future__ import annotations

from karptui.provisioning.explain import PodExplanation, PoolExplanation, explain
from karptui.provisioning.instance_types import InstanceTypes
from karptui.provisioning.node_refusal import NodeRefusal
from karptui.provisioning.prepared import Prepared, prepare
from karptui.provisioning.rejection import PlacementGate, PodError, Rejection
from karptui.provisioning.reporter import Cancelled, Reporter
from karptui.provisioning.solution import FilledStateNode, NewClaim, Solution, Tie, solve
from karptui.provisioning.state_node import StateNode
from karptui.provisioning.waiting_pods import IgnoredPod

__all__ = [
    "Cancelled",
    "FilledStateNode",
    "IgnoredPod",
    "InstanceTypes",
    "NewClaim",
    "NodeRefusal",
    "PlacementGate",
    "PodError",
    "PodExplanation",
    "PoolExplanation",
    "Prepared",
    "Rejection",
    "Reporter",
    "Solution",
    "StateNode",
    "Tie",
    "explain",
    "prepare",
    "solve",
]
