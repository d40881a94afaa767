"""The recorder of a history, and reading any instant of it."""

from __future__ import annotations

import contextlib
import random
import sqlite3
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from karptui.aws.evidence import NO_EVIDENCE, Evidence
from karptui.clock import FrozenClock
from karptui.decode.kinds import Kind
from karptui.karpenter.settings import parse_settings
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.usage import NO_LIVE_USAGE, LiveUsage, Measured, first_seen
from karptui.kube.usage import Sample as UsageSample
from karptui.sources.demo.source import DemoSource
from karptui.sources.history import recorder as recorder_module
from karptui.sources.history.moments import recording_at
from karptui.sources.history.recorder import Recorder
from karptui.sources.history.store import FORMAT, Change, History, HistoryError, Mark, Sample, is_history
from karptui.sources.history.tap import Limits
from karptui.sources.history.writer import HistoryBusyError, HistoryWriter
from karptui.sources.snapshot.reader import SnapshotReader
from karptui.sources.snapshot.recording import flat, recording_fields
from karptui.sources.snapshot.scrub import scrub
from karptui.sources.snapshot.text import SnapshotError
from karptui.sources.source import Mailbox, Phase, SourceStatus
from tests.builders import a_manifest, present
from tests.builders.manifests import key_of

START_NS = 1_800_000_000 * NS_PER_SECOND


class Bench:
    """A recorder with a clock that the test moves."""

    def __init__(self, path: Path, *kinds: Kind, **options: Any) -> None:
        self.clock = FrozenClock(START_NS)
        self.seconds = 0.0
        self.recorder = Recorder(path, "prod", self.clock, monotonic=lambda: self.seconds, **options)
        assert self.recorder.open()
        self.live(*kinds)

    def pass_seconds(self, seconds: float = 1.0) -> None:
        self.seconds += seconds
        self.clock.instant_ns += int(seconds * NS_PER_SECOND)

    def live(self, *kinds: Kind) -> None:
        for kind in kinds:
            self.recorder.report(SourceStatus(kind=kind, phase=Phase.LIVE, since_ns=START_NS))

    def put(self, *manifests: dict[str, Any]) -> None:
        for manifest in manifests:
            self.recorder.put_manifests(Kind(manifest["kind"]), {key_of(manifest): manifest})

    def delete(self, kind: Kind, key: str) -> None:
        self.recorder.put_manifests(kind, {key: None})

    def step(self) -> None:
        self.pass_seconds()
        self.recorder.step()
        assert not self.recorder.trouble

    def take_facts(self, evidence: Evidence = NO_EVIDENCE, usage: LiveUsage = NO_LIVE_USAGE) -> None:
        fields = flat(recording_fields(evidence, usage))
        self.recorder.take_facts({name: msgspec.json.encode(value) for name, value in fields.items()})

    def close(self) -> None:
        self.recorder.close()


def pod(name: str, phase: str = "Running") -> dict[str, Any]:
    return a_manifest("Pod", name, namespace="shop", spec={"containers": []}, status={"phase": phase})


def node(name: str, heartbeat: str, ready: str = "True") -> dict[str, Any]:
    condition = {"type": "Ready", "status": ready, "lastHeartbeatTime": heartbeat}
    return a_manifest("Node", name, status={"conditions": [condition]})


