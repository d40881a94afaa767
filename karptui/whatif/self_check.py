"""Put the model to the test: would it have made the NodeClaims that Karpenter made lately?

NodeClaims that were created within one batch are taken away with everything younger, their pods wait again, and the
provisioner is replayed for the instant of their creation. Older nodes take no pods in it: they had no room then, else
Karpenter would not have made a NodeClaim, and what filled them may be gone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Final

import msgspec
from msgspec.structs import replace

from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import INSTANCE_TYPE, NODEPOOL, NODEPOOL_HASH
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.pod_predicates import is_reschedulable
from karptui.kube.group import group_by
from karptui.kube.pod import Pod
from karptui.kube.resources import CPU, MEMORY
from karptui.kube.taints import NO_SCHEDULE, Taint
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.provisioning.reporter import Reporter, silent
from karptui.provisioning.solution import NewClaim
from karptui.whatif.outcome import ReplayOutcome
from karptui.whatif.placement_difference import Reasons
from karptui.whatif.replay import replay
from karptui.whatif.scenario import Replay
from karptui.whatif.situation import Situation, WhatIfBase, as_pending

CLAIMS: Final = 20
"""Number of NodeClaims to check, the newest first, completed to whole batches."""
_GAP_NS: Final = 2 * NS_PER_SECOND
"""NodeClaims of one run of the provisioner follow each other at once; the API server keeps whole seconds."""
_BATCH_NS: Final = 10 * NS_PER_SECOND
"""Maximum age difference within a batch."""
_WITH_OTHERS: Final = "other NodeClaims of its batch cannot be compared"
_FULL: Final = Taint("karptui.dev/full", NO_SCHEDULE)


class Reproduction(StrEnum):
    """What became of a NodeClaim in the replay."""

    REPRODUCED = "reproduced"
    """The model makes one in the same NodePool that may have the type which was launched."""
    DIFFERS = "differs"
    NOT_COMPARABLE = "not comparable"
    """Its pods or its NodePool are no longer there, or changed."""


class CheckedClaim(msgspec.Struct, frozen=True):
    """One NodeClaim."""

    claim_name: str
    node_name: str
    pool_name: str
    type_name: str
    """The instance type that was launched."""
    finding: Reproduction
    because: str = ""
    """Why it differs or cannot be compared, as text."""
    has_same_types: bool = False
    """Whether the model gives it the very same list of instance types."""


class SelfCheck(msgspec.Struct, frozen=True):
    """The checked NodeClaims, the newest first."""

    claims: tuple[CheckedClaim, ...]

    @property
    def comparable(self) -> int:
        """Number of NodeClaims that could be compared."""
        return sum(1 for claim in self.claims if claim.finding is not Reproduction.NOT_COMPARABLE)

    @property
    def reproduced(self) -> int:
        """Number of NodeClaims that the model also creates."""
        return sum(1 for claim in self.claims if claim.finding is Reproduction.REPRODUCED)


def self_check(base: WhatIfBase, *, last: int = CLAIMS, reporter: Reporter = silent) -> SelfCheck:
    """Replay the newest NodeClaims and return whether the model creates each of them.

    Args:
        last: Number of NodeClaims to check, completed to whole batches.
    """
    launched = [claim for claim in base.inventory.nodeclaims if claim.created_ns and claim.is_true("Launched")]
    newest = sorted(launched, key=lambda claim: (-claim.created_ns, claim.name))
    findings: list[CheckedClaim] = []
    on_nodes = _OnNodes(base.inventory)
    for batch in _batches(newest, on_nodes):
        if len(findings) >= last:
            break
        reporter(len(findings), max(min(last, len(newest)), len(findings) + len(batch)))
        findings.extend(_check(base, batch, launched, on_nodes))
    reporter(len(findings), len(findings))
    return SelfCheck(tuple(findings))


def _batches(newest: Sequence[NodeClaim], pods: _OnNodes) -> Iterator[list[NodeClaim]]:
    """Yield the NodeClaims of each run of the provisioner: one older than a pod of another is of a run before."""
    batch: list[NodeClaim] = []
    youngest_ns = 0
    for claim in newest:
        is_apart = batch and (
            batch[-1].created_ns - claim.created_ns > _GAP_NS
            or batch[0].created_ns - claim.created_ns > _BATCH_NS
            or youngest_ns > claim.created_ns
        )
        if is_apart:
            yield batch
            batch, youngest_ns = [], 0
        batch.append(claim)
        youngest_ns = max(youngest_ns, *(pod.created_ns for pod in pods.made_for(claim)), 0)
    if batch:
        yield batch


def _check(
    base: WhatIfBase, batch: Sequence[NodeClaim], launched: Sequence[NodeClaim], on_nodes: _OnNodes
) -> list[CheckedClaim]:
    by_claim = {claim.name: on_nodes.made_for(claim) for claim in batch}
    gone = {claim.name: _not_comparable(base, claim, by_claim[claim.name], on_nodes) for claim in batch}
    left = [claim for claim in batch if not gone[claim.name]]
    claims = [_finding(claim, Reproduction.NOT_COMPARABLE, gone[claim.name]) for claim in batch if gone[claim.name]]
    if not left:
        return claims
    began = min(claim.created_ns for claim in batch)
    pods = [pod for claim in left for pod in by_claim[claim.name]]
    inventory = _as_it_was(base.inventory, began, launched, pods)
    then = Situation(inventory, base.settings, base.types, max(claim.created_ns for claim in batch))
    outcome = replay(then, Replay.PENDING)
    new_claims = list(outcome.claims)
    # NodeClaims with an exact match in the replay are matched first, so that no other takes it.
    for claim in sorted(left, key=lambda node_claim: not any(_has_types(other, node_claim) for other in new_claims)):
        if (match := _match(claim, new_claims)) is not None:
            new_claims.remove(match)
            claims.append(replace(_finding(claim, Reproduction.REPRODUCED), has_same_types=_has_types(match, claim)))
        elif len(left) < len(batch):
            claims.append(_finding(claim, Reproduction.NOT_COMPARABLE, _WITH_OTHERS))
        else:
            claims.append(_finding(claim, Reproduction.DIFFERS, _why(claim, by_claim[claim.name], outcome)))
    return sorted(claims, key=lambda checked_claim: checked_claim.claim_name)


class _OnNodes:
    """Pods by the node that they run on."""

    def __init__(self, inventory: Inventory) -> None:
        self._pods = group_by((pod for pod in inventory.pods if pod.node_name), lambda pod: pod.node_name)

    def of(self, claim: NodeClaim) -> Sequence[Pod]:
        return self._pods.get(claim.node_name, ()) if claim.node_name else ()

    def made_for(self, claim: NodeClaim) -> list[Pod]:
        """Return the node's pods that are older than the NodeClaim, so that it may have been created for them."""
        return [pod for pod in self.of(claim) if pod.created_ns <= claim.created_ns and is_reschedulable(pod)]


