from __future__ import annotations

import re
from typing import Any

import pytest

from karptui.whatif.edits import (
    CopyPod,
    CordonNode,
    DeleteObject,
    ObjectRef,
    RemoveNode,
    ScaleWorkload,
    SetSetting,
    TakeOut,
)
from karptui.whatif.field_path import Path, value_at
from karptui.whatif.quick_edits.actions import QUICK_ACTIONS, SETTING_EDITS, QuickAction, SettingEdit
from karptui.whatif.quick_edits.catalogue import QUICK_EDITS, quick_edits_for
from karptui.whatif.quick_edits.fields import Input, Option, QuickEdit, as_text, step_ladder, step_quantity
from karptui.whatif.quick_edits.new_documents import add_daemonset, append_document, own_pool, split_pool
from karptui.whatif.quick_edits.requirements import (
    NO_TYPE,
    Types,
    allows,
    requirement_text,
    set_requirement,
    toggle_value,
    types_left,
    values_left,
)
from karptui.whatif.schema.offers import KnownValues
from karptui.whatif.schema.schema import shipped_schemas
from karptui.whatif.schema.validation import check
from karptui.whatif.yaml.splice import EditRefusedError, get_value
from karptui.whatif.yaml.tree import parse
from karptui.whatif.yaml.write import as_document
from tests.builders import present
from tests.whatif.schema.objects import DEPLOYMENT, EC2_KIND, NODE_POOL, PDB

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web-1", "namespace": "default", "annotations": {"karpenter.sh/do-not-disrupt": "true"}},
    "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}]},
}
TEXTS = {body["kind"]: f"# first\n{as_document(body)}# last\n" for body in (NODE_POOL, EC2_KIND, DEPLOYMENT, POD, PDB)}
POOL = TEXTS["NodePool"]
BARE_POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: bare}
spec:
  template:
    spec:
      requirements: []
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
"""
BARE_CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: bare}
spec:
  amiSelectorTerms: [{alias: al2023@latest}]
  role: r
  subnetSelectorTerms: [{tags: {a: b}}]
  securityGroupSelectorTerms: [{tags: {a: b}}]
"""
KNOWN = KnownValues(
    labels={"topology.kubernetes.io/zone": ("a", "b"), "karpenter.k8s.aws/instance-category": ("c", "m")}
)
GIVEN = {
    "nodepool.weight": "60",
    "nodepool.replicas": None,
    "nodepool.limits.cpu": "480",
    "nodepool.limits.memory": "2Ti",
    "nodepool.limits.nodes": "30",
    "nodepool.limits": "nvidia.com/gpu=8",
    "nodepool.capacity-type": "reserved",
    "nodepool.arch": "arm64",
    "nodepool.zone": "a",
    "nodepool.category": "m",
    "nodepool.family": "c7a",
    "nodepool.size": "large",
    "nodepool.type": "m5.large",
    "nodepool.taints": "team=ml:NoSchedule",
    "nodepool.startup-taints": "wait:NoExecute",
    "nodepool.labels": "stage=prod",
    "nodepool.annotations": "karpenter.sh/do-not-disrupt=true",
    "nodepool.policy": "WhenEmpty",
    "nodepool.consolidate-after": "Never",
    "nodepool.budgets": "0 Empty,Drifted 0 9 * * mon-fri for 8h",
    "nodepool.expire-after": "24h",
    "nodepool.termination-grace-period": "30m",
    "nodeclass.maxPods": "58",
    "nodeclass.podsPerCore": "4",
    "nodeclass.systemReserved": "memory=500Mi",
    "nodeclass.kubeReserved": "ephemeral-storage=1Gi",
    "nodeclass.evictionHard": "imagefs.available=5%",
    "nodeclass.evictionSoft": "memory.available=2Gi",
    "nodeclass.evictionSoftGracePeriod": "memory.available=5m",
    "nodeclass.evictionMaxPodGracePeriod": "30",
    "nodeclass.imageGCHighThresholdPercent": "90",
    "nodeclass.imageGCLowThresholdPercent": "70",
    "nodeclass.cpuCFSQuota": "false",
    "workload.replicas": "7",
    "workload.do-not-disrupt": "4h",
    "pod.do-not-disrupt": "4h",
    "workload.node-selector": "karpenter.sh/nodepool=gpu",
    "workload.cpu": "2",
    "workload.memory": "3Gi",
    "pod.cpu": "2",
    "pod.memory": "3Gi",
    "pdb.maxUnavailable": "50%",
    "pdb.minAvailable": None,
}
"""By quick edit, a value to set; None if it would violate a rule about another field."""


