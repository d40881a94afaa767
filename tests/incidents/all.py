"""All incidents, by name."""

from __future__ import annotations

from tests.incidents import (
    constraints,
    controllers,
    disruption,
    drains,
    healthy_clusters,
    healthy_details,
    healthy_disruption,
    healthy_everyday,
    healthy_launches,
    healthy_pods,
    healthy_states,
    launches,
    limits,
    nodeclasses,
    nodes,
    operations,
    placement,
    pod_demands,
    prerequisites,
    registration,
    removals,
    settings,
    starting,
    two_faults,
    unplaced,
    volumes,
)
from tests.incidents.incident import INCIDENTS

MODULES = (
    launches,
    nodeclasses,
    registration,
    limits,
    placement,
    pod_demands,
    volumes,
    disruption,
    drains,
    nodes,
    controllers,
    operations,
    settings,
    starting,
    unplaced,
    constraints,
    prerequisites,
    removals,
    two_faults,
    healthy_pods,
    healthy_launches,
    healthy_disruption,
    healthy_clusters,
    healthy_details,
    healthy_states,
    healthy_everyday,
)

__all__ = ["INCIDENTS", "MODULES"]
