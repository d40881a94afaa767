"""Time that each part of karptui/widgets/textual_compat saves: ``python benchmarks/textual_pieces.py``.

The same action is measured alternately with our part and with Textual's own. The figures are medians of processor time,
or of elapsed time for the event loop. A headless app writes nothing, so updates are rendered here as by Textual's
driver.
"""

from __future__ import annotations

import asyncio
import statistics
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

from reference import note, print_reference
from rich.console import RenderableType
from textual import events
from textual._compositor import CompositorUpdate
from textual.app import App, ComposeResult
from textual.css.stylesheet import Stylesheet
from textual.screen import ModalScreen, Screen
from textual.widgets import Static, TextArea
from ui_table import SPEC

from karptui import app as module
from karptui.screens.registry import ENTRIES
from karptui.views.table import build_rows
from karptui.widgets.row_table.table import RowTable
from karptui.widgets.textual_compat.dimmed import DimmedScreen, LayeredScreen
from karptui.widgets.textual_compat.loop import screen_loop
from karptui.widgets.textual_compat.style_rules import StyleRules
from karptui.widgets.textual_compat.text_area import SparingTextArea
from karptui.widgets.themes import style_sheets, variable_defaults

SIZE = (200, 60)
TIMES = 40
TURNS = 20_000
THEMES = ("nord", "textual-dark")
QUIET_SECONDS = 0.05
"""Pause between two keys, so that the first one is drawn completely."""
YAML = "\n".join(f"{'  ' * (number % 4)}key-{number}: value # of a document" for number in range(400))


class Bench(App[None]):
    """Renders its updates, and counts the rendered segments."""

    CSS_PATH = style_sheets("tones", "frame", "whatif", "pools", "dialogs")
    CSS = "DarkModal, SwiftModal { background: $background 60%; }"
    written = 0

    def __init__(self, make: Callable[[], Screen[None]], *, rules: type[Stylesheet] = StyleRules) -> None:
        super().__init__()
        self.make = make
        self.animation_level = "none"
        self.stylesheet = rules(variables=self.get_css_variables())

    def get_theme_variable_defaults(self) -> dict[str, str]:  # noqa: D102
        return variable_defaults(self.current_theme)

    def get_default_screen(self) -> Screen[None]:  # noqa: D102
        return self.make()

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        if isinstance(renderable, CompositorUpdate):
            self.written += len(renderable.render_segments(self.console))
        super()._display(screen, renderable)


class Lines(Screen[None]):
    """A table between two lines, like most screens, drawn by Textual."""

    def compose(self) -> ComposeResult:  # noqa: D102
        yield Static("above", id="above")
        yield RowTable(SPEC.headings())
        yield Static("below", id="below")

    def on_mount(self) -> None:  # noqa: D102
        table = self.query_one(RowTable)
        table.focus()
        table.set_rows(build_rows(SPEC, range(1000), now_ns=0))


class SwiftLines(Lines, LayeredScreen):
    """The same screen as a LayeredScreen."""


class Editor(LayeredScreen):
    """A screen with an editor, ours or Textual's."""

    def __init__(self, editor: Callable[[], TextArea]) -> None:
        super().__init__()
        self._make = editor

    def compose(self) -> ComposeResult:  # noqa: D102
        yield self._make()


class DarkModal(ModalScreen[None]):
    """A dialog; Textual dims the screen behind it."""

    def compose(self) -> ComposeResult:  # noqa: D102
        yield Static("asked", id="asked")


class SwiftModal(DimmedScreen[None]):
    """A dialog; DimmedScreen dims the screen behind it."""

    def compose(self) -> ComposeResult:  # noqa: D102
        yield Static("asked", id="asked")


async def drawn(app: Bench, act: Callable[[], object]) -> None:
    """Call ``act``, and wait until something is drawn."""
    before = app.written
    act()
    for _ in range(100):
        if app.written > before:
            break
        await asyncio.sleep(0.001)


async def behind_moved(app: Bench, step: int) -> None:
    """Change a line of the dialog and of the screen behind it."""

    def act() -> None:
        app.screen_stack[0].query_one("#above", Static).update(f"above {step}")
        app.screen.query_one("#asked", Static).update(f"asked {step}")

    act()
    await asyncio.sleep(QUIET_SECONDS)


async def typed(app: Bench, step: int) -> None:
    """Type a letter into the middle of a document."""
    await drawn(
        app, lambda: app.post_message(events.Key("x" if step % 20 else "backspace", "x" if step % 20 else None))
    )


