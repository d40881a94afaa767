"""Pods that no controller creates, in lists that do not tell why."""

from __future__ import annotations

from typing import Any, Final

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import usual
from tests.incidents.incident import ICE, LAUNCHES, incident, n, quiet
from tests.incidents.node_objects import add_node
from tests.incidents.objects import Object, condition, owner
from tests.incidents.pods import add_namespace, add_pod, add_workload
from tests.incidents.without_events import PENDING, WITHOUT_EVENTS

GUESS: Final = r"quota|webhook|LimitRange|ServiceAccount"


def add_job(c: Cluster, name: str, status: Object, *, age: str, parent: Object | None = None, **spec: Any) -> Object:
    """Add a Job without pods that its controller started at once."""
    namespace, name = name.split("/")
    add_namespace(c, namespace)
    template = {
        "spec": {"restartPolicy": "Never", "containers": [{"name": "app", "image": "registry.example/etl/app"}]}
    }
    marks = {"ownerReferences": [owner(parent)]} if parent else {}
    counts = {"ready": 0, "startTime": c.at(age), "terminating": 0, "uncountedTerminatedPods": {}, **status}
    numbers = {"parallelism": 1, "completions": 1, "backoffLimit": 6, **spec}
    return c.add("Job", name, namespace, age=age, generation=1, spec={**numbers, "template": template}, status=counts, **marks)  # fmt: skip


@incident(
    story="A Job of six pods was started 48 minutes ago, and the quota of its namespace refuses them. Its status has no condition that says so, and the events were not listed.",
    cause="None of the 6 pods of Job batch/settle exists 48 minutes after its start; its status does not say why, its events would.",
    thread="kubernetes/kubernetes#53339",
    must=["batch/settle", n(6), r"4[78] ?m"],
    must_not=[LAUNCHES, PENDING, ICE, GUESS],
    listed=WITHOUT_EVENTS,
)
def job_has_no_pods_without_events(c: Cluster) -> None:
    usual(c)
    add_job(c, "batch/settle", {}, age="48m", parallelism=6, completions=6)


@incident(
    story="The ServiceAccount of a CronJob was deleted with its chart three hours ago. Each of its hourly Jobs has no pod. Jobs were listed, events were not.",
    cause="No pod of the CronJob etl/export can be created for 3 hours: 3 of its Jobs have none; nothing listed says why.",
    thread="kubernetes/kubernetes#104851",
    must=["etl/export", r"\b3 ?h|2h5\d|17\d ?m", n(3)],
    must_not=[LAUNCHES, PENDING, ICE, GUESS],
    listed=WITHOUT_EVENTS,
)
def jobs_of_a_cron_job_have_no_pods(c: Cluster) -> None:
    usual(c)
    parent = c.add("CronJob", "export", "etl", age="90d", spec={"schedule": "0 * * * *"}, status={"lastScheduleTime": c.at("58m")})  # fmt: skip
    for number, age in enumerate(("178m", "118m", "58m")):
        add_job(c, f"etl/export-2940{number}", {}, age=age, parent=parent)


@quiet(
    story="Seven Jobs without pods, as they should be: one waits before it replaces a pod that failed four minutes ago, one began 20 seconds ago, one is complete, one failed, one is suspended, one belongs to Kueue's controller in another cluster, and one waits until its evicted pod has ended. Events were not listed.",
    cause="each of these Jobs has no pod for a reason of its own.",
    thread="kubernetes/kubernetes#62382",
    must_not=[GUESS],
    listed=WITHOUT_EVENTS,
)
def fine_jobs_without_pods(c: Cluster) -> None:
    pairs = usual(c)
    tries = add_job(c, "etl/import", {"failed": 4}, age="20m")
    for number in range(4):
        pod = add_pod(c, "etl", f"import-{number}x9k2", node=pairs[0], parent=tries, age=f"{18 - 4 * number}m", phase="Failed", cpu="100m")  # fmt: skip
        pod["status"]["conditions"][-2]["lastTransitionTime"] = c.at(f"{16 - 4 * number}m")
    add_job(c, "etl/begins", {}, age="20s")
    ended = condition("Complete", "True", c.at("10m"))
    add_job(c, "etl/done", {"succeeded": 1, "completionTime": c.at("10m"), "conditions": [ended]}, age="30m")
    failed = condition(
        "Failed", "True", c.at("9m"), "DeadlineExceeded", "Job was active longer than specified deadline"
    )
    add_job(c, "etl/late", {"conditions": [failed]}, age="30m")
    add_job(c, "etl/held", {}, age="3h", suspend=True)
    add_job(c, "etl/remote", {}, age="3h", managedBy="kueue.x-k8s.io/multikueue")
    add_job(c, "etl/ends", {"terminating": 1}, age="3h")


