"""Clusters in which something waits for a time that is set: quiet, unless the time comes too soon."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import usual
from tests.incidents.incident import ICE, LAUNCHES, incident, quiet
from tests.incidents.node_objects import NOT_READY, add_node, both, conditions
from tests.incidents.objects import Object, condition
from tests.incidents.pods import add_pdb, add_workload, waiting
from tests.incidents.pools import add_pool
from tests.incidents.workloads import crash, not_ready

REPAIRS = {"FEATURE_GATES": "NodeRepair=true", "AWS_FEATURE_GATES": "RebootForRepair=true"}


def drifted_until_a_window(c: Cluster, budgets: list[Object], since: str) -> None:
    """Add a NodePool with disruption budgets and six nodes that drifted at a time."""
    usual(c)
    add_pool(c, "web", disruption={"budgets": budgets})
    pairs = [add_node(c, "web", "m6i.xlarge", c.zones[number % 3], age="20d", drifted=since) for number in range(6)]
    add_workload(c, "shop/front", on=pairs, count=18, age="19d")


@quiet(
    story="NodePool web replaces drifted nodes at night only: its budget is 0 from 06:00 to 22:00 UTC. A new image was published this morning, and its six nodes have been drifted for five hours. It is 13:00.",
    cause="drift has waited since the morning for tonight's window.",
    thread="aws/karpenter-provider-aws#5898",
    must_not=["stuck|never"],
    now="2026-11-26T13:00:00Z",
)
def fine_drift_waits_since_the_morning(c: Cluster) -> None:
    drifted_until_a_window(c, [{"nodes": "0", "schedule": "0 6 * * *", "duration": "16h"}, {"nodes": "10%"}], "5h")


@quiet(
    story="NodePool web replaces drifted nodes on Saturdays only: three budgets, two of which are 0 for drift on the other days. It is Thursday, and its nodes drifted yesterday morning.",
    cause="drift has waited since yesterday for the window of the weekend.",
    thread="aws/karpenter-provider-aws#5898",
    must_not=["stuck|never"],
    now="2026-11-26T13:00:00Z",
)
def fine_drift_waits_for_saturday(c: Cluster) -> None:
    closed = {"nodes": "0", "duration": "24h", "reasons": ["Drifted"]}
    weekdays, sunday = closed | {"schedule": "0 0 * * mon-fri"}, closed | {"schedule": "0 0 * * sun"}
    drifted_until_a_window(c, [weekdays, sunday, {"nodes": "30%"}], "30h")


@quiet(
    story="Node repair reboots a node in place (Karpenter 1.15): its kernel could not fork any more. The reboot was issued four minutes ago, and the node is away until it is back.",
    cause="node repair reboots a node.",
    thread="kubernetes-sigs/karpenter#2134",
    must_not=[r"not initialized|not been ready|NotReady", "stuck|never", r"29 ?d"],
    settings=REPAIRS,
)
def fine_node_is_rebooted_by_repair(c: Cluster) -> None:
    usual(c)
    pair = add_node(c, "general", "m6i.xlarge", c.zones[1], age="30d", ready=NOT_READY, ready_since="3m40s")
    node, claim = both(pair)
    conditions(
        pair,
        condition("Rebooting", "True", c.at("6m"), "RebootIssued", "rebooting for KernelReady/ForkFailedOutOfPIDs"),
        condition("DisruptionReason", "True", c.at("6m"), "Unhealthy"),
    )
    state = next(item for item in claim["status"]["conditions"] if item["type"] == "Initialized")
    state |= {"status": "Unknown", "reason": "Rebooting", "lastTransitionTime": c.at("4m")}
    del node["metadata"]["labels"]["karpenter.sh/initialized"]
    node["spec"]["taints"].append({"key": "karpenter.sh/rebooting", "effect": "NoSchedule"})


def front_in_a_rollout(c: Cluster, *nodes: str, deleting: str = "") -> None:
    """Add nodes of the given ages, which expire after a week, and a Deployment whose newest pod starts for 50 seconds."""
    usual(c)
    add_pool(c, "web", template={"expireAfter": "168h", "terminationGracePeriod": "1h"})
    pairs = [add_node(c, "web", "m6i.xlarge", c.zones[number % 3], age=age) for number, age in enumerate(nodes)]
    pods = add_workload(c, "shop/front", on=pairs, count=2 * len(pairs), age="3d")
    not_ready(pods[-1])
    pods[-1]["metadata"]["creationTimestamp"] = c.at("55s")
    for state in pods[-1]["status"]["conditions"]:
        state["lastTransitionTime"] = c.at("50s")
    if deleting:
        going = add_node(c, "web", "m6i.xlarge", c.zones[0], age="7d", deleting=deleting)
        conditions(going, condition("Drained", "Unknown", c.at(deleting), "Draining", "Draining"))
        pods += add_workload(c, "shop/back", on=[going], labels={"app.kubernetes.io/name": "front"}, age="6d")
    budget = add_pdb(c, "shop", "front", "front", healthy=len(pods) - 1, desired=len(pods) - 1, expected=len(pods), maxUnavailable=1)  # fmt: skip
    budget["status"]["conditions"] = [condition("DisruptionAllowed", "False", c.at("50s"), "InsufficientPods")]


@quiet(
    story="A Deployment is being rolled out and uses up its PodDisruptionBudget for a moment. One of its nodes expires in nine hours, with a terminationGracePeriod of an hour.",
    cause="a rollout uses up a PodDisruptionBudget, long before a node expires.",
    thread="kubernetes-sigs/karpenter#1176",
    must_not=["killed|protected", "stuck|never"],
)
def fine_rollout_hours_before_a_node_expires(c: Cluster) -> None:
    front_in_a_rollout(c, "159h", "4d", "4d")


@quiet(
    story="A node expired two minutes ago and drains. The PodDisruptionBudget of its pod allows one eviction at a time, and the pod that was evicted before is starting. The drain has 58 minutes left.",
    cause="a drain that has just begun takes turns, with an hour to go.",
    thread="kubernetes-sigs/karpenter#1176",
    must_not=["killed|protected", "stuck|never"],
)
def fine_expired_node_begins_to_drain(c: Cluster) -> None:
    front_in_a_rollout(c, "4d", "4d", "4d", deleting="2m")


@quiet(
    story="Two placeholder pods (priority -10, image pause) keep room for the next surge if there is any. NodePool general is at its limit by intention, so they have been pending for six hours; every other pod runs.",
    cause="placeholder pods wait for room, and give way to all others.",
    thread="kubernetes/autoscaler#4515",
    must_not=[r"pods? (are )?pending", "stuck|never"],
)
def fine_placeholders_wait_at_the_limit(c: Cluster) -> None:
    usual(c, limits={"cpu": "16"})
    c.add("PriorityClass", "headroom", value=-10, globalDefault=False)
    spec = {"priorityClassName": "headroom", "priority": -10, "terminationGracePeriodSeconds": 0}
    waiting(c, "ops/headroom", 2, "6h", image="registry.k8s.io/pause:3.10", spec=spec)


@incident(
    story="Two placeholder pods (priority -10, image pause) should keep 90 cores free each. NodePool general allows no type of that size, so they have been pending for six hours, and no room is kept.",
    cause="ops/headroom requests 90 cores, more than any type of NodePool general has.",
    thread="kubernetes/autoscaler#4515",
    must=["ops/headroom", "cpu", r"\bgeneral\b"],
    must_not=["limit"],
)
def placeholders_fit_no_type(c: Cluster) -> None:
    usual(c)
    c.add("PriorityClass", "headroom", value=-10, globalDefault=False)
    spec = {"priorityClassName": "headroom", "priority": -10, "terminationGracePeriodSeconds": 0}
    waiting(c, "ops/headroom", 2, "6h", image="registry.k8s.io/pause:3.10", cpu="90", spec=spec)


@incident(
    story="A node expired 45 minutes ago, and its drain may take an hour. One pod of crm/api crashes, so its PodDisruptionBudget has allowed no eviction for five hours; the healthy pod on the node is killed with it.",
    cause="crm/api is killed in 15 minutes with its node although a PodDisruptionBudget protects it, which allows no eviction for five hours.",
    thread="kubernetes-sigs/karpenter#2802",
    must=["crm/api", r"will be killed|forced", r"1[45] ?m|09:4[45]", r"PodDisruptionBudget"],
    must_not=[LAUNCHES, ICE],
)
def budget_is_closed_until_the_forced_end(c: Cluster) -> None:
    usual(c)
    add_pool(c, "web", template={"expireAfter": "168h", "terminationGracePeriod": "1h"})
    pairs = [add_node(c, "web", "m6i.xlarge", zone, age="4d") for zone in c.zones[1:]]
    going = add_node(c, "web", "m6i.xlarge", c.zones[0], age="7d", deleting="45m")
    conditions(going, condition("Drained", "Unknown", c.at("45m"), "Draining", "Draining"))
    pods = add_workload(c, "crm/api", on=[going, *pairs], age="3d", cpu="2500m", memory="8Gi")
    crash(c, pods[-1], code=1, restarts=61, ago="2m")
    budget = add_pdb(c, "crm", "api", "api", healthy=2, desired=2, expected=3, maxUnavailable=1)
    budget["status"]["conditions"] = [condition("DisruptionAllowed", "False", c.at("5h"), "InsufficientPods")]


@quiet(
    story="Drift of NodePool web goes on each night between 05:00 and 06:00 UTC, a node at a time. Five of nine nodes were replaced in the last three nights, and four are left.",
    cause="drift goes on each night, in a window of an hour.",
    thread="kubernetes-sigs/karpenter#1089",
    must_not=["stuck|never"],
    now="2026-11-26T13:00:00Z",
)
def fine_drift_goes_on_each_night(c: Cluster) -> None:
    budgets = [{"nodes": "0", "schedule": "0 6 * * *", "duration": "23h"}, {"nodes": "10%"}]
    drifted_until_a_window(c, budgets, "3d")
    pairs = [
        add_node(c, "web", "m6i.xlarge", c.zones[0], age=age) for age in ("7h30m", "7h40m", "31h", "31h20m", "55h")
    ]
    add_workload(c, "shop/cart", on=pairs, count=15, age="6h")
