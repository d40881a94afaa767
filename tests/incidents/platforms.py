"""Images, kubelets and devices that do not suit their nodes, and clouds that do not finish a machine."""

from __future__ import annotations

from collections.abc import Sequence

from tests.incidents.cluster import Cluster, NodePair
from tests.incidents.fleets import big_fleet, fleet, nominated, usual
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n
from tests.incidents.node_objects import add_node, both
from tests.incidents.objects import Object, digest
from tests.incidents.other_clouds import ONLY_LINUX, only_on
from tests.incidents.pods import SELECTOR, add_pod, add_workload, no_node, waiting
from tests.incidents.pools import add_karpenter, add_nodeclass, add_pool
from tests.incidents.providers import aks_pool, cluster_api_nodeclass, gcp_nodeclass, to_aks, to_cluster_api, to_gcp
from tests.incidents.workloads import crash

NONE_PENDING = r"[1-9]\d* pods?[^\n]{0,12} pending"
NOT_AWS = r"EC2NodeClass|\bEC2\b|\bAWS\b"


def more_pods(c: Cluster, name: str, on: Sequence[NodePair], count: int, **pod: object) -> list[Object]:
    """Add pods to a Deployment that exists, on other nodes."""
    namespace, name = name.split("/")
    parent = next(item for item in c.objects if item["kind"] == "ReplicaSet" and item["metadata"]["name"].startswith(f"{name}-"))  # fmt: skip
    meta = parent["metadata"]
    return [
        add_pod(c, namespace, f"{meta['name']}-{digest(name, 'more', number)[:5]}", node=on[number % len(on)], parent=parent, labels=meta["labels"], cpu="90m", memory="200Mi", **pod)  # type: ignore[arg-type]
        for number in range(count)
    ]  # fmt: skip


def add_fargate_node(c: Cluster, number: int, kubelet: str, age: str) -> NodePair:
    """Add a node of AWS Fargate, which runs one pod and no DaemonSet."""
    name, zone = f"fargate-ip-10-24-{140 + number}-{31 + 9 * number}.ec2.internal", c.zones[number % len(c.zones)]
    pair = NodePair(zone, c.at(age))
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status", "lastTransitionTime": c.at(age), "lastHeartbeatTime": c.at("40s")}  # fmt: skip
    pair.node = c.add(
        "Node", name, age=age,
        labels={
            "eks.amazonaws.com/compute-type": "fargate", "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", "kubernetes.io/hostname": name.removeprefix("fargate-"),
            "topology.kubernetes.io/region": "us-east-1", "topology.kubernetes.io/zone": zone,
        },
        spec={"providerID": f"aws:///{zone}/{digest(name)[:10]}-{digest(name)[:32]}/{name}", "taints": [{"key": "eks.amazonaws.com/compute-type", "value": "fargate", "effect": "NoSchedule"}]},
        status={
            "capacity": {"cpu": "2", "memory": "7910832Ki", "ephemeral-storage": "30787492Ki", "pods": "1"},
            "allocatable": {"cpu": "2", "memory": "7808432Ki", "ephemeral-storage": "28373752602", "pods": "1"},
            "addresses": [{"type": "InternalIP", "address": f"10.24.{140 + number}.{31 + 9 * number}"}],
            "conditions": [ready],
            "nodeInfo": {"architecture": "amd64", "kubeletVersion": kubelet, "containerRuntimeVersion": "containerd://1.7.27", "osImage": "Amazon Linux 2", "operatingSystem": "linux", "kernelVersion": "5.10.245-241.976.amzn2.x86_64"},
        },
    )  # fmt: skip
    return pair


def add_karpenter_on_fargate(c: Cluster, kubelet: str, others: int = 0) -> None:
    """Run Karpenter's two pods, and pods of one more Deployment, on Fargate."""
    hosts = [add_fargate_node(c, number, kubelet, "118d") for number in range(2 + others)]
    for pod in add_karpenter(c, on=hosts[:2]):
        pod["spec"] |= {"schedulerName": "fargate-scheduler", "priorityClassName": "system-node-critical"}
        pod["metadata"]["labels"]["eks.amazonaws.com/fargate-profile"] = "karpenter"
    if others:
        add_workload(c, "kube-system/external-dns", on=hosts[2:], age="117d", cpu="100m", memory="128Mi", labels={"app.kubernetes.io/name": "external-dns", "eks.amazonaws.com/fargate-profile": "kube-system"}, spec={"schedulerName": "fargate-scheduler"})  # fmt: skip


