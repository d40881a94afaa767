from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.color import Color
from rich.style import Style
from textual.content import Content
from textual.pilot import Pilot
from textual.scrollbar import ScrollBarRender

from karptui.views.row import Pieces, Tone
from karptui.widgets.info_line import InfoLine, fitted
from karptui.widgets.line_view import ScrollColumn, Thumb
from karptui.widgets.pick_list import Line, LineList
from karptui.widgets.row_table.table import RowTable
from karptui.widgets.sentences import Sentences
from tests.builders import texts_of
from tests.widgets.harness import WidgetApp
from tests.widgets.test_row_table import SPEC, many

BAR, BACK = Color.parse("#ff0000"), Color.parse("#000000")
WIDTH = 40


@given(st.integers(1, 80), st.integers(1, 200_000), st.floats(0, 1))
def test_the_scroll_bar_equals_that_of_textual(height: int, more: int, share: float) -> None:
    total = height + more
    position = int(share * more)
    segments = ScrollBarRender.render_bar(height, total, height, position, 1, True, BACK, BAR).segments
    column = ScrollColumn.draw(Thumb.of(height, total, position), Style(color=BAR, bgcolor=BACK))
    for y, theirs in enumerate(segments):
        ours = column.cell(y)
        assert theirs.style is not None
        assert ours.style is not None
        assert (ours.text, bool(ours.style.reverse)) == (theirs.text, bool(theirs.style.reverse))


@pytest.mark.parametrize(("height", "total"), [(0, 5), (5, 5), (5, 3)])
def test_the_scroll_bar_has_no_thumb_if_all_rows_are_visible(height: int, total: int) -> None:
    assert Thumb.of(height, total, 0) is None
    column = ScrollColumn.draw(None, Style(color=BAR, bgcolor=BACK))
    assert column.cell(0) == column.empty


async def rows_in_view(pilot: Pilot[None], table: RowTable) -> None:
    table.set_rows(many(100))
    table.focus()
    await pilot.pause()


async def test_the_scroll_bar_reacts_to_clicks_and_drags() -> None:
    table = RowTable(SPEC.headings())
    async with WidgetApp(table).run_test(size=(WIDTH, 12)) as pilot:
        await rows_in_view(pilot, table)
        await pilot.click(table, offset=(WIDTH - 1, 11))
        assert table.scroll_offset.y == 11
        await pilot.click(table, offset=(WIDTH - 1, 1))
        assert table.scroll_offset.y == 0
        assert table.cursor_index == 0, "scrolling does not move the cursor"
    table = RowTable(SPEC.headings())
    async with WidgetApp(table).run_test(size=(WIDTH, 12)) as pilot:
        await rows_in_view(pilot, table)
        await pilot.mouse_down(table, offset=(WIDTH - 1, 1))
        await pilot.hover(table, offset=(WIDTH - 1, 6))
        assert table.scroll_offset.y == pytest.approx(5 * 101 / 11, abs=1)
        await pilot.mouse_up(table, offset=(WIDTH - 1, 6))
        scrolled_to = table.scroll_offset.y
        await pilot.hover(table, offset=(WIDTH - 1, 2))
        assert table.scroll_offset.y == scrolled_to


def a_line(key: str, *, is_heading: bool = False) -> Line:
    return Line(key, ((f"line {key}", Tone.NORMAL),), is_heading)


async def test_enter_opens_lines_but_no_headings_and_duplicate_keys_are_dropped() -> None:
    app = WidgetApp(lines := LineList())
    async with app.run_test() as pilot:
        lines.focus()
        lines.show_lines((a_line("head", is_heading=True), a_line("a"), a_line("tail", is_heading=True), a_line("b")))
        await pilot.press("enter", "j", "enter", "g", "enter")
        assert app.heard == [LineList.Opened("a"), LineList.Opened("b"), LineList.Opened("a")]
        lines.show_lines((a_line("x"), a_line("x")))
        assert [pick.key for pick in lines.picks] == ["x"]


async def test_the_info_line_updates_the_layout_only_if_its_height_changes() -> None:
    line = InfoLine()
    app = WidgetApp(line)
    async with app.run_test(size=(20, 4)) as pilot:
        line.styles.height = "auto"
        await pilot.pause()
        layouts: list[object] = []
        app.screen.screen_layout_refresh_signal.subscribe(app.screen, layouts.append, immediate=True)
        for sentence, height in (("for 1s", 1), ("for 2s", 1), ("the quick brown fox for 3s", 2), ("for 4s", 1)):
            before = len(app.texts(line))
            line.say(sentence)
            await pilot.pause()
            assert len(app.texts(line)) == height
            assert bool(layouts) == (height != before)
            layouts.clear()


