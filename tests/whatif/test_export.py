from __future__ import annotations

import json
import shlex
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given

from karptui.whatif.edits import (
    CopyPod,
    CordonNode,
    DeleteObject,
    ObjectRef,
    PutObject,
    RemoveNode,
    ScaleWorkload,
    SetField,
    SetSetting,
    TakeOut,
)
from karptui.whatif.export import (
    changes_of,
    export_commands,
    export_diff,
    export_yaml,
    merge_patch,
    strategic_patch,
)
from karptui.whatif.schema.schema import shipped_schemas
from karptui.whatif.yaml.splice import set_value
from karptui.whatif.yaml.tree import parse
from karptui.whatif.yaml.write import UnwritableError, as_document, ordered, write_scalar
from tests.builders import present
from tests.whatif.schema.objects import DEPLOYMENT, NODE_POOL
from tests.whatif.yaml.yaml_texts import MAPPINGS

POOL = ObjectRef("NodePool", "general")
WEB = ObjectRef("Deployment", "web", "default")


@pytest.mark.parametrize(("value", "text"), [
    ("a", "a"),
    ("a b", "a b"),
    ("al2023@latest", "al2023@latest"),
    ("10%", "10%"),
    ("0 9 * * mon-fri", "0 9 * * mon-fri"),
    ("* * * * *", '"* * * * *"'),
    ("@daily", '"@daily"'),
    ("", '""'),
    ("true", '"true"'),
    ("y", '"y"'),
    ("1", '"1"'),
    ("1e3", '"1e3"'),
    ("1:30", '"1:30"'),
    ("2026-01-31", '"2026-01-31"'),
    ("a: b", '"a: b"'),
    ("a:", '"a:"'),
    ("a #b", '"a #b"'),
    ("- a", '"- a"'),
    ("-", '"-"'),
    ("---", '"---"'),
    ("it's", '"it\'s"'),
    ("tab\t", '"tab\\t"'),
    ("\x7f", '"\\x7f"'),
    ("\u2028", '"\\u2028"'),
    ("é", '"é"'),
    ("\U0010ffff", '"\U0010ffff"'),
    ("<<", '"<<"'),
    ("=", '"="'),
    (1, "1"),
    (True, "true"),
    (None, "null"),
    (0.5, "0.5"),
    (1e-7, "1e-07"),
])  # fmt: skip
def test_only_ambiguous_texts_are_quoted(value: Any, text: str) -> None:
    assert write_scalar(value) == text
    assert parse(f"a: {text}\nb: [{text}, 1]\n").documents[0].body == {"a": value, "b": [value, 1]}


def test_values_that_yaml_cannot_represent_are_refused() -> None:
    for value in (float("nan"), object(), "\udfff", "\U0010fffe\ud800"):
        with pytest.raises(UnwritableError):
            write_scalar(value)


RAW: dict[str, Any] = {
    "status": {"conditions": []},
    "spec": NODE_POOL["spec"],
    "metadata": {"uid": "u", "resourceVersion": "5", "generation": 2, "creationTimestamp": "2026-01-31T09:00:00Z",
                 "managedFields": [{"manager": "kubectl"}],
                 "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}, "name": "general",
                 "labels": {"name": "z", "a": "b"}},
    "kind": "NodePool",
    "apiVersion": "karpenter.sh/v1",
}  # fmt: skip


def test_a_document_has_the_editable_fields_in_the_usual_order() -> None:
    text = as_document(RAW)
    assert text.startswith(
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata:\n  name: general\n  labels:\n    a: b\n    name: z\n"
        'spec:\n  weight: 50\n  limits:\n    cpu: "400"\n'
    )
    for gone in ("uid", "status", "managedFields", "annotations:\n  ", "creationTimestamp"):
        assert gone not in text.split("spec:")[0]
    assert as_document(parse(text).documents[0].body or {}) == text


@given(MAPPINGS)
def test_documents_parse_to_their_objects(value: dict[str, Any]) -> None:
    value = {"o": value}
    assert parse(as_document(value)).documents[0].body == value
    assert ordered(value) == value


