"""NodeClaims. Source of the fields: pkg/apis/v1/nodeclaim.go, nodeclaim_status.go."""

from __future__ import annotations

from collections.abc import Container
from typing import Final, NamedTuple

from karptui.karpenter.nodeclass import NodeClassRef
from karptui.kube import resources
from karptui.kube.node import Node
from karptui.kube.objects import Condition, KubeObject, condition_of
from karptui.kube.resources import ResourceList
from karptui.kube.selectors import NodeSelectorRequirement
from karptui.kube.taints import Taint
from karptui.kube.timestamps import ABSENT_NS

DISRUPTION_REASON: Final = "DisruptionReason"
"""The condition by which Karpenter marks a NodeClaim of a command."""
REBOOTING: Final = "Rebooting"
"""The condition of a claim whose instance is rebooted in place, since 1.15; also why it is not Initialized then."""
_UNTRIED: Final = ("", "AwaitingReconciliation")


class NodeClaim(KubeObject, frozen=True, kw_only=True, gc=False):
    """A request for a node, and what came of it."""

    requirements: tuple[NodeSelectorRequirement, ...] = ()
    requests: ResourceList = resources.EMPTY
    """``spec.resources.requests``: what the pods it was made for ask."""
    taints: tuple[Taint, ...] = ()
    startup_taints: tuple[Taint, ...] = ()
    node_class_ref: NodeClassRef = NodeClassRef()
    expire_after_ns: int | None = None
    """None is Never."""
    termination_grace_period_ns: int | None = None
    node_name: str = ""
    provider_id: str = ""
    image_id: str = ""
    capacity: ResourceList = resources.EMPTY
    allocatable: ResourceList = resources.EMPTY
    conditions: tuple[Condition, ...] = ()
    last_pod_event_ns: int = ABSENT_NS
    """When a pod last came or went, as Karpenter counts for consolidateAfter."""

    @property
    def expires_ns(self) -> int | None:
        """When Karpenter deletes it for its age: nanoseconds since the epoch, None for never.

        Source: pkg/controllers/nodeclaim/expiration/controller.go.
        """
        return None if self.expire_after_ns is None else self.created_ns + self.expire_after_ns

    def condition(self, type_: str) -> Condition | None:
        """Return a condition by its type (Launched, Registered, Initialized, Consolidatable, Drifted…)."""
        return condition_of(self.conditions, type_)

    def is_true(self, type_: str) -> bool:
        """Whether a condition is reported and True."""
        condition = condition_of(self.conditions, type_)
        return condition is not None and condition.status == "True"

    @property
    def refused_launch(self) -> Condition | None:
        """The condition Launched if a launch was tried and failed (it stays Unknown, with a reason), else None."""
        launched = condition_of(self.conditions, "Launched")
        return None if launched is None or launched.status == "True" or is_untried(launched) else launched


def is_untried(condition: Condition) -> bool:
    """Return whether no controller has tried the condition's step yet."""
    return condition.status == "Unknown" and condition.reason in _UNTRIED


def pool_in_name(claim: str, pools: Container[str]) -> str:
    """Return the NodePool that a NodeClaim is named after (``<pool>-<five letters>``); empty if there is none such."""
    stem = claim.rpartition("-")[0]
    return stem if stem in pools else ""


def claim_key(name: str) -> str:
    """Return what identifies a NodeClaim, and the node that it becomes, from one look at the cluster to the next."""
    return f"claim/{name}"


def node_key(claim: NodeClaim | None, node_name: str) -> str:
    """Return what identifies a node: its NodeClaim, which comes before it, where it has one."""
    return claim_key(claim.name) if claim is not None else f"node/{node_name}"


class InitializationObstacles(NamedTuple):
    """What keeps a registered node from being initialized."""

    missing_resources: tuple[str, ...] = ()
    """Resources that its pods need and that the node does not offer."""
    startup_taints: tuple[str, ...] = ()
    message: str = ""
    """The NodeClaim's condition message."""

    @property
    def text(self) -> str:
        """All that is known, in few words."""
        if self.missing_resources:
            return ", ".join(self.missing_resources)
        return f"startup taint {', '.join(self.startup_taints)}" if self.startup_taints else self.message


def initialization_obstacles(claim: NodeClaim, node: Node) -> InitializationObstacles:
    """Return what keeps a registered node from being initialized.

    Source: pkg/controllers/nodeclaim/lifecycle/initialization.go.
    """
    condition = claim.condition("Initialized")
    return InitializationObstacles(
        tuple(
            name
            for name, amount in claim.requests.items()
            if amount.nano and not resources.nano(node.allocatable, name)
        ),
        tuple(str(taint) for taint in node.taints if any(map(taint.matches, claim.startup_taints))),
        condition.message if condition is not None else "",
    )
