"""NodePools. Fields: pkg/apis/v1/nodepool.go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from karptui.karpenter.labels import AWS_GROUP
from karptui.karpenter.nodeclass import NodeClass, NodeClassRef
from karptui.kube import resources
from karptui.kube.objects import EMPTY, EMPTY_LABELS, Condition, KubeObject, condition_of, true_condition
from karptui.kube.resources import ResourceList
from karptui.kube.selectors import NodeSelectorRequirement
from karptui.kube.taints import Taint
from karptui.kube.timestamps import MINUTE_NS

WHEN_EMPTY: Final = "WhenEmpty"
WHEN_EMPTY_OR_UNDERUTILIZED: Final = "WhenEmptyOrUnderutilized"
BALANCED: Final = "Balanced"
CHECKED_NS: Final = 2 * MINUTE_NS
"""Karpenter checks a changed NodeClass or NodePool within this time."""
_CLASS_UNKNOWN: Final = "NodeClassReadinessUnknown"
"""Reason of a NodePool's condition NodeClassReady, which is False then: pkg/controllers/nodepool/readiness."""


class DisruptionBudget(msgspec.Struct, frozen=True, gc=False):
    """An entry of ``spec.disruption.budgets``."""

    nodes: str = "10%"
    """A count or a percentage, as written."""
    schedule: str | None = None
    """Cron expression in UTC, or None."""
    duration: str | None = None
    """Duration of the schedule's window as written, or None."""
    reasons: tuple[str, ...] | None = None
    """``Empty``, ``Drifted``, ``Underutilized``; None means every reason."""


def is_aws(pools: Sequence[NodePool]) -> bool:
    """Return whether any NodePool is the AWS provider's; True without NodePools."""
    return not pools or any(pool.node_class_ref.group in ("", AWS_GROUP) for pool in pools)


_NODECLASS_NOT_FOUND: Final = "NodeClassNotFound"
"""Reason of the NodeClassReady condition if the NodeClass does not exist (pkg/controllers/nodepool/readiness)."""


class NodePool(KubeObject, frozen=True, kw_only=True, gc=False):
    """A NodePool: the template of NodeClaims and their disruption settings."""

    weight: int = 0
    """Higher is tried first; 0 if absent."""
    replicas: int | None = None
    """Set for static pools only, which provisioning ignores."""
    limits: ResourceList | None = None
    node_class_ref: NodeClassRef = NodeClassRef()
    template_labels: Mapping[str, str] = EMPTY_LABELS
    template_annotations: Mapping[str, str] = EMPTY_LABELS
    requirements: tuple[NodeSelectorRequirement, ...] = ()
    taints: tuple[Taint, ...] = ()
    startup_taints: tuple[Taint, ...] = ()
    expire_after_ns: int | None = None
    """None means Never."""
    termination_grace_period_ns: int | None = None
    """None means that a drain has no deadline."""
    consolidation_policy: str = WHEN_EMPTY_OR_UNDERUTILIZED
    consolidate_after_ns: int | None = None
    """None means Never, or absent."""
    budgets: tuple[DisruptionBudget, ...] | None = None
    """None if absent, which means no limit, as in Karpenter's code. An API server fills in a budget of 10 % for every
    reason instead. An empty tuple means no limit."""
    conditions: tuple[Condition, ...] = ()
    status_resources: ResourceList = resources.EMPTY
    """``status.resources``: total of the pool's nodes as Karpenter counts it."""
    raw: Mapping[str, Any] = EMPTY
    """The original object, for editing and hashing."""

    @property
    def limit_below_replicas(self) -> int | None:
        """The limit of nodes of a static NodePool, if it is below its replicas."""
        limit = (self.limits or {}).get(resources.NODES)
        return limit.units if limit is not None and self.replicas is not None and limit.units < self.replicas else None

    @property
    def is_static(self) -> bool:
        """Whether it has a fixed number of nodes."""
        return self.replicas is not None

    @property
    def consolidates_used_nodes(self) -> bool:
        """Whether consolidation takes nodes with pods, not only empty ones."""
        return not self.is_static and self.consolidation_policy != WHEN_EMPTY and self.consolidate_after_ns is not None

    @property
    def limited(self) -> tuple[str, ...]:
        """Resources in its limits: cpu, memory, nodes, then the others by name."""
        limits = self.limits or {}
        first = (resources.CPU, resources.MEMORY, resources.NODES)
        return (*(name for name in first if name in limits), *sorted(name for name in limits if name not in first))

    @property
    def is_ready(self) -> bool:
        """Whether its Ready condition is True; Karpenter before 0.37 writes none, into objects of v1beta1."""
        if not self.conditions and str(self.raw.get("apiVersion")).endswith("/v1beta1"):
            return True
        return true_condition(self.conditions, "Ready") is not None

    @property
    def nodeclass_exists(self) -> bool | None:
        """Whether Karpenter has seen its NodeClass; None if the conditions do not tell."""
        condition = condition_of(self.conditions, "NodeClassReady")
        if condition is None or condition.status not in ("True", "False"):
            return True if self.is_ready else None
        return condition.status == "True" or condition.reason != _NODECLASS_NOT_FOUND


def unread_nodeclasses(nodepools: Iterable[NodePool], nodeclasses: Iterable[NodeClass]) -> tuple[NodeClassRef, ...]:
    """Return references to NodeClasses that exist according to NodePool conditions but were not read, sorted by key."""
    read = {nodeclass.key for nodeclass in nodeclasses}
    refs = (pool.node_class_ref for pool in nodepools if pool.nodeclass_exists)
    existing = {ref.key: ref for ref in refs}
    return tuple(existing[key] for key in sorted(existing.keys() - read))


def is_being_checked(pool: NodePool, nodeclass: NodeClass | None, now_ns: int) -> bool:
    """Return whether a NodePool or its NodeClass was changed so recently that Karpenter has not checked it."""
    ready = [condition_of(either.conditions, "Ready") for either in (pool, nodeclass) if either is not None]
    unknown = [condition for condition in ready if condition is not None and condition.status == "Unknown"]
    of_class = condition_of(pool.conditions, "NodeClassReady")
    if of_class is not None and of_class.reason == _CLASS_UNKNOWN:
        unknown.append(of_class)
    return any(now_ns - condition.last_transition_ns < CHECKED_NS for condition in unknown)
