"""The incident card: its files, that it opens as the same cluster, and that it contains no real name."""

from __future__ import annotations

import re
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest

from karptui.cli.main import main
from karptui.decode.kinds import Kind, kind_of
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.usage import Measured, UsagePeriod, add_reading
from karptui.sources.history.moments import recording_at
from karptui.sources.history.store import Change, History, Mark, Sample
from karptui.sources.history.writer import HistoryWriter
from karptui.sources.snapshot.scrub import scrub
from tests.builders.manifests import a_change
from tests.cli.conftest import Run
from tests.cli.files import a_file
from tests.histories import BEGIN_NS, demo_history, record_demo, write_marks, write_usage
from tests.sources.snapshot.canaries import OBJECTS, SETTINGS, TYPES, Canaries

MINUTE_NS = 60 * NS_PER_SECOND


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record six minutes of the demo, a pause and two more minutes, with marks and samples."""
    path = demo_history(tmp_path_factory, 360)
    record_demo(path, 120, begin_ns=BEGIN_NS + 8 * MINUTE_NS)
    write_marks(
        path,
        (
            Mark(at_ns=BEGIN_NS + MINUTE_NS, cause="verdict", code="PDB", object_kind="NodePool", name="general",
                 objects=("NodePool/general",), text="2 pods db/postgres wait", severity="error"),
            Mark(at_ns=BEGIN_NS + 5 * MINUTE_NS, cause="edit", object_kind="NodePool", name="general"),
            Mark(at_ns=BEGIN_NS + 5 * MINUTE_NS, cause="launch-refused", object_kind="Offering",
                 name="g5.2xlarge/us-east-1a/on-demand", text="InsufficientInstanceCapacity", pool="gpu"),
        ),
    )  # fmt: skip
    period = UsagePeriod(BEGIN_NS, BEGIN_NS)
    add_reading(period, BEGIN_NS + 5 * MINUTE_NS, [Measured("StatefulSet/db/postgres", "postgres", 100, 1 << 20)])
    write_usage(path, period)
    writer = HistoryWriter(path, "")
    writer.write_samples([Sample(at_ns=BEGIN_NS + 5 * MINUTE_NS, pool="general", nodes=3)])
    writer.close()
    return path


def contents(folder: Path) -> str:
    """Return all text of a card: its files, and the unpacked records of its history."""
    texts = [path.read_bytes().decode("utf-8", "replace") for path in folder.iterdir()]
    for path in folder.glob("*.karptui"):
        read = History(path)
        (*_, last) = read.sessions()
        for session in read.sessions():
            recording = recording_at(read, session.to_ns)
            texts.append(msgspec.json.encode(recording).decode())
            texts += [f"{change.key} {change.manager}" for change in read.objects_at(session.from_ns).values()]
            for change in read.objects_at(session.from_ns).values():
                texts.append(bytes(change.manifest).decode())
        for change in read.changes(0, last.to_ns):
            texts += [change.key, change.manager, bytes(change.manifest).decode()]
        others = (*read.marks(0, 1 << 62), *read.samples(0, 1 << 62), *read.usage(0, 1 << 62))
        texts += [msgspec.json.encode(item).decode() for item in others]
        read.close()
    return "\n".join(texts)


def test_a_card_of_the_last_seven_minutes(history: Path, tmp_path: Path, run: Run) -> None:
    card = tmp_path / "card"
    assert main(["card", str(card), "--last", "7m", "--snapshot", str(history)]) == 0
    check_files(card)
    check_verdict(card)
    check_names(card, history)
    check_cluster(card, history, run)
    check_history(card, tmp_path)


def check_files(card: Path) -> None:
    """Check that the folder is private and has a history, a verdict and three screens."""
    names = {path.name for path in card.iterdir()}
    assert {"history.karptui", "verdict.md", "nodes.svg", "events.svg"} <= names
    assert len([name for name in names if name.endswith(".svg")]) == 3
    assert len(names) == 5
    assert stat.S_IMODE(card.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in card.iterdir()} == {0o600}


def check_verdict(card: Path) -> None:
    """Check that the verdict lists what happened, and how to open the card."""
    text = (card / "verdict.md").read_text()
    assert "    karptui --snapshot history.karptui" in text
    assert re.search(r"\| error \| .+ \| 2026-\d\d-\d\dT\d\d:\d\d:\d\dZ \| \$\d", text)
    assert "2026-11-28T14:05:00Z launch refused g5.2xlarge/us-east-1a/on-demand (InsufficientInstanceCapacity)" in text
    assert re.search(r"2026-11-28T14:05:00Z edited NodePool \S+pool\S+", text)
    assert "verdict line began" not in text, "the mark is older than the last seven minutes"
    assert "- next: " in text


def check_names(card: Path, history: Path) -> None:
    """Check that no name of the cluster is in the folder."""
    read = History(history)
    objects = [change for session in read.sessions() for change in read.objects_at(session.to_ns).values()]
    read.close()
    kinds = (Kind.POD, Kind.NODE, Kind.NODECLAIM)
    names = {change.key.rpartition("/")[2] for change in objects if change.kind in kinds}
    text = contents(card)
    words = "\n".join(set(re.findall(r"[\w.-]+", text)))
    assert len(names) > 100
    # A pseudonym is random: it may end like a real name.
    assert not [name for name in names if name in words and re.search(rf"(?<!\w){re.escape(name)}", words)]
    assert not re.search(r"gitlab|postgres|company|ec2\.internal|\bdemo\b", text)


def check_cluster(card: Path, history: Path, run: Run) -> None:
    """Check that the card shows the same cluster as the original history."""

    def nodes(path: Path, *words: str) -> list[dict[str, Any]]:
        document: list[dict[str, Any]] = run.json("nodes", "--snapshot", str(path), "--no-simulate", *words)
        return document

    of_card, original = (nodes(path, "--at", "14:04:30") for path in (card / "history.karptui", history))
    for name in ("type", "pods_requested", "zone"):
        assert sorted(str(row[name]) for row in of_card) == sorted(str(row[name]) for row in original)
    assert len(of_card) == len(original) > 50


def check_history(card: Path, tmp_path: Path) -> None:
    """Check that the card's history is one file that opens in a read-only folder."""
    folder = tmp_path / "copy"
    folder.mkdir()
    copy = folder / "history.karptui"
    copy.write_bytes((card / "history.karptui").read_bytes())
    copy.chmod(0o400)
    folder.chmod(0o500)
    try:
        read = History(copy)
        assert read.cluster == "redacted"
        assert len(read.sessions()) == 2
        assert [mark.cause for mark in read.marks(0, 1 << 62)][-2:] == ["launch-refused", "gap"]
        read.close()
        assert [path.name for path in folder.iterdir()] == ["history.karptui"]
    finally:
        folder.chmod(0o700)


