"""PodDisruptionBudgets."""

from __future__ import annotations

from karptui.kube.objects import Condition, KubeObject, condition_of
from karptui.kube.selectors import LabelSelector
from karptui.kube.timestamps import ABSENT_NS


class PodDisruptionBudget(KubeObject, frozen=True, kw_only=True, gc=False):
    """A PodDisruptionBudget and what its controller made of it."""

    selector: LabelSelector | None = None
    """None is a null selector, which matches no pod; the empty one matches every pod of the namespace."""
    min_available: int | str | None = None
    """An integer or a text such as ``50%``; the two are told apart, as Karpenter does."""
    max_unavailable: int | str | None = None
    unhealthy_pod_eviction_policy: str = ""
    """``IfHealthyBudget`` (also when empty) or ``AlwaysAllow``."""
    disruptions_allowed: int = 0
    """0 too while there is no status."""
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    observed_generation: int | None = None
    """None while the controller has not looked at it."""
    conditions: tuple[Condition, ...] = ()

    @property
    def allowed_since_ns(self) -> int:
        """When it last began or ceased to allow disruptions; ``ABSENT_NS`` where not reported."""
        condition = condition_of(self.conditions, "DisruptionAllowed")
        return ABSENT_NS if condition is None else condition.last_transition_ns
