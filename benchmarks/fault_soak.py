"""Random faults while karptui follows a real API server: ``python benchmarks/fault_soak.py [--minutes 30]``.

A kube-apiserver with its etcd (KUBEBUILDER_ASSETS) has nodes of a NodePool, and pods that are created, changed and
deleted all the time. Two followers connect through a relay that simulates the network: a session in its own process,
and the app in a terminal, where one screen after the other is opened. Every half minute a fault is injected: the server
or etcd is killed, suspended or restored from a backup, the watched versions are compacted, permissions are revoked,
connections are cut or stalled. After each fault, two recovery times are measured: until the session has exactly the
objects of the server and reports all kinds as live, and until the screen shows every node with its number of pods and
reports live as well. The same ``--seed`` injects the same faults in the same order.

Prints a line per fault with memory, threads and descriptors of both followers, and a summary. Exits with 1 if a
follower had not recovered within two minutes after a fault, or if the app did not restore the terminal.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import select
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from reference import note, print_reference

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

NODES, PODS = 100, 1_500
NODES_PATH, PODS_PATH = "/api/v1/nodes", "/api/v1/namespaces/default/pods"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
USER = "soak"
EQUAL_SECONDS = 120.0
LABEL = "tick"
CLAIMS_PATH = "/apis/karpenter.sh/v1/nodeclaims"
POOL = "general"
SCREENS = "234567890"
"""Keys of the screens to open during a fault; ``1`` returns to the nodes."""
IS_LIVE = re.compile(r"● live \d")
NODE_ROW = re.compile(r"^[ ▌] (node-\d+) .* (\d+)/110 ")


# The session process


def follow(kubeconfig: str, url: str) -> None:
    """Follow a cluster, and answer each line on standard input with ``told``."""
    from msgspec.structs import replace

    from karptui.session.follower import ClusterFollower
    from karptui.sources.cluster.connection import Impersonation, load_connection
    from karptui.sources.cluster.source import ClusterSource

    connection = load_connection(kubeconfig=kubeconfig, environ={}, impersonation=Impersonation(USER))
    session = ClusterFollower(ClusterSource(replace(connection, server=url)))
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
    """Return objects, phases, errors and resource usage of a session."""
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
    """Client of the session process."""

    def __init__(self, kubeconfig: str, url: str) -> None:
        command = [sys.executable, __file__, "--follow", kubeconfig, url]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, order: str = "tell") -> dict[str, Any]:
        """Send an order and return the answer, see ``told``."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{order}\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def is_live(self, known: dict[str, Any]) -> bool:
        """Return whether every kind is live or not installed."""
        return bool(known["phases"]) and all(phase in ("live", "not installed") for phase in known["phases"].values())


