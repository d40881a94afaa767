from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from karptui.decode.kinds import Kind
from karptui.sources.demo.source import load
from karptui.sources.snapshot.scrub import scrub
from tests.builders import a_manifest, decoded, present

SECRET = "hunter2"
CONTAINER = {
    "name": "web",
    "image": "web:1",
    "restartPolicy": "Always",
    "resources": {"requests": {"cpu": "1"}},
    "ports": [{"hostPort": 80}],
    "env": [{"name": "PASSWORD", "value": SECRET}],
    "envFrom": [{"secretRef": {"name": SECRET}}],
    "command": ["sh", "-c", SECRET],
    "args": [SECRET],
    "lifecycle": {"preStop": {"exec": {"command": [SECRET]}}},
    "livenessProbe": {"httpGet": {"httpHeaders": [{"name": "x", "value": SECRET}]}},
    "volumeMounts": [{"name": SECRET}],
}
KEPT_CONTAINER = {key: CONTAINER[key] for key in ("name", "image", "resources", "ports", "restartPolicy")}
POD_SPEC = {
    "nodeName": "node-1",
    "priority": 5,
    "tolerations": [{"operator": "Exists"}],
    "containers": [CONTAINER],
    "initContainers": [CONTAINER],
    "ephemeralContainers": [CONTAINER],
    "imagePullSecrets": [{"name": SECRET}],
    "volumes": [{"name": "s", "secret": {"secretName": SECRET}}, {"name": "h", "hostPath": {"path": SECRET}},
                {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
                {"name": "tmp", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "gp3"}}}}],
}  # fmt: skip
POD = a_manifest(
    "Pod",
    "web-1",
    namespace="default",
    metadata={
        "managedFields": [{"manager": SECRET}],
        "labels": {"app": "web"},
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": SECRET, "vault.hashicorp.com/token": SECRET,
                        "plain": SECRET, "karpenter.sh/do-not-disrupt": "true",
                        "controller.kubernetes.io/pod-deletion-cost": "5"},
    },
    spec=POD_SPEC,
    status={
        "phase": "Running",
        "hostIP": SECRET,
        "message": SECRET,
        "conditions": [{"type": "Ready", "status": "True"}],
        "containerStatuses": [{"name": "web",
                               "state": {"terminated": {"reason": "Error", "message": SECRET, "exitCode": 1}},
                               "lastState": {"terminated": {"message": SECRET}},
                               "resources": {"requests": {"cpu": "1"}}, "env": SECRET}, {"name": "other"}],
    },
)  # fmt: skip


