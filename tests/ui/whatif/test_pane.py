"""The what-if pane: opening, quick edits, typing, undo, modes, scenarios, export."""

from __future__ import annotations

from itertools import product

import pytest
from textual.widgets import Input

from karptui.app import KarptuiApp
from karptui.screens.capacity import PackingScreen
from karptui.screens.dialogs import PickScreen
from karptui.screens.nodes import NodesScreen
from karptui.screens.whatif import screen as whatif_screen
from karptui.screens.whatif.compare import CompareScreen
from karptui.screens.whatif.panes import ResultPane
from karptui.screens.whatif.screen import WhatIfScreen
from karptui.sources.demo.source import DemoSource
from karptui.whatif.edits import RemoveNode, SetSetting, TakeOut
from karptui.whatif.scenario import Replay
from tests.builders import SECOND_NS, text_of
from tests.canvas import whole_of
from tests.ui.fleet import screen_text
from tests.ui.stage import running
from tests.ui.whatif.bench import begin, control, delta, forward, make_app, open_whatif, press, settled, shown, value

SMALL, LARGE = (80, 24), (120, 40)


async def test_the_what_if_opens_with_the_object_under_the_cursor() -> None:
    app = make_app()
    async with running(app, (120, 40)) as (_, pilot):
        await press(pilot, "ctrl+t")
        screen = app.screen
        assert isinstance(screen, WhatIfScreen)
        assert isinstance(app.whatif.book.sheet.edits[0], RemoveNode)
        assert app.whatif.book.sheet.replay is Replay.REMOVE
        assert "kind: NodePool" in screen.edit_pane.editor.text
        await press(pilot, "escape")
        assert isinstance(app.screen, NodesScreen)
        await press(pilot, "ctrl+t")
        assert len(app.whatif.book.sheet.edits) == 1


async def test_a_pool_opens_with_its_class_and_takes_a_mode_and_offerings() -> None:
    async with open_whatif() as (app, pilot, screen):
        assert [document.kind for document in screen.whatif.documents.parsed.documents] == ["NodePool", "EC2NodeClass"]
        assert app.whatif.book.is_untouched
        assert delta(screen, "nodes")[2] == "0"
        assert "Still unschedulable" in shown(screen)
        assert shown(screen).startswith("Nothing is edited: ")
        assert "Exact, except" in shown(screen)
        await press(pilot, "m", "down", "down", "down", "enter")
        assert app.whatif.book.sheet.replay is Replay.NEXT
        assert "Karpenter's next command" in shown(screen)
        await press(pilot, "m", "up", "up", "enter")
        assert app.whatif.book.sheet.replay is Replay.SCRATCH
        assert "New nodes" in shown(screen)
        await press(pilot, "a", *"offering", "enter", *"m7i* spot", "enter")
        assert app.whatif.book.sheet.edits == (TakeOut("m7i*", "", "spot"),)
        await control(pilot, "edit", "backspace")
        assert app.whatif.book.sheet.edits == ()
        await press(pilot, "a", *"offering", "enter", "enter")
        assert app.whatif.book.sheet.edits == ()
        for what, name in product(("save to", "open"), ("~a-user-whom-nobody-knows/x.yaml", "a" * 300)):
            await press(pilot, "s", *what, "enter")
            app.screen.query_one(Input).value = name
            await press(pilot, "enter")
            assert app.screen is screen
            assert screen.info.pieces[0][0].startswith(f"{name} cannot be ")


