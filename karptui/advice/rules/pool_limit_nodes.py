"""A limit on nodes that one run may overshoot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.advice.words import counted
from karptui.kube.resources import NODES


def _find(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.tried_pools:
        limit = (pool.limits or {}).get(NODES)
        if limit is None:
            continue
        nodes = [node for node in context.nodes_of(pool) if not node.is_marked_for_deletion]
        left = limit.units - len(nodes)
        if left > 0:
            yield Finding(
                severity=Severity.INFO,
                objects=(pool_ref(pool),),
                fact=f"{pool.name} has {counted(len(nodes), 'node')} of at most {limit.units:,}: one run of the "
                f"provisioner may still plan more than the {left:,} that are left.",
            )


RULE: Final = Rule(
    id="pool-limit-nodes",
    title="a node limit can be overshot",
    what="A NodePool that takes pods limits its nodes and has not reached the limit.",
    why="New claims of a run do not count as nodes while the run plans: only a limit that is exactly used up stops it. "
    "A burst of pods can go past the limit in one run; over the limit, the message speaks of instance types that "
    "exceed limits.",
    source="pkg/controllers/provisioning/scheduling/scheduler.go, subtractMax and the nodes limit",
    remedy="Limit cpu and memory as well where the number matters for quotas or licences.",
    find=_find,
)
