"""NotIn on a label that nobody defines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.facts.pods import PodGroup
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import owner_refs, ref_text
from karptui.advice.rule import Rule
from karptui.advice.words import counted, listed, verb
from karptui.karpenter.labels import KEY_ALIASES, WELL_KNOWN


def _find(context: AdviceContext) -> Iterator[Finding]:
    defined = {one.key for pool in context.tried_pools for one in context.requirements_of(pool)}
    excluding: dict[str, list[PodGroup]] = {}
    demanded = {
        key
        for group in context.workload_groups
        for key in (*group.template.node_selector, *_keys(group, frozenset({"In"})))
    }
    for group in context.workload_groups:
        for key in dict.fromkeys(_keys(group, frozenset({"NotIn", "DoesNotExist"}))):
            if key not in defined and key not in WELL_KNOWN and key in demanded:
                excluding.setdefault(key, []).append(group)
    for key, groups in sorted(excluding.items()):
        owners, pods = owner_refs(groups), sum(len(group.pods) for group in groups)
        yield Finding(
            severity=Severity.INFO,
            objects=owners,
            fact=f"{counted(pods, 'pod')} ({listed(map(ref_text, owners))}) {verb(pods, 'excludes', 'exclude')} "
            f"values of {key}, which no "
            "NodePool defines, and others ask for a value of it: beside the former on a new node the latter are "
            "placed, alone they fail.",
        )


def _keys(group: PodGroup, operators: frozenset[str]) -> list[str]:
    return [
        KEY_ALIASES.get(one.key, one.key)
        for term in group.template.required_node_terms or ()
        for one in term.match_expressions
        if one.operator in operators
    ]


RULE: Final = Rule(
    id="pod-stored-not-in",
    title="an exclusion defines a label",
    what="Pods exclude values of a label that no NodePool sets, while other pods ask for a value of the same label.",
    why="A NotIn on a label that a claim lacks is accepted and remembered. From then on the label counts as defined, "
    "so a later pod may ask for a value of it and the node gets the label, although alone that pod would fail.",
    source="pkg/controllers/provisioning/scheduling/nodeclaim.go and pkg/scheduling/requirements.go",
    remedy="Define the label in the NodePool that should carry it.",
    find=_find,
)