async def test_every_line_of_the_result_opens_a_screen_and_escape_returns() -> None:
    async with open_whatif("whatif NodePool runners") as (app, pilot, screen):
        await control(pilot, "VM overhead", "enter", "ctrl+u", *"0.0488", "enter")
        lines = screen.result.lines
        opened: set[str] = set()

        async def opens(key: str, *keys: str) -> None:
            lines.focus()
            lines.move_to(key)
            await press(pilot, *keys)
            opened.add(type(app.screen).__name__)
            assert app.screen is not screen
            await press(pilot, "escape")
            assert app.screen is screen
            assert lines.current_key == key

        await opens("pool/trino", "o")
        claim = next(pick.key for pick in lines.picks if pick.key.startswith("claim/edited"))
        lines.focus()
        lines.move_to(claim)
        await press(pilot, "enter")
        below = {str(pick.content).split()[0]: pick.key for pick in lines.picks if pick.key.startswith(f"{claim}#")}
        await opens(below["r5a.8xlarge"], "enter")
        await opens(below["trino/trino-worker-10"], "enter")
        await opens(next(pick.key for pick in lines.picks if pick.key.startswith("node/")), "o")
        assert opened == {"PoolDetailScreen", "TypeLedgerScreen", "PendingDetailScreen", "NodeDetailScreen"}
        assert below["r5a.8xlarge"] in {pick.key for pick in lines.picks}, "expanded lines stay expanded"
        await control(pilot, "terminationGracePeriod", "left")
        drift = next(pick.key for pick in lines.picks if pick.key.startswith("drift-gained/"))
        lines.focus()
        lines.move_to(drift)
        await press(pilot, "enter")
        await opens(f"{drift}#0", "enter")
        await control(pilot, "VM overhead", "enter", "ctrl+u", *"0.0488", "enter")
        screen.result.lines.focus()
        screen.result.lines.move_to("pool/trino")
        await press(pilot, "o", "ctrl+t")
        assert app.screen is screen
        assert sum(isinstance(screen, WhatIfScreen) for screen in app.screen_stack) == 1
        assert "name: trino" in screen.edit_pane.editor.text


async def test_a_scaled_workload_and_documents_that_open_only_once() -> None:
    async with open_whatif() as (app, pilot, screen):
        await press(pilot, "o")
        assert "R focuses the result" in text_of(screen.info.pieces)
        await press(pilot, "a", *"scale", "enter", *"Deployment web/front", "enter", *"2400", "enter")
        lost = next(pick.key for pick in screen.result.lines.picks if pick.key.startswith("lost/web/front"))
        screen.result.lines.focus()
        screen.result.lines.move_to(lost)
        await press(pilot, "o")
        assert app.screen is screen
        assert "is only in this scenario" in text_of(screen.info.pieces)
        await press(pilot, "a", *"scale", "enter", *"Deployment web/front", "enter", *"2400", "enter")
        assert delta(screen, "pending")[2].startswith("+")
        assert "web/front" in shown(screen)
        await press(pilot, "a", *"open", "enter", *"PodDisruptionBudget web/front", "enter")
        assert "kind: PodDisruptionBudget" in screen.edit_pane.editor.text
        for _ in range(2):
            await press(pilot, "a", *"open", "enter", *"Job gitlab/ci-4700", "enter")
            assert screen.edit_pane.document is not None
            assert screen.edit_pane.document.kind == "Job"
        kinds = [item.kind for item in screen.whatif.documents.parsed.documents]
        assert kinds == ["NodePool", "EC2NodeClass", "PodDisruptionBudget", "Job"]


async def test_quick_edits_are_undone_and_their_values_checked() -> None:
    async with open_whatif() as (app, pilot, screen):
        await control(pilot, "weight", "right")
        await control(pilot, "VM overhead", "right")
        assert app.whatif.book.sheet.edits == (SetSetting("VM_MEMORY_OVERHEAD_PERCENT", "0.08"),)
        await press(pilot, "u")
        assert app.whatif.book.sheet.edits == ()
        await press(pilot, "u")
        assert "weight: 50" in screen.edit_pane.editor.text
        await press(pilot, "U", "U", "U")
        assert "weight: 51" in screen.edit_pane.editor.text
        assert value(pilot, "VM overhead") == "0.08"
        await control(pilot, "VM overhead", "left")
        assert app.whatif.book.sheet.edits == ()
        await control(pilot, "weight", "enter", "ctrl+u", *"500", "enter")
        assert "must be a whole number from 1 to 100" in str(app.screen.query_one("Static").render())
        await press(pilot, "backspace", "enter")
        assert app.screen is screen
        assert "weight: 50" in screen.edit_pane.editor.text
        await control(pilot, "policy", "enter", "down", "enter")
        assert value(pilot, "policy") != "WhenEmptyOrUnderutilized"
        await control(pilot, "capacity type", "enter", "space", "enter")
        assert value(pilot, "capacity type") == "on-demand"
        await control(pilot, "taints", "enter", *"team=ml:NoSchedule", "enter")
        assert "ml" in value(pilot, "taints")
        await control(pilot, "taints", "enter", "enter")
        assert value(pilot, "taints") == "-"
        await control(pilot, "preferences", "enter", "down", "enter")
        assert SetSetting("PREFERENCE_POLICY", "Ignore") in app.whatif.book.sheet.edits


