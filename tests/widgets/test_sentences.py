from __future__ import annotations

import pytest
from textual.content import Content

from karptui.views.row import Tone
from karptui.widgets.sentences import Sentences
from tests.widgets.harness import WidgetApp


def text_of(sentences: Sentences) -> str:
    """Return what is shown."""
    assert isinstance(sentences.content, Content)
    return sentences.content.plain


LONG = (("* the quick brown fox jumps over", Tone.NORMAL), (" the [lazy] dog", Tone.STRONG))


async def test_lines_follow_the_width() -> None:
    app = WidgetApp(Sentences())
    async with app.run_test(size=(24, 8)) as pilot:
        sentences = app.query_one(Sentences)
        sentences.set_hanging([LONG])
        assert text_of(sentences) == "* the quick brown fox \n   jumps over the [lazy] \n   dog"
        await pilot.resize_terminal(60, 8)
        await pilot.pause()
        assert text_of(sentences) == "* the quick brown fox jumps over the [lazy] dog"
        sentences.set_lines([LONG])
        await pilot.resize_terminal(24, 8)
        await pilot.pause()
        assert "\n" not in text_of(sentences)
    app = WidgetApp(Sentences())
    line = (("one", Tone.STRONG), (" · ", Tone.MUTED), ("two three", Tone.NORMAL))
    async with app.run_test(size=(40, 8)) as pilot:
        sentences = app.query_one(Sentences)
        sentences.set_wrapped([line, LONG])
        assert text_of(sentences) == "one · two three\n* the quick brown fox jumps over the\n[lazy] dog"
        await pilot.resize_terminal(4, 8)
        await pilot.pause()
        assert text_of(sentences).startswith("one\ntwo\nthr\nee\n*")


async def test_only_another_height_lays_the_screen_out_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    app = WidgetApp(Sentences())
    async with app.run_test(size=(20, 8)) as pilot:
        sentences = app.query_one(Sentences)
        laid_out: list[bool] = []
        update = Sentences.update

        def noting(self: Sentences, content: Content, *, layout: bool = True) -> None:
            laid_out.append(layout)
            update(self, content, layout=layout)

        monkeypatch.setattr(Sentences, "update", noting)
        result, two = (("one", Tone.NORMAL),), (("two", Tone.NORMAL),)
        for lines in ((result,), (two,), (result, two), (two, result), (LONG, result), (result, two), (), (two,)):
            sentences.set_lines(lines)
            await pilot.pause()
        assert laid_out == [True, False, True, False, True, True, True, True]
        assert sentences.size.height == 1
