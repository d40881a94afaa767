"""What rules look at: one cluster at one instant."""

from __future__ import annotations

from karptui.advice.facts.churn import ChurnFacts
from karptui.advice.facts.destinations import DestinationFacts
from karptui.advice.facts.nodeclasses import NodeClassFacts


class AdviceContext(DestinationFacts, NodeClassFacts, ChurnFacts):
    """Everything that is known of the cluster: NodePools, nodes, pods, where these may go, NodeClasses, churn."""
