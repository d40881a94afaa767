"""A snapshot to add oddities to, with helpers to pick and add objects."""

from __future__ import annotations

import random
from typing import Any, Final

from tests.provisioning.crossing import ZONE, Json

EBS_ZONE: Final = "topology.ebs.csi.aws.com/zone"
HOSTNAME: Final = "kubernetes.io/hostname"
CAPACITY_TYPE: Final = "karpenter.sh/capacity-type"
INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
FAMILY: Final = "karpenter.k8s.aws/instance-family"
RESERVATION: Final = "karpenter.k8s.aws/capacity-reservation-id"


class Odd:
    """A snapshot under change."""

    def __init__(self, chance: random.Random, base: Json, *, newer: bool) -> None:
        self.r = chance
        self.base = base
        self.newer = newer
        self.serial = 0

    def some(self, kind: str) -> Json:
        """Return a random object of a kind, or an empty dummy that is not part of the snapshot."""
        result = [manifest for manifest in self.base["objects"] if manifest["kind"] == kind]
        return self.r.choice(result) if result else {"metadata": {}, "spec": {}, "status": {}}

    def pod(self) -> Json:
        return self.some("Pod")

    def container(self) -> Json:
        containers = self.pod()["spec"].get("containers") or [{}]
        choice: Json = self.r.choice(containers)
        return choice

    def pool(self) -> Json:
        """Return a NodePool's spec."""
        spec: Json = self.some("NodePool")["spec"]
        return spec

    def pool_template(self) -> Json:
        template: Json = self.pool().setdefault("template", {}).setdefault("spec", {})
        template.setdefault("requirements", [])
        return template

    def type(self) -> Json:
        choice: Json = self.r.choice(self.base["instanceTypes"] or [{"offerings": [], "requirements": []}])
        return choice

    def offering(self) -> Json:
        choice: Json = self.r.choice(self.type()["offerings"] or [{"requirements": []}])
        return choice

    def values(self, key: str) -> list[str]:
        """Return the values of a label of the instance types."""
        result = {
            value
            for instance_type in self.base["instanceTypes"]
            for rule in instance_type["requirements"]
            if rule["key"] == key
            for value in rule.get("values") or ()
        }
        return sorted(result) or ["none"]

    def add(self, api_version: str, kind: str, name: str, namespace: str = "", **fields: Any) -> Json:
        self.serial += 1
        name = f"{name}-odd-{self.serial}"
        meta: Json = {"name": name, "uid": f"odd-{kind}-{name}", "creationTimestamp": "2026-11-20T09:00:00Z"}
        if namespace:
            meta["namespace"] = namespace
        document = {"apiVersion": api_version, "kind": kind, "metadata": meta | fields.pop("metadata", {}), **fields}
        self.base["objects"].append(document)
        return document

    def rule(self) -> Json:
        key = self.r.choice(
            (ZONE, CAPACITY_TYPE, INSTANCE_TYPE, FAMILY, "karpenter.sh/nodepool", "example.com/team",
             "karpenter.k8s.aws/instance-cpu", RESERVATION, "kubernetes.io/os", HOSTNAME, "karpenter.sh/initialized",
             "karpenter.sh/registered", "topology.kubernetes.io/region", "kubernetes.io/arch")
        )  # fmt: skip
        operators = ["In", "In", "NotIn", "Exists", "DoesNotExist"]
        values = self.values(key)
        if key.endswith("-cpu"):
            operators += ["Gt", "Lt"] + (["Gte", "Lte"] if self.newer else [])
            values = ["0", "1", "4", "8"]
        operator = self.r.choice(operators)
        rule: Json = {"key": key, "operator": operator}
        if operator in ("In", "NotIn"):
            rule["values"] = self.r.sample(values, min(len(values), self.r.choice((1, 2))))
        elif operator not in ("Exists", "DoesNotExist"):
            rule["values"] = [self.r.choice(values)]
        return rule

    def gate(self, gate: str) -> None:
        settings = self.base.setdefault("settings", {})
        gates = dict(word.split("=") for word in settings.get("FEATURE_GATES", "").split(",") if word)
        gates |= dict([gate.split("=")])
        settings["FEATURE_GATES"] = ",".join("=".join(pair) for pair in gates.items())
