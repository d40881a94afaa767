"""Ranks findings, worst first.

The ranking is by tier: what stops the whole cluster, what fails now, what blocks removals and costs money, what will
happen next, what is missing from the data, advice. Within a tier errors come first, then the most expensive, then
those of most pods.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from karptui.disruption.termination import Initiator
from karptui.kube.timestamps import HOUR_NS
from karptui.verdict.finding import ClusterFinding, FindingCode, FindingSeverity, Manner

SOON_NS: Final = 2 * HOUR_NS
"""Protected pods that are ended within this time count as failing now."""
_TIERS: Final[tuple[tuple[FindingCode, ...], ...]] = (
    (
        FindingCode.KARPENTER_DOWN,
        FindingCode.NO_LEADER,
        FindingCode.KARPENTER_FORBIDDEN,
        FindingCode.PODS_NOT_CREATED,
        FindingCode.CONTROLLERS_STOPPED,
        FindingCode.STOPPED,
        FindingCode.ALL_LEAVING,
        FindingCode.NO_NODEPOOLS,
    ),
    (
        FindingCode.NODECLASS_NOT_READY,
        FindingCode.ZONE_NOT_READY,
        FindingCode.ZONAL_SHIFT,
        FindingCode.INTERRUPTED,
        FindingCode.LAUNCH_REFUSED,
        FindingCode.CLAIM_STUCK,
        FindingCode.NOT_INITIALIZED,
        FindingCode.DAEMONSET_PENDING,
        FindingCode.POOL_DELETED,
        FindingCode.POOL_NOT_READY,
        FindingCode.POOL_AT_LIMIT,
        FindingCode.RESERVATIONS_FULL,
        FindingCode.PENDING,
        FindingCode.UNHEALTHY,
        FindingCode.PODS_NOT_STARTING,
        FindingCode.CHURN,
        FindingCode.TWO_AUTOSCALERS,
        FindingCode.NODE_PRESSURE,
        FindingCode.KARPENTER_DEGRADED,
    ),
    (
        FindingCode.REPAIR_HELD,
        FindingCode.PODS_NOT_ENDING,
        FindingCode.NOT_SCALED,
        FindingCode.POD_DND,
        FindingCode.NODE_DND,
        FindingCode.PDB,
        FindingCode.BUDGET,
        FindingCode.LEAVING,
        FindingCode.DRIFT,
        FindingCode.POOL_GONE,
        FindingCode.CORDONED,
        FindingCode.OLD_KUBELETS,
        FindingCode.PREFERRED,
        FindingCode.TIMED_OUT,
    ),
    (FindingCode.EXPIRY, FindingCode.LAUNCHES_MOVED, FindingCode.PODS_LOST),
    (
        FindingCode.NO_PERMISSION,
        FindingCode.NO_PRICES,
        FindingCode.ASSUMED_CLASS,
        FindingCode.ASSUMED_VOLUMES,
        FindingCode.ADVICE,
    ),
)
_TIER_OF: Final = {code: tier for tier, codes in enumerate(_TIERS) for code in codes}
_FAILING: Final = 1


def is_quiet(finding: ClusterFinding) -> bool:
    """Return whether a finding is information only."""
    return finding.severity is FindingSeverity.INFO and finding.code is not FindingCode.ALL_LEAVING


def rank(finding: ClusterFinding, now_ns: int) -> tuple[object, ...]:
    """Return the sort key of a finding."""
    tier = _TIER_OF.get(finding.code, len(_TIERS))
    if finding.code is FindingCode.EXPIRY and finding.until_ns is not None and finding.until_ns - now_ns <= SOON_NS:
        tier = _FAILING
    if finding.draining and Initiator.INTERRUPTION in finding.reasons:
        tier = _FAILING  # the cloud takes these nodes back
    if finding.code is FindingCode.ADVICE and finding.severity is FindingSeverity.ERROR:
        tier = _FAILING + 1
    severities, places = list(FindingSeverity), list(FindingCode)
    return (
        is_quiet(finding),
        tier,
        severities.index(finding.severity),
        finding.code is FindingCode.PENDING,
        finding.code is FindingCode.POOL_DELETED and not finding.pending.pods,
        finding.manner is Manner.USED_UP,  # the nodes that use it up have a finding of their own
        -(finding.price_per_hour or 0.0),
        places.index(finding.code),
        finding.until_ns or 0 if finding.code is FindingCode.EXPIRY else 0,
        not _serves_others(finding),
        -finding.pods - len(finding.pending.pods),
        finding.names,
    )


def _serves_others(finding: ClusterFinding) -> bool:
    """Return whether pods that do not start or do not exist are of a DaemonSet or of Kubernetes: others need them."""
    is_of_pods = finding.code is FindingCode.PODS_NOT_STARTING
    return is_of_pods and (bool(finding.of_nodes) or "/kube-system/" in finding.objects[0])


def interleaved(findings: Sequence[ClusterFinding]) -> list[ClusterFinding]:
    """Return findings in order, but with groups of pending pods and other findings in turn: neither hides the other."""
    pending = [finding for finding in findings if finding.code is FindingCode.PENDING]
    others = [finding for finding in findings if finding.code is not FindingCode.PENDING]
    place = findings.index(pending[0]) if pending else len(findings)
    ordered, later = others[:place], others[place:]
    while pending or later:
        loud = bool(later) and not is_quiet(later[0])
        if pending:
            ordered.append(pending.pop(0))
        if later and (loud or not pending):
            ordered.append(later.pop(0))
    return ordered
