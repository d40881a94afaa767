"""Faults mixed at random into the following of a real API server: ``python benchmarks/fault_soak.py [--minutes 30]``.

A kube-apiserver with its etcd (KUBEBUILDER_ASSETS) has nodes and pods that come, change and go all the time. A session
follows it from a process of its own, through a relay that stands for the network. Every half minute something breaks:
the server or etcd is killed, stopped or restored from a backup, the place in the watch is compacted away, permissions
are taken, connections are cut or swallow everything. Once it is over, the time is taken until the session holds exactly
what the server has and says that all of it is live. The same ``--seed`` breaks the same things in the same order.

Printed: a line for each fault, then the memory, threads and descriptors of the session minute by minute, and a summary.
It ends with status 1 if the session was not equal to the server's truth within two minutes of any fault.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

NODES, PODS = 100, 1_500
NODES_PATH, PODS_PATH = "/api/v1/nodes", "/api/v1/namespaces/default/pods"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
USER = "soak"
EQUAL_SECONDS = 120.0
LABEL = "tick"


# The process that follows


def follow(kubeconfig: str, url: str) -> None:
    """Follow a cluster, and answer each line on standard input with what is known."""
    from msgspec.structs import replace

    from karptui.session.session import Session
    from karptui.sources.cluster.connection import Impersonation, load_connection
    from karptui.sources.cluster.source import ClusterSource

    connection = load_connection(kubeconfig=kubeconfig, environ={}, impersonation=Impersonation(USER))
    session = Session(ClusterSource(replace(connection, server=url)))
    session.start()
    while True:
        if session.poll(time.time_ns()):
            session.analyse(time.time_ns())
        if not select.select([sys.stdin], [], [], 0.25)[0]:
            continue
        order = sys.stdin.readline().strip()
        if not order:
            return
        if order == "refresh":
            session.refresh()
        session.poll(time.time_ns())
        print(json.dumps(told(session)), flush=True)


def told(session: Any) -> dict[str, Any]:
    """Return what a session knows and takes."""
    state, statuses = session.view.state, session.view.statuses
    return {
        "nodes": {one.name: one.labels.get(LABEL, "") for one in state.nodes.values()},
        "pods": {key: one.labels.get(LABEL, "") for key, one in state.pods.items()},
        "phases": {kind: str(status.phase) for kind, status in statuses.items()},
        "errors": {kind: status.last_error for kind, status in statuses.items() if status.last_error},
        "rss": int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"),
        "threads": threading.active_count(),
        "descriptors": sum(1 for _ in Path("/proc/self/fd").iterdir()),
        "failure": session.analyst.failure,
    }


class Follower:
    """The process that follows, as the soak sees it."""

    def __init__(self, kubeconfig: str, url: str) -> None:
        command = [sys.executable, __file__, "--follow", kubeconfig, url]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, order: str = "tell") -> dict[str, Any]:
        """Return what it knows."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{order}\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def is_live(self, known: dict[str, Any]) -> bool:
        """Whether it says that everything is as it should be."""
        return bool(known["phases"]) and all(phase in ("live", "not installed") for phase in known["phases"].values())


# The network


class Relay:
    """Passes connections on to a port, until it is told to cut them or to swallow what they carry."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.url = f"https://127.0.0.1:{self.port}"
        self.flows = threading.Event()
        self.flows.set()
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Tear all connections down, several times."""
        """Tear every connection down."""
        for pair in tuple(self._pairs):
            for one in pair:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            near, _ = self._listener.accept()
            try:
                far = socket.create_connection(("127.0.0.1", self._target), 5)
            except OSError:
                near.close()
                continue
            pair = (near, far)
            self._pairs.add(pair)
            for source, target in (pair, pair[::-1]):
                threading.Thread(target=self._pass_on, args=(source, target, pair), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, pair: tuple[socket.socket, socket.socket]) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                self.flows.wait()
                target.sendall(data)
        for one in pair:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
                one.close()
        self._pairs.discard(pair)


