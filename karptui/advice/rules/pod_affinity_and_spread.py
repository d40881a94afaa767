"""Pod affinity and a spread over the same topology key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.facts.pods import PodGroup
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import owner_refs, ref_text
from karptui.advice.rule import Rule
from karptui.advice.words import counted, joined, listed, verb
from karptui.kube.pod import DO_NOT_SCHEDULE, PodTemplate


def _find(context: AdviceContext) -> Iterator[Finding]:
    by_keys: dict[tuple[str, ...], list[PodGroup]] = {}
    for group in context.workload_groups:
        keys = _both(group.template)
        if keys:
            by_keys.setdefault(keys, []).append(group)
    for keys, groups in sorted(by_keys.items()):
        owners, pods = owner_refs(groups), sum(len(group.pods) for group in groups)
        waiting = sum(1 for group in groups for pod in group.pods if not pod.node_name)
        yield Finding(
            severity=Severity.WARNING if waiting else Severity.INFO,
            objects=owners,
            fact=f"{counted(pods, 'pod')} ({listed(map(ref_text, owners))}) {verb(pods, 'has', 'have')} both required "
            f"pod affinity and a DoNotSchedule spread over {joined(keys)}: Karpenter picks the domain of each by "
            "itself, and refuses where they differ even if maxSkew would allow it.",
        )


def _both(template: PodTemplate) -> tuple[str, ...]:
    spread = {one.topology_key for one in template.topology_spread if one.when_unsatisfiable == DO_NOT_SCHEDULE}
    return tuple(sorted(spread & {term.topology_key for term in template.pod_affinity}))


RULE: Final = Rule(
    id="pod-affinity-and-spread",
    title="affinity and spread over one key",
    what="Pods have required pod affinity and a DoNotSchedule topology spread over the same key.",
    why="Each rule narrows the domains by itself: the spread picks the emptiest one it may use, affinity those that "
    "hold matching pods. Where the two have nothing in common the pod fails, although a fuller domain would be within "
    "maxSkew.",
    source="pkg/controllers/provisioning/scheduling/topology.go and topologygroup.go",
    remedy="Use one of the two for a key.",
    find=_find,
)
