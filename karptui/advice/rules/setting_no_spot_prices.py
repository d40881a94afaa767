"""Spot prices that Karpenter has not read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.rule import Rule
from karptui.advice.words import span
from karptui.karpenter.labels import SPOT
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.whatif.edits import ObjectRef

_PATIENCE_NS: Final = 15 * 60 * NS_PER_SECOND


def _find(context: AdviceContext) -> Iterator[Finding]:
    metrics = context.evidence.metrics
    if metrics is None or not metrics.is_leader or metrics.has_spot_prices or not metrics.started_at_ns:
        return
    running_ns = metrics.read_at_ns - metrics.started_at_ns
    if running_ns < _PATIENCE_NS or not any(name.capacity_type == SPOT for name in metrics.offerings):
        return
    yield Finding(
        severity=Severity.WARNING,
        objects=(ObjectRef("Setting", "spot prices"),),
        fact=f"Karpenter has run for {span(running_ns)} and every spot price in its metrics is the on-demand price of "
        "its type: it has not read spot prices.",
    )


RULE: Final = Rule(
    id="setting-no-spot-prices",
    title="spot counts at on-demand prices",
    what="Karpenter's metrics can be read, it has run for a quarter of an hour, and no spot price differs from the "
    "on-demand price beside it.",
    why="Until it has read spot prices Karpenter takes each type's on-demand price for them. A filter at launch then "
    "drops the spot offerings of every type dearer than the cheapest on-demand type, so that a mixed NodePool "
    "collapses to its cheapest type.",
    source="pkg/providers/pricing/pricing.go and pkg/providers/instance/filter/filter.go of the AWS provider",
    remedy="Allow the controller ec2:DescribeSpotPriceHistory, and check that it can reach the EC2 API.",
    find=_find,
)
