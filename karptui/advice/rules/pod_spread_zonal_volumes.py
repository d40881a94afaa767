"""A zonal spread over pods whose volumes tie them to few zones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.facts.pods import PodGroup
from karptui.advice.finding import Finding, Severity
from karptui.advice.pinned_zones import zones_of_volumes
from karptui.advice.refs import ref_text
from karptui.advice.rule import Rule
from karptui.advice.words import counted, joined
from karptui.karpenter.labels import ZONE
from karptui.kube.pod import DO_NOT_SCHEDULE


def _find(context: AdviceContext) -> Iterator[Finding]:
    for group in context.workload_groups:
        skew = min(
            (
                one.max_skew
                for one in group.template.topology_spread
                if one.topology_key == ZONE and one.when_unsatisfiable == DO_NOT_SCHEDULE
            ),
            default=None,
        )
        if skew is not None:
            finding = _of_group(context, group, skew)
            if finding is not None:
                yield finding


def _of_group(context: AdviceContext, group: PodGroup, skew: int) -> Finding | None:
    """Return a finding where volumes force more pods into a zone than the spread lets it have."""
    pinned = [zones for pod in group.pods if pod.volumes and len(zones := zones_of_volumes(context, pod)) == 1]
    if len(pinned) < len(group.pods) or len(pinned) < 2:
        return None
    counts = Counter(zone for zones in pinned for zone in zones)
    reach = frozenset(zone for pool in context.pools_for(group.template) for zone in context.zones_of(pool))
    least = min((counts.get(zone, 0) for zone in reach), default=0)
    if max(counts.values()) - least <= skew or not reach:
        return None
    held = joined([f"{count} in {zone}" for zone, count in sorted(counts.items())])
    return Finding(
        severity=Severity.WARNING,
        objects=(group.owner,),
        fact=f"Volumes tie the {counted(len(pinned), 'pod')} of {ref_text(group.owner)} to zones ({held}), and their "
        f"spread over zones allows a skew of {skew} among {counted(len(reach), 'zone')}: not all of them can be placed "
        "again.",
    )


RULE: Final = Rule(
    id="pod-spread-zonal-volumes",
    title="volumes defeat the zonal spread",
    what="All pods of a workload are tied to one zone each by bound volumes, and these zones are less even than their "
    "DoNotSchedule spread over zones allows.",
    why="The spread weighs every zone that NodePools reach, also those that the volume cannot be used in. Once a zone "
    "has its share, the next pod whose volume lies there fails, and its volume lets it go nowhere else.",
    source="pkg/controllers/provisioning/scheduling/volumetopology.go and topologygroup.go",
    remedy="Let pods keep to the zones of their volumes by node affinity, use ScheduleAnyway, or move volumes.",
    find=_find,
)
