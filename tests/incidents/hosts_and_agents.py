"""Pods that are bound to a node and do not run, or not for long: agents, runtimes, kubelets and probes."""

from __future__ import annotations

from typing import Any

from tests.incidents.cluster import Cluster, NodePair, owned_by
from tests.incidents.fleets import usual
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n
from tests.incidents.node_objects import CNI_NOT_READY, add_node, both
from tests.incidents.objects import Object, condition, suffix
from tests.incidents.pods import add_pod, add_workload, waiting
from tests.incidents.pools import add_nodeclass, add_pool
from tests.incidents.workloads import crash, not_ready

PENDING = r"[1-9]\d* pods?[^\n]{0,30} pending"


def _rejected(
    c: Cluster, name: str, host: NodePair, *, count: int, every: int, told: tuple[str, str], **pod: Any
) -> None:
    """Add a Deployment of which none runs, and its pods that the kubelet of a host rejected, every so many seconds."""
    reason, text = told
    add_workload(c, name, count=0, replicas=1, age="5d", **pod)
    namespace, short = name.split("/")
    parent = next(item for item in c.objects if item["kind"] == "ReplicaSet" and owned_by(item, short))
    for number in range(count):
        age = f"{6 + every * number}s"
        labels = parent["metadata"]["labels"]
        item = add_pod(c, namespace, f"{parent['metadata']['name']}-{suffix(name, number)}", node=host, parent=parent, age=age, labels=labels, phase="Failed", **pod)  # fmt: skip
        item["status"] |= {"reason": reason, "message": f"Pod was rejected: {text}"}
        del item["status"]["containerStatuses"]
        c.event(item, reason, text, last=age, source="kubelet")


@incident(
    story="A queue operator puts a finalizer on the pods of mq/broker, and was uninstalled this morning. mq/broker-1 was deleted 5 hours ago and has stopped; the finalizer keeps it, so its StatefulSet cannot start it again. The node and its kubelet are well.",
    cause="mq/broker-1 has been terminating for 5 hours: its finalizer queues.example.com/drain is not removed, so its StatefulSet cannot start it again.",
    thread="kubernetes-sigs/kueue#8268",
    must=["mq/broker", "finalizer", r"queues\.example\.com/drain", r"\b5 ?h|4h5\d|29\d ?m|300 ?m"],
    must_not=[LAUNCHES, PENDING, r"kubelet (cannot|does not)|cannot be killed", "do-not-disrupt", "PodDisruptionBudget|PDB", r"not ready for|silent"],
)  # fmt: skip
def finalizer_keeps_a_pod(c: Cluster) -> None:
    pairs = usual(c, 3)
    hosts = [add_node(c, "general", "m6i.2xlarge", zone, age="9d") for zone in c.zones]
    assert pairs
    pods = add_workload(c, "mq/broker", kind="StatefulSet", on=hosts, count=3, age="8d", cpu="3", memory="12Gi")
    late = pods[1]
    late["metadata"] |= {
        "deletionTimestamp": c.at("4h59m"),
        "deletionGracePeriodSeconds": 30,
        "finalizers": ["queues.example.com/drain"],
    }
    ended = {"exitCode": 0, "reason": "Completed", "startedAt": c.at("8d"), "finishedAt": c.at("4h59m")}
    not_ready(late)["state"] = {"terminated": ended}
    late["status"]["phase"] = "Succeeded"
    c.find("StatefulSet", "broker")["status"] |= {"readyReplicas": 2, "availableReplicas": 2}


@incident(
    story="The policy AmazonEKS_CNI_Policy was detached from the node role. The running nodes keep their addresses; on the two new nodes aws-node cannot start, says so in events (MissingIAMPermissions), and the nodes stay NotReady for 14 minutes. Six pods are pending.",
    cause="2 new nodes of general stay NotReady for 14 minutes because aws-node may not call ec2:DescribeNetworkInterfaces (MissingIAMPermissions); 6 pods are pending.",
    thread="aws/amazon-vpc-cni-k8s#1520",
    must=[r"aws-node|\bCNI\b|network", r"permission|authori|\bIAM\b", r"ec2:DescribeNetworkInterfaces", n(2), n(6)],
    must_not=[LAUNCHES, ROOM, ICE, r"no (free )?address"],
)  # fmt: skip
def cni_lacks_permissions(c: Cluster) -> None:
    usual(c)
    agent = c.find("DaemonSet", "aws-node")
    for number, zone in enumerate(c.zones[:2]):
        pair = add_node(c, "general", "m6i.xlarge", zone, age="14m", stage="Registered", uninitialized=("NodeNotReady", "Node status is NotReady"), ready=CNI_NOT_READY, without=("aws-node",))  # fmt: skip
        spec = {"priorityClassName": "system-node-critical", "tolerations": [{"operator": "Exists"}], "hostNetwork": True}  # fmt: skip
        pod = add_pod(c, "kube-system", f"aws-node-zz{number}", node=pair, parent=agent, age="13m", cpu="50m", memory="0", labels={"app.kubernetes.io/name": "aws-node"}, spec=spec)  # fmt: skip
        not_ready(pod)
        text = "Unauthorized operation: failed to call ec2:DescribeNetworkInterfaces due to missing permissions. Please refer https://github.com/aws/amazon-vpc-cni-k8s/blob/master/docs/iam-policy.md to attach relevant policy to IAM role"
        c.event(pod, "MissingIAMPermissions", text, last="40s", first="13m", count=9, source="aws-node")
    waiting(c, "orders/checkout", 6, "15m")


