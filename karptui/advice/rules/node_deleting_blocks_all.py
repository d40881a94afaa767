"""A pod of a node on its way out that fits nowhere stops all disruption."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.rule import Rule
from karptui.advice.words import counted, listed, verb
from karptui.whatif.edits import ObjectRef

_LONGEST: Final = 200


def _find(context: AdviceContext) -> Iterator[Finding]:
    leaving = context.prepared.leaving
    if not leaving:
        return
    errors = context.solution.errors
    stuck = [pod for pod in leaving if pod.key in errors]
    if not stuck:
        return
    nodes = list(dict.fromkeys(pod.node_name for pod in stuck))
    reason = str(errors[stuck[0].key])
    shown = reason if len(reason) <= _LONGEST else f"{reason[:_LONGEST]}…"
    yield Finding(
        severity=Severity.ERROR,
        objects=(
            *(ObjectRef("Pod", pod.name, pod.namespace) for pod in stuck),
            *(ObjectRef("Node", name) for name in nodes),
        ),
        fact=f"{counted(len(stuck), 'pod')} of {counted(len(nodes), 'node')} on the way out ({listed(nodes)}) "
        f"{verb(len(stuck), 'fits', 'fit')} nowhere ({listed(pod.key for pod in stuck)}): until they do, no node "
        f"anywhere is drifted away or consolidated. {stuck[0].key}: {shown}",
    )


RULE: Final = Rule(
    id="node-deleting-blocks-all",
    title="one pod blocks all disruption",
    what="A node is being deleted, and by simulation a pod on it that needs another place finds none.",
    why="Every simulated removal also places the pods of nodes that are on their way out. If one of them fits nowhere "
    "the simulation fails, whichever node was asked about, and that node's event names a pod that is not on it.",
    source="SimulateScheduling in pkg/controllers/disruption/helpers.go",
    remedy="Make room for that pod, change what it asks, or delete it.",
    find=_find,
)
