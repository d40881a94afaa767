"""Run times of Job pods, from ended pods of the same CronJob or name."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from statistics import median
from typing import Final

import msgspec

from karptui.kube.objects import controller_of
from karptui.kube.pod import Pod
from karptui.kube.timestamps import ABSENT_NS

_JOB: Final = "Job"
_LEAST_SEEN: Final = 3
"""Ended pods of a kind needed to measure its run time."""
_OF_ONE: Final = re.compile(r"(-[a-z0-9]*[0-9][a-z0-9]*)+$")
"""The end of a Job's name that tells it from others of its kind: a time, a number, a hash with a digit."""


def kind_of(pod: Pod) -> str:
    """Return the common name of a pod's Jobs, ``namespace/name``; empty if no Job owns it."""
    owner = controller_of(pod.owners)
    if owner is None or owner.kind != _JOB:
        return ""
    return f"{pod.namespace}/{_OF_ONE.sub('', owner.name) or owner.name}"


class JobTimes(msgspec.Struct, frozen=True):
    """How long pods of Jobs run, by kind, in nanoseconds."""

    usual: Mapping[str, int]
    """The median."""
    longest: Mapping[str, int]

    def end_of(self, pod: Pod, since_ns: int, now_ns: int) -> int | None:
        """Return the end of a pod; None if the run time of its kind is unknown.

        A pod that runs longer than usual runs as long as the longest of its kind; after that, for ever.

        Args:
            pod: The pod.
            since_ns: Its start.
            now_ns: The present instant.
        """
        kind = kind_of(pod)
        if kind not in self.usual:
            return None
        ends = (since_ns + self.usual[kind], since_ns + self.longest[kind])
        return next((at_ns for at_ns in ends if at_ns > now_ns), None)


def job_times(pods: Iterable[Pod]) -> JobTimes:
    """Return the run times of Job pods, from ended pods that are still listed."""
    seen: dict[str, list[int]] = defaultdict(list)
    for pod in pods:
        if pod.is_terminal and ABSENT_NS not in (pod.start_ns, pod.ended_ns) and pod.ended_ns > pod.start_ns:
            kind = kind_of(pod)
            if kind:
                seen[kind].append(pod.ended_ns - pod.start_ns)
    known = {kind: times for kind, times in seen.items() if len(times) >= _LEAST_SEEN}
    return JobTimes(
        {kind: int(median(times)) for kind, times in known.items()}, {kind: max(times) for kind, times in known.items()}
    )
