"""Policies for repairing unhealthy nodes, applied to a node.

Rules: ``pkg/controllers/node/health/policy.go`` of v1.15.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from karptui.kube.durations import DurationError, parse_duration
from karptui.kube.objects import Condition, Node, condition_of
from karptui.kube.timestamps import MINUTE_NS

_AGING_MINUTES: Final = 30.0
"""Minutes of waiting that outweigh one rank of priority."""
_MAX_PRIORITY: Final = 100


class RepairAction(StrEnum):
    """Repair of an unhealthy node."""

    REPLACE = "ReplaceNode"
    REBOOT = "RebootNode"


class RepairPolicyError(ValueError):
    """Karpenter would not start with these policies."""


class RepairPolicy(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Repair for a condition type and status."""

    condition_type: str
    condition_status: str
    reason_regex: str = ""
    """Matched against the condition's reason; empty for the default, used if no other policy of the pair matches."""
    toleration_ns: int
    grace_ns: int | None = None
    """Maximum duration of a drain; None for no limit."""
    priority: int = 0
    action: RepairAction = RepairAction.REPLACE

    def holds_for(self, condition: Condition) -> bool:
        """Return whether type and status equal a condition's."""
        return self.condition_type == condition.type and self.condition_status == condition.status

    def matches(self, condition: Condition) -> bool:
        """Return whether the regular expression matches a condition's reason."""
        return re.search(self.reason_regex, condition.reason) is not None


class WirePolicy(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A policy in a snapshot."""

    condition_type: str
    condition_status: str
    reason_regex: str = ""
    toleration_duration: str = "0s"
    termination_grace_period: str | None = None
    priority: int = 0
    action: RepairAction = RepairAction.REPLACE


def parse_policies(values: object) -> tuple[RepairPolicy, ...]:
    """Return the policies in a snapshot.

    Raises:
        RepairPolicyError: If they are invalid, with the reason.
    """
    try:
        wires = msgspec.convert(values, list[WirePolicy])
        policies = tuple(
            RepairPolicy(
                condition_type=policy.condition_type,
                condition_status=policy.condition_status,
                reason_regex=policy.reason_regex,
                toleration_ns=parse_duration(policy.toleration_duration),
                grace_ns=None
                if policy.termination_grace_period is None
                else parse_duration(policy.termination_grace_period),
                priority=policy.priority,
                action=policy.action,
            )
            for policy in wires
        )
        for policy in policies:
            re.compile(policy.reason_regex)
    except (msgspec.ValidationError, DurationError, re.error) as error:
        raise RepairPolicyError(str(error)) from None
    defaults = [policy for policy in policies if not policy.reason_regex]
    if len(defaults) != 1 or defaults[0].action is not RepairAction.REPLACE:
        raise RepairPolicyError("exactly one policy must have no reasonRegex, and it must replace")
    if any(not 0 <= policy.priority <= _MAX_PRIORITY for policy in policies):
        raise RepairPolicyError(f"a priority must be from 0 to {_MAX_PRIORITY}")
    return policies


class Ailment(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Repair of a node whose toleration has ended, and its cause."""

    action: RepairAction
    condition: Condition
    """The condition with the highest precedence."""
    reason_regex: str
    """Regular expression of its policy; empty for the default."""
    eligible_ns: int
    """End of the toleration."""
    score: float
    """Nodes with a higher score are repaired first."""
    bound_ns: int | None
    """Shortest drain limit of all matching policies; None for no limit."""

    def drain_bound(self, grace_ns: int | None) -> int | None:
        """Return the drain limit for a NodeClaim with this grace period; None for no limit."""
        return min((bound for bound in (self.bound_ns, grace_ns) if bound is not None), default=None)

    def written_bound(self, grace_ns: int | None) -> int | None:
        """Return the drain limit that Karpenter stores: None if only the grace period limits the drain.

        Rules: ``effectiveDrainBound`` in ``pkg/controllers/disruption/repair.go``.
        """
        return None if self.bound_ns is None else self.drain_bound(grace_ns)


class RepairPolicies:
    """The policies of a provider."""

    def __init__(self, policies: Sequence[RepairPolicy]) -> None:
        self._policies = policies
        self._default = next((policy for policy in policies if not policy.reason_regex), None)
        priorities = sorted({policy.priority for policy in policies})
        self._ranks = {priority: rank for rank, priority in enumerate(priorities)}

    def covers(self, condition: Condition) -> bool:
        """Return whether a condition makes a node unhealthy, regardless of tolerations."""
        return any(policy.holds_for(condition) for policy in self._policies)

    def is_unhealthy(self, node: Node) -> bool:
        """Return whether any condition makes the node unhealthy."""
        return any(self.covers(condition) for condition in node.conditions)

    def ailment(self, node: Node, now_ns: int, not_before_ns: int = 0) -> Ailment | None:
        """Return the repair that is due for a node, or None.

        Args:
            not_before_ns: Earliest start of tolerations: the end of the last reboot.
        """
        due = [match for match in self._matches(node, not_before_ns) if match[2] <= now_ns]
        if not due:
            return None
        policy, condition, eligible_ns = min(due, key=_precedence)
        return Ailment(
            action=policy.action,
            condition=condition,
            reason_regex=policy.reason_regex,
            eligible_ns=eligible_ns,
            score=max(self._score(policy, then_ns, now_ns) for policy, _, then_ns in due),
            bound_ns=min((policy.grace_ns for policy, _, _ in due if policy.grace_ns is not None), default=None),
        )

    def eligible(self, node: Node, not_before_ns: int = 0) -> Iterator[int]:
        """Yield the end of the toleration for each matching policy; see `ailment`."""
        return (eligible_ns for _, _, eligible_ns in self._matches(node, not_before_ns))

    def _matches(self, node: Node, not_before_ns: int) -> Iterator[tuple[RepairPolicy, Condition, int]]:
        for condition in node.conditions:
            since_ns = max(condition.last_transition_ns, node.created_ns, not_before_ns)
            for policy in self._matching(condition):
                yield policy, condition, since_ns + policy.toleration_ns

    def _matching(self, condition: Condition) -> Iterable[RepairPolicy]:
        of_pair = [policy for policy in self._policies if policy.holds_for(condition)]
        matching = [policy for policy in of_pair if policy.reason_regex and policy.matches(condition)]
        if of_pair and not matching and self._default is not None:
            return (self._default,)
        return matching

    def _score(self, policy: RepairPolicy, eligible_ns: int, now_ns: int) -> float:
        return self._ranks[policy.priority] + (now_ns - eligible_ns) / MINUTE_NS / _AGING_MINUTES


def _precedence(due: tuple[RepairPolicy, Condition, int]) -> tuple[bool, int, int, str]:
    policy, condition, eligible_ns = due
    return policy.action is RepairAction.REBOOT, -policy.priority, eligible_ns, condition.type


def legacy_ailment(policies: Iterable[RepairPolicy], node: Node) -> int | None:
    """Return when the controller of Karpenter 1.14 deletes a node, or None; it only uses the node's conditions.

    Of several conditions of a type it uses the first: ``GetCondition`` in ``pkg/utils/node/node.go``.
    """
    return min(
        (
            condition.last_transition_ns + policy.toleration_ns
            for policy in policies
            if policy.action is RepairAction.REPLACE
            and (condition := condition_of(node.conditions, policy.condition_type)) is not None
            and policy.holds_for(condition)
            and policy.matches(condition)
        ),
        default=None,
    )
