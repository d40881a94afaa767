"""Causes behind a louder symptom: a controller behind a webhook, a reservation that ended, a zone that only another pool has."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import GPU_TAINT, big_fleet, fleet, usual
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n
from tests.incidents.node_objects import NOT_READY, add_group_node, add_node, both, conditions, cordon
from tests.incidents.objects import condition
from tests.incidents.platforms import NONE_PENDING
from tests.incidents.pods import (
    PROTECTED,
    SELECTOR,
    add_pdb,
    add_workload,
    matching,
    no_node,
    refuse_pods,
    required,
    waiting,
)
from tests.incidents.pools import add_nodeclass, add_pool
from tests.incidents.workloads import crash

PDB = r"\bPDB\b|PodDisruptionBudget"
ZONE = "topology.kubernetes.io/zone"


def add_pod_webhook(c: Cluster, configuration: str, hook: str, namespace: str, service: str) -> None:
    """Add a mutating webhook that must answer before a pod is created."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"], "scope": "*"}
    target = {"service": {"name": service, "namespace": namespace, "path": "/mutate-v1-pod", "port": 443}}
    webhook = {"name": hook, "failurePolicy": "Fail", "timeoutSeconds": 10, "rules": [rule], "clientConfig": target, "sideEffects": "None", "admissionReviewVersions": ["v1"]}  # fmt: skip
    c.add("MutatingWebhookConfiguration", configuration, age="210d", webhooks=[webhook])


@incident(
    story="With the v1 API the EC2NodeClass got httpPutResponseHopLimit 1. Two hours ago consolidation moved both pods of aws-load-balancer-controller to new nodes, where they cannot read the instance metadata and crash. Its webhook for pods has failurePolicy Fail: the HorizontalPodAutoscaler wants 14 pods of shop/web, and 8 of them cannot be created. A cron job of another team fails as well, as every day.",
    cause="8 of 14 pods of shop/web cannot be created for 46 minutes: the webhook mpod.elbv2.k8s.aws has no endpoints, because both pods of kube-system/aws-load-balancer-controller crash (exit code 1).",
    thread="kubernetes-sigs/aws-load-balancer-controller#3937",
    must=["shop/web", n(8), r"webhook|mpod\.elbv2", r"aws-load-balancer-(controller|webhook)", r"crash|restart|not ready|no (ready )?(endpoint|pod)"],
    must_not=[LAUNCHES, NONE_PENDING, "quota", ICE],
)  # fmt: skip
def load_balancer_webhook_is_down(c: Cluster) -> None:
    add_nodeclass(c, spec={"metadataOptions": {"httpEndpoint": "enabled", "httpPutResponseHopLimit": 1, "httpTokens": "required"}})  # fmt: skip
    add_pool(c, "general")
    pairs = big_fleet(c, "general", 26)
    fresh = [add_node(c, "general", "m6i.xlarge", zone, age="2h6m") for zone in c.zones[:2]]
    pods = add_workload(c, "kube-system/aws-load-balancer-controller", on=fresh, age="2h4m", cpu="100m", memory="200Mi", image="public.ecr.aws/eks/aws-load-balancer-controller:v2.14.1")  # fmt: skip
    for pod in pods:
        crash(c, pod, code=1, restarts=28, ago="3m")
    c.find("Deployment", "aws-load-balancer-controller")["status"] |= {"readyReplicas": 0, "availableReplicas": 0, "unavailableReplicas": 2}  # fmt: skip
    add_workload(c, "tools/importer", on=fresh, age="2h", cpu="2500m", memory="9Gi")
    add_pod_webhook(c, "aws-load-balancer-webhook", "mpod.elbv2.k8s.aws", "kube-system", "aws-load-balancer-webhook-service")  # fmt: skip
    add_workload(c, "shop/web", on=pairs[:6], replicas=14, cpu="90m", memory="200Mi")
    text = 'Error creating: Internal error occurred: failed calling webhook "mpod.elbv2.k8s.aws": failed to call webhook: Post "https://aws-load-balancer-webhook-service.kube-system.svc:443/mutate-v1-pod?timeout=10s": no endpoints available for service "aws-load-balancer-webhook-service"'
    refuse_pods(c, "web", text, first="46m", last="1m", count=26)


