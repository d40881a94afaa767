"""All incidents, by name."""

from __future__ import annotations

from tests.incidents import (
    controllers,
    disruption,
    drains,
    healthy_clusters,
    healthy_disruption,
    healthy_launches,
    healthy_pods,
    launches,
    limits,
    nodeclasses,
    nodes,
    placement,
    registration,
    volumes,
)
from tests.incidents.incident import INCIDENTS

MODULES = (
    launches,
    nodeclasses,
    registration,
    limits,
    placement,
    volumes,
    disruption,
    drains,
    nodes,
    controllers,
    healthy_pods,
    healthy_launches,
    healthy_disruption,
    healthy_clusters,
)

__all__ = ["INCIDENTS", "MODULES"]
