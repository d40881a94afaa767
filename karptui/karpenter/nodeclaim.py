"""NodeClaims. Fields: pkg/apis/v1/nodeclaim.go, nodeclaim_status.go."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from enum import StrEnum
from typing import Final, NamedTuple

from karptui.karpenter.labels import GROUP, TERMINATION_FINALIZER, is_disrupted
from karptui.karpenter.nodeclass import NodeClassRef
from karptui.kube import resources
from karptui.kube.objects import Condition, KubeObject, Node, condition_of, true_condition
from karptui.kube.resources import ResourceList
from karptui.kube.selectors import NodeSelectorRequirement
from karptui.kube.taints import HARD_EFFECTS, Taint
from karptui.kube.timestamps import ABSENT_NS, MINUTE_NS

DISRUPTION_REASON: Final = "DisruptionReason"
"""Condition that marks a NodeClaim as part of a disruption command."""
REBOOTING: Final = "Rebooting"
"""Condition while the instance reboots in place (since 1.15); also the reason of Initialized during a reboot."""
LAUNCH_PATIENCE_NS: Final = 2 * MINUTE_NS
"""A launch takes about a minute: a NodeClaim without provider ID for longer is in trouble."""
TERMINATION_HANDLER: Final = "aws-node-termination-handler"
"""Source of the events of the AWS Node Termination Handler."""
_UNTRIED: Final = ("", "AwaitingReconciliation")
"""Condition reasons that mean nothing has been tried yet."""


class NodeClaim(KubeObject, frozen=True, kw_only=True, gc=False):
    """A NodeClaim: a request for a node, with its status."""

    requirements: tuple[NodeSelectorRequirement, ...] = ()
    requests: ResourceList = resources.EMPTY
    """``spec.resources.requests``: requests of the pods it was created for."""
    taints: tuple[Taint, ...] = ()
    startup_taints: tuple[Taint, ...] = ()
    node_class_ref: NodeClassRef = NodeClassRef()
    expire_after_ns: int | None = None
    """None means Never."""
    termination_grace_period_ns: int | None = None
    node_name: str = ""
    provider_id: str = ""
    image_id: str = ""
    capacity: ResourceList = resources.EMPTY
    allocatable: ResourceList = resources.EMPTY
    conditions: tuple[Condition, ...] = ()
    last_pod_event_ns: int = ABSENT_NS
    """Last time a pod was added or removed, as Karpenter counts it for consolidateAfter."""

    @property
    def expires_ns(self) -> int | None:
        """When Karpenter deletes it because of expireAfter, in nanoseconds since the epoch; None for never.

        Source: pkg/controllers/nodeclaim/expiration/controller.go.
        """
        return None if self.expire_after_ns is None else self.created_ns + self.expire_after_ns

    def condition(self, type_: str) -> Condition | None:
        """Return a condition by type (Launched, Registered, Initialized, Consolidatable, Drifted…), None if absent."""
        return condition_of(self.conditions, type_)

    def is_true(self, type_: str) -> bool:
        """Return whether a condition is True."""
        return true_condition(self.conditions, type_) is not None

    @property
    def refused_launch(self) -> Condition | None:
        """The Launched condition if launching was tried and failed (it stays Unknown, with a reason), else None."""
        launched = condition_of(self.conditions, "Launched")
        return None if launched is None or launched.status == "True" or is_untried(launched) else launched

    def is_launch_overdue(self, now_ns: int) -> bool:
        """Return whether it has no instance because its launch was refused, or for longer than launches take."""
        is_old = self.created_ns != ABSENT_NS and now_ns - self.created_ns >= LAUNCH_PATIENCE_NS
        return not self.provider_id and (is_old or self.refused_launch is not None)


def overdue_launches(claims: Iterable[NodeClaim], now_ns: int) -> list[NodeClaim]:
    """Return the NodeClaims that have no instance and should have one, the oldest first."""
    overdue = (claim for claim in claims if claim.is_launch_overdue(now_ns))
    return sorted(overdue, key=lambda claim: (claim.created_ns, claim.name))


def is_untried(condition: Condition) -> bool:
    """Return whether no controller has tried the condition's step yet."""
    return condition.status == "Unknown" and condition.reason in _UNTRIED


def pool_in_name(claim: str, pools: Container[str]) -> str:
    """Return the NodePool in a NodeClaim's name (``<pool>-<five letters>``); empty if it is not one of the pools."""
    stem = claim.rpartition("-")[0]
    return stem if stem in pools else ""


def claim_key(name: str) -> str:
    """Return a key for a NodeClaim and its future node that is stable across updates."""
    return f"claim/{name}"


def node_key(claim: NodeClaim | None, node_name: str) -> str:
    """Return a key for a node: that of its NodeClaim if it has one."""
    return claim_key(claim.name) if claim is not None else f"node/{node_name}"