@incident(
    story="A platform engineer drained the only node of the group platform 40 minutes ago and went to lunch. Both pods of istiod select that group and are pending. The injector's webhook therefore has no endpoints, and five pods of shop/checkout, which a rollout wants, cannot be created. Karpenter can do nothing about either.",
    cause="Both pods of istio-system/istiod are pending for 39 minutes: they select the node group platform, whose only node is cordoned. So the webhook namespace.sidecar-injector.istio.io has no endpoints, and 5 of 12 pods of shop/checkout cannot be created.",
    thread="istio/istio#44985",
    must=["istiod", "pending", r"cordon", r"sidecar-injector|webhook", "shop/checkout", n(5)],
    must_not=[LAUNCHES, ICE, ROOM, "quota"],
)  # fmt: skip
def injector_selects_a_cordoned_group(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    pairs = big_fleet(c, "general", 33)
    host = add_group_node(c, "m6i.xlarge", c.zones[1])
    assert host.node is not None
    host.node["metadata"]["labels"]["eks.amazonaws.com/nodegroup"] = "platform"
    cordon(c, host, "40m")
    chosen = {"nodeSelector": {"eks.amazonaws.com/nodegroup": "platform"}}
    text = no_node({"node(s) were unschedulable": 1, SELECTOR: 35})
    waiting(c, "istio-system/istiod", 2, "39m", text, cpu="500m", memory="2Gi", spec=chosen, image="docker.io/istio/pilot:1.28.0")  # fmt: skip
    add_pod_webhook(c, "istio-sidecar-injector", "namespace.sidecar-injector.istio.io", "istio-system", "istiod")
    add_workload(c, "shop/checkout", on=pairs[:7], replicas=12, cpu="90m", memory="200Mi")
    text = 'Error creating: Internal error occurred: failed calling webhook "namespace.sidecar-injector.istio.io": failed to call webhook: Post "https://istiod.istio-system.svc:443/inject?timeout=10s": no endpoints available for service "istiod"'
    refuse_pods(c, "checkout", text, first="31m", last="2m", count=21)


@incident(
    story="The capacity reservation of quant ended last night. EC2 lets the four instances run on at the on-demand price, Karpenter relabelled their nodes on-demand and marks them drifted (RequirementsDrifted), because NodePool quant allows reserved capacity only. No reservation is left, so none can be replaced, and nothing new can be launched there.",
    cause="The drift of 4 nodes of quant has waited for 7 hours: NodePool quant allows reserved capacity only, and its EC2NodeClass selects no capacity reservation any more (it ended); the nodes now cost the on-demand price.",
    thread="aws/karpenter-provider-aws#8445",
    must=[r"\bquant\b", n(4), "drift|replac", r"reserv", r"\b[67] ?h"],
    must_not=[PDB, "do-not-disrupt", NONE_PENDING, r"instances? (of it )?(is|are) in use", LAUNCHES],
)  # fmt: skip
def reservation_ended_last_night(c: Cluster) -> None:
    usual(c, 9)
    add_nodeclass(c, "quant", spec={"capacityReservationSelectorTerms": [{"tags": {"team": "quant"}}]}, status={"capacityReservations": []})  # fmt: skip
    add_pool(c, "quant", families=("m7i",), sizes=("4xlarge",), capacity=("reserved",), nodeclass="quant", labels={"team": "quant"}, disruption={"budgets": [{"nodes": "1"}]})  # fmt: skip
    hosts = [add_node(c, "quant", "m7i.4xlarge", "us-east-1b", age="27d", drifted="7h", drift_reason="RequirementsDrifted") for _ in range(4)]  # fmt: skip
    add_workload(c, "quant/pricer", on=hosts, count=8, age="26d", cpu="6", memory="24Gi", spec={"nodeSelector": {"team": "quant"}})  # fmt: skip


@incident(
    story="edge/api is spread over zones (maxSkew 1, DoNotSchedule). Last week a GPU pool was added in us-east-1d, where no other pool launches. Its tainted nodes count as a zone with no pod of edge/api, because nodeTaintsPolicy is Ignore by default: each further pod must go to us-east-1d, whose only pool it does not tolerate. Four pods are pending since a rollout 55 minutes ago.",
    cause="4 pods of edge/api are pending for 55 minutes: their zone spread (maxSkew 1) counts us-east-1d, where only the nodes of NodePool gpu are, whose taint nvidia.com/gpu they do not tolerate.",
    thread="kubernetes-sigs/karpenter#2071",
    must=["edge/api", n(4), r"us-east-1d", r"spread|maxSkew", r"\bgpu\b|taint|tolerat"],
    must_not=[LAUNCHES, ROOM, ICE],
    zones=("us-east-1a", "us-east-1b", "us-east-1d"),
)  # fmt: skip
def gpu_pool_adds_a_zone_to_the_spread(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general", zones=c.zones[:2])
    fleet(c, "general", "orders/storefront", 8, zones=c.zones[:2])
    hosts = [add_node(c, "general", "m6i.xlarge", zone, age="54m") for zone in c.zones[:2]]
    add_pool(c, "gpu", families=("g5",), sizes=("xlarge",), zones=c.zones[2:], template={"taints": [GPU_TAINT]})
    gpus = [add_node(c, "gpu", "g5.xlarge", c.zones[2], gpus=1, age="6d") for _ in range(2)]
    tolerated = {"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]}
    add_workload(c, "ml/whisper", on=gpus, age="6d", cpu="3", memory="12Gi", requests={"nvidia.com/gpu": "1"}, spec=tolerated)  # fmt: skip
    spread = [matching("api", maxSkew=1, topologyKey=ZONE, whenUnsatisfiable="DoNotSchedule")]
    text = no_node({"node(s) didn't match pod topology spread constraints": 12, "node(s) had untolerated taint {nvidia.com/gpu: }": 2})  # fmt: skip
    add_workload(c, "edge/api", on=hosts, pending=4, pending_since="55m", message=text, age="53m", cpu="1", memory="3Gi", spec={"topologySpreadConstraints": spread})  # fmt: skip


@incident(
    story="A kubelet fell silent 26 hours ago, and half an hour later an engineer deleted the node. db/cassandra-2 tolerates unreachable nodes for ever, so Kubernetes does not delete it; its PodDisruptionBudget allows no eviction, because cassandra-2 itself is not ready; and the NodePool has no terminationGracePeriod. The node has been draining since.",
    cause="ip-10-24-19-86 has not been ready for 26 hours (its kubelet is silent) and drains for 25 hours: the PodDisruptionBudget db/cassandra allows no eviction of db/cassandra-2, and there is no terminationGracePeriod.",
    thread="kubernetes-sigs/karpenter#1573, kubernetes-sigs/karpenter#2042",
    must=[r"ip-10-24-\d+-\d+", r"not (been )?ready|NotReady|silent|stopped", "db/cassandra", PDB, r"drain|terminat|delet|remov", r"2[56] ?h|1 ?d"],
    must_not=["do-not-disrupt", LAUNCHES, NONE_PENDING],
    first=2,
)  # fmt: skip
def silent_node_drains_for_a_day(c: Cluster) -> None:
    usual(c, 11)
    add_pool(c, "data", labels={"team": "data"})
    chosen = {"nodeSelector": {"team": "data"}}
    hosts = [add_node(c, "data", "m6i.2xlarge", zone, age="40d") for zone in c.zones[:2]]
    silent = add_node(c, "data", "m6i.2xlarge", c.zones[2], age="29d", ready=NOT_READY, ready_since="26h", deleting="25h30m")  # fmt: skip
    conditions(silent, condition("Drained", "Unknown", c.at("25h29m"), "Draining", "Draining"))
    for pod in add_workload(c, "db/cassandra", kind="StatefulSet", on=[*hosts, silent], age="28d", cpu="6", memory="24Gi", spec=chosen):  # fmt: skip
        for kept in pod["spec"]["tolerations"]:
            kept.pop("tolerationSeconds", None)
    c.find("StatefulSet", "cassandra")["status"] |= {"readyReplicas": 2, "availableReplicas": 2}
    add_pdb(c, "db", "cassandra", "cassandra", healthy=2, desired=2, expected=3, maxUnavailable=1)
    c.event(both(silent)[0], "FailedDraining", "Failed to drain node, 1 pods are waiting to be evicted", last="1m", first="59m", count=29)  # fmt: skip


@incident(
    story="To have many types to choose from, NodePool api demands minValues 10 on the instance type; it allows twelve. Its six r6i.xlarge run one small pod each since the large ones moved away. A cheaper node must still leave ten types, and only seven are cheaper: consolidation replaces none, and says so on the nodes.",
    cause="6 nearly empty nodes of api are not replaced with cheaper ones, because the NodePool demands minValues 10 on node.kubernetes.io/instance-type and fewer types than that are cheaper.",
    thread="kubernetes-sigs/karpenter#1653",
    must=[n(6), r"minValues", r"\bapi\b", r"cheaper|replac|consolidat|smaller|stay"],
    must_not=[LAUNCHES, NONE_PENDING, PDB, "do-not-disrupt"],
)
def min_values_keep_large_nodes(c: Cluster) -> None:
    usual(c, 9)
    types = {"key": "node.kubernetes.io/instance-type", "operator": "Exists", "minValues": 10}
    add_pool(c, "api", families=("m6i", "m7i", "c6i", "r6i"), sizes=("large", "xlarge", "2xlarge"), requirements=[types], labels={"team": "api"})  # fmt: skip
    hosts = [add_node(c, "api", "r6i.xlarge", c.zones[i % 3], age="9d") for i in range(6)]
    alone = {**required("podAntiAffinity", "gate", "kubernetes.io/hostname"), "nodeSelector": {"team": "api"}}
    add_workload(c, "api/gate", on=hosts, age="8d", cpu="300m", memory="700Mi", spec=alone)
    for pair in hosts:
        for manifest in both(pair):
            text = "Filtering by price: minValues requirement is not met for label(s) (label(s)=[node.kubernetes.io/instance-type])"
            c.event(manifest, "Unconsolidatable", text, last="5m", first="57m", count=4, kind="Normal")


@incident(
    story='A scientist protected a sweep of four days with karpenter.sh/do-not-disrupt: "yes". Karpenter only reads "true". The node of the sweep expires in 13 minutes, and its work of three days is lost.',
    cause='research/sweep is evicted in 13 minutes, when its node expires: its annotation karpenter.sh/do-not-disrupt has the value "yes", and Karpenter only reads "true".',
    thread="kubernetes-sigs/karpenter#1961",
    must=["sweep", "expir", r"\b1[23] ?m|09:4[23]", r"do-not-disrupt|annotation"],
    must_not=[r"do-not-disrupt (on|protects|blocks)", r"without end|no terminationGracePeriod"],
)  # fmt: skip
def annotation_says_yes(c: Cluster) -> None:
    usual(c, 5)
    add_pool(c, "research", families=("c7i",), sizes=("4xlarge",), disruption={"consolidationPolicy": "WhenEmpty"})
    old = add_node(c, "research", "c7i.4xlarge", c.zones[1], age=f"{720 * 60 - 13}m")
    marks = {"karpenter.sh/do-not-disrupt": "yes"}
    add_workload(c, "research/sweep", kind="Job", on=[old], age="3d2h", cpu="14", memory="22Gi", annotations=marks, pool="research")  # fmt: skip


@incident(
    story="34 nodes on a Friday evening. Everybody looks at ads/ranker: 24 of its pods cannot pull an image tag that the release pipeline never pushed. Nobody sees that EC2NodeClass db has found no subnets for six hours, because the tags were tidied up, and that five nodes of db with protected MongoDB pods expire in about an hour: their pods are evicted once the nodes are drained, and there will be no new nodes.",
    cause="EC2NodeClass db finds no subnets for 6 hours, so NodePool db launches nothing; 5 nodes of db expire in 65 minutes. 24 pods of ads/ranker cannot pull their image: the tag does not exist.",
    thread="aws/karpenter-provider-aws#4165, aws/karpenter-provider-aws#6980",
    must=[r"subnet", r"\bdb\b", "ads/ranker", n(24), r"expir", n(5)],
    must_not=[LAUNCHES, NONE_PENDING, ICE],
)  # fmt: skip
def loud_release_and_a_class_without_subnets(c: Cluster) -> None:
    add_nodeclass(c)
    text = "SubnetSelector did not match any Subnets"
    add_nodeclass(c, "db", broken={"SubnetsReady": ("SubnetsNotFound", text)}, since="6h", status={"subnets": []})
    add_pool(c, "general")
    add_pool(c, "db", nodeclass="db", labels={"team": "db"}, not_ready=("NodeClassNotReady", f"SubnetsReady=False: {text}", "6h"))  # fmt: skip
    pairs = big_fleet(c, "general", 27)
    hosts = [add_node(c, "db", "m6i.2xlarge", c.zones[i % 3], age=f"{720 * 60 - 65 - i}m") for i in range(5)]
    add_workload(c, "db/mongo", kind="StatefulSet", on=hosts, age="28d", cpu="6", memory="24Gi", annotations=PROTECTED, spec={"nodeSelector": {"team": "db"}})  # fmt: skip
    image = "registry.example/ads/ranker:2026.11.24-rc3"
    error = f'Failed to pull image "{image}": rpc error: code = NotFound desc = failed to pull and unpack image "{image}": failed to resolve reference "{image}": {image}: not found'
    for pod in add_workload(c, "ads/ranker", on=pairs, count=24, age="2h", cpu="90m", memory="100Mi", image=image, waiting="ImagePullBackOff"):  # fmt: skip
        c.event(pod, "Failed", error, last="4m", first="58m", count=12, source="kubelet")
        c.event(pod, "Failed", "Error: ImagePullBackOff", last="14s", first="58m", count=260, source="kubelet")


@incident(
    story="The upgrade from 1.34 to 1.35 has been stuck for nine hours in a cluster of 44 nodes. The user data of EC2NodeClass general passes a kubelet flag that 1.35 removed: new nodes never register, Karpenter gives each up after 15 minutes, and the drift of 30 nodes makes no progress. NodePool infra with another class is done. A prototype crashes for a week, which everybody knows.",
    cause="New nodes of general do not register for 6 hours (their user data has the kubelet flag --pod-infra-container-image, which 1.35 does not know), so the drift of 30 nodes (kubelet 1.34) makes no progress.",
    thread="awslabs/amazon-eks-ami#2411",
    must=[r"regist|join", r"\bgeneral\b", r"drift|replac", n(30)],
    must_not=[NONE_PENDING, ICE, PDB, "do-not-disrupt", LAUNCHES],
)  # fmt: skip
def upgrade_is_stuck_on_a_kubelet_flag(c: Cluster) -> None:
    data = 'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="//"\n\n--//\nContent-Type: application/node.eks.aws\n\napiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    flags:\n    - --pod-infra-container-image=registry.example/pause:3.9\n--//--\n'
    add_nodeclass(c, spec={"userData": data})
    add_nodeclass(c, "infra")
    add_pool(c, "general", registration=("RegistrationFailed", "Failed to register node", "6h"))
    add_pool(c, "infra", nodeclass="infra", labels={"team": "infra"})
    old = big_fleet(c, "general", 30, age="21d", drifted="9h")
    hosts = [add_node(c, "infra", "m6i.xlarge", c.zones[i % 3], age=f"{8 * 60 - 12 * i}m") for i in range(12)]
    add_workload(c, "infra/gateway", on=hosts, count=36, age="4h", spec={"nodeSelector": {"team": "infra"}})
    for pair in old:
        pair.status["nodeInfo"]["kubeletVersion"] = "v1.34.4-eks-ecaa3a6"
        pair.status["nodeInfo"]["osImage"] = "Amazon Linux 2023.8.20260818"
    for pair in old[:2]:
        both(pair)[0]["spec"]["taints"] = [{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]
        conditions(pair, condition("DisruptionReason", "True", c.at("9m"), "Drifted"))
    for age in ("9m", "8m50s"):
        fresh = add_node(c, "general", "m6i.xlarge", c.zones[0], age=age, stage="Launched")
        assert fresh.claim is not None
        c.event(fresh.claim, "DisruptionLaunching", "Launching NodeClaim: Drifted", last=age, kind="Normal")
    for pod in add_workload(c, "lab/prototype", on=hosts[:1], age="7d", cpu="20m", memory="50Mi"):
        crash(c, pod, code=2, restarts=1900, ago="4m")
