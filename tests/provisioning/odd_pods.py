"""Oddities of Pods and DaemonSets: amounts, ports, owners, topology."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.provisioning.crossing import ZONE, Json
from tests.provisioning.odd import CAPACITY_TYPE, FAMILY, HOSTNAME, INSTANCE_TYPE, Odd

MEMORIES: Final = (
    "1000000000.5", "100.5", "1500m", "0.1Ki", "1.5Gi", "1e9", "1E3", "536870912001m", "0.0000001", "1n",
    "2147483648.9", "3.3Gi", "7e8", "12345678901u", "1.0000001Gi", "999999999999n",
)  # fmt: skip
CPUS: Final = ("1u", "100n", "0.0001", "1e-3", "2e0", "1500000u", "0.3333333333", "333333333n", "1.9999", "+1", "0")
KEEPS: Final = (
    "true", "false", "1h", "30m", "48h", "", "0s", "-1h", "True", "1d", "1h30m", "10", "87600h", "1.5h", "100ms",
    "2h0m1s",
)  # fmt: skip
_SPREAD_KEYS: Final = (
    ZONE, HOSTNAME, CAPACITY_TYPE, "example.com/team", FAMILY, "kubernetes.io/arch", INSTANCE_TYPE,
)  # fmt: skip


def request(o: Odd) -> None:
    resources = o.container().setdefault("resources", {})
    amounts = resources.setdefault(o.r.choice(("requests", "requests", "limits")), {})
    if o.r.random() < 0.6:
        amounts["memory"] = o.r.choice(MEMORIES)
    else:
        amounts["cpu"] = o.r.choice(CPUS)


def node_amount(o: Odd) -> None:
    status = o.some(o.r.choice(("Node", "NodeClaim"))).setdefault("status", {})
    amounts = status.setdefault(o.r.choice(("allocatable", "capacity")), {})
    key, values = o.r.choice((("memory", ("4000000000.5", "7.5Gi", "100.5", "8e9")),
                              ("cpu", ("1.9999", "3920m", "1e0", "0")), ("pods", ("0", "2", "3.5")),
                              ("example.com/widget", ("0", "2"))))  # fmt: skip
    amounts[key] = o.r.choice(values)


def limit(o: Odd) -> None:
    limits = o.r.choice(
        (
            {"memory": "4000000000.5"}, {"cpu": "4000001u"}, {"nodes": "1.5"}, {"nodes": "2", "memory": "100Gi"},
            {"pods": "8"}, {"nvidia.com/gpu": "0"}, {"cpu": "0"}, {"example.com/widget": "1"}, {"nodes": "500m"},
        )
    )  # fmt: skip
    o.pool()["limits"] = dict(limits)


def pod_level(o: Odd) -> None:
    spec = o.pod()["spec"]
    spec["resources"] = o.r.choice(
        (
            {"requests": {"memory": "1500m"}}, {"limits": {"cpu": "2"}}, {"requests": {"cpu": "0"}},
            {"requests": {"cpu": "100m", "memory": "1Gi"}, "limits": {"memory": "2Gi"}},
            {"requests": {"hugepages-2Mi": "4Mi"}, "limits": {"hugepages-2Mi": "4Mi"}},
        )
    )  # fmt: skip


def init_containers(o: Odd) -> None:
    spec = o.pod()["spec"]
    spec["initContainers"] = [
        {
            "name": f"i{number}",
            "image": "i",
            **({"restartPolicy": "Always"} if o.r.random() < 0.5 else {}),
            "resources": {"requests": {"cpu": o.r.choice(CPUS), "memory": o.r.choice(MEMORIES)}},
        }
        for number in range(o.r.choice((1, 2, 3)))
    ]
    if o.r.random() < 0.3:
        spec["initContainers"][-1]["ports"] = [{"containerPort": 1, "hostPort": 80, "protocol": "TCP"}]


def overhead(o: Odd) -> None:
    o.pod()["spec"]["overhead"] = {"cpu": o.r.choice(CPUS), "memory": o.r.choice(MEMORIES)}
    o.pod()["spec"]["runtimeClassName"] = "kata"


def extended(o: Odd) -> None:
    requests = o.container().setdefault("resources", {}).setdefault("requests", {})
    name = o.r.choice(("example.com/widget", "hugepages-2Mi", "nvidia.com/gpu", "pods", "ephemeral-storage"))
    requests[name] = o.r.choice(("0", "1", "2"))


def ports(o: Odd) -> None:
    addresses = ("", "0.0.0.0", "::", "10.0.0.1", "::1", "127.0.0.1")
    o.container()["ports"] = [
        {
            "containerPort": 80,
            "hostPort": o.r.choice((0, 80, 80, 443)),
            "protocol": o.r.choice(("TCP", "UDP", "SCTP")),
            **({"hostIP": address} if (address := o.r.choice(addresses)) else {}),
        }
        for _ in range(o.r.choice((1, 2)))
    ]
    if o.r.random() < 0.2:
        o.pod()["spec"]["hostNetwork"] = True


def priority(o: Odd) -> None:
    spec = o.pod()["spec"]
    spec["priority"] = o.r.choice((-1, 0, 1000, 2_000_000_000))
    spec["preemptionPolicy"] = o.r.choice(("Never", "PreemptLowerPriority"))


def owner(o: Odd) -> None:
    meta = o.pod()["metadata"]
    kind = o.r.choice(("Node", "Job", "StatefulSet", "DaemonSet", None, "ReplicaSet"))
    version = {"Node": "v1", "Job": "batch/v1"}.get(kind or "", "apps/v1")
    if kind is None:
        meta.pop("ownerReferences", None)
    else:
        controls = o.r.random() < 0.7
        meta["ownerReferences"] = [
            {"apiVersion": version, "kind": kind, "name": "x", "uid": "x", "controller": controls}
        ]


def marks(o: Odd) -> None:
    meta = o.some(o.r.choice(("Pod", "Pod", "Node", "NodeClaim")))["metadata"]
    key, values = o.r.choice((("karpenter.sh/do-not-disrupt", KEEPS), ("karpenter.sh/do-not-disrupt", KEEPS),
                              ("controller.kubernetes.io/pod-deletion-cost", ("100", "-5", "x", "1e3", "2147483647")),
                              ("kubernetes.io/config.mirror", ("hash",)), ("karpenter.sh/nodepool-hash", ("1", "2")),
                              ("karpenter.sh/nodepool-hash-version", ("v3", "v1")),
                              ("karpenter.sh/nodeclaim-termination-timestamp",
                               ("2026-11-20T12:30:00Z", "2026-11-20T11:30:00Z")),
                              ("node.kubernetes.io/exclude-from-external-load-balancers", ("true",))))  # fmt: skip
    meta["annotations"] = {**(meta.get("annotations") or {}), key: o.r.choice(values)}


def pod_phase(o: Odd) -> None:
    pod = o.pod()
    status = pod.setdefault("status", {})
    status["phase"] = o.r.choice(("Pending", "Running", "Succeeded", "Failed", "Unknown"))
    if o.r.random() < 0.4:
        status["reason"] = o.r.choice(("Evicted", "NodeLost", "Terminated"))
    if o.r.random() < 0.5:
        status["startTime"] = o.r.choice(("2026-11-20T11:00:00Z", "2026-11-20T11:59:59Z", "2026-11-18T00:00:00Z"))


def leaving(o: Odd) -> None:
    meta = o.some(o.r.choice(("Pod", "Pod", "Node", "NodeClaim")))["metadata"]
    meta["deletionTimestamp"] = o.r.choice(("2026-11-20T11:00:00Z", "2026-11-20T12:00:00Z", "2026-11-20T12:00:30Z"))
    meta["deletionGracePeriodSeconds"] = o.r.choice((0, 30, 3600))
    meta["finalizers"] = ["karpenter.sh/termination"]


def tolerations(o: Odd) -> None:
    spec = o.pod()["spec"]
    more: Sequence[Json] = (
        {"operator": "Exists"}, {"key": "karpenter.sh/disrupted", "operator": "Exists"},
        {"key": "karpenter.sh/disrupted", "operator": "Equal", "effect": "NoSchedule"},
        {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"},
        {"key": "dedicated", "value": "x"}, {"operator": "Exists", "effect": "NoExecute"}, {"key": "team"},
        {"key": "tier", "operator": "Gt", "value": "5"}, {"key": "tier", "operator": "Lt", "value": "x"},
    )  # fmt: skip
    spec["tolerations"] = [*(spec.get("tolerations") or ()), dict(o.r.choice(more))]


def spread(o: Odd) -> None:
    key = o.r.choice(_SPREAD_KEYS)
    rule: Json = {
        "maxSkew": o.r.choice((1, 1, 2, 5)),
        "topologyKey": key,
        "whenUnsatisfiable": o.r.choice(("DoNotSchedule", "DoNotSchedule", "ScheduleAnyway")),
    }
    pod = o.pod()
    labels = pod["metadata"].get("labels") or {}
    options: Json = {
        "labelSelector": o.r.choice(
            ({"matchLabels": labels}, {"matchExpressions": [{"key": "app", "operator": "Exists"}]}, {}, None)
        ),
        "minDomains": o.r.choice((1, 2, 3, 7)),
        "nodeTaintsPolicy": o.r.choice(("Honor", "Ignore")),
        "nodeAffinityPolicy": o.r.choice(("Honor", "Ignore")),
        "matchLabelKeys": o.r.choice((["app"], ["pod-template-hash"], ["app", "rev"], [])),
    }
    for name, value in options.items():
        if o.r.random() < 0.5 and not (name == "minDomains" and rule["whenUnsatisfiable"] == "ScheduleAnyway"):
            rule[name] = value
    if rule.get("labelSelector") is None:
        rule.pop("matchLabelKeys", None)  # the API rejects them without a selector
    rules = pod["spec"].setdefault("topologySpreadConstraints", [])
    rules.append(rule)
    for other in o.r.sample(o.base["objects"], min(len(o.base["objects"]), 8)):
        if other["kind"] == "Pod" and other["metadata"].get("labels") == pod["metadata"].get("labels"):
            other["spec"]["topologySpreadConstraints"] = rules


def affinity(o: Odd) -> None:
    pod = o.pod()
    labels = pod["metadata"].get("labels") or {}
    term: Json = {
        "topologyKey": o.r.choice((HOSTNAME, ZONE, CAPACITY_TYPE, "example.com/team", INSTANCE_TYPE)),
        "labelSelector": o.r.choice(({"matchLabels": labels},
                                     {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["a"]}]}, {},
                                     None)),
    }  # fmt: skip
    options: Json = {
        "namespaceSelector": o.r.choice(
            ({}, {"matchLabels": {"env": "test"}}, {"matchExpressions": [{"key": "env", "operator": "Exists"}]}, None)
        ),
        "namespaces": o.r.choice((["default"], ["shop", "nowhere"], [])),
        "matchLabelKeys": ["app"],
        "mismatchLabelKeys": ["rev"],
    }
    term |= {name: value for name, value in options.items() if o.r.random() < 0.3}
    kind = o.r.choice(("podAffinity", "podAntiAffinity", "podAntiAffinity"))
    rules = pod["spec"].setdefault("affinity", {}).setdefault(kind, {})
    if o.r.random() < 0.6:
        rules.setdefault("requiredDuringSchedulingIgnoredDuringExecution", []).append(term)
    else:
        weighted = {"weight": o.r.choice((1, 50, 50, 100)), "podAffinityTerm": term}
        rules.setdefault("preferredDuringSchedulingIgnoredDuringExecution", []).append(weighted)


def node_affinity(o: Odd) -> None:
    rules = o.pod()["spec"].setdefault("affinity", {}).setdefault("nodeAffinity", {})
    term = {"matchExpressions": [o.rule() for _ in range(o.r.choice((1, 2)))]}
    if o.r.random() < 0.5:
        required = rules.setdefault("requiredDuringSchedulingIgnoredDuringExecution", {"nodeSelectorTerms": []})
        required["nodeSelectorTerms"].append(term)
    else:
        weighted = {"weight": o.r.choice((1, 2, 50, 100)), "preference": term}
        rules.setdefault("preferredDuringSchedulingIgnoredDuringExecution", []).append(weighted)


def daemonset(o: Odd) -> None:
    spec: Json = {
        "containers": [{"name": "d", "image": "i",
                        "resources": {"requests": {"cpu": o.r.choice(CPUS), "memory": o.r.choice(MEMORIES)}}}],
    }  # fmt: skip
    if o.r.random() < 0.4:
        terms = [{"matchExpressions": [o.rule()]} for _ in range(o.r.choice((1, 2)))]
        spec["affinity"] = {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        }
    if o.r.random() < 0.5:
        spec["tolerations"] = [{"operator": "Exists"}]
    if o.r.random() < 0.3:
        spec["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": o.r.choice((80, 443)), "protocol": "TCP"}]
    if o.r.random() < 0.2:
        spec["containers"][0]["resources"] = {"limits": {"cpu": "300m", "memory": "1500m"}}
    template = {"metadata": {"labels": {"app": "a"}}, "spec": spec}
    fields = {"selector": {"matchLabels": {"app": "a"}}, "template": template}
    o.add("apps/v1", "DaemonSet", "daemon", o.r.choice(("default", "kube-system")), spec=fields)


def budget_of_pods(o: Odd) -> None:
    pod = o.pod()
    labels = pod["metadata"].get("labels") or {}
    selector: Json | None = o.r.choice(({"matchLabels": labels}, {"matchLabels": labels}, {},
                                        {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
                                        {"matchExpressions": [{"key": "zz", "operator": "DoesNotExist"}]}))  # fmt: skip
    spec: Json = {"selector": selector, "maxUnavailable": o.r.choice((0, 1, "0%", "100%"))}
    if o.r.random() < 0.5:
        spec["unhealthyPodEvictionPolicy"] = o.r.choice(("AlwaysAllow", "IfHealthyBudget"))
    status = {"disruptionsAllowed": o.r.choice((0, 0, 1)), "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}
    namespace = pod["metadata"].get("namespace", "default")
    o.add("policy/v1", "PodDisruptionBudget", "pdb", namespace, spec=spec, status=status)
    if o.r.random() < 0.4:
        ready = {"type": "Ready", "status": o.r.choice(("True", "False"))}
        status_of_pod = pod.setdefault("status", {})
        kept = [item for item in status_of_pod.get("conditions") or () if item["type"] != "Ready"]
        status_of_pod["conditions"] = [*kept, ready]


STEPS: Final = (
    request, node_amount, limit, pod_level, init_containers, overhead, extended, ports, priority, owner,
    marks, pod_phase, leaving, tolerations, spread, affinity, node_affinity, daemonset, budget_of_pods,
)  # fmt: skip
