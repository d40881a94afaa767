from __future__ import annotations

from karptui.views.row import Tone
from karptui.widgets.info_line import InfoLine
from tests.widgets.harness import WidgetApp


async def test_a_sentence_without_facts_ends_with_an_ellipsis_where_it_is_cut() -> None:
    line = InfoLine()
    app = WidgetApp(line)
    async with app.run_test(size=(20, 4)) as pilot:
        line.say("the quick brown fox jumps", Tone.WARNING)
        await pilot.pause()
        assert [text.strip() for text in app.texts(line)] == ["the quick brown…"]
        line.say("the quick fox")
        await pilot.pause()
        assert [text.strip() for text in app.texts(line)] == ["the quick fox"]


async def test_a_line_without_a_height_of_its_own_takes_what_it_needs() -> None:
    line = InfoLine(id="notice")
    app = WidgetApp(line)
    async with app.run_test(size=(20, 6)) as pilot:
        line.display = True
        for text, expected in (
            ("the fox", ["the fox"]),
            ("the quick brown fox jumps", ["the quick brown", "fox jumps"]),
            ("the quick brown fox jumps over the dog", ["the quick brown", "fox jumps over th…"]),
            ("the fox", ["the fox"]),
        ):
            line.say(text)
            await pilot.pause()
            assert [drawn.strip() for drawn in app.texts(line)] == expected
