from __future__ import annotations

from typing import Any

import pytest

from karptui.decode.errors import DecodeError
from karptui.decode.kinds import WORKLOAD_API_VERSIONS, Kind, kind_of
from karptui.decode.reader import KindReader
from karptui.karpenter.nodeclass import NodeClassRef
from karptui.karpenter.nodepool import DisruptionBudget
from karptui.kube.objects import Condition, OwnerReference
from karptui.kube.selectors import LabelSelector, NodeSelectorRequirement
from karptui.kube.taints import Taint
from karptui.kube.workload import JobPods, Workload

from .samples import CREATED_NS, HOUR_NS, KINDS, READ_SELECTOR, SAMPLES, SECOND_NS, amounts, sample, text


def decoded(kind: Kind, changes: dict[str, Any] | None = None) -> Any:
    return KindReader(kind).convert(sample(kind) | (changes or {}))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not Kind.POD])
def test_metadata_of_an_object(kind: Kind) -> None:
    item = decoded(kind)
    meta = SAMPLES[kind]["metadata"]
    assert (item.name, item.namespace, item.uid) == (meta["name"], meta.get("namespace", ""), meta["uid"])
    assert (item.labels, item.annotations) == ({"app": "web"}, {"team": "a"})
    assert item.owners == (OwnerReference("apps/v1", "ReplicaSet", "web-1", "uid-rs", controller=True),)
    assert (item.generation, item.created_ns, item.deletion_ns) == (3, CREATED_NS, 0)


@pytest.mark.parametrize("kind", KINDS)
def test_an_object_with_only_a_name(kind: Kind) -> None:
    item = KindReader(kind).convert({"metadata": {"name": "x"}})
    # Pods are distinguished by uid, so one without uid gets its key instead.
    assert (item.name, item.uid, item.created_ns) == ("x", "default/x" if kind is Kind.POD else "", 0)


@pytest.mark.parametrize("kind", KINDS)
def test_an_object_needs_a_name(kind: Kind) -> None:
    nameless: list[dict[str, Any]] = [{}, {"metadata": {}}, {"metadata": {"name": None}}, {"metadata": {"name": ""}}]
    for raw in nameless:
        with pytest.raises(DecodeError) as caught:
            KindReader(kind).convert(raw)
        assert str(caught.value) == f"{kind} (without a name): metadata.name: is missing"


def test_node() -> None:
    node = decoded(Kind.NODE)
    assert (node.provider_id, node.is_unschedulable) == ("aws:///us-east-1a/i-1", True)
    assert node.taints == (Taint("team", "NoSchedule", "a"),)
    assert amounts(node.capacity) == {"cpu": "4", "memory": "16Gi", "pods": "58"}
    assert amounts(node.allocatable) == {"cpu": "3920m"}
    assert node.ready == Condition("Ready", "True", "KubeletReady", "ok", CREATED_NS)
    assert (node.kubelet_version, node.os_image, node.architecture) == ("v1.33.0", "Amazon Linux", "arm64")
    assert node.internal_ip == "10.0.0.1"


def test_nodepool() -> None:
    pool = decoded(Kind.NODEPOOL)
    assert (pool.weight, pool.replicas, pool.is_static, pool.is_ready) == (10, 2, True, True)
    assert amounts(pool.limits) == {"cpu": "1k", "nodes": "5"}
    assert pool.node_class_ref == NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default")
    assert (pool.template_labels, pool.template_annotations) == ({"team": "a"}, {"note": "x"})
    assert pool.requirements == (NodeSelectorRequirement("karpenter.sh/capacity-type", "In", ("spot",), 2),)
    assert (pool.taints, pool.startup_taints) == ((Taint("team", "NoSchedule", "a"),), (Taint("boot", "NoExecute"),))
    assert (pool.expire_after_ns, pool.termination_grace_period_ns) == (720 * HOUR_NS, 24 * HOUR_NS)
    assert (pool.consolidation_policy, pool.consolidate_after_ns) == ("WhenEmpty", 30 * SECOND_NS)
    assert pool.budgets == (
        DisruptionBudget("10%", "0 9 * * *", "8h", ("Drifted",)),
        DisruptionBudget("1"),
        DisruptionBudget("", reasons=()),
    )
    assert amounts(pool.status_resources) == {"cpu": "12"}
    assert pool.raw["spec"]["weight"] == 10


