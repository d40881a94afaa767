"""Oddities of NodePools and instance types: prices, amounts, limits, minimums, budgets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.provisioning.crossing import GATES, NEWER_GATES, ZONE, Json
from tests.provisioning.odd import CAPACITY_TYPE, FAMILY, HOSTNAME, INSTANCE_TYPE, RESERVATION, Odd

SCHEDULES: Final = (
    ("@hourly", "59m"), ("@daily", "12h1m"), ("@midnight", "12h0m"), ("@weekly", "168h"), ("@monthly", "480h"),
    ("CRON_TZ=America/New_York 0 7 * * *", "10m"), ("TZ=Europe/Berlin 0 13 * * *", "1m"), ("0 12 * * *", "1s"),
    ("CRON_TZ=Asia/Kolkata 30 17 * * *", "5m"), ("*/7 9-17 * * MON-FRI", "6m"), ("59-59/5 11 20 NOV Fri", "2m"),
    ("0 0 29 2 *", "24h"), ("55/1 11 * * *", "1m"), ("0,30 12 ? * 1-5", "1m"), ("@every 1h", "30m"),
    ("0 0 31 4 *", "1h"), ("1 12 * * *", "23h59m"), ("0 12 20 11 0", "1h"), ("* * * * *", "1m30s"),
    ("0 0 1,15,20 * *", "13h"),
)  # fmt: skip


def capacity_type(o: Odd) -> None:
    offering = o.offering()
    rules = [requirement for requirement in offering["requirements"] if requirement["key"] != CAPACITY_TYPE]
    chosen: Json | None = o.r.choice(({"operator": "Exists"}, {"operator": "NotIn", "values": ["spot"]},
                                      {"operator": "NotIn", "values": ["reserved"]},
                                      {"operator": "NotIn", "values": ["on-demand", "spot"]},
                                      {"operator": "DoesNotExist"}, None))  # fmt: skip
    offering["requirements"] = rules + ([{"key": CAPACITY_TYPE, **chosen}] if chosen else [])
    if o.r.random() < 0.4:
        offering["reservationCapacity"] = o.r.choice((0, 1, 2))


def offering_place(o: Odd) -> None:
    offering = o.offering()
    rules = [requirement for requirement in offering["requirements"] if requirement["key"] != ZONE]
    zones = o.values(ZONE)
    chosen: Json | None = o.r.choice(({"operator": "NotIn", "values": zones[:1]}, {"operator": "Exists"}, None))
    offering["requirements"] = rules + ([{"key": ZONE, **chosen}] if chosen else [])


def offering_label(o: Odd) -> None:
    key = o.r.choice(("example.com/team", FAMILY, "topology.k8s.aws/zone-id", RESERVATION))
    rule = o.r.choice(({"operator": "In", "values": ["red"]}, {"operator": "DoesNotExist"}))
    o.offering()["requirements"].append({"key": key, **rule})


def price(o: Odd) -> None:
    o.offering()["price"] = o.r.choice((0, 1e-9, 0.05, 1e6, 0.1 + 0.2, 0.30000000000000004))


def reservation_capacity(o: Odd) -> None:
    o.offering()["reservationCapacity"] = o.r.choice((-1, 0, 1, 100))


def type_amount(o: Odd) -> None:
    amounts = o.type().setdefault("capacity", {})
    key = o.r.choice(("memory", "cpu", "pods", "ephemeral-storage"))
    amounts[key] = {
        "memory": o.r.choice(("16000000000.7", "8589934592500m", "17179869184", "1.7e10", "15.9Gi")),
        "cpu": o.r.choice(("3.9999999", "4", "1999m", "8000001u")),
        "pods": o.r.choice(("1", "2.5", "10", "110")),
        "ephemeral-storage": o.r.choice(("20Gi", "0", "1500m")),
    }[key]


def type_overhead(o: Odd) -> None:
    overhead = o.type().setdefault("overhead", {}).setdefault(o.r.choice(("kubeReserved", "systemReserved")), {})
    overhead[o.r.choice(("memory", "cpu", "pods"))] = o.r.choice(("100.5", "1", "1n", "0", "250m"))


def offering_override(o: Odd) -> None:
    amounts = {"memory": o.r.choice(("1Gi", "64Gi", "1500m")), "cpu": o.r.choice(("1", "32"))}
    chosen = {key: value for key, value in amounts.items() if o.r.random() < 0.7}
    o.offering()[o.r.choice(("capacityOverride", "overheadOverride"))] = chosen
    for instance_type in o.base["instanceTypes"]:
        for offering in instance_type["offerings"]:
            if "overheadOverride" in offering and "kubeReserved" not in offering["overheadOverride"]:
                offering["overheadOverride"] = {"kubeReserved": offering["overheadOverride"]}


def type_label(o: Odd) -> None:
    key = o.r.choice(("example.com/team", FAMILY, "karpenter.k8s.aws/instance-cpu", "example.com/tier"))
    operator = o.r.choice(("In", "NotIn", "Exists", "DoesNotExist"))
    rule: Json = {"key": key, "operator": operator}
    if operator in ("In", "NotIn"):
        rule["values"] = o.r.sample(["red", "blue", "4", "08"], o.r.choice((1, 2)))
    o.type()["requirements"].append(rule)


def volume_limit(o: Odd) -> None:
    o.type()["volumeAttachmentLimits"] = {"ebs.csi.aws.com": o.r.choice((0, 1, 2)), "other": 1}


def pool_rule(o: Odd) -> None:
    template = o.pool_template()
    rule = o.rule()
    if rule["key"] not in ("karpenter.sh/nodepool", HOSTNAME, "karpenter.sh/initialized", "karpenter.sh/registered"):
        if o.r.random() < 0.5 and rule["operator"] in ("In", "Exists", "NotIn"):
            rule["minValues"] = o.r.choice((1, 2, 2, 3, 5))
        template["requirements"].append(rule)


def minimums(o: Odd) -> None:
    template = o.pool_template()
    for key in o.r.sample((INSTANCE_TYPE, FAMILY, ZONE, CAPACITY_TYPE, "kubernetes.io/arch"), 2):
        least = o.r.choice((1, 2, 3))
        template["requirements"].append({"key": key, "operator": "Exists", "minValues": least})
    settings = o.base.setdefault("settings", {})
    settings["MIN_VALUES_POLICY"] = o.r.choice(("BestEffort", "Strict"))


def budgets(o: Odd) -> None:
    budgets = []
    for _ in range(o.r.choice((1, 2, 3))):
        budget: Json = {"nodes": o.r.choice(("0", "1", "7%", "50%", "99%", "100%", "1000", "0%"))}
        if o.r.random() < 0.6:
            budget["schedule"], budget["duration"] = o.r.choice(SCHEDULES)
        if o.r.random() < 0.4:
            budget["reasons"] = o.r.choice((["Drifted"], ["Empty", "Underutilized"], ["Underutilized"]))
        budgets.append(budget)
    o.pool().setdefault("disruption", {})["budgets"] = budgets


def disruption(o: Odd) -> None:
    spec = o.pool().setdefault("disruption", {})
    policies = ("WhenEmpty", "WhenEmptyOrUnderutilized") + (("Balanced",) if o.newer else ())
    spec["consolidationPolicy"] = o.r.choice(policies)
    spec["consolidateAfter"] = o.r.choice(("0s", "1s", "15s", "90m", "1h0m0s", "Never", "720h"))


def lifetimes(o: Odd) -> None:
    template = o.pool_template()
    if o.r.random() < 0.5:
        template["terminationGracePeriod"] = o.r.choice(("0s", "30s", "1h30m", "720h"))
    template["expireAfter"] = o.r.choice(("Never", "1h", "72h30m", "1s"))


def taints(o: Odd) -> None:
    template = o.pool_template()
    field = o.r.choice(("taints", "startupTaints"))
    more: Sequence[Json] = (
        {"key": "dedicated", "value": "x", "effect": "NoSchedule"},
        {"key": "dedicated", "effect": "PreferNoSchedule"},
        {"key": "team", "value": "red", "effect": "NoExecute"},
        {"key": "tier", "value": "7", "effect": "NoSchedule"},
        {"key": "cni", "value": "down", "effect": "NoExecute"},
    )
    template[field] = [*(template.get(field) or ()), dict(o.r.choice(more))]


def labels(o: Odd) -> None:
    metadata = o.pool().setdefault("template", {}).setdefault("metadata", {})
    key, values = o.r.choice(
        (("example.com/team", ("red", "blue")), ("example.com/tier", ("gold", "")), (FAMILY, ("f1",)))
    )
    metadata["labels"] = {**(metadata.get("labels") or {}), key: o.r.choice(values)}


def replicas(o: Odd) -> None:
    spec = o.pool()
    spec["replicas"] = o.r.choice((0, 1, 2, 5))
    spec.pop("weight", None)
    spec["limits"] = {"nodes": o.r.choice(("0", "1", "3"))}
    o.gate("StaticCapacity=true")


def weight(o: Odd) -> None:
    o.pool()["weight"] = o.r.choice((1, 10, 10, 100))


def overlay(o: Odd) -> None:
    o.gate("NodeOverlay=true")
    spec: Json = {"requirements": [o.rule() for _ in range(o.r.choice((0, 1, 1, 2)))]}
    spec |= o.r.choice(
        (
            {"price": "0"}, {"price": "0.05"}, {"priceAdjustment": "-100%"}, {"priceAdjustment": "+0.001"},
            {"priceAdjustment": "-33.3%"}, {"priceAdjustment": "-5"}, {"capacity": {"example.com/widget": "2"}},
            {"capacity": {"hugepages-2Mi": "100Mi"}}, {"capacity": {"example.com/widget": "1500m"}, "price": "1"},
        )
    )  # fmt: skip
    if o.r.random() < 0.7:
        spec["weight"] = o.r.choice((1, 1, 2, 10000))
    o.add("karpenter.sh/v1alpha1", "NodeOverlay", "overlay", spec=spec)


def settings(o: Odd) -> None:
    if o.r.random() < 0.5:
        o.gate(o.r.choice(GATES + (NEWER_GATES if o.newer else ())))
    else:
        o.base.setdefault("settings", {})["PREFERENCE_POLICY"] = o.r.choice(("Ignore", "Respect"))


STEPS: Final = (
    capacity_type, offering_place, offering_label, price, reservation_capacity, type_amount, type_overhead,
    offering_override, type_label, volume_limit, pool_rule, minimums, budgets, disruption, lifetimes, taints,
    labels, replicas, weight, overlay, settings,
)  # fmt: skip
