"""All incidents, by name."""

from __future__ import annotations

from tests.incidents import (
    capacity,
    controllers,
    disruption,
    healthy,
    healthy_soon,
    launches,
    nodeclasses,
    nodes,
    registration,
    scheduling,
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
    two_faults,
    healthy,
    healthy_soon,
)

__all__ = ["INCIDENTS", "MODULES"]
