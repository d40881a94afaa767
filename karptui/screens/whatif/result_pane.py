"""The right half: figures, lines that open, and how far the answer can be trusted."""

from __future__ import annotations

from typing import Final

from textual import getters, on
from textual.app import ComposeResult
from textual.content import Content

from karptui.kube.units import count_text
from karptui.session.replayer import Replayer
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.whatif.placements import ResultLine
from karptui.views.whatif.result import answer_lines, opened, price_note, trust_lines, version_text
from karptui.views.whatif.totals import mode_text, totals_lines
from karptui.whatif.answer import Answer
from karptui.whatif.scenario import Replay
from karptui.widgets.line_list import Line, LineList
from karptui.widgets.sentences import Sentences
from karptui.widgets.titled_pane import TitledPane

WIDE: Final = 60
"""Columns from which on there is room for versions in the title."""


class ResultPane(TitledPane):
    """Shows the last good answer."""

    figures = getters.query_one("#whatif-figures", Sentences)
    lines = getters.query_one(LineList)
    trust = getters.query_one("#whatif-trust", Sentences)

    def __init__(self) -> None:
        super().__init__(id="whatif-result")
        self._answer: Answer | None = None
        self._lines: tuple[ResultLine, ...] = ()
        self._open: frozenset[str] = frozenset()
        self._heading = self._rests_on = self._note = self._busy = ""

    def compose(self) -> ComposeResult:
        """Yield figures above lines above what they rest on."""
        yield Sentences(id="whatif-figures")
        yield LineList(id="whatif-lines")
        yield Sentences(id="whatif-trust")

    def focus_lines(self) -> None:
        """Give the keys to the lines."""
        self.lines.focus()

    def say(self, text: str) -> None:
        """Say something where the figures will be."""
        self.figures.set_lines((((text, Tone.ACTIVE),),))

    def show_heading(self, mode: Replay, answer: Answer | None) -> None:
        """Say what is replayed and how long it took."""
        is_shown = answer is not None and answer.scenario.replay is mode
        took = f" · {_took(answer.seconds)}" if answer is not None and is_shown else ""
        honesty = answer.honesty if answer is not None else None
        version = f" · {version_text(honesty)}" if honesty is not None and self.size.width > WIDE else ""
        self._heading, self._rests_on = f"Result ─ {mode_text(mode)}", f"{took}{version}"
        self._draw_title()

    def show_busy(self, replayer: Replayer) -> None:
        """Say how far a replay that is under way has come, in the place of what the answer before rests on."""
        busy = ""
        if replayer.is_busy:
            done, total = replayer.progress.done, replayer.progress.total
            busy = f" · ⟳ replaying{f' {count_text(done)} of {count_text(total)}' if total else ''}"
        if busy != self._busy:
            self._busy = busy
            self._draw_title()

    def note_change(self) -> None:
        """Say that the cluster has changed and the answer follows."""
        self._note = " · cluster changed"

    def _draw_title(self) -> None:
        rest = (self._busy, "$karp-active") if self._busy else (f"{clean(self._rests_on)}{self._note}", "$karp-muted")
        self.show_title(Content.assemble(f" {clean(self._heading)}", rest, " "))

    def show_answer(self, answer: Answer | None, problem: str) -> None:
        """Show an answer; where there is none, why.

        Args:
            answer: the last good one.
            problem: why the last question has none.
        """
        lead: list[Pieces] = []
        if problem:
            lead.append((("✘ ", Tone.FAULT), (problem, Tone.FAULT)))
            if answer is not None:
                lead.append((("below is the last good result", Tone.WARNING),))
        if answer is None or answer.difference is None:
            self._answer, self._lines = None, ()
            self._put(self.figures, tuple(lead))
            self._put(self.trust, ())
        else:
            if answer is not self._answer:
                self._answer = answer
                self._lines = answer_lines(answer)
            self._put(self.figures, (*lead, *totals_lines(answer.difference, price_note(answer))))
            self._put(self.trust, trust_lines(answer))
        self._show_lines()

    def _show_lines(self) -> None:
        shown = opened(self._lines, self._open, max(self.lines.size.width - 4, 40))
        self.lines.show_lines(
            [
                Line(line.key, _signed(line, self._open), line.is_heading, has_gap=line.is_heading and at > 0)
                for at, line in enumerate(shown)
            ]
        )

    def on_resize(self) -> None:
        """Break what is open as the new width asks."""
        self._show_lines()

    @on(LineList.Opened)
    def _opened(self, event: LineList.Opened) -> None:
        event.stop()
        self._open ^= {event.key.partition("#")[0]}
        self._show_lines()

    @staticmethod
    def _put(sentences: Sentences, lines: tuple[Pieces, ...]) -> None:
        """Show lines; without any the place is given to others."""
        sentences.set_lines(lines)
        sentences.set_class(not lines, "-empty")


def _signed(line: ResultLine, open_keys: frozenset[str]) -> Pieces:
    """Return a line, with a sign that it opens in its margin."""
    if not line.details:
        return line.pieces
    (first, tone), *rest = line.pieces
    sign = "▾" if line.key in open_keys else "▸"
    return ((sign, Tone.MUTED), (first.removeprefix(" "), tone), *rest)


def _took(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"