@incident(
    story="NodePool apps also allows arm64 since yesterday, and consolidation moved a third of the cluster to cheaper m7g nodes. The image of shop/search is built for amd64 only: its five pods on m7g nodes cannot pull it for 50 minutes, its nine pods on m6i nodes run.",
    cause="5 pods of shop/search cannot pull their image for 50 minutes: it has no build for arm64, and they are on arm64 nodes (m7g); its pods on amd64 nodes run.",
    thread="Unleash/unleash#5461",
    must=["shop/search", n(5), r"arm64|m7g|\barm\b", r"platform|no build|built for|architecture|manifest"],
    must_not=[LAUNCHES, NONE_PENDING, "exec format", r"tag[^\n]{0,20}not exist", "rate limit"],
)  # fmt: skip
def image_without_a_build_for_arm64(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "apps", families=("m6i", "m7g"), arch=("amd64", "arm64"))
    intel = big_fleet(c, "apps", 15)
    arm = big_fleet(c, "apps", 6, instance_type="m7g.xlarge", age="20h", part="arm")
    image = "registry.example/shop/search:14.2.0"
    add_workload(c, "shop/search", on=intel[:9], replicas=14, cpu="90m", memory="200Mi", image=image)
    text = f'Failed to pull image "{image}": rpc error: code = NotFound desc = failed to pull and unpack image "{image}": no match for platform in manifest: not found'
    for pod in more_pods(c, "shop/search", arm, 5, age="50m", image=image, waiting="ImagePullBackOff"):
        c.event(pod, "Failed", text, last="3m", first="50m", count=14, source="kubelet")
        c.event(pod, "Failed", "Error: ImagePullBackOff", last="12s", first="50m", count=210, source="kubelet")


@incident(
    story="NodePool win was moved from Windows Server 2019 to 2022 an hour ago. The image of erp/quote-iis is based on Windows Server 2019, which does not start on 2022 with process isolation: four containers fail at each start. An operator had raised the limit of the pool before, because the first nodes took nine minutes.",
    cause="4 pods of erp/quote-iis do not start: the operating system of their container does not match the nodes' (Windows Server 2022); their image is built for an older Windows.",
    thread="microsoft/Windows-Containers#117",
    must=["erp/quote-iis", n(4), r"operating system|Windows", r"match|version|2019|built for|build"],
    must_not=[LAUNCHES, NONE_PENDING, "arm64|exec format", "OOM", r"\blimit of\b"],
)  # fmt: skip
def windows_of_the_image_is_older(c: Cluster) -> None:
    only_on(c, ONLY_LINUX)
    usual(c, 6)
    system = {"key": "kubernetes.io/os", "operator": "In", "values": ["windows"]}
    build = {"key": "node.kubernetes.io/windows-build", "operator": "In", "values": ["10.0.20348"]}
    manifest = add_nodeclass(c, "win", spec={"amiSelectorTerms": [{"alias": "windows2022@latest"}]})
    for ami in manifest["status"]["amis"]:
        ami["requirements"] = [system, {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}, build]
    add_pool(c, "win", nodeclass="win", requirements=[system], limits={"cpu": "200"}, template={"taints": [{"key": "os", "value": "windows", "effect": "NoSchedule"}]})  # fmt: skip
    hosts = [add_node(c, "win", "m6i.2xlarge", zone, age="62m") for zone in c.zones[:2]]
    for pair in hosts:
        for manifest in both(pair):
            manifest["metadata"]["labels"] |= {"kubernetes.io/os": "windows", "node.kubernetes.io/windows-build": "10.0.20348"}  # fmt: skip
        pair.status["nodeInfo"] |= {"operatingSystem": "windows", "osImage": "Windows Server 2022 Datacenter", "kernelVersion": "10.0.20348.4297"}  # fmt: skip
    spec = {"nodeSelector": {"kubernetes.io/os": "windows"}, "tolerations": [{"key": "os", "operator": "Equal", "value": "windows"}]}  # fmt: skip
    error = "failed to create containerd task: failed to create shim task: hcs::CreateComputeSystem app: The container operating system does not match the host operating system.: unknown"
    for pod in add_workload(c, "erp/quote-iis", on=hosts, count=4, age="51m", cpu="3", memory="9Gi", spec=spec, image="registry.example/erp/quote:ltsc2019-88"):  # fmt: skip
        crash(c, pod, code=128, restarts=14, ago="2m", reason="StartError")
        pod["status"]["containerStatuses"][0]["lastState"]["terminated"]["message"] = error
        c.event(pod, "Failed", f"Error: {error}", last="2m", first="51m", count=15, source="kubelet")


