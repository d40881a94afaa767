from __future__ import annotations

import gc
import threading
import uuid
from collections.abc import Callable
from typing import Any
from weakref import ref

import msgspec
import pytest

from karptui.decode.kinds import Kind
from karptui.decode.pod import TEMPLATES, TemplateInterner, _forget, build_pod
from karptui.decode.pod_template import TemplateParts
from karptui.decode.pod_text import build_text_pod
from karptui.decode.pod_wire import TextPod, WirePod
from karptui.decode.reader import KindReader
from karptui.decode.stream import StreamDecoder
from karptui.kube.objects import OwnerReference
from karptui.kube.pod import (
    HostPort,
    Pod,
    PodAffinityTerm,
    PodTemplate,
    PodTrouble,
    PodVolume,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from karptui.kube.selectors import LabelSelector, PreferredSchedulingTerm
from karptui.kube.taints import Toleration

from .samples import (
    CREATED,
    CREATED_NS,
    HOUR_NS,
    JSON,
    READ_SELECTOR,
    READ_TERM,
    SECOND_NS,
    amounts,
    page,
    sample,
    text,
)

AFFINITY = PodAffinityTerm("zone", READ_SELECTOR, ("other",), LabelSelector(), ("pod-template-hash",), ("tenant",))


def by_mapping(raw: JSON) -> Pod:
    pod: Pod = KindReader(Kind.POD).convert(raw)
    return pod


def by_text(raw: JSON) -> Pod:
    read = StreamDecoder(Kind.POD).page(page(raw))
    assert read.problems == ()
    pod: Pod = read.items[0]
    return pod


both = pytest.mark.parametrize("read", [by_mapping, by_text])
Read = Callable[[JSON], Pod]


def replica(number: int, **changes: Any) -> JSON:
    """Return a pod of a ReplicaSet as the API server sends it, with random name, token volume, node, IP and times."""
    token = f"{number:05d}"
    mount = {
        "name": f"kube-api-access-{token}",
        "readOnly": True,
        "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
    }
    raw: JSON = {
        "metadata": {
            "name": f"web-1-{token}",
            "generateName": "web-1-",
            "namespace": "prod",
            "uid": str(uuid.UUID(int=number)),
            "resourceVersion": str(number),
            "creationTimestamp": f"2026-11-20T12:00:{number % 60:02d}Z",
            "labels": {"app": "web", "pod-template-hash": "1"},
            "annotations": {"cni/address": f'{{"ip":"10.0.0.{number}"}}'},
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "uid-rs", "controller": True}
            ],
        },
        "spec": {
            "nodeName": f"node-{number}",
            "containers": [
                {
                    "name": "app",
                    "image": "web:1",
                    "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
                    "volumeMounts": [{"name": "config", "mountPath": "/etc/app"}, mount],
                }
            ],
            "initContainers": [{"name": "init", "image": "init:1", "volumeMounts": [mount]}],
            "volumes": [{"name": f"kube-api-access-{token}", "projected": {"sources": []}}],
            "hostname": f"host-{number}",
        },
        "status": {
            "phase": "Running",
            "podIP": f"10.0.0.{number}",
            "containerStatuses": [
                {
                    "name": "app",
                    "containerID": f"containerd://{number}",
                    "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
                    "allocatedResources": {"cpu": "1", "memory": "1Gi"},
                }
            ],
        },
    }
    for path, value in changes.items():
        holder: Any = raw
        *parents, last = path.split("__")
        for key in parents:
            holder = holder[int(key) if key.isdigit() else key]
        holder[last] = value
    return raw


@both
def test_fields_of_a_single_pod(read: Read) -> None:
    pod = read(sample(Kind.POD))
    assert (pod.key, pod.uid, pod.node_name, pod.nominated_node_name) == (
        "prod/web-1-abcde",
        "uid-web-1-abcde",
        "node-1",
        "node-2",
    )
    assert (pod.phase, pod.ready, pod.waiting_reason) == ("Running", False, "CrashLoopBackOff")
    assert (pod.created_ns, pod.start_ns) == (CREATED_NS, CREATED_NS + 5 * SECOND_NS)
    assert (pod.deletion_ns, pod.scheduled_ns) == (CREATED_NS + HOUR_NS, CREATED_NS)
    assert (pod.scheduled_reason, pod.scheduled_message) == ("Unschedulable", "")
    assert pod.volumes == (
        PodVolume("data", claim_name="data-web"),
        PodVolume("scratch", is_ephemeral=True, storage_class_name="gp3"),
    )


