"""Workloads of the demo, and the placement of their pods."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from karptui.kube.quantity import parse_quantity
from karptui.kube.timestamps import parse_timestamp
from karptui.sources.demo.world import (
    Manifest,
    a_suffix,
    a_uid,
    bound,
    metadata,
    owner_of,
    pod,
    pod_of,
    pod_spec,
    running,
    stamp,
    tolerates,
)
from tools.demo.machines import HOUR_NS, Machine
from tools.demo.pools import DAY_NS, EDGE, TRINO

MI: Final = 1 << 20
ZONE: Final = "topology.kubernetes.io/zone"


@dataclass(frozen=True, slots=True)
class Workload:
    """A controller and its number of pods."""

    namespace: str
    name: str
    replicas: int
    cpu_millis: int
    memory_mib: int
    kind: str = "Deployment"
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of ``pod_spec``."""
    annotations: Mapping[str, str] = field(default_factory=dict)


SPREAD: Final = {
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {"matchLabels": {}}}
    ]
}
ON_TRINO: Final = {
    "tolerations": ({"key": TRINO["key"], "operator": "Equal", "value": "trino", "effect": "NoSchedule"},),
    "node_selector": {"karpenter.sh/nodepool": "trino"},
}
AT_EDGE: Final = {
    "tolerations": ({"key": EDGE["key"], "operator": "Exists"},),
    "node_selector": {"company.io/tier": "edge"},
}
_JOBS_ONLY: Final[Mapping[str, Mapping[str, Any]]] = {"Job": {"restartPolicy": "Never"}}
TEAMS: Final = ("orders", "users", "pricing", "stock", "mail", "reviews", "offers", "returns", "geo", "flags")

GENERAL: Final = (
    Workload("web", "front", 44, 350, 1024, options=SPREAD),
    Workload("web", "api", 48, 450, 1536, options=SPREAD),
    Workload("web", "auth", 12, 200, 512),
    Workload("shop", "cart", 24, 350, 1024),
    Workload("shop", "checkout", 18, 550, 1536),
    Workload("shop", "search", 20, 850, 4096),
    Workload("payments", "ledger", 8, 700, 4096),
    Workload("media", "thumbs", 24, 700, 2048),
    Workload("media", "transcode", 10, 2500, 6144, "Job"),
    Workload("data", "etl", 12, 1450, 8192, "Job"),
    Workload("ml", "embed", 10, 1800, 8192),
    Workload("monitoring", "prometheus", 3, 1450, 10240, "StatefulSet"),
    Workload("monitoring", "loki", 4, 700, 6144, "StatefulSet"),
    Workload("monitoring", "tempo", 3, 700, 4096),
    Workload("monitoring", "grafana", 2, 350, 1024),
    Workload("db", "postgres", 3, 2900, 16384, "StatefulSet"),
    Workload("db", "redis", 6, 350, 4096, "StatefulSet"),
    Workload("queue", "kafka", 5, 1450, 8192, "StatefulSet"),
    Workload("ingress", "nginx", 8, 350, 512, options=SPREAD),
    Workload("argocd", "argocd-server", 3, 200, 512),
    Workload("argocd", "argocd-repo", 4, 200, 512),
    Workload("cert-manager", "cert-manager", 3, 100, 256),
    Workload("keda", "keda", 3, 150, 384),
    Workload("vault", "vault", 3, 350, 1024, "StatefulSet"),
    Workload("batch", "report", 12, 150, 512, "Job"),
    *(Workload("teams", team, 6, 250, 384) for team in TEAMS),
)
SYSTEM: Final = (
    Workload("kube-system", "karpenter", 2, 1000, 1024),
    Workload("kube-system", "coredns", 4, 100, 170),
    Workload("kube-system", "ebs-csi-controller", 2, 60, 240),
    Workload("kube-system", "metrics-server", 2, 100, 200),
)
TRINO_RUNNING: Final = Workload("trino", "trino-worker", 8, 28_000, 225_280, "StatefulSet", ON_TRINO)
EDGE_PODS: Final = Workload("edge", "gateway", 8, 300, 512, options=AT_EDGE)


