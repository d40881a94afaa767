"""Pods of the seeded snapshots."""

from __future__ import annotations

from typing import Any

from tests.provisioning.scenarios import (
    APPS,
    AWS,
    CAPACITY_TYPE,
    HOSTNAME,
    NAMESPACES,
    ZONE,
    ZONES,
    Json,
    Scenario,
    fix,
    req,
)

CPUS = ["50m", "100m", "250m", "500m", "900m", "1", "1500m", "3", "7", "0.5"]
MEMORY = ["64Mi", "128Mi", "500M", "1Gi", "2Gi", "3Gi", "7Gi"]


def requests(s: Scenario) -> Json:
    if s.chance(0.02):
        return {}
    document = {"cpu": s.pick(*CPUS), "memory": s.pick(*MEMORY)}
    if s.chance(0.08):
        document.pop(s.pick("cpu", "memory"))
    if s.chance(0.05):
        document["ephemeral-storage"] = s.pick("1Gi", "30Gi")
    if s.chance(0.05):
        document["nvidia.com/gpu"] = s.pick("1", "0")
    return document


def containers(s: Scenario, spec: Json, status: Json) -> None:
    spec["containers"] = [{"name": "app", "image": "i", "resources": {"requests": requests(s)}}]
    if s.chance(0.12):
        spec["containers"].append(
            {
                "name": "two",
                "image": "i",
                "resources": {"requests": requests(s), "limits": {"cpu": "8", "memory": "8Gi"}},
            }
        )
    if s.chance(0.12):
        spec["initContainers"] = [{"name": "init", "image": "i", "resources": {"requests": requests(s)}}]
    if s.chance(0.12):
        sidecar = {"name": "side", "image": "i", "restartPolicy": "Always", "resources": {"requests": requests(s)}}
        spec.setdefault("initContainers", []).insert(s.pick(0, 9), sidecar)
    if s.chance(0.06):
        spec["overhead"] = {"cpu": "100m", "memory": "50Mi"}
    if s.chance(0.06):
        spec["resources"] = {"requests": s.pick({"cpu": "2"}, {"memory": "2Gi"}, {"cpu": "1", "memory": "1Gi"})}
    if s.chance(0.08):
        resized: Json = {"name": "app", "resources": {"requests": {"cpu": s.pick("2", "10m")}}}
        if s.chance(0.5):
            resized["allocatedResources"] = {"cpu": s.pick("1", "3"), "memory": "1Gi"}
        status["containerStatuses"] = [resized]
        if s.chance(0.3):
            status["conditions"].append({"type": "PodResizePending", "status": "True", "reason": "Infeasible"})
    if s.chance(0.12):
        port = {"containerPort": 80, "hostPort": s.pick(80, 80, 443), "protocol": s.pick("TCP", "TCP", "UDP")}
        if s.chance(0.3):
            port["hostIP"] = s.pick("10.0.0.1", "10.0.0.2", "0.0.0.0")
        spec["containers"][0]["ports"] = [port]


def node_requirement(s: Scenario) -> Json:
    return fix(
        s.pick(
            req(ZONE, s.pick("In", "In", "NotIn"), *s.r.sample([*ZONES, "mars"], s.pick(1, 2))),
            req(CAPACITY_TYPE, s.pick("In", "NotIn"), s.pick("spot", "on-demand")),
            req("kubernetes.io/arch", "In", s.pick("amd64", "arm64")),
            req("beta.kubernetes.io/arch", "In", "amd64"),
            req(f"{AWS}/instance-cpu", s.pick("Gt", "Lt", "Gte", "Lte"), s.pick("1", "3", "7")),
            req("failure-domain.beta.kubernetes.io/zone", "In", s.pick(*ZONES)),
            req(f"{AWS}/instance-gpu-count", s.pick("Exists", "DoesNotExist", "NotIn"), "3"),
            req("example.com/team", s.pick("In", "NotIn", "Exists", "DoesNotExist"), s.pick("red", "blue")),
            req("example.com/tier", s.pick("In", "NotIn"), s.pick("gold", "silver")),
            req("example.com/quirk", s.pick("In", "NotIn", "Exists"), "odd"),
            req("karpenter.sh/nodepool", s.pick("In", "NotIn"), s.pick("pool-0", "mool-1")),
            req("unknown.io/key", s.pick("In", "NotIn", "DoesNotExist"), "v"),
        )
    )


