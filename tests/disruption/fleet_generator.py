"""Random small clusters that exercise every rule of disruption, as snapshot documents determined by the seed.

Those of 1.15 also have its new features: repair, reboots, terminate-first, full reservations, managed costs, and
default topology spread.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
ZONES = ("us-east-1a", "us-east-1b", "us-east-1c")
DND = "karpenter.sh/do-not-disrupt"
COST = "controller.kubernetes.io/pod-deletion-cost"
DND_VALUES = ("true", "2h", "24h", "1.5h", ".5h", "false", "", "1d", "90", "0s", "-5m", "true ", "True", "30m", "+3h")
COSTS = ("1", "-200000000", "1e9", "-Inf", "NaN1", "2147483647", "-134217728", "0x1p3", "1e400", " 5", "1_000")
PRIORITIES = (0, 0, 0, -1000, 1000, 2_000_001_000, -33_554_432, 10_000_000)
SCHEDULES = (
    ("0 9 * * *", "8h"), ("0 0 * * *", "12h"), ("*/30 * * * *", "10m"), ("0 12 20 * *", "1m"), ("@daily", "13h"),
    ("0 0 30 2 *", "1h"), ("0 0 * * 7", "1h"), ("0 22-6 * * *", "1h"), ("0 0 1 * fri", "24h"), ("? * * * *", "1h"),
    ("59 11 * * FRI", "1m"), ("0 12 * * 5", None), (None, "1h"), ("5 4 */2 * mon", "720h"), ("0 10 * nov *", "2h"),
)  # fmt: skip


UNHEALTHY = (
    ("AcceleratedHardwareReady", "False", "XID63"), ("AcceleratedHardwareReady", "False", "XID640"),
    ("AcceleratedHardwareReady", "False", "XID63,XID64"), ("AcceleratedHardwareReady", "False", "Fan"),
    ("StorageReady", "False", "IODelays"), ("NetworkingReady", "False", "IPAMDNotRunning"),
    ("KernelReady", "Unknown", "x"), ("ContainerRuntimeReady", "False", ""), ("MemoryPressure", "True", "x"),
)  # fmt: skip
SPREAD = """podTopologySpread:
  defaultConstraints:
  - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}
  - {maxSkew: 3, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule}