@both
def test_containers_that_outlive_others_and_reasons_to_wait(read: Read) -> None:
    ended = {"exitCode": 0, "reason": "Completed", "finishedAt": CREATED}
    done, runs = {"name": "app", "state": {"terminated": ended}}, {"name": "proxy", "state": {"running": {}}}
    failed = {"name": "app", "state": {"terminated": {**ended, "exitCode": 1}}}
    waits = {"name": "app", "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}}
    waits["lastState"] = {"terminated": {"exitCode": 132}}

    def trouble(*statuses: dict[str, Any], **more: Any) -> PodTrouble:
        status = {"phase": "Running", "containerStatuses": [*statuses], **more}
        return read({**sample(Kind.POD), "status": status}).trouble

    assert trouble(done, runs) == PodTrouble(outliving=("proxy",), finished_ns=CREATED_NS)
    assert trouble(failed, runs) == trouble(runs, runs) == PodTrouble()
    assert trouble(waits, runs) == PodTrouble("back-off", 132)
    assert trouble(runs, initContainerStatuses=[waits]) == PodTrouble("back-off", 132, init_container="app")
    later = {"name": "app", "state": {"waiting": {"reason": "PodInitializing"}}}
    init = {**runs, "lastState": {"terminated": {**ended, "exitCode": 3, "reason": "Error"}}, "restartCount": 14}
    status = {"phase": "Pending", "containerStatuses": [later], "initContainerStatuses": [init]}
    pod = read({**sample(Kind.POD), "status": status})
    assert pod.trouble == PodTrouble("", 3, init_container="proxy")
    assert (pod.waiting_reason, pod.exit_reason, pod.restarts) == ("PodInitializing", "Error", 14)
    assert pod.exited_ns == CREATED_NS


@both
@pytest.mark.parametrize(("policy", "started", "named"), [
    ("Always", True, ""), ("Always", False, "first"), ("", True, "first")
])  # fmt: skip
def test_containers_do_not_wait_for_a_started_sidecar(read: Read, policy: str, named: str, *, started: bool) -> None:
    raw = sample(Kind.POD)
    raw["spec"]["initContainers"] = [{"name": "first", **({"restartPolicy": policy} if policy else {})}]
    waits = {"name": "app", "state": {"waiting": {"reason": "PodInitializing"}}}
    runs = {"name": "first", "state": {"running": {}}, "started": started}
    raw["status"] = {"phase": "Pending", "containerStatuses": [waits], "initContainerStatuses": [runs]}
    assert read(raw).trouble.init_container == named


@both
def test_container_that_ran_out_of_memory(read: Read) -> None:
    def ended(name: str, reason: str, restarts: int, state: str = "running") -> dict[str, Any]:
        last = {"terminated": {"exitCode": 137, "reason": reason, "finishedAt": CREATED}}
        waiting = {"reason": "CrashLoopBackOff"} if state == "waiting" else {}
        return {"name": name, "restartCount": restarts, "state": {state: waiting}, "lastState": last}

    def oom_container(*statuses: dict[str, Any]) -> str:
        return read(
            {**sample(Kind.POD), "status": {"phase": "Running", "containerStatuses": statuses}}
        ).trouble.oom_container

    assert oom_container(ended("proxy", "Error", 1), ended("app", "OOMKilled", 9)) == "app"
    assert oom_container(ended("proxy", "OOMKilled", 3), ended("app", "OOMKilled", 9)) == "app"
    assert oom_container(ended("proxy", "OOMKilled", 1), ended("app", "Error", 9)) == ""
    assert oom_container(ended("proxy", "OOMKilled", 3, "waiting"), ended("app", "OOMKilled", 9)) == "proxy"


@both
@pytest.mark.parametrize(("unready", "restarted", "named"), [
    ("[app]", "proxy", "app"),
    ("[app]", "app", ""),
    ("[app proxy]", "proxy", ""),
    ("[app]", "app proxy", ""),
    ("[c-1]", "proxy", ""),
    ("[app]", "", "app"),
    ("[app proxy]", "", ""),
])  # fmt: skip
def test_container_that_is_not_ready(read: Read, unready: str, restarted: str, named: str) -> None:
    last = {"terminated": {"exitCode": 1, "reason": "Error", "finishedAt": CREATED}}
    statuses: list[dict[str, Any]] = [
        {"name": name, "state": {"running": {}}, "lastState": last if name in restarted else {}, "restartCount": 9}
        for name in ("app", "proxy")
    ]
    message = f"containers with unready status: {unready}"
    ready = {"type": "Ready", "status": "False", "reason": "ContainersNotReady", "message": message}
    status = {"phase": "Running", "conditions": [ready], "containerStatuses": statuses}
    assert read({**sample(Kind.POD), "status": status}).trouble.unready_container == named


@both
@pytest.mark.parametrize(("more", "ready", "named"), [
    ({"started": False}, "False", "app"),
    ({"started": False}, "True", ""),
    ({"started": True}, "False", ""),
    ({}, "False", ""),
    ({"started": False, "restartCount": 1}, "False", ""),
    ({"started": False, "state": {"waiting": {"reason": "ContainerCreating"}}}, "False", ""),
])  # fmt: skip
def test_container_that_starts_for_the_first_time(read: Read, more: dict[str, Any], ready: str, named: str) -> None:
    conditions = [{"type": "Ready", "status": ready, "reason": "ContainersNotReady"}]
    state = {"name": "app", "state": {"running": {}}, "restartCount": 0, **more}
    status = {"phase": "Running", "conditions": conditions, "containerStatuses": [state]}
    assert read({**sample(Kind.POD), "status": status}).trouble.starting_container == named


@both
def test_readiness_gate_that_alone_keeps_a_pod_unready(read: Read) -> None:
    message = 'corresponding condition of pod readiness gate "lb.example/web" does not exist.'
    ready = {"type": "Ready", "status": "False", "reason": "ReadinessGatesNotReady", "message": message}
    status = {"phase": "Running", "conditions": [{**ready, "lastTransitionTime": CREATED}]}
    pod = read({**sample(Kind.POD), "status": status})
    assert (pod.trouble.readiness_gate, pod.unready_ns) == ("lb.example/web", CREATED_NS)


@both
def test_fields_that_pods_share_in_a_template(read: Read) -> None:
    template = read(sample(Kind.POD)).template
    assert (template.namespace, template.labels, template.annotations) == ("prod", {"app": "web"}, {})
    assert template.owners == (OwnerReference("apps/v1", "ReplicaSet", "web-1", "uid-rs", controller=True),)
    assert amounts(template.requests) == {"cpu": "4", "memory": "1088Mi"}
    assert amounts(template.limits) == {"memory": "2Gi"}
    assert template.node_selector == {"kubernetes.io/arch": "arm64"}
    assert template.required_node_terms == (READ_TERM,)
    assert template.preferred_node_terms == (PreferredSchedulingTerm(10, READ_TERM),)
    assert (template.pod_affinity, template.pod_anti_affinity) == ((AFFINITY,), (AFFINITY,))
    assert template.preferred_pod_affinity == (WeightedPodAffinityTerm(20, AFFINITY),)
    assert template.preferred_pod_anti_affinity == (WeightedPodAffinityTerm(30, AFFINITY),)
    assert template.topology_spread == (
        TopologySpreadConstraint(
            1, "zone", "DoNotSchedule", READ_SELECTOR, 3, "Honor", "Ignore", match_label_keys=("pod-template-hash",)
        ),
    )
    assert template.tolerations == (Toleration("gpu", "Exists", "", "NoExecute", 300), Toleration("team", "", "a"))
    assert template.host_ports == (HostPort(8080, "UDP", "10.0.0.1"), HostPort(9090))
    assert template.has_resource_claims
    assert (template.priority, template.priority_class_name, template.scheduler_name) == (
        1000,
        "high",
        "default-scheduler",
    )
    assert (template.runtime_class_name, template.termination_grace_seconds, template.is_host_network) == (
        "gvisor",
        60,
        True,
    )
    assert template.images == ("web:1", "proxy:1")


@both
def test_defaults_of_a_bare_pod(read: Read) -> None:
    pod = read({"metadata": {"name": "web"}})
    assert (pod.key, pod.ready, pod.phase, pod.waiting_reason, pod.volumes) == ("default/web", None, "", "", ())
    assert (pod.template.required_node_terms, pod.template.termination_grace_seconds) == (None, 30)
    assert not pod.template.has_resource_claims
    empty = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": None}}
    spec = {"affinity": {"nodeAffinity": empty}, "terminationGracePeriodSeconds": 0}
    template = read({"metadata": {"name": "web"}, "spec": spec}).template
    assert (template.required_node_terms, template.termination_grace_seconds) == ((), 0)


@both
@pytest.mark.parametrize(("spec", "expected"), [
    ({"resourceClaims": [{"name": "gpu"}]}, True),
    ({"containers": [{"resources": {"claims": [{"name": "gpu"}]}}]}, True),
    ({"initContainers": [{"resources": {"claims": [{"name": "gpu"}]}}]}, True),
    ({"containers": [{"resources": {"claims": []}}], "resourceClaims": []}, False),
])  # fmt: skip
def test_pods_with_dynamic_resource_claims(read: Read, spec: JSON, expected: bool) -> None:
    assert read({"metadata": {"name": "web"}, "spec": spec}).template.has_resource_claims is expected


@both
def test_only_relevant_annotations_are_kept(read: Read) -> None:
    annotations = {
        "karpenter.sh/do-not-disrupt": "true",
        "controller.kubernetes.io/pod-deletion-cost": "5",
        "kubernetes.io/config.mirror": "x",
        "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
        "prometheus.io/scrape": "true",
        "kubectl.kubernetes.io/restartedAt": "now",
    }
    kept = read({"metadata": {"name": "web", "annotations": annotations}}).annotations
    assert list(kept) == list(annotations)[:4]


@both
def test_labels_of_single_pods_are_not_part_of_the_template(read: Read) -> None:
    texts = {
        "statefulset.kubernetes.io/pod-name": "web-0",
        "apps.kubernetes.io/pod-index": "0",
        "batch.kubernetes.io/job-completion-index": "0",
    }
    pod = read({"metadata": {"name": "web-0", "labels": {"app": "web"} | texts}})
    assert (pod.template.labels, pod.own_labels) == ({"app": "web"}, texts)
    assert pod.labels == {"app": "web"} | texts


@both
@pytest.mark.parametrize(("status", "expected"), [
    ({"conditions": [{"type": "Ready", "status": "True"}]}, (True, "", "")),
    ({"conditions": [{"type": "Ready", "status": "Unknown"}]}, (None, "", "")),
    ({"conditions": None, "reason": "Evicted"}, (None, "Evicted", "")),
    ({"containerStatuses": [{"state": None}, {"state": {"running": {}}}]}, (None, "", "")),
    ({"containerStatuses": [{"state": {"waiting": {"reason": "ErrImagePull"}}}]}, (None, "ErrImagePull", "")),
    ({"containerStatuses": [{"state": {"waiting": {}}}]}, (None, "", "")),
    ({"containerStatuses": [{"state": {"terminated": {"reason": "OOMKilled"}}}]}, (None, "OOMKilled", "")),
    ({"containerStatuses": [{"state": {"terminated": {"reason": "Completed"}}}]}, (None, "", "")),
    ({"containerStatuses": [{"state": {"terminated": {"reason": ""}}}]}, (None, "", "")),
    ({"initContainerStatuses": [{"state": {"waiting": {"reason": "PodInitializing"}}}],
      "containerStatuses": [{"state": {"waiting": {"reason": "ContainerCreating"}}}]}, (None, "PodInitializing", "")),
    ({"conditions": [{"type": "PodScheduled", "status": "False", "message": "0/3 nodes"}]},
     (None, "", "0/3 nodes")),
])  # fmt: skip
def test_readiness_and_reasons_to_wait(read: Read, status: JSON, expected: tuple[bool | None, str, str]) -> None:
    pod = read({"metadata": {"name": "web"}, "status": status})
    assert (pod.ready, pod.waiting_reason, pod.scheduled_message) == expected


@both
@pytest.mark.parametrize(("requests", "reported", "reason", "expected"), [
    ({"cpu": "1"}, {"resources": {"requests": {"cpu": "2"}}}, "", {"cpu": "2"}),
    ({"cpu": "2"}, {"resources": {"requests": {"cpu": "1"}}}, "Deferred", {"cpu": "2"}),
    ({"cpu": "2"}, {"resources": {"requests": {"cpu": "1"}}}, "Infeasible", {"cpu": "1"}),
    ({"cpu": "2"}, {"resources": {}, "allocatedResources": {"cpu": "3"}}, "", {"cpu": "3"}),
    ({"cpu": "2"}, {"resources": None, "allocatedResources": {"cpu": "3"}}, "", {"cpu": "2"}),
    ({"cpu": "2"}, {"resources": {}}, "Infeasible", {}),
    ({}, {"resources": {"requests": {"cpu": "1"}}}, "", {"cpu": "1"}),
    (None, {"resources": {"requests": None}}, "", {}),
])  # fmt: skip
def test_requests_during_a_resize(
    read: Read, requests: Any, reported: JSON, reason: str, expected: dict[str, str]
) -> None:
    pod = read(
        {
            "metadata": {"name": "web"},
            "spec": {"containers": [{"name": "app", "resources": {"requests": requests}}]},
            "status": {
                "containerStatuses": [{"name": "app", **reported}],
                "conditions": [{"type": "PodResizePending", "status": "True", "reason": reason}],
            },
        }
    )
    assert amounts(pod.requests) == expected


@both
def test_only_sidecars_among_init_containers_are_resized(read: Read) -> None:
    raw = {
        "metadata": {"name": "web"},
        "spec": {
            "initContainers": [
                {"name": "side", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}},
                {"name": "init", "resources": {"requests": {"cpu": "1"}}},
            ]
        },
        "status": {
            "initContainerStatuses": [
                {"name": "side", "resources": {"requests": {"cpu": "2"}}},
                {"name": "init", "resources": {"requests": {"cpu": "9"}}},
                {"name": "gone", "resources": {"requests": {"cpu": "9"}}},
            ]
        },
    }
    assert amounts(read(raw).requests) == {"cpu": "3"}


