"""The remedies for a list of blockers, whatever they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from karptui.disruption.analysis import NodeFindings
from karptui.disruption.blocker import Blocker
from karptui.disruption.codes import Code
from karptui.whatif.blocker_remedies.evictions import exhausted_remedies, several_remedies
from karptui.whatif.blocker_remedies.pool_rules import (
    budget_remedies,
    headroom_remedies,
    never_remedies,
    node_remedies,
    policy_remedies,
)
from karptui.whatif.blocker_remedies.protected_pods import protected_pod_remedies
from karptui.whatif.blocker_remedies.remedy import BlockerRemedy, Objects

_BY_CODE = {
    Code.NODE_DND: node_remedies,
    Code.PDB_MULTIPLE: several_remedies,
    Code.BUDGET_ZERO: budget_remedies,
    Code.CONSOLIDATION_DISABLED: never_remedies,
    Code.WHEN_EMPTY_POLICY: policy_remedies,
    Code.STATIC_NO_HEADROOM: headroom_remedies,
}


def blocker_remedies(
    blockers: Sequence[Blocker],
    objects: Objects,
    findings: Mapping[str, NodeFindings],
    now_ns: int,
    *,
    makes_edits: bool = True,
) -> tuple[BlockerRemedy, ...]:
    """Return what can be done about blockers, by kind of blocker; nothing about those that end by themselves.

    Args:
        blockers: As they stand in the findings: the effect of a remedy is read off what was simulated for them.
        objects: The cluster's objects.
        findings: By key, as in an analysis.
        now_ns: The instant: nanoseconds since the epoch.
        makes_edits: Whether edits of pods are asked for; without them it is quick for thousands of blockers too.
    """
    protected = [one for one in blockers if one.code is Code.POD_DND]
    found: list[BlockerRemedy] = []
    if protected:
        found.extend(protected_pod_remedies(protected, objects, findings, now_ns, makes_edits=makes_edits))
    exhausted = [one for one in blockers if one.code is Code.PDB_EXHAUSTED]
    if exhausted:
        found.extend(exhausted_remedies(exhausted, objects, findings, makes_edits=makes_edits))
    for code, make in _BY_CODE.items():
        own = [one for one in blockers if one.code is code]
        if own:
            found.extend(make(own, objects, findings))
    return tuple(found)