# Churn


class Churn:
    """Nodes and pods that come, change and go, as fast as the API server takes it."""

    def __init__(self, client: Any, seed: int) -> None:
        self.client = client
        self._random = random.Random(seed)
        self.goes_on = threading.Event()
        self.is_at_rest = threading.Event()
        self.count = 0
        self.pause_seconds = 0.03
        self._names = [f"pod-{number}" for number in range(PODS)]
        self._next = PODS
        threading.Thread(target=self._run, daemon=True).start()

    def hold(self) -> None:
        """Change nothing until released; returns once nothing is under way."""
        self.goes_on.clear()
        self.is_at_rest.wait(60)

    def release(self) -> None:
        """Go on."""
        self.is_at_rest.clear()
        self.goes_on.set()

    def _run(self) -> None:
        while True:
            if not self.goes_on.is_set():
                self.is_at_rest.set()
                self.goes_on.wait()
            with contextlib.suppress(Exception):
                self._change()
                self.count += 1
            time.sleep(self.pause_seconds)

    def _change(self) -> None:
        mark = {"metadata": {"labels": {LABEL: str(self.count)}}}
        what = self._random.random()
        if what < 0.2:
            self.client.request("PATCH", f"{NODES_PATH}/node-{self._random.randrange(NODES)}", mark)
            return
        name = self._random.choice(self._names)
        if what < 0.6:
            self.client.request("PATCH", f"{PODS_PATH}/{name}", mark, expect=None)
            return
        self._next += 1
        self.client.request("POST", PODS_PATH, a_pod(f"pod-{self._next}", f"node-{self._next % NODES}"))
        self._names.append(f"pod-{self._next}")
        self._names.remove(name)
        self.client.request("DELETE", f"{PODS_PATH}/{name}", expect=None)


def a_node(number: int) -> dict[str, Any]:
    room = {"cpu": "64", "memory": "256Gi", "pods": "110"}
    metadata = {"name": f"node-{number}", "labels": {"karpenter.sh/nodepool": "general"}}
    return {"metadata": metadata, "status": {"capacity": room, "allocatable": room}}


def a_pod(name: str, node: str) -> dict[str, Any]:
    container = {"name": "main", "image": "app", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}
    spec = {"containers": [container], "terminationGracePeriodSeconds": 0, "nodeName": node}
    return {"metadata": {"name": name, "labels": {"app": "web"}}, "spec": spec}


# Faults