@both
@pytest.mark.parametrize("changes", [
    pytest.param({}, id="another name, node and address"),
    pytest.param({"status": {"phase": "Pending"}}, id="no status of its containers yet"),
    pytest.param({"status__containerStatuses__0__name": "other"}, id="status of another container"),
    pytest.param({"status__initContainerStatuses": [{"name": "init"}]}, id="status of an init container"),
    pytest.param({"status__containerStatuses": [{"name": "app", "resources": None}]}, id="an older kubelet"),
    pytest.param({"status__containerStatuses__0__resources": {"requests": {"cpu": "1000m", "memory": "1024Mi"}}},
                 id="the same amounts in other words"),
    pytest.param({"status__containerStatuses__0__allocatedResources": {"cpu": "500m"}}, id="growing"),
    pytest.param({"status__conditions": [{"type": "PodResizePending", "reason": "Infeasible"}]},
                 id="a refusal that changes nothing"),
    pytest.param({"metadata__labels": {"pod-template-hash": "1", "app": "web"}}, id="another order of labels"),
    pytest.param({"metadata__labels": {"app": "web", "pod-template-hash": "1",
                                       "apps.kubernetes.io/pod-index": "3"}}, id="a label of its own"),
    pytest.param({"metadata__annotations": None}, id="no annotations"),
    pytest.param({"metadata__annotations": {"kubernetes.io/psp": "x"}}, id="annotations that decide nothing"),
    pytest.param({"spec__volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "x"}}]},
                 id="other volumes"),
    pytest.param({"spec__nodeName": None}, id="not bound"),
    pytest.param({"spec__affinity": None, "spec__tolerations": []}, id="nothing written out"),
    pytest.param({"metadata__deletionTimestamp": "2026-11-20T13:00:00Z"}, id="being deleted"),
])  # fmt: skip
def test_irrelevant_fields_do_not_split_templates(read: Read, changes: JSON) -> None:
    usual, other = by_text(replica(1)), read(replica(2, **changes))
    assert other.template is usual.template


@both
@pytest.mark.parametrize("changes", [
    {"metadata__namespace": "dev"},
    {"metadata__labels": {"app": "web"}},
    {"metadata__labels": {"app": "web", "pod-template-hash": "2"}},
    {"metadata__annotations": {"karpenter.sh/do-not-disrupt": "true"}},
    {"metadata__ownerReferences": []},
    {"spec__containers__0__image": "web:2"},
    {"spec__containers__0__resources": {"requests": {"cpu": "2", "memory": "1Gi"}}},
    {"spec__containers__0__resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1"}}},
    {"spec__containers__0__ports": [{"hostPort": 80}]},
    {"spec__initContainers__0__resources": {"requests": {"cpu": "2"}}},
    {"spec__initContainers__0__restartPolicy": "Always",
     "spec__initContainers__0__resources": {"requests": {"x/y": "1"}}},
    {"spec__nodeSelector": {"a": "b"}},
    {"spec__affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}},
    {"spec__topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone",
                                          "whenUnsatisfiable": "DoNotSchedule"}]},
    {"spec__tolerations": [{"operator": "Exists"}]},
    {"spec__overhead": {"cpu": "1"}},
    {"spec__resources": {"requests": {"cpu": "2"}}},
    {"spec__resourceClaims": [{"name": "gpu"}]},
    {"spec__priority": 1},
    {"spec__priorityClassName": "high"},
    {"spec__schedulerName": "other"},
    {"spec__runtimeClassName": "gvisor"},
    {"spec__terminationGracePeriodSeconds": 5},
    {"spec__hostNetwork": True},
    {"status__containerStatuses__0__resources": {"requests": {"cpu": "2", "memory": "1Gi"}}},
    {"status__containerStatuses__0__allocatedResources": {"cpu": "1500m"}},
    {"status__containerStatuses__0__resources": {"requests": {"cpu": "500m"}},
     "status__containerStatuses__0__allocatedResources": {"cpu": "500m"},
     "status__conditions": [{"type": "PodResizePending", "reason": "Infeasible"}]},
], ids=",".join)  # fmt: skip
def test_relevant_fields_split_templates(read: Read, changes: JSON) -> None:
    usual, other = by_text(replica(1)), read(replica(2, **changes))
    assert other.template is not usual.template


