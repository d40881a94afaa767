"""NodePools, EC2NodeClasses and DaemonSets of the demo, including their misconfigurations."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, Final

from karptui.sources.demo.karpenter import ZONES
from karptui.sources.demo.world import Manifest, a_uid, condition, metadata, pod_spec

DAY_NS: Final = 86_400 * 10**9
CURRENT_AMI: Final = {"amd64": "ami-0b7c1f2e5d9a83641", "arm64": "ami-04de92c7b1f6a3058"}
OLD_AMI: Final = "ami-09a3c5d7e1f20b846"
"""Image of the trino nodes, which have drifted."""

EDGE_USER_DATA: Final = """\
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  kubelet:
    config:
      maxPods: 110
"""
"""User data with a maxPods that Karpenter does not see; it would see ``spec.kubelet.maxPods``."""

CI: Final = {"key": "ci", "effect": "NoSchedule"}
TRINO: Final = {"key": "dedicated", "value": "trino", "effect": "NoSchedule"}
EDGE: Final = {"key": "edge", "effect": "NoSchedule"}


def nodepools(rng: random.Random, now_ns: int) -> list[Manifest]:
    """Return the five NodePools."""
    created = now_ns - 160 * DAY_NS
    od, spot = (
        one_of("karpenter.sh/capacity-type", "on-demand"),
        one_of("karpenter.sh/capacity-type", "spot", "on-demand"),
    )
    amd64 = one_of("kubernetes.io/arch", "amd64")
    families = ("m7i-flex", "c7i-flex", "m7i", "c7i", "r7i", "m7a", "c7a", "m6i", "c6i", "r6i", "m6a", "c6a")
    return [
        a_pool(
            rng,
            created,
            "runners",
            "CI jobs; said to be preferred 2:1 over general",
            weight=100,
            requirements=[od, amd64, one_of("karpenter.k8s.aws/instance-family", "r6i", "c6i", "m6i")],
            taints=[CI],
            limits={"cpu": "200"},
            grace="24h",
            budgets=[{"nodes": "50%"}],
        ),
        a_pool(
            rng,
            created,
            "general",
            "everything else; was meant to take flex types first",
            weight=50,
            requirements=[
                spot,
                amd64,
                one_of("karpenter.k8s.aws/instance-family", *families),
                one_of("karpenter.k8s.aws/instance-size", "xlarge", "2xlarge", "4xlarge", "8xlarge"),
            ],
            limits={"cpu": "512"},
            consolidate_after="5m",
            budgets=[{"nodes": "10%"}, {"nodes": "2", "reasons": ["Drifted"]}],
        ),
        a_pool(
            rng,
            created + 60 * DAY_NS,
            "spare",
            "fallback when flex is out; the * below matches no instance family",
            weight=50,
            requirements=[od, amd64, one_of("karpenter.k8s.aws/instance-family", "*")],
            limits={"cpu": "64"},
        ),
        a_pool(
            rng,
            created + 20 * DAY_NS,
            "trino",
            "query engine, one worker per node",
            requirements=[od, amd64, one_of("node.kubernetes.io/instance-type", "r5a.8xlarge")],
            taints=[TRINO],
            node_class="trino",
            budgets=[{"nodes": "0", "reasons": ["Drifted"]}, {"nodes": "1"}],
            consolidate_after="30m",
        ),
        a_pool(
            rng,
            created + 90 * DAY_NS,
            "edge",
            "small arm64 nodes next to the load balancers",
            weight=45,
            requirements=[
                od,
                one_of("kubernetes.io/arch", "arm64"),
                one_of("karpenter.k8s.aws/instance-family", "c7g", "m7g"),
                one_of("karpenter.k8s.aws/instance-size", "medium", "large"),
            ],
            taints=[EDGE],
            node_class="edge",
            budgets=[
                {"nodes": "25%"},
                {"nodes": "0", "reasons": ["Underutilized"], "schedule": "0 9 * * mon-fri", "duration": "8h"},
            ],
            labels={"company.io/tier": "edge"},
        ),
    ]


def one_of(key: str, *values: str) -> Manifest:
    """Return an ``In`` requirement."""
    return {"key": key, "operator": "In", "values": list(values)}


def a_pool(
    rng: random.Random,
    created_ns: int,
    name: str,
    description: str,
    *,
    requirements: Sequence[Manifest],
    weight: int | None = None,
    taints: Sequence[Mapping[str, str]] = (),
    limits: Mapping[str, str] | None = None,
    grace: str | None = None,
    budgets: Sequence[Manifest] = ({"nodes": "10%"},),
    node_class: str = "default",
    consolidate_after: str = "0s",
    labels: Mapping[str, str] | None = None,
) -> Manifest:
    """Return a NodePool that is ready."""
    template: Manifest = {
        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": node_class},
        "requirements": list(requirements),
        "expireAfter": "720h",
    }
    if taints:
        template["taints"] = [dict(taint) for taint in taints]
    if grace:
        template["terminationGracePeriod"] = grace
    spec: Manifest = {
        "template": {"metadata": {"labels": dict(labels or {})}, "spec": template},
        "disruption": {
            "consolidationPolicy": "WhenEmptyOrUnderutilized",
            "consolidateAfter": consolidate_after,
            "budgets": list(budgets),
        },
    }
    if weight is not None:
        spec["weight"] = weight
    if limits:
        spec["limits"] = dict(limits)
    kinds = ("ValidationSucceeded", "NodeClassReady", "NodeRegistrationHealthy", "Ready")
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {
            **metadata(
                name, uid=a_uid(rng), created_ns=created_ns, annotations={"kubernetes.io/description": description}
            ),
            "generation": 3,
        },
        "spec": spec,
        "status": {"conditions": [condition(kind, "True", created_ns) for kind in kinds]},
    }


def nodeclasses(rng: random.Random, now_ns: int) -> list[Manifest]:
    """Return the EC2NodeClasses."""
    return [
        _nodeclass(rng, now_ns - 160 * DAY_NS, "default"),
        _nodeclass(rng, now_ns - 140 * DAY_NS, "trino", generation=4),
        _nodeclass(rng, now_ns - 70 * DAY_NS, "edge", userData=EDGE_USER_DATA),
    ]


def _nodeclass(rng: random.Random, created_ns: int, name: str, *, generation: int = 1, **spec: Any) -> Manifest:
    discovery = {"tags": {"karpenter.sh/discovery": "demo"}}
    disk = {"volumeSize": "100Gi", "volumeType": "gp3", "encrypted": True}
    return {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {**metadata(name, uid=a_uid(rng), created_ns=created_ns), "generation": generation},
        "spec": {
            "amiSelectorTerms": [{"alias": "al2023@v20261105"}],
            "role": "KarpenterNodeRole-demo",
            "subnetSelectorTerms": [discovery],
            "securityGroupSelectorTerms": [discovery],
            "blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": disk}],
            **spec,
        },
        "status": {
            "subnets": [
                {"id": f"subnet-0{index}c4e8a1b7d5f9032", "zone": zone, "zoneID": zone_id}
                for index, (zone, zone_id) in enumerate(ZONES, 1)
            ],
            "securityGroups": [{"id": "sg-0d41c7e9b25a6f380", "name": "demo-node"}],
            "amis": [
                {
                    "id": CURRENT_AMI[arch],
                    "name": f"amazon-eks-node-al2023-{word}-standard-1.35-v20261105",
                    "requirements": [one_of("kubernetes.io/arch", arch)],
                }
                for arch, word in (("amd64", "x86_64"), ("arm64", "arm64"))
            ],
            "instanceProfile": "demo_4067990795380418201",
            "conditions": [
                condition(kind, "True", created_ns)
                for kind in ("AMIsReady", "SubnetsReady", "SecurityGroupsReady", "InstanceProfileReady", "Ready")
            ],
        },
    }


ALL: Final = ({"operator": "Exists"},)
MOST: Final = (
    {"key": "ci", "operator": "Exists"},
    {"key": "edge", "operator": "Exists"},
    {"key": "node.kubernetes.io/not-ready", "operator": "Exists"},
    {"key": "node.kubernetes.io/unreachable", "operator": "Exists"},
    {"key": "karpenter.sh/unregistered", "operator": "Exists"},
)
ON_EDGE: Final = {"company.io/tier": "edge"}
DAEMONS: Final[tuple[tuple[str, str, str, str, Sequence[Mapping[str, str]], Mapping[str, str]], ...]] = (
    ("kube-system", "aws-node", "50m", "128Mi", ALL, {}),
    ("kube-system", "kube-proxy", "100m", "64Mi", ALL, {}),
    ("monitoring", "otel-agent", "100m", "448Mi", ALL, {}),
    ("kube-system", "ebs-csi-node", "30m", "60Mi", MOST, {}),
    ("kube-system", "efs-csi-node", "20m", "40Mi", MOST, {}),
    ("kube-system", "node-local-dns", "25m", "48Mi", MOST, {}),
    ("monitoring", "node-exporter", "50m", "64Mi", MOST, {}),
    ("logging", "fluent-bit", "100m", "64Mi", MOST, {}),
    ("kube-system", "node-problem-detector", "15m", "22Mi", MOST, {}),
    ("edge", "edge-router", "100m", "96Mi", MOST, ON_EDGE),
    ("edge", "edge-cache", "50m", "128Mi", MOST, ON_EDGE),
)
"""Nine on every node (490m, 938Mi), except three on trino nodes (640Mi) and eleven on edge nodes."""


def daemonsets(rng: random.Random, now_ns: int) -> list[Manifest]:
    """Return the DaemonSets."""
    return [
        {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": {
                **metadata(
                    name, uid=a_uid(rng), created_ns=now_ns - 150 * DAY_NS, namespace=namespace, labels={"app": name}
                ),
                "generation": 1,
            },
            "spec": {
                "selector": {"matchLabels": {"app": name}},
                "template": {
                    "metadata": {"labels": {"app": name}},
                    "spec": pod_spec(
                        cpu=cpu,
                        memory=memory,
                        image=f"registry.example/{name}:1.{rng.randint(2, 30)}.{rng.randint(0, 9)}",
                        tolerations=tolerations,
                        node_selector=selector,
                        priorityClassName="system-node-critical",
                        priority=2000001000,
                    ),
                },
            },
        }
        for namespace, name, cpu, memory, tolerations, selector in DAEMONS
    ]
