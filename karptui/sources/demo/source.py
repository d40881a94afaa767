"""The demo as a source: the shipped recording first, moved to the present, and then life goes on."""

from __future__ import annotations

import gzip
import math
import random
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from importlib import resources
from itertools import islice
from typing import Any, Final, TypeVar
from zlib import crc32

import msgspec

from karptui.clock import Clock, SystemClock
from karptui.decode.kinds import Kind, kind_of
from karptui.decode.reader import KindReader
from karptui.kube.quantity import parse_quantity
from karptui.kube.timestamps import NS_PER_SECOND, format_timestamp, parse_timestamp
from karptui.sources.demo.machines import (
    POOL,
    become_ready,
    consolidate,
    drain,
    is_quiet,
    join,
    launch,
    launched,
    pool_of,
    relax,
    try_in_vain,
)
from karptui.sources.demo.pods import roll_out, schedule, start_ci_job
from karptui.sources.demo.world import DemoPlay, DemoWorld, Manifest, key_of
from karptui.sources.source import LocalSource, Mailbox, Phase, SourceError, SourceStatus, kept_as

FILE: Final = "recording.json.gz"
_TIMESTAMP: Final = re.compile(rb'"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"')
_MANIFESTS: Final = msgspec.json.Decoder(list[Manifest])


Answer = TypeVar("Answer")


class _Recording(msgspec.Struct, rename="camel"):
    captured_at: str
    objects: msgspec.Raw


_RECORDING: Final = msgspec.json.Decoder(_Recording)


def load(now_ns: int) -> list[Manifest]:
    """Return the objects as if they had been recorded at an instant: every timestamp moved by the same time."""
    packed = resources.files(__package__).joinpath(FILE).read_bytes()
    recording = _RECORDING.decode(gzip.decompress(packed))
    shift_ns = (now_ns - parse_timestamp(recording.captured_at)) // NS_PER_SECOND * NS_PER_SECOND
    moved: dict[bytes, bytes] = {}

    def move(match: re.Match[bytes]) -> bytes:
        text = match[0]
        if text not in moved:
            moved[text] = msgspec.json.encode(format_timestamp(parse_timestamp(text[1:-1].decode()) + shift_ns))
        return moved[text]

    # In the text, as going through a hundred thousand values takes several times as long.
    return _MANIFESTS.decode(_TIMESTAMP.sub(move, bytes(recording.objects)))


SEED: Final = 1
STEP_SECONDS: Final = 0.5
STOP_SECONDS: Final = 1.0


