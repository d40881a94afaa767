"""New scenarios, unsaved scenarios, and those kept for the next start."""

from __future__ import annotations

import asyncio
import fcntl
import os
import stat
from pathlib import Path

import pytest

from karptui.paths import state_dir
from karptui.screens.whatif.controller import WhatIf
from karptui.screens.whatif.kept_scenarios import KeptScenarios
from karptui.whatif.edits import CordonNode, ObjectRef, SetField
from karptui.whatif.scenario import Opening, Replay, Scenario
from tests.screens.whatif.hand import Cluster, SlowCluster

POOL = ObjectRef("NodePool", "general")
LIGHTER = Opening("lighter", edits=(SetField(POOL, ("spec", "weight"), 5),), is_new=True)
CORDON = Opening("cordon", edits=(CordonNode("n1"),), replay=Replay.NEXT, is_new=True)
KEPT = KeptScenarios("prod/eu-1")


def names(whatif: WhatIf) -> list[str]:
    return [sheet.name for sheet in whatif.book.sheets]


async def keep_lighter(cluster: Cluster) -> None:
    """Keep one unsaved scenario for the next start."""
    whatif = WhatIf(cluster, cluster.session, KEPT)
    await whatif.restore()
    await whatif.open(LIGHTER)
    whatif.keep()


async def test_each_remedy_starts_its_own_scenario_but_not_twice(whatif: WhatIf) -> None:
    await whatif.open(Opening("general", (POOL,)))
    whatif.put_text(whatif.book.sheet.text.replace("weight: 50", "weight: 60"), "typing")
    await whatif.open(CORDON)
    assert names(whatif) == ["general", "cordon"]
    assert whatif.book.sheet.replay is Replay.NEXT
    assert "weight" not in whatif.book.sheet.text
    await whatif.open(LIGHTER)
    await whatif.open(CORDON)
    assert (names(whatif), whatif.book.index) == (["general", "cordon", "lighter"], 1)
    whatif.put_edits((CordonNode("n1"), CordonNode("n2")), "another")
    await whatif.open(CORDON)
    assert names(whatif)[-1] == "cordon (2)"


async def test_the_user_is_asked_once_about_edited_unsaved_scenarios(whatif: WhatIf, tmp_path: Path) -> None:
    book = whatif.book
    await whatif.open(Opening("general", (POOL,)))
    await whatif.open(CORDON)
    assert [scenario.name for scenario in book.unsaved()] == ["cordon"]
    assert book.to_ask_about() == 0, "the same key would make the scenario again"
    whatif.put_edits((CordonNode("n2"),), "work")
    assert (book.to_ask_about(), book.to_ask_about()) == (1, 0)
    await whatif.open(LIGHTER)
    assert (len(book.unsaved()), book.to_ask_about()) == (2, 0)
    whatif.save_scenarios(str(tmp_path / "all.yaml"))
    assert book.unsaved() == []
    whatif.put_edits((CordonNode("n3"),), "more")
    assert [scenario.name for scenario in book.unsaved()] == ["lighter"]
    assert book.to_ask_about() == 1


async def test_unsaved_scenarios_are_restored_at_the_next_start(cluster: Cluster, whatif: WhatIf) -> None:
    first = WhatIf(cluster, cluster.session, KEPT)
    first.keep()
    assert await first.restore() == 0, "nothing is written before the kept scenarios are restored"
    await first.open(CORDON)
    await first.open(LIGHTER)
    first.keep()
    again = WhatIf(cluster, cluster.session, KEPT)
    await again.open(Opening("general", (POOL,)))
    assert (await again.restore(), await again.restore()) == (2, 0)
    assert names(again) == ["cordon", "lighter", "general"]
    assert again.book.index == 2
    assert again.book.scenario_at(1) == first.book.scenario_at(1), "documents are compared with the cluster again"
    opened = WhatIf(cluster, cluster.session, KEPT)
    await opened.restore(is_opening=True)
    await opened.open(Opening("general", (POOL,)))
    assert names(opened) == ["cordon", "lighter", "general"], "the document is not added to a restored scenario"
    alone = WhatIf(cluster, cluster.session, KEPT)
    await alone.restore()
    assert names(alone) == ["cordon", "lighter"]
    alone.book.note_saved(alone.book.unsaved())
    alone.keep()
    assert KEPT.read() == ()


