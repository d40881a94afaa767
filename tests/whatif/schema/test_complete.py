from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karptui.whatif.schema.complete import Completion, complete
from karptui.whatif.schema.offers import KnownValues
from karptui.whatif.schema.schema import Schemas, shipped_schemas
from karptui.whatif.schema.validation import check
from karptui.whatif.yaml.tree import parse
from karptui.whatif.yaml.write import as_document
from tests.builders import present

from .objects import DEPLOYMENT, EC2_KIND, NODE_POOL

KNOWN = KnownValues(labels={"topology.kubernetes.io/zone": ("us-east-1b", "us-east-1a"),
                            "karpenter.k8s.aws/instance-family": ("c7i", "m5"), "team": ("a", "10", "9"),
                            "flag": ("true",)},
                    node_pools=("general", "gpu"),
                    node_classes={"EC2NodeClass": ("default",), "KWOKNodeClass": ("kwok",)}, namespaces=("ci",),
                    workloads=("web",), priority_classes=("high",), taints=("dedicated",))  # fmt: skip
POOL = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata:\n  name: x\nspec:\n"
AFFINITY = (
    "kind: Pod\nspec:\n  affinity:\n    nodeAffinity:\n      requiredDuringSchedulingIgnoredDuringExecution:\n"
    "        nodeSelectorTerms:\n        - matchExpressions:\n"
)
POD = "kind: Pod\nspec:\n  containers:\n  - name: a\n"
REQUIREMENTS = f"{POOL}  template:\n    spec:\n      requirements:\n"


def at(text: str, schemas: Schemas | None = None) -> Completion:
    before = text[: text.index("‸")]
    line = before.count("\n")
    column = len(before.rpartition("\n")[2])
    return complete(text.replace("‸", ""), line, column, schemas or shipped_schemas(), KNOWN)


