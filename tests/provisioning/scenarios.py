"""Seeded snapshots with every input of provisioning, small enough to analyse if an answer differs.

Unlike those of a load generator they have sidecars, scheduling gates, resizes, pod-level requests, overhead,
matchLabelKeys, namespace selectors, custom labels, static and unready NodePools, nodes in every state, volumes of
every kind, buffers and overlays.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

NOW = "2026-11-20T12:00:00Z"
ZONES = ["za", "zb", "zc"]
ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
CAPACITY_TYPE = "karpenter.sh/capacity-type"
AWS = "karpenter.k8s.aws"
NAMESPACES = ["default", "shop", "ops"]
APPS = ["a", "b", "c"]

Json = dict[str, Any]


def req(key: str, operator: str, *values: str, min_values: int | None = None) -> Json:
    document: Json = {"key": key, "operator": operator}
    if values:
        document["values"] = list(values)
    if min_values:
        document["minValues"] = min_values
    return document


class Scenario:
    """A snapshot under construction."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.seed = seed
        self.serial = 0
        self.objects: list[Json] = []
        self.types: list[Json] = []
        self.pools: list[Json] = []
        self.settings: dict[str, str] = {}

    def chance(self, share: float) -> bool:
        return self.r.random() < share

    def pick(self, *choices: Any) -> Any:
        return self.r.choice(choices)

    def meta(self, name: str, namespace: str = "", **more: Any) -> Json:
        self.serial += 1
        minute = self.r.randrange(60)
        document: Json = {
            "name": name,
            "uid": f"u{self.seed}-{self.serial:05d}",
            "creationTimestamp": f"2026-11-20T10:{minute:02d}:00Z",
        }
        if namespace:
            document["namespace"] = namespace
        document.update({key: value for key, value in more.items() if value})
        return document

    def add(self, api_version: str, kind: str, metadata: Json, **fields: Any) -> Json:
        document = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}
        self.objects.append(document)
        return document

    def document(self) -> Json:
        return {
            "karptui": 1, "name": f"scenario-{self.seed}", "capturedAt": NOW, "settings": self.settings,
            "instanceTypes": self.types, "objects": self.objects,
        }  # fmt: skip


def make_types(s: Scenario) -> None:
    """Add some types: with equal prices, missing labels, excluded values, unavailable offerings."""
    holds_reservations = s.chance(0.25)
    for i in range(s.r.randint(2, 9)):
        cpu = s.pick(1, 2, 2, 4, 8, 16)
        arch = s.pick("amd64", "amd64", "arm64")
        name = f"t{i}.{cpu}x"
        zones = ZONES if s.chance(0.7) else s.r.sample(ZONES, 2)
        price = round(cpu * s.pick(0.05, 0.05, 0.04, 0.07), 4)
        offerings = [
            {
                "requirements": [req(CAPACITY_TYPE, "In", kind), req(ZONE, "In", zone)],
                "price": price if kind == "on-demand" else round(price * s.pick(0.3, 0.5, 0.5), 4),
                "available": s.chance(0.88),
            }
            for zone in zones
            for kind in ("on-demand", "spot")
        ]
        requirements = [
            req("node.kubernetes.io/instance-type", "In", name),
            req("kubernetes.io/arch", "In", arch),
            req("kubernetes.io/os", "In", *(["linux"] if s.chance(0.8) else ["linux", "windows"])),
            req(ZONE, "In", *zones),
            req(CAPACITY_TYPE, "In", "on-demand", "spot"),
            req(f"{AWS}/instance-cpu", "In", str(cpu)),
            req(f"{AWS}/instance-family", "In", s.pick("f1", "f2", "f3")),
        ]
        requirements.append(
            s.pick(req(f"{AWS}/instance-gpu-count", "DoesNotExist"), req(f"{AWS}/instance-gpu-count", "In", "1"))
        )
        if s.chance(0.15):
            requirements.append(req("example.com/quirk", s.pick("NotIn", "In"), "odd"))
        if holds_reservations and s.chance(0.5):
            reservation = f"cr-{s.pick(1, 2)}"
            requirements = [requirement for requirement in requirements if requirement["key"] != CAPACITY_TYPE]
            requirements += [
                req(CAPACITY_TYPE, "In", "on-demand", "spot", "reserved"),
                req(f"{AWS}/capacity-reservation-id", "In", reservation),
            ]
            for offering in offerings:
                offering["requirements"].append(req(f"{AWS}/capacity-reservation-id", "DoesNotExist"))
            offerings.append({"requirements": [req(CAPACITY_TYPE, "In", "reserved"), req(ZONE, "In", zones[0]),
                                               req(f"{AWS}/capacity-reservation-id", "In", reservation)],
                              "price": price / 1e6, "reservationCapacity": s.pick(0, 1, 1, 2)})  # fmt: skip
        capacity = {
            "cpu": str(cpu), "memory": f"{cpu * s.pick(2, 4)}Gi", "pods": str(s.pick(3, 8, 29)),
            "ephemeral-storage": "20Gi",
        }  # fmt: skip
        if s.chance(0.15):
            capacity["nvidia.com/gpu"] = "1"
        if s.chance(0.08):
            capacity["hugepages-2Mi"] = s.pick("512Mi", "64Gi")
        overhead = {
            "kubeReserved": {"cpu": s.pick("80m", "100m", "2"), "memory": "255Mi"},
            "evictionThreshold": {"memory": "100Mi"},
        }
        s.types.append({"name": name, "requirements": requirements, "capacity": capacity, "overhead": overhead,
                        "offerings": offerings})  # fmt: skip


