"""The list of codes: complete, and read by everybody."""

from __future__ import annotations

import pytest

from karptui.disruption.codes import CODES, RANKS, Code, WhyCode, codes_shown_as


def test_every_code_has_its_facts() -> None:
    assert set(CODES) == set(Code)
    assert all(facts.word and facts.meaning for facts in CODES.values())
    assert {facts.why for facts in CODES.values()} <= set(RANKS) == set(WhyCode)


@pytest.mark.parametrize(
    ("why", "codes"),
    [
        (WhyCode.DND, {Code.POD_DND}),
        (WhyCode.PDB, {Code.PDB_EXHAUSTED, Code.PDB_MULTIPLE}),
        (WhyCode.BUDGET, {Code.BUDGET_ZERO}),
        (WhyCode.NEVER, {Code.CONSOLIDATION_DISABLED}),
        (WhyCode.OK, set()),
    ],
)
def test_codes_of_a_why_code(why: WhyCode, codes: set[Code]) -> None:
    assert set(codes_shown_as(why)) == codes


def test_blocker_words_differ_from_numbered_codes() -> None:
    assert not [facts.word for facts in CODES.values() if "×" in facts.word]
