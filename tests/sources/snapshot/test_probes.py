from __future__ import annotations

import json
from typing import Any, Final

import pytest

from karptui.aws.evidence import Evidence
from karptui.aws.region import Dated, FactPhase, FactStatus, RegionFacts
from karptui.karpenter.controller import ControllerInfo
from karptui.karpenter.metrics import ControllerMetrics, OfferingMetrics, OfferingName, PoolMetrics
from karptui.karpenter.repair_policies import RepairPolicy
from karptui.karpenter.settings import Settings
from karptui.kube.usage import LiveUsage, Sample, first_seen
from karptui.sources.snapshot.recording import build_recording
from karptui.sources.snapshot.redact import Redactor
from tests.builders import NOW_NS, a_manifest

KARPENTER, EC2, AKS = "karpenter.sh/v1", "karpenter.k8s.aws/v1", "karpenter.azure.com/v1beta1"
ZONE, TYPE = "topology.kubernetes.io/zone", "node.kubernetes.io/instance-type"
CONDITION: Final = {"type": "Ready", "status": "False", "lastTransitionTime": "2026-11-20T11:00:00Z"}


def node(name: str = "n1", **fields: Any) -> dict[str, Any]:
    return a_manifest("Node", name, **fields)


def labelled(key: str, value: str) -> dict[str, Any]:
    return node(metadata={"labels": {key: value}})


def pod(name: str = "p1", **fields: Any) -> dict[str, Any]:
    return a_manifest("Pod", name, namespace="default", **fields)


def event(message: str = "", *, reason: str = "FailedScheduling", **fields: Any) -> dict[str, Any]:
    about = {"kind": "Pod", "namespace": "default", "name": "p1"}
    return a_manifest(
        "Event", "e.1", namespace="default", involvedObject=about, message=message, reason=reason, **fields
    )


