from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from karptui.views.row import Pieces, Tone
from karptui.widgets.info_line import InfoLine, fitted
from tests.builders import texts_of
from tests.widgets.harness import WidgetApp


async def test_the_screen_is_laid_out_only_for_a_sentence_of_another_height() -> None:
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
def test_facts_fill_the_rest(sentence: str, facts: list[str], width: int, height: int, expected: list[str]) -> None:
    assert lines(sentence, facts, width, height) == expected


WORDS = st.text("ab界", min_size=1, max_size=6)


@given(st.lists(WORDS, max_size=12), st.lists(WORDS, max_size=6), st.integers(12, 40), st.integers(1, 4))
def test_lines_keep_to_the_room_and_no_fact_is_cut(words: list[str], facts: list[str], width: int, height: int) -> None:
    texts = lines(" ".join(words), facts, width, height)
    assert len(texts) <= height
    assert all(cell_len(text) <= width for text in texts)
    alone = lines(" ".join(words), [], width, height)
    kept = " ".join(alone[: max(height - 1, 2)])
    assert " ".join(texts).startswith(kept) or "…" in kept or "…" in " ".join(texts)
