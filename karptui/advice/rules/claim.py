"""NodeClaims that never become nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity, rule
from karptui.advice.words import listed, pool_ref, span
from karptui.aws.launch_refusals import recent_launch_refusals
from karptui.karpenter.nodeclaim import LAUNCH_PATIENCE_NS, overdue_launches
from karptui.kube.timestamps import HOUR_NS
from karptui.kube.units import counted, verb
from karptui.whatif.edits import ObjectRef

_MANY: Final = 3
_LONGEST: Final = 160


@rule(
    "claim-no-capacity",
    title="launches failed: insufficient capacity",
    what="In the last hour, events report three or more launches of a NodePool that failed with "
    "InsufficientCapacityError.",
    why="Karpenter deletes the NodeClaim, skips the offering for three minutes, and schedules the pods again. A pool "
    "with few types or zones repeats this. Pods use another NodePool only if no type of this one is left.",
    source="pkg/controllers/nodeclaim/lifecycle/launch.go; pkg/cache/unavailableofferings.go of the AWS provider",
    remedy="Allow more types, zones or capacity types, or give the pods a NodePool to fall back to.",
)
def _no_capacity(context: AdviceContext) -> Iterator[Finding]:
    refusals = recent_launch_refusals(context.inventory, context.history, since_ns=context.now_ns - HOUR_NS)
    for pool in context.pools:
        launch_refusals = [refusal for refusal in refusals if refusal.nodepool == pool.name]
        counts: dict[str, int] = {}
        for launch_refusal in launch_refusals:
            counts[launch_refusal.nodeclaim] = max(counts.get(launch_refusal.nodeclaim, 0), launch_refusal.count)
        times = sum(counts.values())
        if times < _MANY:
            continue
        last = launch_refusals[-1]
        message = ": ".join(filter(None, (last.error_code, last.message)))
        text = message if len(message) <= _LONGEST else f"{message[:_LONGEST]}…"
        yield Finding(
            severity=Severity.WARNING,
            objects=(pool_ref(pool),),
            fact=f"Launches of {pool.name} failed {counted(times, 'time')} for lack of capacity within the last hour, "
            f"last {span(context.now_ns - last.last_ns)} ago: {text}",
        )


@rule(
    "claim-unsynced",
    title="one NodeClaim blocks all disruption",
    what="A NodeClaim is older than two minutes and has no provider ID.",
    why="Karpenter disrupts nothing until its cluster state is synced, and it is not synced while a NodeClaim has no "
    "provider ID. A pool whose launches keep failing blocks drift and consolidation of all others.",
    source="Synced in pkg/controllers/state/cluster.go and pkg/controllers/disruption/controller.go",
    remedy="See why the launch fails in the claim's conditions and events, or delete the claim.",
)
def _unsynced(context: AdviceContext) -> Iterator[Finding]:
    overdue = overdue_launches(context.inventory.nodeclaims, context.now_ns)
    claims = [claim for claim in overdue if claim.created_ns < context.now_ns - LAUNCH_PATIENCE_NS]
    if not claims:
        return
    launched = claims[0].refused_launch
    text = f" ({launched.message or launched.reason})" if launched is not None else ""
    yield Finding(
        severity=Severity.ERROR,
        objects=tuple(ObjectRef("NodeClaim", claim.name) for claim in claims),
        fact=f"{counted(len(claims), 'NodeClaim')} ({listed(claim.name for claim in claims)}) "
        f"{verb(len(claims), 'has', 'have')} had no instance for up to "
        f"{span(context.now_ns - claims[0].created_ns)}{text}. Karpenter disrupts no node of the cluster until "
        f"{verb(len(claims), 'it has', 'all have')} one.",
    )
