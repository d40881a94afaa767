"""What statuses tell: events, for lists without events, and that controllers do not act."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from karptui.decode.kinds import Kind
from karptui.disruption.churn.moves import KUBELET
from karptui.kube.objects import MANAGER_LEASE, Event, controller_of
from karptui.kube.pod import Pod
from karptui.kube.timestamps import MINUTE_NS
from karptui.provisioning.reporter import Pause, no_pause, with_pauses
from karptui.verdict.case import Unobserved
from karptui.verdict.creation import FAILED_CREATE

if TYPE_CHECKING:
    from karptui.session.cluster_view import ClusterView

JOB_LATE_NS: Final = 5 * MINUTE_NS
"""A Job's pods are created within seconds."""
OBSERVED: Final = (Kind.DEPLOYMENT, Kind.REPLICASET, Kind.STATEFULSET, Kind.DAEMONSET, Kind.JOB, Kind.PDB)
"""Kinds of kube-controller-manager whose status tells the generation that it has acted on."""
JOB_RETRY_NS: Final = 15 * MINUTE_NS
"""The pod after a failed one is created within ten minutes: MaxJobPodFailureBackOff."""


def events_of_pods(view: ClusterView, failed: Sequence[Pod], pause: Pause = no_pause) -> Iterator[Event]:
    """Yield the reasons of failed pods, unless an event has it or a running pod has replaced a rejected one."""
    events = view.state.events.values() if failed else ()
    with_events = {(event.reason, event.involved_namespace, event.involved_name) for event in events}
    newest = _newest_running(view, failed, pause)
    for pod in failed:
        reason = pod.trouble.failure
        is_over = reason != "Evicted" and newest.get(_place(pod), 0) > pod.created_ns
        if not is_over and (reason, pod.namespace, pod.name) not in with_events:
            at_ns = pod.ended_ns or pod.start_ns or pod.created_ns
            yield _event(reason, (Kind.POD, pod.namespace, pod.name), pod.trouble.message, (at_ns, at_ns))


def events_of_workloads(view: ClusterView, now_ns: int) -> Iterator[Event]:
    """Yield the reasons that workloads cannot create pods, unless an event has it; the condition is still true."""
    # A Deployment repeats the condition of its ReplicaSet.
    kind = Kind.REPLICASET if view.state.of(Kind.REPLICASET) else Kind.DEPLOYMENT
    workloads = (*view.state.of(kind).values(), *view.state.of(Kind.REPLICATION_CONTROLLER).values())
    failures = [
        (workload, failure)
        for workload in workloads
        if (failure := workload.failure) is not None and failure.status == "True" and failure.reason == FAILED_CREATE
    ]
    events = [event for event in view.state.events.values() if event.reason == FAILED_CREATE] if failures else ()
    with_events = {(event.involved_kind, event.involved_namespace, event.involved_name) for event in events}
    for workload, failure in failures:
        place = (workload.kind, workload.namespace, workload.name)
        if workload.replicas and place not in with_events:
            yield _event(FAILED_CREATE, place, failure.message, (failure.last_transition_ns, now_ns))


def events_of_jobs(view: ClusterView, now_ns: int, pause: Pause = no_pause) -> Iterator[Event]:
    """Yield Jobs with fewer pods than desired, unless an event has the reason, which their status lacks."""
    late_ns = now_ns - JOB_LATE_NS
    jobs = [
        (job, job.job)
        for job in view.state.of(Kind.JOB).values()
        if job.job is not None and job.job.active < job.job.wanted and job.job.start_ns <= late_ns
        if not (job.is_deleting or _is_ending(view, job.namespace))
    ]
    events = [event for event in view.state.events.values() if event.reason == FAILED_CREATE] if jobs else ()
    with_events = {(event.involved_kind, event.involved_namespace, event.involved_name) for event in events}
    ends = _last_ends(view, {job.uid for job, pods in jobs if pods.ended and not pods.active}, pause)
    for job, pods in jobs:
        # A Job may wait for minutes before it replaces a failed pod, and for a moment before it replaces another.
        since_ns = ends.get(job.uid, now_ns) if pods.ended else pods.start_ns
        place = (Kind.JOB, job.namespace, job.name)
        if since_ns <= (now_ns - JOB_RETRY_NS if pods.ended else late_ns) and place not in with_events:
            yield _event(FAILED_CREATE, place, "", (since_ns, now_ns))


