from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

import pytest

from karptui.karpenter.rules import NEWEST
from karptui.whatif.field_path import Path
from karptui.whatif.schema.rules import FAILED, MISSING, UNREADABLE, escape, evaluate, rule_violations
from karptui.whatif.schema.schema import shipped_schemas
from karptui.whatif.schema.validation import object_violations
from tests.builders import present

from .objects import CAPACITY_BUFFER, EC2_KIND, NODE_CLAIM, NODE_OVERLAY, NODE_POOL, OBJECTS

GONE = object()
Change = tuple[Path, Any]

POOL_SPEC: Path = ("spec", "template", "spec")
REQUIREMENTS: Path = (*POOL_SPEC, "requirements")
LABELS: Path = ("spec", "template", "metadata", "labels")
BUDGETS: Path = ("spec", "disruption", "budgets")
KUBELET: Path = ("spec", "kubelet")
AMIS: Path = ("spec", "amiSelectorTerms")
DEVICES: Path = ("spec", "blockDeviceMappings")
NETWORKS: Path = ("spec", "networkInterfaces")
REF: Path = (*POOL_SPEC, "nodeClassRef")


def interface(**fields: Any) -> dict[str, Any]:
    return {"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface", **fields}


NEW: list[tuple[dict[str, Any], Sequence[Change], Path, str]] = [
    # NodePool
    (
        NODE_POOL,
        [(("spec", "replicas"), 2), (("spec", "limits"), GONE)],
        ("spec",),
        "'weight' is not supported on static",
    ),
    (NODE_POOL, [(("spec", "replicas"), 2), (("spec", "weight"), GONE)], ("spec",), "only 'limits.nodes' is supported"),
    (NODE_POOL, [((*BUDGETS, 1, "duration"), GONE)], BUDGETS, "'schedule' must be set with 'duration'"),
    (NODE_POOL, [((*BUDGETS, 0, "duration"), "1h")], BUDGETS, "'schedule' must be set with 'duration'"),
    (NODE_POOL, [((*LABELS, "karpenter.sh/x"), "a")], LABELS, 'label domain "karpenter.sh" is restricted'),
    (NODE_POOL, [((*LABELS, "a.karpenter.sh/x"), "a")], LABELS, 'label domain "karpenter.sh" is restricted'),
    (NODE_POOL, [((*LABELS, "karpenter.k8s.aws/x"), "a")], LABELS, 'label domain "karpenter.k8s.aws" is restricted'),
    (NODE_POOL, [((*REQUIREMENTS, 3, "key"), "karpenter.k8s.aws/x")], (*REQUIREMENTS, 3, "key"), '"karpenter.k8s.aws"'),
    (NODE_POOL, [((*LABELS, "karpenter.sh/nodepool"), "a")], LABELS, 'label "karpenter.sh/nodepool" is restricted'),
    (NODE_POOL, [((*LABELS, "kubernetes.io/hostname"), "a")], LABELS, 'label "kubernetes.io/hostname" is restricted'),
    (NODE_POOL, [((*REF, "group"), "")], (*REF, "group"), "group may not be empty"),
    (NODE_POOL, [((*REF, "kind"), "")], (*REF, "kind"), "kind may not be empty"),
    (NODE_POOL, [((*REF, "name"), "")], (*REF, "name"), "name may not be empty"),
    (NODE_POOL, [((*REQUIREMENTS, 3, "key"), "karpenter.sh/x")], (*REQUIREMENTS, 3, "key"), 'domain "karpenter.sh"'),
    (
        NODE_POOL,
        [((*REQUIREMENTS, 3, "key"), "karpenter.sh/nodepool")],
        (*REQUIREMENTS, 3, "key"),
        '"karpenter.sh/nodepool" is restricted',
    ),
    (
        NODE_POOL,
        [((*REQUIREMENTS, 3, "key"), "kubernetes.io/hostname")],
        (*REQUIREMENTS, 3, "key"),
        '"kubernetes.io/hostname" is restricted',
    ),
    (NODE_POOL, [((*REQUIREMENTS, 0, "values"), [])], REQUIREMENTS, "operator 'In' must have a value"),
    (NODE_POOL, [((*REQUIREMENTS, 0, "values"), GONE)], REQUIREMENTS, "operator 'In' must have a value"),
    (NODE_POOL, [((*REQUIREMENTS, 2, "values"), ["x"])], REQUIREMENTS, "must have a single positive integer"),
    (NODE_POOL, [((*REQUIREMENTS, 2, "values"), ["-1"])], REQUIREMENTS, "must have a single positive integer"),
    (NODE_POOL, [((*REQUIREMENTS, 2, "values"), ["1", "2"])], REQUIREMENTS, "must have a single positive integer"),
    (NODE_POOL, [((*REQUIREMENTS, 1, "minValues"), 3)], REQUIREMENTS, "'minValues' must have at least that many"),
    # NodeClaim
    (
        NODE_CLAIM,
        [(("spec", "nodeClassRef", "group"), "")],
        ("spec", "nodeClassRef", "group"),
        "group may not be empty",
    ),
    (NODE_CLAIM, [(("spec", "nodeClassRef", "kind"), "")], ("spec", "nodeClassRef", "kind"), "kind may not be empty"),
    (NODE_CLAIM, [(("spec", "nodeClassRef", "name"), "")], ("spec", "nodeClassRef", "name"), "name may not be empty"),
    (NODE_CLAIM, [(("spec", "requirements", 0, "values"), [])], ("spec", "requirements"), "'In' must have a value"),
    (NODE_CLAIM, [(("spec", "requirements", 1, "values"), ["x"])], ("spec", "requirements"), "single positive integer"),
    (NODE_CLAIM, [(("spec", "requirements", 2, "minValues"), 3)], ("spec", "requirements"), "at least that many"),
    (
        NODE_CLAIM,
        [(("spec", "requirements", 0, "key"), "karpenter.sh/x")],
        ("spec", "requirements", 0, "key"),
        'label domain "karpenter.sh" is restricted',
    ),
    (
        NODE_CLAIM,
        [(("spec", "requirements", 0, "key"), "kubernetes.io/hostname")],
        ("spec", "requirements", 0, "key"),
        "is restricted",
    ),
    # NodeOverlay
    (NODE_OVERLAY, [(("spec", "price"), "1.0")], ("spec",), "cannot set both"),
    (NODE_OVERLAY, [(("spec", "capacity", "cpu"), "1")], ("spec", "capacity"), "invalid resource restricted"),
    (NODE_OVERLAY, [(("spec", "requirements", 0, "values"), [])], ("spec", "requirements"), "operator 'In' must have"),
    (NODE_OVERLAY, [(("spec", "requirements", 1, "values"), [])], ("spec", "requirements"), "'NotIn' must have"),
    (
        NODE_OVERLAY,
        [(("spec", "requirements", 2, "values"), ["x"])],
        ("spec", "requirements"),
        "single positive integer",
    ),
    (
        NODE_OVERLAY,
        [(("spec", "requirements", 0, "key"), "karpenter.sh/x")],
        ("spec", "requirements", 0, "key"),
        "is restricted",
    ),
    (
        NODE_OVERLAY,
        [(("spec", "requirements", 0, "key"), "kubernetes.io/hostname")],
        ("spec", "requirements", 0, "key"),
        "is restricted",
    ),
    # EC2NodeClass
    (EC2_KIND, [(AMIS, [])], AMIS, "must have"),
    (EC2_KIND, [(AMIS, [{}])], AMIS, "expected at least one"),
    (EC2_KIND, [(AMIS, [{"id": "ami-0123abcd", "name": "a"}])], AMIS, "'id' is mutually exclusive"),
    (EC2_KIND, [(AMIS, [{"alias": "al2023@latest", "name": "a"}])], AMIS, "'alias' is mutually exclusive"),
    (
        EC2_KIND,
        [(AMIS, [{"alias": "al2023@latest"}, {"name": "a"}])],
        AMIS,
        "'alias' is mutually exclusive, cannot be set with a combination of other amiSelectorTerms",
    ),
    (EC2_KIND, [((*AMIS, 0, "alias"), "al2023")], (*AMIS, 0, "alias"), "'alias' is improperly formatted"),
    (EC2_KIND, [((*AMIS, 0, "alias"), "ubuntu@latest")], (*AMIS, 0, "alias"), "family is not supported"),
    (EC2_KIND, [((*AMIS, 0, "alias"), "windows2022@v1")], (*AMIS, 0, "alias"), "windows families may only"),
    *(
        (EC2_KIND, [((*AMIS, 0, "alias"), f"{family}@latest")], ("spec",), "if set, amiFamily must be")
        for family in ("al2", "bottlerocket", "windows2019", "windows2022", "windows2025")
    ),
    (EC2_KIND, [(("spec", "amiFamily"), "AL2")], ("spec",), "if set, amiFamily must be"),
    (
        EC2_KIND,
        [(("spec", "amiFamily"), GONE), (AMIS, [{"id": "ami-0123abcd"}])],
        ("spec",),
        "must specify amiFamily if amiSelectorTerms does not contain an alias",
    ),
    (EC2_KIND, [(("spec", "role"), GONE)], ("spec",), "must specify exactly one of"),
    (EC2_KIND, [(("spec", "instanceProfile"), "p")], ("spec",), "must specify exactly one of"),
    (EC2_KIND, [(("spec", "role"), "")], ("spec", "role"), "role cannot be empty"),
    (
        EC2_KIND,
        [(("spec", "role"), GONE), (("spec", "instanceProfile"), "")],
        ("spec", "instanceProfile"),
        "instanceProfile cannot be empty",
    ),
    (EC2_KIND, [(("spec", "subnetSelectorTerms"), [])], ("spec", "subnetSelectorTerms"), "cannot be empty"),
    (EC2_KIND, [(("spec", "subnetSelectorTerms"), [{}])], ("spec", "subnetSelectorTerms"), "at least one"),
    (
        EC2_KIND,
        [(("spec", "subnetSelectorTerms"), [{"id": "subnet-0123abcd", "tags": {"a": "b"}}])],
        ("spec", "subnetSelectorTerms"),
        "'id' is mutually exclusive",
    ),
    (
        EC2_KIND,
        [(("spec", "subnetSelectorTerms", 0, "tags"), {"a": ""})],
        ("spec", "subnetSelectorTerms", 0, "tags"),
        "empty tag keys or values",
    ),
    (EC2_KIND, [(("spec", "securityGroupSelectorTerms"), [])], ("spec", "securityGroupSelectorTerms"), "cannot be"),
    (
        EC2_KIND,
        [(("spec", "securityGroupSelectorTerms"), [{}])],
        ("spec", "securityGroupSelectorTerms"),
        "at least one",
    ),
    (
        EC2_KIND,
        [(("spec", "securityGroupSelectorTerms"), [{"id": "sg-0123abcd", "name": "a"}])],
        ("spec", "securityGroupSelectorTerms"),
        "'id' is mutually exclusive",
    ),
    (
        EC2_KIND,
        [(("spec", "securityGroupSelectorTerms"), [{"name": "a", "tags": {"a": "b"}}])],
        ("spec", "securityGroupSelectorTerms"),
        "'name' is mutually exclusive",
    ),
    (
        EC2_KIND,
        [(("spec", "securityGroupSelectorTerms", 1, "tags"), {"a": ""})],
        ("spec", "securityGroupSelectorTerms", 1, "tags"),
        "empty tag keys or values",
    ),
    (EC2_KIND, [((*AMIS, 0), {"tags": {"": "a"}})], (*AMIS, 0, "tags"), "empty tag keys or values"),
    (
        EC2_KIND,
        [(("spec", "capacityReservationSelectorTerms"), [{}])],
        ("spec", "capacityReservationSelectorTerms"),
        "expected at least one",
    ),
    (
        EC2_KIND,
        [(("spec", "capacityReservationSelectorTerms", 0, "tags"), {"a": "b"})],
        ("spec", "capacityReservationSelectorTerms"),
        "'id' is mutually exclusive",
    ),
    (
        EC2_KIND,
        [(("spec", "capacityReservationSelectorTerms"), [{"tags": {"a": ""}}])],
        ("spec", "capacityReservationSelectorTerms", 0, "tags"),
        "empty tag keys or values",
    ),
    (EC2_KIND, [(("spec", "tags", ""), "a")], ("spec", "tags"), "empty tag keys"),
    *(
        (EC2_KIND, [(("spec", "tags", key), "a")], ("spec", "tags"), "restricted tag matching")
        for key in (
            "eks:eks-cluster-name",
            "kubernetes.io/cluster/prod",
            "karpenter.sh/nodepool",
            "karpenter.sh/nodeclaim",
            "karpenter.k8s.aws/ec2nodeclass",
        )
    ),
    (
        EC2_KIND,
        [((*KUBELET, "imageGCLowThresholdPercent"), 85)],
        KUBELET,
        "imageGCHighThresholdPercent must be greater",
    ),
    (EC2_KIND, [((*KUBELET, "evictionSoft", "pid.available"), "5%")], KUBELET, "evictionSoft OwnerKey does not"),
    (
        EC2_KIND,
        [((*KUBELET, "evictionSoftGracePeriod", "pid.available"), "1m")],
        KUBELET,
        "evictionSoftGracePeriod OwnerKey does not",
    ),
    *(
        (EC2_KIND, [((*KUBELET, field, "x"), "1")], (*KUBELET, field), "valid keys for")
        for field in ("evictionHard", "evictionSoft", "evictionSoftGracePeriod", "systemReserved", "kubeReserved")
    ),
    *(
        (EC2_KIND, [((*KUBELET, field, "cpu"), "-1")], (*KUBELET, field), "cannot be a negative")
        for field in ("systemReserved", "kubeReserved")
    ),
    (
        EC2_KIND,
        [(DEVICES, [{"rootVolume": True, "deviceName": "/dev/a"}, {"rootVolume": True, "deviceName": "/dev/b"}])],
        DEVICES,
        "must have only one blockDeviceMappings with rootVolume",
    ),
    (EC2_KIND, [((*DEVICES, 0, "ebs", "volumeSize"), GONE)], (*DEVICES, 0, "ebs"), "snapshotID or volumeSize"),
    (
        EC2_KIND,
        [((*DEVICES, 0, "ebs", "volumeInitializationRate"), 100)],
        (*DEVICES, 0, "ebs"),
        "snapshotID must be set when volumeInitializationRate",
    ),
    (EC2_KIND, [(NETWORKS, [interface(deviceIndex=1)])], NETWORKS, "must include"),
    (EC2_KIND, [(NETWORKS, [interface(), interface()])], NETWORKS, "must not have duplicate"),
    (EC2_KIND, [(("spec", "connectionTracking"), {})], ("spec", "connectionTracking"), "at least one of tcp"),
    (EC2_KIND, [(("spec", "placementGroupSelector"), {})], ("spec", "placementGroupSelector"), "at least one"),
    (
        EC2_KIND,
        [(("spec", "placementGroupSelector"), {"id": "pg-1", "name": "a"})],
        ("spec", "placementGroupSelector"),
        "mutually exclusive",
    ),
    # CapacityBuffer
    (CAPACITY_BUFFER, [(("spec", "podTemplateRef"), {"name": "t"})], ("spec",), "either PodTemplateRef or ScalableRef"),
    (
        CAPACITY_BUFFER,
        [(("spec", "scalableRef"), GONE), (("spec", "podTemplateRef"), {"name": "t"}), (("spec", "replicas"), GONE)],
        ("spec",),
        "must",
    ),
]


