"""What is edited, asked and answered, without a screen."""

from __future__ import annotations

from copy import copy
from pathlib import Path

import pytest

from karptui.decode.kinds import Kind
from karptui.screens.whatif.controller import FOLLOW_AFTER_NS, FOLLOW_TYPED_NS, WhatIf
from karptui.screens.whatif.workbook import FileError, FileIsThereError
from karptui.session.cluster_view import ClusterView
from karptui.sources.base import SourceError
from karptui.state.deltas import Batch, KindDelta
from karptui.state.reducer import reduce
from karptui.whatif.edits import ObjectRef, RemoveNode, SetField
from karptui.whatif.opening import Opening
from karptui.whatif.run import Answer
from karptui.whatif.scenario import Replay
from tests.builders import a_pod
from tests.screens.whatif.hand import Cluster, Keys, Listener, asked

POOL = ObjectRef("NodePool", "general")


def line_of(whatif: WhatIf, text: str) -> int:
    return whatif.book.sheet.text.split("\n").index(text)


async def opened(whatif: WhatIf) -> WhatIf:
    assert await whatif.open(Opening("more", (POOL,))) == ""
    return whatif


def newer(cluster: Cluster) -> ClusterView:
    before, pod = cluster.view, a_pod(name="new")
    state = reduce(before.state, Batch({Kind.POD: KindDelta({pod.key: pod})}))
    return ClusterView(state, before.statuses, before, evidence=before.evidence)


async def test_opening_reads_documents_and_makes_text_of_edits_of_them(whatif: WhatIf, listener: Listener) -> None:
    edits = (SetField(POOL, ("spec", "weight"), 60), RemoveNode("node-0"))
    failed = await whatif.open(Opening("less", (POOL, ObjectRef("NodePool", "gone")), edits, Replay.REMOVE))
    assert "gone" in failed
    sheet = whatif.book.sheet
    assert "  weight: 60\n" in sheet.text
    assert (sheet.name, sheet.edits, sheet.replay) == ("less", (RemoveNode("node-0"),), Replay.REMOVE)
    assert whatif.book.originals[POOL]["spec"]["weight"] == 50
    assert listener.told == ["sheet"]
    await whatif.open(Opening("other", (POOL,)))
    assert whatif.book.sheet.name == "less", "what is added leaves the name of a sheet that is worked on"
    assert whatif.book.sheet.text.count("kind: NodePool") == 1


async def test_a_document_is_added_once(whatif: WhatIf, listener: Listener) -> None:
    await whatif.add_document(POOL)
    await whatif.add_document(POOL)
    assert listener.told == ["text"]
    assert whatif.book.sheet.text.count("kind: NodePool") == 1
    with pytest.raises(SourceError):
        await whatif.add_document(ObjectRef("NodePool", "gone"))


async def test_what_is_typed_is_taken_apart_only_when_it_is_asked(whatif: WhatIf, listener: Listener) -> None:
    await opened(whatif)
    whatif.ask()
    text = whatif.book.sheet.text.replace("weight: 50", "weight: 500")
    whatif.typed(text, line_of(whatif, "  weight: 50"))
    assert listener.told[-1] == "typed"
    assert not whatif.documents.is_taken_apart
    assert whatif.explain(0) is None, "what was said of the text before stands"
    assert whatif.documents.problems
    said = "".join(text for text, _ in whatif.explain(0) or ())
    assert said.startswith("✘ line ")
    assert "spec.weight" in said


async def test_a_text_that_cannot_be_read_is_not_asked(whatif: WhatIf) -> None:
    await opened(whatif)
    whatif.put_text("kind: [", "broken")
    whatif.ask()
    assert asked(whatif) == []
    assert whatif.document_at(0) is None
    whatif.undo()
    whatif.ask()
    assert len(asked(whatif)) == 1


async def test_a_comment_asks_nothing_new(whatif: WhatIf) -> None:
    await opened(whatif)
    whatif.ask()
    scenario = asked(whatif)[0][2]
    assert whatif.take(Answer(scenario, blockers_gained=()))
    whatif.replayer.is_busy = True  # type: ignore[misc]
    whatif.typed("# why\n" + whatif.book.sheet.text, 0)
    whatif.ask()
    assert len(asked(whatif)) == 1


