"""Golden snapshots an hour later: the NodeClaims that Karpenter's own code decided on are there, their pods run."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from karptui.kube.quantity import parse_quantity
from karptui.kube.timestamps import format_timestamp, parse_timestamp
from tests.builders import HOUR_NS, SECOND_NS
from tests.provisioning.loading import scenarios
from tests.whatif.snapshots import FOLDER, decoded

LIFECYCLE = ("Launched", "Registered", "Initialized")
Manifest = dict[str, Any]


@lru_cache(maxsize=8)
def _types(catalog: str) -> tuple[dict[str, Any], ...]:
    return tuple(json.loads(gzip.decompress((FOLDER / f"{catalog}.gz").read_bytes())))


def snapshots(family: str) -> Iterator[Manifest]:
    """Yield those snapshots of a family for which Karpenter makes NodeClaims, after it has made them."""
    for line in scenarios(FOLDER / f"{family}.jsonl.gz"):
        if line["expected"]["provisioning"]["newNodeClaims"]:
            yield _after(line)


def _after(line: dict[str, Any]) -> Manifest:
    snapshot, answer = line["snapshot"], line["expected"]["provisioning"]
    types = _types(snapshot["catalog"]) if "catalog" in snapshot else tuple(snapshot["instanceTypes"])
    by_name = {one["name"]: one for one in types}
    decided_ns = parse_timestamp(snapshot["capturedAt"])
    pods = {_key(one): one for one in snapshot["objects"] if one["kind"] == "Pod"}
    for place in answer["existingNodes"]:
        for key in place["pods"]:
            _run(pods[key], place["name"])
    for number, made in enumerate(answer["newNodeClaims"]):
        node_name = f"made-{number}"
        snapshot["objects"] += _machine(made, by_name, node_name, decided_ns + number * SECOND_NS // 10)
        snapshot["objects"].append(_daemons(made, pods, node_name))
        for key in made["pods"]:
            _run(pods[key], node_name)
    snapshot["capturedAt"] = format_timestamp(decided_ns + HOUR_NS)
    snapshot.pop("disruption", None)
    return dict(snapshot)


def _key(manifest: Manifest) -> str:
    return f"{manifest['metadata'].get('namespace', 'default')}/{manifest['metadata']['name']}"


def _run(pod: Manifest, node_name: str) -> None:
    pod["spec"]["nodeName"] = node_name
    pod["status"] = {"phase": "Running"}


def _machine(made: dict[str, Any], types: dict[str, Any], node_name: str, created_ns: int) -> list[Manifest]:
    """Return a NodeClaim and its node, launched as the cheapest offering that it may have."""
    name, offering = _launched(made, types)
    instance, stamp = types[name], format_timestamp(created_ns)
    labels = {one["key"]: one["values"][0] for one in instance["requirements"] if len(one.get("values") or ()) == 1}
    labels |= {one["key"]: one["values"][0] for one in offering["requirements"] if len(one.get("values") or ()) == 1}
    labels |= {"karpenter.sh/nodepool": made["nodePool"], "node.kubernetes.io/instance-type": name}
    allowed = {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": made["instanceTypes"]}
    done = [{"type": one, "status": "True", "lastTransitionTime": stamp} for one in LIFECYCLE]
    claim = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {"name": node_name, "uid": node_name, "creationTimestamp": stamp, "labels": labels},
        "spec": {
            "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
            "requirements": [*made["requirements"], allowed],
            "resources": {"requests": made["requests"]},
        },
        "status": {
            "nodeName": node_name,
            "providerID": f"aws:///{node_name}",
            "capacity": instance["capacity"],
            "conditions": done,
        },
    }
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": node_name,
            "creationTimestamp": stamp,
            "labels": {
                **labels,
                "kubernetes.io/hostname": node_name,
                "karpenter.sh/registered": "true",
                "karpenter.sh/initialized": "true",
            },
        },
        "spec": {"providerID": f"aws:///{node_name}"},
        "status": {
            "capacity": instance["capacity"],
            "allocatable": instance["capacity"],
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": stamp}],
        },
    }
    return [claim, node]


def _daemons(made: dict[str, Any], pods: dict[str, Manifest], node_name: str) -> Manifest:
    """Return a pod that asks what those of DaemonSets ask on a node: what Karpenter says less what its pods ask."""
    rest = {name: parse_quantity(amount).nano for name, amount in made["requests"].items() if name in ("cpu", "memory")}
    for key in made["pods"]:
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


def _launched(made: dict[str, Any], types: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    allowed = {one["key"]: set(one["values"]) for one in made["requirements"] if one["operator"] == "In"}
    offers = [
        (offering["price"], name, at)
        for name in made["instanceTypes"]
        for at, offering in enumerate(types[name]["offerings"])
        if offering.get("available", True)
        and all(
            set(one.get("values") or ()) & allowed[one["key"]]
            for one in offering["requirements"]
            if one["key"] in allowed
        )
    ]
    _, name, at = min(offers)
    return name, types[name]["offerings"][at]
