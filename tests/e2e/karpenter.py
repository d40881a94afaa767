"""Run Karpenter with its kwok provider, stand in for kubelets and scheduler, and write the cluster as snapshots."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from karptui.cli.simulate import answer
from karptui.sources.snapshot.reader import SnapshotReader
from tests.builders.files import written
from tests.builders.manifests import one_of

from .control_plane import Client, ControlPlane
from .definitions import install_definitions

PODS, NODES = "/api/v1/namespaces/default/pods", "/api/v1/nodes"
POOLS, CLAIMS = "/apis/karpenter.sh/v1/nodepools", "/apis/karpenter.sh/v1/nodeclaims"
CLASSES = "/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses"
SECONDS = 60.0
"""Time limit; the steps take much less."""
ZONES = ("test-zone-a", "test-zone-b", "test-zone-c")
ZONE, CAPACITY_TYPE, HOSTNAME = "topology.kubernetes.io/zone", "karpenter.sh/capacity-type", "kubernetes.io/hostname"
GATES = "NodeRepair=true,SpotToSpotConsolidation=true"
SPREAD = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
SCHEDULER_CONFIG = json.dumps({"podTopologySpread": {"defaultConstraints": [SPREAD]}})
SETTINGS = {"FEATURE_GATES": GATES, "SCHEDULER_CONFIG": SCHEDULER_CONFIG}
UNHEALTHY, NEEDS_REBOOT = "KWOKUnhealthy", "KWOKRebootRequired"
REPAIR_POLICIES = [
    {"conditionType": "Ready", "conditionStatus": "False", "tolerationDuration": "10m", "terminationGracePeriod": "0s"},
    {"conditionType": "Ready", "conditionStatus": "Unknown", "reasonRegex": ".*", "tolerationDuration": "10m",
     "terminationGracePeriod": "0s"},
    {"conditionType": UNHEALTHY, "conditionStatus": "True", "reasonRegex": ".*", "tolerationDuration": "30s",
     "terminationGracePeriod": "45s"},
    {"conditionType": NEEDS_REBOOT, "conditionStatus": "True", "reasonRegex": ".*", "tolerationDuration": "30s",
     "terminationGracePeriod": "1m", "action": "RebootNode"},
]  # fmt: skip
"""The policies in kwok/cloudprovider/cloudprovider.go."""
_LISTS = (
    "/api/v1/nodes", "/api/v1/pods", "/api/v1/namespaces", "/api/v1/services", "/apis/apps/v1/replicasets",
    "/apis/apps/v1/statefulsets", "/apis/policy/v1/poddisruptionbudgets", POOLS, CLAIMS, CLASSES,
)  # fmt: skip


def instance_types() -> list[dict[str, Any]]:
    """Return the instance types in the format of snapshots: three families of five sizes."""
    result = []
    for (family, per_cpu), cpus in product((("c", 2), ("s", 4), ("m", 8)), (1, 2, 4, 8, 16)):
        memory = cpus * per_cpu
        price = cpus * 0.025 + memory * 0.001
        offerings = [
            {
                "requirements": [one_of(CAPACITY_TYPE, kind), one_of(ZONE, zone)],
                "price": round(price * (0.7 if kind == "spot" else 1), 6),
                "available": True,
            }
            for zone, kind in product(ZONES, ("spot", "on-demand"))
        ]
        name = f"{family}-{cpus}x-amd64-linux"
        requirements = [
            one_of("node.kubernetes.io/instance-type", name),
            one_of("kubernetes.io/arch", "amd64"),
            one_of("kubernetes.io/os", "linux"),
            one_of(ZONE, *ZONES),
            one_of(CAPACITY_TYPE, "spot", "on-demand"),
            one_of("karpenter.kwok.sh/instance-size", str(cpus)),
            one_of("karpenter.kwok.sh/instance-family", family),
            one_of("karpenter.kwok.sh/instance-cpu", str(cpus)),
            one_of("karpenter.kwok.sh/instance-memory", f"{memory}Gi"),
        ]
        result.append(
            {
                "name": name,
                "requirements": requirements,
                "capacity": {"cpu": str(cpus), "memory": f"{memory}Gi", "pods": "110", "ephemeral-storage": "20Gi"},
                "overhead": {"kubeReserved": {"cpu": "100m", "memory": "10Mi"}},
                "offerings": offerings,
            }
        )
    return result


def _kwok_type(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return an instance type in the format of kwok's file."""
    offerings = [
        {"Price": offer["price"], "Available": True, "Requirements": offer["requirements"]}
        for offer in document["offerings"]
    ]
    return {
        "name": document["name"],
        "offerings": offerings,
        "architecture": "amd64",
        "operatingSystems": ["linux"],
        "resources": document["capacity"],
    }


