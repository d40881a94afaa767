"""Pods in a forecast: kube-scheduler binds them, they start, and Job pods end."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

from karptui.forward.calendar import Agenda, Calendar, Turn
from karptui.forward.durations import Durations, job_times
from karptui.forward.observation import Observation
from karptui.forward.result import StepKind
from karptui.forward.world import World
from karptui.karpenter.pod_predicates import UNSCHEDULABLE
from karptui.kube.pod import Pod
from karptui.provisioning.kube_scheduler import Scheduler, is_kube_scheduled


class PodRuns:
    """From the search for a node to the end of a pod."""

    def __init__(
        self,
        world: World,
        agenda: Agenda,
        calendar: Calendar,
        observation: Observation,
        *,
        durations: Durations,
        seed: int,
    ) -> None:
        """Begin with the pods of a cluster.

        Args:
            seed: Decides between nodes that are equal to kube-scheduler.
        """
        self._world = world
        self._agenda = agenda
        self._calendar = calendar
        self._observation = observation
        self._durations = durations
        self._rng = random.Random(seed)  # noqa: S311 - a choice among equals, not a secret
        self._first_node = 0
        """Where kube-scheduler begins its next search."""
        self._seen = -1
        """Version of the cluster's room that was last searched for nodes; none at the beginning."""
        self._left_alone = {pod.uid for pod in world.unbound() if not is_kube_scheduled(pod)}
        """Pods without a node that belong to other schedulers, which are not modelled."""
        self._job_times = job_times(world.inventory.pods)

    def begin(self, pod_gone: Callable[[str], None]) -> None:
        """Enter how the pods go on that are there when the play begins."""
        for pod in list(self._world.pods.values()):
            if pod.is_terminating:
                self._agenda.at(pod.deletion_ns, partial(pod_gone, pod.uid))
            elif pod.is_failing_to_start:
                continue
            elif pod.node_name and pod.phase == "Pending":
                self._agenda.at(self._agenda.now_ns + self._durations.pod_start_ns, partial(self._started, pod.uid))
            elif pod.node_name and pod.is_active:
                self._expect_end(pod)

    def advance(self) -> None:
        """Look for nodes for pods at the beginning, and whenever one may fit that did not before."""
        if self._seen == self._world.room_version:
            return
        is_first = self._seen < 0
        self._schedule()
        self._seen = self._world.room_version
        if is_first:
            # Another scheduler tries again only pods that it has refused before; it may not run at all.
            pods = map(self._world.pods.get, self._left_alone)
            self._left_alone = {pod.uid for pod in pods if pod is not None and pod.scheduled_reason != UNSCHEDULABLE}

    def _schedule(self) -> None:
        pods = [pod for pod in self._world.unbound() if pod.uid not in self._left_alone]
        if not pods:
            return
        scheduler = Scheduler(self._observation.prepared(), self._world.bound, rng=self._rng, first=self._first_node)
        placements = scheduler.place(pods)
        self._first_node = scheduler.first
        by_uid = {pod.uid: pod for pod in pods}
        placed: dict[str, list[str]] = {}
        for uid, name in placements.items():
            self._world.bind(by_uid[uid], name, self._agenda.now_ns)
            placed.setdefault(name, []).append(by_uid[uid].key)
            self._agenda.at(self._agenda.now_ns + self._durations.pod_start_ns, partial(self._started, uid))
            self._calendar.expect_quiet(name)
        for pod in pods:
            if pod.uid not in placements:
                self._world.mark_unschedulable(pod)
        if placements:
            keys = tuple(sorted(key for keys in placed.values() for key in keys))
            self._agenda.note(StepKind.BIND, nodes=tuple(sorted(placed)), pods=keys)

    def _started(self, uid: str) -> None:
        self._world.start(uid, self._agenda.now_ns)
        pod = self._world.pods.get(uid)
        if pod is not None and pod.is_active:
            self._expect_end(pod)

    def _expect_end(self, pod: Pod) -> None:
        if (ends_ns := self._job_times.end_of(pod, pod.start_ns, self._agenda.now_ns)) is not None:
            self._agenda.at(ends_ns, partial(self._end, pod.uid), Turn.CALENDAR)

    def _end(self, uid: str) -> None:
        pod = self._world.pods.get(uid)
        node_name = self._world.end(uid, self._agenda.now_ns)
        if node_name and pod is not None:
            self._agenda.note(StepKind.JOB_ENDS, nodes=(node_name,), pods=(pod.key,))
            self._calendar.expect_quiet(node_name)