def node_affinity(s: Scenario) -> Json:
    document: Json = {}
    if s.chance(0.5):
        terms = [
            {"matchExpressions": [node_requirement(s) for _ in range(s.pick(1, 1, 2))]}
            for _ in range(s.pick(1, 1, 2, 3))
        ]
        if s.chance(0.04):
            terms[-1]["matchFields"] = [{"key": "metadata.name", "operator": "In", "values": ["node-0"]}]
        document["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    if s.chance(0.5):
        document["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": s.pick(1, 10, 10, 100), "preference": {"matchExpressions": [node_requirement(s)]}}
            for _ in range(s.pick(1, 2, 3))
        ]
    return document


def selector(s: Scenario, app: str) -> Json | None:
    pick: Json | None = s.pick(
        {"matchLabels": {"app": app}},
        {"matchLabels": {"app": app}},
        {"matchLabels": {"app": s.pick(*APPS)}},
        {"matchExpressions": [{"key": "app", "operator": s.pick("In", "NotIn"), "values": [app, "zz"]}]},
        {"matchExpressions": [{"key": "rev", "operator": s.pick("Exists", "DoesNotExist")}]},
        {},
    )
    return pick


def affinity_term(s: Scenario, app: str) -> Json:
    document: Json = {
        "topologyKey": s.pick(HOSTNAME, HOSTNAME, ZONE, CAPACITY_TYPE, "example.com/team"),
        "labelSelector": selector(s, app),
    }
    if s.chance(0.15):
        document["namespaces"] = s.r.sample(NAMESPACES, s.pick(1, 2))
    if s.chance(0.06):
        document[s.pick("matchLabelKeys", "mismatchLabelKeys")] = ["rev"]
    if s.chance(0.2):
        document["namespaceSelector"] = s.pick(
            {},
            {"matchLabels": {"env": "prod"}},
            {"matchExpressions": [{"key": "env", "operator": "NotIn", "values": ["prod"]}]},
        )
    return document


def pod_terms(s: Scenario, app: str) -> Json:
    document: Json = {}
    if s.chance(0.6):
        document["requiredDuringSchedulingIgnoredDuringExecution"] = [affinity_term(s, app)]
    else:
        document["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": s.pick(1, 10, 100), "podAffinityTerm": affinity_term(s, app)} for _ in range(s.pick(1, 1, 2))
        ]
    return document


def spread(s: Scenario, app: str) -> Json:
    document: Json = {
        "maxSkew": s.pick(1, 1, 2),
        "topologyKey": s.pick(HOSTNAME, ZONE, ZONE, CAPACITY_TYPE, "example.com/team", "kubernetes.io/arch"),
        "whenUnsatisfiable": s.pick("DoNotSchedule", "DoNotSchedule", "ScheduleAnyway"),
        "labelSelector": selector(s, app),
    }
    if s.chance(0.15) and document["whenUnsatisfiable"] == "DoNotSchedule":
        document["minDomains"] = s.pick(2, 3, 4)
    if s.chance(0.25):
        document["matchLabelKeys"] = s.pick(["rev"], ["rev", "missing"])
    if s.chance(0.25):
        document["nodeTaintsPolicy"] = s.pick("Honor", "Ignore")
    if s.chance(0.25):
        document["nodeAffinityPolicy"] = s.pick("Honor", "Ignore")
    return document


