"""A NodeClaim without provider ID, which makes Karpenter pause disruption."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import Final

from karptui.disruption.codes import WhyCode
from karptui.karpenter.labels import NODEPOOL
from karptui.karpenter.nodeclaim import LAUNCH_PATIENCE_NS, NodeClaim
from karptui.pending.causes import Cause
from karptui.verdict.blocked import is_simulating, lacks_some, saving_of
from karptui.verdict.case import VerdictCase
from karptui.verdict.finding import ClusterFinding, CountBound, FindingCode, FindingSeverity
from karptui.verdict.joining import failing_pools, waits_for_claims
from karptui.verdict.pending_pods import PendingPods
from karptui.verdict.refusals import recent_refusals, refusal_message, stopping_refusal, unsynced_claims

_UNLEARNED: Final = re.compile(r"iamInstanceProfile|InvalidLaunchTemplate\w*\.NotFound")
"""In refusals of the first minute: EC2 has not learned yet of an instance profile or a launch template."""


def _launched_after(claims: Sequence[NodeClaim], case: VerdictCase) -> bool:
    """Return whether an instance was launched for a NodeClaim that Karpenter made clearly after one of these."""
    first_ns = min((claim.created_ns for claim in claims), default=case.now_ns)
    launched = (line.claim for line in case.nodes if line.claim is not None and line.claim.provider_id)
    return any(claim.created_ns - first_ns >= LAUNCH_PATIENCE_NS for claim in launched)


def _claims(case: VerdictCase, names: Collection[str]) -> list[NodeClaim]:
    return [line.claim for line in case.nodes if line.claim is not None and line.claim.name in names]


def stopped_findings(case: VerdictCase, pending: PendingPods) -> Iterator[ClusterFinding]:
    """Yield NodeClaims without provider ID: meanwhile Karpenter pauses disruption and may schedule no pods."""
    waiting = [line for line in case.nodes if line.findings is not None and line.findings.why.code is WhyCode.WAITS]
    saving = saving_of(((line, line.would_save) for line in waiting), case)
    unsynced = unsynced_claims(case)
    if unsynced:
        refusal = stopping_refusal(case)
        names = {blocker.object_key for blocker in unsynced}
        lines = {line.claim.name: line for line in case.nodes if line.claim is not None and line.claim.name in names}
        refusals = {name: refusal_message(line) for name, line in lines.items()}
        others = frozenset(name for name, message in refusals.items() if message not in ("", refusal))
        unsynced = [blocker for blocker in unsynced if refusals.get(blocker.object_key, "") == refusal]
        since = min((blocker.since_ns for blocker in unsynced if blocker.since_ns), default=None)
        is_long = since is None or case.now_ns - since >= LAUNCH_PATIENCE_NS
        claims = _claims(case, {blocker.object_key for blocker in unsynced})
        failing = failing_pools(case, claims) if refusal or is_long else frozenset()
        # Launches that were refused for another reason have a finding of their own.
        refused = _claims(case, others)
        waits_for_others = partial(waits_for_claims, claims=refused, failing=failing_pools(case, refused))
        of_others = {r.nodepool for r in recent_refusals(case)} - {claim.labels.get(NODEPOOL) for claim in claims}
        # Karpenter schedules no pod while a NodeClaim has no provider ID.
        stops_all = (is_long or bool(refusal)) and not _launched_after(claims, case)
        explained = pending.take(
            lambda group: (
                waits_for_claims(group, claims, failing)
                or (
                    stops_all
                    and group.cause == Cause.CLAIM
                    and not waits_for_others(group)
                    and of_others.isdisjoint(group.pools)
                )
            )
        )
        is_old = not explained.since_ns or case.now_ns - explained.since_ns >= LAUNCH_PATIENCE_NS
        is_lasting = is_old or not _UNLEARNED.search(refusal)
        yield ClusterFinding(
            severity=FindingSeverity.ERROR if is_long or (refusal and is_lasting) else FindingSeverity.INFO,
            detail=refusal,
            code=FindingCode.STOPPED,
            price_per_hour=saving.per_hour,
            is_upper_bound=saving.is_upper_bound,
            saves_in_seconds=saving.seconds,
            is_partial=is_simulating(case.nodes) or lacks_some(line.would_save for line in waiting),
            since_ns=since,
            objects=tuple(blocker.object_ref for blocker in unsynced),
            names=tuple(blocker.object_key for blocker in unsynced),
            nodes=len(waiting),
            nodes_bound=CountBound.AT_LEAST if is_simulating(case.nodes) else CountBound.EXACT,
            pending=explained,
            screen="claims",
        )
