"""Asks for a goal and its parameters, and shows the change that reaches it."""

from __future__ import annotations

from typing import Final

from karptui.kube.units import count_text
from karptui.screens.destinations import ToSolve
from karptui.screens.dialogs import AskScreen, Choice, pick
from karptui.screens.frame import FrameScreen
from karptui.solve.catalogue import GOALS, Goal, Parameter

ON_SCREEN: Final = ("pending", "overhead")
"""Goals of the screens; `karptui solve` has them all."""


async def ask_for_goal(screen: FrameScreen) -> None:
    """Ask for the goal, then for each parameter, and search for the change.

    Args:
        screen: The current screen.
    """
    choices = [Choice(name, name, GOALS[name].title) for name in ON_SCREEN]
    chosen = await pick(screen.app, "Solve ─ goal", choices)
    if chosen is None:
        return
    goal, given = GOALS[chosen], dict[str, str]()
    for one in goal.parameters:
        answer = await _answer(screen, goal, one)
        if answer is None:
            return
        if answer:
            given[one.name] = answer
    screen.host.go(ToSolve(goal.name, tuple(given.items()), screen.scenario_in_front()))


async def _answer(screen: FrameScreen, goal: Goal, parameter: Parameter) -> str | None:
    """Return the answer to one question, empty for the default; None if the user gave up."""
    title = f"Solve {goal.name} ─ {parameter.question}"
    if parameter.choices:
        choices = [Choice(value, means) for value, means in parameter.choices.items()]
        return await pick(screen.app, title, choices, current=parameter.default)

    def fault(text: str) -> str:
        if not text and not parameter.is_required:
            return ""
        return parameter.fault(text) if len(text.split()) == 1 else "one word is needed"

    hint = parameter.help
    if parameter.numbers is not None:
        hint += "; from {} to {}".format(*map(count_text, parameter.numbers))
    ask = AskScreen(title, value=parameter.default, hint=hint, check=fault)
    return await screen.app.push_screen_wait(ask)
