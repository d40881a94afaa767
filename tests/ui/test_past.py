"""Past moments on the screens: keys, the top bar, and the History and Changes screens."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from textual.widgets import TextArea

from karptui.app import KarptuiApp
from karptui.cli.evidence import evidence_source
from karptui.clock import FrozenClock
from karptui.config import Config
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.screens.changes import ChangesScreen
from karptui.screens.forward import ForwardScreen
from karptui.screens.history import HistoryScreen
from karptui.screens.node_detail import NodeDetailScreen
from karptui.screens.pools import PoolDetailScreen
from karptui.screens.text import TextScreen
from karptui.session.answers import PastMoment, PlayMoment
from karptui.sources.history.store import PREDICTION, History, Mark, Sample
from karptui.sources.history.tap import HistoryTap, Limits
from karptui.sources.history.writer import HistoryWriter
from karptui.sources.snapshot.reader import SnapshotReader
from karptui.sources.snapshot.source import SnapshotSource
from karptui.sources.source import Source
from tests.builders import NOW_NS, present, text_of
from tests.histories import BEGIN_NS, demo_history, write_marks
from tests.story_e import StorySource, story_evidence
from tests.ui import stage
from tests.ui.fleet import screen_text
from tests.ui.stage import an_app, column, front, history_app, running, settled, worked

SECONDS = 60
pressing = partial(stage.pressing, is_analysed=False)
"""These tests need no analysis of blockers."""
MINUTES = 6


def at(second: float) -> int:
    return BEGIN_NS + int(second * NS_PER_SECOND)


MARKS = (
    Mark(at_ns=at(20.5), cause="verdict", name="general", text="2 pods db/report-* pending"),
    Mark(at_ns=at(20.5), cause="edit", object_kind="NodePool", name="spot"),
    Mark(at_ns=at(40.5), cause="disruption", object_kind="Node", name="ip-10-0-1-96", text="Empty"),
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record the demo from 14:00:00 to 14:01:00 with three marks, and return the path."""
    path = demo_history(tmp_path_factory, SECONDS)
    write_marks(path, MARKS)
    return path


@pytest.fixture
def app(path: Path) -> KarptuiApp:
    """Return the app over a history file; the end of the history counts as the present."""
    snapshot = SnapshotReader().read([path], keeps_manifests=True)
    source = SnapshotSource(snapshot)
    return an_app(source, clock=FrozenClock(snapshot.captured_at_ns), evidence=evidence_source(source, Config()))


class IdleTap(HistoryTap):
    """A tap that records nothing, because the history file already exists."""

    def start(self, *_: object) -> None:
        """Do nothing."""


def following(path: Path, source: Source | None = None) -> KarptuiApp:
    """Return the app over a live cluster with a recorded history, at 14:02:00."""
    clock = FrozenClock(at(120))
    return an_app(source or StorySource(), clock=clock, evidence=story_evidence(),
                  tap_of=lambda _: IdleTap(path, "prod", clock, Limits()))  # fmt: skip


def top_line(app: KarptuiApp) -> str:
    return screen_text(app).splitlines()[0]


def notice(app: KarptuiApp) -> str:
    return " ".join(screen_text(app).split())


def moment_ns(app: KarptuiApp) -> int:
    assert isinstance(app.moments.shown, PastMoment)
    assert app.now_ns() == app.moments.shown.at_ns
    return app.moments.shown.at_ns


