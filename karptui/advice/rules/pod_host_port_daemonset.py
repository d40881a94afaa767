"""Pods that want a host port which a DaemonSet takes everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.facts.pods import PodGroup
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import ref_text
from karptui.advice.rule import Rule
from karptui.advice.words import counted, verb
from karptui.provisioning.ports import OwnedPorts, clash


def _find(context: AdviceContext) -> Iterator[Finding]:
    for group in context.workload_groups:
        if group.template.host_ports:
            finding = _of_group(context, group)
            if finding is not None:
                yield finding


def _of_group(context: AdviceContext, group: PodGroup) -> Finding | None:
    """Return a finding where on every type of every NodePool open to the pods a DaemonSet has the port."""
    templates = [one for one in context.prepared.templates if one.pool in context.pools_for(group.template)]
    taken: list[OwnedPorts] = []
    for template in templates:
        for own in template.groups:
            found = clash("", group.template.host_ports, own.ports)
            if found is None:
                return None
            taken.append((found[0], (found[1],)))
    if not taken:
        return None
    daemon, (port, *_) = taken[0]
    waiting = sum(1 for pod in group.pods if not pod.node_name)
    return Finding(
        severity=Severity.ERROR if waiting else Severity.WARNING,
        objects=(group.owner,),
        fact=f"{counted(len(group.pods), 'pod')} of {ref_text(group.owner)} {verb(len(group.pods), 'wants', 'want')} "
        f"host port {port.port}/{port.protocol}, which the DaemonSet pod {daemon} takes on every node that they could "
        f"get: no new node can carry them ({counted(waiting, 'waits', 'wait')}), and the message speaks of "
        "requirements, resources or offerings.",
    )


RULE: Final = Rule(
    id="pod-host-port-daemonset",
    title="a host port that a DaemonSet has",
    what="On every instance type of every NodePool open to a pod, a DaemonSet takes a host port that the pod wants.",
    why="Types whose DaemonSets clash with the pod's ports are left out without being counted, so the error names "
    "requirements, resources and offerings, and says nothing of ports.",
    source="pkg/controllers/provisioning/scheduling/nodeclaim.go",
    remedy="Use another port, or keep the DaemonSet off a NodePool for these pods.",
    find=_find,
)
