"""Commands: the nodes that a method removes, and their replacements.

Rules: ``Command`` in ``pkg/controllers/disruption/types.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from karptui.disruption.budgets import Reason
from karptui.disruption.candidate import Candidate
from karptui.disruption.events import CONSOLIDATION_CANDIDATE, Recorder
from karptui.disruption.simulation import NewNode, Simulation
from karptui.karpenter.repair_policies import Ailment


class Method(StrEnum):
    """A disruption method, by its name in Karpenter; in Karpenter's order."""

    REPAIR = "Repair"
    EMPTINESS = "Emptiness"
    STATIC_DRIFT = "StaticDrift"
    DRIFT = "Drift"
    MULTI_NODE = "MultiNodeConsolidation"
    SINGLE_NODE = "SingleNodeConsolidation"

    @property
    def reason(self) -> Reason:
        """The reason under which budgets count it."""
        return _REASONS[self]


_REASONS: Mapping[Method, Reason] = {
    Method.REPAIR: Reason.UNHEALTHY,
    Method.EMPTINESS: Reason.EMPTY,
    Method.STATIC_DRIFT: Reason.DRIFTED,
    Method.DRIFT: Reason.DRIFTED,
    Method.MULTI_NODE: Reason.UNDERUTILIZED,
    Method.SINGLE_NODE: Reason.UNDERUTILIZED,
}


class Decision(StrEnum):
    """The kind of a command."""

    DELETE = "delete"
    REPLACE = "replace"
    TERMINATE_FIRST = "terminate-first"
    """Delete the node before its replacement can exist."""
    REBOOT = "reboot"


class TerminateFirst(StrEnum):
    """Why no replacement can exist before the node is deleted."""

    NO_RESERVED_CAPACITY = "no-reserved-capacity"
    STATIC_AT_LIMIT = "static-at-limit"


class RepairCase(msgspec.Struct, frozen=True, eq=False):
    """A node to repair."""

    candidate: Candidate
    ailment: Ailment
    """With the action taken: a node that was rebooted too often is replaced."""
    is_escalated: bool
    legacy_cost: float
    """Cost of evicting all its pods, scaled by its remaining lifetime; breaks ties."""

    @property
    def bound_ns(self) -> int | None:
        """Maximum duration of its drain in nanoseconds; None if unbounded."""
        return self.ailment.drain_bound(self.candidate.claim.termination_grace_period_ns)


class Command(msgspec.Struct, frozen=True, eq=False):
    """Nodes that are removed together, and their replacements."""

    candidates: tuple[Candidate, ...]
    replacements: tuple[NewNode, ...] = ()
    simulation: Simulation | None = None
    """The simulation behind it; None for methods that do not simulate."""
    from_template: int = 0
    """Replacements launched from the NodePool's current template: StaticDrift only."""

    terminate_first: TerminateFirst | None = None
    is_reboot: bool = False
    """Whether the node is rebooted in place."""
    repairs: Mapping[str, RepairCase] = {}
    """Why each node is repaired, by name: Repair only."""

    @property
    def decision(self) -> Decision:
        """The kind of command."""
        if self.is_reboot:
            return Decision.REBOOT
        if self.terminate_first is not None:
            return Decision.TERMINATE_FIRST
        return Decision.REPLACE if self.replacements or self.from_template else Decision.DELETE

    @property
    def source_price(self) -> float:
        """Price per hour of the removed nodes; unknown prices count as 0."""
        return sum(candidate.price for candidate in self.candidates)

    @property
    def savings(self) -> float:
        """Dollars per hour by Karpenter's calculation; 0 with replacements from a template, which have no price."""
        if self.from_template or self.is_reboot:
            return 0.0
        return self.source_price - sum(node.estimated_price() for node in self.replacements)

    @property
    def known_savings(self) -> float | None:
        """Actual savings per hour; more if a new spot node of unknown price is cheaper than on demand. None if unknown.

        They are unknown if a removed spot node has no price: Karpenter assumes the on-demand price.
        """
        is_known = self.is_reboot or all(candidate.is_price_known for candidate in self.candidates)
        return self.priced_savings if is_known else None

    @property
    def priced_savings(self) -> float | None:
        """Savings per hour, with on-demand prices for spot nodes of unknown price; None if unknown.

        Karpenter counts unknown prices as 0. Replacements from a template or launched after the deletion have no price.
        """
        is_open = self.from_template or self.terminate_first is not None
        return self.savings if self.is_reboot or (self.is_priced and not is_open) else None

    @property
    def is_priced(self) -> bool:
        """Whether Karpenter has a price for every removed node and every replacement."""
        prices = (
            *(candidate.price for candidate in self.candidates),
            *(node.estimated_price() for node in self.replacements),
        )
        return 0.0 not in prices

    def announce(self, recorder: Recorder) -> None:
        """Publish consolidation's event about a candidate, which precedes the decision."""
        for candidate in self.candidates:
            text = f"{self._message(candidate)} (savings: ${self.savings:.2f})"
            recorder.about_node(candidate.node, CONSOLIDATION_CANDIDATE, f"Consolidation candidate: {text}")

    def _message(self, candidate: Candidate) -> str:
        if len(self.candidates) > 1:
            return f"{self.decision}: [{candidate.name}] (part of {len(self.candidates)}-node consolidation)"
        count = len(self.replacements)
        return f"{self.decision}: [{candidate.name}] -> [{count} replacement{'s' if count > 1 else ''}]"


class MethodResult(msgspec.Struct, frozen=True, eq=False):
    """A method's result in the current state."""

    method: Method
    candidates: tuple[Candidate, ...]
    """Nodes that passed the gates and the method's filter, by name."""
    budgets: Mapping[str, int]
    """Nodes that each NodePool allows for the reason, before the method consumes any."""
    commands: tuple[Command, ...]
    ailments: Mapping[str, Ailment] = {}
    """Of Repair: why each node whose toleration has expired is unhealthy, even if blocked."""
    error: str = ""
    """Karpenter's error that failed the method, which also ends the pass."""
