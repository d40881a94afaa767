"""What came and went."""

from __future__ import annotations

from functools import cached_property

from karptui.advice.facts.cluster import ClusterFacts
from karptui.disruption.churn.loops import Loop
from karptui.disruption.churn.report import Churn, churn_of


class ChurnFacts(ClusterFacts):
    """What is known of NodeClaims and pods that came and went."""

    @cached_property
    def churn(self) -> Churn:
        """NodeClaims and pods that came and went; where NodeClaims are hidden those that are there seem to be gone."""
        return churn_of(self.inventory, self.now_ns, self.history)

    @property
    def loops(self) -> tuple[Loop, ...]:
        """What goes round in circles; nothing where NodeClaims are hidden."""
        return () if "NodeClaim" in self.hidden else self.churn.loops
