"""do-not-disrupt values on nodes and NodeClaims that protect nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.rule import Rule
from karptui.advice.words import counted, listed, verb
from karptui.disruption.do_not_disrupt import protects_node
from karptui.karpenter.labels import DO_NOT_DISRUPT
from karptui.whatif.edits import ObjectRef

_OFF: Final = frozenset({"false", "False", "FALSE", ""})


def _find(context: AdviceContext) -> Iterator[Finding]:
    by_value: dict[str, list[str]] = {}
    claims: list[str] = []
    for state in context.fleet.nodes:
        on_node = state.node.annotations.get(DO_NOT_DISRUPT) if state.node is not None else None
        on_claim = state.claim.annotations.get(DO_NOT_DISRUPT) if state.claim is not None else None
        is_protected = state.node is not None and protects_node(state.node.annotations)
        if state.node is not None and state.claim is not None and not is_protected and on_node not in (None, *_OFF):
            by_value.setdefault(str(on_node), []).append(state.node.name)
        elif state.claim is not None and state.is_registered and on_node is None and on_claim not in (None, *_OFF):
            claims.append(state.claim.name)
    for value, names in sorted(by_value.items()):
        yield Finding(
            severity=Severity.WARNING,
            objects=tuple(ObjectRef("Node", name) for name in names),
            fact=f"{counted(len(names), 'node')} ({listed(names)}) {verb(len(names), 'says', 'say')} do-not-disrupt "
            f'"{value}": on a node only "true" counts, so it protects nothing.',
        )
    if claims:
        yield Finding(
            severity=Severity.WARNING,
            objects=tuple(ObjectRef("NodeClaim", name) for name in claims),
            fact=f"{counted(len(claims), 'NodeClaim')} ({listed(claims)}) {verb(len(claims), 'says', 'say')} "
            "do-not-disrupt and the node does not: once a node has registered only its own annotation counts.",
        )


RULE: Final = Rule(
    id="node-dead-protection",
    title="a dead do-not-disrupt on a node",
    what="karpenter.sh/do-not-disrupt on a node has another value than true, or stands only on the NodeClaim.",
    why="On nodes the value is compared with true and nothing else: durations are understood on pods alone. "
    "Annotations of a NodeClaim are copied to its node once, when it registers; what is put there later has no effect.",
    source="pkg/controllers/state/statenode.go",
    remedy='Annotate the Node, with "true", and take it away again by yourself.',
    find=_find,
)
