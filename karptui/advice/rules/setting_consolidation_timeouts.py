"""Consolidation passes that run out of their time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.rule import Rule
from karptui.advice.words import counted, span
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.whatif.edits import ObjectRef

_MINUTES: Final = {"single": 3, "multi": 1}
"""How long a pass may take, by the metric's ``consolidation_type``."""
_HOUR_NS: Final = 3600 * NS_PER_SECOND


def _find(context: AdviceContext) -> Iterator[Finding]:
    metrics = context.evidence.metrics
    if metrics is None or not metrics.is_leader or not metrics.started_at_ns:
        return
    running_ns = metrics.read_at_ns - metrics.started_at_ns
    for kind, minutes in _MINUTES.items():
        times = metrics.consolidation_timeouts.get(kind, 0)
        if not times or running_ns <= 0:
            continue
        nodes = sum(len(context.nodes_of(pool)) for pool in context.pools)
        is_often = times * _HOUR_NS >= running_ns
        yield Finding(
            severity=Severity.WARNING if is_often else Severity.INFO,
            objects=(ObjectRef("Setting", f"{kind}-node consolidation"),),
            fact=f"{kind.capitalize()}-node consolidation has run out of its {counted(minutes, 'minute')} "
            f"{counted(times, 'time')} in the {span(running_ns)} since Karpenter started; it has "
            f"{counted(nodes, 'node')} to look at.",
        )


RULE: Final = Rule(
    id="setting-consolidation-timeouts",
    title="consolidation runs out of time",
    what="Karpenter's metrics can be read, and karpenter_voluntary_disruption_consolidation_timeouts_total is not 0.",
    why="A pass over single nodes is given up after 3 minutes, one over several nodes after 1 minute: nodes at the end "
    "of the list are looked at late or never, and the largest savings of several nodes at once are not found. Nodes "
    "that should go stay, and no event says so.",
    source="pkg/controllers/disruption/singlenodeconsolidation.go and multinodeconsolidation.go",
    remedy="Give the controller more cpu; have fewer pods wait, as each of them is placed anew for every node that is "
    "tried; prefer few NodePools, and required over preferred affinity.",
    find=_find,
)