def names_at(history: History, at_ns: int) -> set[str]:
    return {key for _, key in history.objects_at(at_ns)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "prod.karptui"


@pytest.fixture
def bench(path: Path) -> Bench:
    """Return a recorder that has started, of an empty cluster."""
    bench = Bench(path, Kind.POD)
    bench.step()
    return bench


def test_each_instant_of_a_changing_cluster_can_be_read(path: Path) -> None:
    """Every 50 seconds of a five-minute demo the objects are kept, and later compared with the history."""
    bench = Bench(path)
    demo = DemoSource(clock=bench.clock, is_stepped=True)
    demo.start(Mailbox(tap=bench.recorder))
    bench.recorder.step()
    truth: dict[int, list[dict[str, Any]]] = {}
    for second in range(310):
        bench.pass_seconds()
        demo.step()
        bench.recorder.step()
        if second % 50 == 49:
            kept = (scrub(manifest) for manifest in demo.manifests())
            truth[bench.clock.instant_ns] = [manifest for manifest in kept if manifest is not None]
    bench.close()
    history = History(path)
    assert len(truth) == 6
    for at_ns, manifests in truth.items():
        read = [msgspec.json.decode(manifest) for manifest in recording_at(history, at_ns)["objects"]]
        assert _sorted(read) == _sorted(manifests)


def _sorted(manifests: list[dict[str, Any]]) -> list[tuple[str, str, str, str]]:
    return sorted(
        (
            manifest["kind"],
            manifest["metadata"].get("namespace", ""),
            manifest["metadata"]["name"],
            msgspec.json.encode(manifest, order="sorted").decode(),
        )
        for manifest in manifests
    )


def test_a_session_begins_when_all_kinds_are_complete(path: Path) -> None:
    bench = Bench(path, Kind.NODE)
    bench.recorder.report(SourceStatus(kind=Kind.POD, phase=Phase.SYNCING, since_ns=START_NS))
    bench.put(pod("a"))
    bench.step()
    assert History(path).sessions() == ()
    bench.put(pod("b"))
    bench.live(Kind.POD)
    bench.step()
    (session,) = History(path).sessions()
    assert session.from_ns == START_NS + 2 * NS_PER_SECOND
    assert names_at(History(path), session.from_ns) == {"shop/a", "shop/b"}
    with pytest.raises(HistoryError, match="it begins at 2027-01-15T08:00:02Z"):
        recording_at(History(path), START_NS)


def test_recording_starts_after_a_minute_although_kinds_are_incomplete(path: Path) -> None:
    bench = Bench(path)
    bench.recorder.report(SourceStatus(kind=Kind.PDB, phase=Phase.FORBIDDEN, since_ns=START_NS))
    bench.recorder.report(SourceStatus(kind=Kind.POD, phase=Phase.DISCONNECTED, since_ns=START_NS))
    bench.put(node("a", "t"))
    bench.step()
    assert History(path).sessions() == ()
    bench.pass_seconds(60)
    bench.step()
    assert names_at(History(path), bench.clock.instant_ns) == {"a"}
    assert "PodDisruptionBudget" in recording_at(History(path), bench.clock.instant_ns)["unread"]


def test_node_heartbeats_and_most_lease_renewals_are_not_recorded(path: Path) -> None:
    bench = Bench(path, Kind.NODE)
    bench.put(node("a", "08:00:00"))
    bench.step()
    began_ns = bench.clock.instant_ns
    lease = a_manifest("Lease", "karpenter-leader-election", api_version="coordination.k8s.io/v1", spec={})
    for second in range(90):
        bench.put(node("a", f"08:01:{second}"), lease)
        bench.step()
    bench.put(node("a", "08:02:00", ready="Unknown"))
    bench.step()
    changes = list(History(path).changes(began_ns, bench.clock.instant_ns))
    assert [change.kind for change in changes] == ["Lease", "Lease", "Node"]


def test_who_changed_a_nodepool_is_recorded(path: Path) -> None:
    bench = Bench(path, Kind.NODEPOOL)
    entries = [
        {"manager": "kubectl", "time": "2026-11-20T10:00:00Z"},
        {"manager": "argocd-controller", "time": "2026-11-20T11:00:00Z"},
        {"manager": "karpenter", "time": "2026-11-20T12:00:00Z", "subresource": "status"},
    ]
    pool = a_manifest("NodePool", "spot", api_version="karpenter.sh/v1", metadata={"managedFields": entries}, spec={})
    head = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool"}
    bench.recorder.put(Kind.NODEPOOL, head, {"spot": msgspec.json.encode({"type": "ADDED", "object": pool})})
    bench.step()
    (change,) = History(path).objects_at(bench.clock.instant_ns).values()
    assert change.manager == "argocd-controller"
    assert "managedFields" not in msgspec.json.decode(change.manifest)["metadata"]


def test_settings_and_prices_are_recorded_when_they_change(path: Path) -> None:
    bench = Bench(path)
    bench.take_facts()
    bench.live(Kind.NODE)
    bench.put(node("a", "t"))
    bench.step()
    before_ns = bench.clock.instant_ns
    bench.take_facts(Evidence(settings=parse_settings({"BATCH_IDLE_DURATION": "5s"})))
    bench.step()
    history = History(path)
    assert recording_at(history, before_ns)["settings"] == {}
    assert recording_at(history, bench.clock.instant_ns)["settings"] == {"BATCH_IDLE_DURATION": "5s"}
    count = history._database.execute("SELECT count(*) FROM facts").fetchone()
    bench.pass_seconds(60)
    bench.step()
    assert history._database.execute("SELECT count(*) FROM facts").fetchone() == count


def test_marks_predictions_and_samples_are_kept_in_order(path: Path, bench: Bench) -> None:
    marks = [Mark(at_ns=START_NS + at, cause="verdict", text=f"line {at}") for at in (3, 5)]
    prediction = Mark(at_ns=START_NS + 4, cause="prediction", code="right")
    sample = Sample(at_ns=START_NS + 4, pool="spot", nodes=3, price_per_hour=0.5)
    bench.recorder.mark(marks[0], prediction, marks[1])
    bench.recorder.sample([sample])
    bench.step()
    history = History(path)
    assert history.marks(START_NS, START_NS + 5) == tuple(marks)
    assert history.marks(START_NS + 3, START_NS + 5) == (marks[1],)
    assert history.predictions(START_NS, START_NS + 9) == (prediction,)
    assert history.samples(START_NS, START_NS + 9) == (sample,)


def test_packing_keeps_every_change_and_saves_space(path: Path) -> None:
    bench = Bench(path, Kind.POD)
    bench.put(*(pod(f"web-{number}") for number in range(200)))
    bench.step()
    began_ns = bench.clock.instant_ns
    for second in range(300):
        bench.put(pod(f"web-{second % 200}", phase=("Running", "Pending")[second % 2]))
        bench.step()
    before, writer = list(History(path).changes(began_ns, 1 << 62)), bench.recorder._writer
    assert writer is not None
    used = writer.size_bytes
    assert writer.pack() == 300
    assert list(History(path).changes(began_ns, 1 << 62)) == before
    assert writer.size_bytes < used / 2
    assert writer.pack() == 0


def test_key_frames_do_not_change_what_is_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder_module, "KEY_CHANGES", 20)
    monkeypatch.setattr(recorder_module, "PACK_SECONDS", 10.0)
    monkeypatch.setattr(recorder_module, "PIECE", 2)
    bench = Bench(path, Kind.POD)
    bench.step()
    chance, truth, state = random.Random(1), {}, set[str]()
    for _ in range(100):
        bench.pass_seconds(0.5)
        name = f"web-{chance.randrange(12)}"
        if name in state:
            state.discard(name)
            bench.delete(Kind.POD, f"shop/{name}")
        else:
            state.add(name)
            bench.put(pod(name))
        truth[bench.clock.instant_ns] = {f"shop/{name}" for name in state}
        bench.step()
    history = History(path)
    assert history._database.execute("SELECT count(DISTINCT from_ns) FROM frames WHERE state = 2").fetchone()[0] > 3
    assert {at_ns: names_at(history, at_ns) for at_ns in truth} == truth