@both
@pytest.mark.parametrize(("changes", "reason", "gates"), [
    ({"spec__schedulingGates": [{"name": "quota"}]}, "SchedulingGated", ("quota",)),
    ({"spec__schedulingGates": [{"name": "quota"}], "spec__nodeName": "node-1"}, "", ()),
    ({"spec__schedulingGates": []}, "", ()),
    ({"spec__schedulingGates": None}, "", ()),
], ids=str)  # fmt: skip
def test_a_manifest_with_scheduling_gates_is_gated_and_shares_its_template(
    read: Read, changes: JSON, reason: str, gates: tuple[str, ...]
) -> None:
    pending: JSON = {"spec__nodeName": None, "status__conditions": []}
    usual, other = read(replica(1, **pending)), read(replica(2, **pending | changes))
    assert (other.scheduled_reason, other.trouble.gates) == (reason, gates)
    assert other.template is usual.template


@pytest.mark.parametrize(("hidden", "plain"), [
    (rb'"labels":{"apps.kubernetes.io\/pod-index":"3"}', rb'"labels":{"apps.kubernetes.io/pod-index":"3"}'),
    (rb'"annotations":{"\u006barpenter.sh/do-not-disrupt":"true"}',
     rb'"annotations":{"karpenter.sh/do-not-disrupt":"true"}'),
])  # fmt: skip
def test_escaped_json_is_read_equally(hidden: bytes, plain: bytes) -> None:
    result, other = (
        StreamDecoder(Kind.POD).page(b'{"items":[{"metadata":{"name":"web",' + part + b"}}]}").items[0]
        for part in (hidden, plain)
    )
    assert result.template is other.template
    assert (result.labels, result.annotations) == (other.labels, other.annotations)


