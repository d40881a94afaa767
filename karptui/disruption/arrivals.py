"""Pods that lately came to a node: a node that keeps receiving pods is slow to go."""

from __future__ import annotations

from typing import Final

from karptui.disruption.fleet import Fleet
from karptui.kube.pod import Pod
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.provisioning.state_node import StateNode

HOUR_NS: Final = 3600 * NS_PER_SECOND


def arrivals(fleet: Fleet, node: StateNode, within_ns: int = HOUR_NS) -> tuple[Pod, ...]:
    """Return the pods still on a node that were bound to it lately, the latest first; DaemonSets' pods do not count.

    Pods that have come and gone meanwhile are not seen.
    """
    since_ns = fleet.now_ns - within_ns
    found = [
        pod
        for pod in node.pods
        if pod.scheduled_ns > since_ns and not fleet.pods.traits(pod.template).is_daemonset_owned
    ]
    return tuple(sorted(found, key=lambda pod: (-pod.scheduled_ns, pod.key)))
