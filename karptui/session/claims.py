"""One row of the Claims screen: a NodeClaim, its node, and the progress of its termination."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from karptui.disruption.termination import Deadline, Expiry, claim_expiry, deadline_of
from karptui.karpenter import labels as karpenter_labels
from karptui.karpenter.nodeclaim import REBOOTING, NodeClaim, claim_key
from karptui.kube.objects import Condition, Node, true_condition
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.session.cluster_view import ClusterView
from karptui.session.nodes import NodeEntry

if TYPE_CHECKING:
    from karptui.disruption.analysis import NodeFindings

STEPS: Final = ("Launched", "Registered", "Initialized")
"""The life of a NodeClaim, in order."""


class ClaimStep(NamedTuple):
    """One step of a NodeClaim's life."""

    name: str
    seconds: int | None
    """Seconds from creation to completion, or to now while in progress; None if it has not started."""
    is_done: bool


class ClaimEntry(msgspec.Struct, frozen=True, eq=False, dict=True):
    """A NodeClaim and what belongs to it."""

    claim: NodeClaim
    node: Node | None = None
    findings: NodeFindings | None = None
    """Why it is still here; None until that is worked out."""
    hidden: frozenset[str] = frozenset()
    """Kinds that may not be listed or were not read."""

    @property
    def key(self) -> str:
        """Identity across refreshes, and of the node's row."""
        return claim_key(self.claim.name)

    @property
    def pool(self) -> str:
        """Name of its NodePool."""
        return self.claim.labels.get(karpenter_labels.NODEPOOL, "")

    @property
    def node_name(self) -> str:
        """Name of its node, even if the node is gone; empty before there is one."""
        return self.node.name if self.node is not None else self.claim.node_name

    @cached_property
    def row(self) -> NodeEntry:
        """The same as a row of the Nodes screen."""
        return NodeEntry(self.node, self.claim, findings=self.findings, hidden=self.hidden)

    @property
    def is_starting(self) -> bool:
        """Whether a step of its life is still ahead."""
        return not self.claim.is_deleting and not self.claim.is_true(STEPS[-1]) and not self.is_rebooting

    @property
    def is_rebooting(self) -> bool:
        """Whether its instance is rebooted in place."""
        return self.claim.is_true(REBOOTING)

    @property
    def drifted(self) -> Condition | None:
        """The Drifted condition if it is True."""
        return true_condition(self.claim.conditions, "Drifted")

    @property
    def expires_ns(self) -> int | None:
        """When it expires; None if it never does, or is being deleted already."""
        return None if self.claim.is_deleting else self.claim.expires_ns

    @cached_property
    def deadline(self) -> Deadline | None:
        """When its drain ends by force; None without a deadline."""
        return deadline_of(self.claim)

    @property
    def grace_ns(self) -> int | None:
        """Longest duration of a drain; None if unlimited."""
        drain = self.findings.drain if self.findings is not None else None
        if drain is not None and drain.bound_ns is not None:
            return drain.bound_ns
        return self.claim.termination_grace_period_ns

    def steps(self, now_ns: int) -> tuple[ClaimStep, ...]:
        """Return the steps of its life; only the first that is not done is under way."""
        steps: list[ClaimStep] = []
        is_open = True
        for name in STEPS:
            condition = self.claim.condition(name)
            if condition is not None and condition.status == "True":
                steps.append(ClaimStep(name, _since(self.claim.created_ns, condition.last_transition_ns), is_done=True))
                continue
            if condition is not None and condition.reason == REBOOTING:
                # It was initialized; the reboot has overwritten when.
                steps.append(ClaimStep(name, None, is_done=True))
                continue
            running = _since(self.claim.created_ns, now_ns) if is_open and not self.claim.is_deleting else None
            steps.append(ClaimStep(name, running, is_done=False))
            is_open = False
        return tuple(steps)


def _since(start_ns: int, end_ns: int) -> int | None:
    return max(end_ns - start_ns, 0) // NS_PER_SECOND if start_ns and end_ns else None


def expiries_of(entries: Iterable[ClaimEntry], pool: str) -> tuple[Expiry, ...]:
    """Return when the NodeClaims of a NodePool expire, soonest first; without the permanent ones."""
    expiries = (claim_expiry(entry.claim) for entry in entries if entry.pool == pool)
    return tuple(sorted((expiry for expiry in expiries if expiry is not None), key=lambda e: (e.at_ns, e.claim_name)))


def claim_entries(view: ClusterView) -> tuple[ClaimEntry, ...]:
    """Return a row for every NodeClaim."""
    state, findings = view.state, view.analysis.findings if view.analysis is not None else {}
    return tuple(
        ClaimEntry(claim, state.node_of(name), findings.get(claim_key(name)), view.hidden)
        for name, claim in state.nodeclaims.items()
    )