def test_old_frames_are_deleted_first_and_the_rest_can_be_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder_module, "KEY_SECONDS", 60.0)
    monkeypatch.setattr(recorder_module, "PACK_SECONDS", 20.0)
    bench = Bench(path, Kind.POD, limits=Limits(days=200 / 86400))
    bench.put(pod("old"))
    bench.step()
    for second in range(600):
        bench.put(pod(f"web-{second}"))
        bench.step()
    history = History(path)
    (session,) = history.sessions()
    age = (bench.clock.instant_ns - session.from_ns) / NS_PER_SECOND
    assert 200 <= age <= 300
    assert names_at(history, session.from_ns) >= {"shop/old", "shop/web-0"}
    assert len(names_at(history, bench.clock.instant_ns)) == 601


def test_the_oldest_frames_of_a_file_that_is_too_large_are_deleted(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder_module, "KEY_SECONDS", 30.0)
    monkeypatch.setattr(recorder_module, "PACK_SECONDS", 10.0)
    bench = Bench(path, Kind.POD, limits=Limits(bytes=200_000))
    chance = random.Random(1)
    for _ in range(200):
        bench.put(*({**pod(f"web-{place}"), "noise": chance.randbytes(200).hex()} for place in range(20)))
        bench.step()
    writer = present(bench.recorder._writer)
    assert writer.size_bytes < 400_000
    assert len(names_at(History(path), bench.clock.instant_ns)) == 20


