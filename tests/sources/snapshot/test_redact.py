from __future__ import annotations

import json
import re
from importlib import resources
from typing import Any

import pytest

from karptui.decode.kinds import Kind
from karptui.sources.snapshot.reader import SnapshotReader
from karptui.sources.snapshot.redact import Redactor
from tests.builders import a_manifest

KEY = b"k"


def redacted(*objects: dict[str, Any], key: bytes = KEY) -> list[dict[str, Any]]:
    """Return objects with pseudonyms."""
    return Redactor(key).redact(objects)


POD = a_manifest(
    "Pod",
    "checkout-7f9-abc",
    namespace="shop",
    metadata={
        "labels": {"app": "checkout", "acme.example/team": "falcon", "pod-template-hash": "7f9"},
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "checkout-7f9"}],
    },
    spec={
        "nodeName": "ip-10-0-1-2.ec2.internal",
        "nodeSelector": {"acme.example/team": "falcon", "kubernetes.io/arch": "amd64", "karpenter.sh/nodepool": "fast"},
        "containers": [{"name": "checkout", "image": "123456789012.dkr.ecr.eu-west-1.amazonaws.com/checkout:1"}],
        "volumes": [{"name": "scratch", "ephemeral": {}}],
    },
)
NODE = a_manifest(
    "Node",
    "ip-10-0-1-2.ec2.internal",
    metadata={
        "labels": {
            "kubernetes.io/hostname": "ip-10-0-1-2.ec2.internal",
            "node.kubernetes.io/instance-type": "m5.large",
            "topology.kubernetes.io/zone": "us-east-1a",
            "karpenter.sh/nodepool": "fast",
        }
    },
    spec={
        "providerID": "aws:///us-east-1a/i-0123456789abcdef0",
        "taints": [{"key": "acme.example/team", "value": "falcon", "effect": "NoSchedule"}],
    },
    status={"addresses": [{"type": "InternalIP", "address": "10.0.1.2"}]},
)
CLAIM = a_manifest(
    "NodeClaim",
    "fast-x7k2p",
    api_version="karpenter.sh/v1",
    status={"providerID": "aws:///us-east-1a/i-0123456789abcdef0", "nodeName": "ip-10-0-1-2.ec2.internal"},
)
POOL = a_manifest(
    "NodePool",
    "fast",
    api_version="karpenter.sh/v1",
    spec={
        "template": {
            "spec": {
                "requirements": [
                    {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["m5.large"]},
                    {"key": "acme.example/team", "operator": "In", "values": ["falcon", "eagle"]},
                ]
            }
        }
    },
)
EVENT = a_manifest(
    "Event",
    "checkout.1",
    namespace="shop",
    involvedObject={"kind": "Pod", "namespace": "shop", "name": "checkout-7f9-abc"},
    message="Pod shop/checkout-7f9-abc waits for ip-10-0-1-2.ec2.internal (10.0.1.2); acme.example/team In [falcon]",
    reason="Nominated",
)
PVC = a_manifest("PersistentVolumeClaim", "checkout-7f9-abc-scratch", namespace="shop")
CLUSTER = (POD, NODE, CLAIM, POOL, EVENT, PVC)
SECRETS = (
    "checkout",
    "shop",
    "acme",
    "falcon",
    "eagle",
    "ip-10-0",
    "10.0.1.2",
    "i-0123",
    "123456789012",
    "fast",
    "ecr",
)


def test_nothing_that_identifies_is_left() -> None:
    objects = redacted(*CLUSTER)
    for one in objects:
        # The builder makes UIDs of names; real ones are random, and order things.
        del one["metadata"]["uid"]
    text = json.dumps(objects)
    assert [secret for secret in SECRETS if secret in text] == []