def _not_comparable(base: WhatIfBase, claim: NodeClaim, pods: Sequence[Pod], on_nodes: _OnNodes) -> str:
    """Return the reason why a NodeClaim cannot be compared, empty if it can."""
    pool = next((n for n in base.inventory.nodepools if n.name == claim.labels.get(NODEPOOL, "")), None)
    if pool is None:
        return "its NodePool is gone"
    marked = pool.annotations.get(NODEPOOL_HASH)
    if marked is not None and claim.annotations.get(NODEPOOL_HASH, marked) != marked:
        return "its NodePool was edited since"
    if pool.is_static:
        return "its NodePool is static: it was not created for pods"
    if not pods:
        return "the pods that it was created for are gone"
    present_pods = (*pods, *(pod for pod in on_nodes.of(claim) if not is_reschedulable(pod)))
    for resource in (CPU, MEMORY):
        expected = claim.requests.get(resource)  # including requests of DaemonSets, as Karpenter sets it
        present = sum(pod.requests[resource].nano for pod in present_pods if resource in pod.requests)
        if expected is not None and present < expected.nano // 2:
            return "most of the pods that it was created for are gone"
    return ""


def _as_it_was(inventory: Inventory, began: int, launched: Sequence[NodeClaim], waiting: Sequence[Pod]) -> Inventory:
    """Return the cluster before an instant, its nodes full, with pods that wait."""
    young = {claim.name for claim in launched if claim.created_ns >= began}
    young_nodes = {claim.node_name for claim in launched if claim.name in young and claim.node_name}
    pending = {pod.uid for pod in waiting}
    pods = []
    for pod in inventory.pods:
        if pod.uid in pending:
            pods.append(as_pending(pod))
        elif (
            pod.node_name
            and pod.node_name not in young_nodes
            and (pod.created_ns <= began or not is_reschedulable(pod))
        ):
            pods.append(pod)
    return replace(
        inventory,
        pods=tuple(pods),
        nodes=tuple(
            replace(node, taints=(*node.taints, _FULL)) for node in inventory.nodes if node.name not in young_nodes
        ),
        nodeclaims=tuple(claim for claim in inventory.nodeclaims if claim.created_ns < began),
    )


def _match(claim: NodeClaim, claims: Sequence[NewClaim]) -> NewClaim | None:
    """Return the replayed NodeClaim that matches a real one, preferring an equal list of types."""
    pool, launched = claim.labels.get(NODEPOOL, ""), claim.labels.get(INSTANCE_TYPE, "")
    fitting = [n for n in claims if n.nodepool_name == pool and launched in n.instance_type_names]
    return next((new_claim for new_claim in fitting if _has_types(new_claim, claim)), next(iter(fitting), None))


def _has_types(new_claim: NewClaim, claim: NodeClaim) -> bool:
    return new_claim.nodepool_name == claim.labels.get(NODEPOOL, "") and set(new_claim.instance_type_names) == {
        value for r in claim.requirements if r.key == INSTANCE_TYPE for value in r.values
    }


def _why(claim: NodeClaim, pods: Sequence[Pod], outcome: ReplayOutcome) -> str:
    pool, launched = claim.labels.get(NODEPOOL, ""), claim.labels.get(INSTANCE_TYPE, "")
    uids = {pod.uid for pod in pods}
    pools = Counter(n.nodepool_name for n in outcome.claims for pod in n.pods if pod.uid in uids)
    if pools and pool not in pools:
        return f"the model uses NodePool {pools.most_common(1)[0][0]}"
    if pools:
        return f"the model creates fewer nodes in NodePool {pool}, or none that allows {launched}"
    reasons = Reasons(outcome)
    unplaced = next((pod for pod in outcome.unplaced if pod.uid in uids), None)
    if unplaced is None:
        return "the model puts its pods on other nodes"
    return f"its pods are unschedulable in the model: {reasons.of(unplaced)[0]}"


def _finding(claim: NodeClaim, finding: Reproduction, because: str = "") -> CheckedClaim:
    labels = claim.labels
    return CheckedClaim(
        claim.name, claim.node_name, labels.get(NODEPOOL, ""), labels.get(INSTANCE_TYPE, ""), finding, because
    )