@given(jumps=st.lists(st.integers(-400_000, 400_000), max_size=12))
@settings(max_examples=20, deadline=None)
def test_changes_stay_in_order_if_the_clock_jumps(tmp_path_factory: pytest.TempPathFactory, jumps: list[int]) -> None:
    path = tmp_path_factory.mktemp("history") / "prod.karptui"
    bench = Bench(path, Kind.POD)
    bench.put(pod("a"))
    bench.step()
    for number, jump in enumerate(jumps):
        bench.clock.instant_ns += jump * NS_PER_SECOND
        bench.put(pod(f"web-{number}"))
        bench.step()
    history = History(path)
    (session,) = history.sessions()
    changes = list(history.changes(session.from_ns, 1 << 62))
    assert [change.key for change in changes] == [f"shop/web-{number}" for number in range(len(jumps))]
    assert [change.at_ns for change in changes] == sorted({change.at_ns for change in changes})
    bench.close()


def test_a_second_writer_is_refused_but_readers_are_allowed(path: Path) -> None:
    writer = HistoryWriter(path, "prod")
    with pytest.raises(HistoryBusyError, match="another karptui records this cluster"):
        HistoryWriter(path, "prod")
    recorder = Recorder(path, "prod", FrozenClock(START_NS))
    assert not recorder.open()
    assert recorder.trouble == "another karptui records this cluster"
    assert History(path).cluster == "prod"
    writer.close()
    HistoryWriter(path, "prod").close()


def test_only_the_owner_may_read_the_files(path: Path) -> None:
    HistoryWriter(path, "prod").write([Change(1, "Pod", "a", "", msgspec.Raw(b"null"))])
    assert {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()} == dict.fromkeys(
        ("prod.karptui", "prod.karptui-shm", "prod.karptui-wal", "prod.karptui.lock", "prod.karptui.lock-journal"),
        0o600,
    )


def test_changes_held_back_by_a_full_disk_are_written_later(path: Path) -> None:
    bench = Bench(path, Kind.POD)
    bench.put(pod("a"))
    bench.step()
    writer = present(bench.recorder._writer)
    pages = writer._database.execute("PRAGMA page_count").fetchone()[0]
    writer._database.execute(f"PRAGMA max_page_count = {pages}")
    chance = random.Random(1)
    for number in range(3):
        bench.put({**pod(f"large-{number}"), "noise": chance.randbytes(100_000).hex()})
        bench.step()
    assert names_at(History(path), bench.clock.instant_ns) == {"shop/a"}
    writer._database.execute("PRAGMA max_page_count = 1000000")
    bench.step()
    assert len(names_at(History(path), bench.clock.instant_ns)) == 4


