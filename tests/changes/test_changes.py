"""What changed between two moments, and the fields in which two objects differ."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karptui.changes.changes import Edit, Fault, Moment, VerdictLine, changes_between, edits
from karptui.changes.fields import field_changes, fields_of
from karptui.changes.row import ObjectChange, What
from tests.builders import a_manifest

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


class Version(msgspec.Struct, frozen=True):
    """A version of an object, valid from an instant on."""

    at_ns: int
    kind: str
    key: str
    manager: str
    manifest: msgspec.Raw


def a_version(manifest: dict[str, Any], at_ns: int = 1, manager: str = "") -> Version:
    metadata = manifest["metadata"]
    key = "/".join(filter(None, (metadata.get("namespace", ""), metadata["name"])))
    kind = "NodeClass" if manifest["kind"] == "EC2NodeClass" else manifest["kind"]
    return Version(at_ns, kind, key, manager, msgspec.Raw(msgspec.json.encode(manifest)))


def deleted(manifest: dict[str, Any], at_ns: int) -> Version:
    return msgspec.structs.replace(a_version(manifest, at_ns), manifest=msgspec.Raw(b"null"))


def a_moment(*manifests: dict[str, Any], **options: Any) -> Moment:
    versions = [a_version(manifest) for manifest in manifests]
    return Moment({(version.kind, version.key): version for version in versions}, **options)


def a_pool(weight: int = 100, name: str = "spot") -> dict[str, Any]:
    return a_manifest("NodePool", name, spec={"weight": weight})


def a_pod(name: str, uid: str = "", node: str = "n1", cpu: str = "1") -> dict[str, Any]:
    owner = {"kind": "ReplicaSet", "name": "web-abc12", "controller": True}
    manifest = a_manifest("Pod", name, namespace="shop")
    metadata = {
        **manifest["metadata"],
        "uid": uid or name,
        "ownerReferences": [owner],
        "labels": {"pod-template-hash": "abc12"},
    }
    spec = {"nodeName": node, "containers": [{"name": "web", "resources": {"requests": {"cpu": cpu}}}]}
    return {**manifest, "metadata": metadata, "spec": spec}


def a_node(name: str, pool: str) -> dict[str, Any]:
    manifest = a_manifest("Node", name)
    labels = {"karpenter.sh/nodepool": pool}
    return {**manifest, "metadata": {**manifest["metadata"], "uid": name, "labels": labels}}


def rows(iterable: Iterable[ObjectChange]) -> list[tuple[str, str, str, Any, Any]]:
    return [(row.kind, row.name, row.field or str(row.what), row.before, row.after) for row in iterable]


def test_a_field_names_when_it_changed_and_who_changed_it() -> None:
    versions = [
        a_version(a_pool(50), 10, "kubectl-edit"),
        a_version({**a_pool(50), "status": {"nodes": 4}}, 20, "kubectl-edit"),
        a_version(a_pool(10), 30, "argocd"),
        a_version({**a_pool(10), "status": {"nodes": 5}}, 40, "argocd"),
    ]
    (row,) = changes_between(a_moment(a_pool()), a_moment(a_pool(10)), versions)
    assert (row.field, row.before, row.after, row.at_ns, row.by) == ("spec.weight", 100, 10, 30, "argocd")
    assert changes_between(a_moment(a_pool()), a_moment(a_pool()), versions) == (), "the change was reverted"


def test_objects_that_were_added_and_removed_are_one_row_each() -> None:
    old, new = a_pool(name="old"), a_pool(name="new")
    versions = [a_version(new, 10, "kubectl"), deleted(old, 20)]
    changes = changes_between(a_moment(old), a_moment(new), versions)
    assert [(row.name, row.what, row.at_ns, row.by) for row in changes] == [
        ("new", What.ADDED, 10, "kubectl"),
        ("old", What.REMOVED, 20, ""),
    ]


def test_without_versions_the_last_manager_is_known_but_not_the_time() -> None:
    after = {("NodePool", "spot"): a_version(a_pool(10), 5, "helm")}
    (row,) = changes_between(a_moment(a_pool()), Moment(after))
    assert (row.at_ns, row.by) == (0, "helm")


def test_rows_are_sorted_karpenter_kinds_settings_verdict_workloads_cost_folded_objects() -> None:
    def a_moment_with(number: int, *more: dict[str, Any]) -> Moment:
        pdb = a_manifest("PodDisruptionBudget", "web", namespace="shop", spec={"minAvailable": number})
        daemonset = a_manifest("DaemonSet", "logs", namespace="kube-system", spec={"template": {"spec": {"x": number}}})
        return a_moment(
            a_pool(number),
            a_manifest("EC2NodeClass", "default", spec={"role": str(number)}),
            a_manifest("NodeOverlay", "cheap", spec={"price": number}),
            pdb,
            daemonset,
            *more,
            facts={"karpenterVersion": f"1.1{number}.0", "settings": {}},
            prices={"spot": float(number)},
        )

    before = a_moment_with(4, a_pod("web-1"), a_node("n1", "spot"))
    after = a_moment_with(5, a_pod("web-2"), a_node("n2", "spot"))
    changes = changes_between(before, after, verdict=[VerdictLine(3, Fault.BEGAN, "2 pods are pending", name="web")])
    assert [row.kind for row in changes] == [
        "NodePool",
        "NodeClass",
        "NodeOverlay",
        "Settings",
        "Verdict",
        "PodDisruptionBudget",
        "DaemonSet",
        "Cost",
        "Cost",
        "Node",
        "Pod",
    ]


def test_settings_and_version_are_compared_one_by_one_if_both_sides_have_them() -> None:
    before = a_moment(facts={"karpenterVersion": "1.14.1", "settings": {"BATCH_IDLE_DURATION": "1s", "A": "1"}})
    after = a_moment(facts={"karpenterVersion": "1.15.0", "settings": {"BATCH_IDLE_DURATION": "10s", "A": "1"}})
    assert rows(changes_between(before, after)) == [
        ("Settings", "karpenter", "settings.BATCH_IDLE_DURATION", "1s", "10s"),
        ("Settings", "karpenter", "version", "1.14.1", "1.15.0"),
    ]
    assert changes_between(a_moment(), a_moment(facts={"karpenterVersion": "1.15.0"}, prices={"spot": 1.0})) == ()


def test_pods_are_folded_by_the_deployment_and_nodes_by_the_nodepool() -> None:
    before = a_moment(a_pod("a"), a_pod("b"), a_node("n1", "spot"), a_node("n2", "spot"))
    after = a_moment(a_pod("b"), a_pod("c"), a_pod("d"), a_node("n2", "spot"), a_node("n3", "general"))
    changes = changes_between(before, after)
    assert [(row.kind, row.name, row.added, row.removed, row.moved) for row in changes] == [
        ("Node", "general", 1, 0, 0),
        ("Node", "spot", 0, 1, 0),
        ("Pod", "Deployment/shop/web", 2, 1, 0),
    ]


@pytest.mark.parametrize(
    ("before", "after", "counts"),
    [
        (a_pod("db-0", "1"), a_pod("db-0", "1", node="n2"), [(0, 0, 1)]),
        (a_pod("db-0", "1"), a_pod("db-0", "2", node="n2"), [(0, 0, 1)]),
        (a_pod("db-0", "1"), a_pod("db-0", "2"), [(1, 1, 0)]),
        (a_pod("db-0", node=""), a_pod("db-0", node="n2"), []),
    ],
    ids=["moved", "recreated elsewhere", "recreated in place", "scheduled"],
)
def test_a_pod_with_the_same_name_on_another_node_has_moved(
    before: dict[str, Any], after: dict[str, Any], counts: list[tuple[int, int, int]]
) -> None:
    changes = changes_between(a_moment(before), a_moment(after))
    assert [(row.added, row.removed, row.moved) for row in changes] == counts


def test_requests_of_folded_pods_that_differ_are_a_row() -> None:
    _, row = changes_between(a_moment(a_pod("a", cpu="500m")), a_moment(a_pod("b", cpu="2")))
    assert (row.field, row.before, row.after) == ("requests", {"cpu": "500m"}, {"cpu": "2"})


def test_cost_rows_are_the_total_and_each_nodepool_that_differs() -> None:
    before = a_moment(prices={"spot": 1.0, "general": 2.0, "gpu": 3.001})
    after = a_moment(prices={"spot": 1.5, "general": 2.0, "gpu": 3.0})
    assert rows(changes_between(before, after)) == [
        ("Cost", "spot", "pricePerHour", 1.0, 1.5),
        ("Cost", "total", "pricePerHour", 6.001, 6.5),
    ]


def test_a_verdict_line_that_began_and_ended_is_one_row() -> None:
    lines = [
        VerdictLine(1, Fault.BEGAN, "2 pods are pending", name="web"),
        VerdictLine(2, Fault.ENDED, "2 pods are pending", name="web"),
        VerdictLine(3, Fault.BEGAN, "spot is blocked", name="spot"),
    ]
    changes = changes_between(a_moment(), a_moment(), verdict=lines)
    assert [(row.name, row.what, row.before, row.after, row.at_ns) for row in changes] == [
        ("spot", What.BEGAN, None, "spot is blocked", 3),
        ("web", What.ENDED, "2 pods are pending", None, 2),
    ]


def test_edits_are_the_versions_in_which_a_field_differs() -> None:
    pool = a_pool()
    versions = [
        a_version({**pool, "status": {"nodes": 4}}, 10, "karpenter"),
        a_version(a_pool(10), 20, "argocd"),
        deleted(pool, 30),
        a_version(pool, 40, "argocd"),
        a_version(a_pod("a"), 50),
    ]
    result = list(edits(a_moment(pool).objects, versions))
    assert [(edit.at_ns, edit.manager) for edit in result] == [(20, "argocd"), (30, ""), (40, "argocd")]
    assert isinstance(result[0], Edit)
    assert [(change.path, change.before, change.after) for change in result[0].fields] == [("spec.weight", 100, 10)]


def test_an_object_that_cannot_be_read_breaks_nothing() -> None:
    broken = Version(1, "Pod", "shop/a", "", msgspec.Raw(b'{"metadata": 3}'))
    odd = Version(1, "NodePool", "spot", "", msgspec.Raw(b"[1]"))
    after = Moment({("Pod", "shop/a"): broken, ("NodePool", "spot"): odd})
    assert {row.kind for row in changes_between(a_moment(), after)} == {"NodePool", "Pod"}


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


def a_pool_of(**spec: Any) -> dict[str, Any]:
    return {"kind": "NodePool", "metadata": {"name": "general"}, "spec": spec}


def changed(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    return [(change.path, change.before, change.after) for change in field_changes(fields_of(before), fields_of(after))]


def test_added_changed_and_removed_fields_are_listed() -> None:
    before = a_pool_of(weight=100, limits={"cpu": "10"})
    after = a_pool_of(weight=10, limits={"memory": "1Ti"})
    assert changed(before, after) == [
        ("spec.limits.cpu", "10", None),
        ("spec.limits.memory", None, "1Ti"),
        ("spec.weight", 100, 10),
    ]


def test_a_requirement_is_named_by_its_key_and_not_by_its_position() -> None:
    zone = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["b", "a"]}
    spot = {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]}
    both = {**spot, "values": ["spot", "on-demand"]}
    before = a_pool_of(template={"spec": {"requirements": [zone, spot]}})
    after = a_pool_of(template={"spec": {"requirements": [both, {**zone, "values": ["a", "b"]}]}})
    path = "spec.template.spec.requirements[karpenter.sh/capacity-type]"
    assert changed(before, after) == [
        (path, {"operator": "In", "values": ["spot"]}, {"operator": "In", "values": ["on-demand", "spot"]})
    ]


def test_requirements_with_the_same_key_are_distinguished_by_their_operators() -> None:
    low = {"key": "cpu", "operator": "Gt", "values": ["4"]}
    before = a_pool_of(requirements=[low, {"key": "cpu", "operator": "Lt", "values": ["32"]}])
    after = a_pool_of(requirements=[low, {"key": "cpu", "operator": "Lt", "values": ["64"]}])
    assert [path for path, _, _ in changed(before, after)] == ["spec.requirements[cpu Lt]"]


def test_a_container_is_compared_field_by_field() -> None:
    def a_deployment(cpu: str) -> dict[str, Any]:
        side = {"name": "side", "resources": {"requests": {"cpu": "10m"}}}
        web = {"name": "web", "resources": {"requests": {"cpu": cpu}}}
        return {"kind": "Deployment", "metadata": {"name": "a"}, "spec": {"template": {"spec": {"containers": [side, web] if cpu == "1" else [web, side]}}}}  # fmt: skip # noqa: E501

    path = "spec.template.spec.containers[web].resources.requests.cpu"
    assert changed(a_deployment("1"), a_deployment("2")) == [(path, "1", "2")]


def test_status_and_computed_metadata_are_ignored_except_images_of_a_nodeclass() -> None:
    before = a_pool_of() | {"status": {"nodes": 1}}
    after = a_pool_of() | {"status": {"nodes": 2}}
    after["metadata"] = {
        "name": "general",
        "generation": 2,
        "annotations": {"karpenter.sh/nodepool-hash": "1", "karpenter.sh/nodepool-hash-version": "v3"},
    }
    assert changed(before, after) == []
    old = {"kind": "EC2NodeClass", "metadata": {}, "status": {"amis": [{"id": "ami-1", "name": "old"}]}}
    new = {"kind": "EC2NodeClass", "metadata": {}, "status": {"amis": [{"id": "ami-2", "name": "new"}]}}
    assert [path for path, _, _ in changed(old, new)] == ["status.amis[ami-1]", "status.amis[ami-2]"]
