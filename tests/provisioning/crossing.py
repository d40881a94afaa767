"""Random combinations ("crosses") of golden scenarios: fields of one grafted onto objects of another.

Each golden has one or two rare features; a cross combines features that no author combined. Karpenter's own code
provides the expected answers. Equal seeds give equal crosses.
"""

from __future__ import annotations

import copy
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from tests.goldens_loading import GOLDENS, scenarios

Json = dict[str, Any]
NOW: Final = "2026-11-20T12:00:00Z"
ZONE: Final = "topology.kubernetes.io/zone"
_MOMENTS: Final = (
    *(NOW,) * 6, "2026-11-20T12:00:30.5Z", "2026-11-22T00:00:00Z", "2026-12-31T23:59:59Z", "2028-02-29T10:15:00Z",
)  # fmt: skip
SOURCES: Final = ("rules/rules-disruption", "rules/rules-provisioning", "rules/rules-provisioning-pv")
NEWER_SOURCES: Final = tuple(
    f"k115/k115-{name}"
    for name in ("cost", "minvalues", "misc", "repair", "reserved", "spread", "terminate", "volumes")
)
MOST_OBJECTS: Final = 60
_ZONES: Final = {
    **{f"us-east-1{letter}": f"z{letter}" for letter in "abc"},
    **{letter: f"z{letter}" for letter in "abc"},
    **{f"test-zone-{number}": f"z{letter}" for number, letter in enumerate("abc", 1)},
}
_KEPT: Final = {
    ("metadata", "name"), ("metadata", "namespace"), ("metadata", "uid"), ("spec", "nodeName"), ("spec", "providerID"),
    ("status", "providerID"), ("status", "nodeName"), ("spec", "volumeName"), ("spec", "template", "metadata"),
}  # fmt: skip
"""Fields that identify an object or its owner; they are never changed."""
_ONCE: Final = ("Namespace", "EC2NodeClass", "NodePool", "Node", "NodeClaim", "StorageClass", "CSINode")
"""Kinds whose objects are identified by name, so that a second one of a name is dropped."""
_ADOPTED: Final = (
    "DaemonSet", "PodDisruptionBudget", "NodeOverlay", "Pod", "Service", "PersistentVolumeClaim", "CSINode",
)  # fmt: skip
_TWISTS: Final[Mapping[str, Sequence[Any]]] = {
    "topologyKey": ("kubernetes.io/hostname", ZONE, "karpenter.sh/capacity-type", "karpenter.sh/nodepool",
                    "kubernetes.io/arch", "node.kubernetes.io/instance-type", "example.com/team"),
    "maxSkew": (1, 2, 3), "minDomains": (1, 2, 3), "whenUnsatisfiable": ("DoNotSchedule", "ScheduleAnyway"),
    "nodeTaintsPolicy": ("Honor", "Ignore"), "nodeAffinityPolicy": ("Honor", "Ignore"),
    "effect": ("NoSchedule", "PreferNoSchedule", "NoExecute"), "weight": (1, 10, 50, 100), "hostPort": (80, 443, 9100),
    "protocol": ("TCP", "UDP"), "hostIP": ("0.0.0.0", "::", "10.0.0.1", "::1"), "restartPolicy": ("Always",),
    "phase": ("Pending", "Running", "Bound", "Lost", "Succeeded", "Failed"), "status": ("True", "False", "Unknown"),
    "consolidationPolicy": ("WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"),
    "consolidateAfter": ("0s", "15m", "Never"), "nodes": ("0", "1", "50%", "34%", "100%"), "replicas": (0, 1, 3),
    "volumeBindingMode": ("Immediate", "WaitForFirstConsumer"), "price": (0.01, 0.02, 0.1, 0.4, 1.0),
    "available": (True, False), "reservationCapacity": (0, 1, 2), "minValues": (1, 2, 3), "priority": (-10, 0, 10**6),
    "expireAfter": ("Never", "720h"), "terminationGracePeriod": ("0s", "1h"), "disruptionsAllowed": (0, 1, 5),
    "unhealthyPodEvictionPolicy": ("AlwaysAllow", "IfHealthyBudget"), "maxUnavailable": (0, 1, "0%", "50%"),
    "minAvailable": (0, 1, "100%", "50%"), "cpu": ("1", "1900m", "4", "100m", "16"),
    "memory": ("1Gi", "3500Mi", "16Gi"),
    "pods": ("1", "3", "20", "110"), "lastTransitionTime": ("2026-11-20T09:00:00Z", "2026-11-20T11:45:00Z"),
    "creationTimestamp": ("2026-11-20T09:00:00Z", "2026-11-20T11:59:50Z", "2026-10-01T00:00:00Z"),
    "lastPodEventTime": ("2026-11-20T09:00:00Z", "2026-11-20T11:52:00Z"), "provisioner": ("ebs.csi.aws.com", "other"),
}  # fmt: skip
"""Alternative values by field."""
_SETTINGS: Final = (("PREFERENCE_POLICY", ("Ignore", "Respect")), ("MIN_VALUES_POLICY", ("BestEffort", "Strict")))
GATES: Final = ("SpotToSpotConsolidation=true", "NodeOverlay=true", "ReservedCapacity=false", "StaticCapacity=true")
NEWER_GATES: Final = (
    "NodeRepair=true", "TerminateFirstDrift=true", "TerminateFirstRepair=true", "PodDeletionCostManagement=true",
)  # fmt: skip


