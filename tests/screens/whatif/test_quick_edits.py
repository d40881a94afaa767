"""What the keys on a control do to the sheet in front, without a screen."""

from __future__ import annotations

import pytest

from karptui.screens.whatif.controller import WhatIf
from karptui.screens.whatif.quick_edits import QuickEdits, control_of
from karptui.whatif.edits import ObjectRef, RemoveNode
from karptui.whatif.quick_edits.actions import QUICK_ACTIONS
from karptui.whatif.scenario import Opening, Replay
from karptui.whatif.yaml.tree import Document
from tests.builders import present
from tests.screens.whatif.hand import Listener

POOL = ObjectRef("NodePool", "general")


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


async def test_values_of_a_requirement_are_exchanged(whatif: WhatIf, quick: QuickEdits) -> None:
    document = await the_pool(whatif)
    capacity = present(control_of("quick/nodepool.capacity-type").quick)
    quick.put_toggles(capacity, document, {"spot", "on-demand"}, {"reserved"})
    after = await the_pool(whatif)
    assert capacity.current(after.body or {}) == "reserved"
    quick.reset("quick/nodepool.capacity-type", after)
    assert set(capacity.current((await the_pool(whatif)).body or {}).split(", ")) == {"spot", "on-demand"}


async def test_an_action_adds_an_edit_once_and_replays_what_it_is_about(whatif: WhatIf, quick: QuickEdits) -> None:
    action = next(action for action in QUICK_ACTIONS if action.id == "remove-node")
    for _ in range(2):
        quick.act(action, ObjectRef("Node", "node-0"), {})
    assert whatif.book.sheet.edits == (RemoveNode("node-0"),)
    assert whatif.book.sheet.replay is Replay.REMOVE
    quick.reset("edit/0", None)
    assert whatif.book.sheet.edits == ()


async def test_refusals_change_nothing_and_say_why(whatif: WhatIf, quick: QuickEdits, listener: Listener) -> None:
    action = next(action for action in QUICK_ACTIONS if action.id == "copies")
    quick.act(action, ObjectRef("Pod", "web", "shop"), {name: "many" for name, _ in action.asks})
    assert whatif.book.sheet.edits == ()
    assert listener.notices[0].startswith(f"{action.title}: ")


async def test_what_a_sweep_begins_from(whatif: WhatIf, quick: QuickEdits) -> None:
    document = await the_pool(whatif)
    quick.step("quick/nodepool.weight", 1, document)
    assert quick.current_value("NodePool/general:spec.weight", document) == "50"
    assert quick.current_value("nothing", document) == ""
