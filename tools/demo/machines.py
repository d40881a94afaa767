"""Nodes and NodeClaims of the demo, with the capacities of real EC2 types."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from karptui.aws.instance_types import allocatable, instance_types
from karptui.aws.nodeclass import parse_spec_and_status
from karptui.aws.prices import built_in_market
from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.settings import Settings
from karptui.kube.quantity import Quantity, QuantityFormat, of_units
from karptui.kube.resources import EPHEMERAL_STORAGE, MEMORY, subtract
from karptui.sources.demo.karpenter import ZONES
from karptui.sources.demo.world import LIFECYCLE, Manifest, a_suffix, a_uid, condition, metadata, owner_of
from tools.demo.pools import CURRENT_AMI, OLD_AMI

MINUTE_NS: Final = 60 * 10**9
HOUR_NS: Final = 60 * MINUTE_NS
REAL_OVERHEAD: Final = {"r5a.8xlarge": 0.035374}
"""Share of the advertised memory that a node does not have, by type; other types get 3.1 to 3.9 percent."""
LEFT_OUT: Final = ("kubernetes.io/os",)


@dataclass(slots=True)
class Machine:
    """A node, its NodeClaim, and its free resources."""

    node: Manifest
    claim: Manifest | None
    pool: str
    free: dict[str, int] = field(default_factory=dict)
    """Millicores, bytes and pod slots."""
    is_spared: bool = False
    """Whether no workload pods are placed on it."""

    @property
    def name(self) -> str:
        """The node's name."""
        return str(self.node["metadata"]["name"])


class Foundry:
    """Makes machines of real EC2 types."""

    def __init__(
        self, rng: random.Random, now_ns: int, nodepools: Iterable[Manifest], nodeclasses: Iterable[Manifest]
    ) -> None:
        self._rng = rng
        self._now_ns = now_ns
        self._pools = {pool["metadata"]["name"]: pool for pool in nodepools}
        self._types: dict[str, dict[str, InstanceType]] = {}
        self._names: set[str] = set()
        for manifest in nodeclasses:
            nodeclass = parse_spec_and_status(manifest["metadata"]["name"], manifest["spec"], manifest["status"])
            market = built_in_market("us-east-1", nodeclass.zones, {})
            types = instance_types(nodeclass, Settings(), market)
            self._types[nodeclass.name] = {one.name: one for one in types}

    def machine(
        self,
        pool: str,
        type_name: str,
        *,
        age_ns: int,
        capacity_type: str = "on-demand",
        zone_index: int | None = None,
        image: str | None = None,
        name: str = "",
    ) -> Machine:
        """Return a node that has been running for ``age_ns``, with its NodeClaim; its name is random unless given."""
        manifest = self._pools[pool]
        template = manifest["spec"]["template"]
        class_name = template["spec"]["nodeClassRef"]["name"]
        instance = self._types[class_name][type_name]
        zone, zone_id = ZONES[self._rng.randrange(3) if zone_index is None else zone_index]
        created = self._now_ns - age_ns
        labels = {
            **_labels_of(instance, zone, zone_id, capacity_type),
            **template["metadata"]["labels"],
            "karpenter.sh/nodepool": pool,
            "karpenter.k8s.aws/ec2nodeclass": class_name,
        }
        chosen_image = image or CURRENT_AMI[labels["kubernetes.io/arch"]]
        planned = allocatable(instance)
        real = _seen_by_kubelet(instance)
        provider_id = f"aws:///{zone}/i-0{self._rng.getrandbits(64):016x}"
        name = name or self._node_name()
        claim = {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodeClaim",
            "metadata": {
                **metadata(
                    f"{pool}-{a_suffix(self._rng)}",
                    uid=a_uid(self._rng),
                    created_ns=created,
                    labels=labels,
                    annotations={
                        "karpenter.sh/nodepool-hash": "5138746221",
                        "karpenter.sh/nodepool-hash-version": "v3",
                    },
                    owner=owner_of(manifest),
                ),
                "generation": 1,
            },
            "spec": {
                **{key: template["spec"][key] for key in ("nodeClassRef", "expireAfter")},
                **{
                    key: template["spec"][key]
                    for key in ("taints", "terminationGracePeriod")
                    if key in template["spec"]
                },
                "requirements": [
                    *template["spec"]["requirements"],
                    {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": [type_name]},
                ],
                "resources": {"requests": {"cpu": "490m", "memory": "938Mi", "pods": "9"}},
            },
            "status": {
                "nodeName": name,
                "providerID": provider_id,
                "imageID": chosen_image,
                # After the first node of a type, Karpenter plans with the memory that this node reported.
                "capacity": _texts(
                    instance.capacity if image == OLD_AMI else {**instance.capacity, MEMORY: real[MEMORY]}
                ),
                "allocatable": _texts(planned if image == OLD_AMI else _less(real, instance)),
                "conditions": [
                    *(
                        condition(kind, "True", created + (index + 1) * 20 * 10**9)
                        for index, kind in enumerate(LIFECYCLE)
                    ),
                    condition("Ready", "True", created + 62 * 10**9),
                ],
            },
        }
        node_labels = {
            **labels,
            "kubernetes.io/hostname": name,
            "karpenter.sh/registered": "true",
            "karpenter.sh/initialized": "true",
        }
        node = self._node(
            name, node_labels, provider_id, created + 35 * 10**9, capacity=real, room=_less(real, instance)
        )
        node["spec"]["taints"] = [dict(taint) for taint in template["spec"].get("taints", ())]
        return Machine(node, claim, pool, _free(_less(real, instance)))

    def unmanaged(self, type_name: str, *, age_ns: int, zone_index: int) -> Machine:
        """Return a node of a managed node group, on which Karpenter itself runs."""
        instance = self._types["default"][type_name]
        zone, zone_id = ZONES[zone_index]
        name = self._node_name()
        labels = {
            **{
                key: value
                for key, value in _labels_of(instance, zone, zone_id, "on-demand").items()
                if "karpenter" not in key
            },
            "eks.amazonaws.com/nodegroup": "system",
            "eks.amazonaws.com/capacityType": "ON_DEMAND",
            "kubernetes.io/hostname": name,
        }
        real = _seen_by_kubelet(instance)
        room = _less(real, instance)
        provider_id = f"aws:///{zone}/i-0{self._rng.getrandbits(64):016x}"
        node = self._node(name, labels, provider_id, self._now_ns - age_ns, capacity=real, room=room)
        return Machine(node, None, "", _free(room), is_spared=True)

    def _node_name(self) -> str:
        while True:
            name = f"ip-10-0-{self._rng.randint(1, 127)}-{self._rng.randint(4, 250)}.ec2.internal"
            if name not in self._names:
                self._names.add(name)
                return name

    def _node(
        self,
        name: str,
        labels: Mapping[str, str],
        provider_id: str,
        created_ns: int,
        *,
        capacity: Mapping[str, Quantity],
        room: Mapping[str, Quantity],
    ) -> Manifest:
        heartbeats = ("MemoryPressure", "DiskPressure", "PIDPressure")
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": metadata(name, uid=a_uid(self._rng), created_ns=created_ns, labels=labels),
            "spec": {"providerID": provider_id},
            "status": {
                "capacity": _texts(capacity),
                "allocatable": _texts(room),
                "conditions": [
                    *(condition(kind, "False", created_ns, reason=f"KubeletHasNo{kind}") for kind in heartbeats),
                    condition(
                        "Ready",
                        "True",
                        created_ns + 12 * 10**9,
                        reason="KubeletReady",
                        message="kubelet is posting ready status",
                    ),
                ],
                "addresses": [
                    {"type": "InternalIP", "address": name.partition(".")[0].removeprefix("ip-").replace("-", ".")},
                    {"type": "Hostname", "address": name},
                ],
                "nodeInfo": {
                    "kubeletVersion": "v1.35.2-eks-7f1c2a9",
                    "osImage": "Amazon Linux 2023.9.20261105",
                    "architecture": labels["kubernetes.io/arch"],
                    "operatingSystem": "linux",
                    "kernelVersion": "6.12.53-69.119.amzn2023",
                    "containerRuntimeVersion": "containerd://2.1.4",
                },
            },
        }


