from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karptui.karpenter.requirements import MAX_INT64, MIN_INT64, Requirement, Requirements, UndefinedKey, parse_integer
from tests.karpenter.requirement_values import VALUES, req, requirements

ZONE = "topology.kubernetes.io/zone"

EXAMPLES = [
    req("In", "a"), req("In", "a", "b"), req("In", "1"), req("In", "1", "9"), req("In", "x", "5"), req("NotIn", "a"),
    req("NotIn", "1", "5"), req("Exists"), req("DoesNotExist"), req("Gt", "4"), req("Gte", "5"), req("Lt", "6"),
    req("Lte", "2"), req("Gte", "5").intersect(req("Lte", "9")), req("NotIn", "7").intersect(req("Gte", "5")),
]  # fmt: skip


class TestConstruction:
    @pytest.mark.parametrize(("operator", "values", "text"), [
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
        ("Gt", ["9" * 5000], "k DoesNotExist"),
        ("Lt", ["-" + "9" * 5000], f"k Exists <={MAX_INT64}"),
        ("Gte", ["0" * 5000 + "12"], "k Exists >=12"),
        ("Gte", ["9" * 5000 + "x"], "k Exists >=0"),
        ("Lt", [str(MIN_INT64)], f"k Exists <={MAX_INT64}"),
        ("In", list("gfedcba"), "k In [a b c d e and 2 others]"),
    ])  # fmt: skip
    def test_text(self, operator: str, values: list[str], text: str) -> None:
        assert str(Requirement.of("k", operator, values)) == text

    @pytest.mark.parametrize(("alias", "key"), [
        ("beta.kubernetes.io/arch", "kubernetes.io/arch"),
        ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"),
        ("failure-domain.beta.kubernetes.io/zone", ZONE),
        ("topology.ebs.csi.aws.com/zone", ZONE),
    ])  # fmt: skip
    def test_aliases_are_read_as_the_key_they_stand_for(self, alias: str, key: str) -> None:
        assert Requirement.of(alias, "In", ["x"]).key == key

    @pytest.mark.parametrize(("text", "value"), [
        ("5", 5),
        ("+5", 5),
        ("-5", -5),
        ("007", 7),
        (" 5", None),
        ("5_0", None),
        ("٥", None),
        ("", None),
        ("9" * 20, None),
        ("9" * 5000, None),
        ("-" + "9" * 5000, None),
        ("+" + "0" * 5000 + "7", 7),
        ("-" + "0" * 5000 + "7", -7),
        ("0" * 5000, 0),
        (str(MAX_INT64), MAX_INT64),
        (str(MIN_INT64), MIN_INT64),
        (str(MIN_INT64 - 1), None),
        ("0" * 50 + str(MAX_INT64 + 1), None),
        ("+-" + "5" * 30, None),
    ])  # fmt: skip
    def test_integers_parse_like_go(self, text: str, value: int | None) -> None:
        assert parse_integer(text) == value


class TestRequirement:
    @pytest.mark.parametrize("requirement", EXAMPLES)
    def test_intersection_allows_exactly_what_both_allow(self, requirement: Requirement) -> None:
        for other in EXAMPLES:
            both = requirement.intersect(other)
            for value in VALUES:
                assert both.allows(value) == (requirement.allows(value) and other.allows(value)), (other, value)
            assert both == other.intersect(requirement)
            assert requirement.has_intersection(other) == (both.operator != "DoesNotExist"), other

    @given(requirements, requirements, requirements)
    def test_intersection_commutes_and_associates(self, a: Requirement, b: Requirement, c: Requirement) -> None:
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


class TestRequirements:
    @given(st.lists(requirements, max_size=2), st.lists(requirements, max_size=2), st.booleans())
    def test_quick_checks_agree_with_the_lists_of_conflicts(
        self, mine: list[Requirement], theirs: list[Requirement], is_known: bool
    ) -> None:
        extra = Requirement.of("other", "In", ["x"])
        allowed = frozenset({"k"}) if is_known else frozenset()
        for have, want in [
            (Requirements(mine), Requirements([*theirs, extra])),
            (Requirements([*mine, extra]), Requirements(theirs)),
        ]:
            assert have.intersects(want) is not bool(have.conflicts(want))
            assert have.compatible(want, allowed) is not bool(have.incompatibilities(want, allowed))

    @pytest.mark.parametrize(("key", "hint"), [
        ("zone", ZONE),
        ("example.com/zone", ZONE),
        ("io/nodepool", "karpenter.sh/nodepool"),
        ("team/group", "own/group"),
        ("nothing", ""),
    ])  # fmt: skip
    def test_hint_of_a_misspelt_key(self, key: str, hint: str) -> None:
        have = Requirements.from_labels({"own/group": "x", "a": "1"})
        [reason] = have.incompatibilities(Requirements.from_labels({key: "x"}), {ZONE, "karpenter.sh/nodepool"})
        assert isinstance(reason, UndefinedKey)
        assert (reason.key, reason.hint) == (key, hint)
        assert str(reason).endswith(f' (typo of "{hint}"?)' if hint else "does not have known values")
