"""Nodes, their pods, and DaemonSets of the seeded snapshots."""

from __future__ import annotations

from tests.provisioning.scenario_pods import constraints, containers, node_requirement, requests, tolerations, volume
from tests.provisioning.scenarios import APPS, AWS, CAPACITY_TYPE, HOSTNAME, NAMESPACES, ZONE, Json, Scenario


def make_daemonsets(s: Scenario) -> None:
    for i in range(s.pick(0, 0, 1, 1, 2, 3)):
        template: Json = {"containers": [{"name": "agent", "image": "i", "resources": {"requests": requests(s)}}]}
        template["containers"][0]["resources"]["requests"] = {
            "cpu": s.pick("20m", "100m", "500m"),
            "memory": s.pick("32Mi", "300Mi"),
        }
        if s.chance(0.1):
            template["containers"][0]["resources"] = {"limits": {"cpu": "60m", "memory": "64Mi"}}
        if s.chance(0.4):
            template["tolerations"] = tolerations(s)
        if s.chance(0.2):
            template["nodeSelector"] = s.pick(
                {"kubernetes.io/arch": "arm64"}, {"example.com/tier": "gold"}, {"karpenter.sh/registered": "true"}
            )
        if s.chance(0.3):
            terms = [{"matchExpressions": [node_requirement(s)]} for _ in range(s.pick(1, 2))]
            template["affinity"] = {
                "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
            }
        if s.chance(0.15):
            template["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": s.pick(80, 443), "protocol": "TCP"}]
        s.add("apps/v1", "DaemonSet", s.meta(f"ds-{i}", "ops"),
              spec={"selector": {"matchLabels": {"app": f"ds-{i}"}},
                    "template": {"metadata": {"labels": {"app": f"ds-{i}"}}, "spec": template}})  # fmt: skip


def amounts(it: Json) -> tuple[Json, Json]:
    capacity = dict(it["capacity"])
    allocatable = {**capacity, "cpu": f"{int(capacity['cpu']) * 1000 - 100}m"}
    return capacity, allocatable


def make_nodes(s: Scenario) -> None:
    for i in range(s.pick(0, 0, 1, 2, 3, 5)):
        make_node(s, i)


STATES = [
    "ready", "ready", "ready", "uninitialized", "unregistered", "launched", "unmanaged", "deleting", "terminating",
]  # fmt: skip
MARKS = ("karpenter.sh/nodepool", "karpenter.sh/registered", "karpenter.sh/initialized", f"{AWS}/ec2nodeclass")


def claim_labels(s: Scenario, it: Json, pool: Json, zone: str) -> Json:
    labels = {item["key"]: item["values"][0] for item in it["requirements"] if item["operator"] == "In"}
    labels |= {ZONE: zone, CAPACITY_TYPE: s.pick("spot", "on-demand"), f"{AWS}/ec2nodeclass": "default"}
    labels["karpenter.sh/nodepool"] = pool["metadata"]["name"]
    labels |= pool["spec"]["template"]["metadata"]["labels"]
    labels.pop(f"{AWS}/capacity-reservation-id", None)
    if s.chance(0.2):
        labels["example.com/team"] = s.pick("red", "blue")
    return labels


def node_labels(s: Scenario, name: str, state: str, labels: Json) -> Json:
    document = dict(labels)
    if s.chance(0.85):
        document[HOSTNAME] = name if s.chance(0.9) else f"{name}.internal"
    if state not in ("uninitialized", "unregistered"):
        document["karpenter.sh/initialized"] = "true"
    if state != "unregistered":
        document["karpenter.sh/registered"] = "true"
    return {key: value for key, value in document.items() if state != "unmanaged" or key not in MARKS}


