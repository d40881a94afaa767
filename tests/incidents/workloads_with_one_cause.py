"""One cause behind several workloads, and causes that the objects of the failing pods do not name."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import big_fleet, nominated, unschedulable, usual
from tests.incidents.incident import ICE, LAUNCHES, incident, n
from tests.incidents.node_lives import add_node_events
from tests.incidents.node_objects import add_node, both
from tests.incidents.objects import suffix
from tests.incidents.pods import add_daemonset, add_pod, add_workload, no_node, waiting
from tests.incidents.pools import add_nodeclass, add_pool
from tests.incidents.revisions import PENDING, SMALL
from tests.incidents.workloads import cannot_pull, crash, not_ready
from tests.incidents.workloads_together import not_ready_since


@incident(
    story="Cilium's operator taints each joining node node.cilium.io/agent-not-ready until the agent is up. The NodePool does not name the taint under startupTaints, so Karpenter thinks that the pending pods cannot go to the node it just launched, and launches a second one, which stays empty and is removed: 9 empty nodes in the last hour. One node is joining now.",
    cause="Karpenter launches each node twice (9 empty nodes removed in the last hour), because new nodes get the taint node.cilium.io/agent-not-ready, which NodePool general does not have under startupTaints.",
    thread="aws/karpenter-provider-aws#6267, chanzuckerberg/cztack#895",
    must=[r"\bgeneral\b", n(9), r"[Ee]mpty", r"node\.cilium\.io/agent-not-ready", r"startupTaints"],
    must_not=[ICE, r"Underutilized", r"consolidateAfter is"],
)
def startup_taint_is_not_declared(c: Cluster) -> None:
    taint = {"key": "node.cilium.io/agent-not-ready", "effect": "NoSchedule"}
    usual(c, 10, disruption={"consolidateAfter": "1m"})
    c.find("DaemonSet", "aws-node")["metadata"]["name"] = "cilium"
    for i in range(9):
        add_node_events(c, "general", i, last=150 + 370 * i, lived=95, reason="Empty/Delete")
    fresh = add_node(c, "general", "m6i.xlarge", c.zones[0], age="50s", stage="Registered", uninitialized=("NodeNotReady", "Node status is NotReady"), taints=[taint])  # fmt: skip
    second = add_node(c, "general", "m6i.xlarge", c.zones[1], age="14s", stage="Launched")
    pods = waiting(c, "orders/checkout", 3, "55s")
    nominated(c, pods, [fresh], last="50s")
    nominated(c, pods, [second], last="14s")


@incident(
    story="maxPods 110 was copied from a blog into EC2NodeClass dense, but the VPC CNI has no prefix delegation. An m6i.xlarge has 56 addresses for pods: on two nodes the 7 pods beyond get none, although the subnets are nearly empty.",
    cause="7 pods on 2 nodes of dense have not started for 33 minutes: no IP address is left for them on their nodes; maxPods 110 of EC2NodeClass dense is more than the addresses of an m6i.xlarge.",
    thread="aws/karpenter-provider-aws#7318, aws/amazon-vpc-cni-k8s#2749",
    must=[n(7), n(2), r"address|\bIP\b", r"33 ?m", r"maxPods|110"],
    must_not=[LAUNCHES, PENDING, r"subnet[^\n]{0,40}(full|free|no|left)"],
)
def more_pods_than_addresses(c: Cluster) -> None:
    usual(c, 6)
    add_nodeclass(c, "dense", spec={"kubelet": {"maxPods": 110}})
    add_pool(c, "dense", nodeclass="dense", labels={"density": "high"})
    hosts = [add_node(c, "dense", "m6i.xlarge", zone, age="6d") for zone in c.zones[:2]]
    for pair in hosts:
        for manifest in both(pair):
            for key in ("capacity", "allocatable"):
                manifest["status"][key]["pods"] = "110"
    for manifest, template in c.daemonsets:
        if manifest["metadata"]["name"] != "ebs-csi-node":
            template["spec"] = {**template["spec"], "hostNetwork": True}
    add_workload(c, "iot/device", on=hosts, count=110, age="5d", cpu="15m", memory="40Mi", pool="dense")
    for name, count in (("iot/gateway", 4), ("iot/rules", 3)):
        for pod in add_workload(
            c, name, on=hosts, count=count, age="33m", waiting="ContainerCreating", pool="dense", **SMALL
        ):
            text = 'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "4c1f": plugin type="aws-cni" name="aws-cni" failed (add): add cmd: failed to assign an IP address to container'
            c.event(pod, "FailedCreatePodSandBox", text, last="12s", first="33m", count=140, source="kubelet")


@incident(
    story="A typo in the image tag of RabbitMQ's StatefulSet was repaired by a rollback two hours ago, but the controller waits for the broken pod (forced rollback): rabbit-2 still has the wrong image and never starts until somebody deletes it.",
    cause="mq/rabbit-2 cannot pull its image for 3 hours; the StatefulSet's template names another image by now, and the pod must be deleted to get it.",
    thread="kubernetes/kubernetes#67250",
    must=["mq/rabbit-2", r"image|pull", r"\b3 ?h|2h5\d", r"template|revision|delet|older|outdated"],
    must_not=[LAUNCHES, PENDING, r"rate limit|401|arm64"],
)
def stateful_set_waits_for_a_broken_pod(c: Cluster) -> None:
    usual(c, 6)
    hosts = [add_node(c, "general", "m6i.xlarge", zone, age="12d") for zone in c.zones]
    pods = add_workload(c, "mq/rabbit", kind="StatefulSet", on=hosts, age="11d", cpu="2", memory="6Gi", image="docker.io/library/rabbitmq:4.1.4")  # fmt: skip
    for pod in pods:
        pod["metadata"]["labels"] |= {"controller-revision-hash": "rabbit-6c9f7d5b8", "statefulset.kubernetes.io/pod-name": pod["metadata"]["name"]}  # fmt: skip
    broken = pods[2]
    broken["metadata"]["creationTimestamp"] = c.at("3h")
    broken["metadata"]["labels"]["controller-revision-hash"] = "rabbit-7f4d8c9b6"
    broken["status"]["startTime"] = c.at("3h")
    for item in broken["status"]["conditions"]:
        item["lastTransitionTime"] = c.at("3h")
    not_ready(broken)
    broken["status"]["phase"] = "Pending"
    cannot_pull(c, [broken], "docker.io/library/rabbitmq:4.1.44", "failed to resolve reference: docker.io/library/rabbitmq:4.1.44: not found")  # fmt: skip
    parent = c.find("StatefulSet", "rabbit")
    parent["spec"]["updateStrategy"] = {"type": "RollingUpdate"}
    parent["spec"]["template"]["spec"]["containers"][0]["image"] = "docker.io/library/rabbitmq:4.1.4"
    parent["metadata"]["generation"] = 9
    parent["status"] = {"replicas": 3, "readyReplicas": 2, "availableReplicas": 2, "currentReplicas": 2, "updatedReplicas": 2, "currentRevision": "rabbit-6c9f7d5b8", "updateRevision": "rabbit-6c9f7d5b8", "observedGeneration": 9}  # fmt: skip


@incident(
    story="istiod crashes since its upgrade (exit code 255). The sidecars of pods that started since get no configuration, so their container istio-proxy is not ready: 9 pods of four workloads in three namespaces, for up to 27 minutes.",
    cause="istio-system/istiod crashes (exit code 255), so the container istio-proxy of 9 pods of 4 workloads is not ready for 27 minutes.",
    thread="istio/istio#26802",
    must=["istio-system/istiod", r"crash|255|restart", n(9), r"istio-proxy|sidecar", r"27 ?m"],
    must_not=[LAUNCHES, PENDING, r"out of memory|OOM"],
)
def sidecars_wait_for_istiod(c: Cluster) -> None:
    hosts = usual(c, 8)
    istiod = add_workload(c, "istio-system/istiod", on=c.system, age="35m", cpu="200m", memory="512Mi", container="discovery", image="docker.io/istio/pilot:1.29.1")  # fmt: skip
    for pod in istiod:
        crash(c, pod, code=255, restarts=9, ago="70s")
    fresh = [add_node(c, "general", "m6i.xlarge", zone, age="29m") for zone in c.zones]
    for name, count in (("shop/cart", 3), ("shop/web", 2), ("pay/api", 2), ("crm/mail", 2)):
        add_workload(c, name + "-a", on=hosts[:2], age="4d", **SMALL)
        for pod in add_workload(c, name, on=fresh, count=count, age="27m", cpu="100m", memory="128Mi"):
            not_ready_since(pod, c.at("27m"))
            pod["status"]["containerStatuses"][0]["ready"] = True
            pod["spec"]["containers"].append({"name": "istio-proxy", "image": "docker.io/istio/proxyv2:1.29.1", "resources": {}})  # fmt: skip
            pod["status"]["containerStatuses"].append({"name": "istio-proxy", "image": "docker.io/istio/proxyv2:1.29.1", "ready": False, "started": False, "restartCount": 0, "state": {"running": {"startedAt": c.at("27m")}}})  # fmt: skip
            for item in pod["status"]["conditions"]:
                if item["type"] in ("Ready", "ContainersReady"):
                    item["message"] = "containers with unready status: [istio-proxy]"
            c.event(pod, "Unhealthy", "Startup probe failed: HTTP probe failed with statuscode: 503", last="3s", first="27m", count=1600, source="kubelet")  # fmt: skip


@incident(
    story="The NFS server of the cluster crashes because its volume is full. Ten pods of three workloads that were moved by consolidation this morning cannot mount their shares from it; older pods hang, but run.",
    cause="files/nfs-server crashes (exit code 1), so 10 pods of 3 workloads have not started for 38 minutes: their NFS mounts are refused.",
    thread="kubernetes-csi/csi-driver-nfs#573",
    must=["files/nfs-server", "crash", n(10), r"mount", r"38 ?m"],
    must_not=[LAUNCHES, PENDING, r"efs", "out of memory"],
)
def file_server_of_the_cluster_crashes(c: Cluster) -> None:
    hosts = usual(c, 8)
    add_workload(c, "files/nfs-server", kind="StatefulSet", on=hosts[:1], age="60d", **SMALL)
    crash(c, c.objects[-1], code=1, restarts=19, ago="2m")
    fresh = [add_node(c, "general", "m6i.xlarge", zone, age="40m") for zone in c.zones]
    for name, count in (("cms/editor", 4), ("cms/render", 4), ("crm/docs", 2)):
        for pod in add_workload(c, name, on=fresh, count=count, age="38m", waiting="ContainerCreating", **SMALL):
            volume = "share-" + name.split("/")[1]
            text = f'MountVolume.SetUp failed for volume "{volume}" : rpc error: code = Internal desc = mount failed: exit status 32\nMounting command: mount\nMounting arguments: -t nfs -o nfsvers=4.1 nfs-server.files.svc.cluster.local:/{volume} /var/lib/kubelet/pods/1f/volumes/kubernetes.io~csi/{volume}/mount\nOutput: mount.nfs: Connection refused for nfs-server.files.svc.cluster.local:/{volume} on /var/lib/kubelet/pods/1f/volumes/kubernetes.io~csi/{volume}/mount\n'
            c.event(pod, "FailedMount", text, last="70s", first="37m", count=20, source="kubelet")


@incident(
    story="NodePool general was opened to arm64 yesterday. The cluster's old kube-proxy selects amd64 nodes only, so no Service is reachable on the four Graviton nodes: 9 pods of three multi-architecture workloads crash there (exit code 1); their replicas on amd64 run.",
    cause="The DaemonSet kube-proxy has no pod on the 4 arm64 nodes (it selects amd64), so 9 pods of 3 workloads crash there and run on amd64.",
    thread="aws/containers-roadmap#1115",
    must=[n(9), "crash", r"arm64|m7g", r"kube-proxy"],
    must_not=[LAUNCHES, PENDING, r"no build|exec format|not built"],
)
def kube_proxy_is_not_on_arm_nodes(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general", families=("m6i", "m7g"), arch=("amd64", "arm64"))
    amd = big_fleet(c, "general", 12)
    arm = [add_node(c, "general", "m7g.xlarge", c.zones[i % 3], age="20h", without=["kube-proxy"]) for i in range(4)]
    manifest, template = next(pair for pair in c.daemonsets if pair[0]["metadata"]["name"] == "kube-proxy")
    manifest["spec"]["template"]["spec"]["nodeSelector"] = {"kubernetes.io/arch": "amd64"}
    template["spec"]["nodeSelector"] = {"kubernetes.io/arch": "amd64"}
    for name in ("shop/web", "pay/api", "bi/cube"):
        pods = add_workload(c, name, on=[*arm[:3], *amd[:5]], age="19h", **SMALL)
        for pod in pods[:3]:
            crash(c, pod, code=1, restarts=200, ago="2m")


@incident(
    story="The memory limit of the OpenTelemetry agent was set for small nodes. On the four m7i.4xlarge nodes, which run five times as many pods, it is killed for want of memory again and again; on twelve m7i.xlarge nodes of the same NodePool it runs.",
    cause="The DaemonSet obs/otel-agent is killed for its memory limit (OOMKilled) on the 4 m7i.4xlarge nodes, and runs on the m7i.xlarge nodes.",
    thread="open-telemetry/opentelemetry-helm-charts#891",
    must=["obs/otel-agent", n(4), r"OOMKilled|memory", r"m7i\.4xlarge|4xlarge|larg"],
    must_not=[LAUNCHES, PENDING, r"no build", r"all nodes"],
)
def agent_is_too_small_for_large_nodes(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general", families=("m7i",), sizes=("xlarge", "4xlarge"))
    small = [add_node(c, "general", "m7i.xlarge", c.zones[i % 3], age="9d") for i in range(12)]
    add_workload(c, "shop/web", on=small, count=36, age="8d")
    large = [add_node(c, "general", "m7i.4xlarge", c.zones[i % 3], age="8d") for i in range(4)]
    add_workload(c, "shop/feed", on=large, count=52, age="7d", cpu="1", memory="3200Mi")
    manifest = add_daemonset(c, "obs", "otel-agent", cpu="50m", memory="200Mi")
    template = c.daemonsets.pop()[1]
    for pair in [*c.system, *small, *large]:
        pod = add_pod(c, "obs", f"otel-agent-{suffix(pair.name)}", node=pair, parent=manifest, age="6d", **template)
        if pair in large:
            crash(c, pod, code=137, restarts=160, ago="3m", reason="OOMKilled")
    manifest["status"] = {"desiredNumberScheduled": 18, "currentNumberScheduled": 18, "numberReady": 14, "numberAvailable": 14, "numberUnavailable": 4, "numberMisscheduled": 0, "updatedNumberScheduled": 18, "observedGeneration": 2}  # fmt: skip


@incident(
    story="The company's registry answers 503 since its database failed over. Six workloads that were moved by a consolidation cannot pull their images: 14 pods for 17 minutes.",
    cause="14 pods of 6 workloads cannot pull their images for 17 minutes: the registry registry.example answers 503 Service Unavailable.",
    thread="goharbor/harbor#13740",
    must=[n(14), r"\bpull", r"503|unavailable", r"17 ?m"],
    must_not=[LAUNCHES, PENDING, r"rate limit|401|not found"],
)
def registry_is_down(c: Cluster) -> None:
    usual(c, 8)
    fresh = [add_node(c, "general", "m6i.xlarge", c.zones[i % 3], age="19m") for i in range(4)]
    for name, count in (
        ("shop/web", 4),
        ("shop/cart", 2),
        ("pay/api", 2),
        ("crm/mail", 2),
        ("bi/cube", 2),
        ("ads/rank", 2),
    ):
        image = f"registry.example/{name}:4.1"
        pods = add_workload(c, name, on=fresh, count=count, age="17m", waiting="ImagePullBackOff", **SMALL)
        cannot_pull(c, pods, image, f'failed to resolve reference "{image}": unexpected status from HEAD request to https://registry.example/v2/{name}/manifests/4.1: 503 Service Unavailable')  # fmt: skip


@incident(
    story="kube-scheduler lost its lease 15 minutes ago and did not come back. The new pods of four workloads have no scheduling condition at all, so Karpenter, which waits for kube-scheduler's verdict, launches nothing.",
    cause="kube-scheduler does not work: its lease was last renewed 15 minutes ago, and 16 pods of four workloads have not been looked at for up to 14 minutes.",
    thread="kubernetes/kubernetes#70730",
    must=[r"kube-scheduler", n(16), r"14 ?m"],
    must_not=[LAUNCHES, ICE, r"karpenter (is|does) not run"],
    first=1,
)
def scheduler_is_down_for_four_workloads(c: Cluster) -> None:
    usual(c)
    spec = {"holderIdentity": "ip-10-24-0-7_4b1d", "leaseDurationSeconds": 15, "renewTime": c.at("15m")}
    c.add("Lease", "kube-scheduler", "kube-system", age="200d", spec=spec)
    for name, count, since, cpu in (("orders/checkout", 5, "14m", "1"), ("shop/web", 4, "9m", "250m")):
        waiting(c, name, count, since, scheduled=False, cpu=cpu, memory="1Gi")
    for name, count, since, cpu in (("etl/loader", 4, "11m", "2"), ("ops/audit", 3, "6m", "100m")):
        waiting(c, name, count, since, scheduled=False, cpu=cpu, memory="2Gi")


@incident(
    story="Since the platform team tainted the only NodePool this morning, the pods of three teams find no node: none of them tolerates team=platform. Their requests differ.",
    cause="9 pods of three workloads do not tolerate the taint team=platform:NoSchedule of NodePool general, the only one.",
    thread="aws/karpenter-provider-aws#6256",
    must=[r"team=platform:NoSchedule", n(9), r"\bgeneral\b", r"52 ?m"],
    must_not=[LAUNCHES, ICE, "no NodePool accepts"],
    first=1,
)
def three_teams_do_not_tolerate_a_new_taint(c: Cluster) -> None:
    usual(c, 4, template={"taints": [{"key": "team", "value": "platform", "effect": "NoSchedule"}]})
    text = no_node({"Insufficient cpu": 6})
    for name, count, minutes, cpu in (("reports/export", 4, 52, "2"), ("crm/mailer", 3, 41, "1"), ("shop/search", 2, 17, "3")):  # fmt: skip
        pods = waiting(c, name, count, f"{minutes}m", text, cpu=cpu, memory="4Gi")
        unschedulable(c, pods, "did not tolerate taint (taint=team=platform:NoSchedule)", minutes=minutes)
