"""Dialogs: the answer that each returns, and None on escape."""

from __future__ import annotations

from typing import Any

from textual.app import App
from textual.pilot import Pilot

from karptui.screens.dialogs import ChecklistScreen, Choice, LineScreen, PickScreen
from karptui.widgets.themes import style_sheets, variable_defaults

FEW = (Choice("a", "Alpha", "first"), Choice("b", "Beta"), Choice("c", "Gamma"))
MANY = tuple(Choice(f"n{i}", f"name-{i}", "even" if i % 2 == 0 else "odd") for i in range(12))
UNANSWERED = object()


class Host(App[None]):
    """Opens a dialog and stores its answer."""

    CSS_PATH = style_sheets("dialogs")

    answer: Any = UNANSWERED

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return variable_defaults(self.current_theme)

    async def ask(self, pilot: Pilot[None], screen: Any, *keys: str) -> Any:
        self.answer = UNANSWERED
        await self.push_screen(screen, callback=lambda given: setattr(self, "answer", given))
        await pilot.pause()
        await pilot.press(*keys)
        return self.answer


async def test_a_list_starts_at_the_current_choice_and_typing_filters_it() -> None:
    app = Host()
    async with app.run_test() as pilot:
        assert await app.ask(pilot, PickScreen("Which", FEW, current="b"), "enter") == "b"
        assert await app.ask(pilot, PickScreen("Which", FEW, current="gone"), "down", "down", "up", "enter") == "b"
        assert await app.ask(pilot, PickScreen("Which", FEW), "escape") is None
        assert await app.ask(pilot, PickScreen("Which", MANY), *"odd", "space", "1", "down", "enter") == "n11"
        assert await app.ask(pilot, PickScreen("Which", MANY), *"zzz", "enter") is None
        assert await app.ask(pilot, PickScreen("Which", FEW), "m", "enter") == "c"
        assert await app.ask(pilot, PickScreen("Which", FEW), "m", "backspace", "b", "enter") == "b"
        assert await app.ask(pilot, PickScreen("Which", FEW), "down", "enter") == "b"
        assert await app.ask(pilot, PickScreen("Which", FEW), *"ph", "enter") == "a", "enter directly after typing"
        assert await app.ask(pilot, PickScreen("Which", FEW), *"zz", "enter") is None


async def test_typing_goes_to_the_input_line_even_if_the_list_has_the_focus() -> None:
    app = Host()
    async with app.run_test() as pilot:
        screen = PickScreen("Which", FEW)
        await app.ask(pilot, screen)
        screen.set_focus(screen.options)
        await pilot.press("b", "e")
        assert screen.line.value == "be"
        await pilot.press("enter")
        assert app.answer == "b"


async def test_the_frame_keeps_its_height_while_the_list_is_filtered() -> None:
    app = Host()
    async with app.run_test(size=(80, 40)) as pilot:
        assert await app.ask(pilot, PickScreen("Which", MANY)) is UNANSWERED
        frame = app.screen.query_one(".dialog")
        before = frame.region
        await pilot.press(*"11")
        assert frame.region == before
        await pilot.press("x")
        assert "no match" in str(frame.border_subtitle)
        await pilot.resize_terminal(80, 12)
        for _ in range(20):
            await pilot.pause()
            if app.screen.size.height == 12:
                break
        await pilot.pause()
        assert frame.region.height <= 12


async def test_a_checklist_returns_the_checked_choices_and_typing_filters_it() -> None:
    app = Host()
    choices = [Choice(item, item) for item in ("c7i", "c7i-flex", "m7i", "m7i-flex")]
    async with app.run_test() as pilot:
        given = await app.ask(pilot, ChecklistScreen("Some", choices, ["m7i"]), *"flex", "ctrl+a", "enter")
        assert given == {"m7i", "c7i-flex", "m7i-flex"}
        again = ChecklistScreen("Some", choices, given or ())
        assert await app.ask(pilot, again, *"m7i", "ctrl+a", "enter") == {"c7i-flex"}
        assert await app.ask(pilot, ChecklistScreen("Some", choices, []), *"nothing", "space", "enter") == frozenset()
        given = await app.ask(pilot, ChecklistScreen("Some", FEW, ["a"]), "space", "down", "space", "enter")
        assert given == {"b"}
        assert await app.ask(pilot, ChecklistScreen("Some", FEW, ["a"]), "space", "escape") is None


async def test_an_invalid_line_stays_open_for_correction() -> None:
    app = Host()

    def check(text: str) -> str:
        return "" if text.isdecimal() else f"{text!r} is not a number"

    async with app.run_test() as pilot:
        screen = LineScreen("How many", value="5", hint="a number", check=check)
        assert await app.ask(pilot, screen, "x", "enter") is UNANSWERED
        assert "is not a number" in str(screen.query_one("Static").render())
        await pilot.press("backspace", "7", "enter")
        assert app.answer == "7"
        assert await app.ask(pilot, LineScreen("How many"), "escape") is None