def _zoned(node: Any) -> Any:
    """Return a document with zone names made uniform, so that scenarios share zones."""
    if isinstance(node, list):
        return [_zoned(item) for item in node]
    if not isinstance(node, dict):
        return node
    result = {key: _zoned(value) for key, value in node.items()}
    if result.get("key") == ZONE and isinstance(result.get("values"), list):
        result["values"] = [_ZONES.get(value, value) for value in result["values"]]
    if isinstance(result.get(ZONE), str):
        result[ZONE] = _ZONES.get(result[ZONE], result[ZONE])
    return result


def _identify(thing: Json) -> None:
    """Derive the uids of an object and its owners from their names, because Karpenter stores state by uid."""
    meta = thing["metadata"]
    meta["uid"] = _uid(thing["apiVersion"], thing["kind"], meta.get("namespace"), meta["name"])
    for owner in meta.get("ownerReferences") or ():
        namespace = None if owner["kind"] == "Node" else meta.get("namespace")
        owner["uid"] = _uid(owner["apiVersion"], owner["kind"], namespace, owner["name"])


def _uid(api_version: str, kind: str, namespace: str | None, name: str) -> str:
    return f"{api_version}/{kind}/{namespace or ''}/{name}".lower()


class Stock:
    """Scenarios to cross, and their objects by kind."""

    def __init__(self, sequence: Sequence[Json]) -> None:
        self.scenarios = [_zoned(document) for document in sequence if len(document["objects"]) <= MOST_OBJECTS]
        self.objects: dict[str, list[Json]] = defaultdict(list)
        self.types: list[Json] = []
        for scenario in self.scenarios:
            self.types += scenario["instanceTypes"]
            for thing in scenario["objects"]:
                self.objects[thing["kind"]].append(thing)


def stock(*, newer: bool) -> Stock:
    """Return the goldens of single rules, with those of 1.15 if asked."""
    names = SOURCES + (NEWER_SOURCES if newer else ())
    snapshots = [scenario["snapshot"] for name in names for scenario in scenarios(GOLDENS / f"{name}.jsonl.gz")]
    return Stock([item for item in snapshots if _is_askable(item)])


def _is_askable(snapshot: Json) -> bool:
    """Return whether the oracle answers as a running Karpenter would; it forgets buffers between methods."""
    gates = (snapshot.get("settings") or {}).get("FEATURE_GATES", "")
    return snapshot["capturedAt"] == NOW and bool(snapshot.get("instanceTypes")) and "CapacityBuffer=true" not in gates