class Karpenter(NamedTuple):
    send_signal: Callable[[int], None]
    log: Path

    @contextmanager
    def held(self) -> Iterator[None]:
        """Suspend Karpenter in this context, so that it sees all changes made meanwhile at once."""
        self.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.send_signal(signal.SIGCONT)


@contextmanager
def running(
    plane: ControlPlane,
    binary: Path,
    types: Iterable[Mapping[str, Any]] | None = None,
    settings: Mapping[str, str] = SETTINGS,
) -> Iterator[Karpenter]:
    """Run Karpenter in this context."""
    file = written(plane.folder / "types.json", [_kwok_type(manifest) for manifest in types or instance_types()])
    log = plane.folder / "karpenter.log"
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(plane.folder),
        "KUBECONFIG": plane.kubeconfig,
        "DISABLE_LEADER_ELECTION": "true",
        "METRICS_PORT": "0",
        "HEALTH_PROBE_PORT": "0",
        "INSTANCE_TYPES_FILE_PATH": str(file),
        **settings,
    }
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [str(binary)], env=environment, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream
        )
    try:
        yield Karpenter(process.send_signal, log)
    finally:
        process.kill()
        process.wait()


@contextmanager
def running_cluster(
    plane: ControlPlane, binary: Path, folder: Path, pools: Iterable[Mapping[str, Any]]
) -> Iterator[tuple[LiveCluster, Karpenter]]:
    """Run Karpenter in this context, with ready NodePools; snapshots are written to ``folder``."""
    client = Client(plane)
    install_definitions(client, with_status=True)
    client.request("POST", CLASSES, {**named("KWOKNodeClass", "karpenter.kwok.sh/v1alpha1", "default"), "spec": {}})
    client.request("POST", "/api/v1/namespaces", {"metadata": {"name": "kube-system"}}, expect=None)
    ready = {"type": "Ready", "status": "True", "reason": "Ready", "message": "", "lastTransitionTime": now()}
    client.request("PATCH", f"{CLASSES}/default/status", {"status": {"conditions": [ready]}}, expect=None)
    with running(plane, binary) as karpenter:
        cluster = LiveCluster(client, folder, karpenter.log)
        client.create(POOLS, pools)
        cluster.until(lambda: all(_is_true(pool, "Ready") for pool in cluster.items(POOLS)), "NodePools are ready")
        yield cluster, karpenter


def named(kind: str, api_version: str, name: str) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}}


