"""Events that Karpenter would publish for a run, with their exact texts.

Texts: ``events.go`` and ``Results.Record`` in ``pkg/controllers/provisioning/scheduling``.
"""

from __future__ import annotations

from karptui.provisioning.prepared import Prepared
from karptui.provisioning.solution import Solution
from karptui.provisioning.state_node import StateNode

_FAILED = "FailedScheduling: Failed to schedule pod, "
_NO_TYPES = "NoCompatibleInstanceTypes: NodePool requirements filtered out all compatible available instance types"


def provisioning_events(prepared: Prepared, solution: Solution) -> dict[str, list[str]]:
    """Return ``{"Kind/name": ["Reason: message"]}`` for a run; pods are ``Pod/namespace/name``.

    Pods that wait for reserved capacity, or that exclude NodePools, get no event.
    """
    messages: dict[str, list[str]] = {}
    for ignored in prepared.ignored:
        if not ignored.is_silent:
            messages[f"Pod/{ignored.pod.key}"] = [_FAILED + "; ".join(ignored.problems)]
    if not solution.had_pods or not prepared.pools:
        return messages
    for name, is_because_of_min_values in prepared.left_out.items():
        because = " due to minValues incompatibility" if is_because_of_min_values else ""
        messages[f"NodePool/{name}"] = [_NO_TYPES + because]
    for key, error in solution.errors.items():
        if not error.is_reserved:
            messages.setdefault(f"Pod/{key}", []).append(f"{_FAILED}{error}")
    virtual = {pod.uid for pod in prepared.buffer_pods}
    for filled in solution.nodes:
        message = f"Nominated: Pod should schedule on: {_named(filled.state)}"
        for pod in filled.pods:
            if pod.uid not in virtual:
                messages.setdefault(f"Pod/{pod.key}", []).append(message)
    return messages


def _named(state: StateNode) -> str:
    parts = []
    if state.claim is not None:
        parts.append(f"nodeclaim/{state.claim.name}")
    if state.node is not None:
        parts.append(f"node/{state.node.name}")
    return ", ".join(parts)