@incident(
    story="A team tries Inferentia. NodePool inferentia launched an inf2.xlarge for each of three pods 33 minutes ago; the nodes are ready, but no one has installed the Neuron device plugin, so they offer no aws.amazon.com/neuron and do not initialize. The NVIDIA plugin runs on other nodes, which does not help.",
    cause="3 nodes of inferentia do not initialize for 33 minutes: aws.amazon.com/neuron is requested and not registered there, because no device plugin offers it; 3 pods of ml/rerank are pending.",
    thread="bottlerocket-os/bottlerocket#4582",
    must=[r"aws\.amazon\.com/neuron", n(3), r"initiali", r"plugin|DaemonSet|not registered|offer|not report|missing resource", "inferentia|ml/rerank"],
    must_not=[LAUNCHES, ICE, "nvidia", ROOM],
    first=2,
)  # fmt: skip
def neuron_plugin_was_never_installed(c: Cluster) -> None:
    usual(c, 7)
    taint = {"key": "aws.amazon.com/neuron", "effect": "NoSchedule"}
    add_pool(c, "inferentia", families=("inf2",), sizes=("xlarge", "8xlarge"), template={"taints": [taint]})
    why = ("ResourceNotRegistered", 'Resource "aws.amazon.com/neuron" was requested but not registered')
    needs = {"cpu": "3190m", "memory": "10Gi", "aws.amazon.com/neuron": "1", "pods": "5"}
    fresh = [add_node(c, "inferentia", "inf2.xlarge", zone, age="33m", stage="Registered", uninitialized=why, requests=needs) for zone in c.zones]  # fmt: skip
    for pair in fresh:
        for key in ("capacity", "allocatable"):
            both(pair)[1]["status"][key] |= {"aws.amazon.com/neuron": "1", "aws.amazon.com/neuroncore": "2"}
        for manifest in both(pair):
            c.event(manifest, "DisruptionBlocked", "Node isn't initialized", last="1m", first="31m", count=16, kind="Normal")  # fmt: skip
    text = no_node({"Insufficient aws.amazon.com/neuron": 3, SELECTOR: 9})
    spec = {"tolerations": [{"key": "aws.amazon.com/neuron", "operator": "Exists"}], "nodeSelector": {"karpenter.sh/nodepool": "inferentia"}}  # fmt: skip
    pods = waiting(c, "ml/rerank", 3, "34m", text, cpu="3", memory="10Gi", requests={"aws.amazon.com/neuron": "1"}, spec=spec)  # fmt: skip
    nominated(c, pods, fresh, last="30s", count=190)


@incident(
    story="The control plane and all of Karpenter's nodes were upgraded to 1.35. Fargate keeps the kubelet of the day on which a pod started: the two pods of Karpenter and two others have run on Fargate since 1.31 was current, four minor versions ago, which Kubernetes does not support.",
    cause="4 Fargate nodes still run kubelet 1.31, four minor versions behind (1.35); their pods, Karpenter's among them, must be restarted to get new ones.",
    thread="aws/containers-roadmap#2243",
    must=[r"fargate", r"1\.31", n(4), r"minor|behind|older|version"],
    must_not=[LAUNCHES, NONE_PENDING, "drift", r"NodeClass[^\n]{0,40}(pin|AMI)", r"karpenter (is )?(down|not running)"],
    karpenter_runs=False,
)  # fmt: skip
def fargate_keeps_old_kubelets(c: Cluster) -> None:
    usual(c, 8)
    add_karpenter_on_fargate(c, "v1.31.9-eks-2d5f260", others=2)