@pytest.mark.parametrize(("text", "labels"), [
    ("‸", ["apiVersion", "kind", "metadata"]),
    ("kind: Node‸", ["NodePool", "NodeClaim", "NodeOverlay", "EC2NodeClass", "KWOKNodeClass"]),
    ("apiVersion: apps/v1\nkind: ‸", ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"]),
    ("kind: NodePool\napiVersion: ‸", ["karpenter.sh/v1"]),
    ("apiVersion: policy‸", ["policy/v1"]),
    ("kind: Zebra\n‸", ["apiVersion", "metadata"]),
    ("kind: Zebra\nspec:\n  ‸", []),
    (f"{POOL}  ‸", ["template", "disruption", "limits", "replicas", "weight"]),
    (f"{POOL}  weight: 1\n  ‸\n  limits: {{}}\n", ["template", "disruption", "replicas"]),
    (f"{POOL}  li‸", ["limits"]),
    (f"{POOL}  IMI‸", ["limits"]),
    (f"{POOL}  disruption:\n    consolidat‸", ["consolidateAfter", "consolidationPolicy"]),
    (f"{POOL}  disruption:\n    consolidationPolicy: ‸", ["WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"]),
    (f"{POOL}  disruption:\n    consolidateAfter: 1‸", ["1m", "15m", "1h"]),
    (f"{POOL}  disruption:\n    budgets:\n    - nodes: 1‸", ["10%", "100%"]),
    (f'{POOL}  disruption:\n    budgets:\n    - nodes: 0\n      schedule: "@d‸', ["@daily"]),
    (f"{POOL}  disruption:\n    budgets:\n    - nodes: 0\n      reasons:\n      - Empty\n      - ‸",
     ["Underutilized", "Drifted", "Unhealthy"]),
    (f"{POOL}  limits: {{cpu: 1, m‸}}", ["memory"]),
    (f"{POOL}  limits:\n    cpu: 1\n    ‸",
     ["memory", "nodes", "ephemeral-storage", "pods", "nvidia.com/gpu", "amd.com/gpu", "vpc.amazonaws.com/efa"]),
    (f"{POOL}  weight: ‸", []),
    (f"{REQUIREMENTS}      - ‸", ["key", "operator", "minValues", "values"]),
    (f"{REQUIREMENTS}      - key: a\n        operator: In\n        ‸", ["minValues", "values"]),
    (f"{REQUIREMENTS}      - key: a\n      - operator: N‸", ["NotIn"]),
    (f"{REQUIREMENTS}      - key: zone‸", ["topology.kubernetes.io/zone", "topology.k8s.aws/zone-id"]),
    (f"{REQUIREMENTS}      - key: topology.kubernetes.io/zone\n        values: [us-east-1b, ‸]", ["us-east-1a"]),
    (f"{REQUIREMENTS}      - values: [‸]\n        key: kubernetes.io/arch", ["amd64", "arm64"]),
    (f"{REQUIREMENTS}      - key: topology.kubernetes.io/zone\n        values:\n        - us-east-1a\n        ‸",
     ["- us-east-1b", "operator", "minValues"]),
    (f"{REQUIREMENTS}      - {{key: topology.kubernetes.io/zone, values: [\n          us-east-1a,\n       us‸",
     ["us-east-1b"]),
    (f"{REQUIREMENTS}      - {{key: a, operator: ‸, values: [b]}}",
     ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"]),
    (f"{REQUIREMENTS}      - {{key: a, ‸", ["operator", "minValues", "values"]),
    (f"{REQUIREMENTS}      - {{key: a, operator: 'I‸", ["In"]),
    (f"{REQUIREMENTS}      - key: team\n        values: [‸", ["9", "10", "a"]),
    (f"{REQUIREMENTS}      nodeClassRef:\n        kind: EC2NodeClass\n        name: ‸", ["default"]),
    (f"{REQUIREMENTS}      nodeClassRef:\n        name: ‸", ["default", "kwok"]),
    (f"{REQUIREMENTS}      nodeClassRef:\n        kind: ‸", ["EC2NodeClass", "KWOKNodeClass"]),
    (f"{REQUIREMENTS}      nodeClassRef:\n        group: ‸", ["karpenter.k8s.aws", "karpenter.kwok.sh"]),
    (f"{REQUIREMENTS}      taints:\n      - key: ‸", ["dedicated"]),
    (f"{REQUIREMENTS}      taints:\n      - effect: No‸", ["NoSchedule", "NoExecute"]),
    (f"{REQUIREMENTS}      taints:\n      - {{key: team, value: ‸", ["9", "10", "a"]),
    (f"{REQUIREMENTS}      expireAfter: N‸", ["Never"]),
    (f"{POOL}  template:\n    metadata:\n      labels:\n        tea‸", ["team"]),
    (f"{POOL}  template:\n    metadata:\n      labels:\n        team: ‸", ["9", "10", "a"]),
    (f"{POOL}  template:\n    metadata:\n      annotations:\n        ‸", ["karpenter.sh/do-not-disrupt"]),
    (f"{POOL}  template:\n    metadata:\n      annotations:\n        karpenter.sh/do-not-disrupt: ‸",
     ["true", "1h", "24h"]),
    ("kind: Deployment\nspec:\n  template:\n    spec:\n      nodeSelector:\n        karpenter.sh/nodepool: ‸",
     ["general", "gpu"]),
    ("kind: Pod\nspec:\n  priorityClassName: ‸", ["high"]),
    ("kind: Pod\nmetadata:\n  namespace: ‸", ["ci"]),
    ("kind: Pod\nspec:\n  hostNetwork: ‸", ["true", "false"]),
    ("kind: Pod\nspec:\n  containers:\n  - name: a\n    resources:\n      requests:\n        cp‸", ["cpu"]),
    ("kind: Pod\nspec:\n  topologySpreadConstraints:\n  - topologyKey: topology.kubernetes.io/z‸",
     ["topology.kubernetes.io/zone"]),
    (f"{AFFINITY}          - key: team\n            values:\n            - ‸", ["9", "10", "a"]),
    ("kind: CapacityBuffer\nspec:\n  scalableRef:\n    name: ‸", ["web"]),
    ("kind: EC2NodeClass\nspec:\n  amiSelectorTerms:\n  - alias: al2‸", ["al2023@latest", "al2@latest"]),
    ("kind: EC2NodeClass\nspec:\n  kubelet:\n    evictionHard:\n      pid‸", ["pid.available"]),
    ("kind: EC2NodeClass\nspec:\n  kubelet:\n    kubeReserved:\n      p‸", ["pid"]),
    ("kind: NodeOverlay\nspec:\n  capacity:\n    nvidia‸", ["nvidia.com/gpu"]),
    (f"{POOL}  # comment ‸", []),
    (f"{POOL}  weight: 1 # comment ‸", []),
    ("kind: Pod\nmetadata:\n  annotations:\n    a: |\n      spec‸\nspec: {}\n", []),
    ("kind: Pod\nspec:\n  containers:\n  - args:\n    - |\n      x‸\n", []),
    ("---‸", []),
    ("kind: Pod\n---\nkind: NodePool\nspec:\n  wei‸\n---\nkind: Job\n", ["weight"]),
    (f"{POOL}  limits: ‸", []),
    (f"{REQUIREMENTS}      - key: a\n        values: [b]  # [ c\n        op‸", ["operator"]),
    (f"{POOL}  limits: {{cpu: 1\n  wei‸", ["weight"]),
    (f"{POOL}  limits: {{}}‸", []),
    (f"{POOL}  limits: {{\n    cpu: 1\n  }}‸", []),
    (f"{POOL}  limits: {{cpu: 1, # {{\n    mem‸", ["memory"]),
    (f"{POOL}  weight:‸x", []),
    (f"{POOL}  limits: {'[' * 200}‸", []),
    (f"{REQUIREMENTS}      nodeClassRef:\n        x: ‸", []),
    (f"{POD}    env:\n    - valueFrom:\n        configMapKeyRef:\n          key: ‸", []),
    ('kind: NodePool\nspec:\n  "wei‸', ["weight"]),
    ("kind: NodePool\n\"spec\":\n  'weight': 1\n\n  li‸", ["limits"]),
    (f"{POOL}  limits:\n    cpu: 1\n\t‸", []),
])  # fmt: skip
def test_offers(text: str, labels: list[str]) -> None:
    assert [item.label for item in at(text).items] == labels


@pytest.mark.parametrize(("text", "start", "insert"), [
    (f"{POOL}  ‸", 2, "template:\n    "),
    (f"{POOL}  wei‸", 2, "weight: "),
    (f"{POOL}  wei‸: 3", 2, "weight"),
    ("kind:‸", 5, " NodePool"),
    (f"{REQUIREMENTS}      ‸", 6, "- key: "),
    (f"{REQUIREMENTS}        ‸", 8, "- key: "),
    (f"{REQUIREMENTS}      - ke‸", 8, "key: "),
    (f"{REQUIREMENTS}      -‸", 7, " key: "),
    (f"{POOL}  disruption:\n    budgets:\n    - reasons:\n      -‸", 7, " Underutilized"),
    (f"{REQUIREMENTS}      - key: a\n        va‸", 8, "values:\n          - "),
    (f"{REQUIREMENTS}      - {{key: a, va‸", 17, "values: "),
    (f"{REQUIREMENTS}      - key: flag\n        values: [‸]", 17, '"true"'),
    (f"{REQUIREMENTS}      - key: team\n        values:\n        - 1‸", 10, '"10"'),
    (f"{POOL}  disruption:\n    budgets:\n    - reasons:\n      ‸", 6, "- Underutilized"),
    ("kind: Pod\nspec:\n  containers:\n  - args:\n    ‸", 4, None),
    ("kind: Pod\nspec:\n  hostNetwork: t‸", 15, "true"),
])  # fmt: skip
def test_inserts(text: str, start: int, insert: str | None) -> None:
    completion = at(text)
    if insert is None:
        assert "args" not in [item.label for item in completion.items]
        return
    assert completion.start_column == start
    assert completion.items[0].insert == insert


def test_details_describe_a_field() -> None:
    details = {item.label: item.detail for item in at(f"{POOL}  disruption:\n    ‸").items}
    assert details["consolidateAfter"] == "text (default 0s)"
    assert details["budgets"] == "list"
    assert details["consolidationPolicy"].endswith("(default WhenEmptyOrUnderutilized)")
    keys = {item.label: item.detail for item in at(f"{REQUIREMENTS}      - key: ‸").items}
    assert keys["topology.kubernetes.io/zone"] == "2 values here"
    assert keys["flag"] == "1 value here"
    assert keys["kubernetes.io/os"] == "label"
    pods = {item.label: item.detail for item in at("kind: Pod\nspec:\n  ‸").items}
    assert pods["hostNetwork"] == "true or false"
    probes = "kind: Pod\nspec:\n  containers:\n  - name: a\n    livenessProbe:\n      httpGet:\n        ‸"
    assert {item.label: item.detail for item in at(probes).items}["port"] == "required, number or text"
    metadata = {item.label: item.detail for item in at("kind: EC2NodeClass\nspec:\n  metadataOptions:\n    ‸").items}
    assert metadata["httpPutResponseHopLimit"] == "number (default 1)"


def test_lists_of_lists_and_unknown_places() -> None:
    inner = {"type": "array", "items": {"type": "string", "enum": ["a"]}}
    schema = {"type": "object", "properties": {"x": {"type": "array", "items": inner}, "y": {"type": "array"}}}
    pool = present(shipped_schemas().get("karpenter.sh/v1", "NodePool"))
    from dataclasses import replace

    schemas = Schemas(kinds={("v1", "A"): replace(pool, schema=schema, kind="A", api_version="v1")})
    assert [item.label for item in at("kind: A\nx:\n- ‸", schemas).items] == ["- a"]
    assert [item.label for item in at("kind: A\nx:\n- - ‸", schemas).items] == ["a"]
    assert [item.insert for item in at("kind: A\nx:\n  ‸", schemas).items] == ["- "]
    assert at("kind: A\ny:\n  ‸", schemas).items == ()
    assert complete("a", 5, 0, schemas, KNOWN).items == ()


@given(st.sampled_from((NODE_POOL, EC2_KIND, DEPLOYMENT)), st.integers(0, 2000), st.text(max_size=3))
def test_half_typed_text_never_fails(body: dict[str, object], position: int, typed: str) -> None:
    text = as_document(body)
    position = min(position, len(text))
    text = f"{text[:position]}{typed}‸{text[position:]}" if "‸" not in typed else "‸"
    completion = at(text)
    line = text[: text.index("‸")].rpartition("\n")[2]
    assert 0 <= completion.start_column <= len(line)


@pytest.mark.parametrize("body", [NODE_POOL, EC2_KIND, DEPLOYMENT], ids=lambda body: body["kind"])
def test_every_field_of_a_document_is_offered_at_its_position(body: dict[str, object]) -> None:
    text = as_document(body)
    lines = text.split("\n")
    offered = 0
    for number, line in enumerate(lines):
        name, colon, _ = line.strip().removeprefix("- ").partition(":")
        if not colon or "/" in name or '"' in name:
            continue
        start = line.index(name)
        without = "\n".join([*lines[:number], line[:start], *lines[number + 1 :]])
        labels = [item.label for item in complete(without, number, start, shipped_schemas(), KnownValues()).items]
        if name in labels:
            offered += 1
        else:
            assert name in {"team", "app", "a"}, (line, labels)
    assert offered > 15
    assert check(parse(text), shipped_schemas()).problems == ()