@incident(
    story="The first pod of an indexed Job failed three hours ago. Then a policy was added to the namespace, and its next pod is refused. The failed pod is still there; no events.",
    cause="Job etl/load has had no pod for 3 hours, since its first one failed; nothing listed says why none is created.",
    thread="kubernetes/kubernetes#53339",
    must=["etl/load", r"\b3 ?h|2h5\d|17\d ?m"],
    must_not=[LAUNCHES, PENDING, ICE, GUESS],
    listed=WITHOUT_EVENTS,
)
def job_makes_no_second_pod(c: Cluster) -> None:
    pairs = usual(c)
    job = add_job(c, "etl/load", {"failed": 1}, age="4h")
    add_pod(c, "etl", "load-0-q7xk2", node=pairs[0], parent=job, age="3h", phase="Failed", cpu="100m")


def _stop(c: Cluster, *, changed: int, ago: str) -> None:
    """Let the controllers of a cluster have stopped, some time after all its workloads were complete."""
    usual(c)
    host = add_node(c, "general", "m6i.2xlarge", c.zones[1], age="6d")
    for number in range(5):
        add_workload(c, f"shop/part-{number}", on=[host], count=2, age="5d", cpu="100m", memory="128Mi")
    for item in c.objects:
        if item["kind"] in ("Deployment", "ReplicaSet"):
            item["metadata"]["generation"] = 3
            item.setdefault("status", {})["observedGeneration"] = 3
    for number in range(changed):
        c.find("Deployment", f"part-{number}")["metadata"]["generation"] = 4
    spec = {"holderIdentity": "ip-172-16-101-7_0b1f", "leaseDurationSeconds": 15, "renewTime": c.at(ago)}
    c.add("Lease", "kube-controller-manager", "kube-system", age="200d", spec=spec)


@incident(
    story="A self-managed control plane: the certificate of kube-controller-manager expired 26 minutes ago. A new Deployment has no ReplicaSet, three others were changed without effect, a Job was never started, and pods that a drain evicted are not replaced. All that runs runs on.",
    cause="kube-controller-manager has not acted for 26 minutes: changes of shop/part-0, part-1 and part-2, the new Deployment shop/fresh and the Job etl/sync wait, and evicted pods of shop/part-4 are not recreated.",
    thread="kubernetes/kubernetes#57748",
    must=["kube-controller-manager", n(5) + r"|\b6\b", r"2[56] ?m|22 ?m", r"shop/(part|fresh)"],
    must_not=[LAUNCHES, PENDING, ICE, GUESS],
)
def controllers_of_kubernetes_have_stopped(c: Cluster) -> None:
    _stop(c, changed=3, ago="26m")
    _add_unseen(c)


def _add_unseen(c: Cluster) -> None:
    gone = [item for item in c.objects if item["kind"] == "Pod" and item["metadata"]["name"].startswith("part-4-")]
    c.objects = [item for item in c.objects if item not in gone]
    spec = {"replicas": 2, "template": {"spec": {"containers": [{"name": "app", "image": "registry.example/app"}]}}}
    c.add("Deployment", "fresh", "shop", age="22m", generation=1, spec=spec, status={})
    add_job(c, "etl/sync", {}, age="19m")["status"] = {}