def test_the_group_of_a_v1beta1_nodeclass_comes_from_its_api_version() -> None:
    ref = {"apiVersion": "karpenter.k8s.aws/v1beta1", "kind": "EC2NodeClass", "name": "default"}
    pool = decoded(Kind.NODEPOOL, {"spec": {"template": {"spec": {"nodeClassRef": ref}}}})
    assert pool.node_class_ref == NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default")


def test_nodepool_distinguishes_absent_never_and_empty() -> None:
    spec = {"disruption": {"consolidateAfter": "Never", "budgets": []}, "template": {"spec": {"expireAfter": "Never"}}}
    pool = decoded(Kind.NODEPOOL, {"spec": spec})
    assert (pool.consolidate_after_ns, pool.expire_after_ns, pool.budgets) == (None, None, ())
    assert (pool.limits, pool.consolidation_policy) == (None, "WhenEmptyOrUnderutilized")
    assert decoded(Kind.NODEPOOL, {"spec": {}}).budgets is None


def test_nodeclaim() -> None:
    claim = decoded(Kind.NODECLAIM)
    assert claim.requirements == (NodeSelectorRequirement("karpenter.sh/capacity-type", "In", ("spot",), 2),)
    assert amounts(claim.requests) == {"cpu": "3"}
    assert (claim.expire_after_ns, claim.termination_grace_period_ns) == (720 * HOUR_NS, 24 * HOUR_NS)
    assert (claim.node_name, claim.provider_id, claim.image_id) == ("node-1", "aws:///us-east-1a/i-1", "ami-1")
    assert (amounts(claim.capacity), amounts(claim.allocatable)) == ({"cpu": "4"}, {"cpu": "3920m"})
    assert (claim.is_true("Launched"), claim.is_true("Drifted"), claim.is_true("Registered")) == (True, False, False)
    assert claim.condition("Drifted").status == "False"
    assert claim.last_pod_event_ns == CREATED_NS


def test_nodeclass_of_any_provider() -> None:
    nodeclass = decoded(Kind.NODECLASS)
    assert (nodeclass.group, nodeclass.version, nodeclass.kind) == ("karpenter.k8s.aws", "v1", "EC2NodeClass")
    assert nodeclass.spec == {"amiFamily": "AL2023", "tags": {"a": None}}
    assert nodeclass.status["amis"] == []
    assert nodeclass.is_ready
    bare = {"metadata": {"name": "x"}}
    item = KindReader(Kind.NODECLASS, api_version="karpenter.azure.com/v1beta1", api_kind="AKSNodeClass").convert(bare)
    assert (item.group, item.version, item.kind) == ("karpenter.azure.com", "v1beta1", "AKSNodeClass")
    assert not item.is_ready


@pytest.mark.parametrize("kind", sorted(WORKLOAD_API_VERSIONS))
def test_workloads_know_their_api_version_and_kind(kind: Kind) -> None:
    item: Workload = decoded(kind)
    assert (item.api_version, item.kind, item.replicas) == (WORKLOAD_API_VERSIONS[kind], kind, 3)
    assert item.selector == READ_SELECTOR
    assert item.template is not None
    assert item.template.labels == {"app": "web"}
    assert [volume.name for volume in item.volumes] == ["data", "scratch"]
    named = decoded(kind, {"apiVersion": "apps/v2", "kind": "Other"})
    assert (named.api_version, named.kind) == ("apps/v2", "Other")


def test_replication_controllers_select_by_a_plain_map() -> None:
    item = decoded(Kind.REPLICATION_CONTROLLER)
    assert (item.api_version, item.kind) == ("v1", "ReplicationController")
    assert item.selector == LabelSelector((("a", "1"), ("b", "2")))


def test_workload_with_only_metadata() -> None:
    item = decoded(Kind.REPLICASET, {"spec": None})
    assert (item.template, item.volumes, item.selector, item.replicas) == (None, (), None, None)