def line(*texts: str) -> Pieces:
    return tuple((text, Tone.NORMAL) for text in texts)


def lines(sentence: str, facts: list[str], width: int, height: int) -> list[str]:
    pairs = fitted(line(sentence) if sentence else (), [line(fact) for fact in facts], width, height)
    return texts_of(pairs)


@pytest.mark.parametrize(("sentence", "facts", "width", "height", "expected"), [
    pytest.param("why", ["a", "b"], 10, 3, ["why", "a · b"], id="on a line of their own"),
    pytest.param("why", ["a", "b"], 10, 1, ["why · a"], id="behind the sentence where there is no other line"),
    pytest.param("why not", ["abc", "d"], 11, 1, ["why not"], id="nothing behind it but the first"),
    pytest.param("why", ["ab", "abcdefg", "d"], 9, 2, ["why", "ab · d"], id="a shorter one where one has no room"),
    pytest.param("", ["a", "b"], 10, 2, ["a · b"], id="without a sentence"),
    pytest.param("why", [], 10, 2, ["why"], id="without facts"),
    pytest.param("why", ["abcdef", "ghij", "k"], 10, 3, ["why", "abcdef", "ghij · k"], id="on two lines"),
    pytest.param("why", ["abcdefghijk", "l"], 10, 2, ["why", "l"], id="never cut"),
    pytest.param("why", ["abcdefghijk"], 10, 2, ["why"], id="nothing fits"),
    pytest.param("one two three", ["a"], 7, 2, ["one two", "three"], id="the sentence keeps two lines of two"),
    pytest.param("one two tri", ["a"], 7, 2, ["one two", "tri · a"], id="and leaves what it does not need"),
    pytest.param("one two three four five", ["a"], 8, 3, ["one two", "three…", "a"],
                 id="two of three, the last for facts"),
    pytest.param("one two three four", ["a"], 8, 3, ["one two", "three", "four · a"],
                 id="three of three where it is whole so"),
    pytest.param("one two three", ["a"], 7, 1, ["one…"], id="nothing behind a sentence that is cut"),
    pytest.param("one two three", [], 7, 1, ["one…"], id="cut without facts too, behind a word"),
    pytest.param("held by it · would go there", [], 20, 1, ["held by it…"], id="behind a clause rather"),
    pytest.param("it · would go there then", [], 19, 1, ["it · would go…"], id="not a clause that ends too soon"),
    pytest.param("one · two", [], 6, 1, ["one…"], id="no separator before the ellipsis"),
    pytest.param("one two three four", [], 5, 3, ["one", "two", "thre…"], id="no line is kept for facts"),
    pytest.param("one two three", ["a"], 0, 0, [], id="no room at all"),
])  # fmt: skip
def test_facts_fill_the_space_after_the_sentence(
    sentence: str, facts: list[str], width: int, height: int, expected: list[str]
) -> None:
    assert lines(sentence, facts, width, height) == expected


WORDS = st.text("ab界", min_size=1, max_size=6)


@given(st.lists(WORDS, max_size=12), st.lists(WORDS, max_size=6), st.integers(12, 40), st.integers(1, 4))
def test_lines_fit_the_width_and_facts_are_not_cut(words: list[str], facts: list[str], width: int, height: int) -> None:
    texts = lines(" ".join(words), facts, width, height)
    assert len(texts) <= height
    assert all(cell_len(text) <= width for text in texts)
    alone = lines(" ".join(words), [], width, height)
    kept = " ".join(alone[: max(height - 1, 2)])
    assert " ".join(texts).startswith(kept) or "…" in kept or "…" in " ".join(texts)


def text_of(sentences: Sentences) -> str:
    assert isinstance(sentences.content, Content)
    return sentences.content.plain


LONG = (("* the quick brown fox jumps over", Tone.NORMAL), (" the [lazy] dog", Tone.STRONG))


async def test_lines_are_wrapped_again_if_the_width_changes() -> None:
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


async def test_sentences_update_the_layout_only_if_their_height_changes(monkeypatch: pytest.MonkeyPatch) -> None:
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
