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
    return [one for one in document["objects"] if one["kind"] == "NodePool"]


def by_hand(document: Json, pool: str, path: tuple[str | int, ...], value: Any) -> Json:
    """Return a snapshot in which one field of a NodePool was changed."""
    made = copy.deepcopy(document)
    target: Any = next(one for one in pools(made) if one["metadata"]["name"] == pool)
    for part in path[:-1]:
        target = target.setdefault(part, {}) if isinstance(target, dict) else target[part]
    target[path[-1]] = value
    return made


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
        text = to_yaml(next(one for one in pools(edited) if one["metadata"]["name"] == name))
        assert answer(document, (PutObject(text),)) == answer(edited)


@pytest.mark.parametrize("family", FAMILIES)
def test_taking_a_nodepool_away_equals_the_snapshot_without_it_where_it_has_no_nodes(family: str) -> None:
    for document in islice(documents(family), PER_FAMILY):
        used = {one["metadata"].get("labels", {}).get("karpenter.sh/nodepool") for one in document["objects"]}
        name = next((one["metadata"]["name"] for one in pools(document) if one["metadata"]["name"] not in used), None)
        if name is None:
            continue
        without = copy.deepcopy(document)
        without["objects"] = [
            one for one in without["objects"] if (one["kind"], one["metadata"]["name"]) != ("NodePool", name)
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
        node = next(one for one in document["objects"] if one["kind"] == "Node")
        given = copy.deepcopy(document)
        own = next(one for one in given["objects"] if one["kind"] == "Node")
        own.setdefault("spec", {}).setdefault("taints", []).append(
            {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
        )
        assert answer(document, (CordonNode(node["metadata"]["name"]),)) == answer(given)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("mode", list(Replay))
def test_no_edits_change_nothing(family: str, mode: Replay) -> None:
    base = base_of(next(documents(family)))
    edited = apply(base, ())
    assert edited.inventory is base.inventory
    found = difference(base, edited, mode)
    assert found.before == found.after
    assert not any(one.is_changed for one in found.pools)
    assert not any(one.is_changed for one in found.claims)
    assert not any(one.is_changed for one in found.nodes)
    empty = (found.claims_before, found.moves, found.no_longer_fit, found.now_fit, found.drift_gained, found.budgets)
    assert empty == ((),) * 6
    assert found.next_before == found.next_after


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
