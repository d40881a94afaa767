"""What a pod would give up, one after the other, to find a place.

Rules: ``pkg/controllers/provisioning/scheduling/preferences.go``.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from karptui.kube.pod import SCHEDULE_ANYWAY, TopologySpreadConstraint, WeightedPodAffinityTerm
from karptui.kube.selectors import NodeSelectorTerm, PreferredSchedulingTerm
from karptui.kube.taints import Toleration
from karptui.provisioning.daemonsets import TOLERATE_PREFERENCES, is_toleration_of_preferences

_Weighted = TypeVar("_Weighted", PreferredSchedulingTerm, WeightedPodAffinityTerm)


class Wishes(msgspec.Struct, frozen=True, gc=False):
    """What relaxation may still take away, or has added."""

    required: tuple[NodeSelectorTerm, ...] | None
    preferred: tuple[PreferredSchedulingTerm, ...]
    preferred_affinity: tuple[WeightedPodAffinityTerm, ...]
    preferred_anti_affinity: tuple[WeightedPodAffinityTerm, ...]
    spread: tuple[TopologySpreadConstraint, ...]
    tolerations: tuple[Toleration, ...]

    def relaxed(self, *, tolerate_preferences: bool) -> Wishes | None:
        """Return the wishes after the one next step, None if nothing is left to give up.

        Alternatives of the required node affinity go first, before any preference.
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
                # The last constraint takes the place of the one removed.
                spread = [*self.spread]
                spread[i] = spread[-1]
                return msgspec.structs.replace(self, spread=tuple(spread[:-1]))
        if tolerate_preferences and not any(is_toleration_of_preferences(one) for one in self.tolerations):
            return msgspec.structs.replace(self, tolerations=(*self.tolerations, TOLERATE_PREFERENCES))
        return None


def _without_heaviest(terms: tuple[_Weighted, ...]) -> tuple[_Weighted, ...]:
    return tuple(sorted(terms, key=lambda term: -term.weight)[1:])