class Faults:
    """Everything that can break; each returns once it is mended."""

    def __init__(self, plane: Any, relay: Relay, follower: Follower, churn: Churn, seed: int) -> None:
        self._plane, self._relay, self._follower = plane, relay, follower
        self._churn, self._client = churn, churn.client
        self._random = random.Random(seed)
        self.said_live: dict[str, float] = {}
        """By fault, for how long at most the session still said that everything was live."""
        self._backup = Path(tempfile.mkdtemp(prefix="karptui-soak."))
        self.all: dict[str, Callable[[], None]] = {
            "server killed": self.server_killed,
            "server stopped": lambda: self.stopped("kube-apiserver"),
            "etcd killed": self.etcd_killed,
            "etcd stopped": lambda: self.stopped("etcd"),
            "restored from a backup": self.restored,
            "compacted": self.compacted,
            "permissions taken and given back": self.forbidden,
            "connections cut": self.cut,
            "connections swallowed": self.swallowed,
            "burst of changes": self.burst,
            "ctrl-r": self._refreshed,
        }

    def one(self) -> tuple[str, Callable[[], None]]:
        """Return a fault at random."""
        name = self._random.choice(sorted(self.all))
        return name, self.all[name]

    def backup(self) -> None:
        """Take a backup of etcd, to which it is restored some time."""
        self._plane.kill_server()
        self._plane.kill_etcd()
        self._plane.back_up(self._backup / "data")
        self._plane.start_etcd()
        self._plane.start_server()

    def _lasts(self, name: str, seconds: float) -> None:
        """Let a fault last, and note for how long the session says that everything is live."""
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            if self._follower.is_live(self._follower.ask()):
                self.said_live[name] = max(self.said_live.get(name, 0.0), time.monotonic() - began)
            time.sleep(1)

    def server_killed(self) -> None:
        """Kill the API server, and start it again after a while."""
        self._plane.kill_server()
        self._lasts("server killed", self._random.uniform(0, 20))
        self._plane.start_server()

    def etcd_killed(self) -> None:
        """Kill etcd, and start it again after a while."""
        self._plane.kill_etcd()
        self._lasts("etcd killed", self._random.uniform(0, 60))
        self._plane.start_etcd()
        self._plane.await_server()

    def stopped(self, name: str) -> None:
        """Stop a process where it stands, and let it go on after a while."""
        self._plane.freeze(name)
        self._lasts(f"{name} stopped", self._random.uniform(5, 60))
        self._plane.thaw(name)
        self._plane.await_server()

    def restored(self) -> None:
        """Put etcd back to the backup."""
        self._plane.kill_server()
        self._plane.kill_etcd()
        self._plane.restore(self._backup / "data")
        self._plane.start_etcd()
        self._plane.start_server()

    def compacted(self) -> None:
        """Forget every version that the session may go on from."""
        self._relay.cut()
        self._relay.flows.clear()
        time.sleep(2)
        self._plane.compact()
        self._relay.cut()
        self._relay.flows.set()

    def forbidden(self) -> None:
        """Take the permissions, and give them back after a while."""
        self._client.request("DELETE", f"{RBAC}/clusterrolebindings/{USER}")
        self._relay.cut()
        self._lasts("permissions taken", self._random.uniform(5, 30))
        bind(self._client)

    def cut(self) -> None:
        """Tear all connections down, several times."""
        for _ in range(self._random.randrange(1, 10)):
            self._relay.cut()
            time.sleep(self._random.uniform(0, 1))

    def swallowed(self) -> None:
        """Keep what connections carry for a while."""
        self._relay.flows.clear()
        self._lasts("connections swallowed", self._random.uniform(5, 60))
        self._relay.flows.set()

    def burst(self) -> None:
        """Change as much as the server takes."""
        self._churn.pause_seconds = 0.0
        time.sleep(10)
        self._churn.pause_seconds = 0.03

    def _refreshed(self) -> None:
        self._follower.ask("refresh")


def bind(client: Any) -> None:
    """Let the user of the session see everything."""
    binding = {
        "metadata": {"name": USER},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": USER},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": USER}],
    }
    client.request("POST", f"{RBAC}/clusterrolebindings", binding)


def truth(client: Any) -> dict[str, dict[str, str]]:
    """Return what the server has."""
    found: dict[str, dict[str, str]] = {}
    for plural, path in (("nodes", NODES_PATH), ("pods", PODS_PATH)):
        items = [one["metadata"] for one in client.request("GET", path)["items"]]
        found[plural] = {
            "/".join(filter(None, (one.get("namespace"), one["name"]))): one.get("labels", {}).get(LABEL, "")
            for one in items
        }
    return found


def until_equal(client: Any, follower: Follower) -> tuple[float, str]:
    """Wait until the session holds what the server has and says so.

    Returns:
        How long that took, and what was lacking last; where it took no longer than allowed, something lacks no more.
    """
    began, lacked = time.monotonic(), ""
    while True:
        known, lacking = follower.ask(), ""
        try:
            there = truth(client)
            wrong = [plural for plural, objects in there.items() if known[plural] != objects]
            if wrong:
                lacking = f"{' and '.join(wrong)} differ"
            elif not follower.is_live(known):
                lacking = f"not live: {known['errors']}"
        except Exception as error:  # noqa: BLE001  the server is not back yet
            lacking = f"the server does not answer: {error}"
        seconds = time.monotonic() - began
        if not lacking or seconds > EQUAL_SECONDS:
            return seconds, lacked
        lacked = lacking
        time.sleep(0.25)


