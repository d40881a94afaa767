"""Golden snapshots an hour later: the NodeClaims that Karpenter's own code decided on are there, their pods run."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any

from karptui.kube.quantity import parse_quantity
from karptui.kube.timestamps import format_timestamp, parse_timestamp
from tests.builders import HOUR_NS, SECOND_NS
from tests.goldens_loading import scenarios
from tests.whatif.snapshots import FOLDER, decoded

LIFECYCLE = ("Launched", "Registered", "Initialized")
Manifest = dict[str, Any]


@lru_cache(maxsize=8)
def _types(catalog: str) -> tuple[dict[str, Any], ...]:
    return tuple(json.loads(gzip.decompress((FOLDER / f"{catalog}.gz").read_bytes())))


def snapshots(family: str, every: int = 1) -> Iterator[Manifest]:
    """Yield snapshots of a family for which Karpenter makes NodeClaims, after it has made them."""
    for line in islice(scenarios(FOLDER / f"{family}.jsonl.gz"), 0, None, every):
        if line["expected"]["provisioning"]["newNodeClaims"]:
            yield _after(line)


def _after(line: dict[str, Any]) -> Manifest:
    snapshot, answer = line["snapshot"], line["expected"]["provisioning"]
    types = _types(snapshot["catalog"]) if "catalog" in snapshot else tuple(snapshot["instanceTypes"])
    by_name = {document["name"]: document for document in types}
    decided_ns = parse_timestamp(snapshot["capturedAt"])
    pods = {_key(manifest): manifest for manifest in snapshot["objects"] if manifest["kind"] == "Pod"}
    for place in answer["existingNodes"]:
        for key in place["pods"]:
            _run(pods[key], place["name"])
    for number, result in enumerate(answer["newNodeClaims"]):
        node_name = f"made-{number}"
        snapshot["objects"] += _machine(result, by_name, node_name, decided_ns + number * SECOND_NS // 10)
        snapshot["objects"].append(_daemons(result, pods, node_name))
        for key in result["pods"]:
            _run(pods[key], node_name)
    snapshot["capturedAt"] = format_timestamp(decided_ns + HOUR_NS)
    snapshot.pop("disruption", None)
    return dict(snapshot)


def _key(manifest: Manifest) -> str:
    return f"{manifest['metadata'].get('namespace', 'default')}/{manifest['metadata']['name']}"


def _run(pod: Manifest, node_name: str) -> None:
    pod["spec"]["nodeName"] = node_name
    pod["status"] = {"phase": "Running"}


def _machine(document: dict[str, Any], types: dict[str, Any], node_name: str, created_ns: int) -> list[Manifest]:
    """Return a NodeClaim and its node, launched as the cheapest offering that it may have."""
    name, offering = _launched(document, types)
    instance, stamp = types[name], format_timestamp(created_ns)
    labels = {item["key"]: item["values"][0] for item in instance["requirements"] if len(item.get("values") or ()) == 1}
    labels |= {
        requirement["key"]: requirement["values"][0]
        for requirement in offering["requirements"]
        if len(requirement.get("values") or ()) == 1
    }
    labels |= {"karpenter.sh/nodepool": document["nodePool"], "node.kubernetes.io/instance-type": name}
    allowed = {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": document["instanceTypes"]}
    done = [{"type": text, "status": "True", "lastTransitionTime": stamp} for text in LIFECYCLE]
    claim = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {"name": node_name, "uid": node_name, "creationTimestamp": stamp, "labels": labels},
        "spec": {"nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
                 "requirements": [*document["requirements"], allowed], "resources": {"requests": document["requests"]}},
        "status": {"nodeName": node_name, "providerID": f"aws:///{node_name}", "capacity": instance["capacity"],
                   "conditions": done},
    }  # fmt: skip
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node_name, "creationTimestamp": stamp,
                     "labels": {**labels, "kubernetes.io/hostname": node_name, "karpenter.sh/registered": "true",
                                "karpenter.sh/initialized": "true"}},
        "spec": {"providerID": f"aws:///{node_name}"},
        "status": {"capacity": instance["capacity"], "allocatable": instance["capacity"],
                   "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": stamp}]},
    }  # fmt: skip
    return [claim, node]


def _daemons(document: dict[str, Any], pods: dict[str, Manifest], node_name: str) -> Manifest:
    """Return a pod that asks what those of DaemonSets ask on a node: what Karpenter says less what its pods ask."""
    rest = {
        name: parse_quantity(amount).nano for name, amount in document["requests"].items() if name in ("cpu", "memory")
    }
    for key in document["pods"]:
        for name in rest:
            rest[name] -= requests_of(pods[key]).get(name, 0)
    asks = {"cpu": f"{max(rest.get('cpu', 0), 0)}n", "memory": str(max(rest.get("memory", 0), 0) // 10**9)}
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "all", "uid": "all", "controller": True}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"daemons-{node_name}", "namespace": "kube-system", "ownerReferences": [owner]},
        "spec": {"nodeName": node_name, "containers": [{"name": "all", "resources": {"requests": asks}}]},
        "status": {"phase": "Running"},
    }


def requests_of(pod: Manifest) -> Mapping[str, int]:
    """Return what a pod asks, in billionths; pods with one spec are read once."""
    return _requests_of(json.dumps(pod["spec"]))


@lru_cache(maxsize=256)
def _requests_of(spec: str) -> Mapping[str, int]:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "any"}, "spec": json.loads(spec)}
    return {name: amount.nano for name, amount in decoded(pod).requests.items()}


def _launched(document: dict[str, Any], types: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    allowed = {item["key"]: set(item["values"]) for item in document["requirements"] if item["operator"] == "In"}
    offers = [
        (offering["price"], name, at)
        for name in document["instanceTypes"]
        for at, offering in enumerate(types[name]["offerings"])
        if offering.get("available", True)
        and all(
            set(requirement.get("values") or ()) & allowed[requirement["key"]]
            for requirement in offering["requirements"]
            if requirement["key"] in allowed
        )
    ]
    _, name, at = min(offers)
    return name, types[name]["offerings"][at]
