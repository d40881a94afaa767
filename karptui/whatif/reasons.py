"""Why pods find no place, in plain words with numbers: what the NodePool that comes nearest lacks."""

from __future__ import annotations

from typing import Final

from karptui.disruption.miss_text import NO_TYPES, miss_text
from karptui.disruption.no_place import NoPlace, PoolMiss, no_place
from karptui.kube.pod import Pod
from karptui.provisioning.rejection import PodError
from karptui.whatif.outcome import Outcome

NO_POOLS: Final = "no NodePool can take pods: none is ready, dynamic and not being deleted"
PASSED_OVER: Final = "Karpenter does not look at it"
KEEPS_AWAY: Final = "its own rules keep it off NodePools, so Karpenter passes over it without a word"
MOST_EXPLAINED: Final = 16
"""Kinds of pods that are explained with numbers; each takes some milliseconds."""


class Reasons:
    """Finds reasons for the pods of one replay; those of one template that fail alike share one.

    Args:
        outcome: The replay.
    """

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome
        self._known: dict[tuple[object, ...], tuple[str, str]] = {}
        self._ignored = {one.pod.uid: one for one in outcome.prepared.ignored}

    def of(self, pod: Pod) -> tuple[str, str]:
        """Return why a pod has no place, and the gate that failed it; the gate is empty where none did."""
        ignored = self._ignored.get(pod.uid)
        if ignored is not None:
            return (KEEPS_AWAY, "") if ignored.is_silent else (f"{PASSED_OVER}: {'; '.join(ignored.problems)}", "")
        error = self.error(pod)
        if error is None:
            return NO_POOLS, ""
        signature = (pod.template, tuple((pool, type(one)) for pool, one in error.rejections))
        known = self._known.get(signature)
        if known is None:
            known = self._known[signature] = self._find(pod, error)
        return known

    def remark(self, pod: Pod) -> str:
        """Return what Karpenter says of a pod that it passes over."""
        ignored = self._ignored.get(pod.uid)
        return "; ".join(ignored.problems) if ignored is not None else ""

    def error(self, pod: Pod) -> PodError | None:
        """Return why each NodePool does not take a pod."""
        solution = self._outcome.solution
        return None if solution is None else solution.errors.get(pod.key)

    def _find(self, pod: Pod, error: PodError) -> tuple[str, str]:
        solution = self._outcome.solution
        if solution is not None and len(self._known) < MOST_EXPLAINED:
            return reason_of(no_place(solution, pod))
        misses = tuple(PoolMiss(pool, str(one.gate)) for pool, one in error.rejections)
        return reason_of(NoPlace(pod.key, pools=misses))


def reason_of(found: NoPlace) -> tuple[str, str]:
    """Return the words of the NodePool that comes nearest, and its gate; NodePools that say the same go together."""
    nearest = found.nearest
    if nearest is None:
        return NO_TYPES, "NodePools"
    alike = found.like(nearest)
    names = [miss.pool_name for miss in alike if miss.pool_name]
    pool = f"NodePool{'s' if len(names) > 1 else ''} {', '.join(names)}" if names else "any NodePool"
    text = miss_text(nearest, pool)
    others = len(found.pools) - len(alike)
    return f"{text} ({others} other NodePool{'s' if others > 1 else ''} further off)" if others else text, nearest.gate