@incident(
    story="As above, but leases and events were not listed.",
    cause="No controller acts on 6 workloads; kube-controller-manager may have stopped.",
    thread="kubernetes/kubernetes#57748",
    must=["kube-controller-manager", n(5) + r"|\b6\b", r"shop/(part|fresh)"],
    must_not=[LAUNCHES, PENDING, ICE, GUESS],
    listed=tuple(kind for kind in WITHOUT_EVENTS if kind != "Lease"),
)
def controllers_have_stopped_by_lists(c: Cluster) -> None:
    _stop(c, changed=3, ago="26m")
    _add_unseen(c)


@quiet(
    story="A GitOps controller changed two Deployments in the moment in which the lists were made. kube-controller-manager renews its lease.",
    cause="two Deployments were changed just now.",
    thread="argoproj/argo-cd#3875",
    must_not=["kube-controller-manager"],
)
def fine_deployments_changed_just_now(c: Cluster) -> None:
    _stop(c, changed=2, ago="2s")


@quiet(
    story="A lease of kube-controller-manager was left when its leader election was switched off a year ago; nothing waits for it.",
    cause="an old lease is left over.",
    thread="kubernetes/kubernetes#115459",
    must_not=["kube-controller-manager"],
)
def fine_lease_of_the_controllers_is_old(c: Cluster) -> None:
    _stop(c, changed=0, ago="360d")


@quiet(
    story="Nodes, ReplicaSets and Deployments were listed of all namespaces, pods of the namespaces shop and kube-system only. No events.",
    cause="pods of other namespaces were not listed.",
    thread="kubernetes/kubernetes#57748",
    must_not=["kube-controller-manager"],
    listed=WITHOUT_EVENTS,
)
def fine_pods_of_one_namespace_are_listed(c: Cluster) -> None:
    _stop(c, changed=0, ago="2s")
    for number in range(4):
        add_workload(c, f"team-{number}/app", on=c.nodes[2:4], count=2, age="5d", cpu="10m", memory="16Mi")
    c.objects = [
        item for item in c.objects if item["kind"] != "Pod" or item["metadata"]["namespace"] in ("shop", "kube-system")
    ]


@quiet(
    story="A release changed four Deployments in the moment in which the lists were made. kube-controller-manager renewed its lease two seconds before.",
    cause="four Deployments were changed just now.",
    thread="argoproj/argo-cd#3875",
    must_not=["kube-controller-manager"],
)
def fine_release_changes_four_deployments(c: Cluster) -> None:
    _stop(c, changed=4, ago="2s")


@quiet(
    story="Pods were listed a few seconds before the ReplicaSets; in between, four workloads were scaled up. Leases and events were not listed.",
    cause="the newest pods are not in the list of pods.",
    thread="kubernetes/kubernetes#57748",
    must_not=["kube-controller-manager"],
    listed=tuple(kind for kind in WITHOUT_EVENTS if kind != "Lease"),
)
def fine_pods_are_listed_before_their_sets(c: Cluster) -> None:
    _stop(c, changed=0, ago="2s")
    newest = {f"part-{number}-": 1 for number in range(4)}
    for item in [item for item in c.objects if item["kind"] == "Pod"]:
        prefix = item["metadata"]["name"][:7]
        if newest.get(prefix):
            newest[prefix] = 0
            c.objects.remove(item)


@quiet(
    story="Nodes, Deployments, NodeClaims and NodePools were listed of all namespaces, pods of the namespace orders only. Two pods of Karpenter run in kube-system, as the status of its Deployment says.",
    cause="pods of Karpenter's namespace were not listed.",
    thread="kubernetes/kubernetes#57748",
    must_not=["not running|no pods"],
    listed=WITHOUT_EVENTS,
)
def fine_pods_of_karpenter_are_not_listed(c: Cluster) -> None:
    usual(c)
    c.find("Deployment", "karpenter").setdefault("status", {})["replicas"] = 2
    c.objects = [item for item in c.objects if item["kind"] != "Pod" or item["metadata"]["namespace"] == "orders"]
