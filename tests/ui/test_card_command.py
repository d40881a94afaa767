"""`:card` in the app."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from karptui.kube.timestamps import NS_PER_SECOND
from karptui.sources.history.store import History
from karptui.views.row import Tone
from tests.histories import record_demo
from tests.ui.stage import history_app, running, worked


async def test_card_is_written_by_another_process_up_to_the_shown_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history, folder = tmp_path / "demo.karptui", tmp_path / "card"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    record_demo(history, 30)
    app: Any = history_app(history)
    end_ns, told, over = app.now_ns(), list[str](), asyncio.Event()

    def tell(text: str, tone: Tone = Tone.NORMAL) -> None:
        told.append(text)
        if tone in (Tone.GOOD, Tone.FAULT):
            over.set()

    async with running(app, (120, 30), is_analysed=False) as (_, pilot):
        app.run_command("at -20s")
        await worked(pilot, is_analysed=False)
        monkeypatch.setattr(app, "tell", tell)
        for path in (folder, tmp_path):
            over.clear()
            app.run_command(f"card {path}")
            await asyncio.wait_for(over.wait(), 100)
    assert told[0] == "the incident card is being written: this takes some seconds"
    assert told[1].startswith(f"incident card: {folder}: ")
    assert told[3] == f"incident card: {tmp_path}: exists already; a card is written to a new folder"
    assert {"history.karptui", "verdict.md", "nodes.svg"} <= {path.name for path in folder.iterdir()}
    with closing(History(folder / "history.karptui")) as written:
        assert 0 <= written.end_ns() - (end_ns - 20 * NS_PER_SECOND) < NS_PER_SECOND
