"""Pictures of a running app in several sizes and themes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from pathlib import Path
from string import ascii_letters
from typing import Any, Final

from rich.cells import cell_len
from rich.color import Color
from rich.style import Style
from textual.pilot import Pilot
from textual.strip import Strip

from tests.canvas import whole_of
from tests.ui.stage import settled

SNAPSHOTS: Final = Path(__file__).parent.parent.parent / "snapshots"
PRESSED_AT: Final = (120, 40)
"""Terminal size, in cells, while keys are pressed."""
DARK, LIGHT, COLOUR_BLIND = "textual-dark", "textual-light", "karptui-colour-blind"
EVERY_SCREEN: Final = ((PRESSED_AT, DARK),)
SMALL_SCREENS: Final = (*EVERY_SCREEN, ((80, 24), DARK))
MAIN_SCREENS: Final = (*SMALL_SCREENS, ((200, 60), LIGHT))
WIDTH, HEIGHT, BASE, FONT_SIZE = 12, 24, 18, 19.6
"""Cell width and height, baseline, and font size (slightly narrower than a cell), in pixels."""
_PIECE: Final = re.compile(r"[!-~]+(?: [!-~]+)*|[^ -~]+")
"""Text positioned as a unit: ASCII runs, or other characters, whose width differs between fonts."""


async def compare_pictures(
    pilot: Pilot[Any], name: str, looks: Sequence[tuple[tuple[int, int], str]], *, is_update: bool
) -> list[str]:
    """Return the paths of the front screen's pictures that differ from the stored ones; an update stores them."""
    changed, app = [], pilot.app
    for size, theme in looks:
        app.theme = theme
        if app.size != size:
            await pilot.resize_terminal(*size)
        await settled(pilot)
        picture = SNAPSHOTS / name / f"{size[0]}x{size[1]}-{theme}.svg"
        drawn = svg(whole_of(app))
        if is_update:
            picture.parent.mkdir(parents=True, exist_ok=True)
            picture.write_text(drawn, encoding="utf-8")
        elif not picture.exists() or picture.read_text(encoding="utf-8") != drawn:
            changed.append(str(picture))
    if (app.size, app.theme) != (PRESSED_AT, DARK):
        app.theme = DARK
        await pilot.resize_terminal(*PRESSED_AT)
        await settled(pilot)
    return changed


def svg(lines: Sequence[Strip]) -> str:
    """Return terminal lines as an SVG picture: a text element for each line, a path for each background."""
    grounds: dict[str, list[str]] = defaultdict(list)
    names: dict[str, str] = {}
    written = []
    for y, line in enumerate(lines):
        letters = []
        for x, text, style in _runs(line):
            ink, ground = _rules(style)
            grounds[ground].append(f"M{x * WIDTH} {y * HEIGHT}h{cell_len(text) * WIDTH}v{HEIGHT}H{x * WIDTH}")
            if text.isspace():
                continue
            name = names.setdefault(ink, _letters(len(names)))
            for piece in _PIECE.finditer(text):
                at = (x + cell_len(text[: piece.start()])) * WIDTH
                letters.append(f'<text class="{name}" x="{at}" y="{y * HEIGHT + BASE}">{escape(piece[0])}</text>')
        written.append("".join(letters))
    width, height = max(line.cell_length for line in lines) * WIDTH, len(lines) * HEIGHT
    return "\n".join(((f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
                       f'font-size="{FONT_SIZE}">'),
                      "<style>text{font-family:Fira Code,DejaVu Sans Mono,monospace;white-space:pre}",
                      *(f".{name}{{{ink}}}" for ink, name in names.items()), "</style>",
                      *(f'<path fill="{ground}" d="{"".join(paths)}"/>' for ground, paths in sorted(grounds.items())),
                      *written, "</svg>", ""))  # fmt: skip


def _runs(line: Strip) -> Iterator[tuple[int, str, Style]]:
    """Yield the start, text and style of each run of equally styled characters."""
    x, begun, letters, look = 0, 0, "", Style()
    for text, style, _ in line:
        if letters and (style or Style()) != look:
            yield begun, letters, look
            begun, letters = x, ""
        look, letters, x = style or Style(), letters + text, x + cell_len(text)
    if letters:
        yield begun, letters, look


@cache
def _rules(style: Style) -> tuple[str, str]:
    """Return the CSS of a style's text, and its background colour."""
    ink, ground = _hex(style.color, "#c5c8c6"), _hex(style.bgcolor, "#000")
    if style.reverse:
        ink, ground = ground, ink
    lines = " ".join(word for word, on in (("underline", style.underline), ("line-through", style.strike)) if on)
    rules = (
        f"fill:{ink}", "font-weight:bold" if style.bold else "", "font-style:italic" if style.italic else "",
        "opacity:.6" if style.dim else "", f"text-decoration:{lines}" if lines else "",
    )  # fmt: skip
    return ";".join(filter(None, rules)), ground


def _hex(color: Color | None, default: str) -> str:
    return default if color is None or color.is_default else color.get_truecolor().hex


def _letters(number: int) -> str:
    more, last = divmod(number, len(ascii_letters))
    return (ascii_letters[more - 1] if more else "") + ascii_letters[last]
