"""A fake API server on loopback with a changing cluster: pods, Deployments and nodes are replaced all the time.

    python benchmarks/churning_api_server.py [PODS] [NODES] [--quiet]

Prints its URL when it is ready. The objects are many copies of the demo's, so NodePools, NodeClaims, owners and budgets
match. Each second ten pods are replaced and twenty nodes report their status; every twenty seconds a Deployment gets a
new template, and every minute a node is replaced. With ``--quiet``, nothing changes.
"""

from __future__ import annotations

import gc
import json
import random
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

from loopback_api_server import Server
from many_demos import MULTIPLIED, copied

from karptui.sources.demo.source import load

Manifest = dict[str, Any]

PLURALS = {
    "Node": "nodes", "NodeClaim": "nodeclaims", "NodePool": "nodepools", "EC2NodeClass": "ec2nodeclasses",
    "Pod": "pods", "Event": "events", "Job": "jobs", "Deployment": "deployments", "ReplicaSet": "replicasets",
    "Namespace": "namespaces", "DaemonSet": "daemonsets", "PodDisruptionBudget": "poddisruptionbudgets",
    "StatefulSet": "statefulsets",
}  # fmt: skip
SERVED = {
    "karpenter.sh": {"nodepools": "NodePool", "nodeclaims": "NodeClaim"},
    "karpenter.k8s.aws": {"ec2nodeclasses": "EC2NodeClass"},
}
REPLACED_PODS, REPORTING_NODES = 10, 20
"""Number of pods replaced, and of nodes that report, per second."""
ROLL_SECONDS, NODE_SECONDS = 20, 60
WATCH_SECONDS = 300.0