UNREGISTERED: Final = re.compile(r'Resource "([^"]+)" was requested but not registered')
"""Message of the condition Initialized about a device that the node lacks."""


class InitializationObstacles(NamedTuple):
    """Reasons why a registered node is not initialized."""

    missing_resources: tuple[str, ...] = ()
    """Requested resources that the node does not report."""
    startup_taints: tuple[str, ...] = ()
    message: str = ""
    """The NodeClaim's condition message."""
    similar_resources: tuple[str, ...] = ()
    """Resources of the same vendor that the node reports instead: device plugins rename shared and divided devices."""

    @property
    def text(self) -> str:
        """The first obstacle, as short text."""
        if self.missing_resources:
            instead = f" (the node has {', '.join(self.similar_resources)})" if self.similar_resources else ""
            return f"{', '.join(self.missing_resources)}{instead}"
        return f"startup taint {', '.join(self.startup_taints)}" if self.startup_taints else self.message


def initialization_obstacles(claim: NodeClaim, node: Node) -> InitializationObstacles:
    """Return the reasons why a registered node is not initialized.

    Source: pkg/controllers/nodeclaim/lifecycle/initialization.go.
    """
    condition = claim.condition("Initialized")
    missing = tuple(
        name for name, amount in claim.requests.items() if amount.nano and not resources.nano(node.allocatable, name)
    )
    message = condition.message if condition is not None else ""
    if not missing and (unregistered := UNREGISTERED.fullmatch(message)) is not None:
        missing = (unregistered[1],)
    vendors = {vendor for vendor, slash, _ in (name.partition("/") for name in missing) if slash and "." in vendor}
    return InitializationObstacles(
        missing,
        tuple(str(taint) for taint in node.taints if any(map(taint.matches, claim.startup_taints))),
        message,
        tuple(n for n, amount in node.allocatable.items() if n.partition("/")[0] in vendors and amount.nano),
    )


DRAINED: Final = "Drained"
"""Condition of a NodeClaim whose node is drained (since 1.6)."""
_DETACHED: Final = "VolumesDetached"
_TERMINATING: Final = "InstanceTerminating"
_GRACE_ELAPSED: Final = "TerminationGracePeriodElapsed"


class DrainStage(StrEnum):
    """A stage of a node's termination."""

    IDLE = "Idle"
    """Nothing disrupts it."""
    WANTED = "Wanted"
    """Drifted or consolidatable: disrupted once nothing blocks it."""
    COMMANDED = "Commanded"
    """Tainted, waiting for replacements; nothing is evicted yet."""
    DELETING = "Deleting"
    """The NodeClaim is being deleted; the drain has not begun."""
    DRAINING = "Draining"
    VOLUMES = "Volumes"
    """Drained, waiting for volumes to be detached."""
    INSTANCE = "Instance"
    """Waiting for the instance to terminate."""


def deletion_stage(claim: NodeClaim, node: Node | None) -> tuple[DrainStage, int]:
    """Return a deleted NodeClaim's stage and when it began, from its conditions.

    Before 1.6 there is no condition Drained: the taint that comes before the drain shows that it has begun.
    """
    drained, detached = claim.condition(DRAINED), claim.condition(_DETACHED)
    if claim.is_true(_TERMINATING):
        condition = claim.condition(_TERMINATING)
        return DrainStage.INSTANCE, ABSENT_NS if condition is None else condition.last_transition_ns
    if drained is None:
        is_begun = node is not None and is_disrupted(node.taints)
        return DrainStage.DRAINING if is_begun else DrainStage.DELETING, claim.deletion_ns
    if drained.status != "True":
        return DrainStage.DRAINING, drained.last_transition_ns or claim.deletion_ns
    if detached is not None and (detached.status == "True" or detached.reason == _GRACE_ELAPSED):
        return DrainStage.INSTANCE, detached.last_transition_ns
    return DrainStage.VOLUMES, drained.last_transition_ns


def last_finalizers(node: Node | None) -> tuple[str, ...]:
    """Return the other controllers' finalizers of a Node without Karpenter's own: the instance is terminated."""
    finalizers = node.finalizers if node is not None and node.is_deleting else ()
    return () if TERMINATION_FINALIZER in finalizers else finalizers


def is_foreign(taint: Taint, claim: NodeClaim | None) -> bool:
    """Return whether a node has a taint that neither Karpenter nor Kubernetes has put there."""
    own = claim is None or any(map(taint.matches, (*claim.taints, *claim.startup_taints)))
    is_known = any(word in taint.key for word in ("kubernetes.io/", GROUP, TERMINATION_HANDLER))
    return not own and not is_known and taint.effect in HARD_EFFECTS
