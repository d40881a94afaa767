"""What pods that fail have in common, and findings about them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from karptui.karpenter.labels import OS
from karptui.kube.group import group_by
from karptui.kube.timestamps import MINUTE_NS
from karptui.verdict.case import OutlivedPod, StartingPod, VerdictCase, VerdictNode
from karptui.verdict.finding import ClusterFinding, FindingCode, FindingSeverity, Manner, Shared, began
from karptui.verdict.pending_pods import folded_names

PATHS: Final = re.compile(r"(?<![\w\"])/[\w./~-]+")
"""Paths of directories, which have the names of volumes and of pods."""
IDS: Final = re.compile(r'(?<=volume )"[^"]+"|\b(?:\w+-)?[0-9a-f]{6,}(?:-[0-9a-f]{4,})*\b|\b\d+(?:\.\d+){3}(?::\d+)?\b')
"""Names of volumes, identifiers of volumes, instances and sandboxes, and IP addresses."""
FEWEST_CRASHING: Final = 2
"""Fewest crashing pods whose common platform is evidence of the cause."""
CRASHED_NS: Final = 15 * MINUTE_NS
"""Pods may crash while a rollout finds its dependencies; pods that are older have tried often."""
DAEMONSET: Final = "DaemonSet/"
KUBE_SYSTEM: Final = "kube-system/"
_OF_ALL: Final = frozenset(Shared) - {Shared.TYPE}
"""Properties that pods of any workload may have in common: those that are not of DaemonSets share a type by chance."""
_WITH_REVISIONS: Final = ("Deployment/", "Rollout/")
FEWEST_ALIKE: Final = 3
"""Fewest crashing pods for which a common property of their nodes is no coincidence."""
_FAMILIES: Final = ("/instance-family", "/sku-family")
"""Ends of labels with the family of an instance type; the labels are the providers'."""


def only_zone(lines: Mapping[str, VerdictNode], names: Sequence[str]) -> tuple[str, ...]:
    """Return the zone of nodes if all of them are in one, and others of the cluster are not."""
    zones = {lines[name].zone if name in lines else "" for name in names}
    others = {line.zone for line in lines.values()} - zones
    return tuple(zones) if len(names) >= FEWEST_ALIKE and len(zones) == 1 and "" not in zones and others else ()


def platform(line: VerdictNode) -> str:
    """Return the platform of a node: ``linux/arm64``; empty if the node is not read."""
    return f"{line.node.labels.get(OS, 'linux')}/{line.node.architecture}" if line.node is not None else ""


class _Difference(NamedTuple):
    """A property that only the nodes with crashing pods share."""

    manner: Manner
    shared: Shared
    bad: str
    good: tuple[str, ...]


def _family(line: VerdictNode) -> str:
    labels = line.node.labels if line.node is not None else {}
    family = next((value for key, value in labels.items() if key.endswith(_FAMILIES)), "")
    return family or line.instance_type.partition(".")[0]


PROPERTIES: Final[Mapping[Shared, Callable[[VerdictNode], str]]] = {
    Shared.PLATFORM: platform,
    Shared.NODE: lambda line: line.name,
    Shared.FAMILY: _family,
    Shared.ZONE: lambda line: line.zone,
    Shared.POOL: lambda line: line.pool,
    Shared.IMAGE: lambda line: line.node.os_image if line.node is not None else "",
    Shared.TYPE: lambda line: line.instance_type,
}
"""Properties shared by nodes that can explain a crash or a silent kubelet, the likeliest first."""


def ready_of_other_revisions(case: VerdictCase, pods: Sequence[StartingPod]) -> int:
    """Return the number of ready pods of other revisions of a Deployment or Argo Rollout."""
    return len(case.running_on.get(pods[0].owner, ())) if pods[0].owner.startswith(_WITH_REVISIONS) else 0


def serves_others(pod: StartingPod) -> bool:
    """Return whether other pods need a pod: their crashes are its consequence."""
    return pod.owner.startswith(DAEMONSET) or pod.key.startswith(KUBE_SYSTEM)


def difference_fields(difference: _Difference | None) -> dict[str, Any]:
    """Return the fields of a finding for the property that only the nodes with crashing pods share."""
    if difference is None:
        return {}
    is_node = difference.shared is Shared.NODE
    return {
        "severity": FindingSeverity.WARNING if is_node else FindingSeverity.ERROR,
        "reasons": (difference.shared, difference.bad, *difference.good),
        "manner": difference.manner,
    }