def edit_of(name: str) -> QuickEdit:
    return next(edit for edit in QUICK_EDITS if edit.id == name)


def text_of(edit: QuickEdit) -> str:
    return next(text for kind, text in TEXTS.items() if kind in edit.kinds)


def differences(before: Any, after: Any, path: Path = ()) -> list[Path]:
    if isinstance(before, dict) and isinstance(after, dict):
        names = dict.fromkeys((*before, *after))
        return [texts for name in names for texts in differences(before.get(name), after.get(name), (*path, name))]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = enumerate(zip(before, after, strict=True))
        return [difference for index, (old, new) in pairs for difference in differences(old, new, (*path, index))]
    return [] if before == after else [path]


def body_of(text: str) -> Any:
    return parse(text).documents[0].body


def test_every_quick_edit_has_a_test_value() -> None:
    assert [edit.id for edit in QUICK_EDITS] == list(GIVEN)
    assert len({edit.id for edit in QUICK_EDITS}) == len(QUICK_EDITS)


@pytest.mark.parametrize("edit", QUICK_EDITS, ids=lambda edit: edit.id)
def test_changes_exactly_the_field_it_names(edit: QuickEdit) -> None:
    text, value = text_of(edit), GIVEN[edit.id]
    if value is None:
        value = "2"
    after = edit.put(text, 0, value)
    changes = differences(body_of(text), body_of(after))
    assert changes
    assert all(path[: len(edit.path)] == edit.path for path in changes), changes
    if GIVEN[edit.id] is not None:
        assert check(parse(after), shipped_schemas()).problems == ()
    kept = [line for line in text.splitlines() if line in after.splitlines()]
    assert len(kept) >= len(text.splitlines()) - 1
    assert edit.current(body_of(after)) != edit.current(body_of(text))
    assert edit.fault(value) == ""
    assert edit.title


@pytest.mark.parametrize("edit", [edit for edit in QUICK_EDITS if "NodePool" in edit.kinds], ids=lambda edit: edit.id)
def test_makes_the_field_of_a_pool_that_lacks_it(edit: QuickEdit) -> None:
    after = edit.put(BARE_POOL, 0, GIVEN[edit.id] or "2")
    problems = [problem.message for problem in check(parse(after), shipped_schemas()).problems]
    assert all("consolidateAfter is required" in problem for problem in problems)
    changes = differences(body_of(BARE_POOL), body_of(after))
    assert all(path[: len(edit.path)] == edit.path[: len(path)] for path in changes), changes


@pytest.mark.parametrize(
    "edit", [edit for edit in QUICK_EDITS if "EC2NodeClass" in edit.kinds], ids=lambda edit: edit.id
)
def test_makes_kubelet_settings(edit: QuickEdit) -> None:
    after = edit.put(BARE_CLASS, 0, GIVEN[edit.id] or "")
    problems = check(parse(after), shipped_schemas()).problems
    assert all(("OwnerKey does not" in problem.message or "has no matching" in problem.message) for problem in problems)
    assert [path[:2] for path in differences(body_of(BARE_CLASS), body_of(after))] == [("spec", "kubelet")]


REMOVABLE = [edit for edit in QUICK_EDITS if edit.input not in {Input.TOGGLES, Input.ITEMS}]


@pytest.mark.parametrize("edit", REMOVABLE, ids=lambda edit: edit.id)
def test_empty_text_removes_an_optional_field(edit: QuickEdit) -> None:
    text = text_of(edit)
    if edit.fault(""):
        with pytest.raises(EditRefusedError):
            edit.put(text, 0, "")
        return
    assert edit.current(body_of(edit.put(text, 0, ""))) == ""