class Cross:
    """A snapshot under construction."""

    def __init__(self, seed: str, source: Stock, *, newer: bool) -> None:
        self.r = random.Random(seed)
        self.source = source
        self.newer = newer

    def crossed(self, name: str) -> Json:
        r = self.r
        base: Json = copy.deepcopy(r.choice(self.source.scenarios))
        for _ in range(r.choice((0, 1, 1, 2))):
            self._join(base, r.choice(self.source.scenarios))
        for _ in range(r.choice((1, 2, 3, 5, 8, 12))):
            r.choice(_STEPS)(self, base)
        for thing in base["objects"]:
            _identify(thing)
        return base | {"name": name, "disruption": True, "capturedAt": r.choice(_MOMENTS)}

    # -- whole scenarios ---------------------------------------------------------------------------------------------
    def _join(self, base: Json, other: Json) -> None:
        """Add another scenario's objects."""
        taken = {
            (manifest["kind"], manifest["metadata"].get("namespace"), manifest["metadata"]["name"])
            for manifest in base["objects"]
        }
        for thing in copy.deepcopy(other["objects"]):
            meta = thing["metadata"]
            if (thing["kind"], meta.get("namespace"), meta["name"]) in taken:
                if thing["kind"] in _ONCE:
                    continue
                self._rename(meta)
            base["objects"].append(thing)
        names = {instance_type["name"] for instance_type in base["instanceTypes"]}
        base["instanceTypes"] += [copy.deepcopy(item) for item in other["instanceTypes"] if item["name"] not in names]
        self._join_settings(base, other.get("settings") or {})
        for key in ("repairPolicies",):
            if key in other:
                base.setdefault(key, copy.deepcopy(other[key]))

    def _join_settings(self, base: Json, settings: Mapping[str, str]) -> None:
        setdefault = base.setdefault("settings", {})
        for key, value in settings.items():
            if key == "FEATURE_GATES" and key in setdefault:
                gates = dict(word.split("=") for word in f"{setdefault[key]},{value}".split(",") if word)
                setdefault[key] = ",".join("=".join(pair) for pair in gates.items())
            else:
                setdefault.setdefault(key, value)

    def _rename(self, meta: Json) -> None:
        tail = f"-{self.r.randrange(10**6)}"
        meta["name"] += tail

    # -- steps -------------------------------------------------------------------------------------------------------
    def _pick(self, base: Json, kinds: Sequence[str] = ()) -> Json | None:
        result = [manifest for manifest in base["objects"] if (not kinds or manifest["kind"] in kinds)]
        return self.r.choice(result) if result else None

    def graft(self, base: Json) -> None:
        """Copy a field from another object of the same kind."""
        kinds = self.r.choice((("Pod",), ("Pod",), ("NodePool",), ("Node", "NodeClaim"), ("NodeClaim",), ()))
        thing = self._pick(base, kinds)
        if thing is not None and (donors := self.source.objects[thing["kind"]]):
            self._graft(thing, self.r.choice(donors))

    def _graft(self, thing: Json, donor: Json) -> None:
        for path in self._paths(donor):
            if path in _KEPT or path[0] in ("kind", "apiVersion"):
                continue
            here: Any = thing
            there = donor
            for key in path[:-1]:
                here = here.setdefault(key, {}) if isinstance(here, dict) else {}
                there = there[key]
            if isinstance(here, dict):
                here[path[-1]] = self._blend(here.get(path[-1]), copy.deepcopy(there[path[-1]]))
            return

    def _paths(self, donor: Json) -> Iterator[tuple[str, ...]]:
        """Yield random paths into an object, but never into its lists."""
        for _ in range(20):
            node: Any = donor
            path: tuple[str, ...] = ()
            while isinstance(node, dict) and node and (len(path) < 2 or self.r.random() < 0.6):
                key = self.r.choice(sorted(node))
                path, node = (*path, key), node[key]
                if path == ("metadata",) and self.r.random() < 0.5:
                    break
            if len(path) > 1:
                yield path

    def _blend(self, result: Any, other: Any) -> Any:
        if isinstance(result, list) and isinstance(other, list) and result and other and self.r.random() < 0.6:
            extra = self.r.choice(other)
            key = next((item for item in ("type", "name") if isinstance(extra, dict) and item in extra), None)
            if key and (isinstance(extra, dict) and (key == "type" or "image" in extra)):
                return [item for item in result if item.get(key) != extra[key]] + [extra]
            return [*result, extra]
        return other

    def graft_type(self, base: Json) -> None:
        """Copy a field from another instance type."""
        thing, donor = self.r.choice(base["instanceTypes"]), self.r.choice(self.source.types)
        key = self.r.choice(("capacity", "overhead", "offerings", "offerings", "requirements"))
        if key == "requirements":
            keys = {requirement["key"] for requirement in thing["requirements"]}
            thing["requirements"] += [copy.deepcopy(item) for item in donor["requirements"] if item["key"] not in keys]
        elif key == "offerings" and self.r.random() < 0.7:
            thing["offerings"] = [*thing["offerings"], *copy.deepcopy(donor["offerings"])][:8]
        elif key in donor:
            thing[key] = copy.deepcopy(donor[key])
        if self.r.random() < 0.5:
            self._agree(thing)

    def _agree(self, thing: Json) -> None:
        """Set a type's requirements to the values of its offerings."""
        for requirement in thing["requirements"]:
            values = {
                value
                for offering in thing["offerings"]
                for rule in offering["requirements"]
                if rule["key"] == requirement["key"] and rule["operator"] == "In"
                for value in rule["values"]
            }
            if values:
                requirement |= {"operator": "In", "values": sorted(values)}

    def add_type(self, base: Json) -> None:
        donor = copy.deepcopy(self.r.choice(self.source.types))
        if donor["name"] not in {instance_type["name"] for instance_type in base["instanceTypes"]}:
            base["instanceTypes"].append(donor)

    def adopt(self, base: Json) -> None:
        """Add an object of another scenario."""
        donors = self.source.objects[self.r.choice(_ADOPTED)]
        if not donors:
            return
        thing = copy.deepcopy(self.r.choice(donors))
        taken = {
            (manifest["kind"], manifest["metadata"].get("namespace"), manifest["metadata"]["name"])
            for manifest in base["objects"]
        }
        if (thing["kind"], thing["metadata"].get("namespace"), thing["metadata"]["name"]) in taken:
            if thing["kind"] in _ONCE:
                return
            self._rename(thing["metadata"])
        base["objects"].append(thing)

    def repeat(self, base: Json) -> None:
        """Add copies of a pod."""
        thing = self._pick(base, ("Pod",))
        for _ in range(self.r.choice((1, 2, 3, 6)) if thing else 0):
            again = copy.deepcopy(thing)
            assert again is not None
            self._rename(again["metadata"])
            base["objects"].append(again)

    def resize(self, base: Json) -> None:
        """Change a container's requests."""
        thing = self._pick(base, ("Pod", "DaemonSet"))
        if thing is None:
            return
        spec = thing["spec"] if thing["kind"] == "Pod" else thing["spec"]["template"]["spec"]
        containers = spec.get("containers") or [{"name": "c", "image": "i"}]
        wanted = {"cpu": self.r.choice(("10m", "300m", "1", "1900m", "3", "7")), "memory": "256Mi"}
        self.r.choice(containers)["resources"] = {"requests": wanted}

    def move(self, base: Json) -> None:
        """Bind a pod to a node, or unbind it."""
        thing, node = self._pick(base, ("Pod",)), self._pick(base, ("Node",))
        if thing is None or node is None:
            return
        status = thing.setdefault("status", {})
        if "nodeName" in thing["spec"] and self.r.random() < 0.4:
            del thing["spec"]["nodeName"]
            unplaced = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
            status |= {"phase": "Pending", "conditions": [unplaced]}
        else:
            thing["spec"]["nodeName"] = node["metadata"]["name"]
            status |= {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}

    def mark(self, base: Json) -> None:
        """Give a NodeClaim a condition, so that a method wants its node."""
        thing = self._pick(base, ("NodeClaim",))
        if thing is None:
            return
        self._mark(thing, self.r.choice(("Consolidatable", "Consolidatable", "Drifted", "Initialized")))

    def _mark(self, thing: Json, kind: str) -> None:
        conditions = thing.setdefault("status", {}).setdefault("conditions", [])
        conditions[:] = [condition for condition in conditions if condition["type"] != kind]
        conditions.append({"type": kind, "status": "True", "reason": kind, "message": "",
                           "lastTransitionTime": "2026-11-20T10:00:00Z"})  # fmt: skip

    def ripen(self, base: Json) -> None:
        """Make every node disruptable."""
        for thing in base["objects"]:
            if thing["kind"] == "NodeClaim":
                for kind in ("Launched", "Registered", "Initialized", "Consolidatable"):
                    self._mark(thing, kind)
            elif thing["kind"] == "Node" and "karpenter.sh/nodepool" in (thing["metadata"].get("labels") or {}):
                thing["metadata"]["labels"] |= {"karpenter.sh/registered": "true", "karpenter.sh/initialized": "true"}
            elif thing["kind"] == "NodePool" and self.r.random() < 0.7:
                thing["spec"].setdefault("disruption", {})["budgets"] = [{"nodes": "100%"}]

    def drop(self, base: Json) -> None:
        """Remove a field or a label."""
        thing = self._pick(base, ("Pod", "NodeClaim", "Node", "NodePool"))
        if thing is None:
            return
        ways = [("metadata", "labels"), ("spec", "template", "spec"), ("spec",), ("spec", "disruption"), ("status",)]
        node: Any = thing
        for key in self.r.choice(ways):
            node = node.get(key) if isinstance(node, dict) else None
        kept = {"containers", "nodeClassRef", "template", "nodeName", "providerID", "conditions", "disruption"}
        if isinstance(node, dict) and (keys := sorted(node.keys() - kept)):
            del node[self.r.choice(keys)]

    def twist(self, base: Json) -> None:
        """Change the values of some fields, at any depth of an object or instance type."""
        things = [*base["objects"], *base["instanceTypes"]]
        kind = self.r.choice(("Pod", "NodePool", "Node", "NodeClaim", "", ""))
        chosen = [thing for thing in things if thing.get("kind") == kind] if kind else things
        if not chosen:
            return
        spots = [*self._spots(self.r.choice(chosen))]
        for node, key in self.r.sample(spots, min(len(spots), self.r.choice((1, 1, 3)))):
            if key == "operator":
                node.pop("values", None)
                node.update(self._requirement(node["key"]))
            else:
                chosen = self.r.choice(_TWISTS[key])
                node[key] = str(chosen) if key == "price" and isinstance(node[key], str) else chosen

    def _spots(self, node: Any, *, of_offering: bool = False) -> Iterator[tuple[Json, str]]:
        """Yield the changeable (container, key) pairs; requirements of offerings are never changed."""
        if isinstance(node, dict):
            for key, value in node.items():
                is_rule = key == "operator" and "key" in node and "effect" not in node and "value" not in node
                if is_rule and of_offering:
                    continue
                if is_rule or (key in _TWISTS and not isinstance(value, dict | list)):
                    yield node, key
                else:
                    yield from self._spots(value, of_offering=of_offering or key == "offerings")
        elif isinstance(node, list):
            for item in node:
                yield from self._spots(item, of_offering=of_offering)

    def _requirement(self, key: str) -> Json:
        """Return a new requirement for a label."""
        values = sorted(
            {
                value
                for document in self.source.types[:400]
                for rule in document["requirements"]
                if rule["key"] == key
                for value in rule.get("values") or ()
            }
        ) or ["red", "2"]
        numbers = [item for item in values if item.isdigit()]
        operators = ["In", "In", "NotIn", "Exists", "DoesNotExist"]
        if numbers:
            operators += ["Gt", "Lt"] + (["Gte", "Lte"] if self.newer else [])
        operator = self.r.choice(operators)
        if operator in ("Exists", "DoesNotExist"):
            return {"operator": operator}
        if operator in ("In", "NotIn"):
            return {"operator": operator, "values": self.r.sample(values, min(len(values), self.r.choice((1, 2))))}
        return {"operator": operator, "values": [self.r.choice(numbers)]}

    def setting(self, base: Json) -> None:
        settings = base.setdefault("settings", {})
        if self.r.random() < 0.5:
            key, values = self.r.choice(_SETTINGS)
            settings[key] = self.r.choice(values)
        else:
            gates = GATES + (NEWER_GATES if self.newer else ())
            self._join_settings(base, {"FEATURE_GATES": self.r.choice(gates)})


_STEPS: Final[Sequence[Callable[[Cross, Json], None]]] = (
    *(Cross.graft,) * 8, *(Cross.twist,) * 6, Cross.graft_type, Cross.add_type, Cross.adopt, Cross.adopt,
    Cross.repeat, Cross.resize, Cross.move, Cross.mark, Cross.mark, Cross.ripen, Cross.ripen, Cross.drop, Cross.setting,
)  # fmt: skip


def cross(seed: str, source: Stock, *, version: str = "") -> Json:
    """Return one snapshot; the same for the same seed and stock."""
    newer = version.startswith("1.15")
    document = Cross(seed, source, newer=newer).crossed(f"cross-{seed}")
    return document | ({"karpenterVersion": version} if version else {})
