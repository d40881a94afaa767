from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karptui.karpenter.requirement import Requirement
from karptui.karpenter.requirements import KeyConflict, Requirements, UndefinedKey
from karptui.kube.node_selector import NodeSelectorRequirement
from tests.karpenter.requirement_values import req, requirements

ZONE = "topology.kubernetes.io/zone"


class TestRequirements:
    def test_several_requirements_on_a_key_are_intersected(self) -> None:
        both = Requirements([req("In", "a", "b"), req("NotIn", "a")])
        assert both.get("k") == req("In", "b")
        assert Requirements([req("In", "a", "b")]).add(req("NotIn", "a")) == both
        assert hash(Requirements([req("NotIn", "a"), req("In", "a", "b")])) == hash(both)

    def test_undefined_keys_allow_everything(self) -> None:
        assert Requirements().get("k") == req("Exists")
        assert Requirements().find("k") is None
        assert "k" not in Requirements()
        assert not Requirements()

    def test_reads_what_objects_spell(self) -> None:
        made = Requirements.from_selectors(
            [NodeSelectorRequirement("a", "In", ("1",), 2), NodeSelectorRequirement("b", "Gt", ("3",))]
        )
        assert made == Requirements([req("In", "1", key="a", min_values=2), req("Gt", "3", key="b")])
        assert made.has_min_values()
        assert not made.only({"b"}).has_min_values()
        assert Requirements.from_labels({"a": "1"}) == Requirements([req("In", "1", key="a")])

    def test_text_is_sorted_and_hides_the_host_name(self) -> None:
        made = Requirements.from_labels({"b": "2", "a": "1", "kubernetes.io/hostname": "h"})
        assert str(made) == "a In [1], b In [2]"
        assert repr(made) == "Requirements(a In [1], b In [2], kubernetes.io/hostname In [h])"

    def test_replace_and_without_do_not_narrow(self) -> None:
        made = Requirements.from_labels({"a": "1", "b": "2"})
        assert made.replace(req("In", "9", key="a")).get("a") == req("In", "9", key="a")
        assert list(made.without("a").keys()) == ["b"]
        assert made != "a"

    @pytest.mark.parametrize(
        ("existing", "incoming", "plain", "well_known"),
        [
            ([], req("In", "a"), False, True),
            ([], req("Exists"), False, True),
            ([], req("Gt", "1"), False, True),
            ([], req("NotIn", "a"), True, True),
            ([], req("DoesNotExist"), True, True),
            ([req("In", "a")], req("In", "a", "b"), True, True),
            ([req("In", "a")], req("In", "b"), False, False),
            ([req("DoesNotExist")], req("NotIn", "b"), True, True),
            ([req("NotIn", "a")], req("In", "b"), True, True),
        ],
    )
    def test_compatible(
        self, existing: list[Requirement], incoming: Requirement, plain: bool, well_known: bool
    ) -> None:
        have, want = Requirements(existing), Requirements([incoming])
        assert have.compatible(want) is plain
        assert have.compatible(want, {"k"}) is well_known
        assert bool(have.incompatibilities(want)) is not plain
        assert bool(have.incompatibilities(want, {"k"})) is not well_known
        assert have.intersects(want) is not bool(have.conflicts(want))

    @given(st.lists(requirements, max_size=2), st.lists(requirements, max_size=2), st.booleans())
    def test_the_quick_answers_agree_with_the_reasons(
        self, mine: list[Requirement], theirs: list[Requirement], known: bool
    ) -> None:
        extra = Requirement.of("other", "In", ["x"])
        allowed = frozenset({"k"}) if known else frozenset()
        for have, want in [
            (Requirements(mine), Requirements([*theirs, extra])),
            (Requirements([*mine, extra]), Requirements(theirs)),
        ]:
            assert have.intersects(want) is not bool(have.conflicts(want))
            assert have.compatible(want, allowed) is not bool(have.incompatibilities(want, allowed))

    def test_reasons_read_as_karpenter_words_them(self) -> None:
        have = Requirements([req("In", "a", key="zone-x"), req("In", "b", key="y")])
        want = Requirements([req("In", "c", key="zone-x"), req("NotIn", "b", key="y")])
        assert [str(r) for r in have.incompatibilities(want)] == [
            "key y, y NotIn [b] not in y In [b]",
            "key zone-x, zone-x In [c] not in zone-x In [a]",
        ]
        assert [str(r) for r in have.incompatibilities(Requirements([req("In", "1", key="example.com/q")]))] == [
            'label "example.com/q" does not have known values'
        ]

    @pytest.mark.parametrize(
        ("key", "hint"),
        [
            ("zone", ZONE),
            ("example.com/zone", ZONE),
            ("io/nodepool", "karpenter.sh/nodepool"),
            ("team/group", "own/group"),
            ("nothing", ""),
        ],
    )
    def test_hint_of_a_misspelt_key(self, key: str, hint: str) -> None:
        have = Requirements.from_labels({"own/group": "x", "a": "1"})
        [reason] = have.incompatibilities(Requirements.from_labels({key: "x"}), {ZONE, "karpenter.sh/nodepool"})
        assert reason == UndefinedKey(key, hint)
        assert str(reason).endswith(f' (typo of "{hint}"?)' if hint else "does not have known values")

    def test_conflict_names_its_key(self) -> None:
        assert KeyConflict(req("In", "a"), req("In", "b")).key == "k"

    def test_emission_is_sorted_by_key_and_operator(self) -> None:
        made = Requirements([req("In", "x", key="b"), req("Gte", "5", key="a"), req("Lte", "9", key="a")])
        assert [(e["key"], e["operator"]) for e in made.as_selectors()] == [("a", "Gte"), ("a", "Lte"), ("b", "In")]