def changed(base: dict[str, Any], changes: Sequence[Change]) -> dict[str, Any]:
    copy = deepcopy(base)
    for path, value in changes:
        at: Any = copy
        for step in path[:-1]:
            result: Any = at
            at = result[step] if isinstance(at, list) else result.setdefault(step, {})
        if value is GONE:
            del at[path[-1]]
        else:
            at[path[-1]] = value
    return copy


def findings_of(body: Mapping[str, Any], old: Mapping[str, Any] | None = None) -> list[tuple[Path, str]]:
    kind = present(shipped_schemas("1.14.1").get(body["apiVersion"], body["kind"]))
    violations, unchecked = object_violations(body, kind, old)
    assert unchecked == ()
    return [(violation.path, violation.message) for violation in violations]


@pytest.mark.parametrize("base", OBJECTS, ids=lambda base: base["kind"])
def test_valid_objects_violate_no_rule(base: dict[str, Any]) -> None:
    assert findings_of(base) == []
    assert findings_of(base, base) == []


@pytest.mark.parametrize(("base", "changes", "path", "words"), NEW)
def test_the_object_violates_the_rule(base: dict[str, Any], changes: Sequence[Change], path: Path, words: str) -> None:
    findings = findings_of(changed(base, changes))
    assert any(texts == path and words in message for texts, message in findings), findings


