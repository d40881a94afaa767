"""Types that a NodePool allows and that its DaemonSets do not fit on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.advice.words import amount, counted, listed
from karptui.kube.resources import PODS, cpu_millis, memory_bytes
from karptui.provisioning.template import Template
from karptui.provisioning.type_verdict import Filter, PoolTypes, TypeVerdict


def _find(context: AdviceContext) -> Iterator[Finding]:
    for template in context.prepared.templates:
        if not _is_crowded(template):
            continue
        found = context.pool_types[template.name]
        removed = [
            one
            for one in found.verdicts
            if one.removed_by is Filter.DAEMONSETS or (one.removed_by is Filter.POD and one.reason.startswith(PODS))
        ]
        if removed:
            yield _finding(template, found, removed)


def _is_crowded(template: Template) -> bool:
    """Return whether the DaemonSets, with one more pod, do not fit on some type: cheap to tell."""
    for group in template.groups:
        if group.row:
            needs = ((name, value.nano) for name, value in group.overhead.items() if name != PODS)
            slots = (PODS, (len(group.daemons) + 1) * 1_000_000_000)
            rows = template.catalogue.fitting_rows((*needs, slots))
            if group.types & ~template.catalogue.types_of_rows(rows):
                return True
    return False


def _finding(template: Template, found: PoolTypes, removed: list[TypeVerdict]) -> Finding:
    allowed = template.types.bit_count()
    heaviest = max(removed, key=lambda one: (one.daemon_pods, one.instance_type.name))
    mebibytes = memory_bytes(heaviest.daemons) >> 20
    carried = f"{counted(heaviest.daemon_pods, 'DaemonSet pod')} ({cpu_millis(heaviest.daemons)}m, {mebibytes:,}Mi)"
    is_dead = not any(one.removed_by in (None, Filter.LIMITS) for one in found.verdicts)
    consequence = "it can launch no node" if is_dead else "they are left out without a message"
    pool = template.pool
    return Finding(
        severity=Severity.ERROR if is_dead else Severity.WARNING if 2 * len(removed) > allowed else Severity.INFO,
        objects=(pool_ref(pool),),
        fact=f"A new node of {pool.name} carries {carried}: {len(removed):,} of {counted(allowed, 'allowed type')} "
        f"have no room for a pod beside them, {listed(map(_short, removed))}; {consequence}.",
    )


def _short(verdict: TypeVerdict) -> str:
    short = verdict.shortages[0]
    if short.resource == PODS:
        return f"{verdict.instance_type.name} ({short.have.units} pod slots)"
    have = amount(short.have, short.resource)
    return f"{verdict.instance_type.name} ({short.resource} {have}, {amount(short.need, short.resource)} needed)"


RULE: Final = Rule(
    id="pool-daemonset-types",
    title="DaemonSets exclude types",
    what="On types that a NodePool allows, the DaemonSets that run there leave no pod slot, or do not fit themselves.",
    why="Karpenter subtracts cpu, memory and a pod slot for every DaemonSet that tolerates and selects the node. Types "
    "without room for one more pod are dropped silently; small types have as few as 4, 8 or 11 slots, and eleven "
    "DaemonSets are not unusual.",
    source="buildDaemonOverheadGroups in pkg/controllers/provisioning/scheduling/scheduler.go",
    remedy="Narrow DaemonSets with node selectors, allow larger types, or raise spec.kubelet.maxPods in the NodeClass "
    "where the CNI has the addresses (prefix delegation).",
    find=_find,
)