class Drawn:
    """The app in a terminal that is large enough for all nodes."""

    def __init__(self, kubeconfig: str, url: str, folder: Path) -> None:
        from tests.terminal.program import karptui

        config = yaml.safe_load(Path(kubeconfig).read_text())
        authority = Path(kubeconfig).with_name("pki") / "apiserver.crt"
        config["clusters"][0]["cluster"] = {"server": url, "certificate-authority": str(authority)}
        config["users"][0]["user"]["as"] = USER
        own = folder / "kubeconfig"
        own.write_text(yaml.safe_dump(config))
        environment = {"HOME": str(folder), **{f"XDG_{name}_HOME": str(folder / name) for name in ("STATE", "CACHE")}}
        self._program = karptui("--kubeconfig", str(own), environment=environment, columns=200, lines=NODES + 10)
        self._lock = threading.Lock()
        self._is_read = True
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while self._is_read:
            with self._lock:
                self._program.look_on(0.05)
            time.sleep(0.05)

    def press(self, key: str) -> None:
        """Press a key."""
        with self._lock:
            self._program.press(key)

    def lacking(self, there: Truth) -> str:
        """Return a difference between the screen and the server, or an empty string."""
        with self._lock:
            lines = self._program.view.lines
        if not IS_LIVE.search(lines[0]):
            return f"the screen: {lines[0].strip()[-100:]}"
        shown = {row[1]: int(row[2]) for line in lines if (row := NODE_ROW.match(line))}
        wanted = {name: there.by_node[name] for name in there.objects["nodes"]}
        if shown != wanted:
            wrong = [
                f"{name} {shown.get(name)}, not {count}" for name, count in wanted.items() if shown.get(name) != count
            ]
            return f"the screen: {', '.join(wrong[:3]) or 'more nodes than there are'}"
        if f" {len(there.objects['pods']):,} pods " not in lines[0]:
            return f"the screen: {lines[0].strip()}"
        return ""

    def takes(self) -> tuple[int, int, int]:
        """Return memory in bytes, number of threads and number of descriptors."""
        process = Path(f"/proc/{self._program.pid}")
        rss = int((process / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        return rss, len(list((process / "task").iterdir())), len(list((process / "fd").iterdir()))

    def leave(self) -> list[str]:
        """Quit with a key, and return everything that was not restored."""
        self._is_read = False
        self._reader.join()
        try:
            self._program.press("q")
            said = self._program.report("exited")
            return ([] if said == "exited 0" else [said]) + self._program.leftovers()
        except AssertionError as error:
            return [str(error)]
        finally:
            self._program.close()


# The network


class Relay:
    """Forwards connections to a port; can cut or stall them."""

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
        """Close every connection."""
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
    """Changes nodes, and creates, changes and deletes pods, all the time."""

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
        """Pause; return after the current change has ended."""
        self.goes_on.clear()
        self.is_at_rest.wait(60)

    def release(self) -> None:
        """End the pause."""
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
    metadata = {"name": f"node-{number}", "labels": {"karpenter.sh/nodepool": POOL}}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    status = {"capacity": room, "allocatable": room, "conditions": [ready]}
    return {"metadata": metadata, "spec": {"providerID": f"soak://{number}"}, "status": status}


def a_claim(number: int) -> dict[str, Any]:
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {"name": f"claim-{number}", "labels": {"karpenter.sh/nodepool": POOL}},
        "spec": {"nodeClassRef": reference, "requirements": []},
    }


def a_pool() -> dict[str, Any]:
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    template = {"spec": {"nodeClassRef": reference, "requirements": []}}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": POOL},
        "spec": {"template": template},
    }


def populate(client: Any) -> None:
    """Create a NodePool, its nodes with their NodeClaims, and pods."""
    from tests.e2e.definitions import install_definitions

    install_definitions(client)
    client.request("POST", "/apis/karpenter.sh/v1/nodepools", a_pool())
    client.create(NODES_PATH, (a_node(number) for number in range(NODES)))
    client.create(CLAIMS_PATH, (a_claim(number) for number in range(NODES)))
    for number in range(NODES):
        status = {"nodeName": f"node-{number}", "providerID": f"soak://{number}"}
        client.request("PATCH", f"{CLAIMS_PATH}/claim-{number}", {"status": status})
    client.create(PODS_PATH, (a_pod(f"pod-{number}", f"node-{number % NODES}") for number in range(PODS)))


def a_pod(name: str, node: str) -> dict[str, Any]:
    container = {"name": "main", "image": "app", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}
    spec = {"containers": [container], "terminationGracePeriodSeconds": 0, "nodeName": node}
    return {"metadata": {"name": name, "labels": {"app": "web"}}, "spec": spec}


# Faults