@pytest.mark.parametrize("edit", [edit for edit in QUICK_EDITS if edit.drop], ids=lambda edit: edit.id)
def test_items_are_added_and_removed(edit: QuickEdit) -> None:
    text, item = text_of(edit), GIVEN[edit.id]
    assert edit.drop is not None
    assert item is not None
    added = edit.put(text, 0, item)
    options = edit.options(body_of(added), KNOWN)
    assert all(option.is_on for option in options)
    names = [option.value for option in options]
    assert item in names
    for name in names:
        added = edit.drop(added, 0, name)
    assert edit.options(body_of(added), KNOWN) == ()
    assert edit.current(body_of(added)) == ""
    assert edit.drop(added, 0, item) == added


@pytest.mark.parametrize(("name", "values"), [
    ("nodepool.weight", ["0", "101", "x", "1.5", "-1"]),
    ("nodepool.replicas", ["-1", "x", "12345678901"]),
    ("nodepool.limits.cpu", ["x", "-1", "1Gx"]),
    ("nodepool.limits", ["cpu", "cpu=x", "cpu=", "=1", "cpu=-1"]),
    ("nodepool.taints", ["a", "a=b", "a=b:Never", "=b:NoSchedule", "a=b c:NoSchedule"]),
    ("nodepool.labels", ["a", "a=b c", "a b=c", f"a={'x' * 64}"]),
    ("nodepool.policy", ["Never"]),
    ("nodepool.consolidate-after", ["", "30", "1d", "never"]),
    ("nodepool.termination-grace-period", ["Never"]),
    ("nodepool.budgets", ["", "101%", "10% Never", "1 0 9 * *", "1 @daily", "1 @sometimes 1h", "1 @daily 1d", "x"]),
    ("nodepool.capacity-type", [""]),
    ("nodeclass.systemReserved", ["cpu=", "cpu=x"]),
    ("nodeclass.evictionHard", ["memory.available=", "memory.available=x%", "memory.available=x"]),
    ("nodeclass.evictionSoftGracePeriod", ["memory.available=5"]),
    ("nodeclass.imageGCHighThresholdPercent", ["101"]),
    ("workload.do-not-disrupt", ["yes"]),
    ("pdb.maxUnavailable", ["many"]),
])  # fmt: skip
def test_an_invalid_value_has_a_message(name: str, values: list[str]) -> None:
    edit = edit_of(name)
    for value in values:
        with pytest.raises(EditRefusedError, match=r".+"):
            edit.put(text_of(edit), 0, value)
        assert edit.fault(value) or edit.input is Input.TOGGLES


def test_the_same_taint_is_not_added_twice() -> None:
    with pytest.raises(EditRefusedError, match="there already"):
        edit_of("nodepool.taints").put(POOL, 0, "dedicated=ci:NoSchedule")


def stepped(name: str, text: str, direction: int) -> str:
    edit = edit_of(name)
    assert edit.step is not None
    return edit.step(body_of(text), direction)


def test_steps_up_and_down() -> None:
    assert stepped("nodepool.weight", POOL, 1) == "51"
    assert stepped("nodepool.weight", POOL, -1) == "49"
    assert stepped("nodepool.weight", BARE_POOL, 1) == "1"
    assert stepped("nodepool.weight", BARE_POOL, -1) == "1"
    assert stepped("nodepool.weight", POOL.replace("weight: 50", "weight: 100"), 1) == "100"
    assert stepped("workload.replicas", TEXTS["Deployment"], -1) == "2"
    assert stepped("nodepool.limits.cpu", POOL, 1) == "410"
    assert stepped("nodepool.limits.cpu", BARE_POOL, 1) == "100"
    assert stepped("nodepool.policy", POOL, 1) == "Balanced"
    assert stepped("nodepool.policy", BARE_POOL, 1) == "WhenEmpty"
    assert stepped("nodepool.consolidate-after", POOL, 1) == "1m"
    assert stepped("nodepool.expire-after", BARE_POOL, 1) == "24h"
    ladder = ("30s", "1m", "1h", "Never")
    assert [step_ladder(item, ladder, 1) for item in ("0s", "30s", "2m", "1h30m", "Never", "x")] == [
        *("30s", "1m", "1h", "Never", "Never", "30s")
    ]
    assert [step_ladder(item, ladder, -1) for item in ("0s", "2m", "Never")] == ["30s", "1m", "1h"]


