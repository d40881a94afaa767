"""Compare karptui's predictions with a running Karpenter: pod placements and disruptions.

Runs if KARPTUI_KARPENTER is the path of a Karpenter with its kwok provider (``tools/follow_release.py VERSION --kwok
PATH`` builds one). Takes several minutes.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.builders import present
from tests.builders.manifests import one_of

from .control_plane import ControlPlane
from .karpenter import (
    CAPACITY_TYPE,
    CLAIMS,
    HOSTNAME,
    NEEDS_REBOOT,
    NODES,
    PODS,
    POOLS,
    UNHEALTHY,
    ZONE,
    LiveCluster,
    named,
    running_cluster,
    simulated,
    unschedulable,
)

BINARY = os.environ.get("KARPTUI_KARPENTER", "")
pytestmark = [
    pytest.mark.apiserver,
    pytest.mark.skipif(not BINARY, reason="KARPTUI_KARPENTER names no Karpenter with its kwok provider"),
]
TEAM = "example.com/team"
Placement = Counter[tuple[str, tuple[str, ...], tuple[tuple[str, int], ...]]]


@pytest.fixture(scope="module")
def cluster(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    """Return a cluster with a running Karpenter and its NodePools."""
    pools = (
        a_pool("general"),
        a_pool("spot", weight=50, requirements=[one_of(CAPACITY_TYPE, "spot")], team="batch"),
        a_pool("small", limits={"cpu": "4"}, team="small"),
        *(a_pool(name, team=name, requirements=[one_of(CAPACITY_TYPE, "on-demand")]) for name in DISRUPTIONS),
    )
    with running_cluster(plane, Path(BINARY), tmp_path_factory.mktemp("snapshots"), pools) as (livecluster, _):
        yield livecluster


def a_pool(
    name: str, *, weight: int = 0, requirements: Any = (), limits: Any = None, team: str = "", **labels: str
) -> dict[str, Any]:
    reference = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}
    result = {"nodeClassRef": reference, "requirements": list(requirements), "expireAfter": "Never"}
    if team:
        result["taints"] = [{"key": TEAM, "value": team, "effect": "NoSchedule"}]
        labels[TEAM] = team
    spec = {
        "template": {"metadata": {"labels": labels}, "spec": result},
        "disruption": {"consolidateAfter": "Never", "budgets": [{"nodes": "100%"}]},
        **({"weight": weight} if weight else {}),
        **({"limits": limits} if limits else {}),
    }
    return {**named("NodePool", "karpenter.sh/v1", name), "spec": spec}


def pods(name: str, count: int, cpu: str, memory: str = "256Mi", team: str = "", **spec: Any) -> list[dict[str, Any]]:
    container = {"name": "main", "image": "app", "resources": {"requests": {"cpu": cpu, "memory": memory}}}
    if team:
        spec["tolerations"] = [{"key": TEAM, "value": team, "effect": "NoSchedule"}]
        spec["nodeSelector"] = {TEAM: team, **spec.get("nodeSelector", {})}
    whole = {"containers": [container], "terminationGracePeriodSeconds": 0, **spec}
    return [{"metadata": {"name": f"{name}-{i}", "labels": {"app": name}}, "spec": whole} for i in range(count)]


def _apart(name: str, key: str) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": {"app": name}}, "topologyKey": key}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _together(name: str, key: str) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": {"app": name}}, "topologyKey": key}
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _prefers(weight: int, term: dict[str, Any]) -> dict[str, Any]:
    preferred = {"weight": weight, "preference": {"matchExpressions": [term]}}
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [preferred]}}


def _spread(name: str, key: str, when: str) -> list[dict[str, Any]]:
    selector = {"matchLabels": {"app": name}}
    return [{"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when, "labelSelector": selector}]


LOADS: dict[str, list[dict[str, Any]]] = {
    "one": pods("one", 1, "500m"),
    "several": pods("several", 6, "900m", "1Gi"),
    "room": pods("room", 2, "100m", "64Mi"),
    "memory": pods("memory", 3, "500m", "7Gi"),
    "zone": pods("zone", 3, "1500m", nodeSelector={ZONE: "test-zone-b"}),
    "spot": pods("spot", 4, "1800m", "3Gi", team="batch"),
    "arch": pods("arch", 1, "1", nodeSelector={"kubernetes.io/arch": "arm64"}),
    "huge": pods("huge", 1, "17"),
    "apart": pods("apart", 4, "300m", affinity=_apart("apart", HOSTNAME)),
    "zones": pods("zones", 3, "700m", affinity=_apart("zones", ZONE)),
    "spread": pods("spread", 6, "1200m", topologySpreadConstraints=_spread("spread", ZONE, "DoNotSchedule")),
    "soft": pods("soft", 4, "2500m", topologySpreadConstraints=_spread("soft", HOSTNAME, "ScheduleAnyway")),
    "default": pods("default", 6, "3500m", "2Gi"),
    "prefers": pods("prefers", 2, "3", affinity=_prefers(10, one_of(ZONE, "test-zone-c"))),
    "cannot": pods("cannot", 2, "3", "12Gi", affinity=_prefers(10, one_of(ZONE, "mars"))),
    "ports": [
        {
            **pod,
            "spec": {
                **pod["spec"],
                "containers": [{**pod["spec"]["containers"][0], "ports": [{"containerPort": 80, "hostPort": 80}]}],
            },
        }
        for pod in pods("ports", 3, "200m")
    ],
    "limited": pods("limited", 4, "1800m", team="small"),
    "family": pods("family", 2, "5", "10Gi", nodeSelector={"node.kubernetes.io/instance-type": "m-16x-amd64-linux"}),
    "together": pods("together", 4, "1100m", affinity=_together("together", ZONE)),
    "mixed": [*pods("mixed-big", 2, "6", "4Gi"), *pods("mixed-small", 4, "250m", "200Mi")],
}
SERVED = ("default",)
"""Loads behind a Service: the default spread constraints of kube-scheduler apply to them."""


def group_of(pod: str) -> str:
    """Return the name of the group whose pods are interchangeable."""
    return pod.rpartition("/")[2].rpartition("-")[0]


def _grouped(names: list[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(Counter(map(group_of, names)).items()))


def predicted_placement(answer: dict[str, Any]) -> tuple[Placement, Counter[str], Counter[str]]:
    """Return karptui's prediction: new NodeClaims, pods on existing nodes, and unschedulable pods."""
    result = answer["provisioning"]
    claims = Counter(
        (new_node_claim["nodePool"], tuple(sorted(new_node_claim["instanceTypes"])), _grouped(new_node_claim["pods"]))
        for new_node_claim in result["newNodeClaims"]
    )
    placed = Counter(group_of(pod) for node in result["existingNodes"] for pod in node["pods"])
    return claims, placed, Counter(map(group_of, result["podErrors"]))


