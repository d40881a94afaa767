"""Quick edits: keys request a lower, higher, other or the original value."""

from __future__ import annotations

import pytest

from karptui.views.row import Control
from karptui.widgets.control_list import ControlList, whole_hint, whole_values
from tests.widgets.harness import WidgetApp

WEIGHT = Control("weight", "weight", "50", can_step=True)
POLICY = Control("policy", "policy\x1b[0m", "WhenEmpty", "was Underutilized", is_changed=True)


async def test_keys_post_requests_and_change_no_value() -> None:
    app = WidgetApp(controls := ControlList())
    async with app.run_test() as pilot:
        controls.focus()
        controls.show_controls((WEIGHT, POLICY))
        await pilot.press("right", "left", "down", "enter", "backspace")
        assert app.heard == [
            ControlList.Stepped("weight", 1), ControlList.Stepped("weight", -1), ControlList.Chosen("policy"),
            ControlList.Reset("policy"),
        ]  # fmt: skip
        assert controls.controls == (WEIGHT, POLICY)
        app.heard.clear()
        controls.show_controls(())
        await pilot.press("right", "backspace")
        assert app.heard == []


@pytest.mark.parametrize(("text", "room", "shown"), [
    ("m7i-flex, c7i-flex, m7i, c7i", 40, "m7i-flex, c7i-flex, m7i, c7i"),
    ("m7i-flex, c7i-flex, m7i, c7i", 22, "m7i-flex, c7i-flex +2"),
    ("m7i-flex, c7i-flex, m7i, c7i", 5, "m7i-flex +3"),
    ("one-value-that-is-long", 5, "one-value-that-is-long"),
    ("a-very-long-first-value, second", 5, "a-very-long-first-value, second"),
])  # fmt: skip
def test_values_that_do_not_fit_are_counted(text: str, room: int, shown: str) -> None:
    assert whole_values(text, room) == shown


@pytest.mark.parametrize(
    ("room", "shown"),
    [(39, "key=value:Effect, such as team=ml:None"), (37, "key=value:Effect"), (5, "key=value:Effect")],
)
def test_hints_are_cut_at_the_end_of_a_clause(room: int, shown: str) -> None:
    assert whole_hint("key=value:Effect, such as team=ml:None", room) == shown
