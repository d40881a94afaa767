from __future__ import annotations

import copy
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
from tests.builders import present
from tests.whatif.snapshots import FOLDER, base_of, documents

FAMILIES = sorted(path.name.removesuffix(".jsonl.gz") for path in FOLDER.glob("*.jsonl.gz"))

Json = dict[str, Any]


def pools(document: Json) -> list[Json]:
    return [manifest for manifest in document["objects"] if manifest["kind"] == "NodePool"]


def by_hand(document: Json, pool: str, path: tuple[str | int, ...], value: Any) -> Json:
    """Return a copy of a snapshot with one changed field of a NodePool."""
    deepcopy = copy.deepcopy(document)
    target: Any = next(document for document in pools(deepcopy) if document["metadata"]["name"] == pool)
    for part in path[:-1]:
        target = target.setdefault(part, {}) if isinstance(target, dict) else target[part]
    target[path[-1]] = value
    return deepcopy


def answer(document: Json, edits: tuple[AnyEdit, ...] = ()) -> Any:
    base = base_of(document)
    outcome = replay(apply(base, edits), Replay.PENDING)
    return present(outcome.solution).as_json()


CHANGES: list[tuple[tuple[str | int, ...], Any]] = [
    (("spec", "weight"), 97),
    (("spec", "limits"), {"cpu": "3"}),
    (("spec", "template", "spec", "taints"), [{"key": "edited", "effect": "NoSchedule"}]),
    (("spec", "template", "spec", "requirements"),
     [{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]}]),
    (("spec", "template", "metadata"), {"labels": {"team": "a"}}),
]  # fmt: skip


def first(family: str) -> Json:
    return next(documents(family))


@pytest.mark.parametrize("family", FAMILIES)
def test_edits_of_nodepools_equal_the_snapshot_edited_by_hand(family: str) -> None:
    """Edits a field, replaces a NodePool, and deletes one without nodes."""
    document = first(family)
    name = pools(document)[0]["metadata"]["name"]
    for path, value in CHANGES:
        expected = answer(by_hand(document, name, path, value))
        assert answer(document, (SetField(ObjectRef("NodePool", name), path, value),)) == expected, path

    last = pools(document)[-1]["metadata"]["name"]
    edited = by_hand(document, last, ("spec", "weight"), 98)
    text = to_yaml(next(pool for pool in pools(edited) if pool["metadata"]["name"] == last))
    assert answer(document, (PutObject(text),)) == answer(edited)

    used = {manifest["metadata"].get("labels", {}).get("karpenter.sh/nodepool") for manifest in document["objects"]}
    for name in [pool["metadata"]["name"] for pool in pools(document) if pool["metadata"]["name"] not in used][:1]:
        objects = document["objects"]
        left = [item for item in objects if (item["kind"], item["metadata"]["name"]) != ("NodePool", name)]
        assert answer(document, (DeleteObject(ObjectRef("NodePool", name)),)) == answer({**document, "objects": left})


@pytest.mark.parametrize("family", ["preferences", "minvalues", "mixed"])
def test_a_setting_equals_the_snapshot_with_it(family: str) -> None:
    document = first(family)
    given = copy.deepcopy(document)
    given.setdefault("settings", {}).update({"PREFERENCE_POLICY": "Ignore", "MIN_VALUES_POLICY": "BestEffort"})
    edits = (SetSetting("PREFERENCE_POLICY", "Ignore"), SetSetting("MIN_VALUES_POLICY", "BestEffort"))
    assert answer(document, edits) == answer(given)


@pytest.mark.parametrize("family", ["existing", "mixed", "consolidation"])
def test_a_cordoned_node_equals_the_snapshot_with_the_taint(family: str) -> None:
    document = first(family)
    given = copy.deepcopy(document)
    node = next(manifest for manifest in given["objects"] if manifest["kind"] == "Node")
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    node.setdefault("spec", {}).setdefault("taints", []).append(taint)
    assert answer(document, (CordonNode(node["metadata"]["name"]),)) == answer(given)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_edits_change_nothing(family: str) -> None:
    base = base_of(first(family))
    edited = apply(base, ())
    assert edited.inventory is base.inventory
    for mode in Replay:
        result = difference(base, edited, mode)
        assert result.before == result.after
        assert not any(pool.is_changed for pool in result.pools)
        assert not any(line.is_changed for line in result.claims)
        assert not any(line.is_changed for line in result.nodes)
        moved = (result.claims_before, result.moves, result.no_longer_fit, result.now_fit)
        assert (*moved, result.drift_gained, result.budgets) == ((),) * 6
        assert result.next_before == result.next_after


@pytest.mark.parametrize("family", FAMILIES)
def test_a_pod_template_is_unchanged_by_conversion_to_a_document(family: str) -> None:
    for document in documents(family):
        pods = base_of(document).inventory.pods
        for pod in {(id(pod.template), pod.volumes): pod for pod in pods}.values():
            template = pod.template
            read = read_template(template_document(template, pod.volumes), kind="Pod", key=pod.key,
                                 namespace=template.namespace, owners=template.owners, is_typed=False)  # fmt: skip
            differing = [
                name
                for name in template.__struct_fields__
                # The document has one container with the sum of all requests.
                if name not in ("images", "containers") and getattr(read.template, name) != getattr(template, name)
            ]
            assert differing == []
            assert read.volumes == pod.volumes
