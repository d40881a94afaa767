"""A large cluster made of the demo's: sixteen of every node, with its pods, which come in page by page."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

import msgspec

from karptui.clock import Clock
from karptui.decode.kinds import Kind
from karptui.sources.base import Phase, SourceStatus
from karptui.sources.demo.play import DemoPlay
from karptui.sources.demo.source import SEED, DemoSource, load
from karptui.sources.demo.world import DemoWorld, Manifest

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
        pods = [one for one in objects if one["kind"] == "Pod"]
        others = list(copied([one for one in objects if one["kind"] != "Pod"], self._copies))
        by_kind: dict[Kind, dict[str, Any]] = {kind: {} for kind in Kind}
        for manifest in others:
            kind, item = self._decoded(manifest["kind"], manifest)
            by_kind[kind][item.key] = item
        for kind, found in by_kind.items():
            if kind is not Kind.POD:
                self._give(kind, found, len(found))
        total = sum(self._copies if is_copied(one) else 1 for one in pods)
        self._give(Kind.POD, {}, 0, total)
        given: list[Manifest] = []
        coming = copied(pods, self._copies)
        while len(given) < total and not self._stopped.wait(self._page_seconds):
            page = list(islice(coming, PAGE))
            given += page
            items = [self._decoded("Pod", manifest)[1] for manifest in page]
            self._give(Kind.POD, {item.key: item for item in items}, len(given), total)
        self._play = DemoPlay(DemoWorld([*others, *given], random.Random(SEED)), now_ns)  # noqa: S311 - no secret

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
    made: Manifest = msgspec.json.decode(other)
    meta = made["metadata"]
    name = meta["name"] if kind == "Node" else f"{meta['name']}-{number:x}"
    made["metadata"] = {**meta, "name": name, "uid": f"{meta['uid'][:-2]}{number:02x}"}
    return made