def _labels_of(instance: InstanceType, zone: str, zone_id: str, capacity_type: str) -> dict[str, str]:
    single = {one.key: one.values[0] for one in instance.requirements if one.operator == "In" and len(one.values) == 1}
    return {
        **{key: value for key, value in sorted(single.items()) if key not in LEFT_OUT},
        "kubernetes.io/os": "linux",
        "topology.kubernetes.io/zone": zone,
        "topology.k8s.aws/zone-id": zone_id,
        "karpenter.sh/capacity-type": capacity_type,
    }


def _seen_by_kubelet(instance: InstanceType) -> dict[str, Quantity]:
    advertised = next(
        int(one.values[0]) for one in instance.requirements if one.key == "karpenter.k8s.aws/instance-memory"
    )
    share = REAL_OVERHEAD.get(instance.name, 0.031 + random.Random(instance.name).random() * 0.008)
    kibibytes = int(advertised * 1024 * (1 - share)) // 4 * 4
    room = {name: amount for name, amount in instance.capacity.items() if amount}
    return {**room, MEMORY: of_units(kibibytes * 1024, QuantityFormat.BINARY_SI)}


def _less(capacity: Mapping[str, Quantity], instance: InstanceType) -> dict[str, Quantity]:
    kept = instance.overhead
    room = dict(capacity)
    for part in (kept.kube_reserved, kept.system_reserved, kept.eviction_threshold):
        room = subtract(room, part)
    return room


def _texts(amounts: Mapping[str, Quantity]) -> dict[str, str]:
    return {name: str(amount) for name, amount in amounts.items() if amount or name in (MEMORY, EPHEMERAL_STORAGE)}


def _free(room: Mapping[str, Quantity]) -> dict[str, int]:
    return {"cpu": room["cpu"].millis, "memory": room["memory"].units, "pods": room["pods"].units}
