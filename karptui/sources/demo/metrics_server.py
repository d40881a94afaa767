"""The demo's metrics-server: usage of pods and nodes, derived from their requests, names and the time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final
from zlib import crc32

import msgspec

from karptui.kube.quantity import parse_quantity
from karptui.kube.timestamps import NS_PER_SECOND, format_timestamp
from karptui.sources.demo.source import DemoSource

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
        pods = [one for one in manifests if one["kind"] == "Pod" and one.get("status", {}).get("phase") == "Running"]
        used = {id(pod): _used(pod, now_ns) for pod in pods}
        stamp = {"timestamp": format_timestamp(now_ns), "window": f"{WINDOW_SECONDS}s"}
        items: list[dict[str, Any]] = []
        if path.endswith("/pods"):
            for pod in pods:
                name = {key: pod["metadata"].get(key, "") for key in ("name", "namespace")}
                items.append({"metadata": name, **stamp, "containers": [{"usage": _amounts(used[id(pod)])}]})
        else:
            by_node: dict[str, list[dict[str, int]]] = {}
            for pod in pods:
                by_node.setdefault(pod["spec"].get("nodeName", ""), []).append(used[id(pod)])
            for node in (one for one in manifests if one["kind"] == "Node"):
                name = node["metadata"]["name"]
                items.append({"metadata": {"name": name}, **stamp, "usage": _amounts(_sum(by_node.get(name, ())))})
        return msgspec.json.encode({"items": items})


def _used(pod: Mapping[str, Any], now_ns: int) -> dict[str, int]:
    """Return the millicores and bytes that a pod uses at an instant."""
    number = crc32(pod["metadata"]["name"].encode()) / (1 << 32)
    wave = 1 + SWING * math.sin(2 * math.pi * (now_ns / NS_PER_SECOND / CYCLE_SECONDS + number))
    cpu, memory = 0, 0
    for container in pod["spec"].get("containers", ()):
        requests = container.get("resources", {}).get("requests", {})
        asked_cpu, asked_memory = (parse_quantity(str(requests.get(name, "0"))) for name in ("cpu", "memory"))
        cpu += asked_cpu.millis or UNREQUESTED["cpu"]
        memory += asked_memory.units or UNREQUESTED["memory"]
    return {
        "cpu": int(cpu * _between(CPU_SHARES, number) * wave),
        "memory": int(memory * _between(MEMORY_SHARES, 1 - number)),
    }


def _between(bounds: tuple[float, float], number: float) -> float:
    return bounds[0] + (bounds[1] - bounds[0]) * number


def _sum(used: Iterable[Mapping[str, int]]) -> dict[str, int]:
    parts = (SYSTEM, *used)
    return {name: sum(one[name] for one in parts) for name in SYSTEM}


def _amounts(used: Mapping[str, int]) -> dict[str, str]:
    return {"cpu": f"{used['cpu']}m", "memory": str(used["memory"])}