class Faults:
    """All faults; each method returns when its fault has ended."""

    def __init__(self, plane: Any, relay: Relay, follower: Follower, churn: Churn, seed: int) -> None:
        self._plane, self._relay, self._follower = plane, relay, follower
        self._churn, self._client = churn, churn.client
        self._random = random.Random(seed)
        self.said_live: dict[str, float] = {}
        """Longest time that the session still reported everything as live, by fault."""
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
        """Take the backup of etcd that ``restored`` uses."""
        self._plane.kill_server()
        self._plane.kill_etcd()
        self._plane.back_up(self._backup / "data")
        self._plane.start_etcd()
        self._plane.start_server()

    def _lasts(self, name: str, seconds: float) -> None:
        """Wait during a fault, and record how long the session reports everything as live."""
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            if self._follower.is_live(self._follower.ask()):
                self.said_live[name] = max(self.said_live.get(name, 0.0), time.monotonic() - began)
            time.sleep(1)

    def server_killed(self) -> None:
        """Kill the API server and restart it later."""
        self._plane.kill_server()
        self._lasts("server killed", self._random.uniform(0, 20))
        self._plane.start_server()

    def etcd_killed(self) -> None:
        """Kill etcd and restart it later."""
        self._plane.kill_etcd()
        self._lasts("etcd killed", self._random.uniform(0, 60))
        self._plane.start_etcd()
        self._plane.await_server()

    def stopped(self, name: str) -> None:
        """Suspend a process and resume it later."""
        self._plane.freeze(name)
        self._lasts(f"{name} stopped", self._random.uniform(5, 60))
        self._plane.thaw(name)
        self._plane.await_server()

    def restored(self) -> None:
        """Restore etcd from the backup."""
        self._plane.kill_server()
        self._plane.kill_etcd()
        self._plane.restore(self._backup / "data")
        self._plane.start_etcd()
        self._plane.start_server()

    def compacted(self) -> None:
        """Compact every version from which the session could continue its watches."""
        self._relay.cut()
        self._relay.flows.clear()
        time.sleep(2)
        self._plane.compact()
        self._relay.cut()
        self._relay.flows.set()

    def forbidden(self) -> None:
        """Revoke all permissions and grant them again later."""
        self._client.request("DELETE", f"{RBAC}/clusterrolebindings/{USER}")
        self._relay.cut()
        self._lasts("permissions taken", self._random.uniform(5, 30))
        bind(self._client)

    def cut(self) -> None:
        """Cut all connections, several times."""
        for _ in range(self._random.randrange(1, 10)):
            self._relay.cut()
            time.sleep(self._random.uniform(0, 1))

    def swallowed(self) -> None:
        """Stall all connections for a while."""
        self._relay.flows.clear()
        self._lasts("connections swallowed", self._random.uniform(5, 60))
        self._relay.flows.set()

    def burst(self) -> None:
        """Make changes as fast as the server accepts them, for ten seconds."""
        self._churn.pause_seconds = 0.0
        time.sleep(10)
        self._churn.pause_seconds = 0.03

    def _refreshed(self) -> None:
        self._follower.ask("refresh")


def bind(client: Any) -> None:
    """Grant the user of the session all permissions to read."""
    binding = {
        "metadata": {"name": USER},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": USER},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": USER}],
    }
    client.request("POST", f"{RBAC}/clusterrolebindings", binding)


class Truth:
    """The objects of the server at a moment."""

    def __init__(self, client: Any) -> None:
        self.by_node: Counter[str] = Counter()
        """Number of pods per node."""
        self.objects: dict[str, dict[str, str]] = {}
        """Label that marks the last change, by plural and key."""
        for plural, path in (("nodes", NODES_PATH), ("pods", PODS_PATH)):
            items = client.request("GET", path)["items"]
            self.objects[plural] = {
                "/".join(filter(None, (one["metadata"].get("namespace"), one["metadata"]["name"]))): one["metadata"]
                .get("labels", {})
                .get(LABEL, "")
                for one in items
            }
            self.by_node.update(one["spec"]["nodeName"] for one in items if "nodeName" in one["spec"])


def until_equal(client: Any, follower: Follower, drawn: Drawn) -> tuple[float, float, str]:
    """Wait until the session has the objects of the server and is live, and the screen shows them.

    Returns:
        Seconds until the session was right, seconds until the screen was right, and the last difference.
    """
    began, lacked = time.monotonic(), ""
    session_since: float | None = None
    screen_since: float | None = None
    while True:
        known, lacking = follower.ask(), ""
        try:
            there = Truth(client)
            wrong = [plural for plural, objects in there.objects.items() if known[plural] != objects]
            if wrong:
                lacking = f"{' and '.join(wrong)} differ"
            elif not follower.is_live(known):
                lacking = f"not live: {known['errors']}"
            unseen = drawn.lacking(there)
        except Exception as error:  # noqa: BLE001  the server does not run yet
            lacking = unseen = f"the server does not answer: {error}"
        seconds = time.monotonic() - began
        session_since = None if lacking else seconds if session_since is None else session_since
        screen_since = None if unseen else seconds if screen_since is None else screen_since
        if not (lacking or unseen) or seconds > EQUAL_SECONDS:
            return (*(seconds if since is None else since for since in (session_since, screen_since)), lacked)
        lacked = lacking or unseen
        time.sleep(0.25)