POOL_REQUIREMENTS: list[Callable[[Scenario], Json]] = [
    lambda s: req(CAPACITY_TYPE, "In", *s.pick(["spot"], ["on-demand"], ["spot", "on-demand"], ["reserved", "spot"])),
    lambda s: req(ZONE, s.pick("In", "NotIn"), *s.r.sample(ZONES, s.pick(1, 2))),
    lambda s: req("kubernetes.io/arch", "In", s.pick("amd64", "arm64")),
    lambda s: req(f"{AWS}/instance-cpu", s.pick("Gt", "Lt", "Gte", "Lte"), s.pick("1", "2", "4")),
    lambda s: req(
        "example.com/team", s.pick("In", "NotIn", "Exists", "DoesNotExist"), *s.pick(["red"], ["red", "blue"])
    ),
    lambda s: req(f"{AWS}/instance-family", s.pick("In", "Exists"), "f1", "f2", min_values=s.pick(None, 1, 2, 3)),
    lambda s: req(f"{AWS}/instance-gpu-count", s.pick("Exists", "DoesNotExist", "NotIn"), "2"),
]


def fix(requirement: Json) -> Json:
    """Drop the values of operators without values."""
    if requirement["operator"] in ("Exists", "DoesNotExist"):
        requirement.pop("values", None)
    return requirement


def node_class_ref(s: Scenario, i: int) -> Json:
    if i and s.chance(0.06):
        return {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}
    return {"group": AWS, "kind": "EC2NodeClass", "name": s.pick("default", "default", "default", "other")}


def make_pools(s: Scenario) -> None:
    for i in range(s.r.randint(1, 4)):
        requirements = [fix(make(s)) for make in s.r.sample(POOL_REQUIREMENTS, s.pick(0, 0, 1, 2))]
        labels = {"example.com/tier": s.pick("gold", "silver")} if s.chance(0.3) else {}
        spec: Json = {"nodeClassRef": node_class_ref(s, i), "requirements": requirements, "expireAfter": "720h"}
        if s.chance(0.3):
            effect = s.pick("NoSchedule", "NoSchedule", "NoExecute", "PreferNoSchedule")
            spec["taints"] = [{"key": "dedicated", "value": s.pick("x", "y"), "effect": effect}]
        if s.chance(0.08):
            spec.setdefault("taints", []).append({"key": "tier", "value": s.pick("5", "20"), "effect": "NoSchedule"})
        if s.chance(0.15):
            spec["startupTaints"] = [{"key": "cni", "effect": "NoSchedule"}]
        whole: Json = {
            "template": {"metadata": {"labels": labels}, "spec": spec},
            "disruption": {"consolidateAfter": "0s"},
        }
        if s.chance(0.6):
            whole["weight"] = s.pick(1, 10, 10, 50)
        if s.chance(0.3):
            whole["limits"] = s.pick({"cpu": "4"}, {"cpu": "10"}, {"memory": "20Gi"}, {"nodes": "1"}, {"nodes": "0"},
                                     {"nodes": "3", "cpu": "40"}, {"cpu": "100", "nvidia.com/gpu": "0"})  # fmt: skip
        if s.chance(0.06):
            whole["replicas"] = 2
        status = "False" if s.chance(0.06) else "True"
        metadata = s.meta(f"{s.pick('m', 'p')}ool-{i}", generation=1)
        if s.chance(0.04):
            metadata |= {"deletionTimestamp": "2026-11-20T11:59:00Z", "finalizers": ["karpenter.sh/termination"]}
        conditions = [
            {
                "type": kind,
                "status": status,
                "reason": kind,
                "message": "",
                "lastTransitionTime": "2026-11-18T12:00:00Z",
                "observedGeneration": 1,
            }
            for kind in ("ValidationSucceeded", "NodeClassReady", "NodeRegistrationHealthy", "Ready")
        ]
        s.pools.append(s.add("karpenter.sh/v1", "NodePool", metadata, spec=whole, status={"conditions": conditions}))


def make_namespaces(s: Scenario) -> None:
    for name in NAMESPACES:
        labels = {"kubernetes.io/metadata.name": name, "env": s.pick("prod", "test")}
        s.add("v1", "Namespace", s.meta(name, labels=labels))


def settings_of(s: Scenario) -> dict[str, str]:
    result = {}
    if s.chance(0.2):
        result["PREFERENCE_POLICY"] = "Ignore"
    if s.chance(0.3):
        result["MIN_VALUES_POLICY"] = "BestEffort"
    shares = {
        "NodeOverlay=true": 0.2, "CapacityBuffer=true": 0.12, "ReservedCapacity=false": 0.12,
        "StaticCapacity=true": 0.1,
    }  # fmt: skip
    gates = [name for name, share in shares.items() if s.chance(share)]
    if gates:
        result["FEATURE_GATES"] = ",".join(gates)
    return result


def scenario(seed: int) -> Json:
    """Return a snapshot; equal seeds give equal snapshots."""
    from tests.provisioning.scenario_nodes import make_daemonsets, make_nodes
    from tests.provisioning.scenario_pods import make_pods
    from tests.provisioning.scenario_storage import make_buffers, make_overlays, make_storage

    s = Scenario(seed)
    s.settings = settings_of(s)
    make_types(s)
    make_namespaces(s)
    make_pools(s)
    make_storage(s)
    make_daemonsets(s)
    make_nodes(s)
    make_pods(s)
    make_overlays(s)
    make_buffers(s)
    return s.document()
