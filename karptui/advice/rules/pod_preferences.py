"""Preferences that Karpenter treats as requirements first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import owner_refs, ref_text
from karptui.advice.rule import Rule
from karptui.advice.words import counted, listed, verb
from karptui.kube.pod import SCHEDULE_ANYWAY, PodTemplate
from karptui.whatif.edits import SetSetting


def _find(context: AdviceContext) -> Iterator[Finding]:
    if context.settings.preference_policy != "Respect":
        return
    groups = [
        group for group in context.workload_groups if _wishes(group.template) and context.accepting(group.template)
    ]
    if not groups:
        return
    owners, pods = owner_refs(groups), sum(len(group.pods) for group in groups)
    kinds = sorted({wish for group in groups for wish in _wishes(group.template)})
    yield Finding(
        severity=Severity.INFO,
        objects=owners,
        fact=f"{counted(pods, 'pod')} of {counted(len(owners), 'workload')} ({listed(map(ref_text, owners))}) "
        f"{verb(pods, 'has', 'have')} preferences ({', '.join(kinds)}): Karpenter honours them like requirements "
        "first, and makes a node rather than use one that does not meet them{context.doubt('PREFERENCE_POLICY')}.",
        edits=(SetSetting("PREFERENCE_POLICY", "Ignore"),),
    )


def _wishes(template: PodTemplate) -> tuple[str, ...]:
    found = {
        "node affinity": bool(template.preferred_node_terms),
        "pod affinity": bool(template.preferred_pod_affinity),
        "pod anti-affinity": bool(template.preferred_pod_anti_affinity),
        "ScheduleAnyway spread": any(one.when_unsatisfiable == SCHEDULE_ANYWAY for one in template.topology_spread),
    }
    return tuple(name for name, is_there in found.items() if is_there)


RULE: Final = Rule(
    id="pod-preferences",
    title="preferences cost nodes",
    what="PREFERENCE_POLICY is Respect, and pods that some NodePool would take have preferences.",
    why="Preferred node affinity, preferred pod affinity and ScheduleAnyway spreads count as required until a pod "
    "finds no place at all; only then are they relaxed one by one. A pod passes over an empty existing node for a new "
    "one in the zone that it prefers, and consolidation simulates the same.",
    source="pkg/controllers/provisioning/scheduling/preferences.go",
    remedy="Drop preferences that are not worth a node, or start the controller with PREFERENCE_POLICY=Ignore; a "
    "what-if with it shows the difference.",
    find=_find,
)
