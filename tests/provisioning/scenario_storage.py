"""Volumes, NodeOverlays and CapacityBuffers of the seeded snapshots."""

from __future__ import annotations

from tests.provisioning.scenarios import AWS, CAPACITY_TYPE, HOSTNAME, ZONE, ZONES, Json, Scenario, req


def make_storage(s: Scenario) -> None:
    topologies = [
        {
            "matchLabelExpressions": [
                {"key": s.pick(ZONE, "topology.ebs.csi.aws.com/zone"), "values": s.r.sample(ZONES, s.pick(1, 2))}
            ]
        }
        for _ in range(s.pick(0, 0, 1, 2))
    ]
    s.add("storage.k8s.io/v1", "StorageClass", s.meta("late"),
          provisioner=s.pick("ebs.csi.aws.com", "kubernetes.io/aws-ebs"), volumeBindingMode="WaitForFirstConsumer",
          allowedTopologies=topologies)  # fmt: skip
    s.add(
        "storage.k8s.io/v1", "StorageClass", s.meta("now"), provisioner="ebs.csi.aws.com", volumeBindingMode="Immediate"
    )
    for i in range(7):
        if s.chance(0.5):
            make_claim(s, i)


def make_claim(s: Scenario, i: int) -> None:
    bound = s.chance(0.6)
    annotations = {"pv.kubernetes.io/bind-completed": "yes"} if bound and s.chance(0.95) else {}
    metadata = s.meta(f"claim-{i}", s.pick("default", "default", "shop", "ops"), annotations=annotations)
    if s.chance(0.03):
        metadata |= {"deletionTimestamp": "2026-11-20T11:59:30Z", "finalizers": ["kubernetes.io/pvc-protection"]}
    spec: Json = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": s.pick("late", "late", "late", "now", "missing", ""),
    }
    if bound:
        spec["volumeName"] = f"pv-{i}"
    s.add("v1", "PersistentVolumeClaim", metadata, spec=spec,
          status={"phase": "Lost" if s.chance(0.03) else "Bound" if bound else "Pending"})  # fmt: skip
    if bound and s.chance(0.95):
        make_volume(s, i)


def make_volume(s: Scenario, i: int) -> None:
    keys = [ZONE, ZONE, "topology.ebs.csi.aws.com/zone", HOSTNAME]
    terms = []
    for _ in range(s.pick(0, 1, 1, 2)):
        key = s.pick(*keys)
        values = ["node-0"] if key == HOSTNAME else s.r.sample(ZONES, s.pick(1, 1, 2))
        terms.append({"matchExpressions": [req(key, "In", *values)]})
    source = s.pick({"csi": {"driver": "ebs.csi.aws.com", "volumeHandle": f"v{i}"}}, {"local": {"path": "/d"}},
                    {"hostPath": {"path": "/d"}}, {"awsElasticBlockStore": {"volumeID": f"v{i}"}})  # fmt: skip
    spec: Json = {"accessModes": ["ReadWriteOnce"], **source}
    if terms:
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    s.add("v1", "PersistentVolume", s.meta(f"pv-{i}"), spec=spec)


def make_overlays(s: Scenario) -> None:
    if "NodeOverlay=true" not in s.settings.get("FEATURE_GATES", ""):
        return
    for i in range(s.pick(1, 2, 3)):
        requirement = s.pick(
            req(f"{AWS}/instance-family", "In", "f1", "f2"),
            req(CAPACITY_TYPE, "In", "spot"),
            req("karpenter.sh/nodepool", "In", "pool-0"),
            req(f"{AWS}/instance-cpu", "Gt", "2"),
        )
        spec: Json = {"requirements": [requirement], "weight": s.pick(1, 1, 10)}
        spec |= s.pick(
            {"price": "0.01"},
            {"priceAdjustment": "-50%"},
            {"priceAdjustment": "+0.1"},
            {"capacity": {"example.com/widget": "2"}},
            {"capacity": {"nvidia.com/gpu": "3"}, "price": "1.5"},
        )
        s.add("karpenter.sh/v1alpha1", "NodeOverlay", s.meta(f"overlay-{i}"), spec=spec)


def make_buffers(s: Scenario) -> None:
    if "CapacityBuffer=true" not in s.settings.get("FEATURE_GATES", ""):
        return
    container = {
        "name": "pause",
        "image": "i",
        "resources": {"requests": {"cpu": s.pick("100m", "1"), "memory": "256Mi"}},
    }
    s.add("v1", "PodTemplate", s.meta("spare", "default"),
          template={"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [container]}})  # fmt: skip
    s.add("autoscaling.x-k8s.io/v1beta1", "CapacityBuffer", s.meta("spare", "default"),
          spec={"podTemplateRef": {"name": "spare"}, "replicas": 2},
          status={"replicas": s.pick(1, 3), "podTemplateRef": {"name": "spare"},
                  "conditions": [{"type": "ReadyForProvisioning", "status": "True", "reason": "r",
                                  "lastTransitionTime": "2026-11-20T09:00:00Z"}]})  # fmt: skip
