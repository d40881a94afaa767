from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given

from karptui.karpenter.requirement import MAX_INT64, MIN_INT64, Requirement, parse_integer
from tests.karpenter.requirement_values import VALUES, req, requirements

ZONE = "topology.kubernetes.io/zone"

EXAMPLES = [
    req("In", "a"),
    req("In", "a", "b"),
    req("In", "1"),
    req("In", "1", "9"),
    req("In", "x", "5"),
    req("NotIn", "a"),
    req("NotIn", "1", "5"),
    req("Exists"),
    req("DoesNotExist"),
    req("Gt", "4"),
    req("Gte", "5"),
    req("Lt", "6"),
    req("Lte", "2"),
    req("Gte", "5").intersect(req("Lte", "9")),
    req("NotIn", "7").intersect(req("Gte", "5")),
]


class TestConstruction:
    @pytest.mark.parametrize(
        ("operator", "values", "text"),
        [
            ("In", ["b", "a"], "k In [a b]"),
            ("In", [], "k DoesNotExist"),
            ("NotIn", ["b", "a"], "k NotIn [a b]"),
            ("NotIn", [], "k Exists"),
            ("Exists", [], "k Exists"),
            ("Exists", ["ignored"], "k Exists"),
            ("DoesNotExist", [], "k DoesNotExist"),
            ("Gt", ["3"], "k Exists >=4"),
            ("Gte", ["3"], "k Exists >=3"),
            ("Lt", ["3"], "k Exists <=2"),
            ("Lte", ["3"], "k Exists <=3"),
            ("Gt", ["-3"], "k Exists >=-2"),
            ("Gt", ["three"], "k Exists >=1"),
            ("Gt", [str(MAX_INT64)], "k DoesNotExist"),
            ("Gt", ["9" * 30], "k DoesNotExist"),
            ("Lt", [str(MIN_INT64)], f"k Exists <={MAX_INT64}"),
            ("In", list("gfedcba"), "k In [a b c d e and 2 others]"),
        ],
    )
    def test_text(self, operator: str, values: list[str], text: str) -> None:
        assert str(Requirement.of("k", operator, values)) == text

    def test_text_of_bounds_and_min_values(self) -> None:
        both = req("NotIn", "7").intersect(req("Gte", "5", min_values=2)).intersect(req("Lte", "9"))
        assert str(both) == "k NotIn [7] >=5 <=9 minValues 2"

    @pytest.mark.parametrize(
        ("alias", "key"),
        [
            ("beta.kubernetes.io/arch", "kubernetes.io/arch"),
            ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"),
            ("failure-domain.beta.kubernetes.io/zone", ZONE),
            ("topology.ebs.csi.aws.com/zone", ZONE),
        ],
    )
    def test_aliases_are_read_as_the_key_they_stand_for(self, alias: str, key: str) -> None:
        assert Requirement.of(alias, "In", ["x"]).key == key

    @pytest.mark.parametrize("operator", ["Like", "in", ""])
    def test_unknown_operator_allows_any_value(self, operator: str) -> None:
        """As in Karpenter's own code; an API server lets none pass, a file may hold one."""
        assert Requirement.of("k", operator, ["x"], 2) == Requirement.of("k", "Exists", (), 2)

    def test_bound_without_a_value_counts_as_zero(self) -> None:
        assert Requirement.of("k", "Gt") == Requirement.of("k", "Gt", ["0"])

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("5", 5),
            ("+5", 5),
            ("-5", -5),
            ("007", 7),
            (" 5", None),
            ("5_0", None),
            ("٥", None),
            ("", None),
            ("9" * 20, None),
        ],
    )
    def test_integers_are_those_of_go(self, text: str, value: int | None) -> None:
        assert parse_integer(text) == value


