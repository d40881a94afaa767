"""Spread domains that no NodePool open to the pods can reach."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.facts.pods import PodGroup
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import ref_text
from karptui.advice.rule import Rule
from karptui.advice.words import counted, joined
from karptui.karpenter.labels import ZONE
from karptui.karpenter.requirements import Requirements
from karptui.kube.pod import DO_NOT_SCHEDULE, TopologySpreadConstraint
from karptui.provisioning.domains import DomainUniverse
from karptui.provisioning.template import pool_requirements


def _find(context: AdviceContext) -> Iterator[Finding]:
    universe: DomainUniverse | None = None
    for group in context.workload_groups:
        if len(group.pods) < 2:
            continue
        for spread in group.template.topology_spread:
            if spread.topology_key != ZONE or spread.when_unsatisfiable != DO_NOT_SCHEDULE:
                continue
            universe = universe or _universe(context)
            lost, reach = _domains(context, group, spread, universe)
            most = spread.max_skew * len(reach)
            if lost and reach and spread.min_domains is None and len(group.pods) > most - len(reach):
                yield _finding(group, spread, lost, reach)


def _universe(context: AdviceContext) -> DomainUniverse:
    return DomainUniverse(
        [
            (pool_requirements(pool), pool.taints, context.catalogue_of(pool))
            for pool in context.ready_pools
            if len(context.catalogue_of(pool))
        ]
    )


def _domains(
    context: AdviceContext, group: PodGroup, spread: TopologySpreadConstraint, universe: DomainUniverse
) -> tuple[list[str], list[str]]:
    """Return the zones that count for the spread and cannot be reached, and those that can."""
    template = group.template
    honours_taints = spread.node_taints_policy == "Honor"
    counted_zones = set(universe.domains(ZONE, template.tolerations if honours_taints else None))
    own = _own_zones(group) if spread.node_affinity_policy != "Ignore" else None
    if own is not None:
        counted_zones &= own
    reach = {zone for pool in context.pools_for(template) for zone in context.zones_of(pool)}
    # A node that stands in a zone can take pods there, whatever NodePools can do.
    standing = {node.labels.get(ZONE, "") for node in context.fleet.nodes}
    return sorted(counted_zones - reach - standing), sorted(reach)


def _own_zones(group: PodGroup) -> set[str] | None:
    """Return the zones that the pods' own selectors name, None where they name none."""
    template = group.template
    alternatives = [Requirements.from_selectors(term.match_expressions) for term in template.required_node_terms or ()]
    zones: set[str] = set()
    for one in alternatives or [Requirements()]:
        asked = Requirements.from_labels(template.node_selector).merge(one).find(ZONE)
        if asked is None or asked.complement:
            return None
        zones |= asked.values
    return zones


def _finding(group: PodGroup, spread: TopologySpreadConstraint, lost: list[str], reach: list[str]) -> Finding:
    waiting = sum(1 for pod in group.pods if not pod.node_name)
    waits = f" {counted(waiting, 'of them waits', 'of them wait')}." if waiting else ""
    return Finding(
        severity=Severity.ERROR if waiting else Severity.WARNING,
        objects=(group.owner,),
        fact=f"The spread over zones of {ref_text(group.owner)} ({counted(len(group.pods), 'pod')}) counts "
        f"{joined(lost)}, where no NodePool open to them can launch: with no pod there, maxSkew {spread.max_skew} lets "
        f"each of {joined(reach)} have {spread.max_skew}.{waits}",
    )


RULE: Final = Rule(
    id="pod-spread-unreachable",
    title="a spread counts unreachable zones",
    what="A DoNotSchedule spread over zones counts a zone that only NodePools closed to the pods, or sold-out "
    "offerings, would reach, and no node stands there.",
    why="Domains come from every NodePool and instance type, whether or not the pods tolerate the taints and whether "
    "or not anything is on offer. A zone that stays empty holds the minimum at zero, so no other zone may have more "
    "than maxSkew pods.",
    source="buildDomainGroups in pkg/controllers/provisioning/scheduling/topology.go",
    remedy="Set nodeTaintsPolicy: Honor where taints are the cause; else name the zones in the pods' node affinity, or "
    "use ScheduleAnyway.",
    find=_find,
)