def merged_failures(
    case: VerdictCase, controllers: dict[str, list[StartingPod]], properties: Collection[Shared] = _OF_ALL
) -> Iterator[tuple[_Difference, list[StartingPod]]]:
    """Take the pods of several workloads that fail alike on nodes which share something, if their others run elsewhere.

    Most of the workloads must have it in common: a few are on such nodes by chance, and so is one pod of two in a zone.
    """
    lines = {line.name: line for line in case.nodes if line.not_ready_ns is None}
    late = {
        controller: pods
        for controller, pods in controllers.items()
        if case.running_on.get(controller) and not serves_others(pods[0])
        if case.now_ns - min(pod.since_ns for pod in pods) >= CRASHED_NS
    }
    votes: defaultdict[tuple[Shared, str], dict[str, Sequence[str]]] = defaultdict(dict)
    for controller, pods in late.items():
        runs = case.running_on[controller]
        is_sure = len(pods) >= FEWEST_CRASHING and len(runs) >= FEWEST_CRASHING
        for difference in _differences(lines, {pod.node for pod in pods}, runs):
            if difference.shared in properties and (is_sure or difference.shared is Shared.NODE):
                votes[difference.shared, difference.bad][controller] = difference.good
    (shared, bad), good = max(votes.items(), key=lambda vote: len(vote[1]), default=((Shared.NODE, ""), {}))
    ends = {exit_reason(late[key]) for key in good}
    if len(good) >= FEWEST_ALIKE and 4 * len(good) >= 3 * len(late) and len(ends) == 1:
        others = tuple(sorted({value for values in good.values() for value in values}))
        yield _Difference(Manner.BY_NODES, shared, bad, others), [pod for key in good for pod in controllers.pop(key)]


def exit_reason(pods: Sequence[StartingPod]) -> str:
    """Return the common exit reason of containers (``OOMKilled``) or exit code; empty if they differ."""
    ends = {pod.exit_reason if pod.exit_reason not in ("", "Error") else str(pod.exit_code or "") for pod in pods}
    ends.discard("")
    return ends.pop() if len(ends) == 1 else ""


def of_late_pods(pods: Sequence[StartingPod], manner: Manner, **more: Any) -> ClusterFinding:
    """Return a finding about pods that are late since the first of them was."""
    return of_pods(
        pods, "", "", **began(pod.since_ns for pod in pods), stuck_pods=(pods[0].node,), manner=manner, **more
    )


def of_pods(pods: Sequence[StartingPod | OutlivedPod], *names: str, **more: Any) -> ClusterFinding:
    """Return a finding about pods, whose names follow the given ones."""
    nodes = tuple(dict.fromkeys(pod.node for pod in pods))
    owners = {owner: [pod.key for pod in own] for owner, own in group_by(pods, lambda pod: pod.owner).items()}
    given = {"severity": FindingSeverity.WARNING, "code": FindingCode.PODS_NOT_STARTING, "screen": "pods", **more}
    return ClusterFinding(
        objects=(*(f"Pod/{pod.key}" for pod in pods), *(f"Node/{name}" for name in nodes)),
        names=(*names, *folded_names(owners)),
        nodes=len(nodes),
        pods=len(pods),
        is_outdated=all(isinstance(pod, StartingPod) and pod.is_outdated for pod in pods),
        **given,
    )


def common_difference(
    lines: Mapping[str, VerdictNode], bad: Sequence[str], good: Collection[str], pods: Sequence[StartingPod]
) -> _Difference | None:
    """Return the property that only the nodes with crashing pods share; None if there is none."""
    is_sure = len(pods) >= FEWEST_ALIKE and len({*good} - {*bad}) >= FEWEST_CRASHING
    known = (Shared.PLATFORM,) if not is_sure else tuple(Shared) if pods[0].owner.startswith(DAEMONSET) else _OF_ALL
    differences = _differences(lines, bad, good) if len(pods) >= FEWEST_CRASHING else ()
    return next((found for found in differences if found.shared in known), None)


def _differences(
    lines: Mapping[str, VerdictNode], bad: Collection[str], good: Collection[str]
) -> Iterator[_Difference]:
    """Yield each property that nodes with failing pods share and those with running pods lack."""
    for shared, value_of in PROPERTIES.items():
        here = {value_of(lines[name]) if name in lines else "" for name in bad}
        there = {value_of(lines[name]) if name in lines else "" for name in good}
        is_known = there and "" not in (here if shared is Shared.POOL else here | there)
        if len(here) == 1 and is_known and not here & there:
            others = () if shared is Shared.NODE else tuple(sorted(there))
            manner = Manner.BY_PLATFORM if shared is Shared.PLATFORM else Manner.BY_NODES
            yield _Difference(manner, shared, here.pop(), others)
