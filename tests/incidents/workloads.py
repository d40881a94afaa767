"""Workloads whose pods are held back, rejected or crash for reasons of their nodes, their images or their sidecars."""

from __future__ import annotations

from collections.abc import Sequence

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import big_fleet, usual
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n
from tests.incidents.node_objects import add_node
from tests.incidents.objects import Object, condition
from tests.incidents.pods import PROTECTED, add_pod, add_workload, refuse_pods, waiting
from tests.incidents.pools import add_nodeclass, add_pool
from tests.incidents.providers import gcp_nodeclass, to_gcp

PENDING = r"\d+ pods? pending|pending \d"


def not_ready(pod: Object) -> Object:
    """Make a running pod not ready, and return the status of its first container."""
    for state in pod["status"]["conditions"]:
        if state["type"] in ("Ready", "ContainersReady"):
            state |= {"status": "False", "reason": "ContainersNotReady"}
    container: Object = pod["status"]["containerStatuses"][0]
    container["ready"] = False
    return container


def crash(c: Cluster, pod: Object, *, code: int, restarts: int, ago: str, reason: str = "Error") -> None:
    """Let a pod's container end with an exit code again and again."""
    ended = {"reason": reason, "exitCode": code, "startedAt": c.at(ago), "finishedAt": c.at(ago)}
    back_off = {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting failed container=app"}
    not_ready(pod).update(restartCount=restarts, state={"waiting": back_off}, lastState={"terminated": ended})
    # Without a readiness probe, a pod is ready as long as its container runs.
    for state in pod["status"]["conditions"]:
        if state["type"] in ("Ready", "ContainersReady"):
            state["lastTransitionTime"] = c.at(ago)
    text = "Back-off restarting failed container app in pod"
    c.event(pod, "BackOff", text, last="25s", first="57m", count=4 * restarts, source="kubelet")


@incident(
    story="Kueue's controller was scaled to 0 for a migration three hours ago. Its webhook still adds the scheduling gate to new Jobs, and nothing removes it: the six pods of a Job stay gated, although the "
    "team has quota. Neither kube-scheduler nor Karpenter looks at them.",
    cause="6 pods of ml/finetune have been gated for 3 hours: nothing removes the scheduling gate kueue.x-k8s.io/admission, because kueue-controller-manager is scaled to 0 replicas.",
    thread="kubernetes-sigs/kueue#2029",
    must=["ml/finetune", r"\bgate", "kueue", n(6), r"0 replicas|scaled to (0|zero)|not run|no (ready )?pod|0 of|down"],
    must_not=[LAUNCHES, ROOM, "unschedulable"],
)  # fmt: skip
def gates_that_nothing_removes(c: Cluster) -> None:
    usual(c)
    add_workload(c, "kueue-system/kueue-controller-manager", count=0, replicas=0, age="90d", cpu="500m", memory="512Mi")
    gates = [{"name": "kueue.x-k8s.io/admission"}]
    pods = waiting(c, "ml/finetune", 6, "3h", kind="Job", age="3h", cpu="6", memory="24Gi", scheduled=False, spec={"schedulingGates": gates})  # fmt: skip
    text = "Scheduling is blocked due to non-empty scheduling gates"
    for pod in pods:
        pod["status"]["conditions"] = [condition("PodScheduled", "False", c.at("3h"), "SchedulingGated", text)]


@incident(
    story="A large cluster. NodePool general was widened to m6a two days ago. The library of ml/embed was compiled for AVX-512, which these AMD processors do not have: its six pods on m6a nodes die of an illegal "
    "instruction (exit code 132), its 24 pods on m6i nodes run. All other workloads run on both.",
    cause="6 pods of ml/embed crash on m6a nodes (exit code 132, illegal instruction); its pods on m6i nodes run.",
    thread="dotnet/runtime#112897",
    must=["ml/embed", n(6), r"m6a|\bAMD\b", r"crash|restart|132|illegal|SIGILL"],
    must_not=[LAUNCHES, PENDING, r"arm64|exec format|built for", "OOM"],
)
def illegal_instruction(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general", families=("m6i", "m6a"))
    intel = big_fleet(c, "general", 48)
    amd = big_fleet(c, "general", 12, instance_type="m6a.xlarge", age="44h", part="amd")
    add_workload(c, "ml/embed", on=intel[:24], count=24, age="6d", cpu="100m", memory="200Mi")
    parent = next(item for item in c.objects if item["kind"] == "ReplicaSet" and item["metadata"]["name"].startswith("embed-"))  # fmt: skip
    for number in range(6):
        pod = add_pod(
            c, "ml", f"{parent['metadata']['name']}-amd{number:02}", node=amd[number], parent=parent, age="40h", labels=parent["metadata"]["labels"], cpu="100m", memory="200Mi",
        )  # fmt: skip
        crash(c, pod, code=132, restarts=430 + number, ago=f"{60 + 20 * number}s")
    for manifest in (parent, c.find("Deployment", "embed")):
        manifest["spec"]["replicas"] = manifest["status"]["replicas"] = 30
    c.find("Deployment", "embed")["status"]["unavailableReplicas"] = 6


def cannot_pull(c: Cluster, pods: Sequence[Object], image: str, error: str) -> None:
    """Let the kubelet fail to pull the image of some pods; the container's status repeats the error."""
    for pod in pods:
        text = f'Back-off pulling image "{image}": ErrImagePull: failed to pull and unpack image "{image}": {error}'
        pod["spec"]["containers"][0]["image"] = image
        pod["status"]["containerStatuses"][0] |= {"image": image, "state": {"waiting": {"reason": "ImagePullBackOff", "message": text}}}  # fmt: skip
        c.event(
            pod, "BackOff", f'Back-off pulling image "{image}"', last="20s", first="25m", count=90, source="kubelet"
        )


@incident(
    story="The new subnet in us-east-1c has no route to a NAT gateway. Nodes there join by way of VPC endpoints, and every image from a public registry times out: nine pods of three teams in 26 minutes. "
    "The engineer has kubectl's lists of nodes, NodeClaims, NodePools and pods, and no events.",
    cause="9 pods of 3 workloads cannot pull their images for 26 minutes: the registries time out, and only on the nodes in us-east-1c.",
    thread="aws/karpenter-provider-aws#988",
    must=[n(9), "us-east-1c", r"\bpull", r"time ?out|timed out|times out"],
    must_not=[LAUNCHES, PENDING, r"rate limit", r"arm64", r"no NodePool|karpenter[^\n]{0,40}(down|not running)"],
    listed=("Node", "NodeClaim", "NodePool", "EC2NodeClass", "Pod"),
    first=2,
)
def pulls_time_out_in_one_zone(c: Cluster) -> None:
    usual(c, 6)
    fresh = [add_node(c, "general", "m6i.xlarge", "us-east-1c", age="31m") for _ in range(3)]
    for name, image in (
        ("shop/search", "docker.io/opensearchproject/opensearch:3.3"),
        ("web/edge", "docker.io/library/nginx:1.29"),
        ("data/airbyte", "ghcr.io/airbytehq/server:2.1"),
    ):
        pods = add_workload(c, name, on=fresh, age="26m", cpu="700m", memory="1Gi", waiting="ImagePullBackOff")
        host = "registry-1.docker.io" if "docker.io" in image else "ghcr.io"
        cannot_pull(c, pods, image, f'failed to do request: Head "https://{host}/v2/": dial tcp 203.0.113.40:443: i/o timeout')  # fmt: skip


@incident(
    story="Google Cloud. Gatekeeper was moved to its own namespace, and its pods have the priority class system-cluster-critical. GKE allows that class only in namespaces with a ResourceQuota for it, which kube-system has "
    "and gatekeeper-system has not: none of its three pods can be created for 34 minutes.",
    cause="None of the 3 pods of gatekeeper-system/gatekeeper can be created for 34 minutes: the namespace has no quota that allows the priority class system-cluster-critical.",
    thread="cilium/cilium#13852",
    must=["gatekeeper", n(3), r"creat", r"priority ?class|system-cluster-critical"],
    must_not=[LAUNCHES, PENDING, r"quota[^\n]{0,20}(is |are )?(exhausted|used up|exceeded|full)", r"\bEC2\b|\bAWS\b"],
    karpenter_version="1.13.0",
    settings={"CLUSTER_NAME": "orders-gke"},
)  # fmt: skip
def critical_priority_in_a_namespace_without_quota(c: Cluster) -> None:
    gcp_nodeclass(c)
    add_pool(c, "general", families=(), sizes=())
    pairs = [add_node(c, "general", "m6i.xlarge", c.zones[number % 3]) for number in range(4)]
    add_workload(c, "orders/storefront", on=pairs, count=12)
    add_workload(c, "gatekeeper-system/gatekeeper", count=0, replicas=3, age="40m", cpu="100m", memory="512Mi")
    text = "Error creating: insufficient quota to match these scopes: [{PriorityClass In [system-node-critical system-cluster-critical]}]"
    refuse_pods(c, "gatekeeper", text, first="34m", last="40s", count=19)
    to_gcp(c)


@incident(
    story="The user data of pool hpc sets the kubelet's topologyManagerPolicy to single-numa-node. A solver pod asks for twelve whole cores, more than one NUMA node of the instance has free. The kubelet rejects the pod, the "
    "ReplicaSet makes another, and kube-scheduler sends it to the same node: 60 failed pods in ten minutes.",
    cause="The kubelet rejects the pods of hpc/solver (TopologyAffinityError: their resources cannot be allocated on one NUMA node): 60 failed in 10 minutes, and none runs.",
    thread="kubernetes/kubernetes#84869",
    must=["hpc/solver", r"Topology|NUMA", r"reject|refus|admi", n(60)],
    must_not=[LAUNCHES, PENDING, "device"],
)  # fmt: skip
def numa_rejects_pods(c: Cluster) -> None:
    usual(c)
    add_nodeclass(c, "hpc")
    add_pool(c, "hpc", nodeclass="hpc", families=("m7i",), sizes=("4xlarge",))
    host = add_node(c, "hpc", "m7i.4xlarge", c.zones[1], age="3h")
    add_workload(c, "hpc/solver", count=0, replicas=1, age="11m", pool="hpc")
    parent = next(manifest for manifest in c.objects if manifest["kind"] == "ReplicaSet" and manifest["metadata"]["name"].startswith("solver-"))  # fmt: skip
    text = "Pod was rejected: Resources cannot be allocated with Topology locality"
    for number in range(60):
        pod = add_pod(
            c, "hpc", f"{parent['metadata']['name']}-rej{number:02}", node=host, parent=parent, age=f"{5 + 10 * number}s", labels=parent["metadata"]["labels"],
            cpu="12", memory="24Gi", spec={"nodeSelector": {"karpenter.sh/nodepool": "hpc"}}, phase="Failed",
        )  # fmt: skip
        pod["status"] |= {"reason": "TopologyAffinityError", "message": text}
        del pod["status"]["containerStatuses"]
        c.event(pod, "TopologyAffinityError", text.removeprefix("Pod was rejected: "), last=f"{5 + 10 * number}s", source="kubelet")  # fmt: skip


@incident(
    story="The namespace reports got Istio's injection. The main container of each hourly export ends after two minutes, but the sidecar runs on, so the Job never completes. The pods are marked do-not-disrupt: eight of them "
    "hold four nodes that do nothing else.",
    cause="8 pods of the CronJob reports/export have finished, but their sidecar istio-proxy runs on: the Jobs never complete, and do-not-disrupt keeps 4 nodes for them.",
    thread="istio/istio#11045",
    must=[n(8), "reports/export", r"istio-proxy|sidecar", r"finish|complete|ended|terminated|exited|done", n(4)],
    must_not=[LAUNCHES, PENDING, r"crash"],
)  # fmt: skip
def sidecars_outlive_their_jobs(c: Cluster) -> None:
    usual(c)
    add_pool(c, "reports", labels={"team": "reports"})
    pairs = [add_node(c, "reports", "m6i.xlarge", c.zones[number % 3], age=f"{9 - 2 * number}h") for number in range(4)]
    cron = c.add("CronJob", "export", "reports", age="200d", spec={"schedule": "0 * * * *", "concurrencyPolicy": "Allow", "jobTemplate": {"spec": {}}})  # fmt: skip
    for number in range(8):
        age = f"{30 + 60 * number}m"
        [pod] = add_workload(
            c, f"reports/export-2940{number:04}", kind="Job", on=[pairs[3 - number // 2]], age=age, cpu="1200m", memory="2Gi", container="export", annotations=PROTECTED,
            spec={"nodeSelector": {"team": "reports"}},
        )  # fmt: skip
        job = c.find("Job", f"export-2940{number:04}")
        job["metadata"]["ownerReferences"] = [{"apiVersion": "batch/v1", "kind": "CronJob", "name": "export", "uid": cron["metadata"]["uid"], "controller": True}]  # fmt: skip
        job["status"] |= {"ready": 0, "startTime": c.at(age)}
        sidecar = {"name": "istio-proxy", "image": "docker.io/istio/proxyv2:1.28.0", "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}}}  # fmt: skip
        pod["spec"]["containers"].append(sidecar)
        ended = {"exitCode": 0, "reason": "Completed", "startedAt": c.at(age), "finishedAt": c.at(f"{28 + 60 * number}m")}  # fmt: skip
        not_ready(pod)["state"] = {"terminated": ended}
        running = {"state": {"running": {"startedAt": c.at(age)}}, "ready": True, "restartCount": 0}
        pod["status"]["containerStatuses"].append({"name": "istio-proxy", "image": sidecar["image"], **running})


@incident(
    story="A policy of Kyverno denies NodeClaims without an owner label since 25 minutes. Karpenter writes that to its log only: there is no event, no NodeClaim and no condition. Karpenter's pods are ready and its lease is fresh. "
    "Nine pods are pending.",
    cause="9 pods have been pending for 25 minutes and Karpenter has launched nothing for them, although its NodePool fits; the cluster's objects do not say why, Karpenter's log does.",
    thread="aws/karpenter-provider-aws#6879",
    must=[n(9), r"25 ?m|24 ?m|26 ?m", r"no NodeClaim|none was launched|not launched|launched (no|nothing)|nothing (has been |was )?launched|created (no|nothing)|has not", r"\blogs?\b"],
    must_not=[ROOM, ICE, r"limit", "service control", "quota"],
)  # fmt: skip
def nodeclaims_denied_in_silence(c: Cluster) -> None:
    usual(c)
    waiting(c, "orders/checkout", 9, "25m")
