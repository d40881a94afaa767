"""What a method decides: which nodes go, and what comes in their place.

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
    """A method, by its name in Karpenter, in the order in which they are asked."""

    REPAIR = "Repair"
    EMPTINESS = "Emptiness"
    STATIC_DRIFT = "StaticDrift"
    DRIFT = "Drift"
    MULTI_NODE = "MultiNodeConsolidation"
    SINGLE_NODE = "SingleNodeConsolidation"

    @property
    def reason(self) -> Reason:
        """The budget reason it draws on."""
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
    """What a command does."""

    DELETE = "delete"
    REPLACE = "replace"
    TERMINATE_FIRST = "terminate-first"
    """Delete before a replacement can exist."""
    REBOOT = "reboot"


class TerminateFirst(StrEnum):
    """Why no replacement can exist while the node does."""

    NO_RESERVED_CAPACITY = "no-reserved-capacity"
    STATIC_AT_LIMIT = "static-at-limit"


class RepairCase(msgspec.Struct, frozen=True, eq=False):
    """A node to repair."""

    candidate: Candidate
    ailment: Ailment
    """With the action that is taken: a node rebooted too often is replaced."""
    is_escalated: bool
    legacy_cost: float
    """What evicting all its pods costs, by how much of its life is left: breaks ties."""

    @property
    def bound_ns(self) -> int | None:
        """How long its drain may take, None without a bound."""
        return self.ailment.drain_bound(self.candidate.claim.termination_grace_period_ns)


class Command(msgspec.Struct, frozen=True, eq=False):
    """Nodes that go together, and their replacements."""

    candidates: tuple[Candidate, ...]
    replacements: tuple[NewNode, ...] = ()
    simulation: Simulation | None = None
    """What led to it; None where a method seeks no place for pods."""
    from_template: int = 0
    """Replacements launched from the NodePool's template as it stands: StaticDrift only."""

    terminate_first: TerminateFirst | None = None
    is_reboot: bool = False
    """Whether the node stays and is started anew."""
    repairs: Mapping[str, RepairCase] = {}
    """By node why it is repaired: Repair only."""

    @property
    def decision(self) -> Decision:
        """Whether anything comes in their place."""
        if self.is_reboot:
            return Decision.REBOOT
        if self.terminate_first is not None:
            return Decision.TERMINATE_FIRST
        return Decision.REPLACE if self.replacements or self.from_template else Decision.DELETE

    @property
    def source_price(self) -> float:
        """Price per hour of the nodes that go; unknown ones count as 0."""
        return sum(candidate.price for candidate in self.candidates)

    @property
    def savings(self) -> float:
        """Dollars per hour that Karpenter expects to save; 0 with replacements from a template, which have no price."""
        if self.from_template or self.is_reboot:
            return 0.0
        return self.source_price - sum(node.estimated_price() for node in self.replacements)

    @property
    def known_savings(self) -> float | None:
        """What it does save per hour, or more with a spot node of unknown price; None where nobody can say yet.

        Of such a spot node that goes nobody can say: Karpenter reckons it on demand.
        """
        is_known = self.is_reboot or all(one.is_price_known for one in self.candidates)
        return self.priced_savings if is_known else None

    @property
    def priced_savings(self) -> float | None:
        """What it saves per hour, spot nodes of unknown price on demand; None where nobody can say yet.

        Karpenter counts an unknown price as 0. What a template makes, or comes once the nodes are gone, has no price.
        """
        is_open = self.from_template or self.terminate_first is not None
        return self.savings if self.is_reboot or (self.is_priced and not is_open) else None

    @property
    def is_priced(self) -> bool:
        """Whether Karpenter has a price for every node that goes and for every one that is chosen to come."""
        prices = (
            *(candidate.price for candidate in self.candidates),
            *(node.estimated_price() for node in self.replacements),
        )
        return 0.0 not in prices

    def announce(self, recorder: Recorder) -> None:
        """Say that a replacement was found, as consolidation does before anything is decided."""
        for candidate in self.candidates:
            text = f"{self._message(candidate)} (savings: ${self.savings:.2f})"
            recorder.about_node(candidate.node, CONSOLIDATION_CANDIDATE, f"Consolidation candidate: {text}")

    def _message(self, candidate: Candidate) -> str:
        if len(self.candidates) > 1:
            return f"{self.decision}: [{candidate.name}] (part of {len(self.candidates)}-node consolidation)"
        count = len(self.replacements)
        return f"{self.decision}: [{candidate.name}] -> [{count} replacement{'s' if count > 1 else ''}]"


class MethodResult(msgspec.Struct, frozen=True, eq=False):
    """What one method would do on the state as it is."""

    method: Method
    candidates: tuple[Candidate, ...]
    """Nodes that passed the gates and the method's own filter, by name."""
    budgets: Mapping[str, int]
    """Nodes that each NodePool still allows for the reason, before the method spends any."""
    commands: tuple[Command, ...]
    ailments: Mapping[str, Ailment] = {}
    """Of Repair: what is wrong with each node whose toleration is over, whatever holds it back."""
    error: str = ""
    """Why the method could not be carried out, in Karpenter's words: it also ends Karpenter's whole pass."""