async def test_an_answer_to_another_question_is_not_taken(whatif: WhatIf) -> None:
    await opened(whatif)
    whatif.ask()
    first = Answer(asked(whatif)[0][2], problem="no")
    whatif.put_text(whatif.book.sheet.text.replace("weight: 50", "weight: 60"), "weight")
    assert not whatif.take(first), "the text is another one since"
    whatif.ask()
    assert not whatif.take(first)
    assert whatif.take(Answer(asked(whatif)[1][2], problem="no room"))
    assert whatif.problem == "no room"
    assert whatif.answer is None, "an answer without a difference is no good one"


async def test_the_cluster_that_was_made_ready_is_asked_until_it_is_too_old(
    whatif: WhatIf, cluster: Cluster, keys: Keys
) -> None:
    await opened(whatif)
    whatif.ask()
    first = cluster.view
    cluster.view = later = newer(cluster)
    assert whatif.view_to_ask() is first
    keys.is_typing = True
    cluster.now += FOLLOW_AFTER_NS
    assert whatif.view_to_ask() is first, "somebody types"
    assert not whatif.follow()
    keys.is_typing = False
    assert whatif.view_to_ask() is later
    assert whatif.follow()
    keys.is_typing = True
    cluster.now += FOLLOW_TYPED_NS - FOLLOW_AFTER_NS
    assert whatif.view_to_ask() is later


async def test_other_prices_and_another_cluster_are_asked_at_once(whatif: WhatIf, cluster: Cluster) -> None:
    await opened(whatif)
    whatif.ask()
    view = cluster.view
    cluster.view = priced = ClusterView(view.state, view.statuses, view, evidence=copy(view.evidence))
    assert whatif.view_to_ask() is priced
    cluster.view = same = ClusterView(view.state, view.statuses, view, evidence=view.evidence)
    assert whatif.view_to_ask() is same, "it is the cluster that was asked"
    assert not whatif.follow()


async def test_undo_says_what_it_undoes(whatif: WhatIf, listener: Listener) -> None:
    await opened(whatif)
    whatif.put_text(whatif.book.sheet.text.replace("weight: 50", "weight: 60"), "weight")
    whatif.undo()
    assert "weight: 50" in whatif.book.sheet.text
    whatif.redo()
    assert "weight: 60" in whatif.book.sheet.text
    whatif.redo()
    assert listener.said == ["undone: weight", "done again: weight", "nothing to do again"]


@pytest.mark.parametrize(
    ("form", "expected"),
    [("patch", "kubectl patch"), ("yaml", "weight: 60"), ("diff", "+  weight: 60"), ("scenario", "replay: pending")],
)
async def test_what_was_edited_is_exported(whatif: WhatIf, form: str, expected: str) -> None:
    await opened(whatif)
    whatif.put_text(whatif.book.sheet.text.replace("weight: 50", "weight: 60"), "weight")
    assert expected in whatif.exported(form)


async def test_scenarios_go_to_a_file_and_come_back(whatif: WhatIf, tmp_path: Path) -> None:
    await opened(whatif)
    whatif.put_text(whatif.book.sheet.text.replace("weight: 50", "weight: 60"), "weight")
    whatif.duplicate()
    target = str(tmp_path / "two.yaml")
    whatif.save_scenarios(target)
    with pytest.raises(FileIsThereError):
        whatif.save_scenarios(target)
    whatif.save_scenarios(target, replaces=True)
    assert await whatif.open_scenarios(target) == 2
    assert [sheet.name for sheet in whatif.book.sheets] == ["more", "more (2)", "more (3)", "more (4)"]
    assert whatif.scenarios()[3].edits == whatif.scenarios()[0].edits
    with pytest.raises(FileError):
        await whatif.open_scenarios(str(tmp_path / "none.yaml"))


async def test_nobody_is_told_once_the_screen_is_left(whatif: WhatIf, listener: Listener) -> None:
    whatif.leave(Listener())
    whatif.say("still here")
    whatif.leave(listener)
    whatif.say("gone")
    assert listener.said == ["still here"]
