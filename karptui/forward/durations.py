"""How long things take while a cluster is played forward: by constants, by its own history, else assumed."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from statistics import median
from types import MappingProxyType
from typing import Final

import msgspec

from karptui.disruption.removal import assumed_seconds
from karptui.karpenter.labels import NODEPOOL
from karptui.karpenter.nodeclaim import REBOOTING, NodeClaim
from karptui.kube.objects import controller_of
from karptui.kube.pod import Pod
from karptui.kube.timestamps import ABSENT_NS, HOUR_NS, MINUTE_NS, NS_PER_SECOND

_LEAST_SEEN: Final = 3
"""NodeClaims of a NodePool needed to measure its durations; with fewer, all NodePools are measured together."""
_SHARES: Final = (0.0, 0.5, 1.0, 2.0)
"""Load of Karpenter's processor, by seed in turn."""
_LEAST_PATIENCE_NS: Final = 900 * NS_PER_SECOND
"""Shortest time that a joined node may take to be ready: Karpenter's registration timeout."""
_TIMES_USUAL: Final = 5
_LONGEST_START_NS: Final = HOUR_NS
"""A node that took longer was in trouble, and is no measure."""


class Durations(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Waits, in nanoseconds."""

    batch_ns: int = 1 * NS_PER_SECOND
    """Time from a pending pod to the pass that schedules it: ``BATCH_IDLE_DURATION``."""
    poll_ns: int = 10 * NS_PER_SECOND
    """Between passes of disruption that find nothing; pkg/controllers/disruption/controller.go."""
    validation_ns: int = 15 * NS_PER_SECOND
    """Before Emptiness and consolidation look again; pkg/controllers/disruption/consolidation.go."""
    simulation_ns: int = 0
    """What Karpenter takes for one simulated removal: a pass takes as long as all that it tries."""
    start_ns: int = MINUTE_NS
    """From a NodeClaim to a node that takes pods, where history tells nothing."""
    start_ns_by_pool: Mapping[str, int] = MappingProxyType({})
    """The same, as the NodeClaims of each NodePool tell: the median."""
    pod_start_ns: int = 10 * NS_PER_SECOND
    """From a place to a pod that is ready."""
    eviction_retry_ns: int = NS_PER_SECOND // 10
    """Before an eviction that a PodDisruptionBudget refused is tried again; twice as long after each refusal."""
    eviction_retry_most_ns: int = 10 * NS_PER_SECOND
    """The longest of these waits; pkg/controllers/node/termination/terminator/eviction.go."""
    pod_end_share: float = 1.0
    """Share of its grace period that a pod takes to end."""
    drain_ns: int = 5 * NS_PER_SECOND
    """The least that a drain takes, also of an empty node: ``MinDrainTime``; pkg/controllers/node/termination."""
    termination_ns: int = 1 * NS_PER_SECOND
    """From a node without pods that are waited for to the end of its instance being asked for."""
    instance_end_ns: int = 30 * NS_PER_SECOND
    """From an empty node to its end."""
    nomination_ns: int = 20 * NS_PER_SECOND
    """Karpenter does not disrupt a node this long after it expects pods there: pkg/controllers/state/statenode.go."""
    is_validating: bool = True
    """Whether Emptiness and consolidation validate; otherwise their commands count as valid."""

    def start_of(self, pool_name: str) -> int:
        """Return the start-up time of a new node of a NodePool."""
        return self.start_ns_by_pool.get(pool_name, self.start_ns)

    def patience_of(self, pool_name: str) -> int:
        """Return the time after which a joined node that is not ready counts as stuck, an assumption."""
        return max(_LEAST_PATIENCE_NS, _TIMES_USUAL * self.start_of(pool_name))

    def next_eviction(self, first_ns: int, now_ns: int) -> int:
        """Return when an eviction that was refused at an instant, and ever since, is tried next."""
        wait_ns, next_ns = self.eviction_retry_ns, first_ns
        if not wait_ns:
            return now_ns
        while next_ns <= now_ns and wait_ns < self.eviction_retry_most_ns:
            next_ns += wait_ns
            wait_ns *= 2
        if next_ns <= now_ns:
            next_ns += ((now_ns - next_ns) // self.eviction_retry_most_ns + 1) * self.eviction_retry_most_ns
        return next_ns


INSTANT: Final = Durations(
    batch_ns=0,
    poll_ns=0,
    validation_ns=0,
    start_ns=0,
    pod_start_ns=0,
    eviction_retry_ns=0,
    pod_end_share=0.0,
    drain_ns=0,
    termination_ns=0,
    instance_end_ns=0,
    nomination_ns=0,
    is_validating=False,
)
"""Nothing takes time but what Karpenter waits for by its own rules: consolidateAfter, budgets, expiry."""


def simulation_ns(measured_seconds: float | None, seed: int, nodes: int) -> int:
    """Return Karpenter's time for a simulated removal.

    Args:
        measured_seconds: By its metrics; None if unknown.
        seed: 0 uses the metrics, and no time without them; others vary it.
    """
    if not seed:
        return round((measured_seconds or 0.0) * NS_PER_SECOND)
    known_seconds = assumed_seconds(nodes) if measured_seconds is None else measured_seconds
    return round(known_seconds * NS_PER_SECOND * _SHARES[seed % len(_SHARES)])


def joined_since(claim: NodeClaim) -> int:
    """Return the time at which a NodeClaim's node joined or was rebooted last.

    ``ABSENT_NS`` if it did not join, is being rebooted, or that is unknown.
    """
    rebooting, registered = claim.condition(REBOOTING), claim.condition("Registered")
    if registered is None or registered.status != "True" or claim.is_true(REBOOTING):
        return ABSENT_NS
    return max(registered.last_transition_ns, rebooting.last_transition_ns if rebooting is not None else ABSENT_NS)


def observed(claims: Iterable[NodeClaim]) -> Durations:
    """Return the waits as a cluster's NodeClaims, by their conditions, tell them."""
    seen: dict[str, list[int]] = defaultdict(list)
    for claim in claims:
        initialized = claim.condition("Initialized")
        if (
            initialized is None
            or initialized.status != "True"
            or ABSENT_NS in (claim.created_ns, initialized.last_transition_ns)
        ):
            continue
        taken_ns = initialized.last_transition_ns - claim.created_ns
        if 0 < taken_ns <= _LONGEST_START_NS:
            seen[claim.labels.get(NODEPOOL, "")].append(taken_ns)
    usual = {pool: int(median(times)) for pool, times in seen.items() if len(times) >= _LEAST_SEEN}
    durations = Durations(start_ns_by_pool=MappingProxyType(usual))
    together = [taken_ns for times in seen.values() for taken_ns in times]
    if len(together) >= _LEAST_SEEN:
        durations = msgspec.structs.replace(durations, start_ns=int(median(together)))
    return durations


_JOB: Final = "Job"
_LEAST_ENDED: Final = 3
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
    frequent = {kind: times for kind, times in seen.items() if len(times) >= _LEAST_ENDED}
    return JobTimes(
        {kind: int(median(times)) for kind, times in frequent.items()},
        {kind: max(times) for kind, times in frequent.items()},
    )
