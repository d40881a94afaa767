"""A small EKS cluster with Karpenter 1.15 as API objects; each incident starts from a healthy one and breaks it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from tests.incidents.objects import (
    API,
    Object,
    condition,
    digest,
    duration,
    instance_labels,
    node_resources,
    owner,
    rfc3339,
    uid,
)

CLUSTER_SCOPED: Final = frozenset(
    {"Namespace", "Node", "NodePool", "NodeClaim", "EC2NodeClass", "PersistentVolume", "StorageClass", "CSINode"}
    | {"PriorityClass", "VolumeAttachment", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"}
)
ZONE_IDS: Final = {
    "us-east-1a": "use1-az4",
    "us-east-1b": "use1-az6",
    "us-east-1c": "use1-az1",
    "us-east-1d": "use1-az2",
}
HASH: Final = "8812644370196153902"
NOT_READY: Final = ("Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.")
CNI_NOT_READY: Final = (
    "False",
    "KubeletNotReady",
    "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized",
)
DAEMONSETS: Final = (
    ("aws-node", "50m", "0"),
    ("kube-proxy", "100m", "0"),
    ("ebs-csi-node", "30m", "120Mi"),
    ("eks-pod-identity-agent", "10m", "0"),
)


@dataclass
class NodePair:
    """A Node and its NodeClaim; a node of a managed node group has no NodeClaim, a starting NodeClaim no Node."""

    zone: str
    created: str
    node: Object | None = None
    claim: Object | None = None
    without: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The Node's name."""
        assert self.node is not None
        return str(self.node["metadata"]["name"])

    @property
    def status(self) -> Object:
        """The Node's status."""
        assert self.node is not None
        status: Object = self.node["status"]
        return status

    @property
    def claim_name(self) -> str:
        """The NodeClaim's name."""
        assert self.claim is not None
        return str(self.claim["metadata"]["name"])