def test_references_still_meet() -> None:
    pod, node, claim, pool, event, pvc = redacted(*CLUSTER)
    name = node["metadata"]["name"]
    assert (
        name
        == pod["spec"]["nodeName"]
        == claim["status"]["nodeName"]
        == node["metadata"]["labels"]["kubernetes.io/hostname"]
    )
    assert node["spec"]["providerID"] == claim["status"]["providerID"]
    pool_name = pool["metadata"]["name"]
    assert pool_name == node["metadata"]["labels"]["karpenter.sh/nodepool"]
    assert pool_name == pod["spec"]["nodeSelector"]["karpenter.sh/nodepool"]
    key = next(key for key in pod["metadata"]["labels"] if key.endswith("/team"))
    value = pod["metadata"]["labels"][key]
    assert node["spec"]["taints"] == [{"key": key, "value": value, "effect": "NoSchedule"}]
    assert pod["spec"]["nodeSelector"][key] == value
    requirements = pool["spec"]["template"]["spec"]["requirements"]
    assert requirements[0]["values"] == ["m5.large"]
    assert requirements[1]["key"] == key
    assert requirements[1]["values"][0] == value
    namespace, pod_name = pod["metadata"]["namespace"], pod["metadata"]["name"]
    address = node["status"]["addresses"][0]["address"]
    assert event["message"] == f"Pod {namespace}/{pod_name} waits for {name} ({address}); {key} In [{value}]"
    assert event["involvedObject"] == {"kind": "Pod", "namespace": namespace, "name": pod_name}
    assert pvc["metadata"]["name"] == f"{pod_name}-scratch"


def test_what_decides_stays() -> None:
    pod, node, *_ = redacted(*CLUSTER)
    assert pod["metadata"]["uid"] == POD["metadata"]["uid"]
    assert pod["metadata"]["creationTimestamp"] == POD["metadata"]["creationTimestamp"]
    assert pod["spec"]["nodeSelector"]["kubernetes.io/arch"] == "amd64"
    assert node["metadata"]["labels"]["topology.kubernetes.io/zone"] == "us-east-1a"
    assert node["spec"]["providerID"].startswith("aws:///us-east-1a/i-")


def test_pseudonyms_are_the_same_each_time_and_others_with_another_key() -> None:
    assert redacted(*CLUSTER) == redacted(*CLUSTER)
    alone, together = redacted(POD)[0], redacted(*CLUSTER)[0]
    assert alone["metadata"]["name"] == together["metadata"]["name"]
    assert redacted(POD, key=b"other")[0]["metadata"]["name"] != alone["metadata"]["name"]


@pytest.mark.parametrize(
    ("kind", "version"), [("NodePool", "karpenter.sh/v1"), ("Node", "v1"), ("NodeClaim", "karpenter.sh/v1")]
)
def test_what_breaks_ties_by_name_keeps_its_order(kind: str, version: str) -> None:
    names = ["b", "default", "a", "c", *(f"n{number}" for number in range(12))]
    made = [
        one["metadata"]["name"] for one in redacted(*(a_manifest(kind, name, api_version=version) for name in names))
    ]
    assert [name for _, name in sorted(zip(names, made, strict=True))] == sorted(made)
    assert len(set(made)) == len(names)


def test_public_names_stay() -> None:
    (pod,) = redacted(
        a_manifest("Pod", "coredns", namespace="kube-system", spec={"schedulerName": "default-scheduler"})
    )
    assert pod["metadata"]["namespace"] == "kube-system"
    assert pod["spec"]["schedulerName"] == "default-scheduler"


def test_of_user_data_only_what_starts_the_kubelet_stays() -> None:
    user_data = "#!/bin/bash\nexport TOKEN=hunter2\n/etc/eks/bootstrap.sh x --use-max-pods=false\n  maxPods: 110\n"
    (one,) = redacted(
        a_manifest(
            "EC2NodeClass",
            "default",
            api_version="karpenter.k8s.aws/v1",
            spec={
                "userData": user_data,
                "role": "AcmeNodeRole",
                "subnetSelectorTerms": [
                    {"id": "subnet-0123456789abcdef0"},
                    {"tags": {"karpenter.sh/discovery": "acme"}},
                ],
            },
            status={"securityGroups": [{"id": "sg-0123456789abcdef0", "name": "acme-nodes"}]},
        )
    )
    text = json.dumps(one)
    assert not re.search(r"hunter2|[aA]cme|0123456789abcdef0", text)
    assert "maxPods: 110" in one["spec"]["userData"]
    assert re.fullmatch(r"subnet-[0-9a-f]{17}", one["spec"]["subnetSelectorTerms"][0]["id"])


def test_the_demo_redacted_is_still_a_cluster() -> None:
    path = resources.files("karptui.sources.demo").joinpath("recording.json.gz")
    snapshot = SnapshotReader().read([str(path)], keeps_manifests=True)
    objects = redacted(*snapshot.manifests.values())
    text = json.dumps(objects)
    own = {key.rpartition("/")[2] for kind, key in snapshot.manifests if kind in (Kind.POD, Kind.NODE, Kind.NODECLAIM)}
    assert not [name for name in own if name in text]
    assert not re.search(r"gitlab|postgres|company|ec2\.internal", text)
