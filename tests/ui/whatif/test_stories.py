"""The five stories played through in the pane, and how they look."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.ui.whatif.bench import SIZES, begin, control, delta, make_app, prepare, press, settled, shown

Compare = Callable[..., bool]
Story = Callable[[Pilot[Any]], Awaitable[None]]


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(monkeypatch)


async def scale(pilot: Pilot[Any], workload: str, replicas: int) -> None:
    """Scale a workload by the list of edits."""
    await press(pilot, "a", *"scale", "enter", *workload, "enter", *str(replicas), "enter")


async def story_a(pilot: Pilot[Any]) -> None:
    """Weight is an order: with room in both pools every new node comes from the heavier one."""
    screen = await begin(pilot)
    screen.put_text(screen.editor.text.replace('cpu: "480"', 'cpu: "4800"'), "limit")
    await scale(pilot, "Deployment web/front", 1200)
    await press(pilot, "a", *"open", "enter", *"NodePool spare", "enter")
    text = screen.editor.text.replace('- "*"', "- m7i").replace('["*"]', "[m7i]").replace("['*']", "[m7i]")
    screen.put_text(text, "families")
    screen.editor.show_place(next(row for row, line in enumerate(text.split("\n")) if line == "  name: spare"))
    await control(pilot, "weight", "enter", "ctrl+u", *"60", "enter")


async def story_b(pilot: Pilot[Any]) -> None:
    """Flex first, the rest as fallback: once flex is out, the fallback takes over."""
    screen = await begin(pilot)
    screen.put_text(screen.editor.text.replace('cpu: "480"', 'cpu: "4800"'), "limit")
    await scale(pilot, "Deployment web/front", 1200)
    await press(pilot, "a", *"split", "enter", "enter")
    options = pilot.app.screen.query_one("OptionList")
    for family in ("c7i-flex", "m7i-flex"):
        options.highlighted = options.get_option_index(family)  # type: ignore[attr-defined]
        await pilot.press("space")
    await press(pilot, "enter", "ctrl+u", *"flex", "enter")


async def story_b_flex_is_out(pilot: Pilot[Any]) -> None:
    """The same when no flex type is to be had."""
    await story_b(pilot)
    await press(pilot, "a", *"offering", "enter", *"*-flex.*", "enter", "enter", "enter")


async def story_c(pilot: Pilot[Any]) -> None:
    """One more DaemonSet pushes small types out."""
    await begin(pilot, "whatif NodePool edge")
    await scale(pilot, "Deployment edge/gateway", 60)
    await press(pilot, "a", *"one more costs", "enter", "ctrl+u", *"agent", "enter")


async def story_d(pilot: Pilot[Any]) -> None:
    """240Gi fit an r5a.8xlarge once VM overhead is what the nodes report."""
    await begin(pilot, "whatif NodePool trino")
    await control(pilot, "VM overhead", "enter", "ctrl+u", *"0.0488", "enter")


async def story_e(pilot: Pilot[Any]) -> None:
    """A node that CI runners pin: what goes where without it, and what a shorter grace period would drift."""
    await begin(pilot, "whatif Node ip-10-0-15-85.ec2.internal")
    await control(pilot, "terminationGracePeriod", "left")
    await press(pilot, "a", *"cordon", "enter", *"ip-10-0-102-46", "enter")


STORIES: dict[str, Story] = {
    "a": story_a,
    "b": story_b,
    "b-out": story_b_flex_is_out,
    "c": story_c,
    "d": story_d,
    "e": story_e,
}


async def test_story_a_weight_is_an_order_not_a_share() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await story_a(pilot)
        screen = app.screen
        pools = {line.pool_name for line in app.desk.answers[0].difference.claims}  # type: ignore[union-attr]
        assert pools == {"spare", "general"}, "spare is full at 64 cores, and general takes the rest"
        first = [line for line in app.desk.answers[0].difference.claims if line.pool_name == "spare"]  # type: ignore[union-attr]
        assert first
        screen.controls.focus()  # type: ignore[attr-defined]
        await control(pilot, "weight", "enter", "ctrl+u", *"40", "enter")
        claims = app.desk.answers[0].difference.claims  # type: ignore[union-attr]
        pods = {pod for line in claims if line.pool_name == "general" for pod in line.pods}
        assert sum(pod.startswith("web/front") for pod in pods) > 500


async def test_story_b_the_fallback_takes_over_when_flex_is_out() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await story_b(pilot)
        claims = app.desk.answers[0].difference.claims  # type: ignore[union-attr]
        assert {line.pool_name for line in claims} == {"flex"}
        assert all("-flex." in option.name for line in claims for option in line.types)
        await press(pilot, "a", *"offering", "enter", *"*-flex.*", "enter", "enter", "enter")
        claims = app.desk.answers[0].difference.claims  # type: ignore[union-attr]
        assert {line.pool_name for line in claims} == {"general"}
        assert not any("-flex." in option.name for line in claims for option in line.types)


async def test_story_c_one_more_daemonset_leaves_fewer_types() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await story_c(pilot)
        after = app.desk.answers[0].difference  # type: ignore[union-attr]
        await press(pilot, "u")
        before = app.desk.answers[0].difference  # type: ignore[union-attr]
        assert after is not None
        assert before is not None
        assert len(after.claims) >= len(before.claims)
        most, fewer = (max(len(line.types) for line in one.claims) for one in (before, after))
        assert fewer <= most
        asked = dict(after.claims[0].requests)
        assert asked != dict(before.claims[0].requests), "the new DaemonSet's pod is on every new node"


async def test_story_d_the_pods_fit_with_the_overhead_that_nodes_report() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await story_d(pilot)
        screen = app.screen
        assert delta(screen, "pending")[2] == "-3"  # type: ignore[arg-type]
        assert "Placed now: 3 pods" in shown(screen)  # type: ignore[arg-type]
        await control(pilot, "VM overhead", "enter", "ctrl+u", *"0.0489", "enter")
        assert delta(screen, "pending")[2] == "0"  # type: ignore[arg-type]


async def test_story_e_a_pinned_node_and_the_remedies() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await story_e(pilot)
        found, answer = shown(app.screen), app.desk.answers[0]  # type: ignore[arg-type]
        assert delta(app.screen, "nodes")[2] == "-1"  # type: ignore[arg-type]
        assert {line.code for line in answer.blockers_lost or ()} >= {"POD_DND"}
        assert "of runners  spec.template.spec.terminationGracePeriod changed  NodePoolDrifted" in found
        moved = {pod for line in answer.difference.moves for pod in line.pods}  # type: ignore[union-attr]
        assert "gitlab/ci-4700-7z74t" in moved
        cordoned = {line.after.node_name for line in answer.difference.moves}  # type: ignore[union-attr]
        assert "ip-10-0-102-46.ec2.internal" not in cordoned
        await press(pilot, "x", "enter")
        assert "kubectl cordon ip-10-0-102-46" in app.screen.area.text  # type: ignore[attr-defined]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("story", STORIES)
def test_story_looks(snap_compare: Compare, story: str, size: tuple[int, int]) -> None:
    async def play(pilot: Pilot[Any]) -> None:
        await STORIES[story](pilot)
        await settled(pilot)
        for part in pilot.app.screen.query("TopBar, TabLine"):
            part.display = False  # the frame has pictures of its own
        await pilot.pause()

    assert snap_compare(make_app(), terminal_size=size, run_before=play)


def test_a_light_theme_looks(snap_compare: Compare) -> None:
    async def play(pilot: Pilot[Any]) -> None:
        await story_d(pilot)
        for part in pilot.app.screen.query("TopBar, TabLine"):
            part.display = False
        await pilot.pause()

    assert snap_compare(make_app(theme="textual-light"), terminal_size=(120, 40), run_before=play)
