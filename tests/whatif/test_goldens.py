from __future__ import annotations

import copy
from itertools import islice
from typing import Any

import pytest

from karptui.kube.yaml_text import to_yaml
from karptui.whatif.difference import difference
from karptui.whatif.edits import AnyEdit, CordonNode, DeleteObject, ObjectRef, PutObject, SetField, SetSetting
from karptui.whatif.edits.apply import apply
from karptui.whatif.edits.document import template_document
from karptui.whatif.edits.pods import read_template
from karptui.whatif.replay import replay
from karptui.whatif.scenario import Replay
from tests.whatif.snapshots import FOLDER, base_of, documents

FAMILIES = sorted(path.name.removesuffix(".jsonl.gz") for path in FOLDER.glob("*.jsonl.gz"))
PER_FAMILY = 1

Json = dict[str, Any]


def pools(document: Json) -> list[Json]:
    return [manifest for manifest in document["objects"] if manifest["kind"] == "NodePool"]


def by_hand(document: Json, pool: str, path: tuple[str | int, ...], value: Any) -> Json:
    """Return a snapshot in which one field of a NodePool was changed."""
    deepcopy = copy.deepcopy(document)
    target: Any = next(document for document in pools(deepcopy) if document["metadata"]["name"] == pool)
    for part in path[:-1]:
        target = target.setdefault(part, {}) if isinstance(target, dict) else target[part]
    target[path[-1]] = value
    return deepcopy


def answer(document: Json, edits: tuple[AnyEdit, ...] = ()) -> Any:
    base = base_of(document)
    outcome = replay(apply(base, edits), Replay.PENDING)
    assert outcome.solution is not None
    return outcome.solution.as_json()


CHANGES: list[tuple[tuple[str | int, ...], Any]] = [
    (("spec", "weight"), 97),
    (("spec", "limits"), {"cpu": "3"}),
    (("spec", "template", "spec", "taints"), [{"key": "edited", "effect": "NoSchedule"}]),
    (
        ("spec", "template", "spec", "requirements"),
        [{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]}],
    ),
    (("spec", "template", "metadata"), {"labels": {"team": "a"}}),
]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: ".".join(map(str, change[0][-2:])))
def test_a_field_of_a_nodepool_equals_the_snapshot_edited_by_hand(
    family: str, change: tuple[tuple[str | int, ...], Any]
) -> None:
    path, value = change
    for document in islice(documents(family), PER_FAMILY):
        name = pools(document)[0]["metadata"]["name"]
        expected = answer(by_hand(document, name, path, value))
        assert answer(document, (SetField(ObjectRef("NodePool", name), path, value),)) == expected


@pytest.mark.parametrize("family", FAMILIES)
def test_a_whole_nodepool_equals_the_snapshot_edited_by_hand(family: str) -> None:
    for document in islice(documents(family), PER_FAMILY):
        name = pools(document)[-1]["metadata"]["name"]
        edited = by_hand(document, name, ("spec", "weight"), 98)
        text = to_yaml(next(pool for pool in pools(edited) if pool["metadata"]["name"] == name))
        assert answer(document, (PutObject(text),)) == answer(edited)


@pytest.mark.parametrize("family", FAMILIES)
def test_taking_a_nodepool_away_equals_the_snapshot_without_it_where_it_has_no_nodes(family: str) -> None:
    for document in islice(documents(family), PER_FAMILY):
        used = {manifest["metadata"].get("labels", {}).get("karpenter.sh/nodepool") for manifest in document["objects"]}
        name = next(
            (pool["metadata"]["name"] for pool in pools(document) if pool["metadata"]["name"] not in used), None
        )
        if name is None:
            continue
        without = copy.deepcopy(document)
        without["objects"] = [
            item for item in without["objects"] if (item["kind"], item["metadata"]["name"]) != ("NodePool", name)
        ]
        assert answer(document, (DeleteObject(ObjectRef("NodePool", name)),)) == answer(without)


@pytest.mark.parametrize("family", ["preferences", "minvalues", "mixed"])
def test_a_setting_equals_the_snapshot_with_it(family: str) -> None:
    for document in islice(documents(family), PER_FAMILY):
        given = copy.deepcopy(document)
        given.setdefault("settings", {}).update({"PREFERENCE_POLICY": "Ignore", "MIN_VALUES_POLICY": "BestEffort"})
        edits = (SetSetting("PREFERENCE_POLICY", "Ignore"), SetSetting("MIN_VALUES_POLICY", "BestEffort"))
        assert answer(document, edits) == answer(given)


@pytest.mark.parametrize("family", ["existing", "mixed", "consolidation"])
def test_a_cordoned_node_equals_the_snapshot_with_the_taint(family: str) -> None:
    for document in islice(documents(family), PER_FAMILY):
        node = next(manifest for manifest in document["objects"] if manifest["kind"] == "Node")
        given = copy.deepcopy(document)
        result = next(manifest for manifest in given["objects"] if manifest["kind"] == "Node")
        result.setdefault("spec", {}).setdefault("taints", []).append(
            {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
        )
        assert answer(document, (CordonNode(node["metadata"]["name"]),)) == answer(given)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("mode", list(Replay))
def test_no_edits_change_nothing(family: str, mode: Replay) -> None:
    base = base_of(next(documents(family)))
    edited = apply(base, ())
    assert edited.inventory is base.inventory
    result = difference(base, edited, mode)
    assert result.before == result.after
    assert not any(change.is_changed for change in result.pools)
    assert not any(line.is_changed for line in result.claims)
    assert not any(line.is_changed for line in result.nodes)
    empty = (
        result.claims_before,
        result.moves,
        result.no_longer_fit,
        result.now_fit,
        result.drift_gained,
        result.budgets,
    )
    assert empty == ((),) * 6
    assert result.next_before == result.next_after


@pytest.mark.parametrize("family", FAMILIES)
def test_a_pod_template_survives_as_a_document(family: str) -> None:
    for document in documents(family):
        pods = base_of(document).inventory.pods
        for pod in {(id(pod.template), pod.volumes): pod for pod in pods}.values():
            template = pod.template
            read = read_template(
                template_document(template, pod.volumes),
                kind="Pod",
                key=pod.key,
                namespace=template.namespace,
                owners=template.owners,
                is_typed=False,
            )
            differing = [
                name
                for name in template.__struct_fields__
                # A document has one container with the sum of all requests.
                if name not in ("images", "containers") and getattr(read.template, name) != getattr(template, name)
            ]
            assert differing == []
            assert read.volumes == pod.volumes