def real_placement(cluster: LiveCluster, names: list[str]) -> tuple[Placement, Counter[str], Counter[str]]:
    """Return the same values from Karpenter's objects and events."""
    wanted = cluster.nominations()
    claims = {manifest["metadata"]["name"]: manifest for manifest in cluster.items(CLAIMS)}
    by_claim: dict[str, list[str]] = {}
    placed, failed = Counter[str](), Counter[str]()
    for name in names:
        kind, _, target = wanted[name].partition("/")
        if kind == "nodeclaim":
            by_claim.setdefault(target, []).append(name)
        elif kind == "node":
            placed[group_of(name)] += 1
        else:
            failed[group_of(name)] += 1
    counts = Counter((*_of_claim(claims[target]), _grouped(texts)) for target, texts in by_claim.items())
    return counts, placed, failed


def _of_claim(claim: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    types = next(
        item["values"] for item in claim["spec"]["requirements"] if item["key"] == "node.kubernetes.io/instance-type"
    )
    return claim["metadata"]["labels"]["karpenter.sh/nodepool"], tuple(sorted(types))


def test_placements_are_predicted(cluster: LiveCluster, record_property: Callable[[str, object], None]) -> None:
    differing = {}
    for load, result in LOADS.items():
        names = [manifest["metadata"]["name"] for manifest in result]
        if load in SERVED:
            service = {"metadata": {"name": load}, "spec": {"selector": {"app": load}, "ports": [{"port": 80}]}}
            cluster.client.request("POST", "/api/v1/namespaces/default/services", service)
        cluster.client.create(PODS, result)

        def waits(item: dict[str, Any], names: list[str] = names) -> None:
            if item["kind"] == "Pod" and item["metadata"]["name"] in names:
                item["status"]["conditions"] = [unschedulable()]

        predicted = predicted_placement(simulated(cluster.snapshot(load, waits)))
        cluster.mark_unschedulable(names)
        cluster.until_answered(names)
        real = real_placement(cluster, names)
        if predicted != real:
            differing[load] = (predicted, real)
        cluster.until(cluster.is_settled, f"{load}: nodes ready")
        for name in [name for name in names if "/" not in cluster.nominations()[name][:10]]:
            cluster.client.request("DELETE", f"{PODS}/{name}")
    record_property("placements", f"{len(LOADS) - len(differing)} of {len(LOADS)} loads as predicted")
    assert not differing, json.dumps({load: str(both) for load, both in differing.items()}, indent=1)


def delete(*names: str) -> Callable[[LiveCluster], None]:
    def act(cluster: LiveCluster) -> None:
        for name in names:
            cluster.client.request("DELETE", f"{PODS}/{name}")
        cluster.until(lambda: not {item["metadata"]["name"] for item in cluster.items(PODS)} & set(names), "pods gone")

    return act


def nothing(_: LiveCluster) -> None:
    return


CONSOLIDATE = {"spec": {"disruption": {"consolidateAfter": "0s"}}}
DRIFT = {"spec": {"template": {"metadata": {"labels": {"example.com/round": "2"}}}}}
Disruption = tuple[list[list[dict[str, Any]]], Callable[[LiveCluster], None], dict[str, Any] | str]
DISRUPTIONS: dict[str, Disruption] = {
    "empty": ([pods("empty", 1, "500m", team="empty")], delete("empty-0"), CONSOLIDATE),
    "empties": ([pods("empties", 2, "500m", team="empties", affinity=_apart("empties", HOSTNAME))],
                delete("empties-0", "empties-1"), CONSOLIDATE),
    "drift": ([pods("drift", 2, "900m", team="drift")], nothing, DRIFT),
    "drift-empty": ([pods("drift-empty", 1, "500m", team="drift-empty")], delete("drift-empty-0"), DRIFT),
    "cheaper": ([[*pods("cheaper", 1, "300m", team="cheaper"), *pods("cheaper-big", 1, "6", team="cheaper")]],
                delete("cheaper-big-0"), CONSOLIDATE),
    "fits": ([pods("fits-a", 1, "3", team="fits"), pods("fits-b", 1, "1500m", team="fits"),
              pods("fits-c", 1, "3500m", team="fits")], delete("fits-a-0"), CONSOLIDATE),
    "many": ([pods("many", 3, "1500m", team="many", affinity=_apart("many", HOSTNAME)),
              pods("many-x", 1, "100m", team="many")], delete("many-2"), CONSOLIDATE),
    "repair": ([pods("repair", 2, "700m", team="repair")], nothing, UNHEALTHY),
    "repair-empty": ([pods("repair-empty", 1, "700m", team="repair-empty")], delete("repair-empty-0"), UNHEALTHY),
    "reboot": ([pods("reboot", 2, "700m", team="reboot")], nothing, NEEDS_REBOOT),
}  # fmt: skip
"""By NodePool: loads that launch its nodes, a change, and the trigger for Karpenter (a patch or a node condition)."""


def first_command(answer: dict[str, Any], pool: str, nodes: dict[str, str]) -> tuple[Any, ...] | None:
    """Return reason, decision, nodes and replacements of the first command for a NodePool, or None."""
    for method in answer["disruption"]:
        for command in method["commands"]:
            names = tuple(sorted(name for name in command["candidates"] if nodes.get(name) == pool))
            if names:
                pairs = sorted(
                    (claim["nodePool"], tuple(sorted(claim["instanceTypes"]))) for claim in command["replacements"]
                )
                return method["reason"], command["decision"], names, tuple(pairs)
    return None


@pytest.mark.parametrize("pool", DISRUPTIONS)
def test_a_disruption_is_predicted(cluster: LiveCluster, pool: str) -> None:
    loads, act, release = DISRUPTIONS[pool]
    for load in loads:
        names = [manifest["metadata"]["name"] for manifest in load]
        cluster.client.create(PODS, load)
        cluster.mark_unschedulable(names)
        cluster.until_answered(names)
        cluster.until(cluster.is_settled, "nodes ready")
    act(cluster)
    nodes = {
        manifest["metadata"]["name"]: manifest["metadata"]["labels"]["karpenter.sh/nodepool"]
        for manifest in cluster.items(NODES)
        if "karpenter.sh/nodepool" in manifest["metadata"]["labels"]
    }
    before = {claim["metadata"]["name"]: claim for claim in _claims(cluster, pool)}
    path = release_and_snapshot(cluster, pool, release)
    predicted = present(first_command(simulated(path, disruption=True), pool, nodes))
    let_act(cluster, pool, release)
    reason, decision, candidates, replacements = predicted
    hit = {name for name, manifest in before.items() if manifest["status"]["nodeName"] in candidates}
    real = cluster.until(lambda: _disrupted(cluster, pool, before, decision), f"{predicted} in vain")
    assert real == (reason, decision, hit, replacements)
    cluster.until(cluster.is_settled, "nodes ready")


def _claims(cluster: LiveCluster, pool: str) -> list[dict[str, Any]]:
    return [item for item in cluster.items(CLAIMS) if item["metadata"]["labels"]["karpenter.sh/nodepool"] == pool]


def release_and_snapshot(cluster: LiveCluster, pool: str, release: dict[str, Any] | str) -> Path:
    """Write a snapshot of the moment before Karpenter acts.

    A patch is applied first. A node condition is only added to the snapshot, because Karpenter would act at once.
    """
    if isinstance(release, str):
        cluster.until(lambda: _age(cluster, pool) > TOLERATED, "old enough")
        since = min(claim["metadata"]["creationTimestamp"] for claim in _claims(cluster, pool))

        def is_ill(item: dict[str, Any]) -> None:
            if item["kind"] == "Node" and item["metadata"]["labels"].get("karpenter.sh/nodepool") == pool:
                item["status"]["conditions"].append(_ill(release, since))

        return cluster.snapshot(pool, is_ill)
    cluster.client.request("PATCH", f"{POOLS}/{pool}", release)
    # There is time for a snapshot: consolidation is validated for 15 s, and drift is marked before nodes are deleted.
    mark = "Drifted" if release is DRIFT else "Consolidatable"
    cluster.until(lambda: all(_is_marked(claim, mark) for claim in _claims(cluster, pool)), f"{mark} is set")
    return cluster.snapshot(pool)


TOLERATED = 32.0


def _age(cluster: LiveCluster, pool: str) -> float:
    creation_timestamps = [item["metadata"]["creationTimestamp"] for item in cluster.items(NODES) if _is_of(item, pool)]
    oldest = max(datetime.fromisoformat(item) for item in creation_timestamps)
    return (datetime.now(UTC) - oldest).total_seconds()


def _is_of(node: dict[str, Any], pool: str) -> bool:
    return bool(node["metadata"]["labels"].get("karpenter.sh/nodepool") == pool)


def _ill(kind: str, since: str) -> dict[str, str]:
    return {"type": kind, "status": "True", "reason": "Test", "message": "", "lastTransitionTime": since}


def _is_marked(claim: dict[str, Any], mark: str) -> bool:
    return any(item["type"] == mark and item["status"] == "True" for item in claim["status"]["conditions"])


def let_act(cluster: LiveCluster, pool: str, release: dict[str, Any] | str) -> None:
    """Set the node condition that triggers Karpenter; a patch was applied before the snapshot."""
    if not isinstance(release, str):
        return
    since = min(claim["metadata"]["creationTimestamp"] for claim in _claims(cluster, pool))
    for node in [manifest for manifest in cluster.items(NODES) if _is_of(manifest, pool)]:
        conditions = [*node["status"]["conditions"], _ill(release, since)]
        path = f"{NODES}/{node['metadata']['name']}/status"
        cluster.client.request("PATCH", path, {"status": {"conditions": conditions}})


def _disrupted(cluster: LiveCluster, pool: str, before: dict[str, Any], decision: str) -> tuple[Any, ...] | None:
    """Return reason, decision, deleted NodeClaims and new NodeClaims, or None until all are visible."""
    claims = {claim["metadata"]["name"]: claim for claim in _claims(cluster, pool)}
    rebooting = {
        name for name, result in claims.items() if any(c["type"] == "Rebooting" for c in result["status"]["conditions"])
    }
    if decision == "reboot":
        return ("Unhealthy", "reboot", rebooting, ()) if rebooting else None
    gone = {name for name in before if name not in claims or claims[name]["metadata"].get("deletionTimestamp")}
    if not gone or any(not claim["status"].get("nodeName") for claim in claims.values()):
        return None
    of_claims = sorted(_of_claim(manifest) for name, manifest in claims.items() if name not in before)
    told = [
        event["message"].rpartition(": ")[2]
        for event in cluster.items("/api/v1/events")
        if event["reason"] == "DisruptionTerminating" and event["involvedObject"].get("name", "") in gone
    ]
    if not told:
        return None
    return told[0], "replace" if of_claims else "delete", gone, tuple(of_claims)