@incident(
    story="A second scheduler, ci-scheduler, counts requests wrongly and sends each new pod of ci/runner to the same full node. The kubelet rejects it (OutOfcpu), and the ReplicaSet makes the next one: 26 failed in 13 minutes, none runs.",
    cause="The kubelet of one node rejects the pods of ci/runner (OutOfcpu: not enough CPU on the node): 26 failed in 13 minutes, and none runs.",
    thread="kubernetes/kubernetes#98928",
    must=["ci/runner", r"OutOfcpu|reject", r"\bcpus?\b|OutOfcpu", n(26)],
    must_not=[LAUNCHES, PENDING, ICE, "limit"],
)  # fmt: skip
def kubelet_is_out_of_cpu(c: Cluster) -> None:
    pairs = usual(c)
    text = "Node didn't have enough resource: cpu, requested: 1500, used: 3630, capacity: 3920"
    spec = {"schedulerName": "ci-scheduler"}
    add_workload(c, "ci-system/ci-scheduler", on=c.system[:1], age="30d", cpu="100m", memory="64Mi")
    _rejected(
        c, "ci/runner", pairs[0], count=26, every=30, told=("OutOfcpu", text), cpu="1500m", memory="2Gi", spec=spec
    )


@incident(
    story="The pods of shop/proxy set net.core.somaxconn, which the kubelet does not allow. kube-scheduler binds each pod, the kubelet rejects it, and the ReplicaSet makes the next one: 48 failed in 16 minutes.",
    cause="The kubelet rejects the pods of shop/proxy: the sysctl net.core.somaxconn is not allowed (SysctlForbidden); 48 failed in 16 minutes, and none runs.",
    thread="kubernetes/kubernetes#72593",
    must=["shop/proxy", r"sysctl", r"net\.core\.somaxconn", n(48)],
    must_not=[LAUNCHES, PENDING, ICE],
)  # fmt: skip
def sysctl_is_forbidden(c: Cluster) -> None:
    pairs = usual(c, 3)
    host = add_node(c, "general", "m6i.xlarge", c.zones[0], age="6d")
    assert pairs
    spec = {"securityContext": {"sysctls": [{"name": "net.core.somaxconn", "value": "4096"}]}}
    text = 'forbidden sysctl: "net.core.somaxconn" not allowlisted'
    _rejected(
        c, "shop/proxy", host, count=48, every=20, told=("SysctlForbidden", text), cpu="500m", memory="1Gi", spec=spec
    )


@incident(
    story="Since this morning's release each pod of shop/catalog answers its liveness probe too slowly under load, and the kubelet restarts it every few minutes. Six of eight pods are affected, with about 14 restarts each; three of them wait in CrashLoopBackOff at the moment.",
    cause="The kubelet restarts 6 of 8 pods of shop/catalog again and again, because their liveness probe fails (timeout on :8080/healthz); 14 restarts each.",
    thread="kubernetes/kubernetes#89898",
    must=["shop/catalog", r"liveness|probe", n(6) + "|" + n(3), r"restart|crash"],
    must_not=[LAUNCHES, PENDING, r"OOM|(out of|want of) memory", "arm64|exec format"],
)  # fmt: skip
def probe_restarts_pods(c: Cluster) -> None:
    pairs = usual(c)
    hosts = [add_node(c, "general", "m6i.2xlarge", zone, age="9d") for zone in c.zones]
    assert pairs
    pods = add_workload(c, "shop/catalog", on=hosts, count=8, age="5h", cpu="2", memory="6Gi")
    for number, pod in enumerate(pods[:6]):
        if number < 3:
            crash(c, pod, code=137, restarts=14 + number, ago="90s")
        else:
            ended = {"reason": "Error", "exitCode": 137, "startedAt": c.at("9m"), "finishedAt": c.at("2m")}
            state = {"running": {"startedAt": c.at("2m")}}
            not_ready(pod).update(restartCount=14, state=state, lastState={"terminated": ended})
        text = f'Liveness probe failed: Get "http://10.24.40.{30 + number}:8080/healthz": context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
        c.event(pod, "Unhealthy", text, last="2m", first="58m", count=44, source="kubelet")
        text = "Container app failed liveness probe, will be restarted"
        c.event(pod, "Killing", text, last="2m", first="58m", count=14, kind="Normal", source="kubelet")


