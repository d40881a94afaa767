from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.content import Content

from karptui.views.row import Pieces, Tone
from karptui.widgets.sentences import Sentences, hanging
from tests.widgets.harness import WidgetApp


def text_of(sentences: Sentences) -> str:
    """Return what is shown."""
    assert isinstance(sentences.content, Content)
    return sentences.content.plain


LONG = (("* the quick brown fox jumps over", Tone.NORMAL), (" the [lazy] dog", Tone.STRONG))


async def test_lines_are_shown_as_they_are() -> None:
    app = WidgetApp(Sentences())
    async with app.run_test(size=(20, 8)):
        sentences = app.query_one(Sentences)
        sentences.set_lines([LONG, (("second", Tone.MUTED),)])
        assert text_of(sentences) == "* the quick brown fox jumps over the [lazy] dog\nsecond"
        shown = sentences.content
        sentences.set_lines([LONG, (("second", Tone.MUTED),)])
        assert sentences.content is shown
        sentences.set_lines(())
        assert text_of(sentences) == ""


async def test_hanging_lines_follow_the_width() -> None:
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


async def test_wrapped_lines_follow_the_width_and_begin_with_no_separator() -> None:
    app = WidgetApp(Sentences())
    line = (("one", Tone.STRONG), (" · ", Tone.MUTED), ("two three", Tone.NORMAL))
    async with app.run_test(size=(40, 8)) as pilot:
        sentences = app.query_one(Sentences)
        sentences.set_wrapped([line, LONG])
        assert text_of(sentences) == "one · two three\n* the quick brown fox jumps over the\n[lazy] dog"
        await pilot.resize_terminal(4, 8)
        await pilot.pause()
        assert text_of(sentences).startswith("one\ntwo\nthree\n*")


async def test_the_same_lines_are_not_broken_again() -> None:
    app = WidgetApp(Sentences())
    broken = []

    def breaking(lines: Iterable[Pieces], width: int) -> tuple[Pieces, ...]:
        broken.append(width)
        return tuple(lines)

    async with app.run_test(size=(40, 8)):
        sentences = app.query_one(Sentences)
        for _ in range(2):
            sentences._break((LONG,), breaking)
        assert len(broken) == 1
        sentences.set_lines(())
        sentences._break((LONG,), breaking)
        assert len(broken) == 2
        assert text_of(sentences).startswith("* the quick")


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
        one, two = (("one", Tone.NORMAL),), (("two", Tone.NORMAL),)
        for lines in ((one,), (two,), (one, two), (two, one), (LONG, one), (one, two), (), (two,)):
            sentences.set_lines(lines)
            await pilot.pause()
        assert laid_out == [True, False, True, False, True, True, True, True]
        assert sentences.size.height == 1


def broken(text: str, width: int, indent: int = 0) -> list[str]:
    first, between, rest = text.partition(" · ")
    pieces = tuple((part, Tone.NORMAL) for part in (first, between, rest))
    return ["".join(word for word, _ in line).rstrip() for line in hanging((pieces,), width, indent)]


@pytest.mark.parametrize(
    ("text", "width", "indent", "expected"),
    [
        pytest.param("node abc · of def", 10, 0, ["node abc ·", "of def"], id="a separator that fits stays"),
        pytest.param("node abcd · of def", 10, 0, ["node abcd", "of def"], id="one that does not is the break itself"),
        pytest.param("node abcd · of def", 9, 0, ["node abcd", "of def"], id="where the line is full"),
        pytest.param("nodes abcdef · of", 13, 2, ["nodes abcdef", "  of"], id="and what follows is set in"),
        pytest.param("node abcd ·", 9, 0, ["node abcd"], id="nothing behind it leaves no empty line"),
        pytest.param("a · b", 0, 0, ["a · b"], id="no width yet"),
        pytest.param("", 10, 0, [""], id="an empty line"),
        pytest.param("is team.io/role=web now", 12, 0, ["is team.io/", "role=web now"], id="a label between its parts"),
        pytest.param("is team.io/role=web", 9, 0, ["is", "team.io/", "role=web"], id="in a line of its own"),
        pytest.param("spot,on-demand,x", 13, 2, ["spot,", "  on-demand,x"], id="a list between its items"),
        pytest.param("abcdefghijkl a", 10, 0, ["abcdefghijkl", "a"], id="a word without parts stays whole"),
    ],
)
def test_no_line_begins_with_a_separator(text: str, width: int, indent: int, expected: list[str]) -> None:
    assert broken(text, width, indent) == expected


@given(st.lists(st.text("ab界", min_size=1, max_size=6), min_size=1, max_size=14), st.integers(12, 40))
def test_lines_keep_their_words_and_their_width(words: list[str], width: int) -> None:
    lines = broken(" · ".join(words), width)
    assert all(cell_len(line) <= width for line in lines)
    assert not any(line.lstrip().startswith("·") for line in lines)
    assert [word for line in lines for word in line.split() if word != "·"] == words