@pytest.mark.parametrize(("text", "direction", "wanted"), [
    ("400", 1, "410"),
    ("64Gi", -1, "63Gi"),
    ("100", -1, "99"),
    ("1000", -1, "990"),
    ("1000", 1, "1100"),
    ("1", -1, "0"),
    ("0", -1, "0"),
    ("500m", 1, "510m"),
    ("1.5", 1, "2"),
    ("x", 1, "x"),
])  # fmt: skip
def test_steps_of_quantities(text: str, direction: int, wanted: str) -> None:
    assert step_quantity(text, direction) == wanted


def test_options_show_their_state() -> None:
    body = body_of(POOL)
    assert edit_of("nodepool.capacity-type").options(body, KNOWN) == (
        Option("spot", is_on=True), Option("on-demand", is_on=True), Option("reserved", is_on=False),
    )  # fmt: skip
    assert [option.value for option in edit_of("nodepool.zone").options(body, KNOWN)] == ["a", "b"]
    assert {option.value for option in edit_of("nodepool.policy").options(body, KNOWN) if option.is_on} == {
        "WhenEmptyOrUnderutilized"
    }
    assert {item.value for item in edit_of("nodepool.expire-after").options(body, KNOWN) if item.is_on} == {"720h"}
    assert edit_of("nodepool.weight").options(body, KNOWN) == ()
    assert edit_of("nodepool.capacity-type").current(body) == "spot, on-demand"
    assert edit_of("nodepool.budgets").current(body) == "10% · 0 Drifted 0 9 * * mon-fri for 8h"
    assert edit_of("nodepool.taints").current(body) == "dedicated=ci:NoSchedule"
    assert edit_of("nodepool.labels").current(body) == "team=a"


def requirements(*items: str) -> str:
    lines = "".join(f"      - {item}\n" for item in items)
    return BARE_POOL.replace("requirements: []\n", f"requirements:\n{lines}" if items else "requirements: []\n")


@pytest.mark.parametrize(("items", "value", "others", "wanted"), [
    (["{key: k, operator: In, values: [a]}"], "b", (), ["{key: k, operator: In, values: [a, b]}"]),
    (["{key: k, operator: In, values: [a, b]}"], "a", (), ["{key: k, operator: In, values: [b]}"]),
    (["{key: k, operator: NotIn, values: [a, b]}"], "a", (), ["{key: k, operator: NotIn, values: [b]}"]),
    (["{key: k, operator: NotIn, values: [a]}"], "b", (), ["{key: k, operator: NotIn, values: [a, b]}"]),
    (["{key: k, operator: NotIn, values: [a]}", "{key: j, operator: Exists}"], "a", (), ["{key: j, operator: Exists}"]),
    (["{key: k, operator: NotIn, values: [a]}"], "a", (), None),
    (["{key: k, operator: NotIn, values: [x]}", "{key: k, operator: In, values: [a]}"], "b", (),
     ["{key: k, operator: NotIn, values: [x]}", "{key: k, operator: In, values: [a, b]}"]),
    (["{key: j, operator: Exists}"], "a", (), ["{key: j, operator: Exists}", "{key: k, operator: NotIn, values: [a]}"]),
    (["{key: j, operator: Exists}"], "a", ("a", "b", "c"),
     ["{key: j, operator: Exists}", "{key: k, operator: In, values: [b, c]}"]),
])  # fmt: skip
def test_toggling_a_value_changes_whether_it_is_allowed(
    items: list[str], value: str, others: tuple[str, ...], wanted: list[str] | None
) -> None:
    text = requirements(*items)
    is_on = allows(get_value(text, 0, ("spec", "template", "spec", "requirements")), "k", value)
    after = toggle_value(text, 0, "k", value, others=others)
    assert after == (requirements(*wanted) if wanted else BARE_POOL)
    assert allows(get_value(after, 0, ("spec", "template", "spec", "requirements")), "k", value) is not is_on


def test_the_last_value_cannot_be_removed() -> None:
    with pytest.raises(EditRefusedError, match="a is the last value of k"):
        toggle_value(requirements("{key: k, operator: In, values: [a]}"), 0, "k", "a")


