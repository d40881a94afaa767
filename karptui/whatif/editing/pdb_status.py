"""What the controller of PodDisruptionBudgets would write in the status of one that was edited.

Source: ``getExpectedScale`` and ``countHealthyPods`` in Kubernetes' pkg/controller/disruption/disruption.go.
"""

from __future__ import annotations

import math

from msgspec.structs import replace

from karptui.decode.kinds import Kind
from karptui.kube.pdb import PodDisruptionBudget
from karptui.whatif.editing.cluster_draft import ClusterDraft
from karptui.whatif.errors import EditError


def with_status(draft: ClusterDraft, pdb: PodDisruptionBudget) -> PodDisruptionBudget:
    """Return a PodDisruptionBudget with the status that follows from the pods that are there.

    The pods that should be there are taken to be those that are.

    Raises:
        EditError: where an amount is neither a number nor a percentage.
    """
    selector = pdb.selector
    pods = [
        pod
        for pod in draft.values(Kind.POD)
        if selector is not None
        and pod.namespace == pdb.namespace
        and not pod.is_terminal
        and selector.matches(pod.labels)
    ]
    expected = len(pods)
    healthy = sum(1 for pod in pods if pod.ready and not pod.is_terminating)
    if pdb.max_unavailable is not None:
        desired = max(expected - _amount(pdb, "maxUnavailable", pdb.max_unavailable, expected), 0)
    else:
        desired = _amount(pdb, "minAvailable", pdb.min_available or 0, expected)
    return replace(
        pdb,
        expected_pods=expected,
        current_healthy=healthy,
        desired_healthy=desired,
        disruptions_allowed=max(healthy - desired, 0) if expected else 0,
        observed_generation=pdb.generation,
    )


def _amount(pdb: PodDisruptionBudget, field: str, value: int | str, total: int) -> int:
    if isinstance(value, int):
        return value
    digits = value.removesuffix("%")
    if digits == value or not digits.isdecimal():
        where = f"PodDisruptionBudget {pdb.key}: spec.{field}"
        raise EditError(f"{where}: {value!r:.60} is neither a number nor a percentage")
    return math.ceil(int(digits) * total / 100)
