"""All incidents, by name."""

from __future__ import annotations

from tests.incidents import (
    controllers,
    disruption,
    healthy,
    launches,
    nodeclasses,
    nodes,
    registration,
    scheduling,
    two_faults,
)
from tests.incidents.incident import INCIDENTS

MODULES = (launches, nodeclasses, registration, scheduling, disruption, nodes, controllers, two_faults, healthy)

__all__ = ["INCIDENTS", "MODULES"]
