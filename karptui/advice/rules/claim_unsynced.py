"""A NodeClaim without provider id stops all disruption."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.rule import Rule
from karptui.advice.words import counted, listed, span
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.whatif.edits import ObjectRef

_PATIENCE_NS: Final = 5 * 60 * NS_PER_SECOND


def _find(context: AdviceContext) -> Iterator[Finding]:
    claims = sorted(
        (
            claim
            for claim in context.inventory.nodeclaims
            if not claim.provider_id and 0 < claim.created_ns < context.now_ns - _PATIENCE_NS
        ),
        key=lambda claim: (claim.created_ns, claim.name),
    )
    if not claims:
        return
    launched = claims[0].condition("Launched")
    said = f" ({launched.message or launched.reason})" if launched is not None and launched.status != "True" else ""
    yield Finding(
        severity=Severity.ERROR,
        objects=tuple(ObjectRef("NodeClaim", claim.name) for claim in claims),
        fact=f"{counted(len(claims), 'NodeClaim')} ({listed(claim.name for claim in claims)}) "
        f"{'has' if len(claims) == 1 else 'have'} had no instance for up to "
        f"{span(context.now_ns - claims[0].created_ns)}{said}: while there is one, Karpenter disrupts nothing "
        "anywhere.",
    )


RULE: Final = Rule(
    id="claim-unsynced",
    title="a claim without instance blocks all",
    what="A NodeClaim is older than five minutes and has no provider id.",
    why="Disruption waits until the state of the cluster is synced, and it is not while a NodeClaim has no provider "
    "id. A pool that keeps failing to launch holds up drift and consolidation of all others.",
    source="Synced in pkg/controllers/state/cluster.go and pkg/controllers/disruption/controller.go",
    remedy="See why the launch fails in the claim's conditions and events, or delete the claim.",
    find=_find,
)