def test_recording_ends_after_ten_failures(bench: Bench) -> None:
    writer = present(bench.recorder._writer)
    writer._database.execute(f"PRAGMA max_page_count = {writer._database.execute('PRAGMA page_count').fetchone()[0]}")
    bench.put({**pod("large"), "noise": random.Random(1).randbytes(100_000).hex()})
    for _ in range(10):
        bench.pass_seconds()
        bench.recorder.step()
    assert "cannot be written" in bench.recorder.trouble
    assert "full" in bench.recorder.trouble


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\x00", b"x" * 200, None])
def test_other_files_and_newer_formats_are_refused(path: Path, content: bytes | None) -> None:
    if content is None:
        writer = HistoryWriter(path, "prod")
        writer._database.execute(f"PRAGMA user_version = {FORMAT + 1}")
        writer.close()
        problem = f"the history has format {FORMAT + 1}"
    else:
        path.write_bytes(content)
        assert not is_history(path)
        problem = "is not a history that karptui has recorded"
    before = path.read_bytes()
    for opened in (History, lambda path: HistoryWriter(path, "prod")):
        with pytest.raises(HistoryError, match=problem):
            opened(path)
    assert path.read_bytes() == before


@given(seed=st.integers(0, 1 << 30), count=st.integers(1, 40))
@settings(max_examples=100, deadline=None)
def test_a_damaged_file_is_a_history_error(
    tmp_path_factory: pytest.TempPathFactory, whole_history: Path, seed: int, count: int
) -> None:
    path = tmp_path_factory.mktemp("damaged") / "prod.karptui"
    chance, data = random.Random(seed), bytearray(whole_history.read_bytes())
    for _ in range(count):
        data[chance.randrange(100, len(data))] = chance.randrange(256)
    path.write_bytes(data)
    with contextlib.suppress(HistoryError), contextlib.closing(History(path)) as history:
        history.sessions()
        history.objects_at(1 << 62)
        history.facts_at(1 << 62)
        history.marks(0, 1 << 62)
        history.samples(0, 1 << 62)
        list(history.changes(0, 1 << 62))


@pytest.fixture(scope="module")
def whole_history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a small history with every kind of record."""
    path = tmp_path_factory.mktemp("history") / "prod.karptui"
    bench = Bench(path)
    bench.take_facts()
    bench.live(Kind.POD)
    bench.put(*(pod(f"web-{number}") for number in range(50)))
    bench.step()
    for number in range(20):
        bench.put(pod(f"web-{number}", "Pending"))
        bench.recorder.mark(Mark(at_ns=START_NS, cause="edit"))
        bench.recorder.sample([Sample(at_ns=START_NS, pool="spot")])
        bench.step()
    writer = present(bench.recorder._writer)
    writer._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    bench.close()
    return path


def test_a_frame_that_unpacks_to_gigabytes_is_refused(path: Path) -> None:
    writer = HistoryWriter(path, "prod")
    writer.write_key([Change(1, "Pod", "a", "", msgspec.Raw(b"{}"))])
    writer.finish_key(1)
    bomb = zstandard.ZstdCompressor(level=1).compressobj(size=1 << 40)
    data = bomb.compress(bytes(1 << 20)) + bomb.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    writer._database.execute("UPDATE frames SET data = ?", (data,))
    writer._database.commit()
    writer.close()
    with pytest.raises(SnapshotError, match="a frame is larger than any cluster"):
        SnapshotReader().read([path])


KILLED = """
import sys
from pathlib import Path
from karptui.clock import SystemClock
from karptui.decode.kinds import Kind
from karptui.sources.history.recorder import Recorder
from karptui.sources.source import Phase, SourceStatus
recorder = Recorder(Path(sys.argv[1]), "prod", SystemClock())
assert recorder.open()
recorder.report(SourceStatus(kind=Kind.POD, phase=Phase.LIVE, since_ns=0))
number = 0
while True:
    metadata = {"name": f"web-{number}", "namespace": "shop"}
    manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {}}
    recorder.put_manifests(Kind.POD, {f"shop/web-{number}": manifest})
    recorder.step()
    print(number, flush=True)
    number += 1
