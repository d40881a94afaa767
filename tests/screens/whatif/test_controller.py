"""The what-if controller without a screen: edits, replays, answers and quick edits."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from karptui.errors import RequestError
from karptui.screens.whatif.controller import WhatIf
from karptui.screens.whatif.kept_scenarios import FileIsThereError
from karptui.screens.whatif.quick_edits import QuickEdits, control_of
from karptui.session.answers import ReplayState
from karptui.whatif.edits import ObjectRef, RemoveNode, SetField
from karptui.whatif.quick_edits.actions import QUICK_ACTIONS
from karptui.whatif.run import Answer
from karptui.whatif.scenario import Opening, Replay
from karptui.whatif.yaml.tree import Document
from tests.builders import present, text_of
from tests.screens.whatif.hand import Cluster, FakeKeyboard, Listener, SlowCluster, asked

POOL = ObjectRef("NodePool", "general")


def line_of(whatif: WhatIf, text: str) -> int:
    return whatif.book.sheet.text.split("\n").index(text)


async def opened(whatif: WhatIf) -> WhatIf:
    assert await whatif.open(Opening("more", (POOL,))) == ""
    return whatif


async def test_opening_loads_documents_and_applies_edits_to_their_text(whatif: WhatIf, listener: Listener) -> None:
    edits = (SetField(POOL, ("spec", "weight"), 60), RemoveNode("node-0"))
    failed = await whatif.open(Opening("less", (POOL, ObjectRef("NodePool", "gone")), edits, Replay.REMOVE))
    assert "gone" in failed
    sheet = whatif.book.sheet
    assert "  weight: 60\n" in sheet.text
    assert (sheet.name, sheet.edits, sheet.replay) == ("less", (RemoveNode("node-0"),), Replay.REMOVE)
    assert whatif.book.originals[POOL]["spec"]["weight"] == 50
    assert listener.told == ["sheet"]
    await whatif.open(Opening("other", (POOL,)))
    assert whatif.book.sheet.name == "less", "adding a document does not rename the scenario"
    assert whatif.book.sheet.text.count("kind: NodePool") == 1


async def test_a_scenario_is_named_after_its_edits_until_the_user_names_it(whatif: WhatIf, tmp_path: Path) -> None:
    await whatif.open(Opening("general", (POOL,)))
    assert whatif.name == "general"
    whatif.put_text(whatif.book.sheet.text.replace("weight: 50", "weight: 60"), "weight")
    assert whatif.name == "general: weight 50 → 60"
    whatif.put_edits((RemoveNode("node-0"),), "node-0")
    assert whatif.name == "general: weight 50 → 60 and 1 more"
    whatif.save_scenarios(target := str(tmp_path / "saved.yaml"))
    whatif.book.rename("mine")
    whatif.put_edits((), "none")
    assert whatif.name == "mine"
    await whatif.open_scenarios(target)
    whatif.put_edits((), "none")
    assert whatif.name == "general: weight 50 → 60", "an automatic name is updated again after it was saved and opened"
    assert whatif.book.names() == ["mine", "general: weight 50 → 60"]


async def test_typed_text_is_parsed_only_if_its_problems_are_read(whatif: WhatIf, listener: Listener) -> None:
    await opened(whatif)
    whatif.ask()
    text = whatif.book.sheet.text.replace("weight: 50", "weight: 500")
    whatif.typed(text, line_of(whatif, "  weight: 50"))
    assert listener.told[-1] == "typed"
    assert not whatif.documents.is_taken_apart
    assert whatif.explain(0) is None, "the explanation of the previous text is kept"
    assert whatif.documents.problems
    result = text_of(whatif.explain(0) or ())
    assert result.startswith("✘ line ")
    assert "spec.weight" in result


async def test_invalid_yaml_is_not_replayed(whatif: WhatIf, cluster: Cluster) -> None:
    await opened(whatif)
    whatif.put_text("kind: [", "broken")
    whatif.ask()
    assert asked(cluster) == []
    assert whatif.document_at(0) is None
    whatif.undo()
    whatif.ask()
    assert len(asked(cluster)) == 1


async def test_adding_a_comment_starts_no_new_replay(whatif: WhatIf, cluster: Cluster) -> None:
    await opened(whatif)
    whatif.ask()
    assert whatif.take(1, Answer(asked(cluster)[0], blockers_gained=()))
    cluster.replays.next_state = ReplayState(number=1, is_busy=True)
    whatif.typed("# why\n" + whatif.book.sheet.text, 0)
    whatif.ask()
    assert len(asked(cluster)) == 1
    cluster.replays.next_state = ReplayState(number=1, is_busy=True, moves=True)
    whatif.ask()
    assert len(asked(cluster)) == 2, "the cluster has changed since"


async def test_an_answer_to_an_earlier_scenario_is_ignored(whatif: WhatIf, cluster: Cluster) -> None:
    await opened(whatif)
    whatif.ask()
    first = 1, Answer(asked(cluster)[0], problem="no")
    whatif.put_text(whatif.book.sheet.text.replace("weight: 50", "weight: 60"), "weight")
    assert not whatif.take(*first), "the text has changed since"
    whatif.ask()
    assert not whatif.take(*first)
    assert whatif.take(2, Answer(asked(cluster)[1], problem="no room"))
    assert whatif.problem == "no room"
    assert whatif.answer is None, "an answer with a problem is not shown as a result"


async def test_a_changed_cluster_is_replayed_again_if_due_and_idle(
    whatif: WhatIf, cluster: Cluster, keys: FakeKeyboard
) -> None:
    await opened(whatif)
    assert not whatif.follow(), "nothing has been replayed yet"
    whatif.ask()
    assert cluster.replays.are_first[0]
    for state, follows in (
        (ReplayState(number=1, is_due=True), False),
        (ReplayState(number=1, is_outdated=True), False),
        (ReplayState(number=1, is_outdated=True, is_due=True, is_busy=True), False),
        (ReplayState(number=1, is_outdated=True, is_due=True), True),
    ):
        cluster.replays.next_state = state
        assert whatif.follow() is follows
    keys.is_typing = True
    whatif.follow()
    assert cluster.replays.were_typing[-1]


@pytest.mark.parametrize(
    ("form", "expected"),
    [("patch", "kubectl patch"), ("yaml", "weight: 60"), ("diff", "+  weight: 60"), ("scenario", "replay: pending")],
)
async def test_edits_can_be_exported(whatif: WhatIf, form: str, expected: str) -> None:
    await opened(whatif)
    whatif.put_text(whatif.book.sheet.text.replace("weight: 50", "weight: 60"), "weight")
    assert expected in whatif.exported(form)


async def test_scenarios_are_saved_to_a_file_and_opened_again(whatif: WhatIf, tmp_path: Path) -> None:
    await opened(whatif)
    whatif.put_text(whatif.book.sheet.text.replace("weight: 50", "weight: 60"), "weight")
    whatif.book.begin_copy(whatif.book.sheet)
    target = str(tmp_path / "two.yaml")
    whatif.save_scenarios(target)
    with pytest.raises(FileIsThereError):
        whatif.save_scenarios(target)
    whatif.save_scenarios(target, replaces=True)
    assert await whatif.open_scenarios(target) == 2
    assert whatif.book.names() == [f"general: weight 50 → 60{number}" for number in ("", " (2)", " (3)", " (4)")]
    assert whatif.book.scenarios()[3].edits == whatif.book.scenarios()[0].edits
    with pytest.raises(RequestError):
        await whatif.open_scenarios(str(tmp_path / "none.yaml"))


async def test_cancelling_while_a_file_is_opened_changes_nothing(whatif: WhatIf, tmp_path: Path) -> None:
    target = str(tmp_path / "two.yaml")
    await whatif.open(Opening("cordon", edits=(RemoveNode("node-0"),)))
    await whatif.open(Opening("lighter", edits=(SetField(POOL, ("spec", "weight"), 5),), is_new=True))
    whatif.save_scenarios(target)
    slow = SlowCluster()
    other = WhatIf(slow, slow.session)
    opening = asyncio.create_task(other.open_scenarios(target))
    await slow.asked_for.wait()
    opening.cancel()
    await asyncio.gather(opening, return_exceptions=True)
    assert [sheet.name for sheet in other.book.sheets] == ["unnamed"]
    slow.answers.set()
    assert await other.open_scenarios(target) == 2
    assert other.book.names() == ["cordon", "lighter"]
    assert other.book.unsaved() == []


async def test_a_listener_gets_no_notices_after_it_has_left(whatif: WhatIf, listener: Listener) -> None:
    whatif.leave(Listener())
    whatif.say("still here")
    whatif.leave(listener)
    whatif.say("gone")
    assert listener.notices == ["still here"]


@pytest.fixture
def quick(whatif: WhatIf) -> QuickEdits:
    return QuickEdits(whatif)


async def the_pool(whatif: WhatIf) -> Document:
    if whatif.documents.parsed.find(POOL) is None:
        await whatif.open(Opening("more", (POOL,)))
    return present(whatif.documents.parsed.find(POOL))


async def test_an_unreadable_document_is_not_edited(whatif: WhatIf, quick: QuickEdits, listener: Listener) -> None:
    await the_pool(whatif)
    whatif.put_text("kind: [", "broken")
    quick.step("quick/nodepool.weight", 1, None)
    quick.reset("quick/nodepool.weight", None)
    assert whatif.book.sheet.text == "kind: ["
    assert all("is invalid" in text for text in listener.notices)
    assert len(listener.notices) == 2


async def test_values_of_a_requirement_are_toggled_and_reset(whatif: WhatIf, quick: QuickEdits) -> None:
    document = await the_pool(whatif)
    capacity = present(control_of("quick/nodepool.capacity-type").quick)
    quick.put_toggles(capacity, document, {"spot", "on-demand"}, {"reserved"})
    after = await the_pool(whatif)
    assert capacity.current(after.body or {}) == "reserved"
    quick.reset("quick/nodepool.capacity-type", after)
    assert set(capacity.current((await the_pool(whatif)).body or {}).split(", ")) == {"spot", "on-demand"}


async def test_an_action_adds_its_edit_once_and_sets_the_replay(whatif: WhatIf, quick: QuickEdits) -> None:
    action = next(action for action in QUICK_ACTIONS if action.id == "remove-node")
    for _ in range(2):
        quick.act(action, ObjectRef("Node", "node-0"), {})
    assert whatif.book.sheet.edits == (RemoveNode("node-0"),)
    assert whatif.book.sheet.replay is Replay.REMOVE
    quick.reset("edit/0", None)
    assert whatif.book.sheet.edits == ()


async def test_an_action_with_invalid_input_changes_nothing_and_explains_why(
    whatif: WhatIf, quick: QuickEdits, listener: Listener
) -> None:
    action = next(action for action in QUICK_ACTIONS if action.id == "copies")
    quick.act(action, ObjectRef("Pod", "web", "shop"), {name: "many" for name, _ in action.asks})
    assert whatif.book.sheet.edits == ()
    assert listener.notices[0].startswith(f"{action.title}: ")


async def test_the_current_value_for_a_sweep_is_the_value_in_the_cluster(whatif: WhatIf, quick: QuickEdits) -> None:
    document = await the_pool(whatif)
    quick.step("quick/nodepool.weight", 1, document)
    assert quick.current_value("NodePool/general:spec.weight", document) == "50"
    assert quick.current_value("nothing", document) == ""