@incident(
    story="The root volumes of NodePool ci have 20Gi, and its images have grown. On two nodes the kubelet tries to delete unused images and finds none to delete: the image file system is 91 % full. There is no disk pressure yet, and nothing has been evicted.",
    cause="The disks of 2 nodes of ci are over 90 % full, and the kubelet finds no images to delete (FreeDiskSpaceFailed); pods will be evicted when they fill up.",
    thread="kubernetes/kubernetes#71869",
    must=[n(2) + r"|ip-10-24-", r"disk|file ?system", r"image", r"full|free|9[0-9](\.\d)? ?%|space"],
    must_not=[LAUNCHES, PENDING, r"(under|have|has) disk pressure", r"has evicted|evicted \d"],
)  # fmt: skip
def images_cannot_be_collected(c: Cluster) -> None:
    usual(c)
    disk = {"volumeSize": "20Gi", "volumeType": "gp3", "encrypted": True}
    add_nodeclass(c, "ci", spec={"blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": disk}]})
    add_pool(c, "ci", nodeclass="ci", labels={"team": "ci"}, disruption={"consolidationPolicy": "WhenEmpty"})
    pairs = [add_node(c, "ci", "m6i.xlarge", zone, age="3d") for zone in c.zones]
    for pair in pairs:
        for manifest in both(pair):
            for key in ("capacity", "allocatable"):
                manifest["status"][key]["ephemeral-storage"] = "20959212Ki" if key == "capacity" else "18242267924"
    add_workload(c, "ci/build", on=pairs, count=9, age="2h", spec={"nodeSelector": {"team": "ci"}})
    for pair in pairs[:2]:
        node = both(pair)[0]
        for reason in ("FreeDiskSpaceFailed", "ImageGCFailed"):
            text = "Insufficient free disk space on the node's image filesystem (91.3% of 20.0 GiB used). Failed to free sufficient space by deleting unused images. Consider resizing the disk or deleting unused files."
            c.event(node, reason, text, last="3m", first="54m", count=11, source="kubelet")


@incident(
    story="The disk of one node is throttled, so containerd needs minutes to create a sandbox. The kubelet gives up, tries again, and gets the answer that the name is still reserved for the first attempt. Five pods there are in ContainerCreating for 23 minutes.",
    cause="5 pods on ip-10-24-17-116 have not started for 23 minutes: containerd still holds their sandbox names from earlier attempts (failed to reserve sandbox name); it is slow or stuck there.",
    thread="containerd/containerd#9947",
    must=[n(5), r"ip-10-24-17-116", r"sandbox", r"reserve", r"2[23] ?m"],
    must_not=[LAUNCHES, PENDING, r"no (free )?address|\bIP\b addresses", "image"],
)  # fmt: skip
def sandbox_name_is_reserved(c: Cluster) -> None:
    usual(c, 3)
    host = add_node(c, "general", "m6i.2xlarge", c.zones[1], age="20h")
    assert host.name.startswith("ip-10-24-17-116"), host.name
    add_workload(c, "shop/mail", on=[host], count=3, age="19h", cpu="500m", memory="1Gi")
    for pod in add_workload(c, "shop/web", on=[host], count=5, age="23m", cpu="500m", memory="1Gi", waiting="ContainerCreating"):  # fmt: skip
        text = "Failed to create pod sandbox: rpc error: code = DeadlineExceeded desc = context deadline exceeded"
        c.event(pod, "FailedCreatePodSandBox", text, last="19m", first="19m", source="kubelet")
        meta = pod["metadata"]
        name = f"{meta['name']}_{meta['namespace']}_{meta['uid']}_0"
        text = f'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to reserve sandbox name "{name}": name "{name}" is reserved for "{meta["uid"].replace("-", "")}"'
        c.event(pod, "FailedCreatePodSandBox", text, last="12s", first="18m", count=84, source="kubelet")


