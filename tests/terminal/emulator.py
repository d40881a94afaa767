"""A terminal emulator that records the modes a program switches on, to check that it switches them off."""

from __future__ import annotations

import codecs
import re
from collections import defaultdict
from typing import Any, Final

import pyte
from pyte import modes

ALTERNATE: Final = 1049
MOUSE: Final = frozenset({1000, 1002, 1003, 1006, 1015, 1016})
FOCUS: Final = 1004
PASTE: Final = 2004
IN_BAND_RESIZE: Final = 2048
FRAME: Final = 2026
"""Synchronized output: on from the first byte of a frame to its last."""

_PRIVATE: Final = re.compile("\x1b\\[([<>=])([\\d;]*)([a-zA-Z])")
"""Sequences that pyte takes for text: kitty's keyboard protocol and xterm's key options."""
_ASKS_FOR_FRAMES: Final = f"\x1b[?{FRAME}$p"
_UNFINISHED: Final = re.compile("\x1b(?:\\[[^a-zA-Z]*)?$")


class Emulator(pyte.Screen):
    """A main and an alternate screen, the modes that are on, and whether a frame is being drawn."""

    def __init__(self, columns: int, lines: int) -> None:
        self.on: set[int] = set()
        """Private modes that were switched on, and not off since."""
        self.keyboard: list[str] = []
        """Keyboard modes that the program set, the last on top."""
        self.looks: set[int] = set()
        """Styles that the program set: the numbers of SGR."""
        self.answers = b""
        """The terminal's answers to the program."""
        self._kept: dict[int, Any] | None = None
        self._kept_cursor = (0, 0)
        self._held = ""
        super().__init__(columns, lines)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._stream = pyte.Stream(self)

    def feed(self, data: bytes) -> None:
        """Read the output of a program."""
        text = self._held + self._decoder.decode(data)
        unfinished = _UNFINISHED.search(text)
        self._held = unfinished[0] if unfinished else ""
        if _ASKS_FOR_FRAMES in text.removesuffix(self._held):
            self.answers += f"\x1b[?{FRAME};2$y".encode()
        self._stream.feed(_PRIVATE.sub(self._ask, text.removesuffix(self._held)))

    def _ask(self, asked: re.Match[str]) -> str:
        if asked[3] == "u" and asked[1] == ">":
            self.keyboard.append(asked[2])
        elif asked[3] == "u" and asked[1] == "<" and self.keyboard:
            self.keyboard.pop()
        return ""

    def select_graphic_rendition(self, *numbers: int, **given: Any) -> None:
        """Set the style of the text that follows."""
        self.looks.update(numbers)
        super().select_graphic_rendition(*numbers, **given)

    def set_mode(self, *numbers: int, private: bool = False, **given: Any) -> None:
        if private:
            if ALTERNATE in numbers and ALTERNATE not in self.on:
                self._kept, self._kept_cursor = dict(self.buffer), (self.cursor.x, self.cursor.y)
                self.buffer.clear()
            self.on.update(numbers)
        super().set_mode(*numbers, private=private, **given)

    def reset_mode(self, *numbers: int, private: bool = False, **given: Any) -> None:
        if private:
            if ALTERNATE in numbers and self._kept is not None:
                self.buffer.clear()
                self.buffer.update(self._kept)
                self.cursor.x, self.cursor.y = self._kept_cursor
                self._kept = None
                self.dirty.update(range(self.lines))
            self.on.difference_update(numbers)
        super().reset_mode(*numbers, private=private, **given)

    @property
    def is_drawing(self) -> bool:
        """Whether a frame has begun and not ended: it is not shown yet."""
        return FRAME in self.on

    @property
    def is_cursor_hidden(self) -> bool:
        """Whether the terminal's cursor is hidden."""
        return modes.DECTCEM not in self.mode

    def leftovers(self) -> list[str]:
        """Return the modes that a program left on."""
        left: dict[str, bool] = defaultdict(bool)
        left["the alternate screen"] = ALTERNATE in self.on
        left["mouse reports"] = bool(MOUSE & self.on)
        left["focus reports"] = FOCUS in self.on
        left["bracketed paste"] = PASTE in self.on
        left["in-band resize reports"] = IN_BAND_RESIZE in self.on
        left["a hidden cursor"] = self.is_cursor_hidden
        left["cut lines"] = modes.DECAWM not in self.mode
        left["a keyboard protocol"] = bool(self.keyboard)
        return [name for name, is_left in left.items() if is_left]
