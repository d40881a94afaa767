"""When the drain of a node ends by force, and when each pod is deleted for it.

Rules: ``pkg/controllers/nodeclaim/lifecycle/controller.go`` and ``pkg/controllers/node/termination/terminator``.
"""

from __future__ import annotations

from typing import Final

import msgspec

from karptui.karpenter.labels import TERMINATION_TIMESTAMP
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.kube.pod import Pod
from karptui.kube.timestamps import NS_PER_SECOND, parse_timestamp

STUCK_ALLOWANCE_NS: Final = 60 * NS_PER_SECOND
"""How long after its own deletionTimestamp a pod may still hold a drain."""


class Deadline(msgspec.Struct, frozen=True, gc=False):
    """The instant after which a drain no longer respects anything."""

    at_ns: int
    is_provisional: bool = False
    """Whether it is reckoned from the grace period, as Karpenter has not written it down yet."""


def deadline_of(claim: NodeClaim) -> Deadline | None:
    """Return a NodeClaim's deadline, None without one: the drain then ends when the pods have gone, if ever.

    What is written down wins over the grace period, whoever wrote it.
    """
    written = claim.annotations.get(TERMINATION_TIMESTAMP)
    if written is not None:
        try:
            return Deadline(parse_timestamp(written))
        except ValueError:
            return None
    if claim.is_deleting and claim.termination_grace_period_ns is not None:
        return Deadline(claim.deletion_ns + claim.termination_grace_period_ns, is_provisional=True)
    return None


def forced_at(pod: Pod, deadline_ns: int) -> int:
    """Return when a pod is deleted whatever protects it: its own grace period before the deadline."""
    return deadline_ns - pod.template.termination_grace_seconds * NS_PER_SECOND


def is_forced(pod: Pod, deadline_ns: int, now_ns: int) -> bool:
    """Return whether a pod that is waited for is deleted by force now.

    A terminating pod is, where it would take longer than the deadline allows.
    """
    if pod.is_terminating:
        return pod.deletion_ns > deadline_ns
    return now_ns > forced_at(pod, deadline_ns)