@incident(
    story="NodePool jvm was moved from Amazon Linux 2 to Amazon Linux 2023 (cgroup v2). The old Java of billing/invoicer does not see its memory limit there: seven pods on the new nodes are killed for memory again and again, five on old nodes run. The drift goes on and moves more of them. Another pool is not touched.",
    cause="7 pods of billing/invoicer are killed for memory again and again (OOMKilled), all on new nodes of jvm with Amazon Linux 2023; on the old nodes (Amazon Linux 2) they run.",
    thread="awslabs/amazon-eks-ami#1866",
    must=["billing/invoicer", n(7), r"OOM|memory", r"Amazon Linux 2023|new (nodes?|image)|\bimage\b|kernel"],
    must_not=[LAUNCHES, NONE_PENDING, r"memory pressure", r"nodes? (is|are) (short of|out of) memory"],
)  # fmt: skip
def java_does_not_see_its_limit(c: Cluster) -> None:
    add_nodeclass(c)
    add_nodeclass(c, "jvm")
    add_pool(c, "general")
    add_pool(c, "jvm", nodeclass="jvm", labels={"team": "billing"})
    big_fleet(c, "general", 18)
    old = [add_node(c, "jvm", "m6i.2xlarge", c.zones[i % 3], age="19d", drifted="5h") for i in range(5)]
    new = [add_node(c, "jvm", "m6i.2xlarge", c.zones[i % 3], age=f"{270 - 30 * i}m") for i in range(7)]
    for pair in old:
        pair.status["nodeInfo"] |= {"osImage": "Amazon Linux 2", "kernelVersion": "5.10.245-241.976.amzn2.x86_64"}
    for pair in new:
        pair.status["nodeInfo"]["kernelVersion"] = "6.12.58-82.121.amzn2023.x86_64"
    chosen = {"nodeSelector": {"team": "billing"}}
    add_workload(c, "billing/invoicer", on=old, replicas=12, cpu="90m", memory="200Mi", age="18d", spec=chosen)
    add_workload(c, "billing/rates", on=[*old, *new], age="85m", cpu="5", memory="20Gi", spec=chosen)
    for number, pod in enumerate(more_pods(c, "billing/invoicer", new, 7, age="85m", spec=chosen)):
        crash(c, pod, code=137, restarts=11 + number, ago=f"{50 + 20 * number}s", reason="OOMKilled")


@incident(
    story="AKS with node autoprovisioning behind a firewall. A new rule blocks mcr.microsoft.com: each machine is created, its bootstrap script ends with status 50 (no outbound connection), and Karpenter deletes it. Six pods are pending for 38 minutes.",
    cause="Machines of NodePool default fail in their bootstrap (CSE, exit status 50: no outbound connection) for 38 minutes; 6 pods are pending.",
    thread="Azure/karpenter-provider-azure#1441",
    must=[
        r"outbound|exit status.{0,3}50|VMExtension|CSE|bootstrap|mcr\.microsoft",
        n(6),
        r"\bdefault\b|launch|machine",
    ],
    must_not=[NOT_AWS, LAUNCHES, ROOM, ICE, "quota", "policy"],
    karpenter_runs=False,
    karpenter_version="1.13.0",
    settings={"CLUSTER_NAME": "orders-aks"},
)
def azure_bootstrap_has_no_connection(c: Cluster) -> None:
    error = (
        "creating instance failed, VMExtensionProvisioningError: VM has reported a failure when processing extension 'cse-agent-karpenter' (publisher 'Microsoft.Azure.Extensions' and type 'CustomScript'). Error message: "
        '\'Enable failed: failed to execute command: command terminated with exit status=50 [stdout] { "ExitCode": "50", "Output": "curl: (28) Connection timed out: mcr.microsoft.com:443", "Error": "" } [stderr] \''
    )
    aks_pool(c, registration=("CreateInstanceFailed", error, "33m"))
    fleet(c, "default", "orders/storefront", 11)
    add_workload(c, "kube-system/konnectivity", on=c.system, cpu="1", memory="1Gi", age="40d")
    for age in ("2m50s", "1m20s"):
        add_node(c, "default", "m6i.xlarge", c.zones[1], age=age, stage="", launch_error=("CreateInstanceFailed", error))  # fmt: skip
    waiting(c, "crm/mailer", 6, "38m")
    to_aks(c)


