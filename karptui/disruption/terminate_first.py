"""Terminate-first: a node that holds the last slot of a reservation goes before its replacement comes, since 1.15.

Rules: ``SimulateSchedulingWithReservedFallback`` in ``pkg/controllers/disruption/helpers.go``.
"""

from __future__ import annotations

from karptui.disruption.candidate import Candidate
from karptui.disruption.simulation import Simulation, Simulator
from karptui.karpenter.labels import RESERVATION_ID, RESERVED


def remove_or_terminate_first(
    simulator: Simulator, candidate: Candidate, *, may_terminate_first: bool, with_blocked: bool = False
) -> tuple[Simulation, bool]:
    """Return where the pods of a node would land, and whether only once its reservation has its slot back.

    Args:
        simulator: Removes nodes.
        candidate: The node.
        may_terminate_first: Whether the method's gate is on.
        with_blocked: Whether pods that are pinned now need a place, too.

    Raises:
        SimulationError: when there is no NodePool to schedule with.
    """
    simulation = simulator.remove((candidate,), is_consolidation=False, with_blocked=with_blocked)
    reservation = candidate.node.labels.get(RESERVATION_ID, "")
    is_eligible = may_terminate_first and candidate.capacity_type == RESERVED and bool(reservation)
    if not simulation.blocking_errors or not is_eligible:
        return simulation, False
    credited = simulator.remove((candidate,), is_consolidation=False, with_blocked=with_blocked, credited=reservation)
    return (simulation, False) if credited.blocking_errors else (credited, True)
