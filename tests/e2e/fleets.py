"""Random fleets: Karpenter launches nodes for all replicas, then the workloads shrink and leave too many nodes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .karpenter import CAPACITY_TYPE, HOSTNAME, ZONE, instance_types

POOL_TAINT = "example.com/pool"
CPU_LABEL = "karpenter.kwok.sh/instance-cpu"
SHUT = [{"nodes": "0"}]
WAVES = 3


@dataclass(frozen=True)
class Pool:
    name: str
    capacity_type: str
    largest: int
    """CPUs of its largest type."""
    budgets: tuple[dict[str, Any], ...]
    """Budgets after the load has shrunk."""
    is_tainted: bool
    is_drifting: bool = False

    def manifest(self) -> dict[str, Any]:
        """Return the NodePool with budgets that allow no disruption yet."""
        reference = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}
        labels = {POOL_TAINT: self.name} if self.is_tainted else {}
        taints = [{"key": POOL_TAINT, "value": self.name, "effect": "NoSchedule"}] if self.is_tainted else []
        requirements = [
            {"key": CAPACITY_TYPE, "operator": "In", "values": [self.capacity_type]},
            {"key": CPU_LABEL, "operator": "Lt", "values": [str(self.largest + 1)]},
        ]
        spec = {"nodeClassRef": reference, "requirements": requirements, "expireAfter": "720h", "taints": taints}
        disruption = {"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "30s", "budgets": SHUT}
        return {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodePool",
            "metadata": {"name": self.name},
            "spec": {"template": {"metadata": {"labels": labels}, "spec": spec}, "disruption": disruption},
        }


@dataclass(frozen=True)
class App:
    """A Deployment, its PodDisruptionBudget, and its replicas after the load has shrunk."""

    name: str
    pool: Pool
    replicas: int
    left: int
    milli_cpu: int
    mebibytes: int
    grace_seconds: int
    deletion_cost: int
    wave: int
    spread: str = ""
    """``zone``: hard spread across zones; ``node``: at most one pod per node."""
    pdb: tuple[str, Any] | None = None
    is_protected: bool = False

    def deployment(self) -> dict[str, Any]:
        """Return the Deployment before the load shrinks."""
        labels = {"app": self.name}
        annotations = {"controller.kubernetes.io/pod-deletion-cost": str(self.deletion_cost)}
        if self.is_protected:
            annotations["karpenter.sh/do-not-disrupt"] = "true"
        requests = {"cpu": f"{self.milli_cpu}m", "memory": f"{self.mebibytes}Mi"}
        spec: dict[str, Any] = {
            "containers": [{"name": "main", "image": "app", "resources": {"requests": requests}}],
            "terminationGracePeriodSeconds": self.grace_seconds,
        }
        if self.pool.is_tainted:
            spec["tolerations"] = [{"key": POOL_TAINT, "value": self.pool.name, "effect": "NoSchedule"}]
            spec["nodeSelector"] = {POOL_TAINT: self.pool.name}
        if self.spread == "zone":
            selector = {"labelSelector": {"matchLabels": labels}}
            constraint = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", **selector}
            spec["topologySpreadConstraints"] = [constraint]
        elif self.spread == "node":
            term = {"labelSelector": {"matchLabels": labels}, "topologyKey": HOSTNAME}
            spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": self.name},
            "spec": {
                "replicas": self.replicas,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels, "annotations": annotations}, "spec": spec},
            },
        }

    def pdb_manifest(self) -> dict[str, Any] | None:
        if self.pdb is None:
            return None
        field, value = self.pdb
        spec = {"selector": {"matchLabels": {"app": self.name}}, field: value}
        return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": self.name}, "spec": spec}


@dataclass(frozen=True)
class Fleet:
    """A cluster to build."""

    seed: int
    pools: tuple[Pool, ...]
    apps: tuple[App, ...]


def make_fleet(seed: int, nodes: int) -> Fleet:
    """Return a fleet of about this many nodes before its load shrinks."""
    rng = random.Random(f"fleet-{seed}")
    general = _budget(rng.choice(["1", "2", "10%", "20%", "40%"]))
    batch = _budget(rng.choice(["1", "2", "25%", "50%"]))
    legacy = _budget(rng.choice(["1", "2", "25%"]))
    pools = (
        Pool("general", "on-demand", 8, (general,), is_tainted=False),
        Pool("batch", "spot", 4, (batch,), is_tainted=True),
        Pool("legacy", "on-demand", 4, (legacy,), is_tainted=True, is_drifting=rng.random() < 0.6),
    )
    apps = [app for pool, share in zip(pools, (0.5, 0.3, 0.2), strict=True) for app in _apps(rng, pool, nodes * share)]
    return Fleet(seed, pools, tuple(apps))


def _budget(nodes: str) -> dict[str, Any]:
    """Return a budget that does not limit empty nodes, because Karpenter deletes those in random order."""
    return {"nodes": nodes, "reasons": ["Underutilized", "Drifted"]}


def _apps(rng: random.Random, pool: Pool, nodes: float) -> Iterator[App]:
    """Yield apps for a NodePool until they need ``nodes`` of its largest nodes."""
    room = nodes * pool.largest * 1000 * 0.9
    number = 0
    while room > 0:
        number += 1
        milli_cpu = rng.choice([250, 400, 500, 750, 900, 1100, 1500, 1900, 2600, 3300])
        replicas = min(rng.randint(4, 24), max(2, int(room // milli_cpu)))
        kind = rng.random()
        is_protected = kind < 0.08
        if is_protected:
            replicas = min(replicas, 3)
        pdb: tuple[str, Any] | None = None
        if 0.08 <= kind < 0.16:
            pdb = ("maxUnavailable", 0)
            replicas = min(replicas, 4)
        elif 0.16 <= kind < 0.5:
            pdb = rng.choice([("maxUnavailable", 1), ("maxUnavailable", "30%"), ("minAvailable", "50%")])
        spread = rng.choice(["", "", "", "", "zone", "node"])
        if spread == "node":
            replicas = min(replicas, 6)
        left = replicas if is_protected or pdb == ("maxUnavailable", 0) else round(replicas * rng.uniform(0.1, 0.8))
        room -= replicas * milli_cpu
        yield App(
            name=f"{pool.name}-{number}",
            pool=pool,
            replicas=replicas,
            left=left,
            milli_cpu=milli_cpu,
            mebibytes=int(milli_cpu * rng.choice([0.5, 1, 1.6, 3, 5])),
            grace_seconds=rng.choice([5, 10, 15, 30]),
            deletion_cost=rng.randint(-(10**8), 10**8),
            wave=rng.randrange(WAVES),
            spread=spread,
            pdb=pdb,
            is_protected=is_protected,
        )


def fleet_types() -> list[dict[str, Any]]:
    """Return the instance types; each is cheapest in exactly one zone, so that launches are not random."""
    result = instance_types()
    for number, manifest in enumerate(result):
        zones = sorted({_value(offer, ZONE) for offer in manifest["offerings"]})
        for offer in manifest["offerings"]:
            rank = (zones.index(_value(offer, ZONE)) + number) % len(zones)
            offer["price"] = round(offer["price"] * (1 + rank / 1000), 6)
    return result


def _value(offer: dict[str, Any], key: str) -> str:
    return next(str(requirement["values"][0]) for requirement in offer["requirements"] if requirement["key"] == key)