def test_a_card_contains_none_of_the_planted_words(tmp_path: Path) -> None:
    """A unique word is planted in every field that may hold a name, in the first state and in a later change."""
    canaries = Canaries()
    path = tmp_path / "zqname.karptui"
    writer = HistoryWriter(path, canaries.plant("~", "cluster"))
    at_ns = BEGIN_NS
    planted = [changes_of(canaries, at_ns + second * NS_PER_SECOND) for second in range(2)]
    writer.write_key(planted[0])
    writer.finish_key(at_ns)
    writer.write(planted[1])
    # A planted word would make the scheduler configuration invalid, and then the history cannot be opened.
    readable = {name: value for name, value in SETTINGS.items() if name != "SCHEDULER_CONFIG"}
    for name, value in (("settings", readable), ("instanceTypes", TYPES)):
        writer.write_fact(at_ns, name, canaries.plant(value, name))
    word = canaries.plant("~", "mark")
    writer.write_marks(
        Mark(at_ns=at_ns + 1, cause=cause, code=word, object_kind=word, name=word, objects=(f"Pod/{word}",),
             pool=word, text=word, severity=word)
        for cause in ("verdict", "verdict-over", "disruption", "launch-refused", "edit", "restart", word)
    )  # fmt: skip
    offering = f"{word}/{word}/{word}"
    writer.write_marks([Mark(at_ns=at_ns + 1, cause="launch-refused", object_kind="Offering", name=offering)])
    writer.write_samples([Sample(at_ns=at_ns + 1, pool=word), Sample(at_ns=at_ns + 1)])
    writer.note_instant(at_ns + 5 * NS_PER_SECOND)
    writer.close()
    assert len(canaries.places) > 1000
    assert len(canaries.left_in(contents(tmp_path))) > 500, "the planted words can be found in the original"
    folder = tmp_path / "card"
    assert main(["card", str(folder), "--snapshot", str(path)]) in (0, 1)
    assert len(list(folder.iterdir())) == 5
    assert canaries.left_in(contents(folder)) == {}


def changes_of(canaries: Canaries, at_ns: int) -> list[Change]:
    changes = []
    for manifest in OBJECTS:
        document = scrub(canaries.plant(manifest, manifest["kind"]))
        kind = kind_of(manifest["apiVersion"], manifest["kind"])
        if document is None or kind is None:
            continue
        changes.append(a_change(at_ns, document, kind=str(kind), manager=canaries.plant("~", "manager")))
    return changes


def test_a_recording_gives_a_card_of_one_moment(tmp_path: Path) -> None:
    folder = tmp_path / "card"
    assert main(["card", str(folder), "--snapshot", a_file(tmp_path)]) in (0, 1)
    assert (folder / "recording.json.gz").exists()
    assert "A recording holds one moment" in (folder / "verdict.md").read_text()


def test_an_existing_folder_is_never_changed(run: Run, history: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    assert "exists already" in run("card", str(tmp_path), "--snapshot", str(history), status=2).err
    assert (tmp_path / "mine.txt").read_text() == "mine"