@pytest.mark.parametrize(("base", "changes", "path", "words"), [
    (NODE_POOL, [((*REF, "group"), "other")], REF, "nodeClassRef.group is immutable"),
    (NODE_POOL, [((*REF, "kind"), "Other")], REF, "nodeClassRef.kind is immutable"),
    (NODE_POOL, [(("spec", "replicas"), 1), (("spec", "weight"), GONE), (("spec", "limits"), GONE)], ("spec",),
     "Cannot transition NodePool between static"),
    (NODE_CLAIM, [(("spec", "expireAfter"), "1h")], ("spec",), "spec is immutable"),
])  # fmt: skip
def test_the_change_violates_the_rule(base: dict[str, Any], changes: Sequence[Change], path: Path, words: str) -> None:
    after = changed(base, changes)
    assert findings_of(after) == []
    findings = findings_of(after, base)
    assert any(texts == path and words in message for texts, message in findings), findings


def messages(schema: Mapping[str, Any]) -> Iterator[str]:
    for rule in schema.get("x-kubernetes-validations", ()):
        yield rule["message"]
    for part in (*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")):
        if isinstance(part, Mapping):
            yield from messages(part)


def test_every_rule_of_the_shipped_kinds_is_tested() -> None:
    broken = {message for base, changes, _, _ in NEW for _, message in findings_of(changed(base, changes))}
    broken |= {
        "nodeClassRef.group is immutable",
        "nodeClassRef.kind is immutable",
        "Cannot transition NodePool between static (replicas set) and dynamic (replicas unset) provisioning modes",
        "spec is immutable",
    }
    kinds = [kind for version in ("1.14.1", NEWEST.crds) for kind in shipped_schemas(version).kinds.values()]
    for kind in kinds:
        if not kind.built_in:
            left = set(messages(kind.schema)) - broken
            assert not left, (kind.kind, left)


EXPRESSIONS = [
    ("self.find('[0-9]+')", "ab12c3", "12"),
    ("self.find('x')", "ab", ""),
    ("self.findAll('[0-9]+')", "1a2", ["1", "2"]),
    ("self.findAll('[0-9]', 1)", "1a2", ["1"]),
    ("self.find('(')", "ab", FAILED),
    ("self.find('a$')", "ba\n", ""),
    ("self.matches('a$')", "ba\n", False),
    ("self.isSorted()", [1, 2, 2], True),
    ("self.isSorted()", ["b", "a"], False),
    ("self.sum()", [1, 2], 3),
    ("self.sum()", [], 0),
    ("self.min() + self.max()", [3, 1], 4),
    ("sets.contains(self, [1])", [1, 2], True),
    ("sets.intersects(self, [3])", [1, 2], False),
    ("sets.equivalent(self, [2, 1, 1])", [1, 2], True),
    ("isQuantity(self)", "5Gi", True),
    ("isQuantity(self)", "5Gx", False),
    ("quantity(self).isGreaterThan(quantity('1'))", "1500m", True),
    ("quantity(self).isLessThan(quantity('1'))", "1500m", False),
    ("quantity(self).compareTo(quantity('1.5'))", "1500m", 0),
    ("quantity(self).add(quantity('500m')).compareTo(quantity('2'))", "1500m", 0),
    ("quantity(self).sub(1).compareTo(quantity('500m'))", "1500m", 0),
    ("quantity(self).sign()", "-1", -1),
    ("quantity(self).isInteger()", "1500m", False),
    ("quantity(self).asInteger()", "2k", 2000),
    ("quantity(self).asInteger()", "1500m", FAILED),
    ("quantity(self).asApproximateFloat()", "1500m", 1.5),
    ("quantity(self).sign()", "x", FAILED),
    ("url(self).getScheme()", "https://u@a.b:80/c?x=1&x=2", "https"),
    ("url(self).getHost()", "https://u@a.b:80/c?x=1", "a.b:80"),
    ("url(self).getHostname()", "https://a.b:80/c", "a.b"),
    ("url(self).getPort()", "https://a.b:80/c", "80"),
    ("url(self).getEscapedPath()", "https://a.b/c%20d", "/c%20d"),
    ("url(self).getQuery()['x']", "https://a.b/?x=1&x=2", ["1", "2"]),
    ("isURL(self)", "/path", True),
    ("isURL(self)", "a.b", False),
    ("isIP(self)", "10.0.0.1", True),
    ("isIP(self)", "::ffff:10.0.0.1", False),
    ("isIP(self)", "x", False),
    ("ip(self).family()", "::1", 6),
    ("isCIDR(self)", "10.0.0.0/8", True),
    ("isCIDR(self)", "10.0.0.0", False),
    ("cidr(self).prefixLength()", "10.0.0.0/8", 8),
    ("cidr(self).containsIP('10.1.1.1')", "10.0.0.0/8", True),
    ("cidr(self).containsIP(ip('11.1.1.1'))", "10.0.0.0/8", False),
    ("self.?a.orValue(3)", {}, 3),
    ("self.all(k, k in self)", {"a": 1}, True),
    ("self.a == 1 || self.b == 2", {"b": 2}, True),
    ("self.a", {}, FAILED),
    ("self.indexOf(1)", [1], UNREADABLE),
    ("self.nothing()", 1, UNREADABLE),
    ("self +", 1, UNREADABLE),
    ("self > 1", 2**70, FAILED),
    ("self == 'a'", "\ud800", FAILED),
    ("[optional.none()]", 1, FAILED),
    ("optional.of(1)", 1, FAILED),
    ("'%s'.format([self])", "x", "x"),
]


@pytest.mark.parametrize(("expression", "value", "result"), EXPRESSIONS)
def test_evaluates_as_kubernetes_does(expression: str, value: Any, result: Any) -> None:
    outcome = evaluate(expression, {"self": value, "oldSelf": None, "hasOld": False})
    assert outcome == result
    assert type(outcome) is type(result)


def ruled(rule: dict[str, Any], **schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": {**schema, "x-kubernetes-validations": [rule]}}}


def ruling(value: Any, schema: dict[str, Any], **options: Any) -> list[tuple[Path, str]]:
    return [(violation.path, violation.message) for violation in rule_violations(value, schema, **options).violations]


def test_a_field_path_selects_the_reported_field() -> None:
    rule = {"rule": "false", "message": "no", "fieldPath": ".a['b.c'][\"d\"].e[2]"}
    assert ruling({"x": {}}, ruled(rule, type="object")) == [(("x", "a", "b.c", "d", "e", 2), "no")]


def test_an_old_value_may_be_optional() -> None:
    rule = {"rule": "oldSelf.hasValue() ? oldSelf.value() <= self : self == 1", "optionalOldSelf": True}
    rule["messageExpression"] = "oldSelf.hasValue() ? 'shrinks' : 'begins at ' + string(self)"
    schema = ruled(rule, type="integer")
    assert ruling({"x": 1}, schema) == []
    assert ruling({"x": 2}, schema) == [(("x",), "begins at 2")]
    assert ruling({"x": 2}, schema, old={"x": 3}) == [(("x",), "shrinks")]
    assert ruling({"x": 3}, schema, old={"x": 3}) == []


def test_list_items_are_matched_with_their_old_values_by_key() -> None:
    items = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "size": {"type": "integer"}},
        "x-kubernetes-validations": [{"rule": "self.size >= oldSelf.size", "message": "shrinks"}],
    }
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"list": {"type": "array", "items": items, "x-kubernetes-list-type": "map",
                                "x-kubernetes-list-map-keys": ["name"]}},
    }  # fmt: skip
    old = {"list": [{"name": "a", "size": 2}, {"name": "b", "size": 2}]}
    new = {"list": [{"name": "b", "size": 1}, {"name": "c", "size": 1}]}
    assert ruling(new, schema, old=old) == [(("list", 0), "shrinks")]
    atomic = deepcopy(schema)
    del atomic["properties"]["list"]["x-kubernetes-list-type"]
    assert ruling(new, atomic, old=old) == []