@incident(
    story="Cilium hands out pod addresses from a range of 256 per node (cluster-pool). Two large nodes have used theirs up: seven pods of three workloads are in ContainerCreating for 17 minutes. No subnet is involved.",
    cause="7 pods on 2 nodes have not started for 17 minutes: Cilium has no address left for them in the nodes' ranges (range is full).",
    thread="cilium/cilium#15881",
    must=[n(7), n(2), r"cilium", r"range is full|no (more |free )?address|address", r"1[67] ?m"],
    must_not=[LAUNCHES, PENDING, r"subnets?|\bENI\b"],
)  # fmt: skip
def cilium_range_is_full(c: Cluster) -> None:
    usual(c)
    c.find("DaemonSet", "aws-node")["metadata"]["name"] = "cilium"
    hosts = [add_node(c, "general", "m7i.4xlarge", zone, age="6d") for zone in c.zones[:2]]
    for pair in hosts:
        for manifest in both(pair):
            for key in ("capacity", "allocatable"):
                manifest["status"][key]["pods"] = "300"
    add_workload(c, "edge/cells", on=hosts, count=60, age="5d", cpu="100m", memory="200Mi")
    for name, count in (("edge/relay", 3), ("shop/mail", 2), ("feed/push", 2)):
        for pod in add_workload(c, name, on=hosts, count=count, age="17m", cpu="100m", memory="200Mi", waiting="ContainerCreating"):  # fmt: skip
            sandbox = pod["metadata"]["uid"].replace("-", "")
            text = f'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "{sandbox}": plugin type="cilium-cni" name="cilium" failed (add): unable to allocate IP via local cilium agent: [POST /ipam][502] postIpamFailure "range is full"'
            c.event(pod, "FailedCreatePodSandBox", text, last="15s", first="17m", count=76, source="kubelet")


def _message(pod: Object, reason: str, text: str) -> None:
    """Give the last end of a pod's container a reason and a message."""
    pod["status"]["containerStatuses"][0]["lastState"]["terminated"] |= {"reason": reason, "message": text}


@incident(
    story="The new image of pay/worker has its binary in another place. The runtime cannot start the command, and four pods are in CrashLoopBackOff for 33 minutes; the message of their last end says which file is missing.",
    cause="4 pods of pay/worker cannot start for 33 minutes: the command /app/worker does not exist in their image (no such file or directory).",
    thread="moby/moby#38610",
    must=["pay/worker", n(4), r"/app/worker", r"no such file|not exist|missing|not found"],
    must_not=[LAUNCHES, PENDING, "OOM|(out of|want of) memory", "arm64|exec format|architecture"],
)  # fmt: skip
def command_is_missing_in_the_image(c: Cluster) -> None:
    pairs = usual(c)
    hosts = [add_node(c, "general", "m6i.2xlarge", zone, age="9d") for zone in c.zones[:2]]
    assert pairs
    for pod in add_workload(c, "pay/worker", on=hosts, count=4, age="33m", cpu="1", memory="2Gi"):
        crash(c, pod, code=128, restarts=11, ago="2m")
        text = 'failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: error during container init: exec: "/app/worker": stat /app/worker: no such file or directory'
        _message(pod, "StartError", text)
        c.event(pod, "Failed", f"Error: {text}", last="2m", first="33m", count=11, source="kubelet")


@incident(
    story="Both pods of kube-system/metrics-server crash since a certificate expired 42 minutes ago. The HorizontalPodAutoscalers of shop/web and shop/cart cannot read CPU metrics and scale no more, while the load grows. Nothing is pending.",
    cause="Both pods of kube-system/metrics-server crash for 42 minutes, so the HorizontalPodAutoscalers shop/web and shop/cart cannot read metrics and do not scale.",
    thread="kubernetes/kubernetes#83074",
    must=["metrics-server", n(2) + "|both", r"crash|restart", r"HorizontalPodAutoscaler|\bHPA|autoscal|scale"],
    must_not=[LAUNCHES, PENDING, r"cluster-?autoscaler", "OOM|(out of|want of) memory"],
)  # fmt: skip
def metrics_server_crashes(c: Cluster) -> None:
    pairs = usual(c)
    assert pairs
    for pod in add_workload(c, "kube-system/metrics-server", on=c.system, age="40d", cpu="100m", memory="200Mi"):
        crash(c, pod, code=1, restarts=13, ago="70s")
    for name in ("web", "cart"):
        add_workload(c, f"shop/{name}", on=c.system[:1], count=1, age="4d", cpu="50m", memory="64Mi")
        text = "the HPA was unable to compute the replica count: failed to get cpu utilization: unable to get metrics for resource cpu: unable to fetch metrics from resource metrics API: the server is currently unable to handle the request (get pods.metrics.k8s.io)"
        states = [condition("AbleToScale", "True", c.at("4d"), "SucceededGetScale"), condition("ScalingActive", "False", c.at("41m"), "FailedGetResourceMetric", text)]  # fmt: skip
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
        hpa = c.add("HorizontalPodAutoscaler", name, "shop", spec={"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 20}, status={"currentReplicas": 1, "desiredReplicas": 1, "conditions": states})  # fmt: skip
        text = text.removeprefix("the HPA was unable to compute the replica count: ")
        c.event(hpa, "FailedGetResourceMetric", text, last="20s", first="41m", count=164, source="horizontal-pod-autoscaler")  # fmt: skip
