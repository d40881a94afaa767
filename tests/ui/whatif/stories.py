"""The five stories, played by keys."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from textual.pilot import Pilot
from textual.widgets import OptionList

from tests.ui.whatif.bench import begin, control, press

Story = Callable[[Pilot[Any]], Awaitable[None]]


async def scale(pilot: Pilot[Any], workload: str, replicas: int) -> None:
    """Scale a workload by the list of edits."""
    await press(pilot, "a", *"scale", "enter", *workload, "enter", *str(replicas), "enter")


async def story_a(pilot: Pilot[Any]) -> None:
    """Weight is an order: with room in both pools every new node comes from the heavier one."""
    screen = await begin(pilot)
    screen.whatif.put_text(screen.edit_pane.editor.text.replace('cpu: "480"', 'cpu: "4800"'), "limit")
    await scale(pilot, "Deployment web/front", 1200)
    await press(pilot, "a", *"open", "enter", *"NodePool spare", "enter")
    text = screen.edit_pane.editor.text.replace('- "*"', "- m7i").replace('["*"]', "[m7i]").replace("['*']", "[m7i]")
    screen.whatif.put_text(text, "families")
    screen.edit_pane.editor.show_place(
        next(row for row, line in enumerate(text.split("\n")) if line == "  name: spare")
    )
    await control(pilot, "weight", "enter", "ctrl+u", *"60", "enter")


async def story_b(pilot: Pilot[Any]) -> None:
    """Flex first, the rest as fallback: once flex is out, the fallback takes over."""
    screen = await begin(pilot)
    screen.whatif.put_text(screen.edit_pane.editor.text.replace('cpu: "480"', 'cpu: "4800"'), "limit")
    await scale(pilot, "Deployment web/front", 1200)
    await press(pilot, "a", *"split", "enter", "enter")
    options = pilot.app.screen.query_one(OptionList)
    for family in ("c7i-flex", "m7i-flex"):
        options.highlighted = options.get_option_index(family)
        await pilot.press("space")
    await press(pilot, "enter", "ctrl+u", *"flex", "enter")


async def story_c(pilot: Pilot[Any]) -> None:
    """One more DaemonSet pushes small types out."""
    await begin(pilot, "whatif NodePool edge")
    await scale(pilot, "Deployment edge/gateway", 60)
    await press(pilot, "a", *"cost of one more", "enter", "ctrl+u", *"agent", "enter")


async def story_d(pilot: Pilot[Any]) -> None:
    """240Gi fit an r5a.8xlarge once VM overhead is what the nodes report."""
    await begin(pilot, "whatif NodePool trino")
    await control(pilot, "VM overhead", "enter", "ctrl+u", *"0.0488", "enter")


async def story_e(pilot: Pilot[Any]) -> None:
    """A node that CI runners pin: what goes where without it, and what a shorter grace period would drift."""
    await begin(pilot, "whatif Node ip-10-0-15-85.ec2.internal")
    await control(pilot, "terminationGracePeriod", "left")
    await press(pilot, "a", *"cordon", "enter", *"ip-10-0-102-46", "enter")


async def story_e_own_pool(pilot: Pilot[Any]) -> None:
    """The same node without its runners, of which one gets a pool of its own."""
    await begin(pilot, "whatif Node ip-10-0-15-85.ec2.internal")
    await press(pilot, "a", *"open", "enter", *"Job gitlab/ci-4700", "enter")
    await press(pilot, "a", *"own", "enter", *"runners", "enter", "ctrl+u", *"ci-long", "enter")


STORIES: dict[str, Story] = {
    "a": story_a,
    "b": story_b,
    "c": story_c,
    "d": story_d,
    "e": story_e,
    "e-own-pool": story_e_own_pool,
}
