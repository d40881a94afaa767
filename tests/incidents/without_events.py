"""Incidents in lists without events: statuses and settings alone tell the cause."""

from __future__ import annotations

from typing import Final

from tests.incidents.cluster import Cluster, owned_by
from tests.incidents.fleets import usual
from tests.incidents.incident import ICE, LAUNCHES, incident, n, quiet
from tests.incidents.node_objects import add_node, conditions
from tests.incidents.objects import API, Object, condition, suffix
from tests.incidents.pods import (  # fmt: skip
    add_claim,
    add_daemonset,
    add_namespace,
    add_pod,
    add_volume,
    add_workload,
    refuse_pods,
)
from tests.incidents.workloads import crash

WITHOUT_EVENTS: Final = tuple(kind for kind in API if kind != "Event")
PENDING: Final = r"\d+ pods? [^\n]{0,30}pending"


def rejected(c: Cluster, name: str, told: tuple[str, str], *, count: int, every: int, running: int = 0) -> None:
    """Add a Deployment, and its pods that the kubelet of one node rejected, every so many seconds."""
    host = add_node(c, "general", "m6i.xlarge", c.zones[0], age="6d")
    add_workload(c, name, on=[host], count=running, replicas=max(running, 1), age="20s", cpu="300m", memory="256Mi")
    namespace, short = name.split("/")
    parent = next(item for item in c.objects if item["kind"] == "ReplicaSet" and owned_by(item, short))
    for number in range(count):
        labels, age = parent["metadata"]["labels"], f"{40 + every * number}s"
        pod = add_pod(c, namespace, f"{parent['metadata']['name']}-{suffix(name, 'rejected', number)}", node=host, parent=parent, age=age, labels=labels, phase="Failed", cpu="300m", memory="256Mi")  # fmt: skip
        pod["status"] |= {"reason": told[0], "message": told[1], "conditions": []}
        del pod["status"]["containerStatuses"]


@incident(
    story="A security baseline sets an AppArmor profile on the pods of sec/agent. The nodes run Amazon Linux 2023, which has no AppArmor: the kubelet rejects each pod, and the ReplicaSet makes the next one, 31 in 16 minutes. The engineer's lists hold no events.",
    cause="The kubelet rejects the pods of sec/agent (AppArmor is not enabled on the host): 31 failed in 16 minutes, and none runs.",
    thread="cert-manager/cert-manager#5548, VictoriaMetrics/operator#1120",
    must=["sec/agent", "AppArmor", n(31), r"1[56] ?m"],
    must_not=[LAUNCHES, PENDING, ICE],
    listed=WITHOUT_EVENTS,
)
def app_armor_is_not_enabled(c: Cluster) -> None:
    usual(c)
    text = "Pod was rejected: Cannot enforce AppArmor: AppArmor is not enabled on the host"
    rejected(c, "sec/agent", ("AppArmor", text), count=31, every=30)


@incident(
    story="A label that the pods of geo/asia select was taken off a node, and its kubelet restarted. A scheduler of the team binds by a cached copy of the labels: the kubelet rejects pod after pod (NodeAffinity), 22 in 21 minutes. Events were not listed.",
    cause="The kubelet rejects the pods of geo/asia (NodeAffinity: the node does not match their affinity): 22 failed in 21 minutes, and none runs.",
    thread="kubernetes/kubernetes#93338, kubernetes/kubernetes#100467",
    must=["geo/asia", "NodeAffinity|affinity", n(22), r"2[012] ?m"],
    must_not=[LAUNCHES, PENDING, ICE],
    listed=("Node", "NodeClaim", "NodePool", "EC2NodeClass", "Pod"),
)
def kubelet_rejects_by_node_affinity(c: Cluster) -> None:
    usual(c)
    text = "Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"
    rejected(c, "geo/asia", ("NodeAffinity", text), count=22, every=60)


