"""Nodes of one NodePool that expire together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.advice.words import at_cost, counted, share, span
from karptui.disruption.expiry import expiry_calendar, expiry_wave
from karptui.kube.timestamps import NS_PER_SECOND, format_timestamp

_SOON_NS: Final = 24 * 3600 * NS_PER_SECOND
_AHEAD_NS: Final = 7 * _SOON_NS
_FEWEST_NODES: Final = 3
_SHARE: Final = 3


def _find(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.pools:
        nodes = context.nodes_of(pool)
        coming = [one for one in expiry_calendar(nodes) if context.now_ns < one.at_ns <= context.now_ns + _AHEAD_NS]
        wave = expiry_wave(coming)
        if len(wave) < _FEWEST_NODES or _SHARE * len(wave) < len(nodes):
            continue
        names = {one.claim_name for one in wave}
        cost = context.cost(node for node in nodes if node.claim is not None and node.claim.name in names)
        until_ns = wave[0].at_ns - context.now_ns
        endless = sum(one.forced_end_ns is None for one in wave)
        drains = f" {counted(endless, 'drain')} may never end: no terminationGracePeriod." if endless else ""
        yield Finding(
            severity=Severity.WARNING if until_ns < _SOON_NS else Severity.INFO,
            objects=(pool_ref(pool),),
            fact=f"{share(len(wave), len(nodes))} nodes of {pool.name}{at_cost(cost)} expire within 30m of each other, "
            f"from {format_timestamp(wave[0].at_ns // NS_PER_SECOND * NS_PER_SECOND)} on (in {span(until_ns)}). "
            f"Disruption budgets do not hold expiry back.{drains}",
        )


RULE: Final = Rule(
    id="pool-expiry-wave",
    title="many nodes expire at once",
    what="Within the next week at least three nodes, and a third of a NodePool, expire within half an hour.",
    why="Expiry is forceful: a NodeClaim older than expireAfter is deleted, whatever budgets say and without waiting "
    "for a replacement. Nodes that were made together, for a deployment or an upgrade, go together.",
    source="pkg/controllers/nodeclaim/expiration/controller.go",
    remedy="Let some of them go earlier, a few at a time (delete NodeClaims, or let drift do it within the budgets), "
    "and set a terminationGracePeriod so that every drain ends.",
    find=_find,
)
