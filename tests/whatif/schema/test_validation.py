from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from karptui.karpenter.rules import NEWEST
from karptui.whatif.edits import ObjectRef
from karptui.whatif.schema.schema import Origin, Schemas, object_meta, schemas_from_crds, shipped_schemas
from karptui.whatif.schema.validation import check
from karptui.whatif.yaml.tree import ProblemSeverity, parse
from karptui.whatif.yaml.write import as_document
from tests.builders import present

from .mutations import mutate
from .objects import EC2_KIND, NODE_POOL, OBJECTS

POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  weight: 500
  limits: {cpu: 480, memory: x}
  template:
    spec:
      requirments: []
      requirements:
      - key: karpenter.sh/nodepool
        operator: In
        values: []
      - {key: a, operator: Foo}
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass}
      taints:
      - effect: NoSchedule
  disruption:
    budgets:
    - nodes: 5
"""


def seen(text: str, schemas: Schemas | None = None, **options: Any) -> list[tuple[int, str, str]]:
    lines = text.split("\n")
    problems = check(parse(text), schemas or shipped_schemas(), **options).problems
    return [(item.line + 1, lines[item.line][item.column : item.end_column], item.message) for item in problems]


def test_puts_each_problem_at_its_line() -> None:
    assert seen(POOL) == [
        (5, "500", "must be at most 100"),
        (6, "x", "must be a quantity such as 500m, 16, 64Gi"),
        (9, "requirments", "unknown field requirments; did you mean requirements?"),
        (11, "karpenter.sh/nodepool", 'label "karpenter.sh/nodepool" is restricted'),
        (14, "Foo", "must be one of In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte, Lte"),
        (15, "nodeClassRef", "name is required, but missing"),
        (17, "effect", "key is required, but missing"),
        (20, "5", 'must be text, but 5 is given; put it in quotes: "5"'),
    ]


def test_missing_fields_of_an_incomplete_document_are_reported() -> None:
    assert seen("a: 1\n") == [(1, "a", "kind is required, but missing: kind, such as NodePool")]
    assert seen("kind: NodePool\n") == [
        (1, "kind", "apiVersion is required, but missing: apiVersion, here karpenter.sh/v1")
    ]
    assert seen("apiVersion: karpenter.sh/v1beta1\nkind: NodePool\n") == [
        (1, "karpenter.sh/v1beta1", "no NodePool in karpenter.sh/v1beta1; there is karpenter.sh/v1")
    ]
    assert seen("apiVersion: karpenter.sh/v1\nkind: NodePool\n") == [
        (1, "apiVersion", "spec is required, but missing"),
        (1, "apiVersion", "metadata.name is required, but missing"),
    ]
    assert seen("{}\n") == [(1, "{}", "kind is required, but missing: kind, such as NodePool")]


def test_kinds_without_a_schema_are_reported_as_unchecked() -> None:
    problems = check(parse("apiVersion: v1\nkind: nodepool\n---\nkind: Zebra\n"), shipped_schemas()).problems
    assert [(problem.severity, problem.message) for problem in problems] == [
        (ProblemSeverity.WARNING, "no schema for this kind, so it is not checked; did you mean NodePool?"),
        (ProblemSeverity.WARNING, "no schema for this kind, so it is not checked"),
    ]


@pytest.mark.parametrize(("metadata", "line_words", "severity"), [
    ("{name: A_b}", ("A_b", "must be lower case"), ProblemSeverity.ERROR),
    ("{name: a, namespace: b}", ("b", "a NodePool belongs to no namespace"), ProblemSeverity.WARNING),
    ("{name: a, labels: {b c: d}}", ("b c", "the name must be letters"), ProblemSeverity.ERROR),
    ("{name: a, labels: {b: 'c d'}}", ("'c d'", "must be at most 63"), ProblemSeverity.ERROR),
    ("{name: a, labels: {b: 1}}", ("1", "must be text"), ProblemSeverity.ERROR),
    ("{name: a, annotations: {'b c': d}}", ("'b c'", "the name must be letters"), ProblemSeverity.ERROR),
    ("{name: a, lables: {}}", ("lables", "unknown field lables; did you mean labels?"), ProblemSeverity.ERROR),
    ("[]", ("[]", "must be fields"), ProblemSeverity.ERROR),
])  # fmt: skip
def test_checks_metadata(metadata: str, line_words: tuple[str, str], severity: ProblemSeverity) -> None:
    body = as_document(NODE_POOL).split("spec:", 1)[1]
    text = f"apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {metadata}\nspec:{body}"
    problem = check(parse(text), shipped_schemas()).problems[0]
    marked = text.split("\n")[problem.line][problem.column : problem.end_column]
    assert marked == line_words[0]
    assert line_words[1] in problem.message
    assert problem.severity is severity


def test_a_duplicate_object_is_reported() -> None:
    text = as_document(NODE_POOL)
    problems = check(parse(f"{text}---\n{text}"), shipped_schemas()).problems
    assert [(problem.document, problem.message) for problem in problems] == [
        (1, "NodePool general is already on line 1; the later one counts")
    ]


def test_transition_rules_compare_with_the_cluster() -> None:
    old = {ObjectRef("NodePool", "general"): NODE_POOL}
    edited = deepcopy(NODE_POOL)
    edited["spec"]["template"]["spec"]["nodeClassRef"]["group"] = "other"
    text = as_document(edited)
    assert check(parse(text), shipped_schemas()).problems == ()
    problems = check(parse(text), shipped_schemas(), old).problems
    assert [problem.message for problem in problems] == ["nodeClassRef.group is immutable"]
    assert text.split("\n")[problems[0].line].strip() == "nodeClassRef:"


def test_an_invalid_value_that_the_cluster_already_has_is_not_reported() -> None:
    doubtful = deepcopy(NODE_POOL)
    doubtful["spec"]["weight"] = 1000
    old = {ObjectRef("NodePool", "general"): doubtful}
    text = as_document(doubtful)
    assert [problem.message for problem in check(parse(text), shipped_schemas()).problems]
    assert check(parse(text), shipped_schemas(), old).problems == ()
    edited = text.replace("weight: 1000", "weight: 1001")
    assert [problem.message for problem in check(parse(edited), shipped_schemas(), old).problems]


def test_schemas_of_the_cluster_take_precedence() -> None:
    spec: dict[str, Any] = {
        "group": "karpenter.sh",
        "scope": "Cluster",
        "names": {"kind": "NodePool", "plural": "nodepools"},
        "versions": [
            {
                "name": "v1",
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": {"type": "object", "properties": {"novelty": {"type": "string"}}}},
                        "x-kubernetes-validations": [{"rule": "self.strange()", "message": "strange"}],
                    }
                },
            },
            {"name": "v0", "served": False, "schema": {"openAPIV3Schema": {}}},
            {"name": "v2"},
        ],
    }
    unnamed = {**spec, "names": {}}
    schemas = schemas_from_crds([{"spec": spec}, {"spec": unnamed}, {}])
    pool = present(schemas.get("karpenter.sh/v1", "NodePool"))
    assert pool.origin is Origin.CLUSTER
    assert (pool.resource, pool.namespaced) == ("nodepools.karpenter.sh", False)
    assert schemas.versions("NodePool") == ("karpenter.sh/v1",)
    version = NEWEST.crds
    assert schemas.origin == f"the cluster's CRDs, for kinds it lacks Karpenter {version}'s CRDs (shipped with karptui)"
    assert shipped_schemas().origin == f"Karpenter {version}'s CRDs (shipped with karptui)"
    assert Schemas(kinds={(pool.api_version, pool.kind): pool}).origin == "the cluster's CRDs"
    text = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec: {novelty: x}\n"
    checked = check(parse(text), schemas)
    assert checked.problems == ()
    assert checked.unchecked == ("strange",)
    assert seen(text)


def test_each_version_has_its_own_schemas() -> None:
    text = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec:\n"
    text += "  disruption: {budgets: [{nodes: '0', reasons: [Unhealthy]}]}\n"
    older = [message for _, _, message in seen(text, shipped_schemas("1.14.1"))]
    assert "consolidateAfter is required, but missing" in older
    assert "must be one of Underutilized, Empty, Drifted" in older
    newer = [message for _, _, message in seen(text, shipped_schemas("1.15.1"))]
    assert newer == ["template is required, but missing"]
    assert shipped_schemas("1.14.1").origin == "Karpenter 1.14.1's CRDs (shipped with karptui)"


@pytest.mark.parametrize(("kubelet", "version", "texts"), [
    ("{maxPods: -1}", "1.14.1", ["must be at least 0"]),
    ("{maxPods: -1}", "1.15.1", ["the NodeClass would not be ready: "]),
    ("{maxpods: 1}", "1.14.1", ["unknown field maxpods; did you mean maxPods?"]),
    ("{maxpods: 1}", "1.15.1", ['the NodeClass would not be ready: spec.kubelet: unknown field "maxpods"']),
    ('{maxPods: "10 * vcpus"}', "1.15.1", []),
    ("{cpuManagerPolicy: static}", "1.15.1", []),
])  # fmt: skip
def test_an_open_kubelet_schema_is_checked_by_karpenters_own_rules(
    kubelet: str, version: str, texts: list[str]
) -> None:
    text = as_document(EC2_KIND)
    body = present(parse(text).documents[0].body)
    whole = as_document({**body, "spec": {**body["spec"], "kubelet": yaml.safe_load(kubelet)}})
    messages = [message for _, _, message in seen(whole, shipped_schemas(version))]
    assert len(messages) == len(texts)
    assert all(text.startswith(start) for text, start in zip(messages, texts, strict=True))


def test_shipped_schemas_know_their_kinds() -> None:
    schemas = shipped_schemas()
    names = {(kind.kind, kind.resource, kind.namespaced, kind.built_in) for kind in schemas.kinds.values()}
    assert ("Pod", "pods", True, True) in names
    assert ("CronJob", "cronjobs.batch", True, True) in names
    assert ("EC2NodeClass", "ec2nodeclasses.karpenter.k8s.aws", False, False) in names
    assert {"labels", "annotations", "name"} <= set(object_meta()["properties"])
    deployment = present(schemas.get("apps/v1", "Deployment"))
    strategy = deployment.schema["properties"]["spec"]["properties"]["strategy"]
    assert strategy["x-kubernetes-patch-strategy"] == "retainKeys"
    assert "rollingUpdate" in strategy["properties"]


@given(st.integers(0, 10**6), st.integers(0, 10**4), st.text(max_size=4))
def test_any_typed_text_can_be_checked(seed: int, position: int, typed: str) -> None:
    body, _ = mutate(OBJECTS[seed % len(OBJECTS)], seed)
    text = as_document(body)
    position %= len(text)
    typed_text = text[:position] + typed + text[position:]
    lines = typed_text.split("\n")
    for problem in check(parse(typed_text), shipped_schemas()).problems:
        assert 0 <= problem.line < len(lines)
        assert 0 <= problem.column < problem.end_column
        assert problem.message