@quiet(
    story="A node rebooted this morning. Its kubelet rejected five pods while it started (NodeAffinity); their successors run since. The rejected pods were not deleted. Events were not listed.",
    cause="pods that a kubelet rejected in a restart are left over.",
    thread="kubernetes/kubernetes#100467",
    listed=WITHOUT_EVENTS,
)
def fine_rejected_pods_are_left_over(c: Cluster) -> None:
    usual(c)
    text = "Pod was rejected: Predicate NodeAffinity failed"
    rejected(c, "geo/asia", ("NodeAffinity", text), count=5, every=1, running=3)


def _refused_in_lists(c: Cluster, name: str, running: int, wanted: int, text: str, *, since: str) -> None:
    usual(c)
    host = add_node(c, "general", "m6i.2xlarge", c.zones[1], age="6d")
    add_workload(c, name, on=[host], count=running, replicas=wanted, age="5d", cpu="500m", memory="1Gi")
    refuse_pods(c, name.split("/")[1], f"Error creating: {text}", first=since, last="3m", count=22)


@incident(
    story="The quota of namespace payments is used up since a release that doubled the requests. Four of twelve pods are not created. Events are kept for an hour, and the lists have none; the ReplicaSet's condition tells the reason.",
    cause="8 of 12 pods of payments/api exist: the ResourceQuota payments-quota is exceeded, so the others cannot be created for 3 hours.",
    thread="kubernetes/kubernetes#25146",
    must=["payments/api", r"payments-quota|quota", r"\b8 of 12\b|" + n(4), r"\b3 ?h|2h5\d|1[78]\d ?m"],
    must_not=[LAUNCHES, PENDING, ICE],
    listed=WITHOUT_EVENTS,
)
def quota_is_exceeded_without_events(c: Cluster) -> None:
    text = 'pods "api-7f9c-x2x2x" is forbidden: exceeded quota: payments-quota, requested: requests.cpu=500m, used: requests.cpu=4, limited: requests.cpu=4'
    _refused_in_lists(c, "payments/api", 8, 12, text, since="3h")


@incident(
    story="The injector of a service mesh was removed, its webhook configuration was not. No pod of shop/mailer can be created for 2 hours. The engineer listed nodes, pods, Deployments and ReplicaSets only.",
    cause="None of the 5 pods of shop/mailer can be created for 2 hours: the webhook sidecar.mesh.example has no endpoints.",
    thread="kyverno/kyverno#2869",
    must=["shop/mailer", r"sidecar\.mesh\.example|webhook", n(5), r"\b2 ?h|1h5\d|11\d ?m"],
    must_not=[LAUNCHES, PENDING, ICE],
    listed=("Node", "NodeClaim", "NodePool", "EC2NodeClass", "Pod", "Deployment", "ReplicaSet"),
)
def webhook_is_dead_without_events(c: Cluster) -> None:
    text = 'Internal error occurred: failed calling webhook "sidecar.mesh.example": failed to call webhook: Post "https://injector.mesh.svc:443/inject?timeout=10s": no endpoints available for service "injector"'
    _refused_in_lists(c, "shop/mailer", 0, 5, text, since="2h")


@incident(
    story="Somebody deletes namespace qa-7, and one of its objects has a finalizer that nothing removes. For 4 hours the namespace has been terminating; its Deployment cannot create pods. Events were not listed.",
    cause="qa-7/preview cannot create its 2 pods: its namespace has been terminating for 4 hours.",
    thread="kubernetes/kubernetes#19317, ray-project/kuberay#3388",
    must=["qa-7", r"terminat|delet", r"\b4 ?h|3h5\d|2[34]\d ?m"],
    must_not=[LAUNCHES, PENDING, ICE],
    listed=WITHOUT_EVENTS,
)
def namespace_never_ends(c: Cluster) -> None:
    add_namespace(c, "qa-7")
    namespace = c.find("Namespace", "qa-7")
    namespace["metadata"]["deletionTimestamp"] = c.at("4h")
    namespace["status"] = {"phase": "Terminating", "conditions": [condition("NamespaceContentRemaining", "True", c.at("4h"), "SomeResourcesRemain", "Some resources are remaining: certificates.cert-manager.io has 1 resource instances")]}  # fmt: skip
    text = 'pods "preview-6c-zzzzz" is forbidden: unable to create new content in namespace qa-7 because it is being terminated'
    _refused_in_lists(c, "qa-7/preview", 0, 2, text, since="4h")


