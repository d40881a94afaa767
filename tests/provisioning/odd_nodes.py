"""Oddities of Nodes and volumes: taints, labels, conditions, classes, claims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.provisioning.crossing import ZONE, Json
from tests.provisioning.odd import CAPACITY_TYPE, EBS_ZONE, HOSTNAME, INSTANCE_TYPE, Odd

_PROVISIONERS: Final = ("ebs.csi.aws.com", "kubernetes.io/aws-ebs", "efs.csi.aws.com", "kubernetes.io/no-provisioner")


def node_taints(o: Odd) -> None:
    node = o.some("Node")
    more: Sequence[Json] = (
        {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"},
        {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"},
        {"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"},
        {"key": "karpenter.sh/unregistered", "effect": "NoExecute"},
        {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"},
        {"key": "cni", "effect": "NoSchedule"}, {"key": "dedicated", "value": "x", "effect": "PreferNoSchedule"},
        {"key": "ebs.csi.aws.com/agent-not-ready", "effect": "NoExecute"},
        {"key": "tier", "value": "x", "effect": "NoSchedule"},
    )  # fmt: skip
    node["spec"]["taints"] = [*(node["spec"].get("taints") or ()), dict(o.r.choice(more))]
    if o.r.random() < 0.3:
        node["metadata"].get("labels", {}).pop("karpenter.sh/initialized", None)


def node_labels(o: Odd) -> None:
    labels = o.some(o.r.choice(("Node", "NodeClaim")))["metadata"].setdefault("labels", {})
    key = o.r.choice((CAPACITY_TYPE, ZONE, INSTANCE_TYPE, "example.com/team", "karpenter.sh/nodepool", HOSTNAME))
    if o.r.random() < 0.4:
        labels.pop(key, None)
    else:
        labels[key] = o.r.choice((*o.values(key), "unknown", "reserved"))


def claim_condition(o: Odd) -> None:
    conditions = o.some("NodeClaim").setdefault("status", {}).setdefault("conditions", [])
    kinds = ("Consolidatable", "Drifted", "Initialized", "Registered", "Launched", "ConsistentStateFound",
             "DisruptionReason", "InstanceTerminating", "VolumesDetached")  # fmt: skip
    kind = o.r.choice(kinds)
    conditions[:] = [condition for condition in conditions if condition["type"] != kind]
    conditions.append({"type": kind, "status": o.r.choice(("True", "True", "False", "Unknown")),
                       "reason": o.r.choice((kind, "NodePoolDrifted", "RequirementsDrifted")), "message": "",
                       "lastTransitionTime": o.r.choice(("2026-11-20T10:00:00Z", "2026-11-20T11:59:50Z"))})  # fmt: skip


def csi_node(o: Odd) -> None:
    name = o.some("Node")["metadata"].get("name", "")
    taken = {manifest["metadata"]["name"] for manifest in o.base["objects"] if manifest["kind"] == "CSINode"}
    if not name or name in taken:
        return
    drivers: list[Json] = [
        {"name": "ebs.csi.aws.com", "nodeID": "i", "topologyKeys": [], "allocatable": {"count": o.r.choice((0, 1, 2))}}
    ]
    if o.r.random() < 0.4:
        drivers.append({"name": "efs.csi.aws.com", "nodeID": "i"})
    document = o.add("storage.k8s.io/v1", "CSINode", name, spec={"drivers": drivers})
    document["metadata"]["name"] = name


def volume(o: Odd) -> None:
    pod = o.pod()
    if "namespace" not in pod["metadata"]:
        return
    kind = o.r.choice(("bound", "late", "now", "classless", "missing", "ephemeral", "foreign"))
    if kind == "ephemeral":
        spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": _storage_class(o, late=True)}
        source: Json = {"ephemeral": {"volumeClaimTemplate": {"spec": spec}}}
    else:
        source = {"persistentVolumeClaim": {"claimName": _claim(o, kind, pod["metadata"]["namespace"])}}
    volumes = [*(pod["spec"].get("volumes") or ())]
    pod["spec"]["volumes"] = [*volumes, {"name": f"v{len(volumes)}", **source}]
    if o.r.random() < 0.3:
        other = o.pod()
        if other["metadata"].get("namespace") == pod["metadata"]["namespace"]:
            other["spec"]["volumes"] = pod["spec"]["volumes"]


def _storage_class(o: Odd, *, late: bool) -> str:
    topologies = o.r.choice(
        (
            [],
            [{"matchLabelExpressions": [{"key": ZONE, "values": o.values(ZONE)[:1]}]}],
            [{"matchLabelExpressions": [{"key": ZONE, "values": [zone]}]} for zone in o.values(ZONE)[:2]],
            [{"matchLabelExpressions": [{"key": EBS_ZONE, "values": o.values(ZONE)[:2]}]}],
            [{"matchLabelExpressions": [{"key": "example.com/team", "values": ["red"]}]}],
        )
    )
    document = o.add(
        "storage.k8s.io/v1", "StorageClass", "class",
        provisioner=o.r.choice(_PROVISIONERS),
        volumeBindingMode="WaitForFirstConsumer" if late else "Immediate",
        allowedTopologies=topologies,
    )  # fmt: skip
    if o.r.random() < 0.2:
        document["metadata"]["annotations"] = {"storageclass.kubernetes.io/is-default-class": "true"}
    return str(document["metadata"]["name"])


def _claim(o: Odd, kind: str, namespace: str) -> str:
    if kind == "missing":
        return "no-such-claim"
    spec: Json = {"accessModes": [o.r.choice(("ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod"))]}
    if kind != "classless":
        spec["storageClassName"] = _storage_class(o, late=kind != "now")
    if kind in ("bound", "foreign"):
        node = o.some("Node")["metadata"].get("name", "gone")
        terms = o.r.choice(
            (
                [[{"key": ZONE, "operator": "In", "values": o.values(ZONE)[:1]}]],
                [[{"key": ZONE, "operator": "NotIn", "values": o.values(ZONE)[:1]}]],
                [[{"key": ZONE, "operator": "In", "values": [zone]}] for zone in o.values(ZONE)[:2]],
                [[{"key": HOSTNAME, "operator": "In", "values": [node]}]],
                [[{"key": EBS_ZONE, "operator": "In", "values": o.values(ZONE)[-1:]}]],
                [],
            )
        )
        source: Json = o.r.choice(
            (
                {"csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "v"}},
                {"csi": {"driver": "efs.csi.aws.com", "volumeHandle": "v"}},
                {"awsElasticBlockStore": {"volumeID": "v"}}, {"local": {"path": "/d"}},
                {"nfs": {"server": "s", "path": "/"}},
            )
        )  # fmt: skip
        volume = o.add("v1", "PersistentVolume", "pv", spec={"accessModes": spec["accessModes"], **source})
        if terms:
            selectors = [{"matchExpressions": term} for term in terms]
            volume["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": selectors}}
        spec["volumeName"] = volume["metadata"]["name"]
    place = namespace if kind != "foreign" else "elsewhere"
    phase = "Bound" if "volumeName" in spec else "Pending"
    annotations = {"pv.kubernetes.io/bind-completed": "yes"} if "volumeName" in spec else {}
    metadata = {"annotations": annotations} if annotations else {}
    result = o.add("v1", "PersistentVolumeClaim", "claim", place, spec=spec, status={"phase": phase}, metadata=metadata)
    return str(result["metadata"]["name"])


STEPS: Final = (
    node_taints, node_labels, claim_condition, csi_node, volume,
)  # fmt: skip
