from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from textual import events

from karptui.config import Banner, ContextSettings
from karptui.decode.kinds import Kind
from karptui.screens.help import HelpScreen
from karptui.screens.nodes import NodesScreen
from karptui.screens.pods import PodsScreen
from karptui.sources.source import Phase, SourceError
from karptui.widgets.key_line import KeyLine
from karptui.widgets.prompt import PromptInput
from karptui.widgets.textual_compat.dimmed import LOOK_SECONDS
from karptui.widgets.top_bar import TabLine
from tests.canvas import Canvas
from tests.event_loop import loop_seconds
from tests.ui.conftest import MakeApp
from tests.ui.fleet import FleetSource, a_fleet, a_node, lines_of, screen_text, status
from tests.ui.stage import press, running, settled

SIZE = (120, 40)
POLL_SECONDS = 0.5
"""Longer than a pilot waits, so that polls happen only while a test sleeps."""


async def test_keys_tabs_footer_commands_and_palette_open_screens(make_app: MakeApp) -> None:
    async with running(make_app(), SIZE) as (app, pilot):
        await pilot.press("4")
        assert isinstance(app.screen, PodsScreen)
        await pilot.click(TabLine, offset=(3, 0))
        await pilot.pause()
        assert isinstance(app.screen, NodesScreen)
        await pilot.press("enter")
        await pilot.press("colon", *"po ns=gitlab", "enter")
        assert isinstance(app.screen, PodsScreen)
        assert "[2/89] ─ ns=gitlab" in screen_text(app)
        await pilot.press("1")
        assert isinstance(app.screen, NodesScreen)
        await pilot.click(TabLine, offset=(100, 0))
        await pilot.press("escape", "1")
        line = app.screen.query_one(KeyLine)
        footer = lines_of(app)[-1]
        assert footer.split()[:2] == ["enter", "Detail"]
        await pilot.click(KeyLine, offset=(footer.index("Help"), 0))
        await pilot.pause()
        assert isinstance(app.screen, HelpScreen)
        await pilot.press("escape")
        await pilot.click(line, offset=(118, 0))
        await pilot.press("slash")
        assert lines_of(app)[-1].split() == ["enter", "Apply", "tab", "Complete", "esc", "Cancel"]
        await pilot.press("escape", "1")
        keys = app.screen.active_bindings
        assert not {"ctrl+d", "ctrl+k", "r", "u"} & {key for key in keys if keys[key].binding.id}
        shown = [active for active in keys.values() if active.binding.show]
        assert shown
        assert all(active.binding.id for active in shown)
        await pilot.press("escape", "1")
        offered = {command.title: command.callback for command in app.get_system_commands(app.screen)}
        assert set(offered) == {f":{command.name}" for command in app.commands}
        offered[":pods"]()
        await pilot.pause()
        assert isinstance(app.screen, PodsScreen)
        offered[":sort"]()
        await pilot.pause()
        assert app.screen.query_one(PromptInput).value == "sort "


