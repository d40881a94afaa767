"""Clusters in which nothing is wrong, though an annotation, an event, a name or a leftover looks odd."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import usual
from tests.incidents.incident import LAUNCHES, quiet
from tests.incidents.node_objects import add_group_node, add_node, both, conditions
from tests.incidents.objects import condition, owner, suffix
from tests.incidents.pods import PROTECTED, add_pdb, add_pod, add_workload
from tests.incidents.pools import add_pool
from tests.incidents.providers import rename

PENDING = r"[1-9]\d* pods?[^\n]{0,30} pending"


@quiet(
    story='A chart sets karpenter.sh/do-not-disrupt to "false" on all its pods, which protects nothing. Two of six nodes of web drifted ten minutes ago, and Karpenter replaces one after the other.',
    cause='do-not-disrupt "false" protects nothing, and drift advances.',
    thread="karpenter.sh/docs: disruption, pod-level controls",
    must_not=[r"do-not-disrupt[^\n]{0,60}(protect|block|keep|hold)", "stuck", PENDING],
)  # fmt: skip
def fine_do_not_disrupt_is_false(c: Cluster) -> None:
    usual(c, 3)
    add_pool(c, "web", sizes=("xlarge",), labels={"team": "shop"})
    pairs = [add_node(c, "web", "m6i.xlarge", c.zones[number % 3], age="9d", drifted="10m" if number < 2 else "") for number in range(5)]  # fmt: skip
    old = add_node(c, "web", "m6i.xlarge", c.zones[2], age="9d", drifted="10m", deleting="70s")
    conditions(old, condition("Drained", "Unknown", c.at("70s"), "Draining", "Draining"))
    new = add_node(c, "web", "m6i.xlarge", c.zones[2], age="3m")
    marks = {"karpenter.sh/do-not-disrupt": "false"}
    add_workload(c, "shop/front", on=[*pairs, new], count=18, age="4d", annotations=marks, spec={"nodeSelector": {"team": "shop"}})  # fmt: skip
    c.event(both(old)[1], "DisruptionTerminating", "Disrupting NodeClaim: Drifted", last="75s", kind="Normal")


@quiet(
    story="Each node runs a static pod, haproxy, which the kubelet makes from a file; its mirror pod has no controller and is owned by the Node. Static pods hold no node, and each new node has its own.",
    cause="mirror pods of static pods have no controller, and hold no node.",
    thread="kubernetes-sigs/karpenter#1303",
    must_not=[r"no owner|nothing recreates|lost|bare", "stuck", PENDING],
)  # fmt: skip
def fine_static_pods(c: Cluster) -> None:
    pairs = usual(c, 4)
    late = add_node(c, "general", "m6i.xlarge", c.zones[1], age=f"{720 * 60 - 40}m")
    add_workload(c, "shop/front", on=[late], count=3, age="4d")
    for pair in [*pairs, late]:
        marks = {"kubernetes.io/config.mirror": "5f1c", "kubernetes.io/config.source": "file", "kubernetes.io/config.hash": "5f1c"}  # fmt: skip
        pod = add_pod(c, "kube-system", f"haproxy-{pair.name}", node=pair, age="4d", cpu="25m", memory="32Mi", annotations=marks)  # fmt: skip
        pod["metadata"]["ownerReferences"] = [owner(both(pair)[0]) | {"blockOwnerDeletion": False}]


@quiet(
    story='While a rollout replaced pods some minutes ago, kubelets wrote that a ConfigMap and a token volume are "not registered", which they do about pods that are going away. All pods run.',
    cause="kubelets write about volumes of pods that are going away.",
    thread="kubernetes/kubernetes#105204",
    must_not=[r"cannot mount|FailedMount|kube-root-ca|not registered", PENDING],
)  # fmt: skip
def fine_objects_not_registered(c: Cluster) -> None:
    pairs = usual(c)
    pods = add_workload(c, "shop/front", on=[*c.system], count=2, age="7m", cpu="50m", memory="64Mi")
    assert pairs
    for pod in pods:
        gone = {**pod, "metadata": {**pod["metadata"], "name": f"front-{suffix(pod['metadata']['name'])}", "uid": pod["metadata"]["uid"][:-4] + "0000"}}  # fmt: skip
        for text in (
            'MountVolume.SetUp failed for volume "kube-api-access-x7k2m" : object "shop"/"kube-root-ca.crt" not registered',
            'MountVolume.SetUp failed for volume "settings" : object "shop"/"front-settings" not registered',
        ):
            c.event(gone, "FailedMount", text, last="6m", first="7m", count=4, source="kubelet")


@quiet(
    story="A kOps cluster. Its three control-plane nodes are plain nodes with a NoSchedule taint, not Karpenter's; two run etcd and the API server as static pods. Everything works.",
    cause="control-plane nodes are tainted and not Karpenter's.",
    thread="kubernetes/kops#15335",
    must_not=[r"taint", "cordon", "unmanaged|not manage", PENDING],
)  # fmt: skip
def fine_control_plane_nodes(c: Cluster) -> None:
    for zone in c.zones:
        pair = add_group_node(c, "m6i.large", zone, age="200d")
        assert pair.node is not None
        labels = pair.node["metadata"]["labels"]
        for key in ("eks.amazonaws.com/nodegroup", "eks.amazonaws.com/capacityType"):
            del labels[key]
        labels |= {"node-role.kubernetes.io/control-plane": "", "kops.k8s.io/instancegroup": f"control-plane-{zone}"}
        pair.node["spec"]["taints"] = [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}]
    usual(c)


@quiet(
    story="The subnets name instances after their IDs, so nodes are called i-0abc….ec2.internal, and their host name is another one. Karpenter joins them by provider ID. All is well.",
    cause="nodes are named after their instances.",
    thread="aws/karpenter-provider-aws#1200",
    must_not=["register", "no Node", "no NodeClaim", PENDING],
)  # fmt: skip
def fine_nodes_named_after_instances(c: Cluster) -> None:
    pairs = usual(c)
    names = {}
    for pair in pairs:
        names[pair.name] = f"{both(pair)[0]['spec']['providerID'].rsplit('/', 1)[1]}.ec2.internal"
    rename(c.objects, names)


@quiet(
    story="Finished pods of a nightly Job still carry do-not-disrupt. Finished pods protect nothing: consolidation removed two nodes in the morning, and the rest is well used.",
    cause="finished pods with do-not-disrupt protect nothing.",
    thread="aws/karpenter-provider-aws#4758",
    must_not=[r"do-not-disrupt[^\n]{0,60}(protect|block|keep|hold)", "stuck", PENDING],
)  # fmt: skip
def fine_finished_pods_are_protected(c: Cluster) -> None:
    pairs = usual(c)
    parent = c.add("Job", "nightly", "etl", age="6h", spec={"parallelism": 4, "completions": 4, "backoffLimit": 2}, status={"succeeded": 4, "completionTime": c.at("4h"), "conditions": [condition("Complete", "True", c.at("4h"))]})  # fmt: skip
    for number, pair in enumerate(pairs):
        add_pod(c, "etl", f"nightly-{number}", node=pair, parent=parent, age="6h", cpu="200m", memory="256Mi", phase="Succeeded", annotations=PROTECTED)  # fmt: skip


@quiet(
    story="Karpenter explains in events why it leaves well-used nodes alone: no cheaper node, a pod was nominated a moment ago, consolidation is not due yet. It does so all day, in every cluster.",
    cause="Karpenter explains in events why it leaves well-used nodes alone.",
    thread="kubernetes-sigs/karpenter#1442",
    must_not=[r"\bblock(s|ed)\b", "stuck", "cannot be (removed|consolidated)", PENDING],
)  # fmt: skip
def fine_karpenter_explains_itself(c: Cluster) -> None:
    texts = (
        ("Unconsolidatable", "Can't replace with a cheaper node"),
        ("Unconsolidatable", "Can't remove without creating 2 candidates"),
        ("DisruptionBlocked", "Node is nominated for a pending pod"),
        ("Unconsolidatable", "SpotToSpotConsolidation is disabled, can't replace a spot node with a spot node"),
    )
    for number, pair in enumerate(usual(c, 8)):
        for manifest in both(pair):
            reason, text = texts[number % len(texts)]
            c.event(manifest, reason, text, last="4m", first="58m", count=4, kind="Normal")


@quiet(
    story="Karpenter began to remove a node it does not need two minutes ago. Its PodDisruptionBudget lets one pod go at a time, so evictions are refused and repeated meanwhile (FailedDraining), as they should be; two of five pods have moved.",
    cause="a drain of two minutes waits for its turns at a PodDisruptionBudget.",
    thread="kubernetes-sigs/karpenter#2802",
    must_not=[r"stuck|never", r"(block|hold)s? the (drain|removal)", PENDING],
)  # fmt: skip
def fine_drain_of_two_minutes(c: Cluster) -> None:
    pairs = usual(c)
    host = add_node(c, "general", "m6i.2xlarge", c.zones[1], age="6d")
    old = add_node(c, "general", "m6i.2xlarge", c.zones[0], age="9d", deleting="2m")
    conditions(old, condition("Drained", "Unknown", c.at("2m"), "Draining", "Draining"))
    assert pairs
    pods = add_workload(c, "shop/cart", on=[old, host, old, host, old, host], count=6, age="3d", cpu="1", memory="2Gi")
    add_pdb(c, "shop", "cart", "cart", healthy=6, desired=5, expected=6, maxUnavailable=1)
    c.event(both(old)[1], "DisruptionTerminating", "Disrupting NodeClaim: Underutilized", last="2m", kind="Normal")
    text = "Failed to drain node, 3 pods are waiting to be evicted"
    c.event(both(old)[0], "FailedDraining", text, last="20s", first="110s", count=4)
    for pod in pods[:1]:
        c.event(pod, "EvictionBlocked", "evicting pod violates a PDB, Cannot evict pod as it would violate the pod's disruption budget. (PodDisruptionBudget=[shop/cart])", last="30s", first="100s", count=5)  # fmt: skip


@quiet(
    story="The first pod of a Job failed 20 minutes ago with exit code 1, because its input was late; the Job's second pod runs. Its backoffLimit is 6.",
    cause="a Job tried again, and its second pod runs.",
    thread="kubernetes.io/docs: Jobs, pod backoff failure policy",
    must_not=[r"crash|fail", "stuck", PENDING],
)  # fmt: skip
def fine_job_tries_again(c: Cluster) -> None:
    usual(c)
    pair = add_node(c, "general", "m6i.xlarge", c.zones[0], age="2h")
    parent = c.add("Job", "import", "etl", age="25m", spec={"parallelism": 1, "completions": 1, "backoffLimit": 6}, status={"active": 1, "failed": 1})  # fmt: skip
    add_pod(c, "etl", "import-1", node=pair, parent=parent, age="25m", cpu="2", memory="6Gi", phase="Failed")
    add_pod(c, "etl", "import-2", node=pair, parent=parent, age="19m", cpu="2", memory="6Gi")


@quiet(
    story="The pods of shop/api restarted five times each an hour ago, until their database was up. All run and are ready since then.",
    cause="pods restarted an hour ago until their database was up, and run since.",
    thread="kubernetes/kubernetes#57291",
    must_not=[r"crash|restart", PENDING],
)  # fmt: skip
def fine_crashes_are_over(c: Cluster) -> None:
    usual(c)
    hosts = [add_node(c, "general", "m6i.2xlarge", zone, age="5d") for zone in c.zones]
    for pod in add_workload(c, "shop/api", on=hosts, count=6, age="80m", cpu="2", memory="6Gi"):
        ended = {"reason": "Error", "exitCode": 1, "startedAt": c.at("69m"), "finishedAt": c.at("68m")}
        state = {"state": {"running": {"startedAt": c.at("66m")}}, "lastState": {"terminated": ended}}
        pod["status"]["containerStatuses"][0] |= {"restartCount": 5, **state}


@quiet(
    story="A quota kept an old revision of shop/cart from growing three weeks ago. The revision is at 0 replicas since, and its condition ReplicaFailure was never cleared. The new revision has all its pods.",
    cause="an old ReplicaSet with no replicas still has its condition ReplicaFailure.",
    thread="kubernetes.io/docs: Deployments, failed deployment",
    must_not=[r"quota|cannot be created|ReplicaFailure", PENDING],
)  # fmt: skip
def fine_condition_of_an_old_revision(c: Cluster) -> None:
    usual(c)
    hosts = [add_node(c, "general", "m6i.2xlarge", zone, age="5d") for zone in c.zones]
    add_workload(c, "shop/cart", on=hosts, count=6, age="4d", cpu="2", memory="6Gi")
    parent = c.find("Deployment", "cart")
    text = 'pods "cart-5c1d9f7b44-" is forbidden: exceeded quota: shop, requested: requests.cpu=2, used: requests.cpu=40, limited: requests.cpu=40'
    failure = condition("ReplicaFailure", "True", c.at("21d"), "FailedCreate", text)
    c.add("ReplicaSet", "cart-5c1d9f7b44", "shop", age="22d", spec={"replicas": 0, "selector": {"matchLabels": {"app.kubernetes.io/name": "cart"}}}, status={"replicas": 0, "conditions": [failure]}, ownerReferences=[owner(parent)], labels={"app.kubernetes.io/name": "cart"})  # fmt: skip


@quiet(
    story="A cost tool was switched off for a week: its Deployment has 0 replicas. Its mutating webhook is still there, with failurePolicy Ignore, so pods are created without it. All run.",
    cause="a webhook with failurePolicy Ignore has no endpoints, and nothing fails.",
    thread="kyverno/kyverno#2869",
    must_not=[r"webhook", "0 replicas|scaled to", PENDING],
)  # fmt: skip
def fine_webhook_may_be_down(c: Cluster) -> None:
    usual(c)
    add_workload(c, "costs/tagger", count=0, replicas=0, age="60d", cpu="100m", memory="128Mi")
    service = {"name": "tagger", "namespace": "costs", "path": "/mutate", "port": 443}
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"], "scope": "*"}
    c.add("MutatingWebhookConfiguration", "tagger", webhooks=[{"name": "tagger.costs.example", "failurePolicy": "Ignore", "rules": [rule], "timeoutSeconds": 2, "clientConfig": {"service": service}}])  # fmt: skip
    hosts = [add_node(c, "general", "m6i.2xlarge", zone, age="5d") for zone in c.zones]
    add_workload(c, "shop/cart", on=hosts, count=6, age="3m", cpu="2", memory="6Gi")


@quiet(
    story="An engineer looked at a node with kubectl debug an hour ago; the debugger pod has completed, has no owner and is left over. A Deployment is paused in the middle of a careful rollout: both revisions run, and all pods are ready.",
    cause="a debugger pod is left over, and a rollout is paused on purpose.",
    thread="kubernetes.io/docs: debug running pods, node debugging",
    must_not=[r"no owner|nothing recreates|lost|bare", "stuck|rollout", LAUNCHES, PENDING],
)  # fmt: skip
def fine_debugger_and_paused_rollout(c: Cluster) -> None:
    pairs = usual(c)
    spec = {"hostNetwork": True, "hostPID": True, "restartPolicy": "Never", "tolerations": [{"operator": "Exists"}]}
    add_pod(c, "default", f"node-debugger-{pairs[0].name}-x7k2m", node=pairs[0], age="62m", cpu="0", memory="0", spec=spec, phase="Succeeded", container="debugger", image="registry.example/busybox")  # fmt: skip
    hosts = [add_node(c, "general", "m6i.2xlarge", zone, age="5d") for zone in c.zones]
    add_workload(c, "shop/cart", on=hosts, count=6, age="4d", cpu="1", memory="2Gi")
    add_workload(c, "shop/cart-canary", on=hosts, count=2, age="3h", cpu="1", memory="2Gi")
    canary = c.find("Deployment", "cart-canary")
    canary["spec"]["paused"] = True
    canary["status"]["conditions"].append(condition("Progressing", "Unknown", c.at("3h"), "DeploymentPaused", "Deployment is paused"))  # fmt: skip
