"""Fields of objects, and the fields in which two differ."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from karptui.changes.fields import field_changes, fields_of

LABELS = st.dictionaries(st.sampled_from(["team", "karpenter.sh/x", "a.b"]), st.sampled_from(["x", "y", ""]))
REQUIREMENTS = st.lists(
    st.fixed_dictionaries(
        {
            "key": st.sampled_from(["karpenter.sh/capacity-type", "topology.kubernetes.io/zone", "cpu"]),
            "operator": st.sampled_from(["In", "NotIn", "Gt", "Exists"]),
            "values": st.lists(st.sampled_from(["a", "b", "4"]), max_size=3),
        }
    ),
    max_size=4,
)
TAINTS = st.lists(
    st.fixed_dictionaries(
        {"key": st.sampled_from(["gpu", "spot"]), "effect": st.sampled_from(["NoSchedule", "NoExecute"])},
        optional={"value": st.sampled_from(["true", "no"])},
    ),
    max_size=3,
)
BUDGETS = st.lists(
    st.fixed_dictionaries(
        {"nodes": st.sampled_from(["10%", "0", "3"])},
        optional={"schedule": st.just("0 9 * * *"), "reasons": st.lists(st.sampled_from(["Empty", "Drifted"]))},
    ),
    max_size=3,
)
NODEPOOLS = st.fixed_dictionaries(
    {
        "kind": st.just("NodePool"),
        "metadata": st.fixed_dictionaries({"name": st.just("general"), "generation": st.integers(), "labels": LABELS}),
        "spec": st.fixed_dictionaries(
            {
                "template": st.fixed_dictionaries(
                    {"spec": st.fixed_dictionaries({"requirements": REQUIREMENTS, "taints": TAINTS})}
                ),
                "disruption": st.fixed_dictionaries({"budgets": BUDGETS}),
            },
            optional={
                "weight": st.integers(0, 100),
                "limits": st.dictionaries(st.sampled_from(["cpu", "memory"]), st.sampled_from(["10", "1Ti"])),
            },
        ),
        "status": st.just({"nodes": 3}),
    }
)


@given(NODEPOOLS, NODEPOOLS)
def test_the_changes_applied_to_before_give_after(before: dict[str, Any], after: dict[str, Any]) -> None:
    old, new = fields_of(before), fields_of(after)
    changes = field_changes(old, new)
    applied = {**old, **{change.path: change.after for change in changes}}
    assert {path: value for path, value in applied.items() if value is not None} == new
    assert all(change.before != change.after for change in changes)


@given(NODEPOOLS, st.randoms(use_true_random=False))
def test_the_order_of_requirements_taints_and_budgets_does_not_matter(pool: dict[str, Any], random: Any) -> None:
    other = copy.deepcopy(pool)
    template = other["spec"]["template"]["spec"]
    for members in (template["requirements"], template["taints"], other["spec"]["disruption"]["budgets"]):
        random.shuffle(members)
    assert fields_of(other) == fields_of(pool)


def a_pool(**spec: Any) -> dict[str, Any]:
    return {"kind": "NodePool", "metadata": {"name": "general"}, "spec": spec}


def changed(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    return [(change.path, change.before, change.after) for change in field_changes(fields_of(before), fields_of(after))]


def test_a_field_that_is_added_changed_and_removed() -> None:
    before = a_pool(weight=100, limits={"cpu": "10"})
    after = a_pool(weight=10, limits={"memory": "1Ti"})
    assert changed(before, after) == [
        ("spec.limits.cpu", "10", None),
        ("spec.limits.memory", None, "1Ti"),
        ("spec.weight", 100, 10),
    ]


def test_a_requirement_is_named_by_its_key_and_not_by_its_position() -> None:
    zone = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["b", "a"]}
    spot = {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]}
    both = {**spot, "values": ["spot", "on-demand"]}
    before = a_pool(template={"spec": {"requirements": [zone, spot]}})
    after = a_pool(template={"spec": {"requirements": [both, {**zone, "values": ["a", "b"]}]}})
    path = "spec.template.spec.requirements[karpenter.sh/capacity-type]"
    assert changed(before, after) == [
        (path, {"operator": "In", "values": ["spot"]}, {"operator": "In", "values": ["on-demand", "spot"]})
    ]


def test_requirements_with_the_same_key_are_told_apart_by_their_operators() -> None:
    low = {"key": "cpu", "operator": "Gt", "values": ["4"]}
    before = a_pool(requirements=[low, {"key": "cpu", "operator": "Lt", "values": ["32"]}])
    after = a_pool(requirements=[low, {"key": "cpu", "operator": "Lt", "values": ["64"]}])
    assert [path for path, _, _ in changed(before, after)] == ["spec.requirements[cpu Lt]"]


def test_a_container_is_compared_field_by_field() -> None:
    def a_deployment(cpu: str) -> dict[str, Any]:
        side = {"name": "side", "resources": {"requests": {"cpu": "10m"}}}
        web = {"name": "web", "resources": {"requests": {"cpu": cpu}}}
        return {"kind": "Deployment", "metadata": {"name": "a"}, "spec": {"template": {"spec": {"containers": [side, web] if cpu == "1" else [web, side]}}}}  # fmt: skip # noqa: E501

    path = "spec.template.spec.containers[web].resources.requests.cpu"
    assert changed(a_deployment("1"), a_deployment("2")) == [(path, "1", "2")]


def test_status_and_computed_metadata_are_no_changes_but_images_of_a_nodeclass_are() -> None:
    before = a_pool() | {"status": {"nodes": 1}}
    after = a_pool() | {"status": {"nodes": 2}}
    after["metadata"] = {
        "name": "general",
        "generation": 2,
        "annotations": {"karpenter.sh/nodepool-hash": "1", "karpenter.sh/nodepool-hash-version": "v3"},
    }
    assert changed(before, after) == []
    old = {"kind": "EC2NodeClass", "metadata": {}, "status": {"amis": [{"id": "ami-1", "name": "old"}]}}
    new = {"kind": "EC2NodeClass", "metadata": {}, "status": {"amis": [{"id": "ami-2", "name": "new"}]}}
    assert [path for path, _, _ in changed(old, new)] == ["status.amis[ami-1]", "status.amis[ami-2]"]
