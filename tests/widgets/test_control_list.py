"""Quick edits: keys ask for less, more, another value or the old one."""

from __future__ import annotations

import pytest
from textual.app import App, ComposeResult

from karptui.views.row import Control
from karptui.widgets.control_list import ControlList, whole_hint, whole_values
from karptui.widgets.themes import variable_defaults

WEIGHT = Control("weight", "weight", "50", can_step=True)
POLICY = Control("policy", "policy\x1b[0m", "WhenEmpty", "was Underutilized", is_changed=True)


class Host(App[None]):
    """A list that notes what is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, object]] = []

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return variable_defaults(self.current_theme)

    def compose(self) -> ComposeResult:
        yield ControlList()

    def on_mount(self) -> None:
        self.query_one(ControlList).focus()

    def on_control_list_stepped(self, event: ControlList.Stepped) -> None:
        self.asked.append((event.control_id, event.step))

    def on_control_list_chosen(self, event: ControlList.Chosen) -> None:
        self.asked.append((event.control_id, "choose"))

    def on_control_list_reset(self, event: ControlList.Reset) -> None:
        self.asked.append((event.control_id, "reset"))


async def test_keys_ask_and_nothing_changes_by_itself() -> None:
    app = Host()
    async with app.run_test() as pilot:
        controls = app.query_one(ControlList)
        controls.show_controls((WEIGHT, POLICY))
        await pilot.press("right", "left", "down", "enter", "backspace")
        assert app.asked == [("weight", 1), ("weight", -1), ("policy", "choose"), ("policy", "reset")]
        assert controls.controls == (WEIGHT, POLICY)


async def test_the_cursor_stays_on_its_control() -> None:
    app = Host()
    async with app.run_test() as pilot:
        controls = app.query_one(ControlList)
        controls.show_controls((WEIGHT, POLICY))
        await pilot.press("j")
        controls.show_controls((Control("weight", "weight", "51", can_step=True), POLICY))
        assert controls.current_key == "policy"
        controls.show_controls((POLICY,))
        assert controls.current_key == "policy"
        controls.show_controls((POLICY,))
        controls.show_controls(())
        await pilot.press("right", "backspace")
        assert app.asked == []


@pytest.mark.parametrize(
    ("text", "room", "shown"),
    [
        ("m7i-flex, c7i-flex, m7i, c7i", 40, "m7i-flex, c7i-flex, m7i, c7i"),
        ("m7i-flex, c7i-flex, m7i, c7i", 22, "m7i-flex, c7i-flex +2"),
        ("m7i-flex, c7i-flex, m7i, c7i", 5, "m7i-flex +3"),
        ("one-value-that-is-long", 5, "one-value-that-is-long"),
        ("a-very-long-first-value, second", 5, "a-very-long-first-value, second"),
    ],
)
def test_values_are_whole_or_counted(text: str, room: int, shown: str) -> None:
    assert whole_values(text, room) == shown


@pytest.mark.parametrize(
    ("room", "shown"),
    [(39, "key=value:Effect, such as team=ml:None"), (37, "key=value:Effect"), (5, "key=value:Effect")],
)
def test_hints_are_cut_after_a_clause(room: int, shown: str) -> None:
    assert whole_hint("key=value:Effect, such as team=ml:None", room) == shown