class LiveCluster:
    """The cluster of a running Karpenter; the test stands in for kubelets and scheduler."""

    def __init__(self, client: Client, folder: Path, log: Path) -> None:
        self.client = client
        self._folder, self._log = folder, log

    def items(self, path: str) -> list[dict[str, Any]]:
        """Return the objects of a collection."""
        manifests: list[dict[str, Any]] = self.client.request("GET", path)["items"]
        return manifests

    def snapshot(self, name: str, change: Callable[[dict[str, Any]], None] = lambda _: None) -> Path:
        """Write the cluster as a snapshot.

        Args:
            name: name of the file.
            change: called with every object, to add the change that the test makes next.
        """
        objects = []
        for path in _LISTS:
            answer = self.client.request("GET", path)
            kind = {"kind": answer["kind"].removesuffix("List"), "apiVersion": answer["apiVersion"]}
            objects += [{**kind, **manifest} for manifest in answer["items"]]
        for item in objects:
            change(item)
        document = {
            "karptui": 1,
            "capturedAt": now(),
            "karpenterVersion": "1.15.0",
            "settings": SETTINGS,
            "repairPolicies": REPAIR_POLICIES,
            "instanceTypes": instance_types(),
            "objects": objects,
        }
        return written(self._folder / f"{name}.json", {"name": name, **document})

    def nominations(self) -> dict[str, str]:
        """Return for each pod the nominated ``nodeclaim/NAME`` or ``node/NAME``, or why scheduling failed."""
        result = {}
        for event in sorted(self.items("/api/v1/namespaces/default/events"), key=_seen):
            pod = event["involvedObject"].get("name", "")
            if event["reason"] == "Nominated":
                places = event["message"].removeprefix("Pod should schedule on: ").split(", ")
                # For an existing node the event names both the NodeClaim and the node.
                result[pod] = next((place for place in places if place.startswith("node/")), places[0])
            elif event["reason"] == "FailedScheduling":
                result[pod] = event["message"].removeprefix("Failed to schedule pod, ")
        return result

    def run_kubelets(self) -> None:
        """Make new nodes ready, and bind pods to the nodes that Karpenter nominated."""
        nodes = {manifest["metadata"]["name"]: manifest for manifest in self.items(NODES)}
        for node in nodes.values():
            taints = node["spec"].get("taints", [])
            left = [taint for taint in taints if taint["key"] != "node.kubernetes.io/not-ready"]
            path = f"{NODES}/{node['metadata']['name']}"
            conditions = {item["type"]: item for item in node["status"].get("conditions", [])}
            if conditions.get("Ready", {}).get("status") != "True":
                ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastTransitionTime": now()}
                manifest = {"capacity": node["status"]["allocatable"], "conditions": [*conditions.values(), ready]}
                self.client.request("PATCH", f"{path}/status", {"status": manifest}, expect=None)
            if left != taints:
                self.client.request("PATCH", path, {"spec": {"taints": left}}, expect=None)
        wanted, claims = self.nominations(), {manifest["metadata"]["name"]: manifest for manifest in self.items(CLAIMS)}
        for pod in self.items(PODS):
            kind, _, name = wanted.get(pod["metadata"]["name"], "").partition("/")
            claim = claims.get(name, {})
            node_name = name if kind == "node" else claim.get("status", {}).get("nodeName", "")
            if pod["spec"].get("nodeName") or node_name not in nodes or _is_starting(nodes[node_name]):
                continue
            self._bind(pod["metadata"]["name"], node_name)

    def _bind(self, pod: str, node: str) -> None:
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        self.client.request("POST", f"{PODS}/{pod}/binding", {"metadata": {"name": pod}, "target": target}, expect=None)
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        self.client.request("PATCH", f"{PODS}/{pod}/status", {"status": status}, expect=None)

    def until(self, holds: Callable[[], Any], what: str) -> Any:
        """Run kubelets until ``holds`` returns something true; return it."""
        deadline = time.monotonic() + SECONDS
        while True:
            self.run_kubelets()
            result = holds()
            if result:
                return result
            assert time.monotonic() < deadline, f"{what}: not within {SECONDS:g} s\n{self._log.read_text()[-3000:]}"
            time.sleep(0.2)

    def is_settled(self) -> bool:
        """Return whether every NodeClaim is initialized and every nominated pod is bound."""
        initialized = all(_is_true(manifest, "Initialized") for manifest in self.items(CLAIMS))
        wanted = self.nominations()
        waiting = [manifest for manifest in self.items(PODS) if not manifest["spec"].get("nodeName")]
        return initialized and not any("/" in wanted.get(manifest["metadata"]["name"], "")[:10] for manifest in waiting)

    def until_answered(self, pods: Iterable[str]) -> None:
        """Wait until Karpenter has reported a nomination or a failure for each pod."""
        wanted = set(pods)
        self.until(lambda: wanted <= self.nominations().keys(), "every pod has a nomination or a failure")

    def mark_unschedulable(self, pods: Iterable[str]) -> None:
        """Set kube-scheduler's condition for unschedulable pods: Karpenter ignores pods without it."""
        status = {"status": {"conditions": [unschedulable()]}}
        for pod in pods:
            self.client.request("PATCH", f"{PODS}/{pod}/status", status)


def unschedulable() -> dict[str, str]:
    """Return the condition of an unschedulable pod."""
    return {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}


def now() -> str:
    """Return the current time in the format of Kubernetes."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def simulated(path: Path, *, disruption: bool = False) -> dict[str, Any]:
    """Return karptui's simulation of a snapshot."""
    fixed_form = answer(SnapshotReader(), str(path), disruption=disruption).fixed_form
    assert "error" not in fixed_form, fixed_form
    return fixed_form


def _seen(event: Mapping[str, Any]) -> str:
    return str(event.get("lastTimestamp") or event["metadata"]["creationTimestamp"])


def _is_starting(node: Mapping[str, Any]) -> bool:
    keys = {item["key"] for item in node["spec"].get("taints", [])}
    return bool(keys & {"node.kubernetes.io/not-ready", "karpenter.sh/unregistered"})


def _is_true(claim: Mapping[str, Any], condition: str) -> bool:
    return any(
        item["type"] == condition and item["status"] == "True" for item in claim.get("status", {}).get("conditions", [])
    )