@pytest.mark.parametrize(("spec", "status", "pods"), [
    ({}, {}, JobPods(1, start_ns=CREATED_NS)),
    ({"parallelism": 6, "completions": 8}, {"active": 2}, JobPods(6, active=2, start_ns=CREATED_NS)),
    ({"parallelism": 6, "completions": 8}, {"succeeded": 5, "failed": 1}, JobPods(3, ended=6, start_ns=CREATED_NS)),
    ({"parallelism": 6, "completions": None}, {"succeeded": 1}, JobPods(0, ended=1, start_ns=CREATED_NS)),
    ({"parallelism": 6, "completions": None}, {}, JobPods(6, start_ns=CREATED_NS)),
    ({}, {"conditions": [{"type": "FailureTarget", "status": "True"}]}, JobPods(0, start_ns=CREATED_NS)),
    ({"suspend": True}, {}, JobPods(0, start_ns=CREATED_NS)),
    ({}, {"terminating": 1}, JobPods(0, start_ns=CREATED_NS)),
    ({"completions": 4, "backoffLimitPerIndex": 0}, {"failedIndexes": "0-3"}, JobPods(0, start_ns=CREATED_NS)),
    ({"managedBy": "kueue.x-k8s.io/multikueue"}, {}, JobPods(0, start_ns=CREATED_NS)),
    ({"managedBy": "kubernetes.io/job-controller"}, {}, JobPods(1, start_ns=CREATED_NS)),
])  # fmt: skip
def test_pods_of_a_job(spec: dict[str, Any], status: dict[str, Any], pods: JobPods) -> None:
    started = {"startTime": SAMPLES[Kind.JOB]["metadata"]["creationTimestamp"], **status}
    item = decoded(Kind.JOB, {"spec": {"completions": 1, **spec}, "status": started})
    assert (item.job, item.observed_generation) == (pods, None)


@pytest.mark.parametrize(("kind", "status", "observed"), [
    (Kind.DEPLOYMENT, {"observedGeneration": 2, "replicas": 3}, 2),
    (Kind.DEPLOYMENT, {}, 0),
    (Kind.DEPLOYMENT, None, None),
    (Kind.JOB, {}, 0),
    (Kind.STATEFULSET, {"replicas": 0}, None),
    (Kind.CRONJOB, {}, None),
    (Kind.DAEMONSET, {"observedGeneration": 2}, 2),
])  # fmt: skip
def test_observed_generation(kind: Kind, status: dict[str, Any] | None, observed: int | None) -> None:
    assert decoded(kind, {"status": status}).observed_generation == observed


def test_a_job_of_another_controller_may_have_no_status() -> None:
    job = decoded(Kind.JOB, {"status": {}, "spec": {"managedBy": "kueue.x-k8s.io/multikueue"}})
    assert job.observed_generation is None


def test_pod_disruption_budget() -> None:
    pdb = decoded(Kind.PDB)
    assert (pdb.selector, pdb.min_available, pdb.max_unavailable) == (READ_SELECTOR, "50%", 1)
    assert pdb.unhealthy_pod_eviction_policy == "AlwaysAllow"
    assert (pdb.disruptions_allowed, pdb.current_healthy, pdb.desired_healthy, pdb.expected_pods) == (1, 3, 2, 3)
    assert (pdb.observed_generation, pdb.allowed_since_ns) == (3, CREATED_NS)
    bare = decoded(Kind.PDB, {"spec": {"selector": {}}, "status": None})
    assert (bare.selector, bare.observed_generation, bare.disruptions_allowed) == (LabelSelector(), None, 0)
    assert bare.allowed_since_ns == 0


@pytest.mark.parametrize(("source", "expected"), [
    ({"csi": {"driver": "ebs.csi.aws.com"}}, ("ebs.csi.aws.com", False, "", False)),
    ({"awsElasticBlockStore": {"volumeID": "v"}}, ("", True, "", False)),
    ({"gcePersistentDisk": {}}, ("", False, "gcePersistentDisk", False)),
    ({"azureDisk": {}}, ("", False, "azureDisk", False)),
    ({"azureFile": {}}, ("", False, "azureFile", False)),
    ({"cinder": {}}, ("", False, "cinder", False)),
    ({"vsphereVolume": {}}, ("", False, "vsphereVolume", False)),
    ({"portworxVolume": {}}, ("", False, "portworxVolume", False)),
    ({"local": {"path": "/"}}, ("", False, "", True)),
    ({"hostPath": {"path": "/"}}, ("", False, "", True)),
    ({"nfs": {}}, ("", False, "", False)),
])  # fmt: skip
def test_origin_of_volumes(source: dict[str, Any], expected: tuple[str, bool, str, bool]) -> None:
    volume = decoded(Kind.PV, {"spec": source})
    assert (volume.csi_driver, volume.is_aws_ebs, volume.in_tree_plugin, volume.is_local) == expected
    assert volume.required_node_terms == ()