def nodeclass(*, status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return a_manifest("EC2NodeClass", "default", api_version=EC2, spec=spec, status=status or {})


def pool(**spec: Any) -> dict[str, Any]:
    return a_manifest("NodePool", "general", api_version=KARPENTER, spec=spec)


def selecting(**term: Any) -> dict[str, Any]:
    return pod(spec={"tolerations": [{"operator": "Exists", **term}]})


OBJECTS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "node name like an address": ("node-10-77-88-99", node("node-10-77-88-99")),
    "node name of words": ("spot-worker-nodes-1", node("spot-worker-nodes-1")),
    "node that is gone, in a message": ("node-10-77-88-99", event("evicted from node-10-77-88-99")),
    "provider id of AWS": ("0a1b2c3d4e5f60718", node(spec={"providerID": "aws:///eu-west-1a/i-0a1b2c3d4e5f60718"})),
    "provider id elsewhere": ("rg-payments", node(spec={"providerID": "azure:///subscriptions/7/rg-payments/vm/3"})),
    "provider id of unknown form": ("rack7-blade3", node(spec={"providerID": "metal3://rack7-blade3"})),
    "internal address": ("10.77.88.99", node(status={"addresses": [{"type": "InternalIP", "address": "10.77.88.99"}]})),
    "external address": ("52.19.7.3", node(status={"addresses": [{"type": "ExternalIP", "address": "52.19.7.3"}]})),
    "padded address": ("010.077.088.099",
                       node(status={"addresses": [{"type": "InternalIP", "address": "010.077.088.099"}]})),
    "address of IPv6": ("2001:db8:77::9",
                        node(status={"addresses": [{"type": "InternalIP", "address": "2001:db8:77::9"}]})),
    "range of addresses in a message": ("10.77.0.0-10.77.255.255", event("no address in 10.77.0.0-10.77.255.255")),
    "CIDR of pods": ("10.77.0.0/16", node(spec={"podCIDR": "10.77.0.0/16", "podCIDRs": ["10.77.0.0/16"]})),
    "CIDR in a label": ("10.77.0.0", labelled("acme.example/net", "10.77.0.0-16")),
    "host name": ("db-primary", node(status={"addresses": [{"type": "Hostname", "address": "db-primary"}]})),
    "account": ("998877665544", nodeclass(amiSelectorTerms=[{"owner": "998877665544", "name": "x"}])),
    "account with dashes": ("9988-7766-5544", nodeclass(tags={"billing": "9988-7766-5544"})),
    "account as a number": ("998877665544", labelled("acme.example/account", 998877665544)),  # type: ignore[arg-type]
    "ARN": ("eu-central-1:1", event("arn:aws:iam:eu-central-1:1:role/node is not authorized")),
    "AMI of one's own": ("0badc0ffee0badc0f", nodeclass(amiSelectorTerms=[{"id": "ami-0badc0ffee0badc0f"}])),
    "name of an AMI": ("golden-2023", nodeclass(status={"amis": [{"id": "ami-1", "name": "golden-2023"}]})),
    "subnet": ("0badc0ffee0badc0f", nodeclass(status={"subnets": [{"id": "subnet-0badc0ffee0badc0f"}]})),
    "security group": ("nodes-default",
                       nodeclass(status={"securityGroups": [{"id": "sg-1", "name": "nodes-default"}]})),
    "tag": ("core-network", nodeclass(subnetSelectorTerms=[{"tags": {"core-network": "true"}}])),
    "role": ("KarpenterNodeRole-prod", nodeclass(role="KarpenterNodeRole-prod")),
    "instance profile": ("node-profile", nodeclass(instanceProfile="node-profile")),
    "SSM parameter": ("/service/node/ami", nodeclass(amiSelectorTerms=[{"ssmParameter": "/service/node/ami"}])),
    "KMS key": ("key/1b2c", nodeclass(blockDeviceMappings=[{"ebs": {"kmsKeyID": "arn:aws:kms:x:1:key/1b2c"}}])),
    "user data": ("hunter2", nodeclass(userData="kubelet --node-labels=a=hunter2 --max-pods=20")),
    "account in user data": ("998877665544", nodeclass(userData="kubelet: 998877665544.dkr.ecr")),
    "registry": ("registry.default", pod(spec={"containers": [{"name": "c", "image": "registry.default:5000/app"}]})),
    "e-mail": ("ada@example.com", pod(metadata={"annotations": {"karpenter.sh/owner": "ada@example.com"}})),
    "annotation of words": ("node pool owner",
                            pod(metadata={"annotations": {"karpenter.sh/do-not-disrupt": "node pool owner"}})),
    "label key": ("node-owner", labelled("node-owner", "true")),
    "label domain under a public one": ("acme-prod", labelled("acme-prod.kubernetes.io/x", "true")),
    "label value": ("production-eu", labelled("app", "production-eu")),
    "manager of fields": ("ada-laptop", pod(metadata={"managedFields": [{"manager": "ada-laptop"}]})),
    "namespace": ("node-system", a_manifest("Pod", "p", namespace="node-system")),
    "zone of one's own": ("eu-onprem-1a", labelled(ZONE, "eu-onprem-1a")),
    "region of one's own": ("de-fra-7", labelled("topology.kubernetes.io/region", "de-fra-7")),
    "type of one's own": ("c7.dell-r740", labelled(TYPE, "c7.dell-r740")),
    "zone in a NodePool": ("fr-paris-1a",
                           pool(template={"spec": {"requirements": [{"key": ZONE, "operator": "In",
                                                                     "values": ["fr-paris-1a"]}]}})),
    "NodeClass of another kind": ("AcmeNodeClass",
                                  a_manifest("AcmeNodeClass", "x", api_version="karpenter.acme.example/v1")),
    "spec of another NodeClass": ("vnet-payments",
                                  a_manifest("AKSNodeClass", "x", api_version=AKS,
                                             spec={"vnetSubnetID": "vnet-payments"})),
    "reference to another NodeClass": (
        "AcmeNodeClass",
        pool(template={"spec": {"nodeClassRef": {"group": "acme.example", "kind": "AcmeNodeClass", "name": "x"}}}),
    ),
    "scheduler": ("gang-scheduler", pod(spec={"schedulerName": "gang-scheduler"})),
    "priority class": ("database-critical", pod(spec={"priorityClassName": "database-critical"})),
    "storage class": ("fast-retain",
                      a_manifest("PersistentVolumeClaim", "c", namespace="default",
                                 spec={"storageClassName": "fast-retain"})),
    "volume handle": ("fs-payments",
                      a_manifest("PersistentVolume", "v",
                                 spec={"csi": {"driver": "x", "volumeHandle": "fs-payments"}})),
    "CSI driver": ("csi.netapp", a_manifest("CSINode", "n", spec={"drivers": [{"name": "csi.netapp", "nodeID": "n"}]})),
    "taint": ("batch-owner", node(spec={"taints": [{"key": "batch-owner", "value": "x", "effect": "NoSchedule"}]})),
    "toleration": ("batch-owner", selecting(key="team", value="batch-owner")),
    "topology key": ("rack", pod(spec={"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "rack"}]})),
    "extended resource": ("acme-fpga",
                          pod(spec={"containers": [{"name": "c", "resources": {"requests": {"acme-fpga": "1"}}}]})),
    "message of a condition": ("core switch",
                               node(status={"conditions": [{**CONDITION, "message": "the core switch is down"}]})),
    "reason": ("PaymentsFrozen", node(status={"conditions": [{**CONDITION, "reason": "PaymentsFrozen"}]})),
    "type of a condition": ("RackPowered", node(status={"conditions": [{**CONDITION, "type": "RackPowered"}]})),
    "host of an event": ("host-7", event(source={"component": "kubelet", "host": "host-7"})),
    "component of an event": ("acme-operator", event(reportingComponent="acme-operator")),
    "field that nobody reads": ("secret-1", pool(**{"x-acme": "secret-1", "limits": {"cpu": "1"}})),
    "webhook": ("policy.default",
                event('admission webhook "policy.default" denied the request: x', reason="FailedCreate")),
    "quota": ("compute-default", event("exceeded quota: compute-default, requested: cpu=1", reason="FailedCreate")),
    "operating system": ("NodeOS-Acme", node(status={"nodeInfo": {"osImage": "NodeOS-Acme 1.2"}})),
    "version of the kubelet": ("acme", node(status={"nodeInfo": {"kubeletVersion": "v1.34.1-acme.3"}})),
    "device": ("sdb-default", nodeclass(blockDeviceMappings=[{"deviceName": "/dev/sdb-default"}])),
    "owner's kind": ("DatabaseCluster",
                     pod(metadata={"ownerReferences": [{"apiVersion": "db.example/v1", "kind": "DatabaseCluster",
                                                        "name": "x"}]})),
    "gate of a pod": ("wait-for-dba", pod(spec={"schedulingGates": [{"name": "wait-for-dba"}]})),
}  # fmt: skip
"""The secret text, and an object that contains it."""
KEPT: Final = {
    "zone of AWS": ("eu-west-1a", labelled(ZONE, "eu-west-1a")),
    "type of AWS": ("m6a.large", labelled(TYPE, "m6a.large")),
    "namespace of every cluster": ("kube-system", a_manifest("Pod", "p", namespace="kube-system")),
    "code of EC2": ("InsufficientFreeAddressesInSubnet",
                    event("with fleet error(s), InsufficientFreeAddressesInSubnet: x",
                          reason="InsufficientCapacityError")),
    "reason of Karpenter": ("AwaitingReconciliation",
                            node(status={"conditions": [{**CONDITION, "reason": "AwaitingReconciliation"}]})),
}  # fmt: skip
"""Text that redaction keeps according to docs/snapshots.md, and an object that contains it."""
STATUS: Final = FactStatus(phase=FactPhase.UNAVAILABLE, sentence="acme-secret refuses")
EVIDENCE: Final = Evidence(
    settings=Settings(
        environment={"CLUSTER_NAME": "acme-secret", "FEATURE_GATES": "AcmeSecret=true,NodeRepair=true"},
        repair_policies=(
            RepairPolicy(condition_type="AcmeSecret", condition_status="True", reason_regex="Acme.*", toleration_ns=1),
        ),
        reboot_history={"acme-secret": (NOW_NS,)},
    ),
    setting_origins={"CLUSTER_NAME": "Deployment acme-secret/karpenter", "FEATURE_GATES": "Secret acme-secret"},
    stated_version="1.15.0-acme-secret",
    controller=ControllerInfo(
        title="Deployment acme-secret/karpenter",
        version="1.15.0-acme-secret",
        unknown={"RESERVED_ENIS": "Secret acme-secret"},
        from_elsewhere=("ConfigMap acme-secret",),
        replicas=2,
        doubt="acme-secret",
    ),
    controller_status=STATUS,
    metrics_status=STATUS,
    others_labelled=("Deployment acme-secret/karpenter",),
    facts=RegionFacts(region="eu-west-1", on_demand=Dated({"m5.large": 0.1}, NOW_NS)),
    metrics=ControllerMetrics(
        read_at_ns=NOW_NS,
        endpoint="pod acme-secret/karpenter",
        version="1.15.0-acme-secret",
        pools={"acme-secret": PoolMetrics(nodeclaims_terminated=1)},
        pods_by_pool={"acme-secret": 3},
        offerings={OfferingName("acme-secret", "acme-secret-1a", "spot"): OfferingMetrics(0.1, is_available=True)},
    ),
)


def redacted(*objects: dict[str, Any], **more: Any) -> str:
    """Return a redacted recording as text, without the UIDs that the builder derives from names."""
    for manifest in objects:
        manifest["metadata"].pop("uid", None)
    return json.dumps(build_recording(objects, name="x", captured_at_ns=NOW_NS, redactor=Redactor(b"k"), **more))


@pytest.mark.parametrize("probe", OBJECTS)
def test_redaction_removes_every_secret(probe: str) -> None:
    secret, manifest = OBJECTS[probe]
    assert secret in json.dumps(manifest)
    assert secret not in redacted(manifest)


@pytest.mark.parametrize("probe", KEPT)
def test_public_words_are_kept(probe: str) -> None:
    value, manifest = KEPT[probe]
    assert value in redacted(manifest)


def test_redaction_removes_names_from_the_evidence_too() -> None:
    used = {"acme-secret": first_seen(Sample(NOW_NS, 1, 1))}
    usage = LiveUsage(nodes=used, pods={"acme-secret/acme-secret": used["acme-secret"]}, read_at_ns=NOW_NS)
    plain = json.dumps(build_recording([], name="x", captured_at_ns=NOW_NS, evidence=EVIDENCE, live_usage=usage))
    assert plain.lower().count("acme") > 20
    text = redacted(evidence=EVIDENCE, live_usage=usage, unread={"AcmeSecret", "Pod"})
    assert "acme" not in text.lower()
    assert '"m5.large": 0.1' in text
    assert '"replicas": 2' in text
    assert "NodeRepair=true" in text
    assert '"unread": ["Pod"]' in text