async def test_leaving_while_scenarios_are_restored_keeps_them_for_the_next_start(cluster: Cluster) -> None:
    await keep_lighter(cluster)
    slow = SlowCluster()
    left = WhatIf(slow, slow.session, KEPT)
    restoring = asyncio.create_task(left.restore())
    await slow.asked_for.wait()
    restoring.cancel()
    await asyncio.gather(restoring, return_exceptions=True)
    left.keep()
    assert [scenario.name for scenario in KEPT.read()] == ["lighter"]
    await left.open(CORDON)
    left.keep()
    left.keep()
    assert [scenario.name for scenario in KEPT.read()] == ["lighter", "cordon"]
    slow.answers.set()
    assert (await left.restore(), await left.restore()) == (1, 0)
    assert names(left) == ["lighter", "cordon"]
    left.keep()
    assert [scenario.name for scenario in KEPT.read()] == ["lighter", "cordon"]


async def test_two_concurrent_restores_restore_each_scenario_once(cluster: Cluster) -> None:
    await keep_lighter(cluster)
    slow = SlowCluster()
    again = WhatIf(slow, slow.session, KEPT)
    both = asyncio.gather(again.restore(), again.restore())
    await slow.asked_for.wait()
    slow.answers.set()
    assert sorted(await both) == [0, 1]
    assert names(again) == ["lighter"]


def test_the_file_is_private_and_belongs_to_one_cluster() -> None:
    assert KEPT.write([Scenario("a", edits=(CordonNode("n"),))])
    (path,) = (state_dir() / "whatif").iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert path.name.startswith("prod-eu-1-")
    assert KeptScenarios("prod-eu-1").read() == ()
    assert [scenario.name for scenario in KEPT.read()] == ["a"]
    assert KEPT.write([])
    assert list(path.parent.iterdir()) == []


def test_two_processes_keep_the_scenarios_of_both() -> None:
    """Both processes read the same file. The second to end must not overwrite the scenarios of the first."""
    shared, dropped, first, second = (Scenario(name, edits=(CordonNode(name),)) for name in ("a", "b", "c", "d"))
    KeptScenarios("prod").write([shared, dropped])
    scenarios, other = KeptScenarios("prod"), KeptScenarios("prod")
    assert scenarios.read() == other.read() == (shared, dropped)
    assert scenarios.write([shared, first])
    assert other.write([shared, dropped, second])
    assert {scenario.name for scenario in KeptScenarios("prod").read()} == {"a", "b", "c", "d"}
    assert other.write([shared])
    assert scenarios.write([])
    assert KeptScenarios("prod").read() == (), "both have discarded or saved their scenarios"


def test_scenarios_are_written_even_if_another_process_holds_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("karptui.screens.whatif.kept_scenarios.LOCK_SECONDS", 0.05)
    assert KEPT.write([])
    descriptor = os.open(state_dir() / "whatif", os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    assert KEPT.write([Scenario("a", edits=(CordonNode("n"),))])
    os.close(descriptor)
    assert [scenario.name for scenario in KEPT.read()] == ["a"]


@pytest.mark.parametrize("data", [b"no: [scenario", b"\xff\xfe"])
def test_an_unreadable_file_is_renamed_and_not_overwritten(data: bytes) -> None:
    assert KEPT.write([Scenario("a", edits=(CordonNode("n"),))])
    (path,) = (state_dir() / "whatif").iterdir()
    path.write_bytes(data)
    assert KEPT.read() == ()
    assert KEPT.write([])
    (aside,) = path.parent.iterdir()
    assert (aside.name, aside.read_bytes()) == (f"{path.stem}.unreadable.yaml", data)


def test_a_file_that_is_too_large_or_cannot_be_opened_is_renamed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    assert KEPT.write([Scenario("large", edits=(CordonNode("n"),))])
    with monkeypatch.context() as context:
        context.setattr("karptui.screens.whatif.kept_scenarios.MOST_KEPT_BYTES", 10)
        assert KEPT.read() == ()
    assert KEPT.write([Scenario("closed", edits=(CordonNode("n"),))])
    monkeypatch.setattr("karptui.screens.whatif.kept_scenarios.read_file", _refuse)
    assert KEPT.read() == ()
    aside = [path.read_text() for path in sorted((state_dir() / "whatif").iterdir())]
    assert ["closed" in aside[0], "large" in aside[1], len(aside)] == [True, True, 2]


def test_a_failed_write_is_reported_and_raises_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("karptui.screens.whatif.kept_scenarios.MOST_KEPT_BYTES", 10)
    assert not KEPT.write([Scenario("a", edits=(CordonNode("n"),))])
    monkeypatch.setattr("karptui.screens.whatif.kept_scenarios.MOST_KEPT_BYTES", 1 << 20)
    monkeypatch.setattr("karptui.files.os.open", _refuse)
    assert not KEPT.write([Scenario("a", edits=(CordonNode("n"),))])


def _refuse(*_: object, **__: object) -> int:
    raise PermissionError(13, "no")
