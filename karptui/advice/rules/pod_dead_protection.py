"""do-not-disrupt values on pods that protect nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.facts.pods import PodGroup
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import owner_refs, ref_text
from karptui.advice.rule import Rule
from karptui.advice.words import counted, listed, verb

_OFF: Final = frozenset({"false", "False", "FALSE", ""})
"""Values that mean what they do: nothing."""


def _find(context: AdviceContext) -> Iterator[Finding]:
    by_value: dict[tuple[str, str], list[PodGroup]] = {}
    for group in context.groups:
        value = context.fleet.pods.traits(group.template).do_not_disrupt
        if value is not None and value.problem and value.text not in _OFF:
            by_value.setdefault((value.text, value.problem), []).append(group)
    for (text, problem), groups in sorted(by_value.items()):
        owners, pods = owner_refs(groups), sum(len(group.pods) for group in groups)
        yield Finding(
            severity=Severity.WARNING,
            objects=owners,
            fact=f"{counted(pods, 'pod')} ({listed(map(ref_text, owners))}) {verb(pods, 'says', 'say')} "
            "do-not-disrupt "
            f'"{text}", which protects nothing: {problem}.',
        )


RULE: Final = Rule(
    id="pod-dead-protection",
    title="a dead do-not-disrupt on pods",
    what="The value of karpenter.sh/do-not-disrupt on a pod is neither true nor a positive duration.",
    why="Only true, exactly, and Go durations (90m, 4h, 1h30m) protect a pod. A trailing space, True, 1d or 90 are "
    "ignored. A warning event on the pod says so, but only once nothing else keeps Karpenter from looking at its node.",
    source="IsDoNotDisruptActive in pkg/utils/pod/scheduling.go",
    remedy='Write "true", or a duration in h, m and s: 24h instead of 1d.',
    find=_find,
)
