"""A NodePool that no instance type is left for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.advice.words import counted, listed
from karptui.provisioning.type_verdict import Filter, FilterCount, PoolTypes

_WORDS: Final = {
    Filter.REQUIREMENTS: "the pool's requirements rule out",
    Filter.OFFERINGS: "no zone and capacity type that the pool allows has, of the rest,",
    Filter.RESERVED: "reservations leave less than nothing on",
}


def _find(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.pools:
        left_out = context.prepared.left_out.get(pool.name)
        if left_out is None or pool.is_static:
            continue
        found = context.pool_types[pool.name]
        if not found.verdicts:
            continue
        because = found.why_not if left_out else _because(found)
        yield Finding(
            severity=Severity.ERROR,
            objects=(pool_ref(pool),),
            fact=f"{pool.name} cannot launch any node: of {counted(len(found.verdicts), 'type')} {because}.",
        )


def _because(found: PoolTypes) -> str:
    counts = [count for count in found.counts if count.filter in _WORDS and count.removed]
    return ", ".join(f"{_WORDS[count.filter]} {count.removed:,}{_reasons(count)}" for count in counts)


def _reasons(count: FilterCount) -> str:
    return f" ({listed(reason for reason, _ in count.reasons)})" if count.reasons else ""


RULE: Final = Rule(
    id="pool-no-types",
    title="no instance type is left",
    what="Requirements, offerings and reservations leave a NodePool without a single instance type, or with fewer "
    "values than its minValues ask.",
    why="Such a NodePool is left out before any pod is looked at. Karpenter logs it once; pods that need the pool "
    "fail with a message about all pools, or wait without one.",
    source="NewScheduler in pkg/controllers/provisioning/scheduling/scheduler.go",
    remedy="Loosen the requirement that removes most types; the Types screen counts them filter by filter.",
    find=_find,
)