def test_rules_use_escaped_field_names_and_types() -> None:
    schema = {
        "type": "object",
        "properties": {"a-b": {"type": "number"}, "namespace": {"type": "string"},
                       "at": {"type": "string", "format": "date-time"}},
        "x-kubernetes-validations": [{"rule": "self.a__dash__b > 0.5 && self.__namespace__ == 'x'", "message": "one"},
                                     {"rule": "self.at > timestamp('2030-01-01T00:00:00Z')", "message": "two"}],
    }  # fmt: skip
    value = {"a-b": 1, "namespace": "x", "at": "2026-01-31T09:00:00Z"}
    assert ruling(value, schema) == []
    assert ruling({**value, "a-b": 0}, schema) == [((), "one")]
    assert rule_violations(value, schema).unchecked == ("two",)
    assert escape("a__b/c.d") == "a__underscores__b__slash__c__dot__d"


def test_rules_of_maps_lists_and_parts_run() -> None:
    part = {"type": "string", "x-kubernetes-validations": [{"rule": "self != 'x'", "message": "not x"}]}
    schema = {
        "type": "object",
        "properties": {"map": {"type": "object", "additionalProperties": part},
                       "list": {"type": "array", "items": part}, "open": {"type": "array"},
                       "both": {"type": "string", "allOf": [part]}},
    }  # fmt: skip
    value = {"map": {"k": "x"}, "list": ["a", "x"], "open": ["x"], "both": "x"}
    assert ruling(value, schema) == [(("map", "k"), "not x"), (("list", 1), "not x"), (("both",), "not x")]


def test_rules_that_cannot_be_evaluated_are_reported_or_skipped() -> None:
    schema = ruled({"rule": "self.transformList(i, v, v).size() > 0", "message": "needs more"}, type="array")
    assert rule_violations({"x": [1]}, schema).unchecked == ("needs more",)
    schema = ruled({"rule": "self.size() > 3"}, type="string")
    assert rule_violations({"x": "a"}, schema, faulty=frozenset({("x",)})).violations == ()
    assert rule_violations({"x": None}, schema).violations == ()
    assert rule_violations({}, schema, old=MISSING).violations == ()