def test_requirements_are_replaced_and_shown_as_text() -> None:
    text = requirements("{key: k, operator: In, values: [a]}")
    assert set_requirement(text, 0, "k", "NotIn", ["b"]) == requirements("{key: k, operator: NotIn, values: [b]}")
    after = set_requirement(text, 0, "j", "In", ["b"])
    assert after == requirements("{key: k, operator: In, values: [a]}", "{key: j, operator: In, values: [b]}")
    result = [
        {"key": "k", "operator": "In", "values": ["a", "b"]},
        {"key": "k", "operator": "Gt", "values": ["3"]},
        {"key": "k", "operator": "Exists"},
        "junk",
    ]
    assert requirement_text(result, "k") == "a, b and Gt 3 and Exists"
    assert requirement_text(None, "k") == ""
    assert allows(result, "k", "a")
    assert not allows(result, "k", "c")


def test_splits_a_pool_into_preferred_and_fallback() -> None:
    key = "karpenter.k8s.aws/instance-family"
    after = split_pool(POOL, ObjectRef("NodePool", "general"), name="flex", key=key, values=("c7i-flex", "m7i-flex"))
    assert check(parse(after), shipped_schemas()).problems == ()
    fallback, preferred = (document.body for document in parse(after).documents)
    assert fallback is not None
    assert preferred is not None
    assert (fallback["spec"]["weight"], preferred["spec"]["weight"]) == (1, 100)
    assert preferred["metadata"]["name"] == "flex"
    requirements = preferred["spec"]["template"]["spec"]["requirements"]
    assert [item["values"] for item in requirements if item["key"] == key] == [["c7i-flex", "m7i-flex"]]
    for field in ("taints", "startupTaints", "nodeClassRef", "expireAfter"):
        assert fallback["spec"]["template"]["spec"][field] == preferred["spec"]["template"]["spec"][field]
    assert fallback["spec"]["template"]["metadata"] == preferred["spec"]["template"]["metadata"]
    assert differences(body_of(POOL), fallback) == [("spec", "weight")]


def test_pools_that_cannot_be_split() -> None:
    ref = ObjectRef("NodePool", "general")
    for text, at, name, values, words in (
        (TEXTS["Deployment"], 0, "flex", ("a",), "only a NodePool"),
        (POOL.replace("weight: 50", "replicas: 2"), ref, "flex", ("a",), "a static pool"),
        (POOL, ref, "flex", (), "choose the requirements"),
        (POOL, ref, "general", ("a",), "is in the text already"),
        (POOL, ref, "", ("a",), "give it a name"),
        (POOL, 4, "flex", ("a",), "document 5 is not in the text"),
    ):
        with pytest.raises(EditRefusedError, match=words):
            split_pool(text, at, name=name, key="k", values=values)


CRON = (
    "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: nightly}\n"
    "spec:\n  jobTemplate:\n    spec:\n      template:\n        spec: {}\n"
)


@pytest.mark.parametrize(("workload", "ref", "spec"), [
    (TEXTS["Deployment"], ObjectRef("Deployment", "web", "default"), ("spec", "template", "spec")),
    (TEXTS["Pod"], ObjectRef("Pod", "web-1", "default"), ("spec",)),
    (CRON, ObjectRef("CronJob", "nightly"), ("spec", "jobTemplate", "spec", "template", "spec")),
])  # fmt: skip
def test_gives_a_workload_a_pool_of_its_own(workload: str, ref: ObjectRef, spec: Path) -> None:
    text = f"{POOL}---\n{workload}"
    after = own_pool(text, 0, ref, name="runners")
    pool = parse(after).find(ObjectRef("NodePool", "runners"))
    moved = parse(after).find(ref)
    assert pool is not None
    assert moved is not None
    taint = {"key": "dedicated", "value": "runners", "effect": "NoSchedule"}
    assert taint in value_at(pool.body or {}, ("spec", "template", "spec", "taints"))
    inner = value_at(moved.body or {}, spec)
    assert inner["nodeSelector"]["karpenter.sh/nodepool"] == "runners"
    assert {"key": "dedicated", "operator": "Equal", "value": "runners", "effect": "NoSchedule"} in inner["tolerations"]
    if ref.kind != "CronJob":
        assert check(parse(after), shipped_schemas()).problems == ()
    renamed = after.replace("name: runners", "name: again")
    assert own_pool(renamed, 0, ref, name="runners").count("operator: Equal\n") <= after.count("operator: Equal\n") + 1