def unobserved(view: ClusterView, now_ns: int, pause: Pause = no_pause) -> Unobserved:
    """Return the objects of a file that Kubernetes' own controllers do not act on.

    Of a live cluster, changes are read before controllers can have acted on them.
    """
    state = view.state
    lease = state.of(Kind.LEASE).get(f"kube-system/{MANAGER_LEASE}")
    if lease is not None and now_ns - lease.renewed_ns <= JOB_LATE_NS:
        return Unobserved()
    waiting, since_ns = dict[str, None](), 0
    for kind in OBSERVED:
        for item in state.of(kind).values():
            observed = item.observed_generation
            is_new = observed == 0
            if observed is None or observed >= item.generation or (is_new and now_ns - item.created_ns < JOB_LATE_NS):
                continue
            waiting[str(view.owners.behind(kind, item.namespace, item.name))] = None
            if is_new:
                since_ns = min(since_ns or item.created_ns, item.created_ns)
    short = _short_of_pods(view, pause)
    renewed_ns = lease.renewed_ns if lease is not None else 0
    return Unobserved(tuple(waiting), tuple(owner for owner in short if owner not in waiting), since_ns, renewed_ns)


def _short_of_pods(view: ClusterView, pause: Pause) -> Sequence[str]:
    """Return workloads with a ReplicaSet that has fewer pods than its controller counts; none if most have."""
    listed = {pod.namespace for pod in view.state.pods.values()}
    counted = (item for item in view.state.of(Kind.REPLICASET).values() if item.counted and item.namespace in listed)
    sets = {item.uid: item for item in counted if item.uid}
    pods = Counter[str]()
    for pod in with_pauses([*view.state.pods.values()] if sets else (), pause):
        owner = controller_of(pod.owners)
        if owner is not None and pod.is_active:
            pods[owner.uid] += 1
    short = [item for uid, item in sets.items() if pods[uid] < min(item.counted, item.replicas or 0)]
    # If most are short, only some of the pods were listed.
    if 2 * len(short) > len(sets):
        return ()
    return [*dict.fromkeys(str(view.owners.behind(Kind.REPLICASET, item.namespace, item.name)) for item in short)]


def _is_ending(view: ClusterView, namespace: str) -> bool:
    found = view.state.of(Kind.NAMESPACE).get(namespace)
    return found is not None and found.is_deleting


def _last_ends(view: ClusterView, jobs: Collection[str], pause: Pause) -> dict[str, int]:
    """Return when the last pod of Jobs (UIDs) ended."""
    ends = dict[str, int]()
    for pod in with_pauses([*view.state.pods.values()] if jobs else (), pause):
        owner = controller_of(pod.owners)
        if pod.is_terminal and owner is not None and owner.uid in jobs:
            ends[owner.uid] = max(ends.get(owner.uid, 0), pod.ended_ns or pod.start_ns or pod.created_ns)
    return ends


def _event(reason: str, about: tuple[str, str, str], message: str, times: tuple[int, int]) -> Event:
    kind, namespace, name = about
    event = Event(name=f"{kind}.{name}.{reason}", namespace=namespace, reason=reason, message=message, type="Warning")
    event = replace(event, source=KUBELET if kind == Kind.POD else "", first_ns=times[0], last_ns=times[1])
    return replace(event, involved_kind=kind, involved_namespace=namespace, involved_name=name)


def _place(pod: Pod) -> tuple[str, str]:
    """Return a pod's controller (UID), and its node if a DaemonSet made it: another takes its place there."""
    owner = controller_of(pod.owners)
    return (owner.uid if owner is not None else pod.uid), pod.node_name if pod.template.is_daemonset_owned else ""


def _newest_running(view: ClusterView, failed: Sequence[Pod], pause: Pause) -> dict[tuple[str, str], int]:
    """Return when the newest pod that runs in the place of failed pods was created: it replaces older ones."""
    places, newest = {_place(pod) for pod in failed}, dict[tuple[str, str], int]()
    for pod in with_pauses([*view.state.pods.values()] if places else (), pause):
        if pod.phase == "Running" and (place := _place(pod)) in places:
            newest[place] = max(newest.get(place, 0), pod.created_ns)
    return newest
