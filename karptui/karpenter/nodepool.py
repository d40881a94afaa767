"""NodePools. Source of the fields: pkg/apis/v1/nodepool.go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from karptui.karpenter.nodeclass import NodeClass, NodeClassRef, is_aws_group
from karptui.kube import resources
from karptui.kube.objects import EMPTY, EMPTY_LABELS, Condition, KubeObject, condition_of
from karptui.kube.resources import ResourceList
from karptui.kube.selectors import NodeSelectorRequirement
from karptui.kube.taints import Taint

WHEN_EMPTY: Final = "WhenEmpty"
WHEN_EMPTY_OR_UNDERUTILIZED: Final = "WhenEmptyOrUnderutilized"
BALANCED: Final = "Balanced"


class DisruptionBudget(msgspec.Struct, frozen=True, gc=False):
    """One line of ``spec.disruption.budgets``."""

    nodes: str = "10%"
    """A count or a percentage, as written."""
    schedule: str | None = None
    """Cron line in UTC, or None."""
    duration: str | None = None
    """How long the schedule's window stays open, as written, or None."""
    reasons: tuple[str, ...] | None = None
    """``Empty``, ``Drifted``, ``Underutilized``; None is every reason."""


def is_aws(pools: Sequence[NodePool]) -> bool:
    """Tell whether some NodePool is the AWS provider's; without NodePools it is taken to be."""
    return not pools or any(is_aws_group(pool.node_class_ref) for pool in pools)


_NODECLASS_NOT_FOUND: Final = "NodeClassNotFound"
"""Reason of the NodeClassReady condition where there is no such NodeClass (pkg/controllers/nodepool/readiness)."""


class NodePool(KubeObject, frozen=True, kw_only=True, gc=False):
    """A NodePool: the pattern of NodeClaims, and how they may be disrupted."""

    weight: int = 0
    """Higher is tried first; absent is 0."""
    replicas: int | None = None
    """Set on static pools only, which take no part in provisioning."""
    limits: ResourceList | None = None
    node_class_ref: NodeClassRef = NodeClassRef()
    template_labels: Mapping[str, str] = EMPTY_LABELS
    template_annotations: Mapping[str, str] = EMPTY_LABELS
    requirements: tuple[NodeSelectorRequirement, ...] = ()
    taints: tuple[Taint, ...] = ()
    startup_taints: tuple[Taint, ...] = ()
    expire_after_ns: int | None = None
    """None is Never."""
    termination_grace_period_ns: int | None = None
    """None sets no deadline for a drain."""
    consolidation_policy: str = WHEN_EMPTY_OR_UNDERUTILIZED
    consolidate_after_ns: int | None = None
    """None is Never, and also absent."""
    budgets: tuple[DisruptionBudget, ...] | None = None
    """None is absent, and then nothing is limited, as in Karpenter's code. An API server never stores that: it fills in
    one budget of 10 % for every reason. An empty list is no limit there too."""
    conditions: tuple[Condition, ...] = ()
    status_resources: ResourceList = resources.EMPTY
    """``status.resources``: what the pool's nodes add up to, as Karpenter counts it."""
    raw: Mapping[str, Any] = EMPTY
    """The object as it was given, for editing and hashing."""

    @property
    def is_static(self) -> bool:
        """Whether it keeps a fixed number of nodes."""
        return self.replicas is not None

    @property
    def limited(self) -> tuple[str, ...]:
        """The resources that it limits: cpu, memory, nodes, then the others by name."""
        limits = self.limits or {}
        first = (resources.CPU, resources.MEMORY, resources.NODES)
        return (*(name for name in first if name in limits), *sorted(name for name in limits if name not in first))

    @property
    def is_ready(self) -> bool:
        """Whether its Ready condition is True."""
        ready = condition_of(self.conditions, "Ready")
        return ready is not None and ready.status == "True"

    @property
    def nodeclass_exists(self) -> bool | None:
        """Whether Karpenter found its NodeClass when it last looked; None where the conditions do not tell."""
        found = condition_of(self.conditions, "NodeClassReady")
        if found is None or found.status not in ("True", "False"):
            return True if self.is_ready else None
        return found.status == "True" or found.reason != _NODECLASS_NOT_FOUND


def unread_nodeclasses(nodepools: Iterable[NodePool], nodeclasses: Iterable[NodeClass]) -> tuple[NodeClassRef, ...]:
    """Return which NodeClasses exist, as conditions of NodePools tell, and were not read; by kind and name."""
    read = {one.key for one in nodeclasses}
    refs = (pool.node_class_ref for pool in nodepools if pool.nodeclass_exists)
    found = {ref.key: ref for ref in refs}
    return tuple(found[key] for key in sorted(found.keys() - read))