async def test_the_top_bar_marks_a_past_moment(app: KarptuiApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await pressing("1")(pilot)
        present = top_line(app)
        assert "past" not in present
        await pressing("colon", *"at 14:00:30", "enter")(pilot)
        assert moment_ns(app) == at(30)
        assert top_line(app).strip().startswith("past demo")
        assert "◀ 14:00:30Z (30s ago)" in top_line(app)
        assert "[ Earlier" in screen_text(app).splitlines()[-1]
        await pressing("full_stop")(pilot)
        assert app.moments.shown is None
        assert top_line(app) == present
        assert "Earlier" not in screen_text(app).splitlines()[-1]


async def test_brackets_braces_and_times_select_a_moment(app: KarptuiApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await pressing("right_square_bracket")(pilot)
        assert "this is the newest recorded moment" in notice(app)
        assert app.moments.shown is None
        await pressing("colon", *"at 14:00", "enter", "left_square_bracket")(pilot)
        assert "the history begins here" in notice(app)
        assert moment_ns(app) == BEGIN_NS
        await pressing("colon", *"at 13:59", "enter")(pilot)
        assert "nothing was recorded then: the history begins later" in notice(app)
        assert moment_ns(app) == BEGIN_NS
        await pressing("full_stop")(pilot)
        await pressing("4", "left_square_bracket")(pilot)
        first = moment_ns(app)
        await pressing("left_square_bracket", "left_square_bracket")(pilot)
        third = moment_ns(app)
        assert third < first < at(SECONDS)
        assert app.current_mode == "pods"
        await pressing("right_square_bracket", "right_square_bracket")(pilot)
        assert moment_ns(app) == first
        await pressing("full_stop")(pilot)
        await pressing("left_curly_bracket")(pilot)
        assert moment_ns(app) == at(40.5)
        assert "disrupted: ip-10-0-1-96: Empty" in notice(app)
        await pressing("left_curly_bracket")(pilot)
        assert moment_ns(app) == at(20.5)
        assert "general: 2 pods db/report-* pending (and 1 more)" in notice(app)
        await pressing("left_curly_bracket")(pilot)
        assert "there is no earlier mark" in notice(app)
        await pressing("right_curly_bracket")(pilot)
        assert moment_ns(app) == at(40.5)
        await pressing("right_curly_bracket")(pilot)
        assert "there is no later mark" in notice(app)
        assert moment_ns(app) == at(40.5)
        await pressing("full_stop")(pilot)
        await pressing("colon", *"at soon", "enter")(pilot)
        assert "'soon' is not a time of day in UTC" in notice(app)
        assert app.moments.shown is None
        for text, second in (("-20s", 40), ("14:00:30", 30), ("2026-11-28T14:00:10Z", 10)):
            await pressing("full_stop")(pilot)
            app.run_command(f"at {text}")
            await pressing()(pilot)
            assert moment_ns(app) // NS_PER_SECOND == at(second) // NS_PER_SECOND
        for key in ("escape", "q", "full_stop"):
            await pressing("1", "left_square_bracket", "left_square_bracket", "2")(pilot)
            assert app.moments.shown is not None
            await pressing(key)(pilot)
            assert app.moments.shown is None
            assert app.current_mode == "pools"
            assert app.is_running
        await pressing("slash", "left_square_bracket", "full_stop", "left_curly_bracket")(pilot)
        assert app.moments.shown is None
        assert "[.{" in screen_text(app)


async def test_details_forecasts_and_what_ifs_of_a_moment(app: KarptuiApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("karptui.screens.forward.HORIZONS_NS", (600 * NS_PER_SECOND,))
    async with app.run_test(size=(120, 40)) as pilot:
        await pressing("colon", *"at 14:00:30", "enter", "enter")(pilot)
        assert isinstance(app.screen, NodeDetailScreen)
        await stage.pressing("y")(pilot)
        assert not isinstance(app.screen, NodeDetailScreen)
        assert "kind: Node" in screen_text(app)
        await pressing("full_stop")(pilot)
        assert app.moments.shown is None
        assert app.is_running
        await pressing("colon", *"at 14:00:30", "enter", "F", "enter")(pilot)
        assert isinstance(app.moments.shown, PlayMoment)
        assert app.moments.shown.at_ns >= at(30)
        await pressing("q")(pilot)
        assert isinstance(app.screen, ForwardScreen)
        assert moment_ns(app) == at(30)
        await pressing("escape", "F", "enter", "left_curly_bracket")(pilot)
        assert moment_ns(app) == at(20.5)
        await pressing("q")(pilot)
        assert app.moments.shown is None
        assert app.is_running
        await pressing("full_stop")(pilot)
        await pressing("colon", *"at 14:00:30", "enter", "2", "ctrl+t")(pilot)
        assert "Edit" in screen_text(app)
        await pressing("right_square_bracket")(pilot)
        assert moment_ns(app) > at(30)
        assert "Edit" in screen_text(app)


async def test_the_cluster_is_followed_during_past_moments_and_recording_gaps_are_shown(path: Path) -> None:
    app = following(path)
    async with app.run_test(size=(120, 40)) as pilot:
        await pressing("1")(pilot)
        followed = app.follower
        await pressing("left_square_bracket")(pilot)
        assert app.follower is not followed
        assert "(60s ago)" in top_line(app)
        assert top_line(app).strip().startswith(f"past {followed.title}")
        await pressing("full_stop")(pilot)
        assert app.follower is followed
        assert app.now_ns() == at(120)
        await pressing("colon", *"at -30s", "enter")(pilot)
        assert moment_ns(app) // NS_PER_SECOND == at(SECONDS) // NS_PER_SECOND
        assert "nothing is recorded at 14:01:30Z: this is the last moment before it" in notice(app)


async def test_a_cluster_without_a_history_gives_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    app = an_app(StorySource(), clock=FrozenClock(NOW_NS), evidence=story_evidence())
    async with app.run_test(size=(120, 40)) as pilot:
        await pressing("left_square_bracket")(pilot)
        assert "no history of this cluster is recorded: it is off (history = false), or has just begun" in notice(app)
        assert app.moments.shown is None
        with monkeypatch.context() as patch:
            patch.setattr(app, "tell", lambda text, *_: told.append(text))
            app.run_command("card")
        assert "histor" in told[0]
        for command, kind in (("history", HistoryScreen), ("changes", ChangesScreen)):
            app.run_command(command)
            await stage.worked(pilot)
            assert isinstance(app.screen, kind)
            assert stage.column(app) == []
            assert "no history of this cluster is recorded" in notice(app)


async def test_a_recording_of_one_moment_or_a_damaged_history_gives_a_message(tmp_path: Path) -> None:
    (tmp_path / "cluster.json").write_text('{"apiVersion": "v1", "kind": "List", "items": []}')
    (tmp_path / "h.karptui").write_bytes(b"damaged")
    one_moment = SnapshotSource(SnapshotReader().read([tmp_path / "cluster.json"]))
    for app, sentence in (
        (an_app(one_moment, clock=FrozenClock(NOW_NS)), "this file is one moment: only a history"),
        (following(tmp_path / "h.karptui"), "is not a history that karptui has recorded"),
    ):
        async with app.run_test(size=(120, 40)) as pilot:
            await pressing("left_curly_bracket")(pilot)
            assert sentence in notice(app)
            assert app.moments.shown is None


async def test_only_the_first_start_mentions_that_a_history_is_recorded(path: Path) -> None:
    texts = []
    for _ in range(2):
        app = an_app(StorySource(), clock=FrozenClock(at(120)), evidence=story_evidence(),
                     tap_of=lambda _: IdleTap(path, "prod", FrozenClock(at(120)), Limits()),
                     connect=lambda _: StorySource())  # fmt: skip
        async with app.run_test(size=(160, 30)) as pilot:
            await pressing()(pilot)
            texts.append(notice(app))
    assert ["history = false turns it off" in text for text in texts] == [True, False]


async def test_the_reason_for_not_recording_is_shown_once(path: Path) -> None:
    app = following(path)
    async with app.run_test(size=(160, 30)) as pilot:
        await pressing()(pilot)
        assert "not recorded" not in notice(app)
        assert app.follower.tap is not None
        app.follower.tap.trouble = "another karptui records this cluster"
        app.show_changes(is_changed=False)
        await pressing()(pilot)
        assert "the history is not recorded: another karptui records this cluster" in notice(app)
        await pressing("down")(pilot)
        app.show_changes(is_changed=False)
        await pressing()(pilot)
        assert "not recorded" not in notice(app)


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = demo_history(tmp_path_factory, 60 * MINUTES)
    writer = HistoryWriter(path, "")
    for minute in range(1, MINUTES):
        at_ns = BEGIN_NS + minute * 60 * NS_PER_SECOND
        writer.write_samples(
            Sample(
                at_ns=at_ns, pool=pool, nodes=minute, price_per_hour=float(minute), held_per_hour=0.5,
                cpu_requested_millis=minute * 100, cpu_allocatable_millis=1000,
            )
            for pool in ("general", "batch")
        )  # fmt: skip
    writer.close()
    marks = (
        Mark(at_ns=BEGIN_NS + 10**9, cause=PREDICTION, code=code, object_kind="Pod") for code in ("right", "wrong")
    )
    write_marks(path, [*marks])
    return path


async def test_history_shows_sums_rows_charts_and_the_share_of_true_predictions(history: Path) -> None:
    app = history_app(history)
    async with running(app, (190, 50), is_analysed=False) as (_, pilot):
        app.run_command("history")
        await worked(pilot, is_analysed=False)
        screen = front(app, HistoryScreen)
        assert {"-", "general", "batch"} <= set(column(app, 1))
        assert screen.current is not None
        assert screen.current.pool is None
        cost, cpu = (chart.chart for chart in screen.charts[:2])
        assert cost is not None
        assert cost.title == "cost, $/h"
        assert cost.lines[0].values == (2.0, 4.0, 6.0, 8.0, 10.0)
        assert cpu is not None
        assert cpu.lines[0].values == pytest.approx((10.0, 20.0, 30.0, 40.0, 50.0))
        assert not screen.charts[2].display, "the history has no memory usage"
        app.run_command("filter pool=batch")
        await worked(pilot, is_analysed=False)
        assert screen.current.pool == "batch"
        cost = present(screen.charts[0].chart)
        assert cost.lines[0].values == (1.0, 2.0, 3.0, 4.0, 5.0)
        app.run_command("about")
        await worked(pilot, is_analysed=False)
        text = front(app, TextScreen).query_one(TextArea).text
        assert "recorded from 2026-11-28 14:00:00Z to 2026-11-28 14:06:00Z" in text
        assert "predictions: 1 of 2 placements right (50 %)" in text


@pytest.fixture(scope="module")
def edited_history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return demo_history(tmp_path_factory, 200)


async def test_changes_of_a_recorded_period_open_objects_and_removed_nodes(edited_history: Path) -> None:
    app = history_app(edited_history)
    async with running(app, (140, 30), is_analysed=False) as (_, pilot):
        app.run_command("changes yesterday")
        await settled(pilot, is_analysed=False)
        assert not isinstance(app.screen, ChangesScreen)
        app.run_command("changes -0s")
        await worked(pilot, is_analysed=False)
        screen = front(app, ChangesScreen)
        assert screen.listing.rows is not None
        assert "nothing is recorded in that time" in "".join(
            text for text, _ in screen.placeholder(screen.listing.rows)
        )
        await pilot.press("escape", "escape", "1")
        app.run_command("changes -3m")
        await worked(pilot, is_analysed=False)
        screen = front(app, ChangesScreen)
        kinds = column(app)
        assert kinds == sorted(kinds, key=["Node", "NodeClaim", "Pod"].index)
        assert {"Node", "Pod"} <= set(kinds)
        assert "(3m)" in text_of(screen.explain())
        assert screen.current is not None
        assert screen.current.kind == "Node"
        await pilot.press("enter")
        await settled(pilot, is_analysed=False)
        front(app, PoolDetailScreen)
        opened = History(edited_history)
        last_ns = opened.sessions()[-1].to_ns
        gone = {change.key for change in opened.changes(0, last_ns, ("NodeClaim",)) if change.is_deletion}
        opened.close()
        await pilot.press("escape", "escape", "1")
        app.open_screen("events", filter_text=f"kind=NodeClaim object={min(gone)}")
        await settled(pilot, is_analysed=False)
        await pilot.press("e")
        await worked(pilot, is_analysed=False)
        text = front(app, TextScreen).query_one(TextArea).text
        assert text.startswith("The node is gone.\nNodeClaim ")
