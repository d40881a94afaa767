"""Karpenter's second check of a command, 15 seconds after its decision: is it still valid.

Rules: ``validation.go`` in ``pkg/controllers/disruption``.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from karptui.disruption import consolidation, emptiness
from karptui.disruption.candidate import Candidate, graceful_candidate
from karptui.disruption.command import Command, Method
from karptui.disruption.methods import MethodRun
from karptui.disruption.simulation import SimulationError, Simulator

VALIDATED: Final = frozenset({Method.EMPTINESS, Method.MULTI_NODE, Method.SINGLE_NODE})
"""The methods that validate."""


def validated(run: MethodRun, simulator: Simulator, method: Method, command: Command) -> Command | None:
    """Return a command as it applies now, or None if it no longer does.

    Emptiness continues with the nodes that are still empty. Consolidation requires all nodes, and that their pods need
    no other new node than the command's.
    """
    left = run.budgets(method.reason)
    valid: list[Candidate] = []
    for candidate in _still_wanted(run, method, command):
        if left.get(candidate.pool.name, 0):
            left[candidate.pool.name] -= 1
            valid.append(candidate)
    is_whole = len(valid) == len(command.candidates)
    if not valid or (method is not Method.EMPTINESS and not (is_whole and _is_same(simulator, command, valid))):
        return None
    return replace(command, candidates=tuple(valid))


def _still_wanted(run: MethodRun, method: Method, command: Command) -> list[Candidate]:
    """Return the command's nodes that still pass gates and conditions, in its order."""
    refuse = emptiness.refuse if method is Method.EMPTINESS else consolidation.refuse
    nodes = {node.name: node for node in run.fleet.nodes}
    candidates_left = []
    for previous in command.candidates:
        node = nodes.get(previous.name)
        candidate = graceful_candidate(run.fleet, node) if node is not None else None
        if candidate is not None and refuse(candidate) is None:
            candidates_left.append(candidate)
    return candidates_left


def _is_same(simulator: Simulator, command: Command, candidates: list[Candidate]) -> bool:
    """Return whether the nodes' pods still need the command's replacement or none, and no other types."""
    try:
        simulation = simulator.remove(candidates, is_consolidation=True)
    except SimulationError:
        return False
    if simulation.blocking_errors or len(simulation.new_nodes) != len(command.replacements):
        return False
    pairs = zip(command.replacements, simulation.new_nodes, strict=True)
    return all(set(planned.type_names) <= set(now.type_names) for planned, now in pairs)
