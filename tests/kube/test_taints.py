from __future__ import annotations

from itertools import product

import pytest

from karptui.kube.taints import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE, Taint, Toleration, untolerated

from .vector_files import vectors

COMPARISONS = vectors("comparisons")
GPU = Taint("gpu", NO_SCHEDULE, "a100")


@pytest.mark.parametrize(
    ("toleration", "taint", "expected"),
    [
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
    ],
)
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
