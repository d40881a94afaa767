"""A cluster with a real scheduler, real controllers and Karpenter; kwok simulates the kubelets."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import urllib3
import yaml

from .control_plane import Client, ControlPlane, free_ports
from .definitions import install_definitions
from .fleets import SHUT, WAVES, Fleet, fleet_types
from .karpenter import CAPACITY_TYPE, CLAIMS, CLASSES, NODES, POOLS, ZONE, Karpenter, now, running

PODS, DEPLOYMENTS = "/api/v1/namespaces/default/pods", "/apis/apps/v1/namespaces/default/deployments"
PDBS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
HASH = "karpenter.sh/nodepool-hash"
TYPE, POOL = "node.kubernetes.io/instance-type", "karpenter.sh/nodepool"
STAGES = Path(__file__).resolve().parent / "servers" / "stages.yaml"
CONTROLLERS = (
    "deployment-controller", "replicaset-controller", "disruption-controller", "garbage-collector-controller",
    "pod-garbage-collector-controller",
)  # fmt: skip
# This plugin taints new nodes, and no node lifecycle controller runs that would remove the taint.
SERVER_FLAGS = ("--disable-admission-plugins=TaintNodesByCondition",)
REGISTRATION = "20s"
"""Delay from a launch to the Node, as for a real instance."""
SETTINGS = {"INSTANCE_END": "30s", "LOG_LEVEL": "debug"}
"""Duration of terminating an instance; debug logs of Karpenter show the commands that it gives up."""
LISTED = (
    NODES, "/api/v1/pods", "/api/v1/namespaces", "/apis/apps/v1/deployments", "/apis/apps/v1/replicasets",
    "/apis/policy/v1/poddisruptionbudgets", POOLS, CLAIMS, CLASSES,
)  # fmt: skip
EVENTS = "/api/v1/events"
ARRIVAL = 0.5
"""Seconds until a change has reached Karpenter."""
ONLY_FULL = [{"nodes": "0", "reasons": ["Empty"]}, {"nodes": "100%", "reasons": ["Underutilized"]}]
"""Budgets that exclude empty nodes: if there were any, Karpenter would wait for those and simulate nothing else."""
GLANCE, VALIDATION = 11.0, 20.0
"""Seconds within which a pass starts but no command is executed, and seconds after which validation has ended."""
PATIENCE = 600.0
"""Time limit of each step in seconds."""


@contextmanager
def whole_cluster(programs: Path, karpenter_version: str, stopping: threading.Event) -> Iterator[WholeCluster]:
    """Run a cluster in this context; ``stopping`` ends all waits."""
    with ExitStack() as stack:
        if stopping.is_set():
            raise RuntimeError("not begun")
        plane = ControlPlane(programs, *SERVER_FLAGS)
        stack.callback(plane.stop)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="karptui-cluster.")))
        client = Client(plane)
        install_definitions(client, with_status=True)
        client.request("POST", "/api/v1/namespaces", {"metadata": {"name": "kube-system"}}, expect=None)
        delay = {"nodeRegistrationDelay": REGISTRATION}
        texts = {"apiVersion": "karpenter.kwok.sh/v1alpha1", "kind": "KWOKNodeClass", "metadata": {"name": "default"}}
        client.request("POST", CLASSES, {**texts, "spec": delay})
        for command in _commands(programs, plane.kubeconfig, folder):
            stack.enter_context(_process(command, folder))
        karpenter = programs / f"karpenter-{karpenter_version}"
        (port,) = free_ports(1)
        settings = {**SETTINGS, "METRICS_PORT": str(port)}
        runs = stack.enter_context(running(plane, karpenter, fleet_types(), settings))
        yield WholeCluster(client, runs, karpenter_version, stopping, f"http://127.0.0.1:{port}/metrics")


def _commands(programs: Path, kubeconfig: str, folder: Path) -> Iterator[list[str]]:
    scheduler = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"kubeconfig": kubeconfig, "qps": 500, "burst": 1000},
    }
    (folder / "scheduler.yaml").write_text(yaml.safe_dump(scheduler))
    yield [str(programs / "kube-scheduler"), f"--config={folder}/scheduler.yaml", "--secure-port=0"]
    yield [
        str(programs / "kube-controller-manager"),
        f"--kubeconfig={kubeconfig}",
        f"--controllers={','.join(CONTROLLERS)}",
        "--leader-elect=false",
        "--secure-port=0",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
    ]
    (port,) = free_ports(1)
    yield [
        str(programs / "kwok"),
        f"--kubeconfig={kubeconfig}",
        f"--config={STAGES}",
        "--manage-all-nodes",
        f"--server-address=127.0.0.1:{port}",
        "--node-lease-duration-seconds=0",
    ]


@contextmanager
def _process(command: Sequence[str], folder: Path) -> Iterator[None]:
    with (folder / f"{Path(command[0]).name}.log").open("wb") as log:
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        yield
    finally:
        process.kill()
        process.wait()


class WholeCluster:
    """The cluster, with the requests and changes of the test."""

    def __init__(
        self,
        client: Client,
        karpenter: Karpenter,
        karpenter_version: str,
        stopping: threading.Event,
        metrics_address: str = "",
    ) -> None:
        self.client = client
        self._karpenter, self._version, self._stopping = karpenter, karpenter_version, stopping
        self._metrics_address = metrics_address

    def items(self, path: str) -> list[dict[str, Any]]:
        """Return a collection's objects."""
        manifests: list[dict[str, Any]] = self.client.request("GET", path)["items"]
        return manifests

    def until(self, holds: Callable[[], bool], what: str, patience: float = PATIENCE) -> None:
        deadline = time.monotonic() + patience
        while not holds():
            assert time.monotonic() < deadline, f"{what}: not within {patience:g} s\n{self.logged()[-3000:]}"
            self._wait(1)

    def _wait(self, seconds: float) -> None:
        if self._stopping.wait(seconds):
            raise RuntimeError("broken off")

    def logged(self) -> str:
        return self._karpenter.log.read_text(errors="replace")

    def metrics(self) -> str:
        """Return the text of Karpenter's metrics."""
        answer = urllib3.request("GET", self._metrics_address, timeout=30, retries=False)
        assert answer.status == 200, answer.status
        return answer.data.decode()

    def commands(self) -> list[dict[str, Any]]:
        """Return the disruption commands that Karpenter has executed, in order."""
        lines = (json.loads(line) for line in self.logged().splitlines() if line.startswith("{"))
        return [line for line in lines if line.get("message") == "disrupting node(s)"]

    def build(self, fleet: Fleet) -> None:
        """Let Karpenter launch a fleet, wave by wave, and then shrink its workloads."""
        for pool in fleet.pools:
            self.client.request("POST", POOLS, pool.manifest())
        self.client.create(PDBS, filter(None, (app.pdb_manifest() for app in fleet.apps)))
        for wave in range(WAVES):
            self.client.create(DEPLOYMENTS, (app.deployment() for app in fleet.apps if app.wave == wave))
            wanted = {app.name: app.replicas for app in fleet.apps if app.wave <= wave}
            self.until(partial(self._is_settled, wanted), f"the pods of wave {wave} run")
        self._let_simulate(fleet)
        for app in fleet.apps:
            self.client.request("PATCH", f"{DEPLOYMENTS}/{app.name}", {"spec": {"replicas": app.left}})
        drifting = {pool.name for pool in fleet.pools if pool.is_drifting}
        self.until(lambda: self._is_settled({app.name: app.left for app in fleet.apps}), "the remaining pods run")
        for manifest in self.items(CLAIMS):
            if manifest["metadata"]["labels"][POOL] in drifting:
                # A second apart: among nodes that drifted in the same second, Karpenter picks any first.
                change = {"metadata": {"annotations": {HASH: "of another template"}}}
                self.client.request("PATCH", f"{CLAIMS}/{manifest['metadata']['name']}", change)
                self._wait(1.2)
        self.until(
            lambda: self._is_due(drifting), "every node is consolidatable, and drifted if its NodePool is drifting"
        )

    def _is_settled(self, wanted: Mapping[str, int]) -> bool:
        pods = self.items(PODS)
        running = Counter(pod["metadata"]["labels"]["app"] for pod in pods if _is_true(pod, "Ready"))
        claims = self.items(CLAIMS)
        return (
            running == Counter(wanted)
            and len(pods) == sum(wanted.values())
            and all(_is_true(claim, "Initialized") for claim in claims)
            and len(claims) == len(self.items(NODES))
        )

    def _is_due(self, drifting: set[str]) -> bool:
        claims = self.items(CLAIMS)
        drifted = [claim for claim in claims if claim["metadata"]["labels"][POOL] in drifting]
        return all(_is_true(claim, "Consolidatable") for claim in claims) and all(
            _is_true(manifest, "Drifted") for manifest in drifted
        )

    def _let_simulate(self, fleet: Fleet) -> None:
        """Let Karpenter simulate removals without a command, so that its metrics contain their duration."""
        self.until(lambda: self._is_due(set()), "every node is consolidatable")
        self._set_budgets(dict.fromkeys((pool.name for pool in fleet.pools), ONLY_FULL))
        self._wait(GLANCE)
        self._set_budgets({pool.name: SHUT for pool in fleet.pools})
        self._wait(VALIDATION)

    def open_budgets(self, fleet: Fleet) -> None:
        """Open the budgets, so that Karpenter begins."""
        self._set_budgets({pool.name: pool.budgets for pool in fleet.pools})

    def _set_budgets(self, budgets: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        """Change budgets by NodePool. Karpenter is stopped meanwhile, so that no pass sees only some of them."""
        with self._karpenter.held():
            for name, listed in budgets.items():
                self.client.request("PATCH", f"{POOLS}/{name}", {"spec": {"disruption": {"budgets": list(listed)}}})
            self._wait(ARRIVAL)

    def record(self, file: Path) -> None:
        """Write every change of the cluster to a file, a line each, until the cluster ends."""
        lock = threading.Lock()
        file.unlink(missing_ok=True)

        def follow(path: str) -> None:
            with file.open("a", buffering=1) as stream:
                for line in self.client.watch(path):
                    told = json.dumps({"at": datetime.now(UTC).isoformat(), **json.loads(line)})
                    with lock:
                        stream.write(f"{told}\n")

        for path in (*LISTED, EVENTS):
            threading.Thread(target=follow, args=(path,), daemon=True).start()

    def until_quiet(self, quiet: float, patience: float) -> bool:
        """Wait until nothing has changed for ``quiet`` seconds; return False after ``patience`` seconds."""
        deadline = time.monotonic() + patience
        seen, since = self._busy(), time.monotonic()
        while time.monotonic() < deadline:
            self._wait(2)
            busy = self._busy()
            if busy != seen or busy[1]:
                seen, since = busy, time.monotonic()
            elif time.monotonic() - since >= quiet:
                return True
        return False

    def _busy(self) -> tuple[int, int]:
        """Return the number of commands, and the number of starting or ending NodeClaims plus unbound pods."""
        claims = self.items(CLAIMS)
        underway = sum(
            1 for claim in claims if claim["metadata"].get("deletionTimestamp") or not _is_true(claim, "Initialized")
        )
        waiting = sum(1 for manifest in self.items(PODS) if not manifest["spec"].get("nodeName"))
        return len(self.commands()), underway + waiting

    def snapshot(self, name: str, fleet: Fleet | None = None) -> dict[str, Any]:
        """Return the cluster as a snapshot; with a fleet, its budgets are open in it."""
        objects = []
        captured = now()
        for path in LISTED:
            answer = self.client.request("GET", path)
            kind = {"kind": answer["kind"].removesuffix("List"), "apiVersion": answer["apiVersion"]}
            objects += [{**kind, **manifest} for manifest in answer["items"]]
        budgets = {pool.name: list(pool.budgets) for pool in fleet.pools} if fleet is not None else {}
        for item in objects:
            if item["kind"] == "NodePool" and item["metadata"]["name"] in budgets:
                item["spec"]["disruption"]["budgets"] = budgets[item["metadata"]["name"]]
        return {
            "karptui": 1,
            "name": name,
            "capturedAt": captured,
            "karpenterVersion": self._version,
            "settings": {},
            "instanceTypes": fleet_types(),
            "objects": objects,
        }

    def nodes(self) -> dict[str, tuple[str, str, str, str]]:
        """Return NodePool, type, capacity type and zone of every node."""
        keys = (POOL, TYPE, CAPACITY_TYPE, ZONE)
        result = {}
        for manifest in self.items(NODES):
            labels = manifest["metadata"]["labels"]
            result[manifest["metadata"]["name"]] = (labels[keys[0]], labels[keys[1]], labels[keys[2]], labels[keys[3]])
        return result


def _is_true(document: Mapping[str, Any], condition: str) -> bool:
    conditions = document.get("status", {}).get("conditions", [])
    return any(item["type"] == condition and item["status"] == "True" for item in conditions)