class DemoSource(LocalSource):
    """Plays the demo: the same seed and the same clock give the same cluster."""

    title = "demo"

    def __init__(
        self, *, seed: int = SEED, clock: Clock | None = None, is_stepped: bool = False, phase: Phase = Phase.LIVE
    ) -> None:
        """Set up without loading anything.

        Args:
            is_stepped: Whether time advances only when ``step`` is called.
            phase: The reported phase; offline if nothing will ever change.
        """
        self.clock: Clock = clock or SystemClock()
        self._seed = seed
        self.is_stepped = is_stepped
        self._phase = phase
        self._play: DemoPlay | None = None
        self._mailbox: Mailbox | None = None
        self._readers: dict[tuple[str, str], tuple[Kind, KindReader]] = {}
        self._counts: dict[Kind, int] = {}
        self._since_ns = 0
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._acting = threading.Lock()

    def start(self, mailbox: Mailbox) -> None:
        """Put the recording into the mailbox, and begin to play."""
        self._mailbox = mailbox
        if self.is_stepped:
            self._open()
            return
        self._thread = threading.Thread(target=self._run, name="karptui demo", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the play."""
        self._stopped.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(STOP_SECONDS)

    def step(self) -> None:
        """Run all actions that are due, and report the changes."""
        assert self._play is not None, "start comes first"
        with self._acting:
            self._play.advance(self.clock.now_ns())
            self._put(self._play.world.take_changes())

    def act(self, change: Callable[[DemoPlay], Answer]) -> Answer:
        """Let a function read or change the world now, report the changes, and return its answer."""
        if self._play is None:
            raise SourceError("the demo has not begun")
        with self._acting:
            self._play.now_ns = max(self._play.now_ns, self.clock.now_ns())
            answer = change(self._play)
            self._put(self._play.world.take_changes())
        return answer

    def fetch_object(self, kind: str, key: str) -> dict[str, Any]:
        """Return one object as an API server would give it."""
        kept_as(kind)
        manifest = self._play.world.get(kind, key) if self._play is not None else None
        if manifest is None:
            raise SourceError(f"the demo has no {kind} {key}")
        copy: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(manifest))
        return copy

    def manifests(self) -> list[dict[str, Any]]:
        """Return every object as an API server would give it; none before it has begun."""
        return list(self._play.world.everything().values()) if self._play is not None else []

    def _run(self) -> None:
        self._open()
        while not self._stopped.wait(STEP_SECONDS):
            self.step()

    def _open(self) -> None:
        now_ns = self._since_ns = self.clock.now_ns()
        world = DemoWorld(load(now_ns), random.Random(self._seed))  # noqa: S311 - a play, not a secret
        play = DemoPlay(world, now_ns)
        begin(play)
        self._play = play
        self._counts = dict.fromkeys(Kind, 0)
        self._put(dict(world.everything()))

    def _put(self, changes: dict[tuple[str, str], Manifest | None]) -> None:
        assert self._mailbox is not None
        by_kind: dict[Kind, dict[str, Any]] = {}
        recorded: dict[Kind, dict[str, Manifest | None]] = {}
        for (api_kind, key), manifest in changes.items():
            kind, item = self._decoded(api_kind, manifest)
            by_kind.setdefault(kind, {})[key if item is None else item.key] = item
            recorded.setdefault(kind, {})[key if item is None else item.key] = manifest
        for kind, items in by_kind.items():
            if self._mailbox.tap is not None:
                self._mailbox.tap.put_manifests(kind, recorded[kind])
            self._mailbox.put(kind, items)
        self._report(by_kind)

    def _decoded(self, api_kind: str, manifest: Manifest | None) -> tuple[Kind, Any]:
        if manifest is None:
            return next(kind for (_, name), (kind, _) in self._readers.items() if name == api_kind), None
        api_version = manifest["apiVersion"]
        reader = self._readers.get((api_version, api_kind))
        if reader is None:
            kind = kind_of(api_version, api_kind)
            assert kind is not None, "the demo has only known kinds"
            reader = self._readers[api_version, api_kind] = (
                kind,
                KindReader(kind, api_version=api_version, api_kind=api_kind),
            )
        return reader[0], reader[1].convert(manifest)

    def _report(self, changed: dict[Kind, dict[str, Any]]) -> None:
        assert self._mailbox is not None
        assert self._play is not None
        now_ns = self.clock.now_ns()
        if changed:
            self._counts = dict.fromkeys(Kind, 0)
            for (_, name), (kind, _) in self._readers.items():
                self._counts[kind] += len(self._play.world.of(name))
        for kind, count in self._counts.items():
            self._mailbox.report(
                SourceStatus(kind=kind, phase=self._phase, since_ns=self._since_ns, count=count, last_contact_ns=now_ns)
            )


WINDOW_SECONDS: Final = 15
CYCLE_SECONDS: Final = 1800
"""How long usage takes to rise and fall."""
CPU_SHARES: Final = (0.1, 0.75)
MEMORY_SHARES: Final = (0.45, 0.95)
"""Least and greatest share of its requests that a pod uses."""
SWING: Final = 0.15
"""Maximum variation of a pod's cpu usage over time, as a share."""
UNREQUESTED: Final = {"cpu": 20, "memory": 64 << 20}
"""Usage of a container without requests: millicores and bytes."""
SYSTEM: Final = {"cpu": 90, "memory": 700 << 20}
"""What kubelet, container runtime and kernel use of a node."""


class DemoMetricsServer:
    """Answers for metrics-server of a demo cluster."""

    def __init__(self, demo: DemoSource) -> None:
        self._demo = demo

    def get(
        self,
        path: str,
        query: Mapping[str, str] | None = None,  # noqa: ARG002 - everything is on one page
        *,
        accept: str = "",  # noqa: ARG002 - JSON in any case
        read_seconds: float | None = None,  # noqa: ARG002 - answers at once
    ) -> bytes:
        """Return the usage of all nodes, or of all pods."""
        now_ns = self._demo.clock.now_ns() // (WINDOW_SECONDS * NS_PER_SECOND) * WINDOW_SECONDS * NS_PER_SECOND
        manifests = self._demo.manifests()
        pods = [m for m in manifests if m["kind"] == "Pod" and m.get("status", {}).get("phase") == "Running"]
        used = [_used(pod, now_ns) for pod in pods]
        stamp = {"timestamp": format_timestamp(now_ns), "window": f"{WINDOW_SECONDS}s"}
        items: list[dict[str, Any]] = []
        if path.endswith("/pods"):
            for pod, by_name in zip(pods, used, strict=True):
                head = {key: pod["metadata"].get(key, "") for key in ("name", "namespace")}
                parts = [{"name": name, "usage": _amounts(amounts)} for name, amounts in by_name.items()]
                items.append({"metadata": head, **stamp, "containers": parts})
        else:
            by_node: dict[str, list[dict[str, int]]] = {}
            for pod, by_name in zip(pods, used, strict=True):
                by_node.setdefault(pod["spec"].get("nodeName", ""), []).extend(by_name.values())
            for node in (manifest for manifest in manifests if manifest["kind"] == "Node"):
                name = node["metadata"]["name"]
                items.append({"metadata": {"name": name}, **stamp, "usage": _amounts(_sum(by_node.get(name, ())))})
        return msgspec.json.encode({"items": items})


def _used(pod: Mapping[str, Any], now_ns: int) -> dict[str, dict[str, int]]:
    number = crc32(pod["metadata"]["name"].encode()) / (1 << 32)
    wave = 1 + SWING * math.sin(2 * math.pi * (now_ns / NS_PER_SECOND / CYCLE_SECONDS + number))
    used: dict[str, dict[str, int]] = {}
    for container in pod["spec"].get("containers", ()):
        requests = container.get("resources", {}).get("requests", {})
        cpu, memory = (parse_quantity(str(requests.get(name, "0"))) for name in ("cpu", "memory"))
        used[container["name"]] = {
            "cpu": int((cpu.millis or UNREQUESTED["cpu"]) * _between(CPU_SHARES, number) * wave),
            "memory": int((memory.units or UNREQUESTED["memory"]) * _between(MEMORY_SHARES, 1 - number)),
        }
    return used


def _between(bounds: tuple[float, float], number: float) -> float:
    return bounds[0] + (bounds[1] - bounds[0]) * number


def _sum(used: Iterable[Mapping[str, int]]) -> dict[str, int]:
    parts = (SYSTEM, *used)
    return {name: sum(part[name] for part in parts) for name in SYSTEM}


def _amounts(used: Mapping[str, int]) -> dict[str, str]:
    return {"cpu": f"{used['cpu']}m", "memory": str(used["memory"])}


COPIES: Final = 16
PAGE: Final = 500
"""Pods that an API server gives at a time."""
PAGE_SECONDS: Final = 0.6


class LargeDemo(DemoSource):
    """Nodes are there at once; pods come as they do from an API server, and then nothing moves."""

    def __init__(self, *, clock: Clock | None = None, copies: int = COPIES, page_seconds: float = PAGE_SECONDS) -> None:
        """Set up without loading anything.

        Args:
            page_seconds: Time that a page of pods takes.
        """
        super().__init__(clock=clock)
        self._copies, self._page_seconds = copies, page_seconds

    def step(self) -> None:
        """Do nothing: nothing moves."""

    def _run(self) -> None:
        now_ns = self._since_ns = self.clock.now_ns()
        objects = load(now_ns)
        pods = [manifest for manifest in objects if manifest["kind"] == "Pod"]
        others = list(copied([manifest for manifest in objects if manifest["kind"] != "Pod"], self._copies))
        by_kind: dict[Kind, dict[str, Any]] = {kind: {} for kind in Kind}
        for manifest in others:
            kind, item = self._decoded(manifest["kind"], manifest)
            by_kind[kind][item.key] = item
        for kind, changed_objects in by_kind.items():
            if kind is not Kind.POD:
                self._give(kind, changed_objects, len(changed_objects))
        total = sum(self._copies if is_copied(pod) else 1 for pod in pods)
        self._give(Kind.POD, {}, 0, total)
        pods_so_far: list[Manifest] = []
        coming = copied(pods, self._copies)
        while len(pods_so_far) < total and not self._stopped.wait(self._page_seconds):
            page = list(islice(coming, PAGE))
            pods_so_far += page
            items = [self._decoded("Pod", manifest)[1] for manifest in page]
            self._give(Kind.POD, {item.key: item for item in items}, len(pods_so_far), total)
        self._play = DemoPlay(DemoWorld([*others, *pods_so_far], random.Random(SEED)), now_ns)  # noqa: S311 - no secret

    def _give(self, kind: Kind, objects: dict[str, Any], count: int, of: int = 0) -> None:
        assert self._mailbox is not None
        now_ns = self.clock.now_ns()
        phase = Phase.SYNCING if count < of else Phase.LIVE
        self._mailbox.put(kind, objects)
        self._mailbox.report(
            SourceStatus(
                kind=kind,
                phase=phase,
                since_ns=self._since_ns,
                count=count,
                total_estimate=of if phase is Phase.SYNCING else None,
                last_contact_ns=now_ns,
            )
        )


def is_copied(manifest: Manifest) -> bool:
    """Return whether there are several of an object: nodes, their NodeClaims, and pods that run on them."""
    return manifest["kind"] in ("Node", "NodeClaim") or "nodeName" in manifest["spec"]


def copied(objects: list[Manifest], copies: int) -> Iterator[Manifest]:
    """Yield a cluster's objects with copies of each node, its NodeClaim and its pods, and with sufficient limits."""
    for manifest in objects:
        kind, spec = manifest["kind"], manifest.get("spec", {})
        if kind == "NodePool" and "limits" in spec:
            limits = {name: str(int(amount) * copies) for name, amount in spec["limits"].items()}
            yield {**manifest, "spec": {**spec, "limits": limits}}
            continue
        yield manifest
        if kind in ("Node", "NodeClaim", "Pod") and is_copied(manifest):
            text = msgspec.json.encode(manifest)
            yield from (_copy(text, kind, number) for number in range(1, copies))


def _copy(text: bytes, kind: str, number: int) -> Manifest:
    """Return another of an object, on or as another node: ``ip-10-3-71-204`` for ``ip-10-0-71-204``."""
    other = text.replace(b"ip-10-0-", f"ip-10-{number}-".encode()).replace(b"/i-0", f"/i-{number:x}".encode())
    manifest: Manifest = msgspec.json.decode(other)
    meta = manifest["metadata"]
    name = meta["name"] if kind == "Node" else f"{meta['name']}-{number:x}"
    manifest["metadata"] = {**meta, "name": name, "uid": f"{meta['uid'][:-2]}{number:02x}"}
    return manifest


THROTTLED: Final = "RequestLimitExceeded"
JOINING_NS: Final = 600 * NS_PER_SECOND
FOLLOWING: Final = "media"
"""Namespace of the pods whose node is launching."""


def begin(play: DemoPlay) -> None:
    """Continue the actions that the recording has begun, and schedule new ones for as long as it runs."""
    _go_on(play)
    play.after(2.0, start_ci_job)
    play.after(11.0, launch)
    play.after(25.0, _rotate)
    play.every(9, 20, start_ci_job)
    play.every(7, 15, roll_out)
    play.every(90, 150, _rotate)
    play.every(20, 40, relax)
    play.every(170, 200, try_in_vain)


def _rotate(play: DemoPlay) -> None:
    """Have a machine go, and another come later."""
    if consolidate(play):
        play.after(play.rng.uniform(20, 40), launch)


def _go_on(play: DemoPlay) -> None:
    """Continue the launches and removals in the recording."""
    world = play.world
    quiet = sorted((m for m in world.of("Node") if pool_of(m) == POOL and is_quiet(m)), key=key_of)
    models = iter(quiet)
    for claim in sorted(world.of("NodeClaim"), key=key_of):
        if claim["status"].get("nodeName"):
            continue
        node = _like(world.of("Node"), claim) or next(models)
        if claim["status"].get("providerID"):
            play.after(9.0, partial(join, manifest=claim, node_model=node))
        else:
            # What EC2 throttles comes through once it takes requests again.
            seconds = 70.0 if any(entry["reason"] == THROTTLED for entry in claim["status"]["conditions"]) else 2.0
            model = world.claim_of(node)
            assert model is not None
            play.after(seconds, partial(launched, manifest=claim, model=model, node_model=node))
    for pod in world.of("Pod"):
        if pod["metadata"]["namespace"] == FOLLOWING and "nodeName" not in pod["spec"]:
            play.after(1.0, partial(schedule, manifest=pod))
    for node in world.of("Node"):
        if "deletionTimestamp" in node["metadata"]:
            play.after(4.0, partial(drain, node=node))
        elif pool_of(node) and _is_joining(node, play.now_ns):
            play.after(14.0, partial(become_ready, node=node))


def _is_joining(node: Manifest, now_ns: int) -> bool:
    """Whether a node will be initialized soon; a node that has been waiting for minutes will not."""
    age_ns = now_ns - parse_timestamp(node["metadata"]["creationTimestamp"])
    return node["metadata"]["labels"].get("karpenter.sh/initialized") != "true" and age_ns < JOINING_NS


def _like(nodes: list[Manifest], claim: Manifest) -> Manifest | None:
    """Return a node of the claim's instance type."""
    size = claim["metadata"]["labels"].get("node.kubernetes.io/instance-type")
    return next((n for n in nodes if n["metadata"]["labels"]["node.kubernetes.io/instance-type"] == size), None)