def test_mounts_similar_to_the_token_mount_are_kept() -> None:
    names = ("kube-api-access-aaaaa", "kube-api-access-bbbbb")
    pod, other = (by_text(replica(1, spec__nodeSelector={"name": name}, spec__containers=[])) for name in names)
    assert pod.template is not other.template
    images = ("a", "b")
    pod, other = (
        by_text(replica(1, spec__containers=[{"name": "kube-api-access-aaaaa", "image": image}])) for image in images
    )
    assert pod.template is not other.template


class CountingInterner(TemplateInterner):
    read = 0

    def template_of(self, parts: TemplateParts) -> PodTemplate:
        self.read += 1
        return super().template_of(parts)


@pytest.mark.parametrize("is_reported_first", [False, True])
def test_allocated_resources_equal_to_requests_are_ignored(*, is_reported_first: bool) -> None:
    """Before and after the kubelet accepts a pod, so that its template is the same."""
    interner = CountingInterner()
    waiting = replica(1, status__containerStatuses=None, status__initContainerStatuses=None)
    order = (replica(2), waiting) if is_reported_first else (waiting, replica(2))
    pod, other = (build_text_pod(msgspec.json.decode(text(raw), type=TextPod), interner) for raw in order)
    assert pod.template is other.template
    assert interner.read == 1


