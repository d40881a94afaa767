"""Ask…: questions about the object under the cursor, each answered by a screen."""

from __future__ import annotations

from karptui.screens.ask import QUESTIONS
from karptui.screens.blockers import NextScreen
from karptui.screens.node_detail import NodeDetailScreen
from karptui.screens.types import TypesOfPoolScreen
from karptui.screens.whatif.screen import WhatIfScreen
from tests.ui.conftest import MakeApp
from tests.ui.fleet import screen_text
from tests.ui.stage import press, running, settled


async def test_a_question_opens_the_screen_with_its_answer(make_app: MakeApp) -> None:
    async with running(make_app(), (120, 40)) as (app, pilot):
        for screen, words, question, answer in (
            ("1", "still", "still here?", NodeDetailScreen),
            ("2", "types", "Which instance types can", TypesOfPoolScreen),
            ("9", "next?", "What does Karpenter do next?", NextScreen),
            ("1", "something", "What happens if I change something?", WhatIfScreen),
        ):
            for key in (screen, "Q", *words):
                await pilot.press({"?": "question_mark", " ": "space"}.get(key, key))
            await settled(pilot)
            assert question in screen_text(app)
            await press(pilot, "enter")
            assert isinstance(app.screen, answer), question
            await press(pilot, "escape")
        names = {command.name for command in app.commands}
        assert {question.command.partition(" ")[0] for question in QUESTIONS if question.command} <= names