async def test_typing_is_checked_line_by_line_and_undone() -> None:
    async with open_whatif() as (_, pilot, screen):
        result = shown(screen)
        await press(pilot, "e")
        screen.edit_pane.editor.show_place(screen.edit_pane.editor.text.split("\n").index("  weight: 50"), 12)
        await press(pilot, "enter", *"limi", "escape")
        assert screen.whatif.documents.is_broken
        assert shown(screen) == result
        assert "last valid result" in text_of(screen.explain())
        await press(pilot, "u")
        assert not screen.whatif.documents.is_broken
        before = screen.edit_pane.editor.text
        await press(pilot, "e")
        screen.edit_pane.editor.show_place(screen.edit_pane.editor.text.split("\n").index("  weight: 50"), 12)
        await press(pilot, "backspace", "1", "enter", *"limits", "escape")
        await press(pilot, "u")
        assert "  weight: 51\n" in screen.edit_pane.editor.text
        assert "undone: typing in line" in text_of(screen.info.pieces)
        await press(pilot, "u")
        assert screen.edit_pane.editor.text == before
        screen.whatif.put_text(screen.edit_pane.editor.text.replace("  weight: 50", "  wieght: 500"), "typing")
        await settled(pilot)
        row = screen.edit_pane.editor.text.split("\n").index("  wieght: 500")
        assert "weight" in screen.edit_pane.editor.notes[row].text
        screen.whatif.put_text(screen.edit_pane.editor.text.replace("  wieght: 500", "  weight: 500"), "typing")
        await settled(pilot)
        assert "100" in screen.edit_pane.editor.notes[row].text
        screen.edit_pane.editor.show_place(row)
        await settled(pilot)
        assert "spec.weight" in text_of(screen.explain())


async def test_scenarios_are_named_duplicated_compared_and_discarded() -> None:
    async with open_whatif() as (app, pilot, screen):
        await control(pilot, "VM overhead", "left", "left", "left", "left", "left", "left")
        await press(pilot, "N", "ctrl+u", *"less", "enter")
        assert app.whatif.book.sheet.name == "less"
        await press(pilot, "s", *["down"] * 2, "enter")
        assert [sheet.name for sheet in app.whatif.book.sheets] == ["less", "less (2)"]
        await control(pilot, "VM overhead", "right")
        await press(pilot, "c")
        assert isinstance(app.screen, CompareScreen)
        await settled(pilot)
        table = str(app.screen.table.render())
        assert "less (2)" in table
        assert "drifted" in table
        await press(pilot, "escape")
        await press(pilot, "s", *["down"] * 6, "enter")
        assert len(app.whatif.book.sheets) == 1
        assert app.screen is screen


async def test_the_next_edit_uses_the_changed_cluster() -> None:
    async with open_whatif() as (app, pilot, screen):
        first = app.whatif.book.answers[0]
        forward(app, 30 * SECOND_NS)
        assert isinstance(app.follower.source, DemoSource)
        app.follower.source.step()
        await settled(pilot)
        assert app.whatif.book.answers[0] is not first
        assert "cluster changed" in str(screen.result.border_title)
        await press(pilot, "right")
        assert "cluster changed" not in str(screen.result.border_title), "the next edit updates the answer"


async def test_in_a_small_terminal_the_focused_pane_gets_the_space() -> None:
    async with open_whatif(size=(80, 24)) as (_, pilot, screen):
        assert (screen.edit_pane.controls.size.height, screen.edit_pane.editor.size.height) == (8, 0)
        await press(pilot, "e")
        assert screen.edit_pane.controls.size.height == 0
        assert screen.edit_pane.editor.size.height >= 6


async def test_marked_nodes_are_removed_and_leaving_unsaved_edits_asks_once() -> None:
    app = make_app()
    async with running(app, (120, 40)) as (_, pilot):
        await press(pilot, "end", "space", "up", "space", "ctrl+t")
        assert isinstance(app.screen, WhatIfScreen)
        assert [type(edit) for edit in app.whatif.book.sheet.edits] == [RemoveNode, RemoveNode]
        await press(pilot, "q")
        assert isinstance(app.screen, NodesScreen), "not asked, because the marks give the same edits again"
        app.run_command("whatif")
        await settled(pilot)
        await control(pilot, "VM overhead", "left")
        await press(pilot, "q")
        assert isinstance(app.screen, PickScreen)
        await press(pilot, "escape")
        assert isinstance(app.screen, WhatIfScreen)
        await press(pilot, "q")
        assert isinstance(app.screen, NodesScreen), "asked only once"
    assert app.whatif.book.unsaved()
    again = make_app()
    async with again.run_test(size=(120, 40)) as pilot:
        screen = await begin(pilot, "whatif")
        assert [sheet.edits for sheet in again.whatif.book.sheets] == [sheet.edits for sheet in app.whatif.book.sheets]
        assert "1 scenario not saved last time is here again" in text_of(screen.info.pieces)