"""


def test_a_killed_process_loses_no_written_change(path: Path) -> None:
    chance = random.Random(1)
    for _ in range(2):
        process = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        written = -1
        for _ in range(chance.randrange(5, 60)):
            written = int(process.stdout.readline())
        process.kill()
        process.wait()
        process.stdout.close()
        keys = names_at(History(path), time.time_ns() + NS_PER_SECOND)
        assert keys >= {f"shop/web-{number}" for number in range(written + 1)}


def test_snapshot_readers_open_a_history_at_an_instant(path: Path) -> None:
    bench = Bench(path, Kind.POD)
    bench.put(pod("a"))
    bench.step()
    bench.put(pod("b"))
    bench.step()
    bench.close()
    latest = SnapshotReader().read([path])
    assert (latest.name, latest.captured_at_ns) == ("prod", START_NS + 2 * NS_PER_SECOND)
    assert {pod.name for pod in latest.inventory.pods} == {"a", "b"}
    earlier = SnapshotReader().read([path], at=lambda last_ns: last_ns - NS_PER_SECOND)
    assert {pod.name for pod in earlier.inventory.pods} == {"a"}
    with pytest.raises(SnapshotError, match="only a history has past moments"):
        SnapshotReader().read([Path(__file__)], at=lambda last_ns: last_ns)


def measured(*names: str) -> bytes:
    return msgspec.msgpack.encode([Measured(f"Deployment/shop/{name}", "app", 100, 1 << 20) for name in names])


def measure(bench: Bench, minutes: int, *names: str) -> None:
    for _ in range(minutes):
        bench.pass_seconds(60)
        bench.recorder.measure(bench.clock.now_ns(), measured(*names))
        bench.step()


def test_usage_is_kept_in_periods_of_an_hour_and_written_earlier(path: Path, bench: Bench) -> None:
    measure(bench, 12, "web")
    with contextlib.closing(History(path)) as history:
        (begun,) = history.usage(0, 1 << 62)
    measure(bench, 60, "web", "api")
    bench.close()
    with contextlib.closing(History(path)) as history:
        first, second = history.usage(0, 1 << 62)
        assert history.usage(first.from_ns + 1, second.to_ns) == (second,), (
            "a period that began before the range was returned"
        )
        assert history.usage(first.from_ns, second.to_ns - 1) == (first,), (
            "a period that ended after the range was returned"
        )
    assert (begun.from_ns, second.from_ns) == (first.from_ns, first.to_ns)
    assert begun.to_ns < first.to_ns
    usage = [period.workloads["Deployment/shop/web"]["app"] for period in (first, second)]
    assert sum(item.seconds for item in usage) == (second.to_ns - first.from_ns) // NS_PER_SECOND == 71 * 61
    assert sum(sum(item.cpu.values()) for item in usage) == 72
    assert {item.memory_bytes for item in usage} == {1 << 20}


def test_usage_can_be_added_to_a_history_of_an_older_version(path: Path, bench: Bench) -> None:
    bench.close()
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("DROP TABLE usage")
    with contextlib.closing(History(path)) as history:
        assert history.usage(0, 1 << 62) == ()
    later = Bench(path, Kind.POD)
    later.clock.instant_ns += 3600 * NS_PER_SECOND
    later.step()
    measure(later, 12, "web")
    later.close()
    with contextlib.closing(History(path)) as history:
        assert len(history.usage(0, 1 << 62)) == 1


def test_the_usage_of_many_pods_is_written_less_often(path: Path, bench: Bench) -> None:
    numbers = random.Random(1)
    for _ in range(120):
        at_ns = bench.clock.now_ns()
        pods = {
            f"shop/web-{number}": first_seen(UsageSample(at_ns, numbers.randrange(4000), number))
            for number in range(2_000)
        }
        bench.take_facts(usage=LiveUsage(pods=pods, read_at_ns=at_ns, is_asked=True))
        bench.pass_seconds(59)
        bench.step()
    bench.close()
    with contextlib.closing(sqlite3.connect(path)) as database:
        sizes = [size for (size,) in database.execute("SELECT length(data) FROM facts WHERE name = 'usage'")]
    assert 2 < len(sizes) < 110
    rate = sum(sizes[:-1]) / (120 * 60)
    assert recorder_module.USAGE_BYTES_PER_SECOND / 2 < rate <= recorder_module.USAGE_BYTES_PER_SECOND