def _waits_for_a_volume(c: Cluster, since: str, message: str) -> tuple[list[Object], Object]:
    """Add a StatefulSet with two running replicas and a third that waits for its volume; return pods and claim."""
    usual(c)
    hosts = [add_node(c, "general", "m6i.2xlarge", zone, age="8d") for zone in c.zones]
    pods = add_workload(c, "logging/loki", kind="StatefulSet", on=hosts[:2], pending=1, pending_since=since, age="7d", cpu="500m", memory="1Gi", message=message)  # fmt: skip
    for number, pod in enumerate(pods[:2]):
        pod["spec"]["volumes"] = [add_volume(c, "logging", f"data-loki-{number}", c.zones[number])]
    claim = add_claim(c, "logging", "data-loki-2", "gp3", age=since)
    claim["metadata"]["annotations"] = {"volume.kubernetes.io/selected-node": hosts[2].name, "volume.kubernetes.io/storage-provisioner": "ebs.csi.aws.com"}  # fmt: skip
    pods[2]["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "data-loki-2"}}]
    return pods, claim


BINDING: Final = 'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded'


@incident(
    story="The role of the EBS driver cannot be assumed since the OIDC provider was deleted. kube-scheduler chose a node for logging/loki-2 47 minutes ago, and the volume is still not created. Nodes and pods are fine; the events were not listed.",
    cause="logging/loki-2 is pending for 47 minutes: its PersistentVolumeClaim data-loki-2 is Pending, as ebs.csi.aws.com has not created its volume.",
    thread="kubernetes-sigs/aws-ebs-csi-driver#748",
    must=[
        "loki",
        r"volume|PersistentVolumeClaim|PVC|claim",
        r"not (been )?created|Pending|provision|create",
        r"4[67] ?m",
    ],
    must_not=[LAUNCHES, ICE, r"by Karpenter's rules|it fits on ip-"],
    other=[{"command": ["pending"], "must": [["volume|PVC|claim|data-loki-2"]], "mustNot": [r"by Karpenter's rules"]}],
    listed=WITHOUT_EVENTS,
)
def volume_is_not_created_without_events(c: Cluster) -> None:
    pods, _ = _waits_for_a_volume(c, "47m", BINDING)
    pods[2]["status"]["conditions"][0]["reason"] = "Unschedulable"


@incident(
    story="A StorageClass with Immediate binding: its driver's controller was scaled to 0 two days ago. The volume of a new database is never created, and kube-scheduler says that the pod has an unbound immediate PersistentVolumeClaim. Events were not listed.",
    cause="crm/db-0 is pending for 2 hours: its PersistentVolumeClaim data-db-0 (StorageClass fast, binding Immediate) is Pending.",
    thread="kubernetes/kops#15335",
    must=[
        "crm/db",
        r"volume|PersistentVolumeClaim|PVC|claim",
        r"unbound|not (been )?created|Pending|not bound",
        r"\b2 ?h|1h5\d|1[12]\d ?m",
    ],
    must_not=[LAUNCHES, ICE, r"by Karpenter's rules|it fits on ip-"],
    listed=WITHOUT_EVENTS,
)
def immediate_volume_is_unbound(c: Cluster) -> None:
    usual(c)
    add_node(c, "general", "m6i.2xlarge", c.zones[0], age="8d")
    c.add("StorageClass", "fast", age="40d", provisioner="ebs.csi.aws.com", reclaimPolicy="Delete", volumeBindingMode="Immediate")  # fmt: skip
    add_claim(c, "crm", "data-db-0", "fast", age="2h")
    text = "0/7 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: 0/7 nodes are available: 7 Preemption is not helpful for scheduling."
    pods = add_workload(c, "crm/db", kind="StatefulSet", pending=1, pending_since="2h", age="2h", cpu="500m", memory="1Gi", message=text)  # fmt: skip
    pods[0]["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}}]


@quiet(
    story="A third replica was added 40 seconds ago; kube-scheduler chose its node, and the EBS driver is creating the volume. Events were not listed.",
    cause="a volume is being created, which takes seconds.",
    thread="kubernetes-sigs/aws-ebs-csi-driver#748",
    listed=WITHOUT_EVENTS,
)
def fine_volume_is_created_in_seconds(c: Cluster) -> None:
    pods, _ = _waits_for_a_volume(c, "40s", BINDING)
    pods[2]["status"]["conditions"] = []


def _drains(c: Cluster, *, hook: Object | None, alive: bool) -> None:
    usual(c)
    guard = add_workload(c, "policy/guard", on=c.system[:1], age="30d", cpu="100m", memory="128Mi")
    if not alive:
        crash(c, guard[0], code=1, restarts=41, ago="2m")
    selector = {"app.kubernetes.io/name": "guard"}
    c.add("Service", "guard", "policy", age="200d", spec={"selector": selector, "ports": [{"port": 443}]})
    if hook:
        c.add("ValidatingWebhookConfiguration", "guard", age="200d", webhooks=[hook])
    old = [add_node(c, "general", "m6i.2xlarge", c.zones[i % 3], age="30d3h", deleting="3h2m") for i in range(3)]
    add_workload(c, "shop/mail", on=old, count=9, age="20d", cpu="500m", memory="1Gi")
    for pair in old:
        conditions(pair, condition("Drained", "Unknown", c.at("3h1m"), "Draining", "Draining"))


def _eviction_hook(policy: str = "Fail", resource: str = "pods/eviction") -> Object:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": [resource], "scope": "*"}
    service = {"name": "guard", "namespace": "policy", "path": "/validate", "port": 443}
    return {"name": "guard.policy.example", "failurePolicy": policy, "timeoutSeconds": 5, "rules": [rule], "clientConfig": {"service": service}}  # fmt: skip


@incident(
    story="A policy engine decides on evictions by a webhook with failurePolicy Fail, and its only pod crashes. Every eviction is refused, so three expired nodes have been draining for three hours. Events were not listed; the webhook configuration was.",
    cause="3 nodes of general have been draining for 3 hours: evictions fail, because the webhook guard.policy.example on pods/eviction has no endpoint (policy/guard crashes).",
    thread="strimzi/drain-cleaner#76, Azure/AKS#4720",
    must=[n(3), r"drain", r"webhook", r"guard\.policy\.example|policy/guard", r"\b3 ?h|2h5\d"],
    must_not=[ICE, LAUNCHES, r"do-not-disrupt (on|of|protects)", r"never allows? an eviction"],
    listed=WITHOUT_EVENTS,
)
def eviction_webhook_is_dead_without_events(c: Cluster) -> None:
    _drains(c, hook=_eviction_hook(), alive=False)


@incident(
    story="As above, but the webhook's pod runs, and evictions fail for a reason that no list shows. The verdict must not blame the webhook.",
    cause="3 nodes of general have been draining for 3 hours, although nothing in the lists protects their pods; Karpenter's log says why.",
    thread="strimzi/drain-cleaner#76",
    must=[n(3), r"drain", r"\b3 ?h|2h5\d"],
    must_not=[ICE, LAUNCHES, r"webhook guard\.policy\.example (has no|fails|is down)", r"never allows? an eviction"],
    listed=WITHOUT_EVENTS,
)
def eviction_webhook_is_well(c: Cluster) -> None:
    _drains(c, hook=_eviction_hook(), alive=True)


@incident(
    story="A webhook with failurePolicy Ignore is dead and asked about evictions: the API server goes on without it. Three nodes have been draining for three hours for another reason.",
    cause="3 nodes of general have been draining for 3 hours; the webhook, whose failures are ignored, is not the cause.",
    thread="strimzi/drain-cleaner#76",
    must=[n(3), r"drain", r"\b3 ?h|2h5\d"],
    must_not=[ICE, LAUNCHES, r"webhook guard\.policy\.example (has no|fails|is down)"],
    listed=WITHOUT_EVENTS,
)
def eviction_webhook_may_be_dead(c: Cluster) -> None:
    _drains(c, hook=_eviction_hook("Ignore"), alive=False)


@incident(
    story="The kubelet of a build node ran out of memory and evicted nine pods of ci/npm within 35 minutes; the last one 3 minutes ago. The ReplicaSet makes a new one each time. Events were not listed, but the failed pods tell it.",
    cause="The kubelet has evicted 9 pods of ci/npm for want of memory in 35 minutes, the last 3 minutes ago.",
    thread="kubernetes-sigs/karpenter#1019",
    must=["ci/npm", "evict", n(9), "memory"],
    must_not=[LAUNCHES, PENDING, ICE],
    listed=WITHOUT_EVENTS,
)
def evictions_for_memory_without_events(c: Cluster) -> None:
    usual(c)
    host = add_node(c, "general", "m6i.xlarge", c.zones[0], age="6d")
    add_workload(c, "ci/npm", on=[host], count=2, age="3m", cpu="300m", memory="256Mi")
    parent = next(item for item in c.objects if item["kind"] == "ReplicaSet" and owned_by(item, "npm"))
    for number in range(9):
        ended, age = f"{3 + 4 * number}m", f"{8 + 4 * number}m"
        pod = add_pod(c, "ci", f"{parent['metadata']['name']}-{suffix('evicted', number)}", node=host, parent=parent, age=age, labels=parent["metadata"]["labels"], phase="Failed", cpu="300m", memory="256Mi")  # fmt: skip
        pod["status"] |= {"reason": "Evicted", "message": "The node was low on resource: memory. Threshold quantity: 100Mi, available: 64Mi. Container app was using 3Gi, request is 256Mi, has larger consumption of memory."}  # fmt: skip
        pod["status"]["conditions"] = [condition("DisruptionTarget", "True", c.at(ended), "TerminationByKubelet", "The node was low on resource: memory")]  # fmt: skip
        pod["status"]["containerStatuses"][0]["state"]["terminated"]["finishedAt"] = c.at(ended)


@incident(
    story="A DaemonSet was given a node selector that no kubelet can satisfy the ports of: on two nodes its pods are rejected for a used host port again and again (NodePorts), 14 in 20 minutes. Events were not listed.",
    cause="Kubelets reject the pods of the DaemonSet obs/exporter on 2 nodes (NodePorts: the host port is in use): 14 failed in 20 minutes.",
    thread="kubernetes/kubernetes#120160",
    must=["obs/exporter", r"NodePorts|host ?port", n(14)],
    must_not=[LAUNCHES, PENDING, ICE],
    listed=WITHOUT_EVENTS,
)
def host_ports_are_taken_without_events(c: Cluster) -> None:
    usual(c)
    hosts = [add_node(c, "general", "m6i.xlarge", zone, age="6d", without=("exporter",)) for zone in c.zones[:2]]
    daemon = add_daemonset(c, "obs", "exporter", cpu="20m", memory="32Mi")
    for number in range(14):
        age = f"{45 + 90 * number}s"
        pod = add_pod(c, "obs", f"exporter-{suffix('ports', number)}", node=hosts[number % 2], parent=daemon, age=age, labels=daemon["metadata"]["labels"], phase="Failed", cpu="20m", memory="32Mi")  # fmt: skip
        pod["status"] |= {"reason": "NodePorts", "message": "Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports", "conditions": []}  # fmt: skip
        del pod["status"]["containerStatuses"]