def soak(minutes: float, seed: int) -> int:
    """Inject faults for some minutes; return the exit status."""
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
    populate(client)
    relay = Relay(plane.port)
    follower = Follower(plane.kubeconfig, relay.url)
    home = tempfile.TemporaryDirectory(prefix="karptui-soak.")
    drawn = Drawn(plane.kubeconfig, relay.url, Path(home.name))
    churn = Churn(client, seed)
    faults = Faults(plane, relay, follower, churn, seed)
    session_seconds, screen_seconds, _ = until_equal(client, follower, drawn)
    print(f"seed {seed}; first equal after {session_seconds:.1f} s, drawn after {screen_seconds:.1f} s", flush=True)
    faults.backup()
    began, failed, took = time.monotonic(), 0, dict[str, list[tuple[float, float]]]()
    samples: list[Sample] = []
    keys = random.Random(seed)
    try:
        while time.monotonic() - began < minutes * 60:
            churn.release()
            time.sleep(3)
            name, fault = faults.one()
            drawn.press(keys.choice(SCREENS))
            fault()
            churn.hold()
            drawn.press("1")
            session_seconds, screen_seconds, lacking = until_equal(client, follower, drawn)
            took.setdefault(name, []).append((session_seconds, screen_seconds))
            is_late = max(session_seconds, screen_seconds) > EQUAL_SECONDS
            failed += is_late
            known = follower.ask()
            minute = (time.monotonic() - began) / 60
            samples.append(
                Sample(minute, (known["rss"], known["threads"], known["descriptors"]), drawn.takes()),
            )
            print(
                f"{minute:5.1f} min  {name:34} {'NOT EQUAL' if is_late else 'equal and live'} after "
                f"{session_seconds:5.1f} s, drawn after {screen_seconds:5.1f} s  {len(known['pods'])} pods, "
                f"{churn.count} changes; {samples[-1].words()}; {lacking[:200]}",
                flush=True,
            )
    finally:
        follower.process.kill()
        follower.process.wait()
        left = drawn.leave()
        plane.stop()
        home.cleanup()
    print(f"\n{len(samples)} faults in {minutes:g} minutes, {churn.count} changes, {failed} not equal")
    summarise(samples, took, faults.said_live)
    print(f"the terminal was left as it was: {'yes' if not left else 'NO: ' + '; '.join(left)}")
    return 1 if failed or left else 0


class Sample(NamedTuple):
    """Resource usage of both followers at a moment: bytes, threads and descriptors."""

    minute: float
    session: tuple[int, int, int]
    app: tuple[int, int, int]

    def words(self) -> str:
        """Return the usage as text."""
        return ", ".join(
            f"{who} {rss / (1 << 20):.0f} MiB, {threads} threads, {descriptors} descriptors"
            for who, (rss, threads, descriptors) in (("session", self.session), ("app", self.app))
        )


def summarise(samples: list[Sample], took: dict[str, list[tuple[float, float]]], said_live: dict[str, float]) -> None:
    """Print recovery times by fault, and the resource usage of both followers."""
    for name in sorted(took):
        live = f", said live for up to {said_live[name]:.0f} s" if name in said_live else ""
        session, screen = (summary([pair[which] for pair in took[name]]) for which in (0, 1))
        note(name, statistics.median(pair[0] for pair in took[name]))
        print(f"  {name:34} {len(took[name]):3}  {session}; drawn {screen}{live}")
    for who in ("session", "app"):
        takes = [getattr(sample, who) for sample in samples]
        threads, descriptors = ([one[place] for one in takes] for place in (1, 2))
        print(
            f"{who}: slope {slope([(one.minute, getattr(one, who)[0]) for one in samples]):+.2f} MiB a minute, first "
            f"third left out; threads {min(threads)} to {max(threads)}, descriptors {min(descriptors)} to "
            f"{max(descriptors)}"
        )
    print_reference()


def summary(times: list[float]) -> str:
    """Return median and maximum as text."""
    times = sorted(times)
    return f"median {times[len(times) // 2]:5.1f} s, worst {times[-1]:5.1f} s"


def slope(samples: list[tuple[float, int]]) -> float:
    """Return the growth of memory in MiB per minute, without the first third."""
    late = [(minute, rss / (1 << 20)) for minute, rss in samples if minute > samples[-1][0] / 3]
    if len(late) < 2:
        return 0.0
    middle_x, middle_y = sum(x for x, _ in late) / len(late), sum(y for _, y in late) / len(late)
    spread = sum((x - middle_x) ** 2 for x, _ in late)
    return sum((x - middle_x) * (y - middle_y) for x, y in late) / spread if spread else 0.0


def main() -> int:
    """Run the session process or the soak."""
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