class TestRequirement:
    @pytest.mark.parametrize(
        ("requirement", "operator"),
        [
            (req("In", "a"), "In"),
            (req("NotIn", "a"), "NotIn"),
            (req("Gt", "4"), "Exists"),
            (req("In", "a").intersect(req("In", "b")), "DoesNotExist"),
            (req("Gt", "9").intersect(req("Lt", "3")), "DoesNotExist"),
            (req("NotIn", "a").intersect(req("Gt", "4")), "Exists"),
            (req("NotIn", "7").intersect(req("Gt", "4")), "NotIn"),
        ],
    )
    def test_operator_read_back(self, requirement: Requirement, operator: str) -> None:
        assert requirement.operator == operator
        assert requirement.is_negative == (operator in ("NotIn", "DoesNotExist"))

    @pytest.mark.parametrize(("one", "other"), list(product(EXAMPLES, EXAMPLES)))
    def test_intersection_allows_exactly_what_both_allow(self, one: Requirement, other: Requirement) -> None:
        both = one.intersect(other)
        for value in VALUES:
            assert both.allows(value) == (one.allows(value) and other.allows(value)), value
        assert both == other.intersect(one)

    @pytest.mark.parametrize(("one", "other"), list(product(EXAMPLES, EXAMPLES)))
    def test_having_an_intersection_means_that_it_is_not_empty(self, one: Requirement, other: Requirement) -> None:
        assert one.has_intersection(other) == (one.intersect(other).operator != "DoesNotExist")

    @given(requirements, requirements, requirements)
    def test_intersection_commutes_and_associates_in_what_it_allows(
        self, a: Requirement, b: Requirement, c: Requirement
    ) -> None:
        assert a.intersect(b) == b.intersect(a)
        left, right = a.intersect(b).intersect(c), a.intersect(b.intersect(c))
        assert [left.allows(v) for v in VALUES] == [right.allows(v) for v in VALUES]
        assert left.min_values == right.min_values
        assert a.intersect(a) == a

    def test_min_values_is_the_greater_of_both(self) -> None:
        assert req("In", "a", min_values=2).intersect(req("In", "b", min_values=5)) == req("DoesNotExist", min_values=5)
        assert req("Exists", min_values=2).intersect(req("In", "b")) == req("In", "b", min_values=2)
        assert req("In", "a", min_values=2).with_min_values(None) == req("In", "a")
        assert req("In", "a").with_min_values(None) is not None

    @pytest.mark.parametrize(
        ("existing", "incoming", "clash"),
        [
            (req("In", "a"), req("In", "b"), True),
            (req("DoesNotExist"), req("NotIn", "a"), False),
            (req("DoesNotExist"), req("DoesNotExist"), False),
            (req("NotIn", "a"), req("DoesNotExist"), False),
            (req("Exists"), req("DoesNotExist"), True),
            (req("Gt", "3"), req("DoesNotExist"), True),
            (req("In", "a"), req("DoesNotExist"), True),
            (req("In", "a"), req("NotIn", "a"), True),
            (req("In", "x"), req("Gt", "3"), True),
            (req("In", "x"), req("Exists"), False),
        ],
    )
    def test_negative_operators_never_clash_with_each_other(
        self, existing: Requirement, incoming: Requirement, clash: bool
    ) -> None:
        assert existing.clashes(incoming) is clash

    @pytest.mark.parametrize(
        ("requirement", "entries"),
        [
            (req("In", "b", "a"), [("In", ["a", "b"])]),
            (req("NotIn", "a"), [("NotIn", ["a"])]),
            (req("Exists"), [("Exists", None)]),
            (req("DoesNotExist"), [("DoesNotExist", None)]),
            (req("Gt", "3"), [("Gte", ["4"])]),
            (req("Lt", "3"), [("Lte", ["2"])]),
            (req("Gte", "5").intersect(req("Lte", "9")), [("Gte", ["5"]), ("Lte", ["9"])]),
            (req("NotIn", "7").intersect(req("Gte", "5")), [("Gte", ["5"])]),
        ],
    )
    def test_emission(self, requirement: Requirement, entries: list[tuple[str, list[str] | None]]) -> None:
        assert [(e["operator"], e.get("values")) for e in requirement.as_selectors()] == entries

    def test_emission_carries_min_values(self) -> None:
        assert req("In", "a", min_values=3).as_selectors() == [
            {"key": "k", "operator": "In", "values": ["a"], "minValues": 3}
        ]
