"""Pending pods that kube-scheduler would place by preempting pods whose priority is lowered (approximated).

Rules: ``pkg/scheduler/framework/plugins/defaultpreemption`` of Kubernetes: an unschedulable pod preempts the fewest
pods of lower priority that make room on one node; among equal nodes the node whose pods started last. Not modelled:
``preemptionPolicy: Never``, PodDisruptionBudgets, which only choose between nodes, and other pods of low priority.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec
from msgspec.structs import replace

from karptui.kube.group import group_by
from karptui.kube.pod import Pod
from karptui.provisioning.destination import Destination
from karptui.provisioning.kube_scheduler import Scheduler, Taker, bound_pods
from karptui.provisioning.prepared import Prepared
from karptui.whatif.situation import Situation


class Preemption(msgspec.Struct, frozen=True):
    """A pod that becomes schedulable, and the preempted pods."""

    pod_key: str
    node_name: str
    victims: tuple[Pod, ...]


def preemptions(situation: Situation, lowered: Collection[str], priority: int) -> tuple[Preemption, ...]:
    """Return the pods that would preempt others whose priority is lowered, in kube-scheduler's order.

    Args:
        lowered: ``namespace/name`` of the pods.
    """
    virtual = {pod.uid for pod in situation.prepared.buffer_pods}
    pending = (pod for pod in situation.prepared.pending if pod.uid not in virtual)
    waiting = [pod for pod in pending if pod.template.priority > priority]
    if not waiting or not lowered:
        return ()
    pods = situation.inventory.pods
    emptied = situation.derive(replace(situation.inventory, pods=tuple(pod for pod in pods if pod.key not in lowered)))
    present = group_by((pod for pod in pods if pod.key in lowered and pod.node_name), lambda pod: pod.node_name)
    as_it_is, without = (Scheduler(s.prepared, bound_pods(s.inventory.pods)) for s in (situation, emptied))
    predicted: list[Preemption] = []
    for pod in sorted(waiting, key=lambda pod: (-pod.template.priority, pod.created_ns, pod.key)):
        if as_it_is.place([pod]):  # it fits without preemption
            continue
        choices: list[tuple[tuple[Pod, ...], Taker]] = []
        for taker in without.takers(pod):
            node, _, _ = taker
            victims = _victims(without, emptied.prepared, pod, node, present.get(node.state.name, ()))
            choices.append((victims, taker))
        if not choices:
            continue
        victims, taker = min(
            choices,
            key=lambda c: (len(c[0]), -min((pod.start_ns for pod in c[0]), default=0), c[1][0].index),
        )
        without.add(pod, taker)
        node_name = taker[0].state.name
        present[node_name] = [pod for pod in present.get(node_name, ()) if pod not in victims]
        if victims:
            predicted.append(Preemption(pod.key, node_name, victims))
    return tuple(predicted)


def _victims(
    scheduler: Scheduler, prepared: Prepared, pod: Pod, node: Destination, present: Sequence[Pod]
) -> tuple[Pod, ...]:
    """Return the preempted pods of a node.

    Args:
        scheduler: The node's placements without the candidates.
        prepared: The cluster without the candidates.
        present: The candidates; the oldest stay if possible.
    """
    left = [have - need for have, need in zip(scheduler.room(node), prepared.queued(pod).owner.row, strict=True)]
    ended: list[Pod] = []
    for candidate in sorted(present, key=lambda other: (other.start_ns, other.key)):
        row = prepared.columns.row(candidate.template.requests, pods=1)
        rest = [have - need for have, need in zip(left, row, strict=True)]
        if min(rest, default=0) < 0:
            ended.append(candidate)
        else:
            left = rest
    return tuple(ended)