@dataclass
class Cluster:
    """Objects of a cluster at one instant; ages such as ``2h`` count back from it."""

    name: str
    now: str = "2026-11-24T09:30:00Z"
    zones: tuple[str, ...] = ("us-east-1a", "us-east-1b", "us-east-1c")
    settings: Mapping[str, str] = field(default_factory=dict)
    karpenter_runs: bool = True
    instance_types: Sequence[Object] = ()
    objects: list[Object] = field(default_factory=list)
    nodes: list[NodePair] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._daemonsets: list[tuple[Object, Object]] = []
        for name, value in (("system-cluster-critical", 2000000000), ("system-node-critical", 2000001000)):
            self.add("PriorityClass", name, age="240d", value=value, globalDefault=False)
        self.add(
            "StorageClass",
            "gp3",
            age="240d",
            annotations={"storageclass.kubernetes.io/is-default-class": "true"},
            provisioner="ebs.csi.aws.com",
            reclaimPolicy="Delete",
            volumeBindingMode="WaitForFirstConsumer",
        )
        for name, cpu, memory in DAEMONSETS:
            self.daemonset("kube-system", name, cpu=cpu, memory=memory, critical=True)
        self.system = [self.group_node("m6i.large", self.zones[0]), self.group_node("m6i.large", self.zones[-1])]
        self.workload(
            "Deployment",
            "kube-system",
            "coredns",
            on=self.system,
            cpu="100m",
            memory="70Mi",
            age="41d",
            spec={"priorityClassName": "system-cluster-critical", "tolerations": [{"key": "CriticalAddonsOnly"}]},
        )
        if self.karpenter_runs:
            self.karpenter(on=self.system)

    # Time and bookkeeping

    def at(self, age: str) -> str:
        """Return the instant an age ago; ``-5m`` is in five minutes."""
        instant = datetime.fromisoformat(self.now)
        return rfc3339(instant + duration(age[1:]) if age.startswith("-") else instant - duration(age))

    def add(self, kind: str, name: str, namespace: str = "", *, age: str = "60d", **fields: Any) -> Object:
        """Add an object and return it; labels, annotations and other metadata go to its metadata."""
        metadata: Object = {
            "name": name,
            "uid": uid(self.name, kind, namespace, name),
            "creationTimestamp": self.at(age),
        }
        if namespace:
            metadata["namespace"] = namespace
        for key in ("labels", "annotations", "finalizers", "ownerReferences", "deletionTimestamp", "generation"):
            if key in fields:
                metadata[key] = fields.pop(key)
        made = {"apiVersion": API[kind], "kind": kind, "metadata": metadata, **fields}
        self.objects.append(made)
        return made

    def find(self, kind: str, name: str) -> Object:
        """Return an object that was added."""
        return next(one for one in self.objects if one["kind"] == kind and one["metadata"]["name"] == name)

    def event(
        self,
        about: Object,
        reason: str,
        message: str,
        *,
        last: str = "1m",
        first: str = "",
        count: int = 1,
        kind: str = "Warning",
        source: str = "karpenter",
    ) -> None:
        """Add an event about an object."""
        meta = about["metadata"]
        namespace = meta.get("namespace", "default")
        self.objects.append(
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {
                    "name": f"{meta['name']}.{digest(meta['name'], reason, message, last)[:16]}",
                    "namespace": namespace,
                    "uid": uid(self.name, "Event", meta["name"], reason, message, last),
                    "creationTimestamp": self.at(first or last),
                },
                "involvedObject": {
                    "apiVersion": about["apiVersion"],
                    "kind": about["kind"],
                    "name": meta["name"],
                    "uid": meta["uid"],
                    **({"namespace": namespace} if "namespace" in meta else {}),
                },
                "reason": reason,
                "message": message,
                "type": kind,
                "count": count,
                "firstTimestamp": self.at(first or last),
                "lastTimestamp": self.at(last),
                "source": {"component": source},
                "reportingComponent": source,
            }
        )

    # Karpenter

    def karpenter(
        self,
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
        pods = self.workload(
            "Deployment",
            "kube-system",
            "karpenter",
            on=on,
            pending=pending,
            pending_since=pending_since,
            replicas=replicas,
            message=message,
            cpu="1",
            memory="1Gi",
            age="12d",
            labels=labels,
            image="public.ecr.aws/karpenter/controller:1.15.0",
            container="controller",
            spec=spec,
        )
        holder = f"{pods[0]['metadata']['name']}_{uid('lease')}" if on else f"karpenter-7d9c5b8f6-q4m2z_{uid('lease')}"
        self.add(
            "Lease",
            "karpenter-leader-election",
            "kube-system",
            age="200d",
            spec={
                "holderIdentity": holder,
                "leaseDurationSeconds": 15,
                "acquireTime": self.at("12d"),
                "renewTime": self.at("2s" if on else pending_since),
                "leaseTransitions": 14,
            },
        )
        return pods

    def nodeclass(
        self, name: str = "default", *, broken: Mapping[str, tuple[str, str]] | None = None, **changes: Any
    ) -> Object:
        """Add an EC2NodeClass that is ready, or with conditions that are false since ``since``.

        Args:
            name: its name.
            broken: conditions that are not true, with reason and message.
            changes: ``since`` and ``spec``, ``status`` fields, ``metadata`` as in ``add``.
        """
        broken, since = dict(broken or {}), self.at(changes.pop("since", "60d"))
        types = ["AMIsReady", "SubnetsReady", "SecurityGroupsReady", "InstanceProfileReady"]
        types += ["CapacityReservationsReady", "ValidationSucceeded"]
        conditions = [
            condition(type_, "False", since, *broken[type_])
            if type_ in broken
            else condition(type_, "True", self.at("60d"))
            for type_ in types
        ]
        ready = ("False", since, "UnhealthyDependents", ", ".join(f"{one}=False" for one in broken))
        conditions.append(condition("Ready", *(ready if broken else ("True", self.at("60d")))))
        amis = [
            {
                "id": f"ami-0{digest('ami', arch)[:16]}",
                "name": f"amazon-eks-node-al2023-{image}-standard-1.35-v20261111",
                "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": [arch]}],
            }
            for arch, image in (("amd64", "x86_64"), ("arm64", "arm64"))
        ]
        subnets = [
            {"id": f"subnet-0{digest(self.name, zone)[:16]}", "zone": zone, "zoneID": ZONE_IDS[zone]}
            for zone in self.zones
        ]
        tags = [{"tags": {"karpenter.sh/discovery": "orders-prod"}}]
        return self.add(
            "EC2NodeClass",
            name,
            age="120d",
            generation=3,
            annotations={
                "karpenter.k8s.aws/ec2nodeclass-hash": HASH,
                "karpenter.k8s.aws/ec2nodeclass-hash-version": "v6",
            },
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

    def pool(
        self,
        name: str,
        *,
        families: Sequence[str] = ("m6i", "m7i", "c6i"),
        sizes: Sequence[str] = ("xlarge", "2xlarge"),
        capacity: Sequence[str] = ("on-demand",),
        zones: Sequence[str] = (),
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
            ("kubernetes.io/arch", ("amd64",)),
            ("karpenter.k8s.aws/instance-family", families),
            ("karpenter.k8s.aws/instance-size", sizes),
            ("topology.kubernetes.io/zone", zones),
        ]
        listed = [{"key": key, "operator": "In", "values": [*values]} for key, values in wanted if values]
        conditions = [condition(one, "True", self.at("60d")) for one in ("ValidationSucceeded", "NodeClassReady")]
        conditions += [condition(one, "True", self.at("60d")) for one in ("NodeRegistrationHealthy", "Ready")]
        if not_ready:
            reason, message, age = not_ready
            conditions[1] = condition("NodeClassReady", "False", self.at(age), reason, message)
            conditions[3] = condition("Ready", "False", self.at(age), "UnhealthyDependents", "NodeClassReady=False")
        if registration:
            reason, message, age = registration
            conditions[2] = condition("NodeRegistrationHealthy", "False", self.at(age), reason, message)
        return self.add(
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

    # Nodes

    def _addresses(self) -> str:
        return f"ip-10-24-{16 + len(self.nodes) // 4}-{31 + 17 * len(self.nodes) % 200}.ec2.internal"

    def _node(
        self, pair: NodePair, labels: Object, instance_type: str, instance: str, ready: Sequence[str], **more: Any
    ) -> Object:
        name, since = self._addresses(), self.at(more.pop("ready_since"))
        capacity, allocatable = node_resources(instance_type, more.pop("gpus"))
        status, reason, message = ready
        unknown = status == "Unknown"
        kinds = (
            ("MemoryPressure", "KubeletHasSufficientMemory"),
            ("DiskPressure", "KubeletHasNoDiskPressure"),
            ("PIDPressure", "KubeletHasSufficientPID"),
        )
        conditions = [
            condition(kind, *(("Unknown", since, reason, message) if unknown else ("False", pair.created, fine)))
            for kind, fine in kinds
        ]
        conditions.append(condition("Ready", status, since, reason, message))
        for one in conditions:
            one["lastHeartbeatTime"] = since if unknown else self.at("40s")
        taints = more.pop("taints")
        pair.node = self.add(
            "Node",
            name,
            age=more.pop("age"),
            labels={
                **labels,
                "kubernetes.io/hostname": name,
                "topology.kubernetes.io/region": "us-east-1",
                "topology.kubernetes.io/zone": pair.zone,
                "topology.k8s.aws/zone-id": ZONE_IDS[pair.zone],
            },
            spec={"providerID": f"aws:///{pair.zone}/{instance}", **({"taints": taints} if taints else {})},
            status={
                "capacity": capacity,
                "allocatable": allocatable,
                "addresses": [
                    {"type": "InternalIP", "address": name[3:].split(".")[0].replace("-", ".")},
                    {"type": "Hostname", "address": name},
                ],
                "conditions": conditions,
                "nodeInfo": {
                    "architecture": labels["kubernetes.io/arch"],
                    "kubeletVersion": "v1.35.2-eks-7f1c2a9",
                    "containerRuntimeVersion": "containerd://2.1.5",
                    "osImage": "Amazon Linux 2023.9.20261111",
                    "operatingSystem": "linux",
                },
            },
            **more,
        )
        self.add(
            "CSINode",
            name,
            age="30d",
            spec={
                "drivers": [
                    {
                        "name": "ebs.csi.aws.com",
                        "nodeID": instance,
                        "topologyKeys": [
                            "kubernetes.io/os",
                            "topology.ebs.csi.aws.com/zone",
                            "topology.kubernetes.io/zone",
                        ],
                        "allocatable": {"count": 25},
                    }
                ]
            },
        )
        return pair.node

    def group_node(
        self, instance_type: str, zone: str, *, age: str = "47d", ready: Sequence[str] = (), ready_since: str = ""
    ) -> NodePair:
        """Add a node of the EKS managed node group ``system``."""
        pair = NodePair(zone, self.at(age))
        labels = {
            "node.kubernetes.io/instance-type": instance_type,
            "kubernetes.io/arch": "amd64",
            "kubernetes.io/os": "linux",
            "eks.amazonaws.com/nodegroup": "system",
            "eks.amazonaws.com/capacityType": "ON_DEMAND",
        }
        instance = f"i-0{digest(self.name, 'group', len(self.nodes))[:16]}"
        self._node(
            pair,
            labels,
            instance_type,
            instance,
            ready or ("True", "KubeletReady", "kubelet is posting ready status"),
            ready_since=ready_since or age,
            age=age,
            gpus=0,
            taints=[],
        )
        self.nodes.append(pair)
        return pair

    def node(
        self,
        pool: str,
        instance_type: str,
        zone: str,
        *,
        capacity: str = "on-demand",
        age: str = "9d",
        stage: str = "Initialized",
        launch_error: tuple[str, str] | None = None,
        uninitialized: tuple[str, str] | None = None,
        ready: Sequence[str] = ("True", "KubeletReady", "kubelet is posting ready status"),
        ready_since: str = "",
        drifted: str = "",
        drift_reason: str = "AMIDrift",
        deleting: str = "",
        taints: Sequence[Object] = (),
        annotations: Mapping[str, str] | None = None,
        claim_annotations: Mapping[str, str] | None = None,
        conditions: Sequence[Object] = (),
        requests: Mapping[str, str] | None = None,
        gpus: int = 0,
        without: Iterable[str] = (),
    ) -> NodePair:
        """Add a NodeClaim and, from the stage Registered on, its Node.

        Args:
            pool: its NodePool, which must have been added.
            instance_type: one of ``TYPES``.
            zone: its zone.
            capacity: its capacity type.
            age: age of the NodeClaim; the Node is 35 seconds younger.
            stage: empty (not launched), Launched, Registered or Initialized.
            launch_error: reason and message of a Launched condition that is unknown.
            uninitialized: reason and message of an Initialized condition that is unknown.
            ready: status, reason and message of the Node's condition Ready.
            ready_since: age of that condition, if it is not the node's.
            drifted: age of the condition Drifted.
            drift_reason: its reason.
            deleting: age of the deletion.
            taints: taints beside those of the NodePool.
            annotations: the Node's annotations.
            claim_annotations: the NodeClaim's annotations.
            conditions: further conditions of the NodeClaim.
            requests: what the NodeClaim requests.
            gpus: GPUs that the node offers.
            without: DaemonSets whose pod is missing there.
        """
        parent = self.find("NodePool", pool)
        template, number = parent["spec"]["template"], len(self.nodes)
        node_age, order = later(age, "35s"), ("", "Launched", "Registered", "Initialized").index(stage)
        pair = NodePair(zone, self.at(node_age), without=tuple(without))
        instance, name = f"i-0{digest(self.name, pool, number)[:16]}", f"{pool}-{suffix(self.name, pool, number)}"
        known = {
            "karpenter.sh/nodepool": pool,
            "karpenter.k8s.aws/ec2nodeclass": template["spec"]["nodeClassRef"]["name"],
        }
        known |= template["metadata"]["labels"]
        placed = {
            "karpenter.sh/capacity-type": capacity,
            "topology.kubernetes.io/region": "us-east-1",
            "topology.kubernetes.io/zone": zone,
            "topology.k8s.aws/zone-id": ZONE_IDS[zone],
        }
        launched = {**known, **instance_labels(instance_type), **placed}
        steps = [("Launched", launch_error, "8s"), ("Registered", None, "40s"), ("Initialized", uninitialized, "55s")]
        waiting = ("AwaitingReconciliation", "object is awaiting reconciliation")
        if order == 1:
            steps[1] = ("Registered", ("NodeNotFound", "Node not registered with cluster"), "40s")
        listed = [
            condition(step, "True", self.at(later(age, after)))
            if index < order
            else condition(step, "Unknown", self.at(later(age, "2s")), *(why or waiting))
            for index, (step, why, after) in enumerate(steps)
        ]
        missing = ", ".join(f"{one['type']}=Unknown" for one in listed if one["status"] != "True")
        state = ("Unknown", listed[-1]["lastTransitionTime"], "ReconcilingDependents", missing)
        listed.append(condition("Ready", *(state if missing else ("True", listed[-1]["lastTransitionTime"]))))
        if order == 3 and duration(age) > duration("10m") and not deleting and "replicas" not in parent["spec"]:
            listed.append(condition("Consolidatable", "True", self.at(later(age, "10m"))))
        if drifted:
            listed.append(condition("Drifted", "True", self.at(drifted), drift_reason))
        capacity_list, allocatable = node_resources(instance_type, gpus)
        marks: Object = {"finalizers": ["karpenter.sh/termination"]} | (
            {"deletionTimestamp": self.at(deleting)} if deleting else {}
        )
        grace = {
            key: template["spec"][key] for key in ("terminationGracePeriod", "expireAfter") if key in template["spec"]
        }
        own_taints = [*template["spec"].get("taints", [])]
        startup = [*template["spec"].get("startupTaints", [])]
        pair.claim = self.add(
            "NodeClaim",
            name,
            age=age,
            generation=1 + bool(deleting),
            labels=launched if order else known,
            annotations={
                "karpenter.sh/nodepool-hash": HASH,
                "karpenter.sh/nodepool-hash-version": "v3",
                "karpenter.k8s.aws/ec2nodeclass-hash": HASH,
                "karpenter.k8s.aws/ec2nodeclass-hash-version": "v6",
                **(claim_annotations or {}),
            },
            ownerReferences=[owner(parent)],
            spec={
                **grace,
                "nodeClassRef": template["spec"]["nodeClassRef"],
                "requirements": [
                    *template["spec"]["requirements"],
                    {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": [instance_type]},
                ],
                "resources": {"requests": dict(requests or {"cpu": "1190m", "memory": "1144Mi", "pods": "6"})},
                **({"taints": own_taints} if own_taints else {}),
                **({"startupTaints": startup} if startup else {}),
            },
            status={
                "conditions": [*listed, *conditions],
                **(
                    {
                        "providerID": f"aws:///{zone}/{instance}",
                        "imageID": f"ami-0{digest('old' if drifted else 'ami', launched['kubernetes.io/arch'])[:16]}",
                        "capacity": capacity_list,
                        "allocatable": allocatable,
                    }
                    if order
                    else {}
                ),
            },
            **marks,
        )
        if order >= 2:
            stages = {"karpenter.sh/registered": "true"} | ({"karpenter.sh/initialized": "true"} if order == 3 else {})
            present = [*own_taints, *taints]
            if deleting:
                present.append({"key": "karpenter.sh/disrupted", "effect": "NoSchedule"})
            if ready[0] != "True":
                kind = "unreachable" if ready[0] == "Unknown" else "not-ready"
                effects = ("NoSchedule", "NoExecute") if order == 3 else ("NoSchedule",)
                present += [{"key": f"node.kubernetes.io/{kind}", "effect": effect} for effect in effects]
            made = self._node(
                pair,
                {**launched, **stages},
                instance_type,
                instance,
                ready,
                ready_since=ready_since or node_age,
                age=node_age,
                gpus=gpus,
                taints=present,
                ownerReferences=[owner(pair.claim)],
                annotations=dict(annotations or {}),
                **marks,
            )
            pair.claim["status"]["nodeName"] = made["metadata"]["name"]
        self.nodes.append(pair)
        return pair

    def cordon(self, pair: NodePair, age: str) -> None:
        """Cordon a node, as kubectl does."""
        assert pair.node is not None
        pair.node["spec"]["unschedulable"] = True
        taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule", "timeAdded": self.at(age)}
        pair.node["spec"].setdefault("taints", []).append(taint)
        if duration(age) < duration("1h"):
            message = f"Node {pair.name} status is now: NodeNotSchedulable"
            self.event(pair.node, "NodeNotSchedulable", message, last=age, kind="Normal", source="kubelet")

    # Pods and what makes them

    def namespace(self, name: str) -> None:
        """Add a namespace, once."""
        if not any(one["kind"] == "Namespace" and one["metadata"]["name"] == name for one in self.objects):
            labels = {"kubernetes.io/metadata.name": name}
            self.add("Namespace", name, age="200d", labels=labels, status={"phase": "Active"})

    def pod(
        self,
        namespace: str,
        name: str,
        *,
        node: NodePair | None = None,
        parent: Object | None = None,
        age: str = "3d",
        cpu: str = "250m",
        memory: str = "256Mi",
        requests: Mapping[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        spec: Mapping[str, Any] | None = None,
        image: str = "registry.example/orders/app:2026.11",
        container: str = "app",
        phase: str = "",
        waiting: str = "",
        deleting: str = "",
        message: str = "",
        scheduled: bool = True,
    ) -> Object:
        """Add a pod: running on a node, or pending without one.

        Args:
            namespace: its namespace.
            name: its name.
            node: where it is bound to.
            parent: its controller.
            age: its age.
            cpu: what it requests.
            memory: what it requests.
            requests: further resources that it requests.
            labels: its labels.
            annotations: its annotations.
            spec: further fields of its spec.
            image: its image.
            container: its container's name.
            phase: Succeeded or Failed; Running or Pending otherwise.
            waiting: why its container does not run, such as ContainerCreating or CrashLoopBackOff.
            deleting: age of its deletion.
            message: kube-scheduler's message, if it is pending.
            scheduled: whether kube-scheduler has tried to schedule it yet.
        """
        self.namespace(namespace)
        running = bool(node) and not waiting and not phase
        started = {"state": {"running": {"startedAt": self.at(age)}}, "ready": running, "restartCount": 0}
        if waiting:
            started["state"] = {"waiting": {"reason": waiting}}
        if phase:
            ended = {
                "exitCode": 0 if phase == "Succeeded" else 137,
                "finishedAt": self.at(age),
                "startedAt": self.at(age),
            }
            started["state"] = {"terminated": {**ended, "reason": "Completed" if phase == "Succeeded" else "Error"}}
        resources = {"cpu": cpu, "memory": memory, **(requests or {})}
        limits = {key: value for key, value in (requests or {}).items() if "/" in key}
        stated = {"requests": {key: value for key, value in resources.items() if value != "0"}}
        extra = dict(spec or {})
        ports = extra.pop("ports", None)
        content: Object = {
            "containers": [
                {
                    "name": container,
                    "image": image,
                    "resources": stated | ({"limits": limits} if limits else {}),
                    **({"ports": ports} if ports else {}),
                }
            ],
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "serviceAccountName": "default",
            "terminationGracePeriodSeconds": 30,
            **extra,
        }
        for kind in ("not-ready", "unreachable"):
            base = {"key": f"node.kubernetes.io/{kind}", "operator": "Exists", "effect": "NoExecute"}
            content["tolerations"] = [*content.get("tolerations", []), {**base, "tolerationSeconds": 300}]
        conditions: list[Object] = []
        status: Object = {"phase": phase or ("Running" if running else "Pending")}
        if node:
            content["nodeName"] = node.name
            silent = any(one["type"] == "Ready" and one["status"] == "Unknown" for one in node.status["conditions"])
            why = "PodCompleted" if phase == "Succeeded" else "ContainersNotReady"
            good = running and not silent
            conditions = [condition("PodScheduled", "True", self.at(age))]
            conditions += [condition("Initialized", "True", self.at(age))]
            for kind in ("Ready", "ContainersReady"):
                conditions.append(condition(kind, *(("True", self.at(age)) if good else ("False", self.at(age), why))))
            status |= {"startTime": self.at(age), "containerStatuses": [{"name": container, "image": image, **started}]}
        elif scheduled:
            text = message or "0/4 nodes are available: 4 Insufficient cpu."
            conditions = [condition("PodScheduled", "False", self.at(age), "Unschedulable", text)]
        marks: Object = {"labels": dict(labels or {})}
        if annotations:
            marks["annotations"] = dict(annotations)
        if parent:
            marks["ownerReferences"] = [owner(parent)]
        if deleting:
            marks["deletionTimestamp"] = self.at(deleting)
        made = self.add(
            "Pod", name, namespace, age=age, spec=content, status={**status, "conditions": conditions}, **marks
        )
        if not node and scheduled:
            every = max(1, int(duration(age).total_seconds()) // 300)
            text = conditions[0]["message"]
            self.event(
                made,
                "FailedScheduling",
                text,
                last="50s" if every > 1 else "2s",
                count=every,
                source="default-scheduler",
            )
        return made

    def workload(
        self,
        kind: str,
        namespace: str,
        name: str,
        *,
        on: Sequence[NodePair] = (),
        count: int | None = None,
        pending: int = 0,
        pending_since: str = "10m",
        replicas: int | None = None,
        age: str = "6d",
        message: str = "",
        labels: Mapping[str, str] | None = None,
        pending_spec: Mapping[str, Any] | None = None,
        **pod: Any,
    ) -> list[Object]:
        """Add a Deployment with its ReplicaSet, a StatefulSet or a Job, and its pods; return the pods.

        Args:
            kind: Deployment, StatefulSet or Job.
            namespace: its namespace.
            name: its name.
            on: nodes that get its running pods in turn.
            count: number of running pods; one for each node in ``on`` unless given.
            pending: number of pending pods.
            pending_since: their age.
            replicas: what it wants, if it is not the number of its pods.
            age: age of the running pods.
            message: kube-scheduler's message about the pending pods.
            labels: its labels and those of its pods.
            pending_spec: fields of the spec of pending pods only.
            pod: further arguments of ``pod``.
        """
        self.namespace(namespace)
        running = len(on) if count is None else count
        wanted = running + pending if replicas is None else replicas
        labels = dict(labels or {"app.kubernetes.io/name": name})
        template = {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "app", "image": "registry.example/app"}]},
        }
        spec: Object = {"replicas": wanted, "selector": {"matchLabels": labels}, "template": template}
        up = 0 if "waiting" in pod else running
        status = {"replicas": running + pending, "readyReplicas": up, "availableReplicas": up}
        if kind == "Job":
            spec = {"parallelism": wanted, "completions": wanted, "backoffLimit": 2, "template": template}
            status = {"active": running + pending}
        parent = self.add(
            kind, name, namespace, age="90d" if kind != "Job" else age, labels=labels, spec=spec, status=status
        )
        prefix, hash_ = name, digest(namespace, name)[:10]
        if kind == "Deployment":
            parent["status"]["unavailableReplicas"] = max(0, wanted - up)
            parent["status"]["updatedReplicas"] = running + pending
            good = up > 0 or not wanted
            reason = "MinimumReplicasAvailable" if good else "MinimumReplicasUnavailable"
            since = self.at(age) if good else self.at(pending_since)
            text = f"Deployment {'has' if good else 'does not have'} minimum availability."
            parent["status"]["conditions"] = [condition("Available", str(good), since, reason, text)]
            marks: Object = {"labels": {**labels, "pod-template-hash": hash_}, "ownerReferences": [owner(parent)]}
            spec = {**spec, "selector": {"matchLabels": {**labels, "pod-template-hash": hash_}}}
            parent = self.add("ReplicaSet", f"{name}-{hash_}", namespace, age="30d", spec=spec, status=status, **marks)
            prefix, labels = f"{name}-{hash_}", marks["labels"]
        pods = []
        for number in range(running + pending):
            ending = str(number) if kind == "StatefulSet" else suffix(namespace, name, number)
            place = on[number % len(on)] if number < running else None
            own = dict(pod)
            if place is None and pending_spec:
                own["spec"] = {**own.get("spec", {}), **pending_spec}
            pods.append(
                self.pod(
                    namespace,
                    f"{prefix}-{ending}",
                    node=place,
                    parent=parent,
                    age=age if place and duration(age) < self.age_of(place) else self.age_after(place) or pending_since,
                    labels=labels,
                    message=message,
                    **own,
                )
            )
        return pods

    def refused_pods(self, workload: str, text: str, *, first: str, last: str, count: int) -> None:
        """Let the controller of a workload report that its pods cannot be created."""
        kinds = {"ReplicaSet": "replicaset", "Job": "job", "DaemonSet": "daemonset"}
        made = next(
            one
            for one in self.objects
            if one["kind"] in kinds and (one["metadata"]["name"] == workload or owned_by(one, workload))
        )
        if made["kind"] == "ReplicaSet":
            failure = condition(
                "ReplicaFailure", "True", self.at(first), "FailedCreate", text.removeprefix("Error creating: ")
            )
            made["status"]["conditions"] = [failure]
        source = f"{kinds[made['kind']]}-controller"
        self.event(made, "FailedCreate", text, last=last, first=first, count=count, source=source)

    def age_of(self, pair: NodePair) -> Any:
        """Return how long a node has existed."""
        return datetime.fromisoformat(self.now) - datetime.fromisoformat(pair.created)

    def age_after(self, pair: NodePair | None) -> str:
        """Return the age of a pod that started half a minute after its node; empty for a pod without a node."""
        return f"{max(1, int(self.age_of(pair).total_seconds()) - 30)}s" if pair else ""

    def daemonset(
        self,
        namespace: str,
        name: str,
        *,
        cpu: str,
        memory: str,
        critical: bool = False,
        spec: Mapping[str, Any] | None = None,
    ) -> Object:
        """Add a DaemonSet that tolerates every taint; its pods are added to all nodes with the snapshot."""
        labels = {"app.kubernetes.io/name": name}
        content: Object = {"tolerations": [{"operator": "Exists"}], **(spec or {})}
        if critical:
            content["priorityClassName"] = "system-node-critical"
        pod_spec = {key: value for key, value in content.items() if key != "ports"}
        requests = {key: value for key, value in (("cpu", cpu), ("memory", memory)) if value != "0"}
        container = {"name": "app", "image": f"registry.example/{name}", "resources": {"requests": requests}}
        if "ports" in content:
            container["ports"] = content["ports"]
        self.namespace(namespace)
        made = self.add(
            "DaemonSet",
            name,
            namespace,
            age="180d",
            labels=labels,
            generation=2,
            spec={
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {**pod_spec, "containers": [container]}},
            },
        )
        self._daemonsets.append((made, {"cpu": cpu, "memory": memory, "labels": labels, "spec": content}))
        return made

    def pdb(
        self, namespace: str, name: str, app: str, *, healthy: int, desired: int, expected: int, **spec: Any
    ) -> Object:
        """Add a PodDisruptionBudget over the pods of a workload."""
        return self.add(
            "PodDisruptionBudget",
            name,
            namespace,
            age="90d",
            generation=1,
            spec={"selector": {"matchLabels": {"app.kubernetes.io/name": app}}, **spec},
            status={
                "currentHealthy": healthy,
                "desiredHealthy": desired,
                "expectedPods": expected,
                "disruptionsAllowed": max(0, healthy - desired),
                "observedGeneration": 1,
            },
        )

    def volume(self, namespace: str, claim: str, zone: str, *, age: str = "70d") -> Object:
        """Add a bound EBS volume in a zone, and return it as a volume of a pod."""
        self.namespace(namespace)
        name = f"pvc-{uid(namespace, claim)}"
        terms = [{"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]}]}]
        self.add(
            "PersistentVolume",
            name,
            age=age,
            spec={
                "accessModes": ["ReadWriteOnce"],
                "capacity": {"storage": "200Gi"},
                "claimRef": {"kind": "PersistentVolumeClaim", "namespace": namespace, "name": claim},
                "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": f"vol-0{digest(namespace, claim)[:16]}"},
                "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
                "persistentVolumeReclaimPolicy": "Delete",
                "storageClassName": "gp3",
            },
            status={"phase": "Bound"},
        )
        self.claim(namespace, claim, "gp3", age=age, volume=name)
        return {"name": claim, "persistentVolumeClaim": {"claimName": claim}}

    def claim(self, namespace: str, name: str, storage_class: str, *, age: str, volume: str = "") -> Object:
        """Add a PersistentVolumeClaim, bound if it has a volume."""
        bound = {"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"}
        self.namespace(namespace)
        return self.add(
            "PersistentVolumeClaim",
            name,
            namespace,
            age=age,
            annotations=bound if volume else {},
            spec={
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "200Gi"}},
                "storageClassName": storage_class,
                **({"volumeName": volume} if volume else {}),
            },
            status={"phase": "Bound" if volume else "Pending"},
        )

    # The whole

    def snapshot(self) -> Object:
        """Return the cluster as a snapshot document."""
        for made, pod in self._daemonsets:
            selector = pod["spec"].get("nodeSelector", {}).items()
            chosen = [pair for pair in self.nodes if pair.node and selector <= pair.node["metadata"]["labels"].items()]
            hosts = [pair for pair in chosen if made["metadata"]["name"] not in pair.without]
            for pair in hosts:
                meta = made["metadata"]
                ending = suffix(meta["name"], pair.name)
                age = self.age_after(pair)
                self.pod(meta["namespace"], f"{meta['name']}-{ending}", node=pair, parent=made, age=age, **pod)
            counts = ("currentNumberScheduled", "numberReady", "numberAvailable", "updatedNumberScheduled")
            made["status"] = {**dict.fromkeys(counts, len(hosts)), "desiredNumberScheduled": len(chosen)}
            made["status"] |= {"numberMisscheduled": 0, "observedGeneration": 2}
        self._daemonsets = []
        for pool in [one for one in self.objects if one["kind"] == "NodePool"]:
            name = pool["metadata"]["name"]
            hosts = [pair for pair in self.nodes if pair.claim and pair.claim_name.startswith(f"{name}-")]
            with_node = [pair.node for pair in hosts if pair.node]
            cpus = sum(int(one["status"]["capacity"]["cpu"]) for one in with_node)
            memory = sum(int(one["status"]["capacity"]["memory"][:-2]) for one in with_node)
            pool["status"]["resources"] = {"cpu": str(cpus), "memory": f"{memory}Ki", "nodes": str(len(with_node))}
            pool["status"]["nodes"] = len(with_node)
        return {
            "karptui": 1,
            "name": self.name,
            "capturedAt": self.now,
            "karpenterVersion": "1.15.0",
            "settings": {"CLUSTER_NAME": "orders-prod", "VM_MEMORY_OVERHEAD_PERCENT": "0.075", **self.settings},
            "disruption": True,
            **({"instanceTypes": [*self.instance_types]} if self.instance_types else {}),
            "objects": self.objects,
        }


def suffix(*words: object) -> str:
    """Return five characters as generated names end in."""
    return "".join(
        "bcdfghjklmnpqrstvwxz2456789"[int(digest(*words)[place : place + 2], 16) % 27] for place in range(0, 10, 2)
    )


def owned_by(made: Object, name: str) -> bool:
    """Return whether an object's controller has a name."""
    return any(one["name"] == name for one in made["metadata"].get("ownerReferences", ()))


def later(age: str, after: str) -> str:
    """Return an age less what passed after it, at least a second."""
    return f"{max(1, int((duration(age) - duration(after)).total_seconds()))}s"
