"""Causes outside of the NodePools: what EC2, CSI drivers, container runtimes and settings of other parts refuse."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import nominated, usual
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n
from tests.incidents.node_objects import add_node
from tests.incidents.objects import condition, uid
from tests.incidents.pods import add_claim, add_volume, add_workload, no_node, waiting
from tests.incidents.pools import add_karpenter, add_nodeclass, add_pool
from tests.incidents.workloads import crash

PENDING = r"\d+ pods? [^\n]{0,30}pending"


def refuse(c: Cluster, error: str, *, reason: str = "LaunchFailed", since: str = "20m", pods: int = 5) -> None:
    """Let EC2 refuse the launches of NodePool general with an error."""
    usual(c)
    text = f"creating instance, {error}"
    for age in ("3m50s", "3m30s"):
        add_node(c, "general", "m6i.2xlarge", c.zones[1], age=age, stage="", launch_error=(reason, text))
    waiting(c, "orders/checkout", pods, since)


@incident(
    story="The image garbage collection of a node removed the sandbox image. containerd has no credentials for its registry: eight pods of three workloads on that node have not started for 19 minutes. Their own images are fine.",
    cause="8 pods on ip-10-24-17-116 have not started for 19 minutes: containerd cannot pull the sandbox image (eks/pause:3.5, 401 Unauthorized).",
    thread="awslabs/amazon-eks-ami#1597, aws/amazon-vpc-cni-k8s#2030",
    must=[n(8), r"pause|sandbox image", r"401|Unauthorized", r"ip-10-24-17-\d+", r"1[89] ?m"],
    must_not=[LAUNCHES, PENDING, ICE, r"cannot pull their image"],
)
def sandbox_image_was_collected(c: Cluster) -> None:
    usual(c)
    host = add_node(c, "general", "m6i.2xlarge", c.zones[1], age="21d")
    add_workload(c, "orders/catalog", on=[host], count=2, age="20d", cpu="1", memory="2Gi")
    image = "602401143452.dkr.ecr.us-east-1.amazonaws.com/eks/pause:3.5"
    for name, count in (("shop/web", 4), ("shop/cart", 3), ("geo/tiles", 1)):
        for pod in add_workload(c, name, on=[host], count=count, age="19m", cpu="200m", memory="256Mi", waiting="ContainerCreating"):  # fmt: skip
            text = f'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to get sandbox image "{image}": failed to pull image "{image}": failed to pull and unpack image "{image}": failed to resolve reference "{image}": unexpected status from HEAD request to https://602401143452.dkr.ecr.us-east-1.amazonaws.com/v2/eks/pause/manifests/3.5: 401 Unauthorized'
            c.event(pod, "FailedCreatePodSandBox", text, last="20s", first="19m", count=84, source="kubelet")


@incident(
    story="A chart sets the memory limit 512m, which is half a byte. The runtime refuses each container for 26 minutes: its init is killed for want of memory. The requests are as small, so nothing else tells it.",
    cause="4 pods of crm/sync cannot start for 26 minutes: their memory limit is too low for the container runtime (512m is less than a byte).",
    thread="moby/moby#41167, aws/amazon-ecs-agent#3021",
    must=["crm/sync", n(4), r"memory", r"limit"],
    must_not=[LAUNCHES, PENDING, ICE, r"node is out of memory"],
)
def memory_limit_of_half_a_byte(c: Cluster) -> None:
    usual(c)
    host = add_node(c, "general", "m6i.2xlarge", c.zones[1], age="6d")
    add_workload(c, "orders/catalog", on=[host], count=2, age="5d", cpu="1", memory="2Gi")
    for pod in add_workload(c, "crm/sync", on=[host], count=4, age="26m", cpu="100m", memory="512m", waiting="RunContainerError"):  # fmt: skip
        pod["spec"]["containers"][0]["resources"]["limits"] = {"memory": "512m"}
        text = "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: container init was OOM-killed (memory limit too low?)"
        pod["status"]["phase"] = "Running"
        ended = {"reason": "StartError", "exitCode": 128, "message": text, "startedAt": "1970-01-01T00:00:00Z", "finishedAt": c.at("20s")}  # fmt: skip
        pod["status"]["containerStatuses"][0] |= {
            "state": {"waiting": {"reason": "RunContainerError", "message": text}},
            "lastState": {"terminated": ended},
            "restartCount": 9,
        }
        c.event(pod, "Failed", f"Error: {text}", last="40s", first="26m", count=10, source="kubelet")


@incident(
    story="The clock of the node with Karpenter's leader is 18 minutes slow, so AWS accepts none of its signatures. Each launch fails for 20 minutes.",
    cause="AWS refuses Karpenter's requests because their signature has expired (the clock of Karpenter's node is wrong); 5 pods are pending for 20 minutes.",
    thread="convox/rack#235",
    must=[r"signature|clock", r"expired|wrong|slow|behind", n(5), "launch"],
    must_not=[LAUNCHES, ROOM, ICE],
)
def clock_of_karpenter_is_slow(c: Cluster) -> None:
    refuse(c, "creating launch template, operation error EC2: CreateLaunchTemplate, https response error StatusCode: 403, RequestID: 7d1e, api error SignatureDoesNotMatch: Signature expired: 20261124T091158Z is now earlier than 20261124T092500Z (20261124T093000Z - 5 min.)", reason="LaunchTemplateFailed")  # fmt: skip


@incident(
    story="A cluster of 2021 has EBS volumes that were written by hand for the EBS driver: their node affinity names failure-domain.beta.kubernetes.io/zone. The nodes that Karpenter launches do not have this label. Karpenter takes it for topology.kubernetes.io/zone and launches, kube-scheduler refuses: two nodes were launched for db/legacy-0 in 25 minutes.",
    cause="db/legacy-0 is pending for 25 minutes: its volume requires the label failure-domain.beta.kubernetes.io/zone, which no node has.",
    thread="aws/karpenter-provider-aws#5194",
    must=["db/legacy", r"volume", r"failure-domain\.beta\.kubernetes\.io/zone", r"2[45] ?m"],
    must_not=[LAUNCHES, ICE],
)
def volume_of_the_in_tree_driver(c: Cluster) -> None:
    usual(c)
    for age in ("22m", "12m"):
        add_node(c, "general", "m6i.xlarge", c.zones[0], age=age)
    text = no_node({"Insufficient cpu": 6, "node(s) had volume node affinity conflict": 2})
    pods = waiting(c, "db/legacy", 1, "25m", text, kind="StatefulSet", age="25m", cpu="2", memory="4Gi")
    volume = add_volume(c, "db", "data-legacy-0", c.zones[0], age="1800d")
    pods[0]["spec"]["volumes"] = [volume]
    manifest = next(item for item in c.objects if item["kind"] == "PersistentVolume")
    manifest["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"][0]["matchExpressions"][0]["key"] = "failure-domain.beta.kubernetes.io/zone"  # fmt: skip


@incident(
    story="A PersistentVolume of 2018 has no node affinity, only the zone label that the API server gave it then. kube-scheduler keeps its pod to us-east-1c; Karpenter does not read the label and finds room in another zone, so it launches nothing. The nodes in us-east-1c are full.",
    cause="db/oldest-0 is pending for 36 minutes: the label of its volume ties it to us-east-1c, and Karpenter reads only the volume's node affinity.",
    thread="kubernetes-sigs/karpenter#1018",
    must=["db/oldest", r"volume", r"label", r"us-east-1c", r"3[56] ?m"],
    must_not=[LAUNCHES, ICE, r"has room|it fits on"],
)
def volume_with_a_zone_label_alone(c: Cluster) -> None:
    usual(c)
    add_node(c, "general", "m6i.2xlarge", c.zones[1], age="3d")
    text = no_node({"Insufficient cpu": 2, "node(s) had no available volume zone": 5})
    pods = waiting(c, "db/oldest", 1, "36m", text, kind="StatefulSet", age="36m", cpu="2", memory="4Gi")
    pods[0]["spec"]["volumes"] = [add_volume(c, "db", "data-oldest-0", c.zones[2], age="2700d")]
    manifest = next(item for item in c.objects if item["kind"] == "PersistentVolume")
    del manifest["spec"]["nodeAffinity"]
    manifest["metadata"]["labels"] = {"failure-domain.beta.kubernetes.io/zone": c.zones[2]}


@incident(
    story="The claim of shop/uploads names a PersistentVolume by hand, with a typo. Karpenter cannot look the volume up; kube-scheduler waits for it. One pod is pending for 35 minutes.",
    cause="shop/uploads is pending for 35 minutes: its PersistentVolumeClaim uploads names the PersistentVolume efs-uplaods, which does not exist.",
    thread="aws/karpenter-provider-aws#3219",
    must=["shop/uploads", r"volume", r"efs-uplaods", r"not exist|not found|missing|no such", r"3[45] ?m"],
    must_not=[LAUNCHES, ICE, ROOM],
)
def volume_of_the_claim_does_not_exist(c: Cluster) -> None:
    usual(c)
    text = "0/6 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: 0/6 nodes are available: 6 Preemption is not helpful for scheduling."
    pods = waiting(c, "shop/uploads", 1, "35m", text, cpu="500m", memory="1Gi")
    claim = add_claim(c, "shop", "uploads", "", age="35m", volume="efs-uplaods")
    claim["metadata"]["annotations"], claim["status"] = {}, {"phase": "Pending"}
    pods[0]["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "uploads"}}]


@incident(
    story="The claim of wiki/confluence was deleted and created again, naming its old volume. The volume has the reclaim policy Retain: it is Released and still refers to the old claim, so the new one stays Pending. The pod is pending for 50 minutes.",
    cause="wiki/confluence-0 is pending for 50 minutes: its volume pv-confluence is Released and still belongs to the deleted claim, so PersistentVolumeClaim data-confluence-0 stays Pending.",
    thread="kubernetes/kubernetes#91847, longhorn/longhorn#525",
    must=[
        "wiki/confluence",
        r"volume",
        r"pv-confluence|data-confluence-0",
        r"bound to (a|another)|Released|other claim|different claim|deleted claim",
        r"(49|50) ?m",
    ],
    must_not=[LAUNCHES, ICE, ROOM],
)
def volume_still_belongs_to_the_old_claim(c: Cluster) -> None:
    usual(c)
    text = "0/6 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: 0/6 nodes are available: 6 Preemption is not helpful for scheduling."
    pods = waiting(c, "wiki/confluence", 1, "50m", text, kind="StatefulSet", age="50m", cpu="500m", memory="1Gi")
    pods[0]["spec"]["volumes"] = [add_volume(c, "wiki", "data-confluence-0", c.zones[0], age="50m")]
    claim, volume = c.find("PersistentVolumeClaim", "data-confluence-0"), next(i for i in c.objects if i["kind"] == "PersistentVolume")  # fmt: skip
    volume["metadata"]["name"], volume["status"]["phase"] = "pv-confluence", "Released"
    volume["metadata"]["creationTimestamp"] = c.at("400d")
    volume["spec"] |= {"persistentVolumeReclaimPolicy": "Retain"}
    volume["spec"]["claimRef"]["uid"] = uid("old", "claim")
    claim["spec"]["volumeName"], claim["metadata"]["annotations"], claim["status"] = "pv-confluence", {}, {"phase": "Pending"}  # fmt: skip
    c.event(claim, "FailedBinding", 'volume "pv-confluence" already bound to a different claim.', last="10s", first="49m", count=190, source="persistentvolume-controller")  # fmt: skip


@incident(
    story="The EFS file system of StorageClass efs has as many access points as the driver allows. The volumes of three new notebooks are not created for 28 minutes.",
    cause="3 pods of lab/notebook are pending for 28 minutes: their volumes cannot be created, as the file system has reached its maximum of access points (AccessPointLimitExceeded).",
    thread="kubernetes-sigs/aws-efs-csi-driver#517",
    must=["lab/notebook", "volume", r"access points?|AccessPointLimitExceeded", n(3), r"2[78] ?m"],
    must_not=[LAUNCHES, ICE, ROOM, r"NodePool[^\n]{0,40}\blimit\b"],
)
def access_points_are_used_up(c: Cluster) -> None:
    usual(c)
    add_node(c, "general", "m6i.2xlarge", c.zones[0], age="8d")
    c.add("StorageClass", "efs", age="200d", provisioner="efs.csi.aws.com", volumeBindingMode="Immediate")
    text = "0/7 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: 0/7 nodes are available: 7 Preemption is not helpful for scheduling."
    pods = waiting(c, "lab/notebook", 3, "28m", text, kind="StatefulSet", age="28m", cpu="500m", memory="1Gi")
    for number, pod in enumerate(pods):
        claim = add_claim(c, "lab", f"home-notebook-{number}", "efs", age="28m")
        pod["spec"]["volumes"] = [{"name": "home", "persistentVolumeClaim": {"claimName": f"home-notebook-{number}"}}]
        why = 'failed to provision volume with StorageClass "efs": rpc error: code = Internal desc = Failed to create Access point in File System fs-0a1b2c : Failed to create access point: AccessPointLimitExceeded: You have reached the maximum number of access points'
        c.event(claim, "ProvisioningFailed", why, last="1m", first="27m", count=14, source="efs.csi.aws.com_efs-csi-controller")  # fmt: skip


@incident(
    story="A repository with four million files is on the volume of git/server, whose pod sets an fsGroup. The kubelet changes the owner of each file before the container starts: 34 minutes so far. The engineer thinks the mount hangs.",
    cause="git/server-0 has not started for 34 minutes: the kubelet is still changing the ownership of its volume's files for fsGroup (2,310,000 done).",
    thread="coder/coder#29062, zammad/zammad-helm#378",
    must=["git/server", r"ownership|permission|fsGroup", "volume", r"3[34] ?m"],
    must_not=[LAUNCHES, PENDING, ICE],
)
def ownership_of_four_million_files(c: Cluster) -> None:
    usual(c)
    host = add_node(c, "general", "m6i.2xlarge", c.zones[0], age="4d")
    pods = add_workload(c, "git/server", kind="StatefulSet", on=[host], count=1, age="34m", cpu="2", memory="4Gi", waiting="ContainerCreating", spec={"securityContext": {"fsGroup": 1000}})  # fmt: skip
    pods[0]["spec"]["volumes"] = [add_volume(c, "git", "data-server-0", c.zones[0])]
    text = "Setting volume ownership for server-0/volumes/kubernetes.io~csi/pvc/mount is taking longer than expected, consider using OnRootMismatch - https://kubernetes.io/docs/tasks/configure-pod-container/security-context/, processed 2310000 files."
    c.event(pods[0], "VolumePermissionChangeInProgress", text, last="20s", first="33m", count=66, source="kubelet")


@incident(
    story="EC2NodeClass web sets clusterDNS 172.20.0.10, copied from another cluster; the Service kube-dns here is 10.100.0.10. Pods on the new nodes of web resolve no names and crash; on nodes of general the same Deployment runs.",
    cause="6 pods of shop/front crash on the nodes of web: EC2NodeClass web sets clusterDNS 172.20.0.10, and the Service kube-system/kube-dns is 10.100.0.10.",
    thread="aws/karpenter-provider-aws#3610",
    must=["shop/front", n(6), r"\bweb\b", r"clusterDNS|172\.20\.0\.10"],
    must_not=[LAUNCHES, PENDING, ICE],
)
def name_server_of_another_cluster(c: Cluster) -> None:
    usual(c)
    c.add("Service", "kube-dns", "kube-system", age="240d", spec={"clusterIP": "10.100.0.10", "clusterIPs": ["10.100.0.10"], "selector": {"app.kubernetes.io/name": "coredns"}, "ports": [{"port": 53}]})  # fmt: skip
    add_nodeclass(c, "web", spec={"kubelet": {"clusterDNS": ["172.20.0.10"]}})
    add_pool(c, "web", nodeclass="web")
    good = [add_node(c, "general", "m6i.xlarge", zone, age="9d") for zone in c.zones[:2]]
    bad = [add_node(c, "web", "m6i.xlarge", zone, age="42m") for zone in c.zones]
    pods = add_workload(c, "shop/front", on=[*good, *bad, *bad], age="40m", cpu="300m", memory="512Mi")
    for pod in pods[2:]:
        crash(c, pod, code=1, restarts=11, ago="2m")


@incident(
    story="Karpenter was upgraded to 1.x with its chart, and the validating webhook of the old release was left: it names a port that the Service does not have any more. The API server refuses each NodeClaim that Karpenter creates; nine pods are pending for 25 minutes.",
    cause="Karpenter cannot create NodeClaims: the webhook validation.webhook.karpenter.sh is left from an old release and cannot be called; 9 pods are pending for 25 minutes.",
    thread="aws/karpenter-provider-aws#5504, aws/karpenter-provider-aws#6879",
    must=[n(9), r"validation\.webhook\.karpenter\.sh", r"webhook", r"2[45] ?m"],
    must_not=[ICE, ROOM],
)
def webhook_of_an_old_karpenter(c: Cluster) -> None:
    usual(c)
    c.add("Service", "karpenter", "kube-system", age="240d", spec={"selector": {"app.kubernetes.io/name": "karpenter"}, "ports": [{"name": "http-metrics", "port": 8080, "targetPort": "http-metrics"}]})  # fmt: skip
    rule = {"apiGroups": ["karpenter.sh"], "apiVersions": ["v1", "v1beta1"], "operations": ["CREATE", "UPDATE"], "resources": ["nodeclaims", "nodeclaims/status", "nodepools", "nodepools/status"], "scope": "*"}  # fmt: skip
    service = {"name": "karpenter", "namespace": "kube-system", "path": "/validate/karpenter.sh", "port": 8443}
    hook = {"name": "validation.webhook.karpenter.sh", "failurePolicy": "Fail", "timeoutSeconds": 10, "rules": [rule], "clientConfig": {"service": service}}  # fmt: skip
    c.add("ValidatingWebhookConfiguration", "validation.webhook.karpenter.sh", age="300d", webhooks=[hook])
    waiting(c, "orders/checkout", 9, "25m")


@incident(
    story="The managed node group of the controllers was scaled to 0 to save cost at the weekend. Karpenter's pods select it and are pending; the nodes of general run on, and 6 pods are pending for 40 minutes.",
    cause="Karpenter is down for 45 minutes: its 2 pods are pending, because no node matches their node selector (eks.amazonaws.com/nodegroup system); 6 pods are pending.",
    thread="aws/karpenter-provider-aws#7478",
    must=["karpenter", r"down|not running|pending", r"selector|affinity|match|select", n(6), r"4[45] ?m"],
    must_not=[LAUNCHES, ICE],
    karpenter_runs=False,
)
def node_group_of_karpenter_is_empty(c: Cluster) -> None:
    usual(c)
    hosts = [add_node(c, "general", "m6i.xlarge", zone, age="5d") for zone in c.zones[:2]]
    gone = {pair.name for pair in c.system}
    c.objects = [
        item for item in c.objects
        if not (item["kind"] in ("Node", "CSINode") and item["metadata"]["name"] in gone)
        and not (item["kind"] == "Pod" and item["spec"].get("nodeName") in gone)
    ]  # fmt: skip
    c.nodes = [pair for pair in c.nodes if pair not in c.system]
    add_workload(c, "kube-dns/coredns", on=hosts, age="45m", cpu="100m", memory="70Mi")
    add_karpenter(c, pending=2, pending_since="45m", node_labels={"eks.amazonaws.com/nodegroup": "system"}, message=no_node({"node(s) didn't match Pod's node affinity/selector": 6}))  # fmt: skip
    waiting(c, "orders/checkout", 6, "40m", scheduled=True)


@incident(
    story="EC2NodeClass pinned uses the family AL2 with an AMI of the team. The cluster was upgraded to 1.35, whose kubelet does not start on cgroup v1, and Amazon Linux 2 has no other. Nodes of pinned never register for 50 minutes.",
    cause="Nodes of pinned never register for 50 minutes: kubelet 1.35 does not start on cgroup v1, the only one of Amazon Linux 2 (amiFamily AL2).",
    thread="kubernetes/test-infra#36215, kubernetes/kubernetes#134298",
    must=[r"\bpinned\b", r"regist|join", r"cgroup|AL2\b|Amazon Linux 2\b", n(4)],
    must_not=[LAUNCHES, ICE],
)
def kubelet_does_not_start_on_cgroup_v1(c: Cluster) -> None:
    usual(c)
    ami = {"id": "ami-0aa11bb22cc33dd44", "name": "team-al2-1.35-2026.10", "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}]}  # fmt: skip
    add_nodeclass(c, "pinned", spec={"amiFamily": "AL2", "amiSelectorTerms": [{"id": ami["id"]}]}, status={"amis": [ami]})  # fmt: skip
    add_pool(c, "pinned", nodeclass="pinned", registration=("RegistrationFailed", "Failed to register node", "35m"))
    pair = add_node(c, "pinned", "m6i.xlarge", c.zones[0], age="9m", stage="Launched")
    pods = waiting(c, "erp/ledger", 4, "50m", pool="pinned")
    nominated(c, pods, [pair], last="30s", count=30)


@incident(
    story="A registry inside the company got a new certificate from an authority that the nodes do not know. Five pods of two workloads cannot pull their images for 31 minutes.",
    cause="5 pods of tools/report and tools/mail cannot pull their images for 31 minutes: the registry's certificate is signed by an unknown authority.",
    thread="kubernetes/kubernetes#43924, gitpod-io/gitpod#12979",
    must=["tools/report", "tools/mail", n(5), r"certificate|x509", r"unknown authority", r"3[01] ?m"],
    must_not=[LAUNCHES, PENDING, ICE],
    first=2,
)
def registry_of_an_unknown_authority(c: Cluster) -> None:
    usual(c)
    hosts = [add_node(c, "general", "m6i.2xlarge", zone, age="6d") for zone in c.zones[:2]]
    for name, count in (("tools/report", 3), ("tools/mail", 2)):
        image = f"registry.corp.example/{name}:7"
        for pod in add_workload(c, name, on=hosts, count=count, age="31m", cpu="200m", memory="256Mi", image=image, waiting="ImagePullBackOff"):  # fmt: skip
            text = f'Failed to pull image "{image}": failed to pull and unpack image "{image}": failed to resolve reference "{image}": failed to do request: Head "https://registry.corp.example/v2/{name}/manifests/7": tls: failed to verify certificate: x509: certificate signed by unknown authority'
            c.event(pod, "Failed", text, last="2m", first="31m", count=9, source="kubelet")


@incident(
    story="A self-managed control plane: kube-controller-manager lost its certificate an hour ago. Its lease is stale. Deployments are not acted upon: orders/storefront was scaled from 12 to 20, and no pod is created; there are no pending pods, no events.",
    cause="kube-controller-manager does not work: its lease was last renewed 62 minutes ago, so no controller creates or deletes pods.",
    thread="kubernetes/kubernetes#82960",
    must=["kube-controller-manager", r"lease|renew|not work|down|no leader", r"\b1 ?h|6[12] ?m"],
    must_not=[LAUNCHES, PENDING, ICE],
)
def controller_manager_is_down(c: Cluster) -> None:
    usual(c)
    for name, age in (("kube-controller-manager", "62m"), ("kube-scheduler", "2s")):
        c.add("Lease", name, "kube-system", age="240d", spec={"holderIdentity": f"cp-1_{uid(name)}", "leaseDurationSeconds": 15, "acquireTime": c.at("20d"), "renewTime": c.at(age), "leaseTransitions": 3})  # fmt: skip
    deployment = c.find("Deployment", "storefront")
    deployment["spec"]["replicas"], deployment["metadata"]["generation"] = 20, 9
    deployment["status"]["observedGeneration"] = 8


@incident(
    story="All pods of geo/solver set hostNetwork; on each node a postStart hook asks a licence server that is gone. The kubelet ends the containers for the failed hook again and again, for 44 minutes.",
    cause="3 pods of geo/solver crash for 44 minutes: their postStart hook fails (FailedPostStartHook).",
    thread="kubernetes/kubernetes#115680, influxdata/helm-charts#336",
    must=["geo/solver", n(3), r"post ?Start|hook"],
    must_not=[LAUNCHES, PENDING, ICE, r"liveness"],
)
def post_start_hook_fails(c: Cluster) -> None:
    usual(c)
    hosts = [add_node(c, "general", "m6i.xlarge", zone, age="6d") for zone in c.zones]
    for pod in add_workload(c, "geo/solver", on=hosts, count=3, age="44m", cpu="500m", memory="1Gi"):
        crash(c, pod, code=137, restarts=12, ago="2m")
        text = f"""Exec lifecycle hook ([/bin/license checkout]) for Container "app" in Pod "{pod["metadata"]["name"]}_geo" failed - error: command '/bin/license checkout' exited with 7: , message: "licence server not reachable" """
        c.event(pod, "FailedPostStartHook", text.strip(), last="2m", first="43m", count=12, source="kubelet")


@incident(
    story="An ephemeral-storage check: three nodes of cache came up with 12Gi of disk where their NodeClaims promise 20Gi, because the AMI resizes only a partition. Karpenter writes FailedConsistencyCheck. A pod that needs 15Gi is placed there by Karpenter and refused by kube-scheduler.",
    cause="cache/build-0 does not fit on nodes of cache: they have 12Gi of ephemeral storage instead of the 20Gi that Karpenter expected (59.9 %).",
    thread="kubernetes-sigs/karpenter#1106",
    must=[r"\bcache\b", r"ephemeral", r"less|smaller|instead|expected|short|12|promise", n(3) + "|cache/build"],
    must_not=[LAUNCHES, ICE],
)
def disks_are_smaller_than_promised(c: Cluster) -> None:
    usual(c)
    add_pool(c, "cache", labels={"team": "cache"})
    pairs = [add_node(c, "cache", "m6i.xlarge", zone, age=age) for zone, age in zip(c.zones, ("33m", "22m", "11m"), strict=True)]  # fmt: skip
    for pair in pairs:
        assert pair.claim is not None
        assert pair.node is not None
        for place, amount in ((pair.claim, "20Gi"), (pair.node, "12561388Ki")):
            place["status"]["capacity"]["ephemeral-storage"] = place["status"]["allocatable"]["ephemeral-storage"] = (
                amount
            )
        text = "expected 20Gi of resource ephemeral-storage, but found 12561388Ki (59.9% of expected)"
        pair.claim["status"]["conditions"].append(condition("ConsistentStateFound", "False", c.at("9m"), "ConsistencyCheckFailed", text))  # fmt: skip
        c.event(pair.claim, "FailedConsistencyCheck", text, last="2m", first="30m", count=4)
    text = no_node({"Insufficient cpu": 6, "Insufficient ephemeral-storage": 3})
    pods = waiting(c, "cache/build", 1, "34m", text, kind="StatefulSet", age="34m", cpu="500m", memory="1Gi", requests={"ephemeral-storage": "15Gi"}, spec={"nodeSelector": {"team": "cache"}})  # fmt: skip
    nominated(c, pods, [pairs[-1]], last="10m", count=3)
