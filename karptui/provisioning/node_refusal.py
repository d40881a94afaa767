"""Why an existing node rejects a pod: the first gate that fails, in Karpenter's order."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from karptui.karpenter.labels import HOSTNAME
from karptui.kube.quantity import Quantity, QuantityFormat
from karptui.kube.resources import Shortage
from karptui.kube.taints import untolerated
from karptui.kube.units import is_in_bytes
from karptui.provisioning.destination import Destination
from karptui.provisioning.node_check import FilledNode
from karptui.provisioning.ports import clash
from karptui.provisioning.rejection import PlacementGate
from karptui.provisioning.run import Run
from karptui.provisioning.stage_memory import StageMemory
from karptui.provisioning.topology_spec import host_allowed
from karptui.provisioning.waiting_pods import QueuedPod


class NodeRefusal(msgspec.Struct, frozen=True):
    """A node, the first gate that the pod fails there, and the shortage."""

    node: str
    gate: PlacementGate
    reason: str = ""
    """The unmet condition; empty for shortages of resources."""
    shortages: tuple[Shortage, ...] = ()
    """Resources that are insufficient on the node."""


def refusal_of(run: Run, queued: QueuedPod, stage_memory: StageMemory, destination: Destination) -> NodeRefusal | None:
    """Return the reason why a node rejects a pod, None if the pod is or could be there."""
    filled = run.node_check.filled.get(destination.index)
    if filled is not None and any(pod.uid == queued.pod.uid for pod in filled.pods):
        return None
    gate, missing = _first_gate(run, queued, stage_memory, destination, filled)
    if gate is None:
        return None
    name = destination.state.name
    return NodeRefusal(name, gate, missing) if isinstance(missing, str) else NodeRefusal(name, gate, shortages=missing)


def _first_gate(
    run: Run, queued: QueuedPod, stage_memory: StageMemory, destination: Destination, filled: FilledNode | None
) -> tuple[PlacementGate | None, str | tuple[Shortage, ...]]:
    """Return the first gate that fails, in Karpenter's order, and the reason."""
    kind = destination.kind
    if destination.state.provider_id in run.variant.excluded:
        return PlacementGate.NODEPOOLS, "it is removed"
    missing = untolerated(kind.taints, stage_memory.stage.tolerations)
    if missing:
        return PlacementGate.TAINTS, f"does not tolerate {', '.join(map(str, missing))}"
    if queued.owner.attachments is None:
        return PlacementGate.VOLUMES, "the volume bound to the pod's claim does not exist"
    if destination.limits and run.node_check.exceeds_limits(queued, destination, filled):
        return PlacementGate.VOLUMES, "more volumes than a driver can attach"
    used_ports = destination.ports if filled is None else filled.ports
    port = clash(queued.pod.key, queued.owner.host_ports, used_ports)
    if port is not None:
        return PlacementGate.PORTS, f"host port {port[1].port} is used by {port[0]}"
    room = destination.room if filled is None else filled.room
    shortages = shortages_of(run.prepared.columns.names, queued.owner.row, room)
    if shortages:
        return PlacementGate.ROOM, shortages
    if destination.is_full:
        return PlacementGate.ROOM, "its pods and DaemonSets request more than it has"
    labels = kind.labels if filled is None else filled.labels
    requirements = stage_memory.stage.asked.value
    reasons = [str(reason) for reason in labels.value.incompatibilities(requirements)]
    if not host_allowed(stage_memory.stage.asked_host, destination.hostname):
        reasons.append(f"key {HOSTNAME}, {stage_memory.stage.asked_host} not in {HOSTNAME} In [{destination.hostname}]")
    if reasons:
        return PlacementGate.REQUIREMENTS, "; ".join(reasons)
    for unmet in stage_memory.unmet_on(destination.hostname):
        return PlacementGate.TOPOLOGY, f"{unmet} does not allow it here"
    if not run.node_check.labels_with(stage_memory, labels, destination.hostname):
        gate = PlacementGate.TOPOLOGY if stage_memory.rules else PlacementGate.VOLUMES
        return gate, "volumes or topology rules leave no domain here"
    return None, ""


def shortages_of(names: Iterable[str], needs: Iterable[int], room: Iterable[int]) -> tuple[Shortage, ...]:
    """Return the resources that are insufficient, with amounts in nano-units."""
    return tuple(
        Shortage(name, _quantity_of(name, need), _quantity_of(name, left))
        for name, need, left in zip(names, needs, room, strict=True)
        if need > left
    )


def _quantity_of(resource: str, nano: int) -> Quantity:
    """Return an amount in nano-units as a quantity in the resource's usual format."""
    return Quantity(nano, QuantityFormat.BINARY_SI if is_in_bytes(resource) else QuantityFormat.DECIMAL_SI)
