from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from karptui.karpenter.pdb_limits import PdbBlockKind, PdbLimits, is_always_closed, refused_selectors
from karptui.karpenter.pod_predicates import PodPredicates
from karptui.kube.pod import Pod
from karptui.kube.selectors import LabelSelector, LabelSelectorRequirement
from karptui.kube.workload import PodDisruptionBudget
from tests.builders import NOW_NS, a_pdb, a_pod, a_pod_template

EMPTY_SELECTOR = LabelSelector()


@pytest.mark.parametrize(("pdbs", "kind"), [
    ([], None),
    ([a_pdb(allowed=1)], None),
    ([a_pdb(allowed=0)], PdbBlockKind.EXHAUSTED),
    ([a_pdb(allowed=5, name="a"), a_pdb(allowed=5, name="b")], PdbBlockKind.MULTIPLE),
    ([a_pdb(allowed=0, namespace="other")], None),
    ([a_pdb(allowed=0, selector=EMPTY_SELECTOR)], PdbBlockKind.EXHAUSTED),
    ([a_pdb(allowed=0, selector=None)], None),
    ([a_pdb(allowed=0, labels={"app": "api"})], None),
    ([a_pdb(selector=LabelSelector((), (LabelSelectorRequirement("app", "In", ("web",)),)))], PdbBlockKind.EXHAUSTED),
])  # fmt: skip
def test_current_pdb_block(pdbs: list[PodDisruptionBudget], kind: PdbBlockKind | None) -> None:
    block = PdbLimits(pdbs).block(a_pod(node="n"))
    assert (block.kind if block else None) == kind


def test_own_labels_of_a_pod_affect_only_that_pod() -> None:
    limits = PdbLimits([a_pdb(labels={"statefulset.kubernetes.io/pod-name": "db-0"})])
    template = a_pod_template()
    first = Pod(name="db-0", template=template, own_labels={"statefulset.kubernetes.io/pod-name": "db-0"})
    second = Pod(name="db-1", template=template, own_labels={"statefulset.kubernetes.io/pod-name": "db-1"})
    assert limits.block(first) is not None
    assert limits.block(second) is None
    of_index = LabelSelector((("index", "0"),))
    predicates = PodPredicates([replace(a_pdb(name="first", namespace="default"), selector=of_index)], NOW_NS)
    pods = [replace(a_pod(name=f"p-{i}", template=template), own_labels={"index": str(i)}) for i in (1, 0, 2)]
    assert [predicates.may_hold(pod) for pod in pods] == [False, True, False]
    assert not predicates.may_hold(a_pod(template=template))
    assert not predicates.may_hold(a_pod(template=template))


def test_invalid_selector_selects_nothing_and_is_reported() -> None:
    odd = LabelSelector((), (LabelSelectorRequirement("app", "Like", ("web",)),))
    pdb = replace(a_pdb(name="odd", namespace="default"), selector=odd)
    null = replace(a_pdb(name="null", namespace="default"), selector=None)
    assert PdbLimits([pdb]).matching(a_pod(labels={"app": "web"})) == ()
    (text,) = refused_selectors([pdb, null, a_pdb()])
    assert text.startswith("PodDisruptionBudget default/odd: the API refuses its selector; here it selects no pods")


@pytest.mark.parametrize(("fields", "is_closed"), [
    ({"min_available": 5}, True),
    ({"min_available": 4}, False),
    ({"min_available": "90%"}, True),
    ({"min_available": "80%"}, False),
    ({"min_available": "81%"}, True),
    ({"max_unavailable": "1%"}, False),
    ({"max_unavailable": "0%"}, True),
])  # fmt: skip
def test_percentages_of_five_pods_are_rounded_up(fields: dict[str, Any], *, is_closed: bool) -> None:
    assert is_always_closed(a_pdb(expected_pods=5, **fields)) is is_closed
    assert not is_always_closed(a_pdb(expected_pods=0, min_available="90%"))
