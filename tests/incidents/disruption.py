"""Nodes that should be removed and are not, or are removed with harm."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.drains import FOREVER
from tests.incidents.fleets import fleet, replaced, usual
from tests.incidents.incident import LAUNCHES, incident, n
from tests.incidents.node_objects import add_node, both, conditions, cordon
from tests.incidents.objects import condition
from tests.incidents.pods import PROTECTED, add_pdb, add_pod, add_workload
from tests.incidents.pools import add_nodeclass, add_pool

CHURN = (
    r"churn|loop|again and again|short-?lived|come and go|came and went|within \d+ ?m|soon after|replaced over|turnover"
)


@incident(
    story="A CronJob starts every ten minutes, and its pods run for up to 14 minutes with do-not-disrupt. There is always one on "
    "each of the four nodes, so their drift waits for six days, although no pod is older than 14 minutes.",
    cause="Pods of the CronJob sync-orders with do-not-disrupt follow one another, so the drift of 4 nodes has waited for 6 days.",
    thread="kubernetes-sigs/karpenter#701",
    must=["do-not-disrupt", "sync-orders", "drift|AMI|image", n(4), r"\b6 ?d|\bsix days|14[34] ?h|5d2\d"],
)
def cron_do_not_disrupt(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "jobs")
    pairs = fleet(c, "jobs", "orders/indexer", 4, drifted="6d", age="20d", each=2)
    cron = c.add(
        "CronJob",
        "sync-orders",
        "orders",
        age="120d",
        spec={"schedule": "*/10 * * * *", "concurrencyPolicy": "Allow", "jobTemplate": {"spec": {"parallelism": 4}}},
        status={"lastScheduleTime": c.at("3m")},
    )
    marks = {"karpenter.sh/do-not-disrupt": "true"}
    for number, age in enumerate(("13m", "3m")):
        here = pairs[:2] if number else pairs[2:]
        pods = add_workload(
            c,
            f"orders/sync-orders-2950{number}",
            kind="Job",
            on=here,
            age=age,
            cpu="400m",
            memory="512Mi",
            annotations=marks,
        )
        job = c.find("Job", f"sync-orders-2950{number}")
        job["metadata"]["ownerReferences"] = [
            {
                "apiVersion": "batch/v1",
                "kind": "CronJob",
                "name": "sync-orders",
                "uid": cron["metadata"]["uid"],
                "controller": True,
            }
        ]
        for pod, pair in zip(pods, here, strict=True):
            name = f"orders/{pod['metadata']['name']}"
            text = f'Pod has "karpenter.sh/do-not-disrupt" annotation (Pod={name})'
            for manifest in both(pair):
                c.event(manifest, "DisruptionBlocked", text, last="1m", first=age, count=3, kind="Normal")


@incident(
    story="Someone protected three nodes during an incident in spring, by the annotation on the nodes. They are empty but for "
    "DaemonSets, and no method may touch them.",
    cause="Three empty nodes of general stay because the Nodes themselves say karpenter.sh/do-not-disrupt.",
    thread="kubernetes-sigs/karpenter#2855",
    must=["do-not-disrupt", n(3), r"node", r"empty|no pods|unused|\$|cost|idle|saves?|kept|keeps?"],
)
def nodes_do_not_disrupt(c: Cluster) -> None:
    usual(c, 3)
    marks = {"karpenter.sh/do-not-disrupt": "true"}
    for zone in c.zones:
        pair = add_node(c, "general", "m6i.2xlarge", zone, age="21d", annotations=marks)
        text = 'Disruption is blocked through the "karpenter.sh/do-not-disrupt" annotation'
        for manifest in both(pair):
            c.event(manifest, "DisruptionBlocked", text, last="1m", first="58m", count=28, kind="Normal")


@incident(
    story="consolidateAfter of the pool tools is an hour, and a CronJob puts a small pod on each of its five nodes every ten minutes. Each start and end of a "
    "pod restarts the hour, so the nodes are never consolidated although they are nearly empty.",
    cause="5 nearly empty nodes of tools are never consolidated: pods of the CronJob ops/heartbeat restart consolidateAfter (1h) every 10 minutes.",
    thread="kubernetes-sigs/karpenter#1921",
    must=[r"consolidateAfter", r"\btools\b", n(5), r"heartbeat"],
    must_not=[r"do-not-disrupt", r"\bis (down|not running)", LAUNCHES],
)
def jobs_restart_consolidate_after(c: Cluster) -> None:
    usual(c)
    add_pool(c, "tools", disruption={"consolidateAfter": "1h", "budgets": [{"nodes": "100%"}]})
    pairs = [add_node(c, "tools", "m6i.2xlarge", c.zones[number % 3], age="6d") for number in range(5)]
    add_workload(c, "tools/dashboard", on=pairs, age="5d", cpu="200m", memory="256Mi", pool="tools")
    for pair in pairs:
        assert pair.claim is not None
        status = pair.claim["status"]
        status["conditions"] = [item for item in status["conditions"] if item["type"] != "Consolidatable"]
        status["lastPodEventTime"] = c.at("2m")
    cron = c.add(
        "CronJob",
        "heartbeat",
        "ops",
        age="90d",
        spec={"schedule": "*/10 * * * *"},
        status={"lastScheduleTime": c.at("3m")},
    )
    parent = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "name": "heartbeat",
        "uid": cron["metadata"]["uid"],
        "controller": True,
    }
    for number, age in enumerate(("3m", "13m", "23m")):
        phase = "Succeeded" if number else ""
        add_workload(c, f"ops/heartbeat-2951{number}", kind="Job", on=pairs, age=age, cpu="50m", memory="64Mi", phase=phase, pool="tools")  # fmt: skip
        c.find("Job", f"heartbeat-2951{number}")["metadata"]["ownerReferences"] = [parent]


@incident(
    story="An engineer cordoned three nodes four days ago to look into a kernel problem, and forgot them. They are two thirds "
    "empty, take no new pods, and the pool removes empty nodes only.",
    cause="Three nodes have been cordoned for 4 days: they take no pods and stay, because pool general only removes empty nodes.",
    thread="kubernetes-sigs/karpenter#2802",
    must=[r"cordon|unschedulable|SchedulingDisabled", n(3), r"\b4 ?d|9[56] ?h|four days"],
)
def cordoned_and_forgotten(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general", disruption={"consolidationPolicy": "WhenEmpty"})
    fleet(c, "general", "orders/storefront", 3)
    pairs = fleet(c, "general", "orders/catalog", 3, each=1, age="19d")
    for pair in pairs:
        cordon(c, pair, "4d")


@incident(
    story="A node was deleted by hand five hours ago. The two report pods on it need an r6i, which no pool may launch any more, "
    "and their budget lets none go. Karpenter tries to place them in every simulation, so the drift of the other eight nodes "
    "stands still, with a message about pods that are not even there.",
    cause="Pods erp/report on a node that drains for 5 hours fit nowhere, and that blocks the drift of all 8 other nodes.",
    thread="kubernetes-sigs/karpenter#678",
    must=["report", "drift|disrupt", n(8), r"5 ?h|\bfive hours|4h5\d|30\d ?m"],
)
def one_pod_stops_all(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general", disruption={"budgets": [{"nodes": "50%"}]})
    pairs = fleet(c, "general", "orders/storefront", 8, drifted="5h", age="12d")
    add_pool(c, "general-old", families=("r6i",), sizes=("xlarge",))
    old = add_node(c, "general-old", "r6i.xlarge", c.zones[1], age="12d", deleting="5h")
    pool = c.find("NodePool", "general-old")
    c.objects.remove(pool)
    labels = both(old)
    for label in labels:
        label["metadata"]["labels"]["karpenter.sh/nodepool"] = "general"
    labels[1]["metadata"]["ownerReferences"][0] |= {
        "name": "general",
        "uid": c.find("NodePool", "general")["metadata"]["uid"],
    }
    conditions(old, condition("Drained", "Unknown", c.at("5h"), "Draining", "Draining"))
    pods = add_workload(
        c,
        "erp/report",
        on=[old],
        count=2,
        age="11d",
        cpu="1500m",
        memory="12Gi",
        spec={"nodeSelector": {"karpenter.k8s.aws/instance-family": "r6i"}},
    )
    add_pdb(c, "erp", "report", "report", healthy=2, desired=2, expected=2, minAvailable=2)
    c.event(
        labels[0],
        "FailedDraining",
        "Failed to drain node, 2 pods are waiting to be evicted",
        last="1m",
        first="1h",
        count=30,
    )
    why = (
        "incompatible requirements, key karpenter.k8s.aws/instance-family, karpenter.k8s.aws/instance-family In [r6i] not in "
        "karpenter.k8s.aws/instance-family In [c6i m6i m7i]"
    )
    text = "Not all pods would schedule, " + " ".join(f"erp/{pod['metadata']['name']} => {why}" for pod in pods) + " "
    for pair in pairs:
        for label in both(pair):
            c.event(label, "DisruptionBlocked", text, last="1m", first="55m", count=25, kind="Normal")


@incident(
    story="The static pool keeps four nodes and its limit is four nodes. A new image came out two days ago, and no replacement "
    "may be launched before a node goes.",
    cause="Static NodePool ingest has 4 replicas and a limit of 4 nodes, so none of its 4 drifted nodes can be replaced.",
    thread="aws/karpenter-provider-aws#8873",
    must=["ingest", "limit", n(4), "drift", r"static|replicas|replacement"],
    settings={"FEATURE_GATES": "StaticCapacity=true"},
)
def static_pool_at_limit(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    add_pool(c, "ingest", families=("m6i",), sizes=("xlarge",), replicas=4, limits={"nodes": "4"})
    fleet(c, "general", "orders/storefront", 3)
    pairs = fleet(c, "ingest", "events/collector", 4, drifted="2d", age="11d")
    text = "Static NodePool is at its node limit and cannot stage a replacement"
    for pair in pairs:
        for manifest in both(pair):
            c.event(manifest, "DisruptionBlocked", text, last="1m", first="55m", count=25, kind="Normal")


@incident(
    story="The budget of the pool forbids drift for ever (nodes 0 for the reason Drifted) and allows everything else. Seven nodes have "
    "drifted for eleven days; consolidation goes on, so nobody noticed.",
    cause="A budget of 0 for the reason Drifted, without a schedule, blocks the drift of 7 nodes of general for 11 days.",
    thread="aws/karpenter-provider-aws#5898",
    must=["general", "budget", "drift", n(7), r"11 ?d|26[34] ?h|never|always|\b0\b"],
)
def budget_forbids_drift(c: Cluster) -> None:
    add_nodeclass(c)
    budgets = [{"nodes": "0", "reasons": ["Drifted"]}, {"nodes": "30%"}]
    add_pool(c, "general", disruption={"budgets": budgets})
    fleet(c, "general", "orders/storefront", 7, drifted="11d", age="24d")
    pool = c.find("NodePool", "general")
    text = "No allowed disruptions for disruption reason Drifted due to blocking budget"
    c.event(pool, "DisruptionBlocked", text, last="20s", first="59m", count=58, kind="Normal")


@incident(
    story="Drift replaced two nodes nine days ago, then the budget of the pool was closed for drift. EC2 never ended the two; seven others "
    "have drifted for eleven days. The nodes that never go are no sign of progress.",
    cause="A budget of 0 for the reason Drifted blocks the drift of 7 nodes of general, behind two nodes that never end.",
    thread="aws/karpenter-provider-aws#5898, kubernetes-sigs/karpenter#2169",
    must=["general", "budget", "drift", n(7), n(2), r"\b9 ?d|21[56] ?h"],
)
def drift_behind_nodes_that_never_end(c: Cluster) -> None:
    budget_forbids_drift(c)
    for zone in c.zones[:2]:
        old = add_node(c, "general", "m6i.2xlarge", zone, age="15d", deleting="9d", drifted="11d")
        gone = [condition(type_, "True", c.at("9d")) for type_ in ("Drained", "VolumesDetached", "InstanceTerminating")]
        conditions(old, condition("DisruptionReason", "True", c.at("9d"), "Drifted"), *gone)


@incident(
    story="One of three auth pods crashes since a bad release five days ago. The PodDisruptionBudget wants two healthy pods and has "
    "two, so it lets none go, not even the broken one: three drifted nodes wait.",
    cause="auth/auth-server has a crashing pod, so its PodDisruptionBudget allows no eviction and the drift of 3 nodes waits for 5 days.",
    thread="berops/claudie#1508",
    must=["auth", "PDB|PodDisruptionBudget|disruption budget", "drift", n(3), r"\b5 ?d|1[12]\d ?h|five days"],
)
def budget_of_crashing_pods(c: Cluster) -> None:
    usual(c, 3)
    add_pool(c, "auth", template={"taints": [{"key": "dedicated", "value": "auth", "effect": "NoSchedule"}]})
    pairs = [add_node(c, "auth", "m6i.xlarge", zone, age="17d", drifted="5d") for zone in c.zones]
    spec = {
        "tolerations": [{"key": "dedicated", "operator": "Exists"}],
        "nodeSelector": {"karpenter.sh/nodepool": "auth"},
    }
    pods = add_workload(c, "auth/auth-server", on=pairs, age="5d", cpu="3", memory="9Gi", spec=spec)
    broken = pods[0]["status"]
    broken["containerStatuses"][0] |= {
        "ready": False,
        "restartCount": 1391,
        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
    }
    for manifest in broken["conditions"]:
        if manifest["type"] in ("Ready", "ContainersReady"):
            manifest |= {"status": "False", "reason": "ContainersNotReady"}
    c.event(
        pods[0], "BackOff", "Back-off restarting failed container", last="1m", first="1h", count=260, source="kubelet"
    )
    add_pdb(c, "auth", "auth-server", "auth-server", healthy=2, desired=2, expected=3, minAvailable=2)
    text = "Pdb prevents pod evictions (PodDisruptionBudget=[auth/auth-server])"
    for pair in pairs:
        for manifest in both(pair):
            c.event(manifest, "DisruptionBlocked", text, last="1m", first="58m", count=28, kind="Normal")


@incident(
    story="A new image came out three days ago. The five nodes of pool search are drifted. The PodDisruptionBudget search/index has maxUnavailable 0, and "
    "the disruption budget of the pool is closed on working days from 08:00 to 20:00. At night only the PodDisruptionBudget blocks, so opening the "
    "budget would not help.",
    cause="The PodDisruptionBudget search/index (maxUnavailable 0) blocks the drift of 5 nodes of search for 3 days; the disruption "
    "budget of the pool is closed as well, until 20:00 UTC.",
    thread="kubernetes-sigs/karpenter#2802",
    must=[
        r"search/index|index",
        r"\bPDBs?\b|PodDisruptionBudget",
        r"(?<!pod )(disruption )?\bbudgets?\b|window|20:00|closed",
        "drift",
        n(5),
    ],
    must_not=[r"budget[^\n]{0,40}(never opens|always 0|is always)"],
)
def pdb_and_closed_budget(c: Cluster) -> None:
    usual(c, 3)
    budgets = [{"nodes": "0", "schedule": "0 8 * * mon-fri", "duration": "12h"}, {"nodes": "10%"}]
    add_pool(c, "search", disruption={"budgets": budgets}, labels={"team": "search"})
    pairs = [add_node(c, "search", "m6i.xlarge", c.zones[number % 3], age="18d", drifted="3d") for number in range(5)]
    add_workload(c, "search/index", kind="StatefulSet", on=pairs, age="17d", cpu="3", memory="10Gi", spec={"nodeSelector": {"team": "search"}})  # fmt: skip
    add_pdb(c, "search", "index", "index", healthy=5, desired=5, expected=5, maxUnavailable=0)
    text = "Pdb prevents pod evictions (PodDisruptionBudget=[search/index])"
    for pair in pairs:
        for manifest in both(pair):
            c.event(manifest, "DisruptionBlocked", text, last="1m", first="58m", count=28, kind="Normal")
    text = "No allowed disruptions for disruption reason Drifted due to blocking budget"
    c.event(c.find("NodePool", "search"), "DisruptionBlocked", text, last="20s", first="59m", count=58, kind="Normal")


@incident(
    story="A controller writes another value into the NodePool ingest every few minutes, so each new node has drifted when it is ready. Karpenter replaced "
    "ten of its nodes in the last hour, and its reader pods were evicted 30 times.",
    cause="Nodes of ingest drift minutes after their launch and are replaced in a loop: 10 in the last hour, with 30 evictions of ingest/reader.",
    thread="oracle/karpenter-provider-oci#10",
    must=["ingest", "drift", CHURN, n(10) + "|" + n(30)],
    must_not=[r"drift[^\n]{0,40}(does not advance|stuck|blocked)"],
)
def drift_in_a_loop(c: Cluster) -> None:
    usual(c)
    add_pool(c, "ingest", disruption={"budgets": [{"nodes": "100%"}]})
    pairs = [add_node(c, "ingest", "m6i.xlarge", zone, age=f"{3 + 2 * number}m") for number, zone in enumerate(c.zones)]
    last = add_node(c, "ingest", "m6i.xlarge", c.zones[0], age="8m", drifted="40s", drift_reason="NodePoolDrifted")
    pods = add_workload(c, "ingest/reader", on=[*pairs, last], count=9, age="2m")
    replaced(c, "ingest", "Drifted", 10, of=pods)


@incident(
    story="All fourteen nodes of web were created within three minutes, 30 days ago less 48 minutes. They expire together, and "
    "neither the budget of 10 % nor anything else spreads that.",
    cause="All 14 nodes of web expire within three minutes, in about 45 minutes; disruption budgets do not apply to expiry.",
    thread="aws/karpenter-provider-aws#6980",
    must=["web", "expir", n(14), r"4[5-9] ?m|10:1[5-9]|<? ?1 ?h|within (an|the next) hour"],
)
def expiry_of_all(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "web")
    pairs = [
        add_node(c, "web", "m6i.xlarge", c.zones[number % 3], age=f"{719 * 3600 + 12 * 60 + 13 * number}s")
        for number in range(14)
    ]
    add_workload(c, "orders/storefront", on=pairs, count=42)
    add_pdb(c, "orders", "storefront", "storefront", healthy=42, desired=38, expected=42, minAvailable="90%")


@incident(
    story="A load test runs in a bare pod since this morning. Its node expires in 14 minutes, the pod is evicted, and nothing makes "
    "it again.",
    cause="qa/loadtest-anna has no owner and is lost when its node expires in 14 minutes.",
    thread="kubernetes-sigs/karpenter#1303",
    must=[
        "loadtest-anna",
        r"expir",
        r"1[345] ?m|09:4[345]",
        r"\blost\b|never (come|return)|not (come back|return|(be )?(re-?)?(created|made))|no (owner|controller)|ownerless|without (an? )?(owner|controller)|gone for good|nothing (re)?(creates|makes|starts)|destroy|bare pod",
    ],
)
def bare_pod_expires(c: Cluster) -> None:
    usual(c)
    old = add_node(c, "general", "m6i.xlarge", c.zones[1], age=f"{720 * 60 - 14}m")
    add_workload(c, "orders/catalog", on=[old], count=2, age="5d")
    add_pod(c, "qa", "loadtest-anna", node=old, age="3h", cpu="1", memory="2Gi", labels={"run": "loadtest-anna"})


@incident(
    story="A drifted node is draining for 51 minutes with a grace period of one hour. The simulation on it has run for 14 hours "
    "with do-not-disrupt, which will not save it: it is killed in nine minutes.",
    cause="ml/simulate-7 is killed in 9 minutes although it is protected: its node drains since 51 minutes with 1 hour of grace.",
    thread="kubernetes-sigs/karpenter#1961",
    must=[
        "simulate",
        r"\b[89] ?m|09:3[89]",
        "kill|forc|lost|dies|delete|ends",
        "drain|terminationGracePeriod|grace|drift|terminat|node",
    ],
    must_not=[FOREVER],
)
def grace_kills_job(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "ml", families=("m7i",), sizes=("4xlarge",), template={"terminationGracePeriod": "1h"})
    pairs = [add_node(c, "ml", "m7i.4xlarge", zone, age="2d") for zone in c.zones[1:]]
    ends = c.at("-9m")
    mark = {"karpenter.sh/nodeclaim-termination-timestamp": ends}
    going = add_node(c, "ml", "m7i.4xlarge", c.zones[0], age="3d", drifted="2h", deleting="51m", claim_annotations=mark)
    conditions(
        going,
        condition("DisruptionReason", "True", c.at("52m"), "Drifted"),
        condition("Drained", "Unknown", c.at("51m"), "Draining", "Draining"),
    )
    for number, pair in enumerate([*pairs, going]):
        add_workload(
            c,
            f"ml/simulate-{5 + number}",
            kind="Job",
            on=[pair],
            age="14h",
            cpu="14",
            memory="50Gi",
            annotations=PROTECTED,
        )
    node, claim = both(going)
    for manifest in (node, claim):
        c.event(
            manifest,
            "TerminationGracePeriodExpiring",
            f"All pods will be deleted by {ends}",
            last="1m",
            first="50m",
            count=25,
        )
    c.event(
        node,
        "FailedDraining",
        "Failed to drain node, 1 pods are waiting to be evicted",
        last="1m",
        first="50m",
        count=25,
    )
