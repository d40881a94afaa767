"""Pending pods and no NodePool that could take any."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.advice.words import counted, verb


def _find(context: AdviceContext) -> Iterator[Finding]:
    waiting = len(context.prepared.pending)
    if not waiting or context.ready_pools:
        return
    yield Finding(
        severity=Severity.ERROR,
        objects=tuple(map(pool_ref, context.pools)),
        fact=f"{counted(waiting, 'pod')} {verb(waiting, 'waits', 'wait')}, and none of "
        f"{counted(len(context.pools), 'NodePool')} takes part in "
        "provisioning (ready, not static, not being deleted): Karpenter reports neither error nor event for them.",
    )


RULE: Final = Rule(
    id="pod-no-usable-pool",
    title="no NodePool is usable at all",
    what="Pods wait, and no NodePool is ready, dynamic and there to stay.",
    why="Without a usable NodePool the provisioner stops before it looks at pods. It notes the fact in metrics and "
    "logs it once; the pods just sit there.",
    source="pkg/controllers/provisioning/provisioner.go",
    remedy="Make a NodePool ready; pool-not-ready names the conditions.",
    find=_find,
)