class Cluster:
    """Objects and watch events by collection."""

    def __init__(self, pod_count: int, node_count: int) -> None:
        self.changed = threading.Condition()
        self.version = 1000
        self.objects: dict[str, dict[str, Manifest]] = defaultdict(dict)
        self.happened: dict[str, list[tuple[int, bytes]]] = defaultdict(list)
        self._random = random.Random(1)
        self._names = 0
        manifests = load(time.time_ns())
        of_demo = sum(one["kind"] == "Node" for one in manifests)
        for one in manifests:
            if one["kind"] in PLURALS and one["kind"] not in MULTIPLIED:
                self._keep(one)
        for number in range(-(-node_count // of_demo)):
            for one in manifests:
                is_waiting = one["kind"] == "Pod" and "nodeName" not in one["spec"]
                if one["kind"] in MULTIPLIED and not (number and is_waiting):
                    self._keep(copied(one, number))
        self._drop_nodes(node_count)
        self._fill(pod_count)

    def _drop_nodes(self, count: int) -> None:
        gone = {one["metadata"]["name"] for one in list(self.objects["nodes"].values())[count:]}
        for plural, name_of in (
            ("nodes", lambda one: one["metadata"]["name"]),
            ("pods", lambda one: one["spec"].get("nodeName")),
            ("nodeclaims", lambda one: one.get("status", {}).get("nodeName")),
        ):
            kept = {key: one for key, one in self.objects[plural].items() if name_of(one) not in gone}
            self.objects[plural] = kept

    def _fill(self, count: int) -> None:
        """Add small pods until the cluster has ``count``."""
        nodes = list(self.objects["nodes"])
        small = [
            one for one in self.objects["pods"].values() if owner(one) == "ReplicaSet" and "nodeName" in one["spec"]
        ]
        for number in range(count - len(self.objects["pods"])):
            pod = json.loads(json.dumps(small[number % len(small)]))
            for container in pod["spec"]["containers"]:
                container["resources"] = {"requests": {"cpu": "1m", "memory": "1Mi"}}
            pod["spec"]["nodeName"] = nodes[number % len(nodes)]
            self._keep(self._renamed(pod))

    def _keep(self, one: Manifest) -> bytes:
        """Store an object with a new resource version, and return it as JSON."""
        self.version += 1
        one["metadata"]["resourceVersion"] = str(self.version)
        self.objects[PLURALS[one["kind"]]][key_of(one)] = one
        return json.dumps(one, separators=(",", ":")).encode()

    def _renamed(self, pod: Manifest, stem: str = "") -> Manifest:
        self._names += 1
        stem = stem or pod["metadata"]["name"].rpartition("-")[0]
        metadata = {**pod["metadata"], "name": f"{stem}-{self._names:05d}", "uid": f"uid-{self._names}"}
        return {**pod, "metadata": metadata}

    # Changes

    def put(self, one: Manifest, *, type_: str = "") -> None:
        """Add or change an object, and notify watches."""
        plural = PLURALS[one["kind"]]
        type_ = type_ or ("MODIFIED" if key_of(one) in self.objects[plural] else "ADDED")
        text = self._keep(one)
        self._tell(plural, b'{"type":"%b","object":%b}\n' % (type_.encode(), text))

    def remove(self, one: Manifest) -> None:
        """Remove an object, and notify watches."""
        plural = PLURALS[one["kind"]]
        text = self._keep(one)
        del self.objects[plural][key_of(one)]
        self._tell(plural, b'{"type":"DELETED","object":%b}\n' % text)

    def _tell(self, plural: str, line: bytes) -> None:
        log = self.happened[plural]
        log.append((self.version, line))
        if len(log) > 20_000:
            del log[:10_000]

    def live(self) -> None:
        """Change objects every second, until the process ends."""
        second = 0
        due = time.monotonic()
        while True:
            second += 1
            due += 1.0
            time.sleep(max(0.0, due - time.monotonic()))
            with self.changed:
                self._second(second)
                self.changed.notify_all()

    def _second(self, second: int) -> None:
        pods = self.objects["pods"]
        for key in self._random.sample(list(pods), REPLACED_PODS):
            self._replace(pods[key])
        for key in self._random.sample(list(self.objects["nodes"]), REPORTING_NODES):
            node = json.loads(json.dumps(self.objects["nodes"][key]))
            for condition in node["status"].get("conditions", ()):
                condition["lastHeartbeatTime"] = instant()
            self.put(node)
        if not second % ROLL_SECONDS:
            self._roll(second)
        if not second % NODE_SECONDS:
            self._replace_node(second)

    def _replace(self, pod: Manifest, stem: str = "", **changes: Any) -> None:
        self.remove(pod)
        pod = self._renamed(pod, stem)
        metadata = {**pod["metadata"], "creationTimestamp": instant(), **changes.get("metadata", {})}
        self.put({**pod, **changes, "metadata": metadata})

    def _roll(self, second: int) -> None:
        """Roll out a new template of a Deployment: replace its ReplicaSet and all pods of that."""
        old = self._random.choice([one for one in self.objects["replicasets"].values() if owner(one) == "Deployment"])
        hash_ = f"{second:09x}"
        name = f"{old['metadata']['ownerReferences'][0]['name']}-{hash_}"
        labels = {**old["metadata"]["labels"], "pod-template-hash": hash_}
        new = {**old, "metadata": {**old["metadata"], "name": name, "uid": f"uid-{name}", "labels": labels}}
        self.remove(old)
        self.put(new)
        for pod in list(self.objects["pods"].values()):
            if pod["metadata"]["namespace"] != old["metadata"]["namespace"] or owner(pod) != "ReplicaSet":
                continue
            reference = pod["metadata"]["ownerReferences"][0]
            if reference["name"] != old["metadata"]["name"]:
                continue
            containers = [{**one, "image": f"registry.example/app:{hash_}"} for one in pod["spec"]["containers"]]
            self._replace(
                pod,
                stem=name,
                metadata={
                    "labels": {**pod["metadata"]["labels"], "pod-template-hash": hash_},
                    "ownerReferences": [{**reference, "name": name, "uid": f"uid-{name}"}],
                },
                spec={**pod["spec"], "containers": containers},
            )

    def _replace_node(self, second: int) -> None:
        """Replace a node with its NodeClaim and its pods."""
        claims = [one for one in self.objects["nodeclaims"].values() if one.get("status", {}).get("nodeName")]
        claim = self._random.choice(claims)
        node = self.objects["nodes"].get(claim["status"]["nodeName"])
        if node is None:
            return
        pods = [one for one in self.objects["pods"].values() if one["spec"].get("nodeName") == node["metadata"]["name"]]
        for one in (*pods, node, claim):
            self.remove(one)
        for one in (node, claim):
            self.put(copied(one, second))
        for one in pods:
            self.put(self._renamed(copied(one, second)))

    # Requests

    def watched(self, plural: str, since: int) -> Iterator[bytes]:
        """Yield the watch events after a resource version, for some minutes."""
        until = time.monotonic() + WATCH_SECONDS
        while time.monotonic() < until:
            with self.changed:
                lines = [line for version, line in self.happened[plural] if version > since]
                if not lines:
                    self.changed.wait(5.0)
                    continue
                since = self.happened[plural][-1][0]
            yield b"".join(lines)

    def listed(self, plural: str, selector: str = "") -> tuple[int, list[bytes]]:
        """Return the resource version and the objects as JSON; ``selector`` is a label as ``key=value``."""
        key, _, value = selector.partition("=")
        with self.changed:
            found = self.objects[plural].values()
            chosen = (one for one in found if not selector or one["metadata"].get("labels", {}).get(key) == value)
            return self.version, [json.dumps(one, separators=(",", ":")).encode() for one in chosen]

    def measured(self, plural: str) -> list[bytes]:
        """Return the metrics-server objects of nodes or pods; all containers have the same usage."""
        with self.changed:
            found = list(self.objects[plural].values())
        common = {"timestamp": instant(), "window": "20s"}
        return [json.dumps({**common, **usage_of(one)}, separators=(",", ":")).encode() for one in found]


def usage_of(one: Manifest) -> Manifest:
    """Return metadata and usage of a node, or of a pod by container."""
    metadata = {key: one["metadata"][key] for key in ("name", "namespace") if key in one["metadata"]}
    if one["kind"] == "Node":
        return {"metadata": metadata, "usage": {"cpu": "1500000000n", "memory": "6291456Ki"}}
    containers = [
        {"name": container["name"], "usage": {"cpu": "2500000n", "memory": "20480Ki"}}
        for container in one["spec"]["containers"]
    ]
    return {"metadata": metadata, "containers": containers}


def owner(one: Manifest) -> str:
    """Return the kind of the first owner, or an empty string."""
    references = one["metadata"].get("ownerReferences") or [{"kind": ""}]
    return str(references[0]["kind"])


def key_of(one: Manifest) -> str:
    return f"{one['metadata'].get('namespace', '')}/{one['metadata']['name']}"


def instant() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def discovery() -> bytes:
    def group(name: str, plurals: dict[str, str]) -> Manifest:
        resources = [
            {"resource": plural, "responseKind": {"kind": kind}, "scope": "Cluster", "verbs": ["list", "watch"]}
            for plural, kind in plurals.items()
        ]
        return {"metadata": {"name": name}, "versions": [{"version": "v1", "resources": resources}]}

    items = [group(name, plurals) for name, plurals in SERVED.items()]
    return json.dumps({"kind": "APIGroupDiscoveryList", "items": items}).encode()


def handler(cluster: Cluster) -> type[BaseHTTPRequestHandler]:
    """Return the request handler of a cluster."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            """Answer discovery, lists and watches."""
            parts = urlsplit(self.path)
            query = {key: values[0] for key, values in parse_qs(parts.query).items()}
            plural = parts.path.rpartition("/")[2]
            if parts.path == "/apis":
                self._answer(discovery())
            elif "watch" in query:
                self._stream(plural, query)
            else:
                version, texts = cluster.listed(plural, query.get("labelSelector", ""))
                if parts.path.startswith("/apis/metrics.k8s.io/"):
                    texts = cluster.measured(plural)
                metadata = b'{"resourceVersion":"%d"}' % version
                self._answer(b'{"kind":"List","metadata":%b,"items":[%b]}' % (metadata, b",".join(texts)))

        def _answer(self, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _stream(self, plural: str, query: dict[str, str]) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            since = int(query.get("resourceVersion") or 0)
            if "sendInitialEvents" in query:
                since, texts = cluster.listed(plural)
                end = {"k8s.io/initial-events-end": "true"}
                bookmark = {"kind": "Bookmark", "metadata": {"resourceVersion": str(since), "annotations": end}}
                self._chunk(b"".join(b'{"type":"ADDED","object":%b}\n' % text for text in texts))
                self._chunk(b'{"type":"BOOKMARK","object":%b}\n' % json.dumps(bookmark).encode())
            for lines in cluster.watched(plural, since):
                self._chunk(lines)
            self.wfile.write(b"0\r\n\r\n")

        def _chunk(self, data: bytes) -> None:
            if data:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
                self.wfile.flush()

        def log_message(self, *args: object) -> None:
            """Stay silent."""

    return Handler


def main() -> None:
    """Serve a new cluster until killed."""
    numbers = [int(argument) for argument in sys.argv[1:] if argument.isdigit()]
    pod_count, node_count = (*numbers, *(5_000, 200)[len(numbers) :])[:2]

    cluster = Cluster(pod_count, node_count)
    server = Server(("127.0.0.1", 0), handler(cluster))
    if "--quiet" not in sys.argv:
        threading.Thread(target=cluster.live, daemon=True).start()
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    gc.collect()
    server.serve_forever()


if __name__ == "__main__":
    main()
