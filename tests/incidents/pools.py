"""NodePools, EC2NodeClasses and Karpenter itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.incidents.cluster import HASH, ZONE_IDS, Cluster, NodePair
from tests.incidents.objects import Object, condition, digest, uid
from tests.incidents.pods import add_workload


def add_karpenter(
    c: Cluster,
    *,
    on: Sequence[NodePair] = (),
    pending: int = 0,
    pending_since: str = "20m",
    replicas: int = 2,
    message: str = "",
    affinity: bool = True,
    node_labels: Mapping[str, str] | None = None,
) -> list[Object]:
    """Add Karpenter as its Helm chart installs it, and return its pods."""
    spec: Object = {
        "priorityClassName": "system-cluster-critical",
        "serviceAccountName": "karpenter",
        "tolerations": [{"key": "CriticalAddonsOnly", "operator": "Exists"}],
    }
    terms = [{"matchExpressions": [{"key": "karpenter.sh/nodepool", "operator": "DoesNotExist"}]}]
    anti = {"labelSelector": {"matchLabels": {"app.kubernetes.io/name": "karpenter"}}}
    spec["affinity"] = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [{**anti, "topologyKey": "kubernetes.io/hostname"}]
        }
    }
    if affinity:
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        spec["affinity"]["nodeAffinity"] = required
    if node_labels:
        spec["nodeSelector"] = dict(node_labels)
    labels = {"app.kubernetes.io/name": "karpenter", "app.kubernetes.io/instance": "karpenter"}
    pods = add_workload(
        c,
        "kube-system/karpenter",
        message=message,
        on=on,
        pending=pending,
        pending_since=pending_since,
        replicas=replicas,
        cpu="1",
        memory="1Gi",
        age="12d",
        labels=labels,
        image=f"public.ecr.aws/karpenter/controller:{c.karpenter_version}",
        container="controller",
        spec=spec,
    )
    holder = f"{pods[0]['metadata']['name']}_{uid('lease')}" if on else f"karpenter-7d9c5b8f6-q4m2z_{uid('lease')}"
    c.add(
        "Lease",
        "karpenter-leader-election",
        "kube-system",
        age="200d",
        spec={
            "holderIdentity": holder,
            "leaseDurationSeconds": 15,
            "acquireTime": c.at("12d"),
            "renewTime": c.at("2s" if on else pending_since),
            "leaseTransitions": 14,
        },
    )
    return pods


def add_nodeclass(
    c: Cluster, name: str = "default", *, broken: Mapping[str, tuple[str, str]] | None = None, **changes: Any
) -> Object:
    """Add an EC2NodeClass that is ready, or with conditions that are false since ``since``.

    Args:
        name: its name.
        broken: conditions that are not true, with reason and message.
        changes: ``since`` and ``spec``, ``status`` fields, ``metadata`` as in ``add``.
    """
    broken, since = dict(broken or {}), c.at(changes.pop("since", "60d"))
    types = ["AMIsReady", "SubnetsReady", "SecurityGroupsReady", "InstanceProfileReady"]
    types += ["CapacityReservationsReady", "ValidationSucceeded"]
    conditions = [
        condition(type_, "False", since, *broken[type_]) if type_ in broken else condition(type_, "True", c.at("60d"))
        for type_ in types
    ]
    ready = ("False", since, "UnhealthyDependents", ", ".join(f"{text}=False" for text in broken))
    conditions.append(condition("Ready", *(ready if broken else ("True", c.at("60d")))))
    amis = [
        {
            "id": f"ami-0{digest('ami', arch)[:16]}",
            "name": f"amazon-eks-node-al2023-{image}-standard-1.35-v20261111",
            "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": [arch]}],
        }
        for arch, image in (("amd64", "x86_64"), ("arm64", "arm64"))
    ]
    subnets = [
        {"id": f"subnet-0{digest('subnet', zone)[:16]}", "zone": zone, "zoneID": ZONE_IDS[zone]} for zone in c.zones
    ]
    tags = [{"tags": {"karpenter.sh/discovery": "orders-prod"}}]
    return c.add(
        "EC2NodeClass",
        name,
        age="120d",
        generation=3,
        annotations={"karpenter.k8s.aws/ec2nodeclass-hash": HASH, "karpenter.k8s.aws/ec2nodeclass-hash-version": "v6"},
        spec={
            "amiSelectorTerms": [{"alias": "al2023@v20261111"}],
            "role": "KarpenterNodeRole-orders-prod",
            "subnetSelectorTerms": tags,
            "securityGroupSelectorTerms": tags,
            "blockDeviceMappings": [
                {"deviceName": "/dev/xvda", "ebs": {"volumeSize": "100Gi", "volumeType": "gp3", "encrypted": True}}
            ],
            **changes.pop("spec", {}),
        },
        status={
            "amis": amis,
            "subnets": subnets,
            "securityGroups": [{"id": f"sg-0{digest('sg')[:16]}", "name": "orders-prod-node"}],
            "instanceProfile": "orders-prod_11629308412211046553",
            "conditions": conditions,
            **changes.pop("status", {}),
        },
        **changes,
    )


def add_pool(
    c: Cluster,
    name: str,
    *,
    families: Sequence[str] = ("m6i", "m7i", "c6i"),
    sizes: Sequence[str] = ("xlarge", "2xlarge"),
    capacity: Sequence[str] = ("on-demand",),
    zones: Sequence[str] = (),
    arch: Sequence[str] = ("amd64",),
    requirements: Sequence[Object] = (),
    template: Mapping[str, Any] | None = None,
    labels: Mapping[str, str] | None = None,
    disruption: Mapping[str, Any] | None = None,
    nodeclass: str = "default",
    not_ready: tuple[str, str, str] | None = None,
    registration: tuple[str, str, str] | None = None,
    **spec: Any,
) -> Object:
    """Add a NodePool.

    Args:
        name: its name.
        families: EC2 instance families.
        sizes: EC2 instance sizes.
        capacity: capacity types.
        zones: zones, if it is limited to some.
        arch: processor architectures.
        requirements: further requirements.
        template: further fields of ``spec.template.spec``, such as taints or ``terminationGracePeriod``.
        labels: labels of its nodes.
        disruption: fields of ``spec.disruption`` that differ from the defaults.
        nodeclass: its EC2NodeClass.
        not_ready: reason, message and age of a NodeClassReady condition that is false.
        registration: reason, message and age of a NodeRegistrationHealthy condition that is false.
        spec: further fields of ``spec``, such as ``limits`` or ``weight``.
    """
    wanted = [
        ("karpenter.sh/capacity-type", capacity),
        ("kubernetes.io/arch", arch),
        ("karpenter.k8s.aws/instance-family", families),
        ("karpenter.k8s.aws/instance-size", sizes),
        ("topology.kubernetes.io/zone", zones),
    ]
    listed = [{"key": key, "operator": "In", "values": [*values]} for key, values in wanted if values]
    conditions = [condition(item, "True", c.at("60d")) for item in ("ValidationSucceeded", "NodeClassReady")]
    conditions += [condition(item, "True", c.at("60d")) for item in ("NodeRegistrationHealthy", "Ready")]
    if not_ready:
        reason, message, age = not_ready
        conditions[1] = condition("NodeClassReady", "False", c.at(age), reason, message)
        conditions[3] = condition("Ready", "False", c.at(age), "UnhealthyDependents", "NodeClassReady=False")
    if registration:
        reason, message, age = registration
        conditions[2] = condition("NodeRegistrationHealthy", "False", c.at(age), reason, message)
    return c.add(
        "NodePool",
        name,
        age="60d",
        generation=4,
        annotations={"karpenter.sh/nodepool-hash": HASH, "karpenter.sh/nodepool-hash-version": "v3"},
        spec={
            "disruption": {
                "budgets": [{"nodes": "10%"}],
                "consolidationPolicy": "WhenEmptyOrUnderutilized",
                "consolidateAfter": "10m",
                **(disruption or {}),
            },
            "template": {
                "metadata": {"labels": dict(labels or {})},
                "spec": {
                    "expireAfter": "720h",
                    "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": nodeclass},
                    "requirements": [*listed, *requirements],
                    **(template or {}),
                },
            },
            **spec,
        },
        status={"conditions": conditions, "nodeClassObservedGeneration": 3},
    )


def to_beta(c: Cluster) -> None:
    """Rewrite NodePools, NodeClaims and EC2NodeClasses as Karpenter's v1beta1 API has them."""
    for manifest in c.objects:
        if manifest["kind"] in ("NodePool", "NodeClaim", "EC2NodeClass"):
            manifest["apiVersion"] = manifest["apiVersion"].replace("/v1", "/v1beta1")
        if manifest["kind"] == "NodePool":
            template = manifest["spec"]["template"]["spec"]
            manifest["spec"]["disruption"] = {"budgets": [{"nodes": "10%"}], "consolidationPolicy": "WhenUnderutilized", "expireAfter": template.pop("expireAfter")}  # fmt: skip
        if manifest["kind"] in ("NodePool", "NodeClaim"):
            spec = manifest["spec"]["template"]["spec"] if manifest["kind"] == "NodePool" else manifest["spec"]
            spec["nodeClassRef"] = {"apiVersion": "karpenter.k8s.aws/v1beta1", "kind": "EC2NodeClass", "name": "default"}  # fmt: skip
