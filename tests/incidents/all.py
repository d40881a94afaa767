"""All incidents, by name."""

from __future__ import annotations

from tests.incidents import (
    capacity,
    controllers,
    disruption,
    healthy,
    healthy_clusters,
    healthy_lookalikes,
    healthy_soon,
    launch_errors,
    launches,
    more_faults,
    nodeclasses,
    nodes,
    placement,
    registration,
    scheduling,
    second_look,
    second_look_healthy,
    third_look,
    third_look_healthy,
    two_faults,
)
from tests.incidents.incident import INCIDENTS

MODULES = (
    launches,
    nodeclasses,
    registration,
    scheduling,
    disruption,
    nodes,
    controllers,
    capacity,
    more_faults,
    two_faults,
    healthy,
    healthy_soon,
    healthy_lookalikes,
    second_look,
    second_look_healthy,
    third_look,
    third_look_healthy,
    placement,
    launch_errors,
    healthy_clusters,
)

__all__ = ["INCIDENTS", "MODULES"]
