"""Why a node that exists does not take a pod."""

from __future__ import annotations

import msgspec

from karptui.karpenter.labels import HOSTNAME
from karptui.kube.quantity import Quantity, QuantityFormat
from karptui.kube.taints import untolerated
from karptui.provisioning.destination import Destination
from karptui.provisioning.node_check import FilledNode
from karptui.provisioning.ports import clash
from karptui.provisioning.problem import QueuedPod
from karptui.provisioning.rejection import Gate
from karptui.provisioning.run import Run
from karptui.provisioning.stage_run import StageRun
from karptui.provisioning.topology_spec import host_allowed


class NodeRefusal(msgspec.Struct, frozen=True):
    """One node, the first gate that the pod does not pass there, and what is missing."""

    node: str
    gate: Gate
    reason: str


def refusal_of(run: Run, queued: QueuedPod, stage_run: StageRun, destination: Destination) -> NodeRefusal | None:
    """Return why a node does not take a pod, None where it does or would."""
    filled = run.node_check.filled.get(destination.index)
    if filled is not None and any(pod.uid == queued.pod.uid for pod in filled.pods):
        return None
    gate, reason = _first_gate(run, queued, stage_run, destination, filled)
    return NodeRefusal(destination.state.name, gate, reason) if gate is not None else None


def _first_gate(
    run: Run, queued: QueuedPod, stage_run: StageRun, destination: Destination, filled: FilledNode | None
) -> tuple[Gate | None, str]:
    """Return the first gate that fails, in Karpenter's order."""
    kind = destination.kind
    if destination.state.provider_id in run.variant.excluded:
        return Gate.NODEPOOLS, "it is taken away"
    missing = untolerated(kind.taints, stage_run.stage.tolerations)
    if missing:
        return Gate.TAINTS, f"does not tolerate {', '.join(map(str, missing))}"
    if queued.owner.attachments is None:
        return Gate.VOLUMES, "a volume that the pod's claim is bound to does not exist"
    if destination.limits and run.node_check.exceeds_limits(queued, destination, filled):
        return Gate.VOLUMES, "more volumes than a driver may attach"
    taken = destination.ports if filled is None else filled.ports
    port = clash(queued.pod.key, queued.owner.host_ports, taken)
    if port is not None:
        return Gate.PORTS, f"host port {port[1].port} is taken by {port[0]}"
    shortage = _shortage(run, queued, destination, filled)
    if shortage:
        return Gate.ROOM, shortage
    labels = kind.labels if filled is None else filled.labels
    asked = stage_run.stage.asked.value
    reasons = [str(reason) for reason in labels.value.incompatibilities(asked)]
    if not host_allowed(stage_run.stage.asked_host, destination.hostname):
        reasons.append(f"key {HOSTNAME}, {stage_run.stage.asked_host} not in {HOSTNAME} In [{destination.hostname}]")
    if reasons:
        return Gate.REQUIREMENTS, "; ".join(reasons)
    if not stage_run.host_verdict(destination.hostname):
        return Gate.TOPOLOGY, "a rule on host names does not allow it here"
    if not run.node_check.labels_with(stage_run, labels, destination.hostname):
        gate = Gate.TOPOLOGY if stage_run.rules else Gate.VOLUMES
        return gate, "volumes or topology rules leave no domain here"
    return None, ""


def _shortage(run: Run, queued: QueuedPod, destination: Destination, filled: FilledNode | None) -> str:
    room = destination.room if filled is None else filled.room
    short = [
        f"{name} {_shown(name, need)} asked, {_shown(name, left)} left"
        for name, need, left in zip(run.prepared.columns.names, queued.owner.row, room, strict=True)
        if need > left
    ]
    if not short and destination.is_full:
        return "its pods and daemons ask more than it has"
    return ", ".join(short)


def _shown(resource: str, nano: int) -> Quantity:
    is_binary = resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-")
    return Quantity(nano, QuantityFormat.BINARY_SI if is_binary else QuantityFormat.DECIMAL_SI)