class Planter:
    """Makes the pods of workloads and places them on nodes."""

    def __init__(self, rng: random.Random, now_ns: int) -> None:
        self._rng = rng
        self._now_ns = now_ns
        self.objects: list[Manifest] = []
        """Controllers and pods in creation order."""
        self.unplaced: list[Manifest] = []
        """Pods that fit on no node; the demo should have none."""

    def controller(self, workload: Workload) -> Manifest:
        """Add the controllers of a workload; return the owner of its pods (for Jobs, the owner of the Job)."""
        labels = {"app": workload.name}
        created = self._now_ns - self._rng.randint(20, 140) * DAY_NS
        own = self._add(_controller(self._rng, workload, created, labels))
        if workload.kind != "Deployment":
            return own
        hash_ = f"{self._rng.getrandbits(36):09x}"
        replica_set = _controller(self._rng, workload, created + DAY_NS, {**labels, "pod-template-hash": hash_})
        replica_set["kind"] = "ReplicaSet"
        replica_set["metadata"]["name"] = f"{workload.name}-{hash_}"
        replica_set["metadata"]["ownerReferences"] = [{**owner_of(own), "controller": True}]
        return self._add(replica_set)

    def plant(self, workload: Workload, machines: Sequence[Machine]) -> None:
        """Add a workload whose pods run on some of these machines."""
        owner = self.controller(workload)
        for index in range(workload.replicas):
            age = self._rng.choice((0.3, 1, 4, 9, 22, 50, 120)) * self._rng.uniform(0.6, 1.4)
            made = self.new_pod(workload, owner, index, self._now_ns - int(age * HOUR_NS))
            self.place(made, machines)

    def new_pod(self, workload: Workload, owner: Manifest, index: int, created_ns: int) -> Manifest:
        """Return a pod of a workload; each pod of a Job workload gets its own Job."""
        name, own = f"{owner['metadata']['name']}-{a_suffix(self._rng)}", owner
        labels = dict(owner["metadata"]["labels"])
        if workload.kind == "StatefulSet":
            name = f"{workload.name}-{index}"
            labels |= {"statefulset.kubernetes.io/pod-name": name, "apps.kubernetes.io/pod-index": str(index)}
        elif workload.kind == "Job":
            own = self._add(_job(self._rng, workload, created_ns, labels))
            name = f"{own['metadata']['name']}-{a_suffix(self._rng)}"
        meta = metadata(
            name,
            uid=a_uid(self._rng),
            created_ns=created_ns,
            namespace=workload.namespace,
            labels=labels,
            annotations=workload.annotations,
            owner=owner_of(own),
        )
        return pod(meta, _spec(workload, labels))

    def place(self, manifest: Manifest, machines: Sequence[Machine]) -> Machine | None:
        """Add a pod that runs on a random machine on which it fits, or add it to ``unplaced``."""
        fitting = [machine for machine in machines if fits(manifest, machine)]
        if not fitting:
            self.unplaced.append(self._add(manifest))
            return None
        machine = self._rng.choice(fitting)
        self.put(manifest, machine)
        return machine

    def put(self, manifest: Manifest, machine: Machine, *, created_ns: int | None = None) -> Manifest:
        """Add a pod running on a machine."""
        created = created_ns if created_ns is not None else _created_ns(manifest, self._now_ns)
        # A pod is younger than its node, and old enough to be running.
        at = min(max(created, _created_ns(machine.node, self._now_ns) + 15 * 10**9), self._now_ns - 8 * 10**9)
        meta = {**manifest["metadata"], "creationTimestamp": stamp(at)}
        book(manifest, machine)
        return self._add(running(bound({**manifest, "metadata": meta}, machine.name, at + 10**9), at + 6 * 10**9))

    def daemons(self, daemonsets: Iterable[Manifest], machines: Iterable[Machine]) -> None:
        """Add the DaemonSet pods of every machine."""
        for machine in machines:
            for daemonset in daemonsets:
                made = daemon_pod(self._rng, daemonset, machine.node)
                if made is not None:
                    self.put(made, machine)

    def _add(self, manifest: Manifest) -> Manifest:
        self.objects.append(manifest)
        return manifest


