"""What a provider says of conditions that make a node unhealthy, and what that comes to for one node.

Rules: ``pkg/controllers/node/health/policy.go`` of v1.15.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from karptui.kube.durations import DurationError, parse_duration
from karptui.kube.node import Node
from karptui.kube.objects import Condition, condition_of
from karptui.kube.timestamps import NS_PER_SECOND

_AGING_MINUTES: Final = 30.0
"""So many minutes of waiting outweigh one rank of priority."""
_MINUTE_NS: Final = 60 * NS_PER_SECOND
_MAX_PRIORITY: Final = 100


class RepairAction(StrEnum):
    """What is done about an unhealthy node."""

    REPLACE = "ReplaceNode"
    REBOOT = "RebootNode"


class RepairPolicyError(ValueError):
    """Policies that Karpenter would not start with."""


class RepairPolicy(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What to do about one state of one condition."""

    condition_type: str
    condition_status: str
    reason_regex: str = ""
    """Searched for in the condition's reason; empty for the default, which holds where no other of the pair does."""
    toleration_ns: int
    grace_ns: int | None = None
    """The longest that a drain may take; None without a bound."""
    priority: int = 0
    action: RepairAction = RepairAction.REPLACE

    def holds_for(self, condition: Condition) -> bool:
        """Return whether type and status are a condition's."""
        return self.condition_type == condition.type and self.condition_status == condition.status

    def matches(self, condition: Condition) -> bool:
        """Return whether its expression is found in a condition's reason."""
        return re.search(self.reason_regex, condition.reason) is not None


class WirePolicy(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A policy as a snapshot gives it."""

    condition_type: str
    condition_status: str
    reason_regex: str = ""
    toleration_duration: str = "0s"
    termination_grace_period: str | None = None
    priority: int = 0
    action: RepairAction = RepairAction.REPLACE


def parse_policies(values: object) -> tuple[RepairPolicy, ...]:
    """Return the policies of a snapshot.

    Raises:
        RepairPolicyError: with what is wrong with them.
    """
    try:
        wires = msgspec.convert(values, list[WirePolicy])
        policies = tuple(
            RepairPolicy(
                condition_type=one.condition_type,
                condition_status=one.condition_status,
                reason_regex=one.reason_regex,
                toleration_ns=parse_duration(one.toleration_duration),
                grace_ns=None if one.termination_grace_period is None else parse_duration(one.termination_grace_period),
                priority=one.priority,
                action=one.action,
            )
            for one in wires
        )
        for policy in policies:
            re.compile(policy.reason_regex)
    except (msgspec.ValidationError, DurationError, re.error) as error:
        raise RepairPolicyError(str(error)) from None
    defaults = [one for one in policies if not one.reason_regex]
    if len(defaults) != 1 or defaults[0].action is not RepairAction.REPLACE:
        raise RepairPolicyError("exactly one policy must have no reasonRegex, and it must replace")
    if any(not 0 <= one.priority <= _MAX_PRIORITY for one in policies):
        raise RepairPolicyError(f"a priority must be from 0 to {_MAX_PRIORITY}")
    return policies


class Ailment(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What is done about a node whose toleration is over, and why."""

    action: RepairAction
    condition: Condition
    """The one that governs."""
    reason_regex: str
    """Of its policy; empty for the default."""
    eligible_ns: int
    """When its toleration was over."""
    score: float
    """The highest goes first."""
    bound_ns: int | None
    """The shortest drain bound of all that is wrong, None without one."""

    def drain_bound(self, grace_ns: int | None) -> int | None:
        """Return how long the drain of a NodeClaim of such a grace period may take, None without a bound."""
        return min((bound for bound in (self.bound_ns, grace_ns) if bound is not None), default=None)

    def written_bound(self, grace_ns: int | None) -> int | None:
        """Return the same as far as Karpenter writes it down: not where only the grace period bounds the drain.

        Rules: ``effectiveDrainBound`` in ``pkg/controllers/disruption/repair.go``.
        """
        return None if self.bound_ns is None else self.drain_bound(grace_ns)


class RepairPolicies:
    """The policies of one provider."""

    def __init__(self, policies: Sequence[RepairPolicy]) -> None:
        self._policies = policies
        self._default = next((one for one in policies if not one.reason_regex), None)
        priorities = sorted({one.priority for one in policies})
        self._ranks = {priority: rank for rank, priority in enumerate(priorities)}

    def covers(self, condition: Condition) -> bool:
        """Return whether a condition is a sign of an unhealthy node, however short it has been so."""
        return any(one.holds_for(condition) for one in self._policies)

    def is_unhealthy(self, node: Node) -> bool:
        """Return whether any condition of a node is such a sign."""
        return any(self.covers(condition) for condition in node.conditions)

    def ailment(self, node: Node, now_ns: int, not_before_ns: int = 0) -> Ailment | None:
        """Return what is done about a node now, None where nothing is, or not yet.

        Args:
            node: The node.
            now_ns: The instant.
            not_before_ns: Since when tolerations count at the earliest: the end of the last reboot.
        """
        due = [one for one in self._matches(node, not_before_ns) if one[2] <= now_ns]
        if not due:
            return None
        policy, condition, eligible_ns = min(due, key=_precedence)
        return Ailment(
            action=policy.action,
            condition=condition,
            reason_regex=policy.reason_regex,
            eligible_ns=eligible_ns,
            score=max(self._score(one, then_ns, now_ns) for one, _, then_ns in due),
            bound_ns=min((one.grace_ns for one, _, _ in due if one.grace_ns is not None), default=None),
        )

    def eligible(self, node: Node, not_before_ns: int = 0) -> Iterator[int]:
        """Yield when what is wrong with a node has been so for as long as it is tolerated; see `ailment`."""
        return (eligible_ns for _, _, eligible_ns in self._matches(node, not_before_ns))

    def _matches(self, node: Node, not_before_ns: int) -> Iterator[tuple[RepairPolicy, Condition, int]]:
        for condition in node.conditions:
            since_ns = max(condition.last_transition_ns, node.created_ns, not_before_ns)
            for policy in self._matching(condition):
                yield policy, condition, since_ns + policy.toleration_ns

    def _matching(self, condition: Condition) -> Iterable[RepairPolicy]:
        of_pair = [one for one in self._policies if one.holds_for(condition)]
        found = [one for one in of_pair if one.reason_regex and one.matches(condition)]
        if of_pair and not found and self._default is not None:
            return (self._default,)
        return found

    def _score(self, policy: RepairPolicy, eligible_ns: int, now_ns: int) -> float:
        return self._ranks[policy.priority] + (now_ns - eligible_ns) / _MINUTE_NS / _AGING_MINUTES


def _precedence(due: tuple[RepairPolicy, Condition, int]) -> tuple[bool, int, int, str]:
    policy, condition, eligible_ns = due
    return policy.action is RepairAction.REBOOT, -policy.priority, eligible_ns, condition.type


def legacy_ailment(policies: Iterable[RepairPolicy], node: Node) -> int | None:
    """Return when the controller that came before deletes a node, None where it does not: by its conditions alone.

    Of several conditions of one type it sees the first: ``GetCondition`` in ``pkg/utils/node/node.go``.
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