@pytest.mark.parametrize("times", [1, 2])
async def test_a_screen_is_first_drawn_completely(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    async with running(make_app(), SIZE) as (app, pilot):
        for _ in range(times - 1):
            await pilot.press("4", "1")
        seen: list[tuple[float, str]] = []

        def look() -> None:
            seen.append((loop_seconds(), "\n".join(canvas.texts(app.screen.region))))

        canvas = Canvas.behind(app, monkeypatch, look)
        began = loop_seconds()
        await pilot.press("4")
        drawn_at, text = seen[0]
        assert drawn_at - began < 0.02
        assert "─ Pods [89]" in text
        assert "aws-node-00x" in text


async def test_input_lines_have_history_completion_and_error_messages(make_app: MakeApp) -> None:
    async with running(make_app(), SIZE) as (app, pilot):
        for text in ("one", "two"):
            await pilot.press("slash", "ctrl+u", *text, "enter")
        await pilot.press("slash", "ctrl+u", "up")
        line = app.screen.query_one(PromptInput)
        assert line.value == "two"
        await pilot.press("up", "up")
        assert line.value == "one"
        await pilot.press("down", "down")
        assert line.value == ""
        await pilot.press("tab", "escape")
        await pilot.press("escape")
        await pilot.press("colon", *"th", "tab")
        line = app.screen.query_one(PromptInput)
        assert line.value == "theme"
        await pilot.press(*" nor", "tab", "enter")
        assert app.theme == "nord"
        await pilot.press("colon", *"pods", "enter", "colon", *"ndes", "enter")
        assert "there is no command :ndes; did you mean :nodes?" in screen_text(app)
        await pilot.press("colon", *"zzzz")
        assert "nothing called zzzz" in screen_text(app)
        await pilot.press("escape", "colon", "enter")
        for command, text in (
            ("theme nothing", "there is no theme nothing"),
            ("sort nothing", "there is no column nothing here"),
            ("sort", "there is no column without a name here"),
        ):
            app.run_command(command)
            await pilot.pause()
            assert text in screen_text(app)
        for command in ("sort cpu", "wide", "faults", "filter x", "filter"):
            app.run_command(command)
        await pilot.pause()
        assert "CPU↓" in screen_text(app)
        app.run_command("sources")
        await pilot.pause()
        assert "Sources [" in screen_text(app)
        await pilot.press("y", "escape")


async def test_help_lists_the_bindings_and_begins_with_the_screens_own(make_app: MakeApp) -> None:
    async with running(make_app(), (80, 300)) as (app, pilot):
        await pilot.press("question_mark")
        assert isinstance(app.screen, HelpScreen)
        text = screen_text(app)
        words = ("↓ j", ":nodes :no :node", "Columns", "The capacity type", "free.cpu>")
        assert [word for word in words if word not in text] == []
        lines = [line.split("│")[1].rstrip() for line in lines_of(app) if line.count("│") == 2]
        titles = [line.strip() for line in lines if line.startswith("  ") and line.strip() and line[2] != " "]
        order = [
            titles.index(item)
            for item in ("This screen", "Labels of WHY, worst first", "Columns", "Every screen", "Table", "Commands")
        ]
        assert order == sorted(order)
        await pilot.press("j", "k", "q")
        assert isinstance(app.screen, NodesScreen)
        app.run_command("help")
        await pilot.pause()
        assert isinstance(app.screen, HelpScreen)
        await pilot.click(offset=(40, 150))
        assert isinstance(app.screen, HelpScreen)
        await pilot.click(offset=(1, 1))
        assert isinstance(app.screen, NodesScreen)


async def test_the_theme_dialog_begins_at_the_current_theme(make_app: MakeApp) -> None:
    async with running(make_app(theme="textual-light"), (80, 24)) as (app, pilot):
        app.run_command("theme")
        await pilot.pause()
        assert "textual-light" in screen_text(app), (
            "the cursor is visible, and the list is not cut off at its last line"
        )
        await pilot.press("enter")
        assert app.theme == "textual-light"
        app.run_command("theme")
        await pilot.pause()
        await pilot.press(*"colour blind light".replace(" ", "-"), "enter")
        assert app.theme == "karptui-colour-blind-light"
        app.run_command("theme")
        await pilot.pause()
        await pilot.click(offset=(0, 0))
        assert isinstance(app.screen, NodesScreen)
        assert app.theme == "karptui-colour-blind-light"


async def test_a_changed_keymap_and_an_unknown_theme(make_app: MakeApp) -> None:
    async with running(make_app(theme="nonsense", keymap={"list.wide": "w, ctrl+w"}), SIZE) as (app, pilot):
        assert "there is no theme nonsense; :theme lists them" in screen_text(app)
        await pilot.press("w")
        assert "every column; ← → scroll, w goes back" in screen_text(app)


async def test_q_goes_back_then_quits_and_stops_the_source(make_app: MakeApp) -> None:
    source = FleetSource(a_fleet())
    app = make_app(source=source)
    async with running(app, SIZE) as (_, pilot):
        await pilot.press("enter")
        await pilot.press("q")
        assert app.is_running
        assert source.stopped == 0
        await pilot.press("q")
    assert app.return_code == 0
    assert source.stopped == 1


@pytest.mark.parametrize("keys", [("enter", "ctrl+c"), ("colon", "q", "enter"), ("slash", "ctrl+c")])
async def test_ctrl_c_and_colon_q_always_quit(make_app: MakeApp, keys: Sequence[str]) -> None:
    app = make_app()
    async with running(app, SIZE) as (_, pilot):
        await pilot.press(*keys)
        assert not app.is_running


async def test_another_context(make_app: MakeApp) -> None:
    first, second = FleetSource(a_fleet()), FleetSource(a_fleet(), title="kind-dev")

    def connect(name: str) -> FleetSource:
        if name != "kind-dev":
            raise SourceError(f"there is no context {name}")
        return second

    app = make_app(source=first, connect=connect, context_names=lambda: ("kind-dev", "prod-eu-1"))
    async with running(app, SIZE) as (_, pilot):
        app.run_command("ctx nowhere")
        await pilot.pause()
        assert "there is no context nowhere" in screen_text(app)
        await press(pilot, "colon", *"ctx k", "tab", "enter")
        assert (first.stopped, second.stopped) == (1, 0)
        assert "kind-dev" in lines_of(app)[0]


async def test_a_narrow_terminal_still_shows_banner_clock_help_and_quit(make_app: MakeApp) -> None:
    contexts = {"prod-*": ContextSettings(Banner.CAUTION, "PRODUCTION")}
    async with make_app(contexts=contexts).run_test(size=(40, 24)) as pilot:
        lines = lines_of(await settled(pilot))
        assert "PRODUCTION prod" in lines[0]
        assert lines[0].endswith("12:00:07Z")
        assert lines[-1].split()[-4:] == ["?", "Help", "q", "Quit"]
        assert max(map(len, lines)) <= 40


async def test_the_source_is_polled_less_in_the_background(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("karptui.app.POLL_SECONDS", POLL_SECONDS)
    async with running(make_app(), SIZE) as (app, _):
        app.on_app_blur(events.AppBlur())
        polled: list[int] = []
        app.feed.poll_now = lambda: polled.append(1)  # type: ignore[method-assign]  # counted, not run
        await asyncio.sleep(8 * POLL_SECONDS)
        assert len(polled) == 2
        app.on_app_focus(events.AppFocus())
        await asyncio.sleep(POLL_SECONDS)
        assert len(polled) == 4


async def test_a_large_cluster_is_updated_in_a_thread(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("karptui.session.follower.LARGE_FROM_PODS", 10)
    monkeypatch.setattr("karptui.app.POLL_SECONDS", POLL_SECONDS)
    source = FleetSource(a_fleet())
    async with running(make_app(source=source), SIZE) as (app, pilot):
        assert app.follower.is_large
        assert source.mailbox is not None
        source.mailbox.put(Kind.POD, {"gitlab/runner-7f2c4": None})
        monkeypatch.setattr("karptui.session.throttle.LEAST_SECONDS", 1e9)
        await asyncio.sleep(2 * POLL_SECONDS)
        await pilot.pause()
        assert "88 pods" in screen_text(app)
        source.mailbox.put(Kind.POD, {"gitlab/runner-9d0aa": None})
        await asyncio.sleep(2 * POLL_SECONDS)
        assert source.mailbox.waiting == 1, "updates are paused"
        source.mailbox.report(status(Kind.POD, Phase.STALE))
        await asyncio.sleep(POLL_SECONDS)
        await pilot.pause()
        assert source.mailbox.waiting == 0, "new objects are not delayed"


async def test_the_screen_behind_the_help_is_not_redrawn(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = a_fleet()
    source = FleetSource(fleet)
    async with running(make_app(source=source), SIZE) as (app, pilot):
        nodes = app.screen
        await pilot.press("question_mark")
        front = app.screen
        assert isinstance(front, HelpScreen)
        assert not nodes.is_current
        drawn: list[object] = []
        monkeypatch.setattr(app, "_display", lambda screen, _: drawn.append(screen))
        a_node(fleet, "ip-10-0-0-1")
        assert source.mailbox is not None
        fleet.pour(source.mailbox)
        app.poll_now()
        await pilot.pause()
        assert nodes not in drawn
        await asyncio.sleep(LOOK_SECONDS)
        assert "12 nodes" in front.render_lines(front.size.region)[0].text
        monkeypatch.undo()
        await pilot.press("escape")
        assert nodes.is_current
        assert "12 nodes" in screen_text(app)


async def test_a_message_disappears_with_the_next_key(make_app: MakeApp) -> None:
    async with running(make_app(), SIZE) as (app, pilot):
        assert isinstance(app.screen, NodesScreen)
        for keys in (["down"], ["down", "up"], ["slash", "escape"], ["space"]):
            app.screen.say("something was said")
            await pilot.pause()
            assert "something was said" in screen_text(app)
            await pilot.press(*keys)
            assert "something was said" not in screen_text(app), keys
            assert app.screen.table.has_focus