def test_manifests_that_share_a_template_are_read_once() -> None:
    interner = CountingInterner()
    texts = {"spec__nodeName": "another", "status__conditions": [], "status__startTime": "2026-01-01T00:00:00Z"}
    resized = [{"name": replica(1)["spec"]["containers"][0]["name"], "resources": {"requests": {"cpu": "70"}}}]
    others = {"spec__priority": 7}, {"metadata__namespace": "b"}, {"status__containerStatuses": resized}
    pods = [build_pod(msgspec.convert(replica(1, **changes), WirePod), interner) for changes in ({}, texts, *others)]
    assert pods[0].template is pods[1].template
    assert interner.read == len({id(pod.template) for pod in pods}) == 4


@pytest.mark.parametrize("claim", [1 << 70, object()])
def test_objects_that_json_cannot_represent_are_read(claim: object) -> None:
    pods = [build_pod(msgspec.convert(replica(1, spec__resourceClaims=[claim]), WirePod), TEMPLATES) for _ in range(2)]
    assert [pod.template.has_resource_claims for pod in pods] == [True, True]
    assert pods[0].template is pods[1].template


def test_templates_are_released_with_the_last_pod() -> None:
    interner = TemplateInterner()
    pods = [
        build_text_pod(
            msgspec.json.decode(text(replica(number, metadata__namespace=f"n{number % 3}")), type=TextPod), interner
        )
        for number in range(9)
    ]
    # With and without the kubelet's status.
    assert (len(interner), len(interner.by_text)) == (3, 6)
    pods.append(build_pod(msgspec.json.decode(text(replica(1)), type=WirePod), interner))
    assert (len(interner), len(interner.by_text)) == (4, 7)
    del pods
    gc.collect()
    assert (len(interner), len(interner.by_text)) == (0, 0)