def node_taints(s: Scenario, state: str, template: Json) -> list[Json]:
    taints = list(template.get("taints") or [])
    if state == "unregistered":
        taints.append({"key": "karpenter.sh/unregistered", "effect": "NoExecute"})
    if state == "uninitialized" and s.chance(0.2):
        taints.append({"key": s.pick("readiness.k8s.io/net", "unknown.io/boot"), "effect": "NoSchedule"})
    if state == "uninitialized":
        taints += [
            {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"},
            *(template.get("startupTaints") or []),
        ]
    if state in ("deleting", "terminating"):
        taints.append({"key": "karpenter.sh/disrupted", "effect": "NoSchedule"})
    return taints


def make_node(s: Scenario, i: int) -> None:
    """Add a node in a random state, with its pods."""
    it, pool = s.r.choice(s.types), s.r.choice(s.pools)
    name, state = f"node-{i}", s.pick(*STATES)
    zone = it["offerings"][0]["requirements"][1]["values"][0]
    labels = claim_labels(s, it, pool, zone)
    provider_id = f"aws:///{zone}/i-{s.seed}-{i}"
    capacity, allocatable = amounts(it)
    if state == "uninitialized" and s.chance(0.5):
        capacity, allocatable = (
            {**capacity, "nvidia.com/gpu": "0"},
            {**allocatable, "nvidia.com/gpu": "0", "memory": "0"},
        )
    if state != "unmanaged":
        make_claim(s, f"claim-{name}", labels, pool=pool, it=it, provider_id=provider_id, state=state)
    if state == "launched":
        return
    spec: Json = {"taints": node_taints(s, state, pool["spec"]["template"]["spec"])}
    if not s.chance(0.5 if state == "unmanaged" else 0.03):
        spec["providerID"] = provider_id
    ready = s.pick("True", "True", "True", "True", "False", "Unknown")
    if ready == "False":
        spec["taints"].append({"key": "node.kubernetes.io/not-ready", "effect": s.pick("NoSchedule", "NoExecute")})
    if ready == "Unknown":
        spec["taints"].append({"key": "node.kubernetes.io/unreachable", "effect": s.pick("NoSchedule", "NoExecute")})
    if s.chance(0.08):
        spec["unschedulable"] = True
        spec["taints"].append({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
    status = {"capacity": capacity, "allocatable": allocatable, "conditions": [{"type": "Ready", "status": ready}]}
    s.add("v1", "Node", s.meta(name, labels=node_labels(s, name, state, labels)), spec=spec, status=status)
    if state == "unmanaged" or "providerID" in spec:
        fill(s, i, name)
    if s.chance(0.2):
        driver = {
            "name": "ebs.csi.aws.com", "nodeID": name, "topologyKeys": None, "allocatable": {"count": s.pick(0, 1, 2)},
        }  # fmt: skip
        s.add("storage.k8s.io/v1", "CSINode", s.meta(name), spec={"drivers": [driver]})


def make_claim(s: Scenario, name: str, labels: Json, *, pool: Json, it: Json, provider_id: str, state: str) -> None:
    capacity, allocatable = amounts(it)
    metadata = s.meta(name, labels=labels, generation=1)
    conditions = [
        {"type": "Launched", "status": "True", "reason": "Launched", "message": "",
         "lastTransitionTime": "2026-11-20T09:00:00Z"},
    ]  # fmt: skip
    if state == "deleting":
        metadata |= {"deletionTimestamp": "2026-11-20T11:58:00Z", "finalizers": ["karpenter.sh/termination"]}
    if state == "terminating":
        conditions.append({**conditions[0], "type": "InstanceTerminating", "reason": "InstanceTerminating"})
    template = pool["spec"]["template"]["spec"]
    s.add("karpenter.sh/v1", "NodeClaim", metadata,
          spec={"nodeClassRef": template["nodeClassRef"], "requirements": [], "resources": {},
                "taints": template.get("taints", []), "startupTaints": template.get("startupTaints", [])},
          status={"providerID": provider_id if s.chance(0.97) else "", "capacity": capacity, "allocatable": allocatable,
                  "conditions": conditions})  # fmt: skip


def fill(s: Scenario, i: int, node: str) -> None:
    """Add pods that run or have ended on a node."""
    for k in range(s.pick(0, 1, 2, 4)):
        app, namespace = s.pick(*APPS), s.pick(*NAMESPACES)
        phase = s.pick("Running", "Running", "Running", "Succeeded", "Pending")
        status: Json = {
            "phase": phase,
            "startTime": "2026-11-20T11:00:00Z",
            "conditions": [{"type": "Ready", "status": s.pick("True", "False")}],
        }
        spec: Json = constraints(s, app) if s.chance(0.4) else {}
        spec["nodeName"] = node
        containers(s, spec, status)
        spec["containers"][0]["resources"]["requests"]["cpu"] = s.pick("50m", "200m", "700m")
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "r", "controller": True}
        if s.chance(0.15):
            owner |= {
                "kind": "DaemonSet",
                "name": "ds-0",
                "uid": next((o["metadata"]["uid"] for o in s.objects if o["kind"] == "DaemonSet"), "none"),
            }
            namespace = "ops"
        elif s.chance(0.15):
            owner["kind"] = "StatefulSet"
        annotations = {"karpenter.sh/do-not-disrupt": s.pick("true", "30m", "3h", "yes")} if s.chance(0.1) else {}
        labels = {"app": app, **({"rev": s.pick("1", "2")} if s.chance(0.5) else {})}
        metadata = s.meta(f"run-{i}-{k}", namespace, labels=labels, ownerReferences=[owner], annotations=annotations)
        if s.chance(0.08):
            metadata |= {"deletionTimestamp": "2026-11-20T11:59:30Z", "finalizers": ["keep/me"]}
        if s.chance(0.1):
            spec["volumes"] = [volume(s)]
        s.add("v1", "Pod", metadata, spec=spec, status=status)
    if s.chance(0.15):
        budget = s.pick({"maxUnavailable": 0}, {"maxUnavailable": "0%"}, {"minAvailable": "100%"},
                        {"maxUnavailable": 1}, {"minAvailable": 1})  # fmt: skip
        s.add("policy/v1", "PodDisruptionBudget", s.meta(f"pdb-{i}", s.pick(*NAMESPACES)),
              spec={"selector": {"matchLabels": {"app": s.pick(*APPS)}}, **budget})  # fmt: skip