def test_services_and_priority_classes() -> None:
    assert decoded(Kind.PRIORITY_CLASS).value == 1000
    assert decoded(Kind.SERVICE).selector == (("app", "web"), ("tier", "x"))
    assert decoded(Kind.SERVICE, {"spec": {}}).selector is None


def test_events_of_the_core_api() -> None:
    event = decoded(Kind.EVENT)
    assert (event.reason, event.message, event.type, event.source) == (
        "DisruptionBlocked",
        "Pod blocks",
        "Normal",
        "karpenter",
    )
    assert (event.involved_kind, event.involved_namespace, event.involved_name, event.involved_uid) == (
        "Node",
        "default",
        "node-1",
        "uid-node-1",
    )
    assert (event.count, event.first_ns, event.last_ns) == (4, CREATED_NS, CREATED_NS + 10 * SECOND_NS)


def test_events_of_the_events_api() -> None:
    raw = {
        "metadata": {"name": "e", "namespace": "default", "creationTimestamp": "2026-11-20T12:00:00Z"},
        "note": "Pod blocks",
        "regarding": {"kind": "Pod", "name": "web-0"},
        "reportingController": "karpenter",
        "eventTime": "2026-11-20T12:00:01.000000Z",
        "series": {"count": 9, "lastObservedTime": "2026-11-20T12:00:30.000000Z"},
        "deprecatedCount": 2,
    }
    event = KindReader(Kind.EVENT).convert(raw)
    assert (event.message, event.involved_kind, event.source, event.count) == ("Pod blocks", "Pod", "karpenter", 9)
    assert (event.first_ns, event.last_ns) == (CREATED_NS + SECOND_NS, CREATED_NS + 30 * SECOND_NS)


def test_an_event_without_times_has_its_creation_time() -> None:
    event = KindReader(Kind.EVENT).convert({"metadata": {"name": "e", "creationTimestamp": "2026-11-20T12:00:00Z"}})
    assert (event.first_ns, event.last_ns, event.count) == (CREATED_NS, CREATED_NS, 1)


def test_capacity_buffers_and_pod_templates() -> None:
    buffer = decoded(Kind.CAPACITY_BUFFER)
    assert (buffer.pod_template_name, buffer.scalable_kind, buffer.scalable_name) == ("made", "Deployment", "web")
    assert (buffer.replicas, buffer.has_spec_ref) == (3, True)
    assert not decoded(Kind.CAPACITY_BUFFER, {"spec": {}}).has_spec_ref
    template = decoded(Kind.POD_TEMPLATE)
    assert template.template.labels == {"app": "web"}
    assert [volume.name for volume in template.volumes] == ["data", "scratch"]


@pytest.mark.parametrize(("api_version", "kind", "expected"), [
    ("v1", "Pod", Kind.POD),
    ("karpenter.sh/v1", "NodePool", Kind.NODEPOOL),
    ("karpenter.sh/v1alpha1", "NodeOverlay", Kind.NODEOVERLAY),
    ("karpenter.k8s.aws/v1", "EC2NodeClass", Kind.NODECLASS),
    ("karpenter.azure.com/v1beta1", "AKSNodeClass", Kind.NODECLASS),
    ("karpenter.kwok.sh/v1alpha1", "KWOKNodeClass", Kind.NODECLASS),
    ("eks.amazonaws.com/v1", "NodeClass", Kind.NODECLASS),
    ("example.com/v1", "NodeClass", None),
    ("events.k8s.io/v1", "Event", Kind.EVENT),
    ("v1", "Event", Kind.EVENT),
    ("apps/v1", "DaemonSet", Kind.DAEMONSET),
    ("extensions/v1beta1", "DaemonSet", None),
    ("example.com/v1", "Pod", None),
    ("v1", "Secret", None),
    ("v1", "NodeClass", None),
    ("", "", None),
])  # fmt: skip
def test_kind_follows_from_group_and_name(api_version: str, kind: str, expected: Kind | None) -> None:
    assert kind_of(api_version, kind) is expected


def test_text_and_mappings_decode_equally() -> None:
    for kind in KINDS:
        if kind not in (Kind.POD, Kind.DAEMONSET, Kind.POD_TEMPLATE) and kind not in WORKLOAD_API_VERSIONS:
            reader = KindReader(kind)
            from_text = reader.decode(text(SAMPLES[kind]))
            if hasattr(from_text, "raw"):
                assert "managedFields" not in from_text.raw["metadata"]
            elif kind is not Kind.REPLICATION_CONTROLLER:
                assert from_text == reader.convert(sample(kind))
