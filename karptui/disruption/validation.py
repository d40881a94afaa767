"""The second look of Emptiness and consolidation, after they have waited: whether what they found still holds.

Rules: ``pkg/controllers/disruption/validation.go``.
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
"""The methods that look again."""


def validated(run: MethodRun, simulator: Simulator, method: Method, command: Command) -> Command | None:
    """Return a command as it holds now, None where it does not.

    Emptiness goes on with the nodes that are still empty; consolidation wants all of them, and that their pods need no
    other new node than the one that was found.

    Args:
        run: Of the moment of the second look.
        simulator: Of the same moment.
        method: Which found the command.
        command: What it found.
    """
    left = run.budgets(method.reason)
    kept: list[Candidate] = []
    for one in _still_wanted(run, method, command):
        if left.get(one.pool.name, 0):
            left[one.pool.name] -= 1
            kept.append(one)
    is_whole = len(kept) == len(command.candidates)
    if not kept or (method is not Method.EMPTINESS and not (is_whole and _is_same(simulator, command, kept))):
        return None
    return replace(command, candidates=tuple(kept))


def _still_wanted(run: MethodRun, method: Method, command: Command) -> list[Candidate]:
    """Return the command's nodes that pass gates and filter still, in its order."""
    refuse = emptiness.refuse if method is Method.EMPTINESS else consolidation.refuse
    nodes = {node.name: node for node in run.fleet.nodes}
    found = []
    for one in command.candidates:
        node = nodes.get(one.name)
        candidate = graceful_candidate(run.fleet, node) if node is not None else None
        if candidate is not None and refuse(candidate) is None:
            found.append(candidate)
    return found


def _is_same(simulator: Simulator, command: Command, candidates: list[Candidate]) -> bool:
    """Return whether the pods of the nodes need what was found: nothing, or one node of no other types."""
    try:
        simulation = simulator.remove(candidates, is_consolidation=True)
    except SimulationError:
        return False
    if simulation.blocking_errors or len(simulation.new_nodes) != len(command.replacements):
        return False
    pairs = zip(command.replacements, simulation.new_nodes, strict=True)
    return all(set(found.type_names) <= set(now.type_names) for found, now in pairs)