async def spent(
    make: Callable[[], Bench],
    act: Callable[[Bench, int], Awaitable[None]],
    clock: Callable[[], float],
    modal: Any = None,
) -> float:
    """Return the median time of an action that is repeated in an app, in milliseconds."""
    app = make()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        if modal is not None:
            await app.push_screen(modal())
            await pilot.pause()
        for area in app.screen.query(TextArea):
            area.text = YAML
            area.move_cursor((20, 5))
            area.focus()
        await pilot.pause()
        taken = []
        for step in range(TIMES):
            await asyncio.sleep(QUIET_SECONDS)
            began = clock()
            await act(app, step)
            taken.append(clock() - began)
    return statistics.median(taken) * 1000


def yaml_area() -> TextArea:
    """Return Textual's editor with the settings of ours."""
    return TextArea("", language="yaml", show_line_numbers=True, soft_wrap=False, theme="css", tab_behavior="indent")


def own_area() -> TextArea:
    """Return our editor."""
    area = SparingTextArea(indent_width=2)
    area.language = "yaml"
    return area


def karptui_with(rules: type[Stylesheet]) -> module.KarptuiApp:
    """Return the app with this class of style sheet."""
    module.StyleRules = rules  # type: ignore[misc,assignment]
    try:
        return module.KarptuiApp()
    finally:
        module.StyleRules = StyleRules  # type: ignore[misc]


async def themed(rules: type[Stylesheet]) -> float:
    """Return the median time to change the theme of the what-if and draw it, in milliseconds of processor time."""
    app = karptui_with(rules)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("ctrl+t")
        await pilot.pause()
        taken = []
        for theme in THEMES * (TIMES // 2):
            await asyncio.sleep(QUIET_SECONDS)
            began = time.process_time()
            app.theme = theme
            await pilot.pause()
            taken.append(time.process_time() - began)
    return statistics.median(taken) * 1000


async def opened(rules: type[Stylesheet]) -> float:
    """Return the time to open every screen for the first time, in milliseconds of processor time."""
    app = karptui_with(rules)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        began = time.process_time()
        for entry in ENTRIES:
            app.open_screen(entry.name)
            await pilot.pause()
        return (time.process_time() - began) * 1000


def turned(loop_factory: Callable[[], asyncio.AbstractEventLoop] | None) -> float:
    """Return the time of ``TURNS`` loop turns next to a computing thread, in elapsed milliseconds."""
    is_over = threading.Event()

    def compute() -> None:
        while not is_over.is_set():
            sum(range(2000))

    async def turn() -> float:
        began = time.perf_counter()
        for _ in range(TURNS):
            await asyncio.sleep(0)
        return (time.perf_counter() - began) * 1000

    thread = threading.Thread(target=compute, daemon=True)
    thread.start()
    try:
        with asyncio.Runner(loop_factory=loop_factory) as runner:
            return runner.run(turn())
    finally:
        is_over.set()
        thread.join()


def main() -> None:
    """Measure every part, alternating with Textual's own."""
    cpu = time.process_time

    def run(*given: Any) -> float:
        return asyncio.run(spent(*given))

    pieces: dict[str, tuple[Callable[[], float], Callable[[], float]]] = {
        "text_area: letter to repaint, CPU": (
            lambda: run(lambda: Bench(lambda: Editor(own_area)), typed, cpu),
            lambda: run(lambda: Bench(lambda: Editor(yaml_area)), typed, cpu),
        ),
        "dimmed: change of a dialog, CPU": (
            lambda: run(lambda: Bench(SwiftLines), behind_moved, cpu, SwiftModal),
            lambda: run(lambda: Bench(Lines), behind_moved, cpu, DarkModal),
        ),
        "style_rules: first opening of every screen, CPU": (
            lambda: asyncio.run(opened(StyleRules)),
            lambda: asyncio.run(opened(Stylesheet)),
        ),
        "style_rules: another theme for the what-if, CPU": (
            lambda: asyncio.run(themed(StyleRules)),
            lambda: asyncio.run(themed(Stylesheet)),
        ),
        "loop: 20,000 turns beside a busy thread, wall": (lambda: turned(screen_loop), lambda: turned(None)),
    }
    print(f"{'':<50} {'with':>8} {'without':>8} ms, medians of 3")
    for name, (ours, theirs) in pieces.items():
        pairs = [(ours(), theirs()) for _ in range(3)]
        mine, others = (statistics.median(column) for column in zip(*pairs, strict=True))
        print(f"{name:<50} {mine:8.2f} {others:8.2f}", flush=True)
        note(name, mine / 1000)
    print_reference()


if __name__ == "__main__":
    main()
