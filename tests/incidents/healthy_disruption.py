"""Nodes that are protected, kept or removed as they should be."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import fleet, gone_claim, usual
from tests.incidents.incident import quiet
from tests.incidents.node_objects import add_node, both, conditions
from tests.incidents.objects import condition, digest, uid
from tests.incidents.pods import PROTECTED, add_pdb, add_pod, add_workload
from tests.incidents.pools import add_nodeclass, add_pool


@quiet(
    story="A training job runs with do-not-disrupt on a node that it fills, and a PodDisruptionBudget allows no eviction of the "
    "shop. Nothing is drifted, nothing could be consolidated, and no node expires soon: nobody is kept waiting.",
    cause="do-not-disrupt and a strict budget protect pods on nodes that nothing wants to remove.",
    thread="kubernetes-sigs/karpenter#1168",
    must_not=[
        r"(blocks?|holds?|keeps?|stops?|prevents?) (the )?(drift|removal|consolidation|disruption) of \d",
        "killed|is lost",
    ],
)
def fine_protected_pods(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    add_pool(c, "ml", families=("m7i",), sizes=("4xlarge",))
    fleet(c, "general", "orders/storefront", 4)
    add_pdb(c, "orders", "storefront", "storefront", healthy=12, desired=12, expected=12, minAvailable=12)
    pair = add_node(c, "ml", "m7i.4xlarge", c.zones[1], age="3d")
    pods = add_workload(
        c, "ml/train-prices", kind="Job", on=[pair], age="2d20h", cpu="15", memory="52Gi", annotations=PROTECTED
    )
    text = f'Pod has "karpenter.sh/do-not-disrupt" annotation (Pod=ml/{pods[0]["metadata"]["name"]})'
    for manifest in both(pair):
        c.event(manifest, "DisruptionBlocked", text, last="1m", first="58m", count=28, kind="Normal")


@quiet(
    story="An export protects itself with do-not-disrupt for 45 minutes and has run for 20. Its node drifted ten minutes ago and waits "
    "25 minutes more, as agreed; its neighbours are being replaced.",
    cause="do-not-disrupt with a duration holds a drifted node for 25 minutes more.",
    thread="kubernetes-sigs/karpenter#701",
    must_not=[r"no (time )?limit|forever|never"],
)
def fine_protected_for_a_while(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    pairs = fleet(c, "general", "orders/storefront", 4, drifted="10m", each=2, age="9d")
    pods = add_workload(
        c,
        "orders/export",
        kind="Job",
        on=pairs[:1],
        age="20m",
        cpu="900m",
        memory="2Gi",
        annotations={"karpenter.sh/do-not-disrupt": "45m"},
    )
    text = f"The karpenter.sh/do-not-disrupt grace period will elapse at {c.at('-25m')}"
    c.event(pods[0], "DoNotDisruptUntil", text, last="1m", first="19m", count=9, kind="Normal")
    fresh = add_node(c, "general", "m6i.xlarge", c.zones[0], age="4m")
    add_workload(c, "orders/catalog", on=[fresh], count=3, age="3m")


@quiet(
    story="An export protected itself with do-not-disrupt for 30 minutes, 50 minutes ago: the protection has ended. Its three nodes drifted six minutes ago, and "
    "one is being replaced right now.",
    cause="the protection by do-not-disrupt has ended, and the drift advances.",
    thread="kubernetes-sigs/karpenter#701",
    must_not=["do-not-disrupt", "stuck|does not advance|no progress"],
)
def fine_protection_has_ended(c: Cluster) -> None:
    usual(c)
    add_pool(c, "exports", disruption={"budgets": [{"nodes": "1"}]})
    pairs = [add_node(c, "exports", "m6i.xlarge", zone, age="12d", drifted="6m") for zone in c.zones[:2]]
    going = add_node(c, "exports", "m6i.xlarge", c.zones[2], age="12d", drifted="6m", deleting="40s")
    conditions(going, condition("Drained", "Unknown", c.at("40s"), "Draining", "Draining"))
    pods = add_workload(c, "exports/nightly", kind="Job", on=[*pairs, going], age="50m", cpu="3", memory="10Gi", annotations={"karpenter.sh/do-not-disrupt": "30m"}, pool="exports")  # fmt: skip
    for pod in pods:
        text = "The karpenter.sh/do-not-disrupt grace period has elapsed, pod is now disruptable"
        c.event(pod, "DoNotDisruptGracePeriodElapsed", text, last="19m", kind="Normal")
    fresh = add_node(c, "exports", "m6i.xlarge", c.zones[2], age="2m")
    for manifest in both(going):
        c.event(manifest, "DisruptionTerminating", f"Disrupting {manifest['kind']}: Drifted", last="41s", kind="Normal")
    assert fresh.claim is not None
    c.event(fresh.claim, "DisruptionLaunching", "Launching NodeClaim: Drifted", last="2m", kind="Normal")


@quiet(
    story="A PodDisruptionBudget of an application that is scaled to zero allows no disruption: it has no pods. Two budgets of the "
    "same name and selector guard pods of two namespaces, one each.",
    cause="one PodDisruptionBudget has no pods, and the others do not meet.",
    thread="devantler-tech/platform#1880",
    must_not=[r"(two|several|more than one) (PDBs|PodDisruptionBudgets)", r"never allows"],
)
def fine_budgets_that_hold_nothing(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    fleet(c, "general", "orders/storefront", 4, drifted="3m", age="9d")
    add_pdb(c, "orders", "storefront", "storefront", healthy=12, desired=10, expected=12, maxUnavailable=2)
    add_pdb(c, "staging", "storefront", "storefront", healthy=2, desired=1, expected=2, maxUnavailable=1)
    more = add_node(c, "general", "m6i.xlarge", c.zones[0], age="9d")
    add_workload(c, "staging/storefront", on=[more], count=2)
    add_workload(c, "erp/issuer", cpu="250m", memory="256Mi", replicas=0)
    add_pdb(c, "erp", "issuer", "issuer", healthy=0, desired=1, expected=0, minAvailable=1)


@quiet(
    story="A rollout of the shop runs for two minutes: one pod is still starting, so the PodDisruptionBudget allows no eviction at "
    "this moment. One drifted node waits for that, and will go in a minute.",
    cause="a PodDisruptionBudget is used up for a moment by a rollout.",
    thread="kubernetes-sigs/karpenter#1176",
    must_not=[r"never allow", "forever|no terminationGracePeriod"],
)
def fine_budget_used_up_by_rollout(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "web")
    pairs = fleet(c, "web", "orders/catalog", 3, age="9d")
    last = add_node(c, "web", "m6i.xlarge", c.zones[0], age="9d", drifted="2m")
    add_workload(c, "orders/storefront", on=[last], count=2, age="2m")
    pods = [item for item in c.objects if item["kind"] == "Pod" and item["metadata"]["name"].startswith("storefront")]
    for manifest in pods[1]["status"]["conditions"]:
        if manifest["type"] in ("Ready", "ContainersReady"):
            manifest |= {"status": "False", "reason": "ContainersNotReady", "lastTransitionTime": c.at("25s")}
    pods[1]["status"]["containerStatuses"][0]["ready"] = False
    pods[1]["metadata"]["creationTimestamp"] = c.at("25s")
    budget = add_pdb(c, "orders", "storefront", "storefront", healthy=1, desired=1, expected=2, maxUnavailable=1)
    budget["status"]["conditions"] = [condition("DisruptionAllowed", "False", c.at("25s"), "InsufficientPods")]
    text = "Pdb prevents pod evictions (PodDisruptionBudget=[orders/storefront])"
    for manifest in both(last):
        c.event(manifest, "DisruptionBlocked", text, last="5s", kind="Normal")
    assert len(pairs) == 3


@quiet(
    story="It is 02:30 at night. The disruption budget is 0 from 20:00 to 06:00 on purpose; no node is drifted, and one node is half empty "
    "and may be consolidated in the morning.",
    cause="the budget is closed at night, and no node is drifted.",
    thread="kubernetes-sigs/karpenter#2989",
    must_not=["stuck", r"never opens", r"[1-9]\d* (nodes? )?(is |are )?drifted"],
    now="2026-11-24T02:30:00Z",
)
def fine_closed_at_night(c: Cluster) -> None:
    add_nodeclass(c)
    budgets = [{"nodes": "0", "schedule": "0 20 * * *", "duration": "10h"}, {"nodes": "20%"}]
    add_pool(c, "general", disruption={"budgets": budgets})
    pairs = fleet(c, "general", "orders/storefront", 6, age="11d")
    half = add_node(c, "general", "m6i.xlarge", c.zones[2], age="9h")
    add_workload(c, "orders/catalog", on=[half], count=1, age="8h")
    add_pdb(c, "orders", "storefront", "storefront", healthy=3 * len(pairs), desired=16, expected=18, minAvailable=16)
    text = "No allowed disruptions for disruption reason Underutilized due to blocking budget"
    c.event(c.find("NodePool", "general"), "DisruptionBlocked", text, last="20s", first="59m", count=58, kind="Normal")


@quiet(
    story="The evening's load has gone. Karpenter consolidates the twelve nodes of pool web one after the other, as the disruption budget allows; one drains for 50 seconds, and ten more are "
    "waiting for their turn.",
    cause="consolidation takes one node after the other.",
    thread="kubernetes-sigs/karpenter#2705",
    must_not=["stuck|never", r"no progress"],
)
def fine_consolidation_takes_turns(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "web", disruption={"budgets": [{"nodes": "1"}]})
    pairs = [add_node(c, "web", "m6i.2xlarge", c.zones[number % 3], age=f"{2 + number}h") for number in range(11)]
    add_workload(c, "orders/storefront", on=pairs, age="2h", cpu="900m", memory="2Gi")
    going = add_node(c, "web", "m6i.2xlarge", c.zones[0], age="14h", deleting="50s")
    conditions(
        going,
        condition("DisruptionReason", "True", c.at("60s"), "Underutilized"),
        condition("Drained", "Unknown", c.at("50s"), "Draining", "Draining"),
    )
    for manifest in both(going):
        text = f"Disrupting {manifest['kind']}: Underutilized"
        c.event(manifest, "DisruptionTerminating", text, last="50s", kind="Normal")


@quiet(
    story="A new image rolls through pool web: eight of twelve nodes are replaced, two at a time at most, the last three minutes "
    "ago. One node is draining for a minute and its replacement is ready.",
    cause="the drift of web advances, 8 of 12 nodes are done.",
    thread="kubernetes-sigs/karpenter#2705",
    must_not=[r"drift.{0,60}(stuck|blocked|does not advance|no progress|never)"],
)
def fine_drift_advances(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "web")
    fleet(c, "web", "orders/storefront", 3, drifted="41m", age="16d")
    fresh = [add_node(c, "web", "m6i.xlarge", c.zones[number % 3], age=f"{4 + 4 * number}m") for number in range(9)]
    add_workload(c, "orders/catalog", on=fresh, count=27, age="40m")
    add_pdb(c, "orders", "catalog", "catalog", healthy=27, desired=21, expected=27, maxUnavailable=6)
    going = add_node(c, "web", "m6i.xlarge", c.zones[0], age="16d", drifted="41m", deleting="1m")
    conditions(
        going,
        condition("DisruptionReason", "True", c.at("4m10s"), "Drifted"),
        condition("Drained", "Unknown", c.at("1m"), "Draining", "Draining"),
    )
    for manifest in both(going):
        kind = "Node" if manifest["kind"] == "Node" else "NodeClaim"
        c.event(manifest, "DisruptionTerminating", f"Disrupting {kind}: Drifted", last="1m", kind="Normal")


@quiet(
    story="A cluster of 60 nodes gets a new AMI. Forty nodes of the pool web drifted 35 minutes ago; the budget of 10% lets Karpenter replace them a few at a "
    "time. Five replacements are ready, and two nodes are draining for 50 seconds.",
    cause="a large rollout advances at the rate its budget allows.",
    thread="kubernetes-sigs/karpenter#2705",
    must_not=["stuck|does not advance|no progress", "never", "do-not-disrupt"],
)
def fine_large_rollout(c: Cluster) -> None:
    add_nodeclass(c)
    for name in ("web", "data"):
        add_pool(c, name)
    fleet(c, "data", "orders/ledger", 13, age="30h")
    fleet(c, "web", "orders/storefront", 38, drifted="35m", age="9d")
    for number in range(2):
        going = add_node(c, "web", "m6i.xlarge", c.zones[number], drifted="35m", age="9d", deleting="50s")
        conditions(going, condition("Drained", "Unknown", c.at("50s"), "Draining", "Draining"))
        for item in both(going):
            c.event(item, "DisruptionTerminating", f"Disrupting {item['kind']}: Drifted", last="51s", kind="Normal")
    fresh = [add_node(c, "web", "m6i.xlarge", c.zones[number % 3], age=f"{31 - 7 * number}m") for number in range(5)]
    add_workload(c, "orders/basket", on=fresh, count=15, age="2m")
    for pair in fresh:
        assert pair.claim is not None
        age = pair.claim["metadata"]["creationTimestamp"]
        minutes = 31 - 7 * fresh.index(pair)
        assert age == c.at(f"{minutes}m")
        c.event(pair.claim, "DisruptionLaunching", "Launching NodeClaim: Drifted", last=f"{minutes}m", kind="Normal")


@quiet(
    story="A cluster of 80 nodes just after a rollout of its largest application: four nodes joined three minutes ago, five pods pull their "
    "image for twelve seconds, four old pods are terminating, and the PodDisruptionBudgets still allow evictions.",
    cause="a large cluster finishes a rollout.",
    thread="kubernetes-sigs/karpenter#651",
    must_not=["stuck", "cannot start|never start"],
)
def fine_after_a_rollout(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    add_pool(c, "spot", capacity=("spot",))
    for number in range(6):
        fleet(c, "general", f"shop/service-{number}", 10, age=f"{4 + number}d")
        add_pdb(
            c, "shop", f"service-{number}", f"service-{number}", healthy=30, desired=27, expected=30, maxUnavailable=3
        )
    fleet(c, "spot", "shop/thumbnails", 14, capacity="spot", age="30h")
    fresh = [add_node(c, "general", "m6i.xlarge", c.zones[number % 3], age="3m") for number in range(4)]
    add_workload(c, "shop/checkout", on=fresh, count=7, age="100s")
    name = "checkout-next"
    add_workload(c, f"shop/{name}", on=fresh, count=5, age="12s", waiting="ContainerCreating")
    parent = next(
        item for item in c.objects if item["kind"] == "ReplicaSet" and item["metadata"]["name"].startswith("checkout-")
    )
    for number in range(4):
        add_pod(
            c, "shop", f"{parent['metadata']['name']}-old{number}", node=c.nodes[2 + number], parent=parent, age="5d",
            labels=parent["metadata"]["labels"], cpu="100m", memory="128Mi", deleting="-22s",
        )  # fmt: skip


@quiet(
    story="Karpenter drains two nodes for consolidation since 40 seconds and has put its taint on them. They are about to go.",
    cause="Karpenter removes two nodes it does not need.",
    thread="aws/karpenter-provider-aws#2466",
    must_not=["cordoned", "forgotten", "stuck"],
)
def fine_two_nodes_drain(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general", disruption={"budgets": [{"nodes": "50%"}]})
    fleet(c, "general", "orders/storefront", 4)
    for zone in c.zones[:2]:
        going = add_node(c, "general", "m6i.xlarge", zone, age="2d", deleting="40s")
        for manifest in both(going):
            text = f"Disrupting {manifest['kind']}: Empty"
            c.event(manifest, "DisruptionTerminating", text, last="40s", kind="Normal")


@quiet(
    story="Two game servers were asked to end 40 minutes ago. They have two hours to finish their matches, and their drifted node waits for them, as "
    "intended.",
    cause="a node drains while two pods use their long termination grace period, which ends in 80 minutes.",
    thread="aws/karpenter-provider-aws#6394",
    must_not=["stuck", r"never|forever|without end", "no terminationGracePeriod"],
)
def fine_matches_are_finished(c: Cluster) -> None:
    usual(c)
    old = add_node(c, "general", "m6i.xlarge", c.zones[1], age="9d", deleting="40m", drifted="42m")
    conditions(
        old,
        condition("DisruptionReason", "True", c.at("41m"), "Drifted"),
        condition("Drained", "Unknown", c.at("40m"), "Draining", "Draining"),
    )
    spec = {"terminationGracePeriodSeconds": 7200}
    pods = add_workload(
        c,
        "game/match",
        kind="StatefulSet",
        on=[old],
        count=2,
        age="2h",
        cpu="1",
        memory="2Gi",
        spec=spec,
        deleting="-80m",
    )
    for pod in pods:
        pod["metadata"]["deletionGracePeriodSeconds"] = 7200
    text = "Failed to drain node, 2 pods are waiting to be evicted"
    c.event(both(old)[0], "FailedDraining", text, last="20s", first="39m", count=20)


@quiet(
    story="The office closes: over the last hour consolidation has removed nine nodes that had run all day, one after the other, and "
    "moved each of the 18 desk pods once. No node was launched meanwhile.",
    cause="the cluster shrinks in the evening, and no node comes and goes.",
    thread="aws/karpenter-provider-aws#3920",
    must_not=[r"churn|short-?lived|come and go|again and again|\bloop"],
)
def fine_evening_scale_down(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    pairs = fleet(c, "general", "orders/storefront", 4, each=2)
    desk = add_workload(c, "office/desk", on=pairs, count=18, age="50m", cpu="250m", memory="512Mi")
    prefix = desk[0]["metadata"]["name"][:-6]
    for number in range(9):
        claim = gone_claim(c, "general", number)
        name = f"ip-10-24-40-{11 + number}.ec2.internal"
        meta = {"name": name, "uid": uid(c.name, name)}
        for manifest in (claim, {"apiVersion": "v1", "kind": "Node", "metadata": meta}):
            text = f"Disrupting {manifest['kind']}: Underutilized"
            c.event(manifest, "DisruptionTerminating", text, last=f"{3 + 6 * number}m", kind="Normal")
        for place in range(2):
            pod = {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": f"{prefix}-{digest(number, place)[:5]}",
                    "namespace": "office",
                    "uid": uid(c.name, number, place),
                },
            }
            c.event(pod, "Evicted", "Evicted pod: Underutilized", last=f"{3 + 6 * number}m", kind="Normal")


@quiet(
    story="Twelve spot nodes run one pod each that fills more than half of it. Cheaper spot types exist, but spot-to-spot consolidation is off by default, so "
    "the nodes stay: nothing is wrong with that.",
    cause="spot nodes stay as they are, because spot-to-spot consolidation is off by default.",
    thread="kubernetes-sigs/karpenter#2989",
    must_not=["do-not-disrupt", r"interrupt", "stuck|endanger"],
    karpenter_version="1.13.0",
)
def fine_spot_nodes_stay(c: Cluster) -> None:
    usual(c, 3)
    add_pool(c, "spot", capacity=("spot",), families=("m6i", "m6a", "c6i", "r6i"))
    pairs = [
        add_node(c, "spot", "m6i.xlarge", c.zones[number % 3], capacity="spot", age=f"{2 + number}h")
        for number in range(12)
    ]
    add_workload(c, "media/transcode", on=pairs, age="90m", cpu="2200m", memory="5Gi", pool="spot")


@quiet(
    story="The ten nodes of web were created on different days and expire one after the other, the next in five hours. Their pods "
    "move without harm.",
    cause="nodes expire one by one, days apart.",
    thread="aws/karpenter-provider-aws#7122",
    must_not=[r"\b(10|ten) nodes.{0,40}expir", "killed"],
)
def fine_nodes_expire_one_by_one(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "web")
    pairs = [
        add_node(c, "web", "m6i.xlarge", c.zones[number % 3], age=f"{29 - 3 * number}d19h") for number in range(10)
    ]
    add_workload(c, "orders/storefront", on=pairs, count=30, age="20h")
    add_pdb(c, "orders", "storefront", "storefront", healthy=30, desired=27, expected=30, maxUnavailable="10%")


@quiet(
    story="The nodes of the database pool never expire (expireAfter Never) and are 210 days old; their pods have do-not-disrupt. The pool is only consolidated "
    "when empty, and nothing has drifted.",
    cause="the nodes of a pool with expireAfter Never are old on purpose.",
    thread="aws/karpenter-provider-aws#6980",
    must_not=["do-not-disrupt", r"\bexpire[ds]?\b(?!After)", "stuck", r"210 ?d"],
    karpenter_version="1.14.1",
)
def fine_nodes_never_expire(c: Cluster) -> None:
    usual(c)
    add_pool(c, "databases", template={"expireAfter": "Never"}, disruption={"consolidationPolicy": "WhenEmpty"})
    pairs = [add_node(c, "databases", "m6i.2xlarge", zone, age="210d") for zone in c.zones]
    add_workload(c, "db/oracle", kind="StatefulSet", on=pairs, age="209d", cpu="4", memory="20Gi", annotations=PROTECTED)  # fmt: skip


@quiet(
    story="A rollout has replaced nodes of NodePool web one by one for three hours. Right now a node that is not drifted is removed, because it is empty; that uses up the budget of one node for half a minute.",
    cause="drift waits half a minute for its turn, because an empty node is removed.",
    thread="kubernetes-sigs/karpenter#2705",
    must_not=["stuck|does not advance|no progress"],
)
def fine_drift_waits_for_an_empty_node(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "web", disruption={"budgets": [{"nodes": "1"}]})
    fleet(c, "web", "orders/storefront", 5, drifted="3h", age="16d")
    fresh = [add_node(c, "web", "m6i.xlarge", c.zones[number % 3], age=f"{14 + 20 * number}m") for number in range(6)]
    add_workload(c, "orders/catalog", on=fresh, count=18, age="40m")
    going = add_node(c, "web", "m6i.xlarge", c.zones[0], age="2h", deleting="25s")
    conditions(
        going,
        condition("DisruptionReason", "True", c.at("30s"), "Empty"),
        condition("Drained", "Unknown", c.at("25s"), "Draining", "Draining"),
    )