async def test_packing_is_drawn_before_and_after() -> None:
    async with open_whatif() as (app, pilot, _):
        await press(pilot, "p")
        assert "after the edits" not in screen_text(app)  # nothing is edited
        await press(pilot, "escape")
        app.whatif.book.put_edits((RemoveNode("ip-10-0-3-219.ec2.internal"),), "gone")
        await press(pilot, "p")
        assert isinstance(app.screen, PackingScreen)
        for words in ("1 node removed", "after the edits", "─ general 44 → 43 nodes, ", "→ goes", "unchanged: "):
            assert words in screen_text(app)
        await press(pilot, "b")
        assert "memory" in next(line for line in screen_text(app).splitlines() if "─ general" in line)
        await press(pilot, "escape")
        assert isinstance(app.screen, WhatIfScreen)


def looks(app: KarptuiApp) -> list[str]:
    """Return the text lines of the Result pane."""
    region = app.screen.query_one(ResultPane).region
    return [line.crop(region.x, region.right).text for line in whole_of(app)[region.y : region.bottom]]


async def test_a_resized_result_looks_like_one_opened_in_that_size() -> None:
    """Story C: one more DaemonSet excludes small instance types."""
    shown: dict[tuple[int, int], list[list[str]]] = {size: [] for size in (SMALL, LARGE)}
    for before, after in ((SMALL, LARGE), (LARGE, SMALL)):
        app = make_app()
        async with app.run_test(size=before) as pilot:
            await begin(pilot, "whatif NodePool edge")
            await press(pilot, "a", *"scale", "enter", *"Deployment edge/gateway", "enter", *"60", "enter")
            await press(pilot, "a", *"cost of one more", "enter", "ctrl+u", *"agent", "enter")
            shown[before].append(looks(app))
            await pilot.resize_terminal(*after)
            await settled(pilot)
            shown[after].append(looks(app))
    for texts, other in shown.values():
        assert texts == other


def result_text(screen: WhatIfScreen) -> str:
    return text_of(screen.explain())


async def test_quick_edits_follow_the_cursor_but_not_while_typing(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_whatif() as (_, pilot, screen):
        titles = [control.title for control in screen.edit_pane.controls.controls]
        screen.edit_pane.editor.show_place(screen.edit_pane.editor.text.split("\n").index("---") + 2)
        await settled(pilot)
        assert [control.title for control in screen.edit_pane.controls.controls] != titles
        await press(pilot, "e")
        screen.edit_pane.editor.show_place(screen.edit_pane.editor.text.split("\n").index("  weight: 50"), 12)
        await settled(pilot)
        before, controls = result_text(screen), screen.edit_pane.controls.controls
        monkeypatch.setattr(whatif_screen, "REPLAY_AFTER_SECONDS", 3600.0)
        await pilot.press("0")
        assert screen.whatif.documents.text == screen.edit_pane.editor.text
        assert "  weight: 500\n" in screen.whatif.documents.text
        assert not screen.whatif.documents.is_taken_apart
        assert result_text(screen) == before
        assert screen.edit_pane.controls.controls == controls
        await pilot.press("left")
        assert not screen.whatif.documents.is_taken_apart, "not even if the cursor moves in the meantime"
        screen.ask()
        assert screen.whatif.documents.is_taken_apart
        assert "spec.weight" in result_text(screen)


async def test_a_changed_cluster_is_used_only_when_the_pending_edit_is_replayed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with open_whatif() as (app, pilot, screen):
        monkeypatch.setattr(whatif_screen, "REPLAY_AFTER_SECONDS", 3600.0)
        await pilot.press("right")
        asked, taken = app.whatif.replaying().number, app.whatif.book.answers[0]
        forward(app, 30 * SECOND_NS)
        assert isinstance(app.follower.source, DemoSource)
        app.follower.source.step()
        await settled(pilot)
        assert (app.whatif.replaying().number, app.whatif.book.answers[0]) == (asked, taken)
        screen.ask()
        await settled(pilot)
        assert app.whatif.book.answers[0] is not taken
        assert not app.whatif.replaying().is_outdated, "the edit is replayed on the current cluster"