"""


def ts(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


class FleetGenerator:
    def __init__(self, seed: str, version: str = "") -> None:
        self.r = random.Random(seed)
        self.version = version
        self.is_1_15 = version.startswith("1.15")
        self.objects: list[dict[str, Any]] = []
        self.apps = [f"app-{i}" for i in range(self.r.randint(2, 6))]

    def chance(self, share: float) -> bool:
        return self.r.random() < share

    def ago(self, hours: float = 48.0) -> str:
        # Whole minutes make equal instants, and thus ties, likely.
        return ts(NOW - timedelta(minutes=self.r.randint(0, int(hours * 60))))

    def add(self, api_version: str, kind: str, name: str, **fields: Any) -> dict[str, Any]:
        meta = {"name": name, "uid": f"{kind}-{name}-{len(self.objects)}", "creationTimestamp": self.ago()}
        result = {"apiVersion": api_version, "kind": kind, "metadata": {**meta, **fields.pop("metadata", {})}, **fields}
        self.objects.append(result)
        return result

    # -- instance types ----------------------------------------------------------------------------------------------
    def types(self) -> list[dict[str, Any]]:
        r, result = self.r, []
        for i in range(r.choice((3, 6, 6, 22))):
            cpu = r.choice((1, 2, 4, 8, 16))
            base = round(cpu * r.choice((0.04, 0.05, 0.05, 0.06)), 4)
            offerings = []
            for zone in ZONES:
                for kind, factor in (("on-demand", 1.0), ("spot", r.choice((0.3, 0.5, 1.2))), ("reserved", 1e-7)):
                    if kind == "reserved" and not (self.reserved and self.chance(0.3)):
                        continue
                    requirements = [
                        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": [kind]},
                        {"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]},
                    ]
                    offer: dict[str, Any] = {"requirements": requirements, "price": base * factor}
                    if kind == "reserved":
                        key = "karpenter.k8s.aws/capacity-reservation-id"
                        requirements.append({"key": key, "operator": "In", "values": [f"cr-{i}-{zone[-1]}"]})
                        offer["reservationCapacity"] = r.randint(0, 2)
                    offer["available"] = not self.chance(0.15)
                    offerings.append(offer)
            result.append(
                {
                    "name": f"t{i:02d}.c{cpu}",
                    "requirements": [
                        {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": [f"t{i:02d}.c{cpu}"]},
                        {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
                        {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]},
                        {"key": "topology.kubernetes.io/zone", "operator": "In", "values": list(ZONES)},
                        {
                            "key": "karpenter.sh/capacity-type",
                            "operator": "In",
                            "values": sorted({o["requirements"][0]["values"][0] for o in offerings}),
                        },
                        {"key": "karpenter.k8s.aws/instance-family", "operator": "In", "values": [f"t{i % 4}"]},
                    ],
                    "capacity": {"cpu": str(cpu), "memory": f"{cpu * 4}Gi", "pods": str(r.choice((8, 29, 58)))},
                    "overhead": {"kubeReserved": {"cpu": "80m", "memory": "255Mi"}},
                    "offerings": offerings,
                }
            )
        return result

    # -- NodePools ---------------------------------------------------------------------------------------------------
    def budget(self) -> dict[str, Any]:
        r = self.r
        document: dict[str, Any] = {"nodes": r.choice(("10%", "50%", "100%", "100%", "1", "2", "0", "0%", "33%"))}
        if self.chance(0.35):
            schedule, duration = r.choice(SCHEDULES)
            document |= {key: value for key, value in (("schedule", schedule), ("duration", duration)) if value}
        if self.chance(0.35):
            document["reasons"] = r.sample(("Empty", "Drifted", "Underutilized"), r.randint(1, 3))
            if self.is_1_15 and self.chance(0.4):
                document["reasons"].append("Unhealthy")
        return document

    def nodepool(self, name: str) -> dict[str, Any]:
        r = self.r
        policies = ("WhenEmptyOrUnderutilized", "WhenEmptyOrUnderutilized", "Balanced", "WhenEmpty")
        disruption: dict[str, Any] = {"consolidationPolicy": r.choice(policies)}
        if not self.chance(0.05):
            disruption["consolidateAfter"] = r.choice(("0s", "0s", "0s", "10m", "2h", "Never"))
        if not self.chance(0.1):
            count = r.choice((1, 1, 1, 2, 3))
            disruption["budgets"] = [{"nodes": "100%"}] if self.chance(0.5) else [self.budget() for _ in range(count)]
        kinds = r.choice((["on-demand"], ["spot"], ["on-demand", "spot"], ["on-demand", "spot", "reserved"], None))
        requirements: list[dict[str, Any]] = []
        if kinds:
            requirements.append({"key": "karpenter.sh/capacity-type", "operator": "In", "values": kinds})
        if self.chance(0.15):
            key, least = "node.kubernetes.io/instance-type", r.randint(1, 4)
            requirements.append({"key": key, "operator": "Exists", "minValues": least})
        if self.chance(0.15):
            zones = r.sample(ZONES, 2)
            requirements.append({"key": "topology.kubernetes.io/zone", "operator": "In", "values": zones})
        claim: dict[str, Any] = {
            "nodeClassRef": {"group": "karpenter.k8s.aws",
                             "kind": "OtherNodeClass" if self.chance(0.03) else "EC2NodeClass", "name": "default"},
            "requirements": requirements,
            "expireAfter": r.choice(("720h", "Never", "50h")),
        }  # fmt: skip
        if self.chance(0.3):
            claim["terminationGracePeriod"] = r.choice(("0s", "1h", "24h"))
        if self.chance(0.15):
            claim["taints"] = [{"key": "team", "value": name, "effect": "NoSchedule"}]
        spec: dict[str, Any] = {"template": {"metadata": {}, "spec": claim}, "disruption": disruption}
        if self.chance(0.3):
            spec["weight"] = r.randint(1, 100)
        if self.chance(0.08):
            spec["replicas"] = r.randint(0, 3)
        if self.chance(0.15):
            spec["limits"] = {"cpu": str(r.choice((4, 20, 100)))}
        meta = {"deletionTimestamp": self.ago(1), "finalizers": ["karpenter.sh/x"]} if self.chance(0.04) else {}
        ready = "False" if self.chance(0.06) else "True"
        since = self.ago()
        # Without one of these a NodePool is not ready, even if its Ready condition is True.
        readiness = {"ValidationSucceeded": "True", "NodeClassReady": ready, "Ready": ready}
        conditions = [
            {"type": kind, "status": value, "reason": kind, "lastTransitionTime": since}
            for kind, value in readiness.items()
        ]
        status = {"conditions": conditions}
        return self.add("karpenter.sh/v1", "NodePool", name, metadata=meta, spec=spec, status=status)

    # -- nodes -------------------------------------------------------------------------------------------------------
    def conditions(self, *, initialized: bool) -> list[dict[str, Any]]:
        texts = [
            {"type": kind, "status": "True" if initialized or kind != "Initialized" else "Unknown"}
            for kind in ("Launched", "Registered", "Initialized")
        ]
        if not self.chance(0.12):
            texts.append({"type": "Consolidatable", "status": "True"})
        if self.chance(0.25):
            texts.append({"type": "Drifted", "status": "True" if not self.chance(0.1) else "False"})
        if self.chance(0.03):
            texts.append({"type": "InstanceTerminating", "status": "True"})
        if self.is_1_15 and self.chance(0.06):
            texts.append({"type": "Rebooting", "status": self.r.choice(("True", "False"))})
        return [{**item, "reason": item["type"], "message": "", "lastTransitionTime": self.ago(12)} for item in texts]

    def node(self, i: int, pool: dict[str, Any], instance_type: dict[str, Any]) -> str:
        """Add a NodeClaim and usually a Node; return the Node's name, or an empty string."""
        labels = self._labels(i, pool, instance_type)
        initialized = not self.chance(0.08)
        cpu = int(instance_type["capacity"]["cpu"])
        memory = f"{cpu * 4 * 1024 - 255}Mi"
        room = {"cpu": f"{cpu * 1000 - 80}m", "memory": memory, "pods": instance_type["capacity"]["pods"]}
        amounts = {"capacity": instance_type["capacity"], "allocatable": room}
        self._claim(i, pool, labels, amounts, initialized=initialized)
        return "" if self.chance(0.04) else self._machine(i, pool, labels, amounts, initialized=initialized)

    def _labels(self, i: int, pool: dict[str, Any], instance_type: dict[str, Any]) -> dict[str, str]:
        requirements = pool["spec"]["template"]["spec"]["requirements"]
        asked = (item["values"] for item in requirements if item["key"] == "karpenter.sh/capacity-type")
        labels = {
            "karpenter.sh/nodepool": pool["metadata"]["name"],
            "node.kubernetes.io/instance-type": "gone.c4" if self.chance(0.04) else instance_type["name"],
            "topology.kubernetes.io/zone": self.r.choice(ZONES),
            "karpenter.sh/capacity-type": self.r.choice(next(asked, ["on-demand", "spot"])),
            "kubernetes.io/arch": "amd64",
            "kubernetes.io/os": "linux",
            "kubernetes.io/hostname": f"node-{i:02d}",
        }
        if self.chance(0.03):
            labels.pop(self.r.choice(("topology.kubernetes.io/zone", "karpenter.sh/capacity-type")))
        return labels

    def _claim(
        self, i: int, pool: dict[str, Any], labels: dict[str, str], amounts: dict[str, Any], *, initialized: bool
    ) -> None:
        template = pool["spec"]["template"]["spec"]
        meta: dict[str, Any] = {"labels": dict(labels)}
        if self.chance(0.08):
            meta["annotations"] = {DND: self.r.choice(("true", "2h", "false"))}
        if self.chance(0.08):
            meta |= {"deletionTimestamp": self.ago(2), "finalizers": ["karpenter.sh/termination"]}
        spec = {key: template[key] for key in ("nodeClassRef", "expireAfter", "taints") if key in template}
        if "terminationGracePeriod" in template and not self.chance(0.2):
            spec["terminationGracePeriod"] = template["terminationGracePeriod"]
        spec |= {"requirements": [], "resources": {}}
        status = {"conditions": self.conditions(initialized=initialized), "nodeName": f"node-{i:02d}", **amounts}
        if not self.chance(0.02):
            status["providerID"] = f"aws:///node-{i:02d}"
        if self.chance(0.4):
            status["lastPodEventTime"] = self.ago(3)
        self.add("karpenter.sh/v1", "NodeClaim", f"claim-{i:02d}", metadata=meta, spec=spec, status=status)

    def _machine(
        self, i: int, pool: dict[str, Any], labels: dict[str, str], amounts: dict[str, Any], *, initialized: bool
    ) -> str:
        texts = {**labels, "karpenter.sh/registered": "true"}
        if initialized:
            texts["karpenter.sh/initialized"] = "true"
        if self.chance(0.03):
            texts.pop("karpenter.sh/registered")
        meta: dict[str, Any] = {"labels": texts}
        if self.chance(0.08):
            meta["annotations"] = {DND: self.r.choice(("true", "true", "2h", "false"))}
        spec: dict[str, Any] = {"providerID": f"aws:///node-{i:02d}"}
        taints = list(pool["spec"]["template"]["spec"].get("taints", ()))
        if self.chance(0.05):
            taints.append({"key": "karpenter.sh/disrupted", "effect": "NoSchedule"})
        if self.chance(0.05):
            taints.append({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
            spec["unschedulable"] = True
        if taints:
            spec["taints"] = taints
        ready = {"type": "Ready", "status": self.r.choice(("False", "Unknown")) if self.chance(0.1) else "True"}
        if self.is_1_15:
            ready |= {"reason": "x", "lastTransitionTime": self.ago(1)}
            if self.chance(0.08):
                meta["annotations"] = {**meta.get("annotations", {}), "karpenter.sh/do-not-repair": "true"}
        status = {**amounts, "conditions": [ready, *self._health()]}
        return str(self.add("v1", "Node", f"node-{i:02d}", metadata=meta, spec=spec, status=status)["metadata"]["name"])

    def _health(self) -> list[dict[str, Any]]:
        if not self.is_1_15 or not self.chance(0.2):
            return []
        fields = ("type", "status", "reason")
        sample = self.r.sample(UNHEALTHY, self.r.choice((1, 1, 2)))
        return [dict(zip(fields, item, strict=True)) | {"lastTransitionTime": self.ago(1.2)} for item in sample]

    # -- pods --------------------------------------------------------------------------------------------------------
    def owner(self, app: str, node: str) -> dict[str, Any] | None:
        kinds = [("apps/v1", "ReplicaSet")] * 12 + [("apps/v1", "DaemonSet")] * 2 + [("apps/v1", "StatefulSet")] * 2
        kinds += [("v1", "Node"), ("apps.kruise.io/v1alpha1", "DaemonSet"), ("batch/v1", "Job")]
        api_version, kind = self.r.choice(kinds)
        if self.chance(0.1):
            return None
        name = node if kind == "Node" else app
        return {"apiVersion": api_version, "kind": kind, "name": name, "uid": f"{kind}-{name}", "controller": True}

    def pod(self, i: int, node: str) -> None:
        """Add a pod on a node, or a pending one."""
        app = self.r.choice(self.apps)
        meta: dict[str, Any] = {"namespace": self.r.choice(("default", "default", "other")), "labels": {"app": app}}
        if self.chance(0.3):
            meta["labels"]["tier"] = self.r.choice(("web", "job"))
        owner = self.owner(app, node or "x")
        if owner is not None:
            meta["ownerReferences"] = [owner]
        annotations = {}
        if self.chance(0.1):
            annotations[DND] = self.r.choice(DND_VALUES)
        if self.chance(0.08):
            annotations[COST] = self.r.choice(COSTS)
        if self.is_1_15 and self.chance(0.05):
            annotations["karpenter.sh/disruption-cost"] = self.r.choice(COSTS)
        if annotations:
            meta["annotations"] = annotations
        if node and self.chance(0.05):
            meta |= {"deletionTimestamp": self.ago(1), "finalizers": ["x/y"]}
        spec = self._pod_spec(app)
        if node:
            spec["nodeName"] = node
        self.add("v1", "Pod", f"pod-{i:03d}", metadata=meta, spec=spec, status=self._pod_status(node))

    def _pod_spec(self, app: str) -> dict[str, Any]:
        r = self.r
        requests = {
            "cpu": f"{r.choice((100, 250, 500, 900, 1500))}m",
            "memory": f"{r.choice((128, 512, 1024, 3000))}Mi",
        }
        spec: dict[str, Any] = {"containers": [{"name": "main", "image": "x", "resources": {"requests": requests}}]}
        if self.chance(0.15):
            spec["priority"] = r.choice(PRIORITIES)
        if self.chance(0.15):
            spec["tolerations"] = [r.choice(({"operator": "Exists"}, {"key": "team", "operator": "Exists"}))]
        if self.chance(0.08):
            spec["nodeSelector"] = {"topology.kubernetes.io/zone": r.choice(ZONES)}
        if self.chance(0.04):
            spec["nodeSelector"] = {"karpenter.sh/capacity-type": r.choice(("spot", "on-demand"))}
        if self.chance(0.05):
            term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": app}}}
            spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        return spec

    def _pod_status(self, node: str) -> dict[str, Any]:
        if not node:
            waiting = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
            return {"phase": "Pending", "conditions": [waiting]}
        phase = self.r.choice(("Running",) * 12 + ("Pending", "Succeeded", "Failed"))
        status: dict[str, Any] = {"phase": phase, "conditions": []}
        if not self.chance(0.05):
            status["startTime"] = self.ago(4)
        ready = self.r.choice(("True", "True", "True", "False", "Unknown", None))
        if ready:
            status["conditions"].append({"type": "Ready", "status": ready})
        return status

    def pdb(self, i: int) -> None:
        r = self.r
        selector: dict[str, Any] | None = {"matchLabels": {"app": r.choice(self.apps)}}
        if self.chance(0.1):
            selector = {}
        elif self.chance(0.1):
            selector = {"matchExpressions": [{"key": "tier", "operator": "In", "values": ["web", "job"]}]}
        elif self.chance(0.05):
            selector = None
        spec: dict[str, Any] = r.choice(
            ({"maxUnavailable": 0}, {"maxUnavailable": "0%"}, {"maxUnavailable": 1}, {"maxUnavailable": "25%"},
             {"minAvailable": "100%"}, {"minAvailable": 1}, {"minAvailable": "50%"}, {"maxUnavailable": "0"})
        )  # fmt: skip
        spec = dict(spec)
        if selector is not None:
            spec["selector"] = selector
        if self.chance(0.3):
            spec["unhealthyPodEvictionPolicy"] = r.choice(("AlwaysAllow", "IfHealthyBudget"))
        allowed = 0 if self.chance(0.25) else r.randint(1, 3)
        status = {} if self.chance(0.08) else {"status": {"disruptionsAllowed": allowed}}
        meta = {"namespace": r.choice(("default", "default", "other"))}
        self.add("policy/v1", "PodDisruptionBudget", f"pdb-{i}", metadata=meta, spec=spec, **status)

    # -- the snapshot ------------------------------------------------------------------------------------------------
    def node_count(self) -> int:
        return self.r.choice((1, 2, 3, 4, 6, 9, 14))

    def snapshot(self, name: str) -> dict[str, Any]:
        r = self.r
        self.reserved = self.chance(0.15)
        self.add("v1", "Namespace", "default")
        self.add("v1", "Namespace", "other")
        self.add("karpenter.k8s.aws/v1", "EC2NodeClass", "default", spec={})
        types = self.types()
        pools = [self.nodepool(f"pool-{chr(97 + i)}") for i in range(r.choice((1, 1, 2, 2, 3)))]
        nodes = []
        for i in range(self.node_count()):
            node = self.node(i, r.choice(pools), r.choice(types))
            if node:
                nodes.append(node)
        crowd = r.choice((0.3, 1.0, 2.0, 4.0))
        count = int(len(nodes) * crowd * r.random() * 1.5) + 1
        for i in range(count if nodes else 0):
            self.pod(i, r.choice(nodes))
        for i in range(r.choice((0, 0, 0, 1, 3))):
            self.pod(900 + i, "")
        for i in range(r.choice((0, 0, 1, 2, 3))):
            self.pdb(i)
        gates = [f"{gate}={r.choice(('true', 'false'))}" for gate in ("SpotToSpotConsolidation",) if self.chance(0.5)]
        settings = {"FEATURE_GATES": ",".join(gates)} if gates else {}
        if self.is_1_15:
            self._newer(settings, gates)
        if self.chance(0.15):
            settings["MIN_VALUES_POLICY"] = "BestEffort"
        if self.chance(0.15):
            settings["PREFERENCE_POLICY"] = "Ignore"
        return {
            "karptui": 1,
            "name": name,
            "capturedAt": ts(NOW),
            "settings": settings,
            "instanceTypes": types,
            "disruption": True,
            "objects": self.objects,
            **({"karpenterVersion": self.version} if self.version else {}),
        }

    def _newer(self, settings: dict[str, str], gates: list[str]) -> None:
        """Sometimes enable features of 1.15."""
        shares = {
            "NodeRepair": 0.6, "TerminateFirstDrift": 0.4, "TerminateFirstRepair": 0.4,
            "PodDeletionCostManagement": 0.25, "StaticCapacity": 0.3,
        }  # fmt: skip
        gates += [f"{gate}=true" for gate, share in shares.items() if self.chance(share)]
        settings["FEATURE_GATES"] = ",".join(gates)
        if self.chance(0.15):
            settings["LEGACY_NODE_REPAIR"] = "true"
        if self.chance(0.4):
            settings["AWS_FEATURE_GATES"] = "RebootForRepair=true"
        if self.chance(0.3):
            settings["SCHEDULER_CONFIG"] = SPREAD
            for app in self.apps:
                selector = {"selector": {"app": app}, "ports": [{"port": 80}]}
                self.add("v1", "Service", app, metadata={"namespace": "default"}, spec=selector)
