from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karptui.kube.objects import OwnerReference, object_words
from karptui.kube.pod import Pod, PodTemplate, lost_pods
from karptui.kube.selectors import LabelSelector, LabelSelectorRequirement
from karptui.kube.taints import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE, Taint, Toleration, untolerated

from .vector_files import vectors

REPLICASET = OwnerReference("apps/v1", "ReplicaSet", "web-1", "u1", controller=True)


NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "web", "name": "front-1"}}


@pytest.mark.parametrize(("document", "words"), [
    (NODE, "a Kubernetes object, Node n1"),
    (POD, "a Kubernetes object, Pod web/front-1"),
    ({"kind": "Pod", "metadata": {"generateName": "x-"}}, "a Kubernetes object, Pod"),
    ({"apiVersion": "v1", "kind": "Node", "metadata": "n1"}, "a Kubernetes object, Node"),
    ({"apiVersion": "v1", "kind": "List", "items": [POD, NODE]},
     "a List of 2 Kubernetes objects, the first is Pod web/front-1"),
    ({"apiVersion": "v1", "kind": "NodeList", "items": [{"metadata": {"name": "n1"}}]},
     "a NodeList of 1 Kubernetes object, the first is Node n1"),
    ({"apiVersion": "v1", "kind": "List", "items": []}, "a List of 0 Kubernetes objects"),
    ({"apiVersion": "v1", "kind": "List", "items": [1]}, "a List of 1 Kubernetes object"),
    ({"apiVersion": "example.com/v1", "kind": "AllowList", "items": {}}, "a Kubernetes object, AllowList"),
    ([NODE], "a list of 1 Kubernetes object, the first is Node n1"),
    ({"karptui": 1, "objects": [POD]}, "a recording of 1 Kubernetes object, the first is Pod web/front-1"),
    ({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x" * 999}}, f"a Kubernetes object, Pod {'x' * 320}"),
    ({"kind": "Node"}, ""),
    ({"karptui": 1, "edits": []}, ""),
    ({"apiVersion": "v1", "kind": 3}, ""),
    ({"name": "x", "edits": []}, ""),
    ([], ""),
    ([{"name": "x"}], ""),
    ("Node", ""),
    (None, ""),
])  # fmt: skip
def test_description_of_a_document(document: Any, words: str) -> None:
    assert object_words(document) == words


@pytest.mark.parametrize(("owners", "annotations", "is_lost"), [
    ((), {}, True),
    ((REPLICASET,), {}, False),
    ((OwnerReference("example.com/v1", "Run", "a", "u", controller=False),), {}, True),
    ((OwnerReference("apps/v1", "DaemonSet", "agent", "u", controller=False),), {}, False),
    ((OwnerReference("v1", "Node", "node-1", "u", controller=True),), {}, False),
    ((), {"kubernetes.io/config.mirror": "hash"}, False),
])  # fmt: skip
def test_evicted_pods_without_a_controller_are_lost(
    owners: tuple[OwnerReference, ...], annotations: dict[str, str], *, is_lost: bool
) -> None:
    template = PodTemplate(namespace="tools", owners=owners, annotations=annotations)
    pods = [Pod(name="b", template=template), Pod(name="a", template=template)]
    ended = [
        Pod(name="done", template=template, phase="Succeeded"),
        Pod(name="ending", template=template, deletion_ns=1),
    ]
    assert lost_pods([*pods, *ended]) == (("tools/a", "tools/b") if is_lost else ())


LABELS = {"app": "web", "tier": ""}
labels = st.dictionaries(st.sampled_from("abc"), st.sampled_from("xyz"))


def where(key: str, operator: str, *values: str) -> LabelSelector:
    return LabelSelector(match_expressions=(LabelSelectorRequirement(key, operator, values),))


@pytest.mark.parametrize(("selector", "is_valid", "matches"), [
    (LabelSelector(), True, True),
    (LabelSelector(match_labels=(("app", "web"),)), True, True),
    (LabelSelector(match_labels=(("app", "web"), ("tier", ""))), True, True),
    (LabelSelector(match_labels=(("app", "db"),)), True, False),
    (LabelSelector(match_labels=(("missing", ""),)), True, False),
    (where("app", "In", "web", "db"), True, True),
    (where("app", "In", "db"), True, False),
    (where("missing", "In", "web"), True, False),
    (where("app", "NotIn", "db"), True, True),
    (where("app", "NotIn", "web"), True, False),
    (where("missing", "NotIn", "web"), True, True),
    (where("tier", "Exists"), True, True),
    (where("missing", "Exists"), True, False),
    (where("missing", "DoesNotExist"), True, True),
    (where("tier", "DoesNotExist"), True, False),
    (where("app", "In"), False, False),
    (where("app", "NotIn"), False, False),
    (where("app", "Exists", "web"), False, False),
    (where("missing", "DoesNotExist", "x"), False, False),
    (where("app", "Gt", "1"), False, False),
    (where("app", "in", "web"), False, False),
])  # fmt: skip
def test_selects(selector: LabelSelector, is_valid: bool, matches: bool) -> None:
    assert selector.is_valid is is_valid
    assert selector.matches(LABELS) is matches


@given(labels, st.sampled_from("abc"), st.frozensets(st.sampled_from("xyz"), min_size=1))
def test_each_operator_negates_its_opposite(given_labels: dict[str, str], key: str, values: set[str]) -> None:
    chosen = sorted(values)
    assert where(key, "In", *chosen).matches(given_labels) is not where(key, "NotIn", *chosen).matches(given_labels)
    assert where(key, "Exists").matches(given_labels) is not where(key, "DoesNotExist").matches(given_labels)


COMPARISONS = vectors("comparisons")
GPU = Taint("gpu", NO_SCHEDULE, "a100")


@pytest.mark.parametrize(("toleration", "taint", "expected"), [
    (Toleration(), Taint("k", NO_SCHEDULE), True),
    (Toleration(), Taint("k", NO_SCHEDULE, "v"), False),
    (Toleration(operator="Exists"), GPU, True),
    (Toleration(operator="Exists", effect=NO_EXECUTE), GPU, False),
    (Toleration("gpu", "Exists"), GPU, True),
    (Toleration("gpu", "Exists", effect=NO_SCHEDULE), GPU, True),
    (Toleration("gpu", "Exists", effect=PREFER_NO_SCHEDULE), GPU, False),
    (Toleration("cpu", "Exists"), GPU, False),
    (Toleration("gpu", "Equal", "a100"), GPU, True),
    (Toleration("gpu", "", "a100"), GPU, True),
    (Toleration("gpu", "Equal", "h100"), GPU, False),
    (Toleration("gpu", "Equal"), GPU, False),
    (Toleration("gpu", "Equal"), Taint("gpu", NO_SCHEDULE), True),
    (Toleration("", "Equal", "a100"), GPU, True),
    (Toleration("gpu", "Exists", "ignored"), GPU, True),
    (Toleration("gpu", "exists"), GPU, False),
    (Toleration("gpu", "Ge", "1"), Taint("gpu", NO_SCHEDULE, "1"), False),
    (Toleration("gpu", "Gt", "1", NO_EXECUTE), Taint("gpu", NO_SCHEDULE, "2"), False),
])  # fmt: skip
def test_toleration_covers_taint(toleration: Toleration, taint: Taint, expected: bool) -> None:
    assert toleration.tolerates(taint) is expected


@pytest.mark.parametrize(("operator", "group"), [("Lt", "less"), ("Gt", "greater")])
def test_compares_integers_as_kubernetes_does(operator: str, group: str) -> None:
    accepted = [
        [taint, toleration]
        for taint, toleration in product(COMPARISONS["values"], repeat=2)
        if Toleration("k", operator, toleration).tolerates(Taint("k", NO_SCHEDULE, taint))
    ]
    assert accepted == COMPARISONS[group]


def test_untolerated_keeps_order_and_counts_preferences() -> None:
    taints = (Taint("a", NO_SCHEDULE), Taint("b", PREFER_NO_SCHEDULE), Taint("c", NO_EXECUTE))
    assert untolerated(taints, (Toleration("a", "Exists"),)) == [taints[1], taints[2]]
    assert untolerated(taints, ()) == list(taints)
    assert untolerated((), ()) == []
