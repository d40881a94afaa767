"""Events concluded from statuses, for lists without events: kubelets and controllers write the same there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from karptui.decode.kinds import Kind
from karptui.disruption.churn.moves import KUBELET
from karptui.kube.objects import Event, controller_of
from karptui.kube.pod import Pod
from karptui.provisioning.reporter import Pause, no_pause, with_pauses
from karptui.verdict.creation import FAILED_CREATE

if TYPE_CHECKING:
    from karptui.session.cluster_view import ClusterView


def events_of_pods(view: ClusterView, failed: Sequence[Pod], pause: Pause = no_pause) -> Iterator[Event]:
    """Yield why pods failed, unless an event tells it, or a pod that runs has replaced one that was rejected."""
    events = view.state.events.values() if failed else ()
    told = {(event.reason, event.involved_namespace, event.involved_name) for event in events}
    newest = _newest_running(view, failed, pause)
    for pod in failed:
        reason = pod.trouble.failure
        is_over = reason != "Evicted" and newest.get(_place(pod), 0) > pod.created_ns
        if not is_over and (reason, pod.namespace, pod.name) not in told:
            at_ns = pod.ended_ns or pod.start_ns or pod.created_ns
            yield _event(reason, (Kind.POD, pod.namespace, pod.name), pod.trouble.message, (at_ns, at_ns))


def events_of_workloads(view: ClusterView, now_ns: int) -> Iterator[Event]:
    """Yield why workloads cannot create pods, unless an event tells it; their condition is true until now."""
    # A Deployment repeats the condition of its ReplicaSet.
    kind = Kind.REPLICASET if view.state.of(Kind.REPLICASET) else Kind.DEPLOYMENT
    workloads = (*view.state.of(kind).values(), *view.state.of(Kind.REPLICATION_CONTROLLER).values())
    failures = [
        (workload, failure)
        for workload in workloads
        if (failure := workload.failure) is not None and failure.status == "True" and failure.reason == FAILED_CREATE
    ]
    events = [event for event in view.state.events.values() if event.reason == FAILED_CREATE] if failures else ()
    told = {(event.involved_kind, event.involved_namespace, event.involved_name) for event in events}
    for workload, failure in failures:
        place = (workload.kind, workload.namespace, workload.name)
        if workload.replicas and place not in told:
            yield _event(FAILED_CREATE, place, failure.message, (failure.last_transition_ns, now_ns))


def _event(reason: str, about: tuple[str, str, str], message: str, times: tuple[int, int]) -> Event:
    kind, namespace, name = about
    event = Event(name=f"{kind}.{name}.{reason}", namespace=namespace, reason=reason, message=message)
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
