from __future__ import annotations

from karptui.whatif.edits import PutObject, RemoveNode
from karptui.whatif.scenario import Replay, Scenario
from karptui.whatif.sheet import Sheet, joined, scenario_of, sheet_of, with_document
from karptui.whatif.yaml.tree import parse

POOL = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata:\n  name: a\nspec:\n  weight: 5\n"
OTHER = POOL.replace("name: a", "name: b")


def test_only_documents_that_differ_are_edits() -> None:
    text = joined([POOL, OTHER])
    parsed = parse(text)
    originals = {parsed.documents[0].ref: parsed.documents[0].body or {}}
    sheet = Sheet("x", text, (RemoveNode("n"),), Replay.REMOVE)
    assert scenario_of(sheet, parsed, originals) == Scenario("x", Replay.REMOVE, (PutObject(OTHER), RemoveNode("n")))


def test_a_scenario_becomes_work_again() -> None:
    scenario = Scenario("x", Replay.NEXT, (PutObject(POOL.rstrip("\n")), RemoveNode("n"), PutObject(OTHER)))
    assert sheet_of(scenario) == Sheet("x", f"{POOL}---\n{OTHER}", (RemoveNode("n"),), Replay.NEXT)


def test_a_document_takes_the_place_of_its_own() -> None:
    text = joined([POOL, OTHER])
    heavier = POOL.replace("weight: 5", "weight: 50").rstrip("\n")
    assert with_document(text, heavier) == f"{heavier}\n---\n{OTHER}"
    assert with_document(POOL, OTHER) == text
    assert with_document(POOL, "") == POOL
