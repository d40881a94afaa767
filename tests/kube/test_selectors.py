from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karptui.kube.selectors import LabelSelector, LabelSelectorRequirement

LABELS = {"app": "web", "tier": ""}
labels = st.dictionaries(st.sampled_from("abc"), st.sampled_from("xyz"))


def where(key: str, operator: str, *values: str) -> LabelSelector:
    return LabelSelector(match_expressions=(LabelSelectorRequirement(key, operator, values),))


@pytest.mark.parametrize(
    ("selector", "is_valid", "matches"),
    [
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
    ],
)
def test_selects(selector: LabelSelector, is_valid: bool, matches: bool) -> None:
    assert selector.is_valid is is_valid
    assert selector.matches(LABELS) is matches


def test_nothing_matches_an_unknown_operator() -> None:
    assert not LabelSelectorRequirement("app", "Gt", ("1",)).matches({"app": "2"})


@given(labels, st.sampled_from("abc"), st.frozensets(st.sampled_from("xyz"), min_size=1))
def test_each_operator_is_the_negation_of_its_opposite(
    given_labels: dict[str, str], key: str, values: set[str]
) -> None:
    chosen = sorted(values)
    assert where(key, "In", *chosen).matches(given_labels) is not where(key, "NotIn", *chosen).matches(given_labels)
    assert where(key, "Exists").matches(given_labels) is not where(key, "DoesNotExist").matches(given_labels)