def daemon_pod(rng: random.Random, daemonset: Manifest, node: Manifest) -> Manifest | None:
    """Return the pod of a DaemonSet for a node, or None if it does not run there."""
    spec = daemonset["spec"]["template"]["spec"]
    labels = node["metadata"]["labels"]
    if not tolerates(spec, node["spec"].get("taints", ())):
        return None
    if any(labels.get(key) != value for key, value in spec.get("nodeSelector", {}).items()):
        return None
    made = pod_of(daemonset, rng, 0)
    return made | {"metadata": made["metadata"] | {"creationTimestamp": node["metadata"]["creationTimestamp"]}}


def asks(manifest: Manifest) -> dict[str, int]:
    """Return the requests of a pod: millicores, bytes and pod slots."""
    requests = [container["resources"]["requests"] for container in manifest["spec"]["containers"]]
    return {
        "cpu": sum(parse_quantity(one["cpu"]).millis for one in requests),
        "memory": sum(parse_quantity(one["memory"]).units for one in requests),
        "pods": 1,
    }


def fits(manifest: Manifest, machine: Machine) -> bool:
    """Return whether a pod fits on a machine and tolerates its taints."""
    asked = asks(manifest)
    return (
        not machine.is_spared
        and all(machine.free[name] >= amount for name, amount in asked.items())
        and tolerates(manifest["spec"], machine.node["spec"].get("taints", ()))
    )


def book(manifest: Manifest, machine: Machine) -> None:
    """Subtract the requests of a pod from the free resources."""
    for name, amount in asks(manifest).items():
        machine.free[name] -= amount


def namespaces(rng: random.Random, names: Iterable[str], now_ns: int) -> Iterator[Manifest]:
    """Return Namespace objects."""
    for name in sorted(set(names)):
        labels = {"kubernetes.io/metadata.name": name}
        meta = metadata(name, uid=a_uid(rng), created_ns=now_ns - 170 * DAY_NS, labels=labels)
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": meta}


def _controller(rng: random.Random, workload: Workload, created_ns: int, labels: Mapping[str, str]) -> Manifest:
    meta = metadata(workload.name, uid=a_uid(rng), created_ns=created_ns, namespace=workload.namespace, labels=labels)
    template = pod_template(workload, labels)
    if workload.kind == "Job":
        spec = {"schedule": "*/20 * * * *", "jobTemplate": {"spec": {"template": template}}}
        return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": meta, "spec": spec}
    return {
        "apiVersion": "apps/v1",
        "kind": workload.kind,
        "metadata": meta,
        "spec": {
            "replicas": workload.replicas,
            "selector": {"matchLabels": dict(labels)},
            "template": template,
            **({"serviceName": workload.name} if workload.kind == "StatefulSet" else {}),
        },
    }


def pod_template(workload: Workload, labels: Mapping[str, str]) -> Manifest:
    """Return the pod template of a workload."""
    meta: Manifest = {"labels": dict(labels)}
    if workload.annotations:
        meta["annotations"] = dict(workload.annotations)
    return {"metadata": meta, "spec": _spec(workload, labels)}


def _spec(workload: Workload, labels: Mapping[str, str]) -> Manifest:
    return pod_spec(
        cpu=f"{workload.cpu_millis}m",
        memory=f"{workload.memory_mib}Mi",
        image=f"registry.example/{workload.namespace}/{workload.name}:v{1 + len(workload.name)}.4",
        **_JOBS_ONLY.get(workload.kind, {}),
        **{key: _with_labels(value, labels) for key, value in workload.options.items()},
    )


def _job(rng: random.Random, workload: Workload, created_ns: int, labels: Mapping[str, str]) -> Manifest:
    name = f"{workload.name}-{29_000_000 + created_ns // 60_000_000_000 % 1_000_000}{a_suffix(rng, 2)}"
    meta = metadata(name, uid=a_uid(rng), created_ns=created_ns, namespace=workload.namespace, labels=labels)
    spec = {"backoffLimit": 6, "template": pod_template(workload, labels)}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec}


def _with_labels(value: Any, labels: Mapping[str, str]) -> Any:
    if value is SPREAD["topologySpreadConstraints"]:
        return [{**one, "labelSelector": {"matchLabels": {"app": labels["app"]}}} for one in value]
    return value


def _created_ns(manifest: Manifest, now_ns: int) -> int:
    return min(parse_timestamp(manifest["metadata"]["creationTimestamp"]), now_ns)
