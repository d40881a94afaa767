"""A fake API server on loopback with a large cluster: lists, streaming lists, and watches without events.

    python benchmarks/loopback_api_server.py [PODS] [NODES] [--no-streaming-lists]

Prints its URL when it is ready. Pods come from benchmarks/pods.py, nodes are made here, and all other kinds are empty.
All answers are prepared beforehand, so that serving only copies bytes and hardly disturbs the measurement.
"""

from __future__ import annotations

import gc
import json
import random
import sys
from array import array
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event
from urllib.parse import parse_qs, urlsplit

import pods

VERSION = "20000000"
KARPENTER = {"nodepools": "NodePool", "nodeclaims": "NodeClaim"}
_END = {"metadata": {"resourceVersion": VERSION, "annotations": {"k8s.io/initial-events-end": "true"}}}
SLICE_BYTES = 1 << 18
_LINE = b'{"type":"%b","object":%b}\n'


class BigCluster:
    """Collections as prepared bytes: chunks of streaming lists, and pages cut from the same bytes."""

    def __init__(self, pod_count: int, node_count: int, *, streams_lists: bool) -> None:
        rnd = random.Random(1)
        self.streams_lists = streams_lists
        self._streams: dict[str, bytearray] = {}
        self._places: dict[str, array[int]] = {}
        """Start and end offset of each object in its stream."""
        self._keep("nodes", (_text(node(number, rnd)) for number in range(node_count)))
        self._keep("pods", (_text(pods.pod(number, rnd, 4000)) for number in range(pod_count)))

    def page(self, plural: str, start: int, limit: int) -> bytes:
        """Return a page of a list; a limit of 0 means all objects."""
        wire, places = memoryview(self._streams.get(plural, bytearray())), self._places.get(plural, ())
        count = len(places) // 2
        end = min(start + limit, count) if limit else count
        objects = [wire[places[2 * at] : places[2 * at + 1]] for at in range(start, end)]
        metadata: pods.JSON = {"resourceVersion": VERSION}
        if end < count:
            metadata |= {"continue": str(end), "remainingItemCount": count - end}
        return b'{"kind":"List","metadata":' + _text(metadata) + b',"items":[' + b",".join(objects) + b"]}"

    def initial_events(self, plural: str) -> bytes | bytearray:
        """Return a streaming list with one chunk per event, like kube-apiserver."""
        return self._streams.get(plural) or _chunk(b"BOOKMARK", _text(_END))

    def _keep(self, plural: str, objects: Iterable[bytes]) -> None:
        wire, places = bytearray(), array("q")
        for one in objects:
            wire += _chunk(b"ADDED", one)
            end = len(wire) - len(b"}\n\r\n")
            places.extend((end - len(one), end))
        wire += _chunk(b"BOOKMARK", _text(_END))
        self._streams[plural] = wire
        self._places[plural] = places


def _chunk(type_: bytes, document: bytes) -> bytes:
    line = _LINE % (type_, document)
    return b"%x\r\n%b\r\n" % (len(line), line)


def node(number: int, rnd: random.Random) -> pods.JSON:
    """Return a ready node with thirty images, about 7 kB."""
    zone, kind = f"eu-west-1{'abc'[number % 3]}", rnd.choice(("m7i.2xlarge", "c7g.4xlarge", "r6i.xlarge"))
    name = f"ip-10-{number // 250}-{number % 250}-7.eu-west-1.compute.internal"
    room = {"cpu": "7910m", "memory": "30Gi", "pods": "58", "ephemeral-storage": "18Gi"}
    condition = {"reason": "Kubelet", "message": "kubelet", "lastHeartbeatTime": "2026-07-01T00:00:00Z"}
    types = ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    return {
        "metadata": {
            "name": name,
            "uid": f"{number:08x}-0000-4000-8000-000000000000",
            "resourceVersion": str(10_000_000 + number),
            "creationTimestamp": "2026-07-01T00:00:00Z",
            "labels": {
                "karpenter.sh/nodepool": f"pool-{number % 5}",
                "karpenter.sh/capacity-type": rnd.choice(("spot", "on-demand")),
                "node.kubernetes.io/instance-type": kind,
                "topology.kubernetes.io/zone": zone,
                "kubernetes.io/hostname": name,
                "kubernetes.io/arch": "amd64",
            },
        },
        "spec": {"providerID": f"aws:///{zone}/i-{number:017x}"},
        "status": {
            "capacity": {**room, "cpu": "8"},
            "allocatable": room,
            "conditions": [{**condition, "type": one, "status": str(one == "Ready")} for one in types],
            "images": [
                {"names": [f"registry.example.com/team/{i}@sha256:{rnd.getrandbits(256):064x}"], "sizeBytes": 10**8}
                for i in range(30)
            ],
        },
    }


def _text(document: object) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def _discovery() -> bytes:
    resources = [
        {"resource": plural, "responseKind": {"kind": kind}, "scope": "Cluster", "verbs": ["list", "watch"]}
        for plural, kind in KARPENTER.items()
    ]
    groups = [{"metadata": {"name": "karpenter.sh"}, "versions": [{"version": "v1", "resources": resources}]}]
    return _text({"kind": "APIGroupDiscoveryList", "items": groups})


def handler(cluster: BigCluster) -> type[BaseHTTPRequestHandler]:
    """Return the request handler of a cluster."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            """Answer discovery, lists and watches."""
            parts = urlsplit(self.path)
            query = {key: values[0] for key, values in parse_qs(parts.query).items()}
            plural = parts.path.rpartition("/")[2]
            if parts.path == "/apis":
                self._answer(_discovery())
            elif "watch" not in query:
                self._answer(cluster.page(plural, int(query.get("continue", 0)), int(query.get("limit", 0))))
            elif "sendInitialEvents" in query and not cluster.streams_lists:
                self._answer(b'{"kind":"Status","code":422,"message":"no streaming lists"}', 422)
            else:
                self._stream(plural if "sendInitialEvents" in query else None)

        def _answer(self, body: bytes, status: int = 200) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _stream(self, plural: str | None) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            if plural is not None:
                wire = memoryview(cluster.initial_events(plural))
                for start in range(0, len(wire), SLICE_BYTES):
                    self.wfile.write(wire[start : start + SLICE_BYTES])
            self.wfile.flush()
            Event().wait(600)

        def log_message(self, *args: object) -> None:
            """Stay silent."""

    return Handler


class Server(ThreadingHTTPServer):
    """Handles each connection in its own thread."""

    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *args: object) -> None:
        """Ignore clients that disconnect."""


def main() -> None:
    """Serve a new cluster until killed."""
    numbers = [int(argument) for argument in sys.argv[1:] if argument.isdigit()]
    pod_count, node_count = (*numbers, *(100_000, 5_000)[len(numbers) :])[:2]
    cluster = BigCluster(pod_count, node_count, streams_lists="--no-streaming-lists" not in sys.argv)
    server = Server(("127.0.0.1", 0), handler(cluster))
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    gc.collect()
    gc.freeze()
    server.serve_forever()


if __name__ == "__main__":
    main()