@incident(
    story="GKE. The GCENodeClass sets maxPods 110, and the cluster gives each node a /26 of pod addresses, as its default of 32 pods a node asks for. Three nodes are out of addresses at 62 pods: nine pods of tick/feed that kube-scheduler put there have had no network for 44 minutes. Nodes with fewer pods are fine.",
    cause="9 pods of tick/feed have not started for 44 minutes: 3 nodes have no pod address left (their range is a /26, for 62 pods), and Karpenter thinks that they take 110 pods.",
    thread="cloudpilot-ai/karpenter-provider-gcp#120",
    must=["tick/feed", n(9), r"address|\bIPs?\b|range", r"4[34] ?m", n(3) + "|ip-10"],
    must_not=[NOT_AWS, LAUNCHES, NONE_PENDING, "image"],
)  # fmt: skip
def node_ranges_are_too_small(c: Cluster) -> None:
    gcp_nodeclass(c)
    c.find("EC2NodeClass", "default")["spec"]["kubeletConfiguration"] = {"maxPods": 110}
    add_pool(c, "default", families=(), sizes=())
    fleet(c, "default", "orders/storefront", 14)
    full = [add_node(c, "default", "m6i.xlarge", zone, age="11d") for zone in c.zones]
    for number, pair in enumerate(full):
        both(pair)[0]["spec"] |= {"podCIDR": f"10.28.{number + 3}.0/26", "podCIDRs": [f"10.28.{number + 3}.0/26"]}
        for manifest in both(pair):
            for key in ("capacity", "allocatable"):
                manifest["status"][key]["pods"] = "110"
    add_workload(c, "tick/ingest", on=full, count=171, age="10d", cpu="40m", memory="90Mi")
    pods = add_workload(c, "tick/feed", on=full, count=9, age="44m", cpu="40m", memory="90Mi", waiting="ContainerCreating")  # fmt: skip
    for number, pod in enumerate(pods):
        span = f"10.28.{number % 3 + 3}.1-10.28.{number % 3 + 3}.62"
        text = f'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "{digest(number)}": plugin type="ptp" failed (add): failed to allocate for range 0: no IP addresses available in range set: {span}'
        c.event(pod, "FailedCreatePodSandBox", text, last="15s", first="44m", count=205, source="kubelet")
    to_gcp(c)


@incident(
    story="Cluster API on bare metal. Karpenter scales a MachineDeployment up, and the infrastructure provider finds no free host: the Machines never get a provider ID, Karpenter gives up each after minutes and tries again. Five pods are pending for 52 minutes.",
    cause="Machines of NodePool rack never get a ProviderID for 52 minutes (cannot satisfy create), so no node is launched; 5 pods of grid/solve are pending.",
    thread="kubernetes-sigs/karpenter-provider-cluster-api#51",
    must=[r"Machine", r"ProviderID|provider ID", n(5), r"\brack\b|grid/solve", r"5[0-2] ?m|4[78] ?m"],
    must_not=[NOT_AWS, LAUNCHES, ROOM, ICE],
    karpenter_runs=False,
    karpenter_version="1.13.0",
)  # fmt: skip
def machines_without_a_provider_id(c: Cluster) -> None:
    cluster_api_nodeclass(c)
    error = (
        'creating machine, cannot satisfy create, waiting for Machine "md-workers-large-7kq2x-vtw4c" to have ProviderID'
    )
    add_pool(c, "rack", families=(), sizes=(), registration=("LaunchFailed", error, "47m"))
    fleet(c, "rack", "orders/storefront", 9)
    add_workload(c, "kube-system/konnectivity", on=c.system, cpu="1", memory="1Gi", age="40d")
    for age in ("4m40s", "2m10s"):
        pair = add_node(c, "rack", "m6i.xlarge", c.zones[2], age=age, stage="", launch_error=("LaunchFailed", error))
        assert pair.claim is not None
        c.event(pair.claim, "LaunchFailed", error, last="25s", first=age, count=4)
    waiting(c, "grid/solve", 5, "52m")
    to_cluster_api(c)