def test_objects_without_pods_get_no_own_pool() -> None:
    text = f"{POOL}---\n{BARE_CLASS}"
    with pytest.raises(EditRefusedError, match="a EC2NodeClass has no pods"):
        own_pool(text, 0, 1, name="x")
    with pytest.raises(EditRefusedError, match="a copy of a NodePool"):
        own_pool(text, 1, 1, name="x")
    with pytest.raises(EditRefusedError, match="a document without a kind has no pods"):
        own_pool(f"{POOL}---\na: 1\n", 0, 1, name="x")


def test_adds_a_daemonset() -> None:
    after = add_daemonset(POOL, "agent", cpu="200m", memory="256Mi")
    assert check(parse(after), shipped_schemas()).problems == ()
    assert after.startswith(POOL)
    document = present(parse(after).find(ObjectRef("DaemonSet", "agent", "kube-system")))
    requests = value_at(document.body or {}, ("spec", "template", "spec", "containers", 0, "resources", "requests"))
    assert requests == {"cpu": "200m", "memory": "256Mi"}
    with pytest.raises(EditRefusedError):
        add_daemonset(after, "agent")
    assert append_document("", "a: 1\n") == "a: 1\n"
    assert append_document("a: 1", "b: 2") == "a: 1\n---\nb: 2\n"


def test_lists_edits_by_kind() -> None:
    assert quick_edits_for("EC2NodeClass")[0].id == "nodeclass.maxPods"
    assert quick_edits_for("Zebra") == ()
    assert as_text(None) == as_text([]) == ""
    assert as_text(True) == "true"
    assert value_at({"a": [1]}, ("a", 3)) is None


def setting(name: str) -> SettingEdit:
    return next(edit for edit in SETTING_EDITS if edit.name == name)


@pytest.mark.parametrize("edit", SETTING_EDITS, ids=lambda item: item.name)
def test_settings_take_their_own_defaults(edit: SettingEdit) -> None:
    assert edit.fault(edit.default) == ""
    assert edit.edit(edit.default) == SetSetting(edit.name, edit.default)
    assert edit.title


@pytest.mark.parametrize(("name", "text", "direction", "wanted"), [
    ("VM_MEMORY_OVERHEAD_PERCENT", "0.075", -1, "0.07"),
    ("VM_MEMORY_OVERHEAD_PERCENT", "0", -1, "0"),
    ("VM_MEMORY_OVERHEAD_PERCENT", "x", 1, "0.075"),
    ("RESERVED_ENIS", "0", 1, "1"),
    ("PREFERENCE_POLICY", "Respect", 1, "Ignore"),
    ("PREFERENCE_POLICY", "?", 1, "Respect"),
    ("FEATURE_GATES.SpotToSpotConsolidation", "false", 1, "true"),
    ("BATCH_MAX_DURATION", "5s", 1, "10s"),
])  # fmt: skip
def test_settings_step(name: str, text: str, direction: int, wanted: str) -> None:
    assert setting(name).step(text, direction) == wanted


@pytest.mark.parametrize(("name", "text"), [
    ("VM_MEMORY_OVERHEAD_PERCENT", "-1"),
    ("RESERVED_ENIS", "0.5"),
    ("MIN_VALUES_POLICY", "Maybe"),
    ("BATCH_MAX_DURATION", "10"),
])  # fmt: skip
def test_settings_that_karpenter_rejects_are_refused(name: str, text: str) -> None:
    with pytest.raises(EditRefusedError, match=name):
        setting(name).edit(text)


def action(name: str) -> QuickAction:
    return next(action for action in QUICK_ACTIONS if action.id == name)


