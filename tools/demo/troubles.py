"""Further problems of the demo: GPUs, insufficient capacity, volumes in two zones, NodePool weights, churn."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any, Final

from karptui.sources.demo.machines import NO_CAPACITY
from karptui.sources.demo.world import Manifest, a_suffix, a_uid, condition, event, metadata, pod_spec, with_condition
from tools.demo.machines import MINUTE_NS, Foundry, Machine
from tools.demo.pools import DAY_NS, a_pool, one_of
from tools.demo.workloads import Planter, Workload

GPU: Final = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
ACCELERATED: Final = {"company.io/accelerator": "nvidia"}
ON_GPU: Final = {
    "tolerations": ({"key": GPU["key"], "operator": "Exists", "effect": "NoSchedule"},),
    "node_selector": ACCELERATED,
}
ON_C6A: Final = {"node_selector": {"karpenter.k8s.aws/instance-family": "c6a"}}
SPOT_ONLY: Final = {"karpenter.sh/capacity-type": "spot"}
SECOND_NS: Final = 10**9
NO_GPUS: Final = NO_CAPACITY.format(type="g5.2xlarge", zone="us-east-1a")


def nodepools(rng: random.Random, now_ns: int) -> list[Manifest]:
    """Return a NodePool that fits the same pods as general but has a weight lower by one, and a NodePool for GPUs."""
    families = ("m7i", "c7i", "r7i", "m7a", "c7a", "r7a")
    return [
        a_pool(
            rng,
            now_ns - 40 * DAY_NS,
            "overflow",
            "takes the same pods as general, and is meant to share them with it",
            weight=49,
            requirements=[
                one_of("karpenter.sh/capacity-type", "spot", "on-demand"),
                one_of("kubernetes.io/arch", "amd64"),
                one_of("karpenter.k8s.aws/instance-family", *families),
                one_of("karpenter.k8s.aws/instance-size", "xlarge", "2xlarge", "4xlarge"),
            ],
            limits={"cpu": "128"},
            consolidate_after="5m",
        ),
        a_pool(
            rng,
            now_ns - 30 * DAY_NS,
            "gpu",
            "models; one GPU a node",
            weight=20,
            requirements=[
                one_of("karpenter.sh/capacity-type", "spot", "on-demand"),
                one_of("kubernetes.io/arch", "amd64"),
                one_of("node.kubernetes.io/instance-type", "g5.xlarge", "g5.2xlarge"),
            ],
            taints=[GPU],
            labels=ACCELERATED,
            consolidate_after="10m",
        ),
    ]


def device_plugin(rng: random.Random, now_ns: int) -> Manifest:
    """Return the DaemonSet that registers the GPUs of nodes."""
    name, labels = "nvidia-device-plugin", {"app": "nvidia-device-plugin"}
    spec = pod_spec(
        cpu="50m",
        memory="64Mi",
        image="registry.example/nvidia-device-plugin:v0.17.1",
        tolerations=({"operator": "Exists"},),
        node_selector=ACCELERATED,
        priorityClassName="system-node-critical",
        priority=2000001000,
    )
    meta = metadata(name, uid=a_uid(rng), created_ns=now_ns - 30 * DAY_NS, namespace="kube-system", labels=labels)
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {**meta, "generation": 1},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": spec}},
    }


def machines(foundry: Foundry) -> list[Machine]:
    """Return the node of the last ``rounds``, an oversized spot node, a GPU node, and a GPU node without its GPU."""
    latest = foundry.machine("general", "m6a.xlarge", age_ns=12 * MINUTE_NS, capacity_type="spot", zone_index=0)
    # Its name is the last in order, so one key jumps to it.
    wide = foundry.machine(
        "general",
        "c7i.8xlarge",
        age_ns=2 * DAY_NS,
        capacity_type="spot",
        zone_index=0,
        name="ip-10-0-127-12.ec2.internal",
    )
    serving = foundry.machine("gpu", "g5.xlarge", age_ns=9 * DAY_NS, zone_index=0)
    broken = foundry.machine("gpu", "g5.xlarge", age_ns=31 * MINUTE_NS, zone_index=2)
    return [latest, wide, serving, broken]


def without_gpu(machine: Machine) -> None:
    """Remove the GPU from a ready node, as if its device plugin did not start; the node is never initialized."""
    assert machine.claim is not None
    for amounts in (machine.node["status"]["capacity"], machine.node["status"]["allocatable"]):
        del amounts[GPU["key"]]
    labels = machine.node["metadata"]["labels"]
    machine.node["metadata"]["labels"] = {key: labels[key] for key in labels if not key.endswith("/initialized")}
    message = f'Resource "{GPU["key"]}" was requested but not registered'
    unready = condition("Initialized", "Unknown", 0, reason="ResourceNotRegistered", message=message)
    since = machine.node["metadata"]["creationTimestamp"]
    claim = with_condition(machine.claim, {**unready, "lastTransitionTime": since})
    ready = condition("Ready", "Unknown", 0, reason="UnhealthyDependents", message="Initialized=Unknown")
    machine.claim = with_condition(claim, {**ready, "lastTransitionTime": since})
    machine.is_spared = True


def crashed(pod: Manifest) -> Manifest:
    """Return the pod with containers in CrashLoopBackOff."""
    waiting = {"waiting": {"reason": "CrashLoopBackOff"}}
    statuses = [{**one, "ready": False, "state": waiting} for one in pod["status"]["containerStatuses"]]
    status = {**pod["status"], "containerStatuses": statuses}
    started = condition("Ready", "False", 0, reason="ContainersNotReady")
    since = pod["metadata"]["creationTimestamp"]
    return with_condition({**pod, "status": status}, {**started, "lastTransitionTime": since})


class Troubles:
    """Makes the running and the pending pods of these problems."""

    def __init__(self, planter: Planter, rng: random.Random, now_ns: int) -> None:
        self._planter = planter
        self._rng = rng
        self._now_ns = now_ns
        self._codec = Workload("media", "codec", 2, 6_000, 10_240, options=ON_C6A)
        self._models = Workload("ml", "llm", 3, 2_500, 8_192, "StatefulSet", ON_GPU)
        self._owners = [planter.controller(one) for one in (self._codec, self._models)]
        # ``_pod`` adds the GPU to pods; their template gets it here.
        _with_gpu(self._owners[1]["spec"]["template"]["spec"])

    def _pod(self, workload: Workload, index: int, age_ns: int) -> Manifest:
        owner = self._owners[0] if workload is self._codec else self._owners[1]
        made = self._planter.new_pod(workload, owner, index, self._now_ns - age_ns)
        if workload is self._models:
            _with_gpu(made["spec"])
        return made

    def plant(self, found: Sequence[Machine]) -> None:
        """Add the running pods."""
        latest, wide, serving, _ = found
        self._planter.put(self._pod(self._models, 0, 8 * DAY_NS), serving)
        render = Workload("media", "render", 1, 24_500, 36_864, options={"node_selector": SPOT_ONLY})
        owner = self._planter.controller(render)
        self._planter.put(self._planter.new_pod(render, owner, 0, self._now_ns - 2 * DAY_NS), wide)
        geo = Workload("teams", "geo-tiles", 3, 800, 3_072)
        tiles = self._planter.controller(geo)
        for index in range(geo.replicas):
            self._planter.put(self._planter.new_pod(geo, tiles, index, self._now_ns - 11 * MINUTE_NS), latest)

    def arriving(self) -> list[Manifest]:
        """Return pods whose node is launching."""
        return [self._pod(self._codec, index, 56 * SECOND_NS) for index in range(2)]

    def limbo(self) -> Manifest:
        """Return the pod nominated for the node without its GPU."""
        return self._pod(self._models, 1, 32 * MINUTE_NS)

    def sold_out(self) -> Manifest:
        """Return the pod for which EC2 has insufficient capacity."""
        return self._pod(self._models, 2, 13 * MINUTE_NS)

    def torn(self) -> list[Manifest]:
        """Return pods with two volumes in different zones."""
        claims = ("orders-2024", "orders-2025")
        volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]
        report = Workload("db", "report", 2, 500, 1_024, "Job", {"volumes": volumes})
        owner = self._planter.controller(report)
        return [self._planter.new_pod(report, owner, index, self._now_ns - 22 * MINUTE_NS) for index in range(2)]

    def volumes(self) -> Iterator[Manifest]:
        """Yield the StorageClass, PersistentVolumeClaims and PersistentVolumes of the torn pods."""
        made_ns = self._now_ns - 200 * DAY_NS
        yield {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": metadata("gp3", uid=a_uid(self._rng), created_ns=made_ns),
            "provisioner": "ebs.csi.aws.com",
            "volumeBindingMode": "WaitForFirstConsumer",
        }
        for name, zone in (("orders-2024", "us-east-1a"), ("orders-2025", "us-east-1b")):
            uid = a_uid(self._rng)
            bound = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
            term = {"matchExpressions": [one_of("topology.kubernetes.io/zone", zone)]}
            volume = f"vol-0{self._rng.getrandbits(64):016x}"
            yield {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {**metadata(name, uid=uid, created_ns=made_ns, namespace="db"), **bound},
                "spec": {"volumeName": f"pvc-{uid}", "storageClassName": "gp3", "accessModes": ["ReadWriteOnce"]},
                "status": {"phase": "Bound"},
            }
            yield {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": metadata(f"pvc-{uid}", uid=a_uid(self._rng), created_ns=made_ns),
                "spec": {
                    "storageClassName": "gp3",
                    "capacity": {"storage": "500Gi"},
                    "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": volume},
                    "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
                },
            }


def _with_gpu(spec: Manifest) -> None:
    for container in spec["containers"]:
        wanted: dict[str, dict[str, Any]] = container["resources"]
        container["resources"] = {part: {**wanted[part], GPU["key"]: "1"} for part in wanted}


def nominated(rng: random.Random, pod: Manifest, claim: Manifest, at_ns: int) -> Manifest:
    """Return a nomination event that Karpenter published once."""
    node = claim["status"].get("nodeName")
    message = f"Pod should schedule on: nodeclaim/{claim['metadata']['name']}" + (f", node/{node}" if node else "")
    return event(pod, "Nominated", message, at_ns, uid=a_uid(rng))


def refused_launches(rng: random.Random, pod: Manifest, now_ns: int) -> Iterator[Manifest]:
    """Yield the events of NodeClaims that failed with insufficient capacity; Karpenter deletes each at once.

    It retries after three minutes, when the offerings count as available again.
    """
    for minutes in (12, 9, 6, 3):
        at_ns = now_ns - minutes * MINUTE_NS + 20 * SECOND_NS
        name = f"gpu-{a_suffix(rng)}"
        claim = _gone(rng, "NodeClaim", name)
        told = f"Pod should schedule on: nodeclaim/{name}"
        yield event(pod, "Nominated", told, at_ns - 3 * SECOND_NS, uid=a_uid(rng))
        message = f"NodeClaim {name} event: {NO_GPUS}"
        yield event(claim, "InsufficientCapacityError", message, at_ns, uid=a_uid(rng), type_="Warning")
        message = f"NodeClaim {name} nominated for this pod failed to launch: {NO_GPUS}"
        yield event(pod, "InsufficientCapacityError", message, at_ns, uid=a_uid(rng), type_="Warning")


def rounds(rng: random.Random, last: Machine, now_ns: int) -> Iterator[Manifest]:
    """Yield the events of nodes in general that were replaced every nine minutes; the last one still exists."""
    assert last.claim is not None
    claims = [*(_gone(rng, "NodeClaim", f"general-{a_suffix(rng)}") for _ in range(5)), last.claim]
    for index, claim in enumerate(claims):
        born_ns = now_ns - (57 - 9 * index) * MINUTE_NS
        yield event(claim, "DisruptionLaunching", "Launching NodeClaim: Underutilized", born_ns, uid=a_uid(rng))
        if claim is last.claim:
            break
        left_ns = born_ns + 10 * MINUTE_NS
        message = "Disrupting NodeClaim: Underutilized"
        yield event(claim, "DisruptionTerminating", message, left_ns, uid=a_uid(rng))
        for number in range(3):
            moved = _gone(rng, "Pod", f"geo-tiles-5d8c7f9b6-{a_suffix(rng)}", namespace="teams")
            at_ns = left_ns + number * 2 * SECOND_NS
            yield event(moved, "Evicted", "Evicted pod: Underutilized", at_ns, uid=a_uid(rng))


def _gone(rng: random.Random, kind: str, name: str, *, namespace: str = "") -> Manifest:
    """Return the minimal manifest of a deleted object that an event needs."""
    meta = metadata(name, uid=a_uid(rng), created_ns=0, namespace=namespace)
    return {"apiVersion": "karpenter.sh/v1" if kind == "NodeClaim" else "v1", "kind": kind, "metadata": meta}
