"""`:card` in the app."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from karptui.app import KarptuiApp
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.sources.history.store import History
from karptui.views.row import Tone
from tests.histories import record_demo
from tests.ui.stage import history_app, running, worked


async def told_after(
    app: KarptuiApp, lines: Sequence[str], ending: tuple[Tone, ...], patch: pytest.MonkeyPatch
) -> list[str]:
    """Return what the app says after a command, up to a message of some tones."""
    told: list[str] = []
    over = asyncio.Event()

    def tell(text: str, tone: Tone = Tone.NORMAL) -> None:
        told.append(text)
        if tone in ending:
            over.set()

    async with running(app, (120, 30), is_analysed=False) as (_, pilot):
        for line in lines[:-1]:
            app.run_command(line)
            await worked(pilot, is_analysed=False)
        patch.setattr(app, "tell", tell)
        app.run_command(lines[-1])
        await asyncio.wait_for(over.wait(), 100)
    return told


async def test_another_process_writes_the_card_of_the_history_up_to_the_moment_on_the_screens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history, folder = tmp_path / "demo.karptui", tmp_path / "card"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    record_demo(history, 30)
    app: Any = history_app(history)
    end_ns = app.now_ns()
    told = await told_after(app, ["at -20s", f"card {folder}"], (Tone.GOOD, Tone.FAULT), monkeypatch)
    assert told[0] == "the incident card is being written: this takes some seconds"
    assert told[1].startswith(f"incident card: {folder}: ")
    assert {"history.karptui", "verdict.md", "nodes.svg"} <= {path.name for path in folder.iterdir()}
    with closing(History(folder / "history.karptui")) as written:
        assert 0 <= written.end_ns() - (end_ns - 20 * NS_PER_SECOND) < NS_PER_SECOND


async def test_an_existing_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    history = tmp_path / "demo.karptui"
    record_demo(history, 10)
    app: Any = history_app(history)
    told = await told_after(app, [f"card {tmp_path}"], (Tone.GOOD, Tone.FAULT), monkeypatch)
    assert told[1] == f"incident card: {tmp_path}: exists already; a card is written to a new folder"