@pytest.mark.parametrize(("name", "answers", "wanted"), [
    ("scale", {"replicas": " 5 "}, ScaleWorkload(ObjectRef("X", "a"), 5)),
    ("copies", {"count": "3"}, CopyPod(ObjectRef("X", "a"), 3)),
    ("outage", {"offerings": "spot m5.*"}, TakeOut("m5.*", "", "spot")),
    ("outage", {"offerings": "flex"}, TakeOut("*flex*", "", "")),
    ("outage", {"offerings": "us-east-1a"}, TakeOut("", "us-east-1a", "")),
    ("outage", {"offerings": "m7i-flex.large us-gov-west-1b on-demand"},
     TakeOut("m7i-flex.large", "us-gov-west-1b", "on-demand")),
    ("remove-node", {}, RemoveNode("a")),
    ("cordon", {}, CordonNode("a")),
    ("delete", {}, DeleteObject(ObjectRef("X", "a"))),
])  # fmt: skip
def test_actions_make_edits(name: str, answers: dict[str, str], wanted: Any) -> None:
    result = action(name)
    assert result.make(ObjectRef("X", "a"), answers) == (wanted,)
    assert set(answers) == {ask for ask, _ in result.asks}
    assert not re.search(r"\(any\)", result.title)


def test_actions_refuse_invalid_answers() -> None:
    for name, answers in (
        ("scale", {"replicas": "-1"}),
        ("scale", {}),
        ("copies", {"count": "0"}),
        ("outage", {"offerings": " "}),
        ("outage", {"offerings": "m5.large m6i.large"}),
    ):
        with pytest.raises(EditRefusedError):
            action(name).make(ObjectRef("X", "a"), answers)
    assert len(QUICK_ACTIONS) == 6


FLEX: Types = (
    {"family": ("c7i-flex",), "arch": ("amd64",), "cpu": ("4",), "zone": ("a", "b")},
    {"family": ("c7i",), "arch": ("amd64",), "cpu": ("64",), "zone": ("a",)},
    {"family": ("c7g",), "arch": ("arm64",), "cpu": ("4",), "zone": ("b",)},
)


def a_requirement(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(("requirement", "families"), [
    (("arch", "In", "amd64"), {"c7i-flex", "c7i"}),
    (("arch", "NotIn", "amd64"), {"c7g"}),
    (("cpu", "Gt", "4"), {"c7i"}),
    (("cpu", "Lt", "5"), {"c7i-flex", "c7g"}),
    (("cpu", "Gte", "64"), {"c7i"}),
    (("cpu", "Gt", "9" * 5000), set()),
    (("cpu", "Lt", "9" * 5000), {"c7i-flex", "c7i", "c7g"}),
    (("zone", "In", "b"), {"c7i-flex", "c7g"}),
    (("arch", "DoesNotExist"), set()),
    (("arch", "Exists"), {"c7i-flex", "c7i", "c7g"}),
    (("team", "In", "ml"), {"c7i-flex", "c7i", "c7g"}),
    (("family", "In", "c7g"), {"c7i-flex", "c7i", "c7g"}),
])  # fmt: skip
def test_offered_values_satisfy_the_other_requirements(requirement: tuple[str, ...], families: set[str]) -> None:
    asked = [a_requirement(*requirement)]
    assert values_left(asked, "family", FLEX) == families
    assert types_left([*asked, a_requirement("family", "In", *families)], FLEX) == (
        len(families) if requirement[0] != "family" else 1
    )


def test_values_without_a_matching_type_stay_listed_first_with_a_note() -> None:
    edit = next(edit for edit in QUICK_EDITS if edit.title == "families")
    key = "karpenter.k8s.aws/instance-family"
    types = tuple({key: texts["family"], "kubernetes.io/arch": texts["arch"]} for texts in FLEX)
    known_values = KnownValues(labels={key: ("c7g", "c7i", "c7i-flex")}, types=types)
    result = [a_requirement(key, "In", "c7g", "*"), a_requirement("kubernetes.io/arch", "In", "amd64")]
    body: dict[str, Any] = {"spec": {"template": {"spec": {"requirements": result}}}}
    outcome = [(option.value, option.is_on, option.detail) for option in edit.options(body, known_values)]
    assert outcome == [("c7g", True, NO_TYPE), ("*", True, NO_TYPE), ("c7i", False, ""), ("c7i-flex", False, "")]
