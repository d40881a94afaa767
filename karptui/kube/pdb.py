"""PodDisruptionBudgets."""

from __future__ import annotations

from karptui.kube.objects import Condition, KubeObject, condition_of
from karptui.kube.selectors import LabelSelector
from karptui.kube.timestamps import ABSENT_NS


class PodDisruptionBudget(KubeObject, frozen=True, kw_only=True, gc=False):
    """A PodDisruptionBudget with its status."""

    selector: LabelSelector | None = None
    """None (a null selector) matches no pod; an empty selector matches every pod of the namespace."""
    min_available: int | str | None = None
    """An integer, or text such as ``50%``. Karpenter treats the integer 50 and the text ``50`` differently."""
    max_unavailable: int | str | None = None
    unhealthy_pod_eviction_policy: str = ""
    """``IfHealthyBudget`` (also when empty) or ``AlwaysAllow``."""
    disruptions_allowed: int = 0
    """0 also if there is no status."""
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    observed_generation: int | None = None
    """None until the disruption controller has set a status."""
    conditions: tuple[Condition, ...] = ()

    @property
    def allowed_since_ns(self) -> int:
        """Last transition of the DisruptionAllowed condition; ``ABSENT_NS`` if not reported."""
        condition = condition_of(self.conditions, "DisruptionAllowed")
        return ABSENT_NS if condition is None else condition.last_transition_ns

    @property
    def sync_error(self) -> str:
        """Why the disruption controller cannot count its pods, and so allows no eviction; empty if it can."""
        condition = condition_of(self.conditions, "DisruptionAllowed")
        return condition.message if condition is not None and condition.reason == "SyncFailed" else ""
