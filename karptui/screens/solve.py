"""Ask for a goal and its numbers in front of a screen, and show the change that reaches it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from karptui.screens.destinations import ToSolve
from karptui.screens.dialogs import AskScreen, Choice, pick
from karptui.screens.frame import FrameScreen
from karptui.session.questions import NamesWanted
from karptui.solve.catalogue import GOALS, Goal, Parameter, SolveError, given_of, with_defaults

POOL: Final = "nodepool"
"""The parameter that is chosen from those of the cluster."""


async def ask_for_goal(screen: FrameScreen) -> None:
    """Ask what is looked for and with what numbers, one after the other; then look for it.

    Args:
        screen: in front of which is asked.
    """
    choices = [Choice(goal.name, goal.name, goal.title) for goal in GOALS.values()]
    chosen = await pick(screen.app, "Solve ─ what is looked for", choices)
    if chosen is None:
        return
    goal, given = GOALS[chosen], dict[str, str]()
    for one in goal.parameters:
        if one.is_required:
            answer = await _needed(screen, one)
            if answer is None:
                return
            given[one.name] = answer
    others = [one for one in goal.parameters if not one.is_required]
    if others:
        answer = await screen.app.push_screen_wait(_others(goal, others, given))
        if answer is None:
            return
        given |= given_of(answer)
    screen.host.go(ToSolve(goal.name, tuple(given.items()), screen.scenario_in_front()))


async def _needed(screen: FrameScreen, parameter: Parameter) -> str | None:
    if parameter.name == POOL:
        pools = sorted(ref.name for ref in screen.host.border.ask(NamesWanted(kinds=("NodePool",))).refs)
        return await pick(screen.app, parameter.title, [Choice(one, one) for one in pools])

    def fault(text: str) -> str:
        return parameter.fault(text) if len(text.split()) == 1 else "one word is needed"

    return await screen.app.push_screen_wait(AskScreen(parameter.title, hint=parameter.help, check=fault))


def _others(goal: Goal, parameters: list[Parameter], given: Mapping[str, str]) -> AskScreen:
    """Return the question about what may be left as it is."""

    def fault(text: str) -> str:
        try:
            with_defaults(goal, {**given, **given_of(text)})
        except SolveError as error:
            return str(error)
        return ""

    value = " ".join(f"{one.name}={one.default}" for one in parameters)
    hint = "; ".join(f"{one.name}: {one.help}" for one in parameters)
    return AskScreen(f"{goal.name} ─ bounds", value=value, hint=hint, check=fault)
