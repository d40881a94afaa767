"""Spreads that Karpenter takes for one although they differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.facts.pods import PodGroup
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import owner_refs, ref_text
from karptui.advice.rule import Rule
from karptui.advice.words import counted, listed
from karptui.kube.pod import DO_NOT_SCHEDULE, PodTemplate, TopologySpreadConstraint


def _find(context: AdviceContext) -> Iterator[Finding]:
    shared: dict[tuple[object, ...], dict[tuple[object, ...], list[PodGroup]]] = {}
    for group in context.workload_groups:
        for spread in group.template.topology_spread:
            if spread.when_unsatisfiable == DO_NOT_SCHEDULE:
                identity, unseen = _identity(group.template, spread), _unseen(group.template, spread)
                shared.setdefault(identity, {}).setdefault(unseen, []).append(group)
    for identity, variants in shared.items():
        if len(variants) < 2:
            continue
        groups = [group for own in variants.values() for group in own]
        owners = owner_refs(groups)
        fields = {unseen[0] for unseen in variants}
        what = "minDomains" if len(fields) > 1 else "values of the pods' node selector"
        yield Finding(
            severity=Severity.INFO,
            objects=owners,
            fact=f"Spreads over {identity[1]} of {counted(len(groups), 'pod template')} "
            f"({listed(map(ref_text, owners))}) differ only in {what}: Karpenter takes them for one, and the pod that "
            "is listed first decides for all.",
        )


def _identity(template: PodTemplate, spread: TopologySpreadConstraint) -> tuple[object, ...]:
    """Return what tells spreads apart in Karpenter: keys of the node filter and not its values, no minDomains."""
    keys = tuple(sorted(template.node_selector))
    if spread.node_affinity_policy == "Ignore":
        keys = ()
    return (
        template.namespace,
        spread.topology_key,
        spread.max_skew,
        spread.label_selector,
        spread.node_affinity_policy,
        spread.node_taints_policy,
        keys,
        template.required_node_terms,
        frozenset(template.tolerations),
    )


def _unseen(template: PodTemplate, spread: TopologySpreadConstraint) -> tuple[object, ...]:
    values = () if spread.node_affinity_policy == "Ignore" else tuple(sorted(template.node_selector.items()))
    return spread.min_domains, values


RULE: Final = Rule(
    id="pod-spread-shared-group",
    title="spreads that count as one",
    what="DoNotSchedule spreads of pods in one namespace differ only in minDomains, or in the values of node "
    "selectors.",
    why="Karpenter identifies a spread by a hash that leaves minDomains out and sees only the keys of a node selector. "
    "Two such spreads share one group, with the minDomains and the node filter of whichever pod comes first.",
    source="Hash in pkg/controllers/provisioning/scheduling/topologygroup.go",
    remedy="Make the spreads differ in something that counts, such as their label selector.",
    find=_find,
)