def merged(target: Any, patch: Any) -> Any:
    """Return the result of a merge patch, as defined by RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


@given(MAPPINGS, MAPPINGS)
def test_a_merge_patch_gives_the_new_object(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert merged(old, merge_patch(old, new)) == new
    assert merge_patch(old, old) == {}


def strategic(change: Any) -> dict[str, Any]:
    kind = present(shipped_schemas().get("apps/v1", "Deployment"))
    new = deepcopy(DEPLOYMENT)
    change(new["spec"]["template"]["spec"])
    patch = strategic_patch(DEPLOYMENT, new, kind.schema)
    spec: dict[str, Any] = patch["spec"]["template"]["spec"]
    return spec


def test_a_strategic_patch_names_items_by_their_keys() -> None:
    def change(spec: Any) -> None:
        spec["containers"][0]["image"] = "web:2"
        spec["containers"].append({"name": "side", "image": "s"})

    assert strategic(change) == {
        "containers": [{"name": "main", "image": "web:2"}, {"name": "side", "image": "s"}],
        "$setElementOrder/containers": [{"name": "main"}, {"name": "side"}],
    }


def test_a_strategic_patch_deletes_and_replaces() -> None:
    def rename(spec: Any) -> None:
        spec["containers"][0]["name"] = "other"

    document = strategic(rename)
    assert {"name": "main", "$patch": "delete"} in document["containers"]
    assert strategic(lambda spec: spec["tolerations"].clear()) == {"tolerations": []}
    assert strategic(lambda spec: spec.pop("nodeSelector")) == {"nodeSelector": None}

    def broken(spec: Any) -> None:
        spec["containers"].append({"image": "nameless"})

    assert strategic(broken)["containers"][-1] == {"$patch": "replace"}


def test_patch_strategies_of_fields() -> None:
    schema = {
        "properties": {"strategy": {"properties": {}, "x-kubernetes-patch-strategy": "retainKeys"},
                       "selector": {"properties": {}, "x-kubernetes-patch-strategy": "replace"},
                       "finalizers": {"type": "array", "x-kubernetes-patch-strategy": "merge"},
                       "map": {"additionalProperties": {"type": "string"}}},
    }  # fmt: skip
    old = {"strategy": {"a": 1, "b": 2}, "selector": {"a": 1}, "finalizers": ["x", "y"], "map": {"a": "1", "b": "2"}}
    new = {"strategy": {"a": 2}, "selector": {"b": 1}, "finalizers": ["y", "z"], "map": {"a": "1"}, "more": 1}
    assert strategic_patch(old, new, schema) == {
        "strategy": {"a": 2, "b": None, "$retainKeys": ["a"]},
        "selector": {"$patch": "replace", "b": 1},
        "$setElementOrder/finalizers": ["y", "z"],
        "$deleteFromPrimitiveList/finalizers": ["x"],
        "finalizers": ["z"],
        "map": {"b": None},
        "more": 1,
    }
    assert strategic_patch({"finalizers": ["x", "y"]}, {"finalizers": ["y", "x"]}, schema) == {
        "$setElementOrder/finalizers": ["y", "x"]
    }
    assert strategic_patch(old, old, schema) == {}


def test_a_reordered_list_is_replaced() -> None:
    schema = {"properties": {"l": {"x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "n"}}}
    document = strategic_patch({"l": [{"n": 1}, {"n": 2}]}, {"l": [{"n": 2}, {"n": 1}]}, schema)
    assert document == {"l": [{"n": 2}, {"n": 1}, {"$patch": "replace"}]}


TEXT = as_document(NODE_POOL)
ORIGINALS = {POOL: NODE_POOL, WEB: DEPLOYMENT}


def commands(text: str, *edits: Any) -> list[str]:
    changes = changes_of(parse(text), ORIGINALS)
    return export_commands(changes, edits, shipped_schemas()).splitlines()


def test_the_patch_type_of_each_kind() -> None:
    text = set_value(TEXT, 0, ("spec", "limits", "cpu"), "480")
    text = set_value(text, 0, ("metadata", "annotations", "note"), 'it\'s $(rm -rf /) "`x`"')
    (line,) = commands(text)
    words = shlex.split(line)
    assert words[:6] == ["kubectl", "patch", "nodepools.karpenter.sh", "general", "--type", "merge"]
    patch = json.loads(words[7])
    assert patch == {
        "spec": {"limits": {"cpu": "480"}},
        "metadata": {"annotations": {"note": 'it\'s $(rm -rf /) "`x`"'}},
    }
    (line,) = commands(set_value(as_document(DEPLOYMENT), 0, ("spec", "replicas"), 5))
    words = shlex.split(line)
    assert words == [
        *("kubectl", "patch", "deployments.apps", "web", "-n", "default"),
        *("--type", "strategic", "-p", '{"spec": {"replicas": 5}}'),
    ]


def test_new_objects_are_applied() -> None:
    text = "kind: Zebra\nmetadata: {name: z}\nspec: |\n  x\nEOF: 1\n"
    assert commands(text) == ["kubectl apply -f - <<'EOF'", *text.splitlines(), "EOF"]
    assert commands("EOF\n: 1\n") == []
    hostile = "kind: Zebra\nmetadata: {name: z}\nspec: {a: '\n  b\n\n\nEOF'}"
    assert commands(hostile)[-1] == "EOF"
    inner = "kind: Zebra\nmetadata: {name: z}\nspec: 'x\n\nEOF\n\n  y'"
    assert commands(inner)[0].endswith("<<'EOF'") or commands(inner)[0].endswith("<<'EOF_'")


def test_edits_outside_the_documents_have_commands() -> None:
    assert commands(
        "",
        SetField(POOL, ("spec", "weight"), 5),
        SetField(POOL, ("spec", "taints", 0, "key"), "a"),
        PutObject("kind: A\n"),
        DeleteObject(ObjectRef("PodDisruptionBudget", "web", "shop")),
        DeleteObject(ObjectRef("Zebra", "z")),
        ScaleWorkload(WEB, 3),
        CordonNode("node;rm"),
        RemoveNode("node-1"),
        SetSetting("RESERVED_ENIS", "1\n2"),
        CopyPod(ObjectRef("Pod", "a", "b"), 4),
        TakeOut(zone="us-east-1a", capacity_type="spot"),
        TakeOut(),
    ) == [
        'kubectl patch nodepools.karpenter.sh general --type merge -p \'{"spec": {"weight": 5}}\'',
        "# NodePool general: a field inside a list is not set by a merge patch",
        "kubectl apply -f - <<'EOF'",
        "kind: A",
        "EOF",
        "kubectl delete poddisruptionbudgets.policy web -n shop",
        "kubectl delete zebra z",
        "kubectl scale deployments.apps web -n default --replicas 3",
        "kubectl cordon 'node;rm'",
        "# drains: kubectl delete node node-1",
        "# simulation only: 4 pods like b/a",
        "# simulation only: us-east-1a spot out of capacity",
        "# simulation only: every offering out of capacity",
        "# Karpenter's Deployment was not found; this is its usual name, kube-system/karpenter",
        "kubectl -n kube-system set env deployment/karpenter 'RESERVED_ENIS=1",
        "2'",
        "# this lasts until the next helm upgrade; permanently, as chart values:",
        (
            "# helm upgrade karpenter oci://public.ecr.aws/karpenter/karpenter -n kube-system --reuse-values"
            " --set-string 'settings.reservedENIs=1 2'"
        ),
    ]


def test_settings_are_one_command_with_all_feature_gates_and_chart_values() -> None:
    edits = (
        SetSetting("VM_MEMORY_OVERHEAD_PERCENT", "0.0488"),
        SetSetting("FEATURE_GATES.SpotToSpotConsolidation", "true"),
    )
    gates = {"NodeRepair": True, "SpotToSpotConsolidation": False}
    text = export_commands((), edits, shipped_schemas(), gates=gates, controller="karpenter/main")
    command, _, chart = text.splitlines()
    assert shlex.split(command) == [
        *("kubectl", "-n", "karpenter", "set", "env", "deployment/main"),
        "VM_MEMORY_OVERHEAD_PERCENT=0.0488",
        "FEATURE_GATES=NodeRepair=true,SpotToSpotConsolidation=true",
    ]
    assert shlex.split(chart)[-4:] == [
        *("--set-string", "settings.vmMemoryOverheadPercent=0.0488"),
        *("--set-string", "settings.featureGates.spotToSpotConsolidation=true"),
    ]


def test_changed_yaml_is_exported_as_typed() -> None:
    text = f"# why\n{set_value(TEXT, 0, ('spec', 'weight'), 60)}---\nkind: Zebra\nmetadata: {{name: z}}"
    changes = changes_of(parse(text), ORIGINALS)
    assert export_yaml(changes) == text + "\n"
    parsed = parse(f"# a comment\n{TEXT}---\na: [\n---\nkind: X\n")
    assert changes_of(parsed, {POOL: RAW | {"metadata": NODE_POOL["metadata"]}}) == ()


def test_a_diff_has_the_comments_of_the_opened_text() -> None:
    opened = f"# why\n{TEXT}"
    text = set_value(opened, 0, ("spec", "weight"), 60)
    changes = changes_of(parse(text), ORIGINALS, {POOL: opened})
    lines = export_diff(changes).splitlines()
    assert lines[:2] == ["--- NodePool/general (cluster)", "+++ NodePool/general (edited)"]
    assert [line for line in lines[2:] if line[0] in "+-"] == ["-  weight: 50", "+  weight: 60"]
    fresh = changes_of(parse("kind: Zebra\nmetadata: {name: z}"), {})
    assert export_diff(fresh).splitlines()[0] == "--- /dev/null"
    assert "+kind: Zebra" in export_diff(fresh)
    assert "-  weight: 50" in export_diff(changes_of(parse(text), ORIGINALS))


def test_the_template_of_a_job_is_not_patched() -> None:
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "ci-1", "namespace": "gitlab"},
        "spec": {"backoffLimit": 0, "template": {"spec": {"containers": [{"name": "main", "image": "ci:1"}]}}},
    }
    text, ref = as_document(job), ObjectRef("Job", "ci-1", "gitlab")

    def patch_text(*path: str, value: Any) -> str:
        parsed = parse(set_value(text, ref, path, value))
        return export_commands(changes_of(parsed, {ref: job}, {ref: text}), (), shipped_schemas())

    refused = patch_text("spec", "template", "spec", "nodeSelector", "pool", value="own")
    first, second = refused.splitlines()
    assert first == "# the template of a Job cannot be changed once it exists: change what creates gitlab/ci-1, like so"
    assert second.startswith("# kubectl patch jobs.batch ci-1 -n gitlab")
    assert patch_text("spec", "backoffLimit", value=2).startswith("kubectl patch jobs.batch ci-1")