def tolerations(s: Scenario) -> list[Json]:
    return [
        s.pick(
            {"key": "dedicated", "operator": "Exists"},
            {"key": "dedicated", "operator": "Equal", "value": s.pick("x", "y")},
            {"key": "dedicated", "operator": "Equal", "value": "x", "effect": "NoSchedule"},
            {"operator": "Exists"},
            {"operator": "Exists", "effect": "PreferNoSchedule"},
            {"key": "cni", "operator": "Exists"},
            {"key": "tier", "operator": s.pick("Gt", "Lt"), "value": s.pick("10", "30"), "effect": "NoSchedule"},
        )
        for _ in range(s.pick(1, 1, 2))
    ]


def constraints(s: Scenario, app: str) -> Json:
    """Scheduling constraints of a workload's pods."""
    spec: Json = {}
    affinity: Json = {}
    if s.chance(0.2):
        spec["nodeSelector"] = s.pick({ZONE: s.pick(*ZONES)}, {CAPACITY_TYPE: "spot"}, {"example.com/tier": "gold"},
                                      {"example.com/team": "red"}, {HOSTNAME: "node-0"})  # fmt: skip
    if s.chance(0.3):
        affinity["nodeAffinity"] = node_affinity(s)
    if s.chance(0.2):
        affinity["podAffinity"] = pod_terms(s, app)
    if s.chance(0.25):
        affinity["podAntiAffinity"] = pod_terms(s, app)
    if affinity:
        spec["affinity"] = affinity
    if s.chance(0.35):
        spec["topologySpreadConstraints"] = [spread(s, app) for _ in range(s.pick(1, 1, 2))]
    if s.chance(0.4):
        spec["tolerations"] = tolerations(s)
    return spec


def pending_status(s: Scenario) -> Json:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}
    status: Json = {"phase": "Pending", "conditions": [condition]}
    if s.chance(0.04):
        condition["reason"] = "SchedulingGated"
    if s.chance(0.03):
        status["nominatedNodeName"] = "node-0"
    return status


def make_pods(s: Scenario) -> None:
    if s.chance(0.04):
        make_crowd(s)
    for w in range(s.r.randint(1, 6)):
        app, namespace = s.pick(*APPS), s.pick("default", "default", *NAMESPACES)
        shared = constraints(s, app)
        status = pending_status(s)
        spec: Json = {**shared}
        containers(s, spec, status)
        if s.chance(0.03):
            spec["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "gpu"}]
        labels = {"app": app, **({"rev": s.pick("1", "2")} if s.chance(0.5) else {})}
        owner = {
            "apiVersion": "apps/v1",
            "kind": s.pick("ReplicaSet", "ReplicaSet", "StatefulSet"),
            "name": f"w{w}",
            "uid": f"o{w}",
            "controller": True,
        }
        if s.chance(0.02):
            owner["kind"] = "DaemonSet"
        gates = {"schedulingGates": [{"name": "example.com/quota"}]} if s.chance(0.04) else {}
        for i in range(s.pick(1, 1, 2, 3, 5, 16)):
            document: dict[str, Any] = {**spec, **gates}
            if s.chance(0.1):
                document["volumes"] = [volume(s, f"data-{k}") for k in range(s.pick(1, 1, 2))]
            s.add("v1", "Pod", s.meta(f"w{w}-{i}", namespace, labels=labels, ownerReferences=[owner]), spec=document,
                  status=status)  # fmt: skip


def make_crowd(s: Scenario) -> None:
    """Add enough pods that the order of new claims depends on Go's unstable sort."""
    term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "crowd"}}}
    alone = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    for i in range(s.pick(62, 90)):
        container = {"name": "app", "image": "i", "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}}}
        spec: Json = {"containers": [container]}
        labels = {"app": "crowd"} if i % 3 else {"app": "a"}
        if i % 3:
            spec["affinity"] = alone
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": ""}
        status = {"phase": "Pending", "conditions": [condition]}
        s.add("v1", "Pod", s.meta(f"crowd-{i}", "default", labels=labels), spec=spec, status=status)


def volume(s: Scenario, name: str = "data") -> Json:
    if s.chance(0.1):
        return {"name": name, "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "late"}}}}
    return {"name": name, "persistentVolumeClaim": {"claimName": f"claim-{s.r.randrange(7)}"}}