def test_threads_share_templates() -> None:
    data = page(*(replica(number, metadata__namespace=f"thread-{number % 50}") for number in range(500)))
    pages: list[tuple[Pod, ...]] = []
    barrier = threading.Barrier(4)

    def read() -> None:
        stream = StreamDecoder(Kind.POD)
        barrier.wait()
        pages.append(stream.page(data).items)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    pods = [pod for items in pages for pod in items]
    assert len(pods) == 2000
    assert len({id(pod.template) for pod in pods}) == 50
    assert all(reference_type() is not None for reference_type in TEMPLATES.by_text.values())


def test_text_cached_by_another_thread_is_kept() -> None:
    interner, newer = TemplateInterner(), PodTemplate()
    interner.keep_text(1, newer)
    kept = interner.by_text[1]
    _forget(interner.by_text, 1, ref(PodTemplate(node_selector={"older": "one"})))
    assert interner.by_text[1] is kept
    _forget(interner.by_text, 1, kept)
    assert interner.of_text(1) is None


@both
def test_pods_without_uid_are_distinguished_by_key(read: Read) -> None:
    manifest = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": []}}
    first, second = (read({**manifest, "metadata": {"name": name, "namespace": "x"}}) for name in ("a", "b"))
    assert (first.uid, second.uid) == ("x/a", "x/b")
