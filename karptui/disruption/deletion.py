"""A node's stage of deletion, from its NodeClaim's conditions alone: needed before the analysis is ready."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from karptui.karpenter.nodeclaim import NodeClaim
from karptui.kube.timestamps import ABSENT_NS

_DRAINED: Final = "Drained"
_DETACHED: Final = "VolumesDetached"
_TERMINATING: Final = "InstanceTerminating"
_GRACE_ELAPSED: Final = "TerminationGracePeriodElapsed"


class DrainStage(StrEnum):
    """A stage of a node's termination."""

    IDLE = "Idle"
    """Nothing disrupts it."""
    WANTED = "Wanted"
    """Drifted or consolidatable: disrupted once nothing blocks it."""
    COMMANDED = "Commanded"
    """Tainted, waiting for replacements; nothing is evicted yet."""
    DELETING = "Deleting"
    """The NodeClaim is being deleted; the drain has not begun."""
    DRAINING = "Draining"
    VOLUMES = "Volumes"
    """Drained, waiting for volumes to be detached."""
    INSTANCE = "Instance"
    """Waiting for the instance to terminate."""


def deletion_stage(claim: NodeClaim) -> tuple[DrainStage, int]:
    """Return a deleted NodeClaim's stage and when it began, from its conditions."""
    drained, detached = claim.condition(_DRAINED), claim.condition(_DETACHED)
    if claim.is_true(_TERMINATING):
        condition = claim.condition(_TERMINATING)
        return DrainStage.INSTANCE, ABSENT_NS if condition is None else condition.last_transition_ns
    if drained is None:
        return DrainStage.DELETING, claim.deletion_ns
    if drained.status != "True":
        return DrainStage.DRAINING, drained.last_transition_ns or claim.deletion_ns
    if detached is not None and (detached.status == "True" or detached.reason == _GRACE_ELAPSED):
        return DrainStage.INSTANCE, detached.last_transition_ns
    return DrainStage.VOLUMES, drained.last_transition_ns
