"""How preferences of a pod that cannot be scheduled are relaxed, one at a time.

Rules: ``pkg/controllers/provisioning/scheduling/preferences.go``.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from karptui.kube.pod import (
    SCHEDULE_ANYWAY,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from karptui.kube.selectors import NodeSelectorTerm, PreferredSchedulingTerm
from karptui.kube.taints import Toleration
from karptui.provisioning.daemonsets import TOLERATE_PREFERENCES, is_toleration_of_preferences

_Weighted = TypeVar("_Weighted", PreferredSchedulingTerm, WeightedPodAffinityTerm)


class Preferences(msgspec.Struct, frozen=True, gc=False):
    """Preferences of a pod that relaxation removes, and tolerations that it adds."""

    required: tuple[NodeSelectorTerm, ...] | None
    preferred: tuple[PreferredSchedulingTerm, ...]
    preferred_affinity: tuple[WeightedPodAffinityTerm, ...]
    preferred_anti_affinity: tuple[WeightedPodAffinityTerm, ...]
    spread: tuple[TopologySpreadConstraint, ...]
    tolerations: tuple[Toleration, ...]

    def relaxed(self, *, tolerate_preferences: bool) -> Preferences | None:
        """Return the preferences after the next relaxation, or None.

        Alternatives of the required node affinity are removed before any preference.
        """
        if self.required is not None and len(self.required) > 1:
            return msgspec.structs.replace(self, required=self.required[1:])
        if self.preferred_affinity:
            return msgspec.structs.replace(self, preferred_affinity=_without_heaviest(self.preferred_affinity))
        if self.preferred_anti_affinity:
            return msgspec.structs.replace(
                self, preferred_anti_affinity=_without_heaviest(self.preferred_anti_affinity)
            )
        if self.preferred:
            return msgspec.structs.replace(self, preferred=_without_heaviest(self.preferred))
        for i, constraint in enumerate(self.spread):
            if constraint.when_unsatisfiable == SCHEDULE_ANYWAY:
                # Like Karpenter, move the last constraint to the position of the removed one.
                spread = [*self.spread]
                spread[i] = spread[-1]
                return msgspec.structs.replace(self, spread=tuple(spread[:-1]))
        if tolerate_preferences and not any(
            is_toleration_of_preferences(toleration) for toleration in self.tolerations
        ):
            return msgspec.structs.replace(self, tolerations=(*self.tolerations, TOLERATE_PREFERENCES))
        return None


def _without_heaviest(terms: tuple[_Weighted, ...]) -> tuple[_Weighted, ...]:
    return tuple(sorted(terms, key=lambda term: -term.weight)[1:])
