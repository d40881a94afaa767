"""A source with many copies of the demo cluster: a large live cluster with NodePools, NodeClasses and real types."""

from __future__ import annotations

import random
import re
import sys
import threading
from typing import Any

import msgspec

from karptui.clock import SystemClock
from karptui.decode.kinds import Kind, kind_of
from karptui.decode.reader import KindReader
from karptui.kube.pod import Pod
from karptui.sources.demo.source import load
from karptui.sources.source import Mailbox, Phase, SourceError, SourceStatus

MULTIPLIED = ("Node", "NodeClaim", "Pod")
CHANGE_SECONDS = 0.5
CHANGED_PODS = 20
_NUMBER = re.compile(r"-n\d+$")


class ManyDemos:
    """Copies of the demo's nodes, NodeClaims and pods; some pods change every half second.

    Args:
        nodes: Minimum number of nodes.
        pods: Minimum number of pods; small pods are added if the copies have fewer.
        pending: Maximum number of pods without a node.
        now_ns: The current time of the demo; None for the real time.
    """

    title = "bench"
    caution = ""

    def __init__(self, nodes: int, pods: int, pending: int = 500, now_ns: int | None = None) -> None:
        now_ns = SystemClock().now_ns() if now_ns is None else now_ns
        self._manifests = load(now_ns)
        self._since_ns = now_ns
        self._readers: dict[str, tuple[Kind, KindReader]] = {}
        self._stopped = threading.Event()
        self.items: dict[Kind, dict[str, Any]] = {kind: {} for kind in Kind}
        of_demo = sum(one["kind"] == "Node" for one in self._manifests)
        for one in self._manifests:
            if one["kind"] not in MULTIPLIED:
                self._add(one)
        many = [one for one in self._manifests if one["kind"] in MULTIPLIED]
        waiting = 0
        for number in range(-(-nodes // of_demo)):
            for one in many:
                if one["kind"] == "Pod" and "nodeName" not in one["spec"]:
                    waiting += 1
                    if waiting > pending:
                        continue
                self._add(copied(one, number))
        self._fill(pods)

    def _add(self, manifest: dict[str, Any]) -> None:
        name = manifest["kind"]
        if name not in self._readers:
            kind = kind_of(manifest["apiVersion"], name)
            assert kind is not None
            reader = KindReader(kind, api_version=manifest["apiVersion"], api_kind=name)
            self._readers[name] = kind, reader
        kind, reader = self._readers[name]
        item = reader.convert(manifest)
        self.items[kind][item.key] = item

    def _fill(self, pods: int) -> None:
        """Add small pods until there are ``pods`` pods."""
        nodes = list(self.items[Kind.NODE])
        small = next(
            one
            for one in self._manifests
            if one["kind"] == "Pod" and one["metadata"]["ownerReferences"][0]["kind"] == "ReplicaSet"
        )
        plain = msgspec.json.decode(msgspec.json.encode(small))
        for container in plain["spec"]["containers"]:
            container["resources"]["requests"] = {"cpu": "1m", "memory": "1Mi"}
        for number in range(pods - len(self.items[Kind.POD])):
            plain["metadata"]["name"] = f"small-{number}"
            plain["metadata"]["uid"] = f"small-{number}"
            plain["spec"]["nodeName"] = nodes[number % len(nodes)]
            self._add(plain)

    def start(self, mailbox: Mailbox) -> None:
        """Report all objects, then changes of pods."""
        for kind, items in self.items.items():
            mailbox.replace(kind, items)
            mailbox.report(SourceStatus(kind=kind, phase=Phase.LIVE, since_ns=self._since_ns, count=len(items)))
        threading.Thread(target=self._change, args=(mailbox,), daemon=True).start()

    def stop(self) -> None:
        """Stop the changes."""
        self._stopped.set()

    def fetch_object(self, kind: str, key: str) -> dict[str, Any]:
        """Return an object of the demo itself, not of a copy."""
        for one in self._manifests:
            meta = one["metadata"]
            if one["kind"] == kind and key in (meta["name"], f"{meta.get('namespace')}/{meta['name']}"):
                copy: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(one))
                return copy
        raise SourceError(f"the benchmark has no {kind} {key}")

    def _change(self, mailbox: Mailbox) -> None:
        chance, keys, round_ = random.Random(1), list(self.items[Kind.POD]), 0
        while not self._stopped.wait(CHANGE_SECONDS):
            round_ += 1
            changed: dict[str, Any] = {}
            for key in chance.sample(keys, CHANGED_PODS):
                pod = self.items[Kind.POD][key]
                assert isinstance(pod, Pod)
                changed[key] = msgspec.structs.replace(pod, waiting_reason=f"r{round_}")
            mailbox.put(Kind.POD, changed)


def copied(one: dict[str, Any], number: int) -> dict[str, Any]:
    """Return a renamed copy; a copy of a copy does not get a longer name."""
    if not number:
        return one

    def renamed(name: str) -> str:
        return f"{_NUMBER.sub('', name)}-n{number}"

    meta = {**one["metadata"], "name": renamed(one["metadata"]["name"]), "uid": renamed(one["metadata"]["uid"])}
    copy = {**one, "metadata": meta}
    if one["kind"] == "Pod":
        if "nodeName" in one["spec"]:
            copy["spec"] = {**one["spec"], "nodeName": renamed(one["spec"]["nodeName"])}
        return copy
    if one["kind"] == "Node":
        meta["labels"] = {**meta["labels"], "kubernetes.io/hostname": meta["name"]}
        copy["spec"] = {**one["spec"], "providerID": renamed(one["spec"]["providerID"])}
        return copy
    copy["status"] = {
        key: renamed(value) if key in ("nodeName", "providerID") else value for key, value in one["status"].items()
    }
    return copy


if __name__ == "__main__":
    made = ManyDemos(5_000, 100_000)
    sys.stdout.write("".join(f"{kind}: {len(items):,}\n" for kind, items in made.items.items() if items))
