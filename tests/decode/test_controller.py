from __future__ import annotations

from typing import Any

import pytest

from karptui.decode.controller import decode_controller


def deployment(container: dict[str, Any], **fields: Any) -> dict[str, Any]:
    metadata = {"name": "karpenter", "namespace": "kube-system", **fields}
    sidecar = {"name": "proxy", "image": "mesh/proxy:9.9.9", "env": [{"name": "RESERVED_ENIS", "value": "7"}]}
    return {"metadata": metadata, "spec": {"template": {"spec": {"containers": [sidecar, container]}}}}


def env(**values: Any) -> list[dict[str, Any]]:
    return [{"name": name, "value": value} for name, value in values.items()]


def test_settings_and_version_of_a_deployment() -> None:
    image = "public.ecr.aws/karpenter/controller:1.14.1@sha256:0c142050"
    container = {
        "name": "controller",
        "image": image,
        "env": env(VM_MEMORY_OVERHEAD_PERCENT="0.05", AWS_SECRET="hunter2"),
    }
    info = decode_controller(deployment(container), "Deployment")
    assert info.title == "Deployment kube-system/karpenter"
    assert info.version == "1.14.1"
    assert info.settings == {"VM_MEMORY_OVERHEAD_PERCENT": "0.05"}
    assert info.replicas is None
    assert decode_controller({"spec": {"replicas": 2}}, "Deployment").replicas == 2
    assert "hunter2" not in repr(info)
    assert (info.unknown, info.from_elsewhere, info.sentences) == ({}, (), ())


def test_values_from_other_objects_are_named_but_not_read() -> None:
    container = {
        "name": "controller",
        "env": [
            {"name": "CLUSTER_NAME", "valueFrom": {"configMapKeyRef": {"name": "names", "key": "cluster"}}},
            {"name": "RESERVED_ENIS", "valueFrom": {"secretKeyRef": {"name": "enis", "key": "n"}}},
            {"name": "PREFERENCE_POLICY", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels"}}},
            {"name": "FEATURE_GATES", "value": "$(GATES)"},
            {"name": "BATCH_IDLE_DURATION"},
            {"name": "VM_MEMORY_OVERHEAD_PERCENT", "value": "0.05"},
            {"name": "VM_MEMORY_OVERHEAD_PERCENT", "value": "0.06"},
            {"name": "ISOLATED_VPC", "value": 5},
            {"name": 5, "value": "x"},
        ],
        "envFrom": [{"configMapRef": {"name": "karpenter-settings"}}, {"secretRef": {"name": "more"}}, {"prefix": "X"}],
    }
    info = decode_controller(deployment(container), "Deployment")
    assert info.unknown == {
        "CLUSTER_NAME": "ConfigMap names",
        "RESERVED_ENIS": "Secret enis",
        "PREFERENCE_POLICY": "the pod's own fields",
        "FEATURE_GATES": "other variables ($(GATES))",
    }
    assert info.settings == {"BATCH_IDLE_DURATION": "", "VM_MEMORY_OVERHEAD_PERCENT": "0.06"}
    assert info.from_elsewhere == ("ConfigMap karpenter-settings", "Secret more")
    assert info.sentences[0] == "CLUSTER_NAME comes from ConfigMap names, which is not read"
    assert (
        info.sentences[-1] == "ConfigMap karpenter-settings, Secret more may hold further settings, which are not read"
    )


@pytest.mark.parametrize(("args", "settings"), [
    (["--vm-memory-overhead-percent=0.03"], {"VM_MEMORY_OVERHEAD_PERCENT": "0.03"}),
    (["-reserved-enis", "2"], {"RESERVED_ENIS": "2", "VM_MEMORY_OVERHEAD_PERCENT": "0.05"}),
    (["--log-level", "debug", "--isolated-vpc", "--batch-max-duration=5s"],
     {"ISOLATED_VPC": "true", "BATCH_MAX_DURATION": "5s", "VM_MEMORY_OVERHEAD_PERCENT": "0.05"}),
    (["run", "--reserved-enis=2"], {"VM_MEMORY_OVERHEAD_PERCENT": "0.05"}),
    (["--", "--reserved-enis=2"], {"VM_MEMORY_OVERHEAD_PERCENT": "0.05"}),
    (["--reserved-enis"], {"RESERVED_ENIS": "", "VM_MEMORY_OVERHEAD_PERCENT": "0.05"}),
    ([5, "--reserved-enis=2"], {"RESERVED_ENIS": "2", "VM_MEMORY_OVERHEAD_PERCENT": "0.05"}),
])  # fmt: skip
def test_flags_override_variables(args: list[Any], settings: dict[str, str]) -> None:
    container = {"name": "controller", "args": args, "env": env(VM_MEMORY_OVERHEAD_PERCENT="0.05")}
    assert decode_controller(deployment(container), "Deployment").settings == settings


@pytest.mark.parametrize(("labels", "version"), [
    ({"app.kubernetes.io/version": "1.12.0"}, "1.12.0"),
    ({"helm.sh/chart": "karpenter-1.11.0"}, "1.11.0"),
    ({"app.kubernetes.io/version": "latest"}, ""),
])  # fmt: skip
def test_the_version_comes_from_labels_if_the_image_has_none(labels: dict[str, str], version: str) -> None:
    info = decode_controller(deployment({"name": "controller", "image": "x:latest"}, labels=labels), "Deployment")
    assert info.version == version


@pytest.mark.parametrize("document", [
    {},
    {"metadata": 5, "spec": []},
    {"spec": {"template": {"spec": {"containers": [5, {"env": "x", "args": {}, "envFrom": 1}]}}}},
    {"spec": {"template": {"spec": {"containers": [{"env": [{"name": "RESERVED_ENIS", "valueFrom": 5}]}]}}}},
])  # fmt: skip
def test_other_shapes_are_ignored(document: dict[str, Any]) -> None:
    assert decode_controller(document, "Deployment").settings == {}
