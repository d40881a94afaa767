"""Nodes and Jobs that look like waste and are as their owners want them."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import usual
from tests.incidents.incident import LAUNCHES, quiet
from tests.incidents.node_objects import add_node, both, conditions
from tests.incidents.objects import condition
from tests.incidents.pods import add_pod, add_volume, add_workload
from tests.incidents.pools import add_pool

STUCK = r"stuck|never"


@quiet(
    story="Three small StatefulSet pods keep their data on zonal volumes, one in each zone. Each has a node of its own, a tenth full; no two of them can share a node, and the node is the smallest type allowed.",
    cause="three nodes stay, one in each zone, for the volumes of three small pods.",
    thread="kubernetes-sigs/karpenter#1700",
    must_not=[STUCK, LAUNCHES, r"\bremovable\b"],
)
def fine_zonal_volumes_keep_three_nodes(c: Cluster) -> None:
    usual(c)
    add_pool(c, "data", families=("m6i",), sizes=("xlarge",), labels={"team": "data"})
    pairs = [add_node(c, "data", "m6i.xlarge", zone, age="4d") for zone in c.zones]
    volumes = [add_volume(c, "data", f"data-etcd-{number}", zone) for number, zone in enumerate(c.zones)]
    pods = add_workload(c, "data/etcd", kind="StatefulSet", on=pairs, age="4d", cpu="300m", memory="1Gi", spec={"nodeSelector": {"team": "data"}})  # fmt: skip
    for pod, volume in zip(pods, volumes, strict=True):
        pod["spec"]["volumes"] = [volume]


@quiet(
    story="A Job is suspended until its owner releases it, and the CronJob nightly is suspended for the holidays. An indexed Job retried one index once, and 7 of its 8 indexes are done; the last one runs.",
    cause="a Job and a CronJob are suspended, and an indexed Job has retried one index.",
    thread="kubernetes/kubernetes#130881",
    must_not=[STUCK, LAUNCHES, r"ml/(held|sweep)[^\n]{0,60}(pending|cannot|fail)"],
)
def fine_suspended_jobs(c: Cluster) -> None:
    pairs = usual(c)
    host = add_node(c, "general", "m6i.xlarge", c.zones[0], age="2h")
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "app", "image": "registry.example/ml/app"}]}}
    since = condition("Suspended", "True", c.at("3d"), "JobSuspended", "Job suspended")
    spec = {"parallelism": 6, "completions": 6, "suspend": True, "template": template}
    held = c.add("Job", "held", "ml", age="3d", spec=spec, status={"active": 0, "conditions": [since]})
    c.event(held, "Suspended", "Job suspended", last="50m", kind="Normal", source="job-controller")
    c.add("CronJob", "nightly", "ml", spec={"schedule": "0 2 * * *", "suspend": True}, status={"lastScheduleTime": c.at("5d")})  # fmt: skip
    spec = {"parallelism": 8, "completions": 8, "completionMode": "Indexed", "backoffLimitPerIndex": 3, "template": template}  # fmt: skip
    job = c.add("Job", "sweep", "ml", age="70m", spec=spec, status={"active": 1, "succeeded": 7, "failed": 1, "completedIndexes": "0-6"})  # fmt: skip
    for number in range(7):
        add_pod(
            c, "ml", f"sweep-{number}-x{number}k2p", node=pairs[number % 4], parent=job, age="68m", phase="Succeeded"
        )
    add_pod(c, "ml", "sweep-7-r8mzq", node=pairs[0], parent=job, age="66m", phase="Failed")
    add_pod(c, "ml", "sweep-7-w4tcn", node=host, parent=job, age="40m", cpu="3", memory="9Gi", spec={"restartPolicy": "Never"}, annotations={"karpenter.sh/do-not-disrupt": "true"})  # fmt: skip


@quiet(
    story="Spot was short for an hour, and Karpenter fell back to on-demand. Spot is back: consolidation is replacing the third of four on-demand nodes with a spot node, one by one.",
    cause="consolidation returns from on-demand to spot, a node at a time.",
    thread="kubernetes-sigs/karpenter#763",
    must_not=[STUCK, r"churn|come and go|again and again|\bloop", r"short of|insufficient"],
)
def fine_fallback_returns_to_spot(c: Cluster) -> None:
    usual(c)
    add_pool(c, "mixed", capacity=("spot", "on-demand"), labels={"team": "mixed"})
    spec = {"nodeSelector": {"team": "mixed"}}
    spot = [add_node(c, "mixed", "m6i.xlarge", c.zones[number % 3], capacity="spot", age=age) for number, age in enumerate(("31m", "17m", "3m"))]  # fmt: skip
    last = add_node(c, "mixed", "m6i.xlarge", c.zones[0], age="80m")
    going = add_node(c, "mixed", "m6i.xlarge", c.zones[1], age="81m", deleting="40s")
    conditions(going, condition("DisruptionReason", "True", c.at("3m"), "Underutilized"))
    conditions(going, condition("Drained", "Unknown", c.at("40s"), "Draining", "Draining"))
    for item in both(going):
        c.event(item, "DisruptionTerminating", f"Disrupting {item['kind']}: Underutilized", last="41s", kind="Normal")
    add_workload(c, "media/thumbs", on=[*spot[:2], last], count=9, age="16m", spec=spec)
    add_workload(c, "media/covers", on=[spot[2]], count=3, age="35s", spec=spec)


@quiet(
    story="The pool secure demands at least two instance families (minValues), and its nodes are half empty. Karpenter finds a cheaper type, but not two families of cheaper ones, so it rightly leaves the nodes as they are.",
    cause="half-empty nodes stay, because minValues asks for two families.",
    thread="kubernetes-sigs/karpenter#1962",
    must_not=[STUCK, LAUNCHES, r"(can ?not|can't) launch|invalid"],
)
def fine_min_values_keep_nodes(c: Cluster) -> None:
    usual(c)
    families = {"key": "karpenter.k8s.aws/instance-family", "operator": "In", "values": ["m6i", "r6i"], "minValues": 2}
    add_pool(c, "secure", families=(), sizes=("xlarge", "2xlarge"), requirements=[families], labels={"team": "secure"})
    pairs = [add_node(c, "secure", "m6i.2xlarge", zone, age="30h") for zone in c.zones]
    add_workload(c, "vault/signer", on=pairs, age="29h", cpu="2500m", memory="15Gi", spec={"nodeSelector": {"team": "secure"}})  # fmt: skip