def scrubbed(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the recorded part of an object."""
    return present(scrub(manifest))


@pytest.mark.parametrize("manifest", [
    a_manifest("Secret", "x", data={"password": SECRET}),
    a_manifest("ConfigMap", "x", data={"password": SECRET}),
    a_manifest("Lease", "x", api_version="coordination.k8s.io/v1"),
    {"kind": "Pod"},
    {"apiVersion": "v1"},
])  # fmt: skip
def test_unread_kinds_and_incomplete_objects_are_not_recorded(manifest: dict[str, Any]) -> None:
    assert scrub(manifest) is None


def test_a_pod_keeps_the_messages_of_kubelet_and_runtime() -> None:
    states = [
        {"name": "a", "started": False, "state": {"waiting": {"reason": "ImagePullBackOff", "message": "i/o timeout"}}},
        {"name": "b", "lastState": {"terminated": {"reason": "StartError", "message": "exec: not found"}}},
    ]
    status = {"phase": "Failed", "reason": "Evicted", "message": "low on memory", "containerStatuses": states}
    assert scrubbed({**POD, "status": status})["status"] == status


def test_a_pod_keeps_the_fields_that_are_read() -> None:
    kept = scrubbed(POD)
    assert SECRET not in json.dumps(kept)
    assert kept["metadata"]["annotations"] == {
        "karpenter.sh/do-not-disrupt": "true",
        "controller.kubernetes.io/pod-deletion-cost": "5",
    }
    assert kept["spec"]["containers"] == kept["spec"]["initContainers"] == [KEPT_CONTAINER]
    assert [volume["name"] for volume in kept["spec"]["volumes"]] == ["data", "tmp"]
    assert kept["status"]["containerStatuses"][0]["state"] == {"terminated": {"reason": "Error", "exitCode": 1}}
    before, after = decoded(POD), decoded(kept)
    for field in (
        "key",
        "labels",
        "annotations",
        "requests",
        "node_name",
        "phase",
        "ready",
        "volumes",
        "waiting_reason",
    ):
        assert getattr(before, field) == getattr(after, field), field
    assert before.template is after.template


TEMPLATE = {"metadata": {"labels": {"app": "web"}, "annotations": {"x": SECRET}}, "spec": POD_SPEC}


@pytest.mark.parametrize("manifest", [
    a_manifest("DaemonSet", "x", api_version="apps/v1", spec={"template": TEMPLATE, "selector": {}}),
    a_manifest("Deployment", "x", api_version="apps/v1", spec={"replicas": 3, "template": TEMPLATE}),
    a_manifest("Job", "x", api_version="batch/v1", spec={"template": TEMPLATE}),
    a_manifest("CronJob", "x", api_version="batch/v1", spec={"jobTemplate": {"spec": {"template": TEMPLATE}}}),
    a_manifest("PodTemplate", "x", template=TEMPLATE),
])  # fmt: skip
def test_templates_are_scrubbed_like_pods(manifest: dict[str, Any]) -> None:
    kept = scrubbed(manifest)
    assert SECRET not in json.dumps(kept)
    assert KEPT_CONTAINER in _containers(kept)
    decoded(kept)


def _containers(value: Any) -> list[Any]:
    if isinstance(value, dict):
        result: list[Any] = value.get("containers", [])
        return result + [container for part in value.values() for container in _containers(part)]
    return [container for part in value for container in _containers(part)] if isinstance(value, list) else []


@pytest.mark.parametrize(("manifest", "kind"), [
    (a_manifest("ReplicaSet", "x", api_version="apps/v1"), Kind.REPLICASET),
    (a_manifest("Node", "x", spec={"providerID": "a"}, status={"capacity": {"cpu": "1"}, "images": [SECRET]}),
     Kind.NODE),
    (a_manifest("Service", "x", spec={"selector": {"a": "b"}, "externalName": SECRET}), Kind.SERVICE),
    (a_manifest("StorageClass", "x", api_version="storage.k8s.io/v1", provisioner="ebs.csi.aws.com",
                parameters={"k": SECRET}), Kind.STORAGE_CLASS),
    (a_manifest("PersistentVolume", "x",
                spec={"csi": {"driver": "ebs.csi.aws.com", "volumeHandle": SECRET,
                              "nodeStageSecretRef": {"name": SECRET}}, "storageClassName": "gp3"}), Kind.PV),
    (a_manifest("NodePool", "x", api_version="karpenter.sh/v1", spec={"weight": 5}), Kind.NODEPOOL),
    (a_manifest("Namespace", "x", spec={"finalizers": ["kubernetes"]}), Kind.NAMESPACE),
])  # fmt: skip
def test_other_kinds_keep_the_fields_that_are_read(manifest: dict[str, Any], kind: Kind) -> None:
    kept = scrubbed(manifest)
    assert SECRET not in json.dumps(kept)
    if kind is not Kind.NODEPOOL:
        assert decoded(kept, kind) == decoded(manifest, kind)


@pytest.mark.parametrize("broken", [5, "x", [], None])
def test_malformed_objects_are_scrubbed_without_an_error(broken: Any) -> None:
    assert scrub({"apiVersion": "v1", "kind": "Pod", "metadata": broken, "spec": broken, "status": broken}) is not None
    assert scrub({"apiVersion": "apps/v1", "kind": "DaemonSet", "spec": {"template": broken}}) is not None
    assert scrub({"apiVersion": "v1", "kind": "PersistentVolume", "spec": {"csi": broken}}) is not None


def test_objects_with_undecoded_fields_are_scrubbed_equally() -> None:
    decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
    for manifest in [POD, *load(0)]:
        text = msgspec.json.encode(manifest)
        head = {"apiVersion": manifest["apiVersion"], "kind": manifest["kind"]}
        assert msgspec.json.decode(msgspec.json.encode(scrub({**decode(text), **head}))) == scrub(manifest)
