"""Preferences that cost a pod one of its alternatives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import owner_refs, ref_text
from karptui.advice.rule import Rule
from karptui.advice.words import counted, listed, verb
from karptui.karpenter.requirements import Requirements


def _find(context: AdviceContext) -> Iterator[Finding]:
    if context.settings.preference_policy != "Respect":
        return
    groups = []
    for group in context.workload_groups:
        terms, preferred = group.template.required_node_terms or (), group.template.preferred_node_terms
        if len(terms) < 2 or not preferred:
            continue
        first = Requirements.from_selectors(terms[0].match_expressions)
        wishes = [Requirements.from_selectors(one.preference.match_expressions) for one in preferred]
        if any(not first.intersects(wish) for wish in wishes):
            groups.append(group)
    if groups:
        owners, pods = owner_refs(groups), sum(len(group.pods) for group in groups)
        yield Finding(
            severity=Severity.WARNING,
            objects=owners,
            fact=f"{counted(pods, 'pod')} ({listed(map(ref_text, owners))}) {verb(pods, 'prefers', 'prefer')} what "
            "the first of their required alternatives excludes: Karpenter drops that alternative before it drops the "
            f"preference{context.doubt('PREFERENCE_POLICY')}.",
        )


RULE: Final = Rule(
    id="pod-preference-first-term",
    title="a preference costs an alternative",
    what="Pods have several required node affinity terms and a preference that contradicts the first.",
    why="When a pod finds no place Karpenter relaxes it step by step, and the first step takes away a required "
    "OR-term. Only when one is left are preferences dropped. A preference that fights the first term loses the pod "
    "that term, and may leave it without any place.",
    source="pkg/controllers/provisioning/scheduling/preferences.go",
    remedy="Order the terms so that the first agrees with the preference, or leave the preference out.",
    find=_find,
)
