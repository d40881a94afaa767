"""What launches and pods need besides room: credentials, classes that are checked, images and volumes."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import fleet, nominated, usual
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n
from tests.incidents.node_objects import add_node
from tests.incidents.objects import condition, digest, owner, uid
from tests.incidents.pods import SELECTOR, add_claim, add_daemonset, add_pod, add_volume, add_workload, no_node, waiting
from tests.incidents.pools import add_nodeclass, add_pool
from tests.incidents.providers import AKS, AUTO_MODE, rename

AWAITING = ("AwaitingReconciliation", "object is awaiting reconciliation")
GRAFANA = f"grafana-{digest('monitoring', 'grafana')[:10]}"
"""The ReplicaSet of the old pod."""


@incident(
    story="Grafana is a Deployment with one replica, a ReadWriteOnce volume and the default strategy RollingUpdate. Its new pod was scheduled to another node 40 minutes ago, where the volume cannot be attached "
    "as long as the old pod runs; the old pod runs until the new one is ready.",
    cause="The new pod of monitoring/grafana cannot start for 40 minutes: its ReadWriteOnce volume is used by the old pod on another node, which the rolling update keeps until the new one is ready.",
    thread="cloudnativedaysjp/dreamkast-infra#1056",
    must=["monitoring/grafana", r"volume|data-grafana", r"used by|attached|Multi-Attach|ReadWriteOnce|in use", r"39 ?m|40 ?m", GRAFANA + r"|old pod|RollingUpdate|rolling update|rollout|Recreate"],
    must_not=[LAUNCHES, r"pods? pending", "finalizer", "driver"],
)  # fmt: skip
def rolling_update_of_one_volume(c: Cluster) -> None:
    usual(c)
    here, there = (add_node(c, "general", "m6i.xlarge", c.zones[0], age=age) for age in ("8d", "2d"))
    volume = add_volume(c, "monitoring", "data-grafana", c.zones[0])
    running = add_workload(c, "monitoring/grafana", on=[here], age="7d", cpu="500m", memory="1Gi", spec={"volumes": [volume]})[0]  # fmt: skip
    deployment = c.find("Deployment", "grafana")
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}
    deployment["spec"]["strategy"] = rolling
    deployment["status"] |= {"replicas": 2, "updatedReplicas": 1, "unavailableReplicas": 1}
    stuck = condition("Progressing", "False", c.at("30m"), "ProgressDeadlineExceeded", 'ReplicaSet "grafana-7c9d5f6d48" has timed out progressing.')  # fmt: skip
    deployment["status"]["conditions"].append(stuck)
    labels = {"app.kubernetes.io/name": "grafana", "pod-template-hash": "7c9d5f6d48"}
    fresh = c.add(
        "ReplicaSet", "grafana-7c9d5f6d48", "monitoring", age="40m", labels=labels, ownerReferences=[owner(deployment)],
        spec={**deployment["spec"], "selector": {"matchLabels": labels}}, status={"replicas": 1, "readyReplicas": 0},
    )  # fmt: skip
    pod = add_pod(c, "monitoring", "grafana-7c9d5f6d48-h8vqj", node=there, parent=fresh, age="40m", cpu="500m", memory="1Gi", labels=labels, spec={"volumes": [volume]}, waiting="ContainerCreating")  # fmt: skip
    name = f"pvc-{uid('monitoring', 'data-grafana')}"
    c.add(
        "VolumeAttachment", f"csi-{name[4:]}", age="7d", status={"attached": True},
        spec={"attacher": "ebs.csi.aws.com", "nodeName": here.name, "source": {"persistentVolumeName": name}},
    )  # fmt: skip
    text = f'Multi-Attach error for volume "{name}" Volume is already used by pod(s) {running["metadata"]["name"]}'
    c.event(pod, "FailedAttachVolume", text, last="40m", source="attachdetach-controller")


@incident(
    story="A new EC2NodeClass was made for the databases, and Karpenter's role lacks ssm:GetParameter for its AMI alias. The error is only in the log: all its conditions stay Unknown for 41 minutes, so the new "
    "pool db is not ready, and four pods wait for it.",
    cause="EC2NodeClass db has not been reconciled for 41 minutes (all its conditions are Unknown), so NodePool db launches nothing and 4 pods are pending.",
    thread="aws/karpenter-provider-aws#8720",
    must=[r"NodeClass", r"\bdb\b", n(4), r"reconcil|not (been )?(ready|checked|resolved)|awaiting|unknown|NotReady", r"3[89] ?m|4[01] ?m"],
    must_not=[LAUNCHES, ROOM, ICE, r"does not exist|not found"],
)  # fmt: skip
def nodeclass_awaits_reconciliation(c: Cluster) -> None:
    usual(c)
    since = c.at("41m")
    manifest = add_nodeclass(c, "db", spec={"amiSelectorTerms": [{"alias": "al2023@latest"}]})
    kinds = [item["type"] for item in manifest["status"]["conditions"]]
    states = [condition(kind, "Unknown", since, *AWAITING) for kind in kinds if kind != "Ready"]
    depends = ", ".join(f"{kind}=Unknown" for kind in kinds if kind != "Ready")
    states.append(condition("Ready", "Unknown", since, "ReconcilingDependents", depends))
    manifest["status"] = {"conditions": states}
    manifest["metadata"] |= {"creationTimestamp": since, "generation": 1, "annotations": {}}
    pool = add_pool(c, "db", nodeclass="db")
    pool["metadata"] |= {"creationTimestamp": since, "generation": 1}
    listed = pool["status"]["conditions"]
    listed[0]["lastTransitionTime"] = since
    listed[1] = condition("NodeClassReady", "Unknown", since, "NodeClassReadinessUnknown", "Node Class Readiness Unknown")  # fmt: skip
    listed[2] = condition("NodeRegistrationHealthy", "Unknown", since, *AWAITING)
    listed[3] = condition("Ready", "Unknown", since, "ReconcilingDependents", "NodeClassReady=Unknown")
    waiting(c, "data/catalogue", 4, "39m", kind="StatefulSet", pool="db")


@incident(
    story="The account's OIDC provider was replaced half an hour ago, and the trust policy of Karpenter's role still names the old one. Karpenter runs, but it gets no credentials: three NodeClaims have no instance, and "
    "eight pods are pending. Karpenter published no event about it.",
    cause="Karpenter cannot assume its IAM role (AccessDenied on sts:AssumeRoleWithWebIdentity), so it launches nothing; 8 pods are pending.",
    thread="aws/karpenter-provider-aws#1666",
    must=[r"AssumeRoleWithWebIdentity|credentials|assume", r"launch", n(8), r"authori[sz]|denie|AccessDenied|permission|credential"],
    must_not=[ICE, r"\b(would|will) (be )?launch", "service control policy", ROOM, r"quota|throttl"],
)  # fmt: skip
def karpenter_has_no_credentials(c: Cluster) -> None:
    usual(c)
    add_pool(c, "spot", capacity=("spot",), weight=30)
    error = (
        "creating instance, creating fleet request, operation error EC2: CreateFleet, get identity: get credentials: failed to refresh cached credentials, failed to retrieve credentials, operation "
        "error STS: AssumeRoleWithWebIdentity, https response error StatusCode: 403, RequestID: 7b0b3f0c-2a61-4f0e-9a55-0f7f2d6f3f5e, api error AccessDenied: Not authorized to perform "
        "sts:AssumeRoleWithWebIdentity"
    )
    for number in range(3):
        add_node(c, "spot", "m6i.xlarge", c.zones[number], age=f"{230 - 20 * number}s", stage="", launch_error=("LaunchFailed", error), capacity="spot")  # fmt: skip
    waiting(c, "orders/checkout", 8, "28m")


@incident(
    story="A hardened image of a vendor comes from the AWS Marketplace. The subscription belongs to another account; here EC2 refuses every launch of pool secure for 31 minutes. Five pods are pending.",
    cause="EC2 refuses launches of pool secure because the account has not subscribed to the AMI's AWS Marketplace product (OptInRequired); 5 pods are pending.",
    thread="kubermatic/machine-controller#441",
    must=[r"Marketplace|OptInRequired|subscri", r"\bsecure\b", n(5), "pci/tokens"],
    must_not=[LAUNCHES, ROOM, ICE, "quota"],
)
def marketplace_image(c: Cluster) -> None:
    usual(c)
    add_nodeclass(c, "hardened", spec={"amiFamily": "AL2023", "amiSelectorTerms": [{"id": "ami-0a7d1f8b3c5e92d46"}]})
    text = (
        "creating instance, with fleet error(s), OptInRequired: In order to use this AWS Marketplace product you need to accept terms and subscribe. To do so please visit "
        "https://aws.amazon.com/marketplace/pp?sku=4x8mzzexample0r1q2s3t4u5v"
    )
    add_pool(c, "secure", nodeclass="hardened", registration=("LaunchFailed", text, "26m"))
    for age in ("3m10s", "2m50s"):
        pair = add_node(c, "secure", "m6i.xlarge", c.zones[0], age=age, stage="", launch_error=("LaunchFailed", text))
        assert pair.claim is not None
        c.event(pair.claim, "LaunchFailed", text, last="15s", first="2m45s", count=6)
    waiting(c, "pci/tokens", 5, "31m", pool="secure")


@incident(
    story="The NodePool general allows arm64 since yesterday. The image of shop/pricing is built for amd64 only and its registry does not say so, so five of eleven pods landed on the new Graviton nodes and crash "
    "with an exec format error; the six on amd64 run.",
    cause="5 pods of shop/pricing crash on arm64 nodes (exec format error): their image is built for amd64.",
    thread="aws/karpenter-provider-aws#6527",
    must=["shop/pricing", r"arm64|architecture", n(5), r"crash|restart|CrashLoop|exec format"],
    must_not=[LAUNCHES, r"\d+ pods? pending", r"cannot (pull|be pulled)"],
)
def exec_format_error(c: Cluster) -> None:
    usual(c, arch=("amd64", "arm64"), families=("m6i", "m7g"))
    intel = [add_node(c, "general", "m6i.xlarge", zone, age="6d") for zone in c.zones[:2]]
    arm = [add_node(c, "general", "m7g.xlarge", zone, age="22h") for zone in c.zones[:2]]
    pods = add_workload(c, "shop/pricing", on=[*intel, *arm], count=11, age="21h", image="registry.example/shop/pricing:9.1")  # fmt: skip
    for pod in pods:
        if pod["spec"]["nodeName"] not in {pair.name for pair in arm}:
            continue
        ended = {"reason": "Error", "exitCode": 255, "startedAt": c.at("2m"), "finishedAt": c.at("2m")}
        ended["message"] = "exec /app/pricing: exec format error\n"
        state = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting failed container=app"}}
        pod["status"]["containerStatuses"][0] |= {"ready": False, "restartCount": 251, "state": state, "lastState": {"terminated": ended}}  # fmt: skip
        for item in pod["status"]["conditions"]:
            if item["type"] in ("Ready", "ContainersReady"):
                item |= {"status": "False", "reason": "ContainersNotReady"}
        text = "Back-off restarting failed container app in pod"
        c.event(pod, "BackOff", text, last="20s", first="59m", count=260, source="kubelet")


@incident(
    story="A cluster with EKS Auto Mode. A team wants a custom AMI, installs the CRD of EC2NodeClass and makes NodePool builds with one. Auto Mode only knows its own NodeClass: nothing reconciles the EC2NodeClass, which "
    "has no status. Five pods are pending for 2 hours.",
    cause="NodePool builds refers to the EC2NodeClass builds, which nothing reconciles in EKS Auto Mode, so it launches nothing and 5 pods are pending.",
    thread="aws/containers-roadmap#2524",
    must=[r"\bbuilds\b", r"EC2NodeClass", n(5), r"Auto Mode|not (been )?(ready|reconciled|checked)|no status|nothing reconciles|NotReady|reconcil"],
    must_not=[LAUNCHES, ROOM, ICE, r"karpenter[^\n]{0,60}(down|not running|missing|no (running )?pod)", r"general-purpose[^\n]{0,40}(not ready|launches nothing)"],
    karpenter_runs=False,
)  # fmt: skip
def class_that_auto_mode_ignores(c: Cluster) -> None:
    chosen = {"eks.amazonaws.com/nodegroup": "system"}
    for manifest, pod in c.daemonsets:
        pod["spec"]["nodeSelector"] = chosen
        manifest["spec"]["template"]["spec"]["nodeSelector"] = chosen
    nodeclass = add_nodeclass(c)
    nodeclass["spec"] = {"role": "AmazonEKSAutoNodeRole", "ephemeralStorage": {"size": "80Gi"}}
    add_pool(c, "general-purpose", families=("m6i",), sizes=(), labels={"eks.amazonaws.com/compute-type": "auto"})
    fleet(c, "general-purpose", "orders/storefront", 4)
    waiting(c, "ci/image", 5, "2h", no_node({SELECTOR: 6}), kind="Job", age="2h", pool="builds")
    rename(c.objects, AUTO_MODE)
    builds = add_nodeclass(c, "builds", spec={"amiSelectorTerms": [{"alias": "bottlerocket@latest"}]})
    pool = add_pool(c, "builds", nodeclass="builds")
    del builds["status"], pool["status"]["conditions"]
    for item in (builds, pool):
        item["metadata"] |= {"creationTimestamp": c.at("130m"), "generation": 1, "annotations": {}}


@incident(
    story="A new NodePool for notebooks uses its own security group, and the mount targets of the EFS file system do not let it in (port 2049). Six notebooks are in ContainerCreating on its two nodes for 24 minutes; "
    "those on the old nodes mount the same volume.",
    cause="6 pods of lab/notebook cannot start for 24 minutes: mounting their EFS volume times out (mount.nfs4: Connection timed out) on the nodes of NodePool lab.",
    thread="kubernetes-sigs/aws-efs-csi-driver#262",
    must=["lab/notebook", r"mount|volume", r"EFS|nfs|timed out|time[sd]? ?out|DeadlineExceeded", n(6), r"2[34] ?m"],
    must_not=[LAUNCHES, r"pods? pending", r"attached (elsewhere|to another)|another node", "image"],
)
def efs_mount_times_out(c: Cluster) -> None:
    usual(c)
    add_nodeclass(c, "lab", spec={"securityGroupSelectorTerms": [{"tags": {"Name": "lab-nodes"}}]})
    add_pool(c, "lab", nodeclass="lab", labels={"team": "lab"})
    c.add("StorageClass", "efs", age="200d", provisioner="efs.csi.aws.com", volumeBindingMode="Immediate")
    c.add(
        "PersistentVolume", "pvc-efs-home", age="150d", status={"phase": "Bound"},
        spec={
            "accessModes": ["ReadWriteMany"], "capacity": {"storage": "5Gi"}, "persistentVolumeReclaimPolicy": "Retain", "storageClassName": "efs",
            "claimRef": {"kind": "PersistentVolumeClaim", "namespace": "lab", "name": "home"},
            "csi": {"driver": "efs.csi.aws.com", "volumeHandle": "fs-0c1d2e3f4a5b6c7d8::fsap-0a9b8c7d6e5f4a3b2"},
        },
    )  # fmt: skip
    add_claim(c, "lab", "home", "efs", age="150d", volume="pvc-efs-home")["spec"]["accessModes"] = ["ReadWriteMany"]
    hosts = [add_node(c, "lab", "m6i.xlarge", zone, age="25m") for zone in c.zones[:2]]
    spec = {
        "nodeSelector": {"team": "lab"},
        "volumes": [{"name": "home", "persistentVolumeClaim": {"claimName": "home"}}],
    }
    pods = add_workload(c, "lab/notebook", kind="StatefulSet", on=hosts, count=6, age="24m", spec=spec, waiting="ContainerCreating")  # fmt: skip
    text = (
        'MountVolume.SetUp failed for volume "pvc-efs-home" : rpc error: code = Internal desc = Could not mount "fs-0c1d2e3f4a5b6c7d8:/" at '
        '"/var/lib/kubelet/pods/9d1c/volumes/kubernetes.io~csi/pvc-efs-home/mount": mount failed: exit status 32 Output: Failed to locate an available port in the range [20049, 20449], mount.nfs4: '
        "Connection timed out"
    )
    for pod in pods:
        c.event(pod, "FailedMount", text, last="80s", first="22m", count=9, source="kubelet")


@incident(
    story="The nodes of pool secure got their own IAM role, and nobody attached the policy to pull from ECR. Every image of the registry is refused with 403 on its two new nodes; seven pods do not start for 19 minutes.",
    cause="7 pods of pci/tokens cannot pull their image for 19 minutes: ECR answers 403 Forbidden on the nodes of NodePool secure.",
    thread="awslabs/amazon-eks-ami#681",
    must=["pci/tokens", "image|pull", r"403|Forbidden|authori[sz]|denied|permission", n(7), r"1[89] ?m"],
    must_not=[LAUNCHES, r"not exist|not found|no such image", r"pods? pending", "rate limit"],
)
def node_role_may_not_pull(c: Cluster) -> None:
    usual(c)
    add_nodeclass(c, "secure", spec={"role": "KarpenterNodeRole-secure"})
    add_pool(c, "secure", nodeclass="secure", labels={"team": "pci"})
    hosts = [add_node(c, "secure", "m6i.2xlarge", zone, age="21m") for zone in c.zones[:2]]
    image = "111122223333.dkr.ecr.us-east-1.amazonaws.com/pci/tokens:7.0.3"
    pods = add_workload(c, "pci/tokens", on=hosts, count=7, age="19m", image=image, waiting="ImagePullBackOff", spec={"nodeSelector": {"team": "pci"}})  # fmt: skip
    text = (
        f'Failed to pull image "{image}": failed to pull and unpack image "{image}": failed to resolve reference "{image}": unexpected status from HEAD request to '
        "https://111122223333.dkr.ecr.us-east-1.amazonaws.com/v2/pci/tokens/manifests/7.0.3: 403 Forbidden"
    )
    for pod in pods:
        c.event(pod, "Failed", text, last="3m", first="19m", count=8, source="kubelet")
        c.event(pod, "Failed", "Error: ImagePullBackOff", last="12s", first="19m", count=80, source="kubelet")


@incident(
    story="An AKS cluster with node autoprovisioning. The NodePool is limited to one old family, which Azure does not offer in the subscription's region any more: each machine is refused for 37 minutes. Four pods are pending.",
    cause="Azure refuses machines for NodePool default because the requested VM size is not available in eastus (SkuNotAvailable); 4 pods are pending.",
    thread="Azure/karpenter-provider-azure#192",
    must=[r"SkuNotAvailable|SKU|not available|VM size|size", r"\bdefault\b", n(4), r"refus|fail|cannot|not available|unavailable"],
    must_not=[r"EC2NodeClass|\bEC2\b|\bAWS\b", r"\b(would|will) (be )?launch", ROOM, "quota"],
    karpenter_runs=False,
    settings={"CLUSTER_NAME": "orders-aks"},
    karpenter_version="1.13.0",
)  # fmt: skip
def azure_does_not_offer_the_size(c: Cluster) -> None:
    nodeclass = add_nodeclass(c)
    nodeclass["spec"] = {"imageFamily": "AzureLinux", "osDiskSizeGB": 128}
    ready = [condition(item, "True", c.at("60d")) for item in ("ImagesReady", "KubernetesVersionReady", "Ready")]
    nodeclass["status"] = {"kubernetesVersion": "1.35.2", "conditions": ready}
    family = {"key": "karpenter.k8s.aws/instance-family", "operator": "In", "values": ["D"]}
    error = (
        'creating instance failed: virtualMachine.BeginCreateOrUpdate for VM "aks-default-x7k2m" failed: RESPONSE 409: 409 Conflict ERROR CODE: SkuNotAvailable: The requested VM size for resource '
        "'Following SKUs have failed for Capacity Restrictions: Standard_D4s_v5' is currently not available in location 'eastus'. Please try another size or deploy to a different location or different zone."
    )  # fmt: skip
    add_pool(c, "default", families=(), sizes=(), requirements=[family], registration=("LaunchFailed", error, "33m"))
    fleet(c, "default", "orders/storefront", 4)
    add_workload(c, "kube-system/konnectivity", on=c.system, cpu="1", memory="1Gi", age="40d")
    pair = add_node(c, "default", "m6i.xlarge", c.zones[0], age="2m20s", stage="", launch_error=("LaunchFailed", error))
    assert pair.claim is not None
    waiting(c, "orders/checkout", 4, "37m")
    for node in c.nodes:
        for manifest in filter(None, (node.node, node.claim)):
            labels = manifest["metadata"]["labels"]
            for key in [*labels]:
                if key.startswith("karpenter.k8s.aws/instance"):
                    del labels[key]
            if node.claim is not None:
                labels["karpenter.k8s.aws/instance-family"] = "D"
    rename(c.objects, AKS)
    for node in c.nodes:
        node.zone = rename(node.zone, AKS)


@incident(
    story="A LimitRange gives containers without a memory limit one of 1Gi. The new chart of a service requests 2Gi and sets no limit, so the API server refuses its pods: the request exceeds the limit. None of the four new "
    "pods exists for 28 minutes; the old ones run.",
    cause="Pods of shop/recs cannot be created for 28 minutes: their memory request of 2Gi exceeds the limit of 1Gi that the namespace's LimitRange sets by default.",
    thread="kubernetes/kubernetes#25146",
    must=["shop/recs", r"memory", r"limit", r"2[78] ?m|creat"],
    must_not=[LAUNCHES, r"\d+ pods? pending", r"webhook", r"NodePool[^\n]{0,40}\blimit\b"],
)
def request_above_the_default_limit(c: Cluster) -> None:
    usual(c)
    hosts = [add_node(c, "general", "m6i.xlarge", zone, age="9d") for zone in c.zones[:2]]
    add_workload(c, "shop/recs", on=hosts, count=4, replicas=4, age="8d")
    defaults = {"type": "Container", "default": {"memory": "1Gi"}, "defaultRequest": {"memory": "512Mi"}}
    c.add("LimitRange", "defaults", "shop", age="200d", spec={"limits": [defaults]})
    deployment = c.find("Deployment", "recs")
    labels = {"app.kubernetes.io/name": "recs", "pod-template-hash": "68d9f7c5b4"}
    text = (
        'Error creating: Pod "recs-68d9f7c5b4-8xk2q" is invalid: spec.containers[0].resources.requests: Invalid value: "2Gi": must be less than or equal to memory limit of 1Gi'
    )  # fmt: skip
    failure = condition("ReplicaFailure", "True", c.at("28m"), "FailedCreate", text.removeprefix("Error creating: "))
    fresh = c.add(
        "ReplicaSet", "recs-68d9f7c5b4", "shop", age="28m", labels=labels, ownerReferences=[owner(deployment)],
        spec={**deployment["spec"], "replicas": 1, "selector": {"matchLabels": labels}}, status={"replicas": 0, "conditions": [failure]},
    )  # fmt: skip
    c.event(fresh, "FailedCreate", text, last="5m", first="28m", count=16, source="replicaset-controller")


@incident(
    story="Karpenter's controller hangs: it holds and renews its lease and its pods are ready, but it reconciles no NodeClaim. Four NodeClaims have no condition at all for 14 minutes, and ten pods are pending. There is no error "
    "anywhere, and there are no events.",
    cause="Karpenter does not act on 4 NodeClaims, which have no instance and no condition for 14 minutes; 10 pods are pending.",
    thread="aws/karpenter-provider-aws#7251",
    must=[r"NodeClaim", n(4), r"not (been )?(launched|reconciled)|no instance|without (an )?instance|no provider ID|no condition|not launch|does not act|no status", n(10), r"1[34] ?m"],
    must_not=[ICE, r"\b(would|will) (be )?launch", ROOM, r"refuse", r"register"],
)  # fmt: skip
def nodeclaims_without_a_status(c: Cluster) -> None:
    usual(c)
    for number in range(4):
        pair = add_node(c, "general", "m6i.xlarge", c.zones[number % 3], age="14m", stage="")
        assert pair.claim is not None
        del pair.claim["status"]
    waiting(c, "orders/checkout", 10, "15m")
    c.objects = [manifest for manifest in c.objects if manifest["kind"] != "Event"]


@incident(
    story="Four pods of an IIS service lost their selector kubernetes.io/os: windows in a chart upgrade and were scheduled to Linux nodes. Their image exists for Windows only; they do not start for 33 minutes.",
    cause="4 pods of legacy/portal-iis cannot pull their image for 33 minutes: it has no build for Linux, and they run on Linux nodes because they do not select kubernetes.io/os windows.",
    thread="aws/karpenter-provider-aws#5404",
    must=["legacy/portal-iis", r"image|pull", r"linux|windows|platform|operating system|\bOS\b", n(4), r"3[23] ?m"],
    must_not=[LAUNCHES, r"no build for amd64", r"pods? pending", r"architecture"],
)
def windows_image_on_linux(c: Cluster) -> None:
    pairs = usual(c, 4)
    add_nodeclass(c, "windows", spec={"amiSelectorTerms": [{"alias": "windows2022@latest"}]})
    system = {"key": "kubernetes.io/os", "operator": "In", "values": ["windows"]}
    add_pool(c, "windows", nodeclass="windows", requirements=[system])
    image = "registry.example/legacy/portal:2022.4"
    pods = add_workload(c, "legacy/portal-iis", on=pairs[:2], count=4, age="33m", cpu="100m", memory="128Mi", image=image, waiting="ImagePullBackOff")  # fmt: skip
    text = f'Failed to pull image "{image}": rpc error: code = NotFound desc = failed to pull and unpack image "{image}": no match for platform in manifest: not found'
    for pod in pods:
        c.event(pod, "Failed", text, last="3m", first="33m", count=11, source="kubelet")
        c.event(pod, "Failed", "Error: ImagePullBackOff", last="12s", first="33m", count=140, source="kubelet")


@incident(
    story="The chart of Cilium names an image tag that does not exist. On new nodes its pod cannot start, so the startup taint node.cilium.io/agent-not-ready stays: two nodes do not initialize for 17 minutes, and six pods are pending. The old nodes "
    "still run the old agent.",
    cause="2 nodes do not initialize because the image of DaemonSet cilium cannot be pulled there, so the startup taint node.cilium.io/agent-not-ready stays; 6 pods are pending.",
    thread="aws/karpenter-provider-aws#5293",
    must=[r"node\.cilium\.io/agent-not-ready", r"initiali[sz]ed", n(2), n(6), r"image", r"kube-system/cilium|cilium:"],
    must_not=[LAUNCHES, ROOM, r"NodePool web[^\n]{0,40}(not ready|launches nothing)"],
)
def agent_image_missing(c: Cluster) -> None:
    taint = {"key": "node.cilium.io/agent-not-ready", "value": "true", "effect": "NoExecute"}
    usual(c, template={"startupTaints": [taint]})
    add_daemonset(c, "kube-system", "cilium", cpu="100m", memory="128Mi", critical=True)
    manifest, spec = c.daemonsets[-1]
    why = ("StartupTaintsExist", 'StartupTaint "node.cilium.io/agent-not-ready:NoExecute" still exists')
    image = "quay.io/cilium/cilium:v1.19.44"
    fresh = [
        add_node(c, "general", "m6i.xlarge", zone, age="18m", stage="Registered", uninitialized=why, taints=[taint], without=["cilium"])
        for zone in c.zones[:2]
    ]  # fmt: skip
    for pair in fresh:
        pod = add_pod(c, "kube-system", f"cilium-{digest(pair.name)[:5]}", node=pair, parent=manifest, age="17m", image=image, waiting="ImagePullBackOff", **spec)  # fmt: skip
        text = f'Failed to pull image "{image}": rpc error: code = NotFound desc = failed to pull and unpack image "{image}": failed to resolve reference "{image}": {image}: not found'
        c.event(pod, "Failed", text, last="2m", first="17m", count=8, source="kubelet")
        c.event(pod, "Failed", "Error: ImagePullBackOff", last="10s", first="17m", count=70, source="kubelet")
    nominated(c, waiting(c, "orders/checkout", 6, "19m"), fresh, last="40s", count=9)


@incident(
    story="The pod execution role of a Fargate profile was deleted. Two pods of the profile are pending for 26 minutes; Karpenter ignores them, because their scheduler is Fargate's.",
    cause="2 pods of finance/reports are pending for 26 minutes: the Fargate profile finance cannot launch (its pod execution role is not found).",
    thread="aws/containers-roadmap#2654",
    must=["finance/reports", r"fargate", n(2), r"2[56] ?m"],
    must_not=[LAUNCHES, ROOM, ICE, r"no NodePool"],
)
def fargate_profile_is_broken(c: Cluster) -> None:
    usual(c)
    labels = {"app.kubernetes.io/name": "reports", "eks.amazonaws.com/fargate-profile": "finance"}
    pods = waiting(c, "finance/reports", 2, "26m", labels=labels, scheduled=False, spec={"schedulerName": "fargate-scheduler"})  # fmt: skip
    text = "Misconfigured Fargate Profile: fargate profile finance blocked for new launches due to: Pod execution role is not found in auth config or does not have all required permissions for launching fargate pods."
    for pod in pods:
        c.event(pod, "FailedScheduling", text, last="1m", first="26m", count=6, source="fargate-scheduler")


@incident(
    story="A release pipeline wrote an image name with capital letters. Kubernetes accepts no such name: three new pods have InvalidImageName for 35 minutes; the old ones run.",
    cause="3 pods of shop/Web-next cannot start for 35 minutes: their image name registry.example/Shop/web:88 is invalid.",
    thread="kubernetes/kubernetes#103643",
    must=["shop/web", r"image", r"InvalidImageName|invalid", n(3), r"3[45] ?m"],
    must_not=[LAUNCHES, r"pods? pending", r"has no build", r"rate limit"],
)
def invalid_image_name(c: Cluster) -> None:
    usual(c)
    hosts = [add_node(c, "general", "m6i.xlarge", zone, age="6d") for zone in c.zones[:2]]
    add_workload(c, "shop/web-stable", on=hosts, count=4, age="5d", cpu="500m", memory="1Gi")
    image = "registry.example/Shop/web:88"
    pods = add_workload(c, "shop/web", on=hosts, count=3, age="35m", cpu="500m", memory="1Gi", image=image, waiting="InvalidImageName")  # fmt: skip
    for pod in pods:
        text = f'Failed to apply default image tag "{image}": couldn\'t parse image name "{image}": invalid reference format: repository name (Shop/web) must be lowercase'
        c.event(pod, "InspectFailed", text, last="9s", first="35m", count=160, source="kubelet")
        c.event(pod, "Failed", "Error: InvalidImageName", last="9s", first="35m", count=160, source="kubelet")


@incident(
    story="A team builds its own AMI, for arm64 only. Its EC2NodeClass is ready, but the NodePool that uses it allows amd64 only. Every launch fails; six pods are pending for 23 minutes.",
    cause="NodePool render cannot launch: the only AMI of EC2NodeClass render is for arm64, and the NodePool allows amd64; 6 pods are pending.",
    thread="aws/karpenter-provider-aws#7436",
    must=[r"\bAMIs?\b|\bimages?\b", r"\brender\b", n(6), r"launch"],
    must_not=[LAUNCHES, ROOM, ICE, "quota"],
)
def ami_of_the_other_architecture(c: Cluster) -> None:
    usual(c)
    ami = {"id": "ami-0e1f2a3b4c5d6e7f8", "name": "render-arm64-2026.11", "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]}]}  # fmt: skip
    add_nodeclass(c, "render", spec={"amiFamily": "AL2023", "amiSelectorTerms": [{"id": ami["id"]}]}, status={"amis": [ami]})  # fmt: skip
    error = (
        "creating instance, getting launch template configs, getting launch templates, no instance types satisfy requirements of amis ami-0e1f2a3b4c5d6e7f8"
    )  # fmt: skip
    add_pool(c, "render", nodeclass="render", registration=("LaunchFailed", error, "18m"))
    add_node(c, "render", "m6i.xlarge", c.zones[0], age="4m10s", stage="", launch_error=("LaunchFailed", error))
    waiting(c, "media/render", 6, "23m", pool="render")


@incident(
    story="After a restore of the cluster's backup, three Nodes of general have no NodeClaim: their NodeClaims were not part of the backup. Karpenter does not manage them any more: it neither consolidates nor expires them, and they run since 40 days.",
    cause="3 nodes of general have no NodeClaim, so Karpenter no longer manages them.",
    thread="kubernetes-sigs/karpenter#1573",
    must=[n(3), r"NodeClaim", r"\bgeneral\b|node"],
    must_not=[r"do-not-disrupt", r"\d+ pods? pending", r"instances? (is|are) gone"],
)
def nodes_without_their_nodeclaims(c: Cluster) -> None:
    usual(c)
    lost = fleet(c, "general", "orders/archive", 3, age="40d")
    claims = {pair.claim_name for pair in lost}
    c.objects = [item for item in c.objects if item["kind"] != "NodeClaim" or item["metadata"]["name"] not in claims]
    for pair in lost:
        assert pair.node is not None
        pair.node["metadata"].pop("ownerReferences", None)
        pair.claim = None


@incident(
    story="The node role was renamed, and Karpenter's policy still allows iam:PassRole for the old one only. EC2 refuses every launch for 34 minutes with an encoded message; nine pods are pending.",
    cause="Karpenter may not pass the node role KarpenterNodeRole-v2 (iam:PassRole), so EC2 refuses every launch of NodePool general; 9 pods are pending.",
    thread="aws/karpenter-provider-aws#6036",
    must=[r"PassRole", r"authori[sz]|permission|may not|denie", n(9), r"launch"],
    must_not=[LAUNCHES, ROOM, ICE, "quota", "service control policy"],
)
def node_role_may_not_be_passed(c: Cluster) -> None:
    usual(c)
    error = (
        "creating instance, with fleet error(s), UnauthorizedOperation: You are not authorized to perform this operation. User: arn:aws:sts::111122223333:assumed-role/KarpenterController-orders/1732440012 is not authorized "
        "to perform: iam:PassRole on resource: arn:aws:iam::111122223333:role/KarpenterNodeRole-v2 because no identity-based policy allows the iam:PassRole action. Encoded authorization failure message: "
        + digest("encoded")
        * 4
    )
    for age in ("4m20s", "4m5s"):
        add_node(c, "general", "m6i.xlarge", c.zones[0], age=age, stage="", launch_error=("Unauthorized", error))
    waiting(c, "orders/checkout", 9, "34m")


@incident(
    story="Somebody deleted the instance profile that Karpenter had made for the EC2NodeClass default; Karpenter remembers it for a while. Each launch is refused for 12 minutes; five pods are pending.",
    cause="EC2 refuses launches of NodePool general because the instance profile orders-prod_11629308412211046553 does not exist any more; 5 pods are pending.",
    thread="aws/karpenter-provider-aws#9390",
    must=[r"instance ?profile", r"invalid|not exist|not found|missing|deleted", n(5), r"launch"],
    must_not=[LAUNCHES, ROOM, ICE, "quota"],
)
def instance_profile_is_deleted_by_hand(c: Cluster) -> None:
    usual(c)
    error = (
        "creating instance, with fleet error(s), InvalidParameterValue: Value (orders-prod_11629308412211046553) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name"
    )  # fmt: skip
    for age in ("3m50s", "3m30s"):
        add_node(c, "general", "m6i.2xlarge", c.zones[1], age=age, stage="", launch_error=("LaunchFailed", error))
    waiting(c, "orders/checkout", 5, "12m")


@incident(
    story="The account's quota of gp3 storage in the region is used up. The volume of a new replica is not created for 44 minutes, and its pod is pending; the other two replicas run.",
    cause="logging/loki-2 is pending for 44 minutes: its volume cannot be created, because the account's quota of gp3 storage is used up (VolumeLimitExceeded).",
    thread="kubernetes-sigs/aws-ebs-csi-driver#1342",
    must=["loki", r"volume", r"VolumeLimitExceeded|maximum|quota|limit", r"4[34] ?m"],
    must_not=[LAUNCHES, ROOM, ICE, r"NodePool[^\n]{0,40}\blimit\b"],
)
def storage_quota_of_the_account(c: Cluster) -> None:
    usual(c)
    hosts = [add_node(c, "general", "m6i.2xlarge", zone, age="8d") for zone in c.zones[:2]]
    pods = add_workload(c, "logging/loki", kind="StatefulSet", on=hosts, pending=1, pending_since="44m", age="7d", cpu="500m", memory="1Gi")  # fmt: skip
    for number, pod in enumerate(pods[:2]):
        pod["spec"]["volumes"] = [add_volume(c, "logging", f"data-loki-{number}", c.zones[number])]
    claim = add_claim(c, "logging", "data-loki-2", "gp3", age="44m")
    claim["metadata"]["annotations"] = {"volume.kubernetes.io/selected-node": hosts[0].name}
    pods[2]["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "data-loki-2"}}]
    text = (
        'failed to provision volume with StorageClass "gp3": rpc error: code = Internal desc = Could not create volume "pvc-0c1d2e3f": could not create volume in EC2: operation error EC2: CreateVolume, https response error '
        "StatusCode: 400, RequestID: 9c4f, api error VolumeLimitExceeded: You have exceeded your maximum gp3 storage limit of 50 TiB in this region. Please contact AWS Support to request an Elastic Block Store service limit increase."
    )
    c.event(claim, "ProvisioningFailed", text, last="2m", first="43m", count=17, source="ebs.csi.aws.com_ebs-csi-controller")  # fmt: skip
