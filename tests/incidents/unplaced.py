"""Pending pods: the cause is in another object than the pod, or in a detail of it that few look at."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import NO_TYPE, ZONE, fleet, nominated, refused, unschedulable, usual
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n
from tests.incidents.node_objects import add_node, both
from tests.incidents.objects import condition, suffix, uid
from tests.incidents.pods import (
    SELECTOR,
    add_claim,
    add_pdb,
    add_pod,
    add_volume,
    add_workload,
    age_after,
    matching,
    no_node,
    required,
    waiting,
)
from tests.incidents.pools import add_nodeclass, add_pool

TAINTED = "node(s) had untolerated taint(s)"


@incident(
    story="The cart must be spread evenly over spot and on-demand (maxSkew 1, DoNotSchedule). EC2 has no spot capacity for 24 minutes, so the next pod may only start on spot, and five pods are pending "
    "although on-demand could be launched.",
    cause="5 pods of shop/cart are pending: their spread over karpenter.sh/capacity-type allows only spot next, and EC2 has no spot capacity.",
    thread="aws/karpenter-provider-aws#3239",
    must=["shop/cart", ICE, r"\bspot\b", n(5), r"spread|maxSkew|skew"],
    must_not=[LAUNCHES, ROOM],
)
def spread_over_capacity_types(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "on-demand", sizes=("xlarge",), weight=10)
    add_pool(c, "spot", sizes=("xlarge",), capacity=("spot",), weight=50)
    fleet(c, "on-demand", "orders/storefront", 3)
    steady = add_node(c, "on-demand", "m6i.xlarge", c.zones[0], age="9d")
    cheap = add_node(c, "spot", "m6i.xlarge", c.zones[1], age="9h", capacity="spot")
    add_workload(c, "orders/mailer", on=[cheap], age="8h", cpu="1700m", memory="6Gi")
    spread = matching("cart", topologyKey="karpenter.sh/capacity-type", maxSkew=1, whenUnsatisfiable="DoNotSchedule")
    message = no_node({"node(s) didn't match pod topology spread constraints": 1, "Insufficient cpu": 6})
    pods = add_workload(
        c, "shop/cart", on=[steady, cheap, steady], pending=5, pending_since="24m", age="8h", cpu="1700m", memory="6Gi",
        spec={"topologySpreadConstraints": [spread]}, message=message,
    )[3:]  # fmt: skip
    error = "InsufficientInstanceCapacity: There is no Spot capacity available that matches your request."
    refused(c, "spot", [error], pods, every=3, times=8)


@incident(
    story="Untrusted builds run in Kata VMs: their RuntimeClass adds one core and 2Gi of overhead to each pod. The pods ask for seven cores, which alone would fit an instance of eight; with the overhead they "
    "fit none of pool kata. Four are pending for 45 minutes.",
    cause="4 pods of sandbox/runner need 8 cores (7 and 1 of overhead from their RuntimeClass kata), more than any instance type of pool kata leaves to pods.",
    thread="kata-containers/kata-containers#1666",
    must=["sandbox/runner", r"overhead|RuntimeClass", n(4), r"\bcpu\b|cores|too (big|large)"],
    must_not=[LAUNCHES, ROOM, ICE],
)
def overhead_of_a_runtime_class(c: Cluster) -> None:
    usual(c)
    add_pool(c, "kata", families=("m6i",), sizes=("2xlarge",), labels={"runtime": "kata"})
    spec = {"runtimeClassName": "kata", "overhead": {"cpu": "1", "memory": "2Gi"}, "nodeSelector": {"runtime": "kata"}}
    pods = waiting(c, "sandbox/runner", 4, "45m", no_node({SELECTOR: 6}), cpu="7", memory="8Gi", spec=spec)
    unschedulable(c, pods, NO_TYPE, minutes=45)


@incident(
    story="The pool for reserved GPUs allows only the capacity type reserved, and its EC2NodeClass selects no capacity reservation (the selector terms were lost in a merge). There is no offering at all, so "
    "four pods are pending for 33 minutes.",
    cause="NodePool reserved allows only reserved capacity, and EC2NodeClass reserved selects no capacity reservations; 4 pods are pending.",
    thread="kubernetes-sigs/karpenter#1760",
    must=[r"\breserved\b", "reservation", n(4), "ml/tune"],
    must_not=[LAUNCHES, ROOM, r"reservations? (is|are) full|full reservation"],
)
def reserved_pool_without_a_reservation(c: Cluster) -> None:
    usual(c)
    add_nodeclass(c, "reserved")
    add_pool(c, "reserved", families=("m7i",), sizes=("2xlarge",), capacity=("reserved",), nodeclass="reserved")
    pods = waiting(c, "ml/tune", 4, "33m", cpu="3", memory="12Gi", pool="reserved")
    unschedulable(c, pods, "no instance type has the required offering", minutes=33)


@incident(
    story="After a memory leak the VerticalPodAutoscaler raised the request of the indexer to 140Gi, evicted the pod and made it unschedulable: no instance type of the NodePools has that much. The "
    "Deployment itself asks for 4Gi.",
    cause="data/indexer is pending for 52 minutes: the VerticalPodAutoscaler raised its memory request to 140Gi, more than any instance type of the NodePools has.",
    thread="kubernetes/autoscaler#4515",
    must=["data/indexer", r"140 ?Gi|memory", r"VPA|VerticalPodAutoscaler|vertical pod autoscaler", r"5[12] ?m"],
    must_not=[LAUNCHES, ROOM, ICE],
)
def vertical_autoscaler_asks_too_much(c: Cluster) -> None:
    usual(c)
    marks = {"vpaObservedContainers": "app", "vpaUpdates": "Pod resources updated by indexer: container 0: memory request, cpu request"}  # fmt: skip
    pods = waiting(c, "data/indexer", 1, "52m", cpu="1200m", memory="140Gi", annotations=marks)
    target = {"containerName": "app", "target": {"cpu": "1200m", "memory": "150323855360"}}
    c.add(
        "VerticalPodAutoscaler", "indexer", "data", age="90d",
        spec={"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "indexer"}, "updatePolicy": {"updateMode": "Auto"}},
        status={"recommendation": {"containerRecommendations": [target]}},
    )  # fmt: skip
    unschedulable(c, pods, NO_TYPE, minutes=52)


@incident(
    story="The lidar pods keep the API away from their zones: a required anti-affinity against app api by zone, and one of them runs in each zone. The API's two pods have no rule of their own, and nobody finds "
    "why they are pending for 41 minutes.",
    cause="2 pods of geo/api are pending for 41 minutes: pods geo/lidar in all three zones have a required anti-affinity against them.",
    thread="kubernetes-sigs/karpenter#2809",
    must=["geo/api", r"anti-?affinity", "lidar", n(2)],
    must_not=[LAUNCHES, ROOM, ICE],
)
def anti_affinity_of_other_pods(c: Cluster) -> None:
    usual(c)
    pairs = [add_node(c, "general", "m6i.2xlarge", zone, age="5d") for zone in c.zones]
    spec = required("podAntiAffinity", "api", ZONE)
    add_workload(c, "geo/lidar", kind="StatefulSet", on=pairs, age="4d", cpu="3", memory="12Gi", spec=spec)
    text = no_node({"node(s) didn't satisfy existing pods anti-affinity rules": 9})
    pods = waiting(c, "geo/api", 2, "41m", text, cpu="500m", memory="1Gi")
    unschedulable(c, pods, NO_TYPE, minutes=41)


@incident(
    story="kube-scheduler lost its lease 15 minutes ago and did not come back. Nine new pods have no scheduling condition at all, so Karpenter, which waits for kube-scheduler's verdict, launches nothing.",
    cause="kube-scheduler does not work: its lease was last renewed 15 minutes ago, and 9 pods of orders/checkout have not been looked at for 14 minutes.",
    thread="kubernetes/kubernetes#70730",
    must=[r"kube-scheduler|default-scheduler", n(9), "checkout", r"1[345] ?m"],
    must_not=[LAUNCHES, ROOM, ICE, r"karpenter (is|does) not run"],
)
def kube_scheduler_is_down(c: Cluster) -> None:
    usual(c)
    spec = {
        "holderIdentity": "ip-10-24-0-7_4b1d",
        "leaseDurationSeconds": 15,
        "acquireTime": c.at("9d"),
        "renewTime": c.at("15m"),
    }
    c.add("Lease", "kube-scheduler", "kube-system", age="200d", spec=spec)
    waiting(c, "orders/checkout", 9, "14m", scheduled=False)


@incident(
    story="The EBS controller crashes since its IAM role was renamed. A new Kafka broker got a node, but nobody creates its volume; the pod is pending for 32 minutes.",
    cause="streaming/kafka-3 is pending for 32 minutes: its volume is not created, because the driver's controller kube-system/ebs-csi-controller crashes.",
    thread="kubernetes/kops#15335",
    must=[r"streaming/kafka|kafka-3", "volume", r"ebs-csi-controller|ebs\.csi\.aws\.com|provisioner", r"3[012] ?m"],
    must_not=[LAUNCHES, ICE],
)
def volume_controller_crashes(c: Cluster) -> None:
    usual(c)
    pairs = [add_node(c, "general", "m6i.2xlarge", zone, age="20d") for zone in c.zones]
    fresh = add_node(c, "general", "m6i.2xlarge", c.zones[0], age="31m")
    add_workload(c, "orders/catalog", on=[fresh], age="28m", cpu="1", memory="2Gi")
    crashing = add_workload(
        c, "kube-system/ebs-csi-controller", on=c.system, age="40m", cpu="60m", memory="240Mi", waiting="CrashLoopBackOff",
        spec={"priorityClassName": "system-cluster-critical"},
    )  # fmt: skip
    for pod in crashing:
        pod["status"]["phase"] = "Running"
        ended = {"reason": "Error", "exitCode": 1, "startedAt": c.at("3m"), "finishedAt": c.at("2m")}
        pod["status"]["containerStatuses"][0] |= {"restartCount": 12, "lastState": {"terminated": ended}}
    pods = add_workload(c, "streaming/kafka", kind="StatefulSet", on=pairs, pending=1, pending_since="32m", age="20d", cpu="6", memory="24Gi")  # fmt: skip
    for number, pod in enumerate(pods[:3]):
        pod["spec"]["volumes"] = [add_volume(c, "streaming", f"data-kafka-{number}", c.zones[number])]
    manifest = add_claim(c, "streaming", "data-kafka-3", "gp3", age="32m")
    manifest["metadata"]["annotations"] = {
        "volume.kubernetes.io/selected-node": fresh.name,
        "volume.kubernetes.io/storage-provisioner": "ebs.csi.aws.com",
    }
    pods[3]["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "data-kafka-3"}}]
    verdict = 'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded'
    pods[3]["status"]["conditions"][0] |= {"reason": "SchedulerError", "message": verdict}
    c.objects = [
        item for item in c.objects if not (item["kind"] == "Event" and item["involvedObject"]["name"] == "kafka-3")
    ]
    c.event(pods[3], "FailedScheduling", verdict, last="40s", first="21m", count=3, source="default-scheduler")
    text = (
        "Waiting for a volume to be created either by the external provisioner 'ebs.csi.aws.com' or manually by the system administrator. If volume creation is delayed, please verify "
        "that the provisioner is running and correctly registered."
    )
    c.event(manifest, "ExternalProvisioning", text, last="8s", first="31m", count=125, kind="Normal", source="persistentvolume-controller")  # fmt: skip


@incident(
    story="The pods carry a toleration for dedicated=ml, but with the effect NoExecute; the taint of pool ml has the effect NoSchedule. Everybody reads the key and the value. Five pods are pending for 37 "
    "minutes.",
    cause="5 pods of ml/batch do not tolerate the taint dedicated=ml:NoSchedule of NodePool ml (their toleration has the effect NoExecute).",
    thread="kubernetes-sigs/karpenter#2441",
    must=["ml/batch", r"taint|tolerat", "dedicated", "NoSchedule", n(5)],
    must_not=[LAUNCHES, ROOM, ICE],
)
def toleration_of_another_effect(c: Cluster) -> None:
    usual(c)
    taint = {"key": "dedicated", "value": "ml", "effect": "NoSchedule"}
    add_pool(c, "ml", template={"taints": [taint]}, labels={"team": "ml"})
    host = add_node(c, "ml", "m6i.xlarge", c.zones[0], age="3d")
    good = {"tolerations": [taint | {"operator": "Equal"}], "nodeSelector": {"team": "ml"}}
    add_workload(c, "ml/notebook", on=[host], count=3, age="2d", spec=good)
    bad = {"tolerations": [taint | {"operator": "Equal", "effect": "NoExecute"}], "nodeSelector": {"team": "ml"}}
    text = no_node({SELECTOR: 6, TAINTED: 1})
    pods = waiting(c, "ml/batch", 5, "37m", text, spec=bad)
    unschedulable(c, pods, "did not tolerate taint (taint=dedicated=ml:NoSchedule)", minutes=37)


@incident(
    story="The log store was scaled from four to six replicas. The namespace's storage quota is used up, so the StatefulSet cannot create the volume claim of the fifth replica and makes no pod for 50 minutes. No "
    "pod is pending.",
    cause="Pods of logging/loki cannot be created for 50 minutes: the claim data-loki-4 exceeds the storage quota of the namespace; 4 of 6 replicas exist.",
    thread="kubernetes/kubernetes#25146",
    must=["logging/loki", "quota", r"storage|claim|PVC|volume", r"4 of 6|2 of 6|" + n(2), r"(49|50) ?m"],
    must_not=[LAUNCHES, ICE],
)
def storage_quota(c: Cluster) -> None:
    usual(c)
    pairs = [add_node(c, "general", "m6i.xlarge", c.zones[number % 3], age="12d") for number in range(4)]
    pods = add_workload(c, "logging/loki", kind="StatefulSet", on=pairs, replicas=6, age="11d", cpu="3", memory="9Gi")
    for number, pod in enumerate(pods):
        pod["spec"]["volumes"] = [add_volume(c, "logging", f"data-loki-{number}", pairs[number].zone)]
    text = (
        'create Claim data-loki-4 for Pod loki-4 in StatefulSet loki failed error: persistentvolumeclaims "data-loki-4" is forbidden: exceeded quota: storage, requested: '
        "requests.storage=200Gi, used: requests.storage=900Gi, limited: requests.storage=1000Gi"
    )
    manifest = c.find("StatefulSet", "loki")
    c.event(manifest, "FailedCreate", text, last="2m", first="50m", count=19, source="statefulset-controller")
    text = 'create Pod loki-4 in StatefulSet loki failed error: failed to create PVC data-loki-4: persistentvolumeclaims "data-loki-4" is forbidden: exceeded quota: storage, requested: requests.storage=200Gi, used: requests.storage=900Gi, limited: requests.storage=1000Gi'  # fmt: skip
    c.event(manifest, "FailedCreate", text, last="2m", first="50m", count=19, source="statefulset-controller")


@incident(
    story="A PodDisruptionBudget with maxUnavailable selects pods of a Job. The disruption controller cannot ask a Job for its scale, gives up (SyncFailed) and allows no eviction at all. The drift of three nodes waits "
    "for five days.",
    cause="The PodDisruptionBudget ml/sweep allows no eviction because Kubernetes cannot count its pods (Jobs have no scale), so the drift of 3 nodes waits for 5 days.",
    thread="kubernetes/kubernetes#129625",
    must=[
        "ml/sweep",
        "PDB|PodDisruptionBudget",
        n(3),
        "drift",
        r"\b5 ?d|1(19|20) ?h",
        r"scale|SyncFailed|count|calculat|comput",
    ],
    must_not=[LAUNCHES],
)
def budget_that_cannot_be_counted(c: Cluster) -> None:
    usual(c)
    add_pool(c, "batch", sizes=("xlarge",), labels={"team": "batch"})
    pairs = [add_node(c, "batch", "m6i.xlarge", zone, age="20d", drifted="5d") for zone in c.zones]
    add_workload(c, "ml/sweep", kind="Job", on=pairs, age="6d", cpu="3", memory="9Gi", spec={"nodeSelector": {"team": "batch"}})  # fmt: skip
    manifest = add_pdb(c, "ml", "sweep", "sweep", healthy=0, desired=0, expected=0, maxUnavailable=1)
    text = "jobs.batch does not implement the scale subresource"
    failed = {"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed", "message": text}
    manifest["status"]["conditions"] = [failed | {"lastTransitionTime": c.at("6d"), "observedGeneration": 1}]
    text = f"Failed to calculate the number of expected pods: {text}"
    c.event(manifest, "CalculateExpectedPodCountFailed", text, last="20s", first="59m", count=180, source="controllermanager")  # fmt: skip
    for pair in pairs:
        for item in both(pair):
            text = "Pdb prevents pod evictions (PodDisruptionBudget=[ml/sweep])"
            c.event(item, "DisruptionBlocked", text, last="1m", first="58m", count=28, kind="Normal")


@incident(
    story="Each replica of the API prefers not to share a node with another one (preferred anti-affinity). Karpenter honours that in simulations, so eight nodes run one tiny pod each and stay, for as long as "
    "PREFERENCE_POLICY is Respect.",
    cause="8 nodes of general run one small pod of shop/api each and stay, because Karpenter honours the pods' preferred anti-affinity (PREFERENCE_POLICY Respect).",
    thread="aws/karpenter-provider-aws#3406",
    must=["shop/api", r"anti-?affinity|preference", r"prefer", n(8), r"\bgeneral\b"],
    must_not=[r"do-not-disrupt", "PodDisruptionBudget", r"\bremovable\b"],
)
def preferred_anti_affinity_keeps_nodes(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general", families=("m6i",), sizes=("xlarge",))
    pairs = [add_node(c, "general", "m6i.xlarge", c.zones[number % 3], age="6d") for number in range(8)]
    term = {"weight": 100, "podAffinityTerm": matching("api", topologyKey="kubernetes.io/hostname")}
    spec = {"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}}
    add_workload(c, "shop/api", on=pairs, age="5d", cpu="300m", memory="256Mi", pool="general", spec=spec)
    for pair in pairs:
        for manifest in both(pair):
            c.event(manifest, "Unconsolidatable", "Can't replace with a cheaper node", last="3m", first="55m", count=4, kind="Normal")  # fmt: skip


@incident(
    story="The manifest names the volume claim report-cache, and the claim was created as reports-cache. Kubernetes waits for a claim of that name, and so do two pods, for 47 minutes. Karpenter ignores them.",
    cause="2 pods of bi/report are pending for 47 minutes: their PersistentVolumeClaim report-cache does not exist.",
    thread="aws/karpenter-provider-aws#1229",
    must=["bi/report", r"report-cache", r"claim|PVC", r"not found|not exist|missing|no such", n(2)],
    must_not=[LAUNCHES, ROOM, ICE],
)
def volume_claim_missing(c: Cluster) -> None:
    usual(c)
    add_claim(c, "bi", "reports-cache", "gp3", age="50m")
    volume = {"name": "cache", "persistentVolumeClaim": {"claimName": "report-cache"}}
    text = '0/6 nodes are available: persistentvolumeclaim "report-cache" not found. preemption: 0/6 nodes are available: 6 Preemption is not helpful for scheduling.'  # fmt: skip
    waiting(c, "bi/report", 2, "47m", text, cpu="500m", memory="1Gi", spec={"volumes": [volume]})


@incident(
    story="A base manifest selects arm64, and an overlay added a required node affinity for amd64. No node can be both; three pods are pending for 28 minutes, and each NodePool looks wrong for another reason.",
    cause="3 pods of shop/search contradict themselves: their nodeSelector asks for kubernetes.io/arch arm64, their node affinity for amd64.",
    thread="aws/karpenter-provider-aws#7535",
    must=["shop/search", "arch", "arm64", "amd64", n(3)],
    must_not=[LAUNCHES, ROOM, ICE],
)
def selectors_that_contradict_each_other(c: Cluster) -> None:
    usual(c, arch=("amd64", "arm64"), families=("m6i", "m7g"))
    term = {"matchExpressions": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}]}
    chosen = {"nodeSelectorTerms": [term]}
    spec = {
        "nodeSelector": {"kubernetes.io/arch": "arm64"},
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": chosen}},
    }
    pods = waiting(c, "shop/search", 3, "28m", no_node({SELECTOR: 6}), cpu="500m", memory="1Gi", spec=spec)
    unschedulable(c, pods, NO_TYPE, minutes=28)


@incident(
    story="The monitoring pods prefer nodes without Karpenter, by a preferred affinity karpenter.sh/nodepool DoesNotExist. The node group is full. Karpenter takes even the preference for a refusal and ignores the pods without a "
    "word; four are pending for 55 minutes.",
    cause="Karpenter ignores 4 pods of monitoring/prometheus in silence, because they prefer nodes without karpenter.sh/nodepool (DoesNotExist).",
    thread="kubernetes-sigs/karpenter#1265",
    must=["prometheus", r"karpenter\.sh/nodepool|DoesNotExist", r"ignore|silen", n(4)],
    must_not=[LAUNCHES, ROOM, ICE],
)
def preference_that_karpenter_takes_for_a_refusal(c: Cluster) -> None:
    usual(c)
    expression = {"key": "karpenter.sh/nodepool", "operator": "DoesNotExist"}
    term = {"weight": 50, "preference": {"matchExpressions": [expression]}}
    spec = {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}}
    waiting(c, "monitoring/prometheus", 4, "55m", kind="StatefulSet", cpu="2", memory="6Gi", spec=spec)


@incident(
    story="The web pods are spread evenly over the label capacity-spread and select NodePool steady, which has the value 1 only. Karpenter counts the values 2 to 5 of NodePool cheap as well, so a second pod never fits. Two are pending "
    "for an hour.",
    cause="2 pods of shop/web are pending: their spread over capacity-spread counts the values of NodePool cheap (2 to 5), which they cannot use.",
    thread="aws/karpenter-provider-aws#8702",
    must=["shop/web", "capacity-spread", "spread", n(2), r"\b[2345]\b.{0,3}[ =]0|cheap|domains"],
    must_not=[LAUNCHES, ROOM],
)
def spread_over_values_of_another_pool(c: Cluster) -> None:
    add_nodeclass(c)
    key = "capacity-spread"
    requirement = {"key": key, "operator": "In", "values": ["1"]}
    others = {"key": key, "operator": "In", "values": ["2", "3", "4", "5"]}
    add_pool(c, "steady", sizes=("xlarge",), requirements=[requirement], labels={"tier": "steady"})
    add_pool(c, "cheap", sizes=("xlarge",), capacity=("spot",), requirements=[others])
    fleet(c, "cheap", "orders/storefront", 3, capacity="spot", age="20h")
    host = add_node(c, "steady", "m6i.xlarge", c.zones[0], age="6d")
    for pair in c.nodes:
        for manifest in filter(None, (pair.node, pair.claim)):
            pool = manifest["metadata"]["labels"].get("karpenter.sh/nodepool")
            if pool:
                manifest["metadata"]["labels"][key] = "1" if pool == "steady" else "2"
    spread = matching("web", topologyKey=key, maxSkew=1, whenUnsatisfiable="DoNotSchedule")
    spec = {"nodeSelector": {"tier": "steady"}, "topologySpreadConstraints": [spread]}
    text = no_node({SELECTOR: 5, "Insufficient cpu": 1})
    pods = add_workload(c, "shop/web", on=[host], pending=2, pending_since="60m", age="5d", cpu="2500m", memory="8Gi", spec=spec, message=text)  # fmt: skip
    unschedulable(c, pods[1:], "unsatisfiable topology constraint for topology spread, key=capacity-spread", minutes=60)


@incident(
    story="The route table of the subnet in us-east-1b lost its NAT gateway. Nodes in the other zones join as ever; the three that were launched in us-east-1b eight minutes ago have not registered, and six pods are pending.",
    cause="3 NodeClaims of general in us-east-1b have not registered for 8 minutes, while nodes in other zones joined; 6 pods are pending.",
    thread="aws/karpenter-provider-aws#988",
    must=[n(3), "us-east-1b", r"regist|join", r"\bgeneral\b|general-", n(6)],
    must_not=[LAUNCHES, ICE],
)
def nodes_of_one_zone_never_register(c: Cluster) -> None:
    usual(c)
    joined = [add_node(c, "general", "m6i.xlarge", zone, age="9m") for zone in (c.zones[0], c.zones[2])]
    add_workload(c, "orders/catalog", on=joined, count=6, age="7m")
    late = [add_node(c, "general", "m6i.xlarge", c.zones[1], age="8m", stage="Launched") for _ in range(3)]
    nominated(c, waiting(c, "orders/checkout", 6, "9m"), late, last="20s", count=40)


@incident(
    story="A freeze (a budget of 0 nodes from 06:00 to 20:00 UTC) is meant for consolidation and drift. Since Karpenter 1.15 it stops node repair as well: a node has had broken storage for 55 minutes, and nothing happens.",
    cause="The disruption budget of general (0 nodes until 20:00 UTC) blocks the repair of a node whose storage has been unhealthy for 55 minutes.",
    thread="kubernetes-sigs/karpenter#2134",
    must=[r"\bgeneral\b", "budget", r"repair|unhealthy", r"StorageReady|storage", r"20:00|10h"],
    must_not=[r"repair is (off|disabled)", r"Karpenter (will )?repairs? (it|them)\b", LAUNCHES],
    settings={"FEATURE_GATES": "NodeRepair=true"},
)
def freeze_stops_repair(c: Cluster) -> None:
    add_nodeclass(c)
    freeze = {"nodes": "0", "schedule": "0 6 * * *", "duration": "14h"}
    add_pool(c, "general", disruption={"budgets": [freeze, {"nodes": "20%"}]})
    pairs = fleet(c, "general", "orders/storefront", 8)
    for pair in pairs:
        ill = pair is pairs[2]
        text = "EBS volume I/O has stalled" if ill else ""
        state = ("False", c.at("55m"), "EBSVolumeIOStalled", text) if ill else ("True", pair.created, "StorageIsReady")
        manifest = {**condition("StorageReady", *state), "lastHeartbeatTime": c.at("30s")}
        both(pair)[0]["status"]["conditions"].append(manifest)


@incident(
    story="The log agent runs as an OpenKruise DaemonSet (apps.kruise.io). Karpenter knows only DaemonSets of Kubernetes, so the agent counts as a workload, and six nodes of batch, which run nothing else, never count as empty.",
    cause="6 nodes of batch run nothing but pods of the OpenKruise DaemonSet logging/agent, which Karpenter counts as a workload, so WhenEmpty never removes them.",
    thread="kubernetes-sigs/karpenter#1366",
    must=[n(6), r"\bbatch\b", r"kruise|DaemonSet|logging/agent", r"empty|WhenEmpty"],
    must_not=[r"do-not-disrupt", r"\bremovable\b"],
)
def kruise_daemonset_keeps_nodes(c: Cluster) -> None:
    usual(c)
    add_pool(c, "batch", sizes=("xlarge",), disruption={"consolidationPolicy": "WhenEmpty"})
    for number in range(6):
        add_node(c, "batch", "m6i.xlarge", c.zones[number % 3], age="4d")
    parent = {"apiVersion": "apps.kruise.io/v1alpha1", "kind": "DaemonSet", "metadata": {"name": "agent", "uid": uid("kruise", "agent")}}  # fmt: skip
    for pair in [*c.nodes]:
        name = f"agent-{suffix('agent', pair.name)}"
        labels = {"app.kubernetes.io/name": "agent"}
        add_pod(c, "logging", name, node=pair, parent=parent, age=age_after(c, pair), cpu="20m", memory="32Mi", labels=labels, spec={"tolerations": [{"operator": "Exists"}]})  # fmt: skip