def soak(minutes: float, seed: int) -> int:
    """Break things for so many minutes; return the exit status."""
    from tests.e2e.control_plane import Client, ControlPlane, find_assets

    assets = find_assets()
    if assets is None:
        print("no kube-apiserver and etcd here: set KUBEBUILDER_ASSETS")
        return 2
    plane = ControlPlane(assets)
    client = Client(plane)
    everything = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}]
    client.request("POST", f"{RBAC}/clusterroles", {"metadata": {"name": USER}, "rules": everything})
    bind(client)
    client.create(NODES_PATH, (a_node(number) for number in range(NODES)))
    client.create(PODS_PATH, (a_pod(f"pod-{number}", f"node-{number % NODES}") for number in range(PODS)))
    relay = Relay(plane.port)
    follower = Follower(plane.kubeconfig, relay.url)
    churn = Churn(client, seed)
    faults = Faults(plane, relay, follower, churn, seed)
    print(f"seed {seed}; first equal after {until_equal(client, follower)[0]:.1f} s", flush=True)
    faults.backup()
    began, failed, took = time.monotonic(), 0, dict[str, list[float]]()
    samples: list[tuple[float, int, int, int]] = []
    try:
        while time.monotonic() - began < minutes * 60:
            churn.release()
            time.sleep(3)
            name, fault = faults.one()
            fault()
            churn.hold()
            seconds, lacking = until_equal(client, follower)
            took.setdefault(name, []).append(seconds)
            failed += seconds > EQUAL_SECONDS
            known = follower.ask()
            minute = (time.monotonic() - began) / 60
            samples.append((minute, known["rss"], known["threads"], known["descriptors"]))
            outcome = f"{'NOT EQUAL' if seconds > EQUAL_SECONDS else 'equal and live'} after {seconds:5.1f} s"
            print(
                f"{minute:5.1f} min  {name:34} {outcome}  {len(known['pods'])} pods, {churn.count} changes, "
                f"{known['rss'] / (1 << 20):.0f} MiB, {known['threads']} threads, {known['descriptors']} descriptors; "
                f"{lacking[:200]}",
                flush=True,
            )
    finally:
        follower.process.kill()
        follower.process.wait()
        plane.stop()
    print(f"\n{len(samples)} faults in {minutes:g} minutes, {churn.count} changes, {failed} not equal")
    for name in sorted(took):
        times = sorted(took[name])
        live = f", said live for up to {faults.said_live[name]:.0f} s" if name in faults.said_live else ""
        print(f"  {name:34} {len(times):3}  median {times[len(times) // 2]:5.1f} s, worst {times[-1]:5.1f} s{live}")
    print(f"slope {slope(samples):+.2f} MiB a minute, first third left out")
    return 1 if failed else 0


def slope(samples: list[tuple[float, int, int, int]]) -> float:
    """Return by how many MiB the memory grows in a minute."""
    late = [(minute, rss / (1 << 20)) for minute, rss, _, _ in samples if minute > samples[-1][0] / 3]
    if len(late) < 2:
        return 0.0
    middle_x, middle_y = sum(x for x, _ in late) / len(late), sum(y for _, y in late) / len(late)
    spread = sum((x - middle_x) ** 2 for x, _ in late)
    return sum((x - middle_x) * (y - middle_y) for x, y in late) / spread if spread else 0.0


def main() -> int:
    """Follow, or break things."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--follow", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.follow:
        follow(*args.follow)
        return 0
    return soak(args.minutes, args.seed)


if __name__ == "__main__":
    sys.exit(main())
