"""A past moment shows the same cluster as a snapshot of that instant."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from karptui.decode.kinds import Kind
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.session.cluster_view import ClusterView
from karptui.session.follower import ClusterFollower
from karptui.session.verdict import verdict_of_view
from karptui.sources.evidence import EvidenceSource
from karptui.sources.history.source import PastSource, read_past
from karptui.sources.history.store import Change, History
from karptui.sources.history.writer import HistoryWriter
from karptui.sources.snapshot.reader import SnapshotReader
from karptui.sources.snapshot.source import SnapshotSource
from karptui.sources.source import Source, SourceError
from karptui.views.verdict.sentence import pending_reasons, sentence
from tests.builders import a_manifest
from tests.builders.manifests import a_change
from tests.histories import BEGIN_NS, demo_history

SECONDS = 120


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return demo_history(tmp_path_factory, SECONDS)


def view_of(source: Source, evidence: EvidenceSource, now_ns: int) -> ClusterView:
    follower = ClusterFollower(source, evidence=evidence)
    follower.start()
    follower.poll(now_ns)
    return follower.view


def texts(objects: Mapping[Kind, Mapping[str, Any]]) -> dict[Kind, dict[str, str]]:
    """Return every object's fields as text, because pod templates compare by identity."""
    return {kind: {key: repr(item) for key, item in of_kind.items()} for kind, of_kind in objects.items() if of_kind}


def verdict(view: ClusterView, now_ns: int) -> list[str]:
    return [sentence(finding, now_ns, pending_reasons(view)) for finding in verdict_of_view(view, now_ns)]


@pytest.mark.parametrize("second", [0, 37, SECONDS])
def test_a_past_moment_equals_a_snapshot_of_it(path: Path, second: int) -> None:
    now_ns = BEGIN_NS + second * NS_PER_SECOND
    past = read_past(History(path), now_ns)
    snapshot = SnapshotReader().read([path], at=lambda _: now_ns, keeps_manifests=True)
    evidence = EvidenceSource(past.evidence, recorded_usage=past.live_usage)
    shown = view_of(PastSource("demo", past), evidence, now_ns)
    expected = view_of(
        SnapshotSource(snapshot),
        EvidenceSource(snapshot.evidence, recorded_usage=snapshot.live_usage),
        now_ns,
    )
    assert past.at_ns == snapshot.captured_at_ns == now_ns
    assert texts(shown.state.objects) == texts(expected.state.objects)
    assert shown.state.unread == expected.state.unread
    assert (len(shown.state.nodes) > 5, len(shown.state.pods) > 50) == (True, True)
    assert shown.statuses == expected.statuses
    assert verdict(shown, now_ns) == verdict(expected, now_ns) != []


def test_unchanged_objects_are_not_decoded_again(path: Path) -> None:
    first = read_past(History(path), BEGIN_NS)
    later = read_past(History(path), BEGIN_NS + SECONDS * NS_PER_SECOND, first)
    again = read_past(History(path), BEGIN_NS + SECONDS * NS_PER_SECOND)
    assert texts(later.objects) == texts(again.objects)
    same = [key for key, pod in later.objects[Kind.POD].items() if first.objects[Kind.POD].get(key) is pod]
    assert same
    assert len(same) < len(later.objects[Kind.POD])


def small(path: Path, *manifests: dict[str, Any]) -> History:
    """Return a history of one instant."""
    writer = HistoryWriter(path, "prod")
    writer.write_key([a_change(BEGIN_NS, manifest) for manifest in manifests])
    writer.finish_key(BEGIN_NS)
    writer.write_fact(BEGIN_NS, "unread", ["Pod", "Lease"])
    writer.close()
    return History(path)


def test_an_undecodable_object_is_reported_as_in_a_snapshot(tmp_path: Path) -> None:
    broken = a_manifest("Node", "bad", status={"capacity": {"cpu": "much"}})
    history = small(tmp_path / "h.karptui", a_manifest("Node", "good"), broken)
    past = read_past(history, BEGIN_NS)
    snapshot = SnapshotReader().read([tmp_path / "h.karptui"])
    shown = view_of(PastSource("prod", past), EvidenceSource(past.evidence), BEGIN_NS)
    expected = view_of(SnapshotSource(snapshot), EvidenceSource(snapshot.evidence), BEGIN_NS)
    assert list(shown.state.nodes) == ["good"]
    assert "Node bad: status.capacity" in shown.statuses["Node"].last_error
    assert shown.statuses == expected.statuses
    assert Kind.LEASE in past.left_out
    assert shown.state.unread == expected.state.unread


def test_single_objects_are_returned_as_recorded(path: Path) -> None:
    source = PastSource("demo", read_past(History(path), BEGIN_NS))
    pod = next(iter(source.past.objects[Kind.POD]))
    fetched = source.fetch_object("Pod", pod)
    assert (fetched["kind"], fetched["apiVersion"]) == ("Pod", "v1")
    assert f"{fetched['metadata']['namespace']}/{fetched['metadata']['name']}" == pod
    nodeclass = next(iter(source.past.objects[Kind.NODECLASS].values()))
    assert source.fetch_object(nodeclass.kind, nodeclass.name)["kind"] == nodeclass.kind
    with pytest.raises(SourceError, match="the history has no Pod shop/none at this moment"):
        source.fetch_object("Pod", "shop/none")


def pod(name: str, at_ns: int) -> Change:
    return a_change(at_ns, a_manifest("Pod", name, namespace="shop"))


def test_steps_move_between_changes_and_stop_at_both_ends(tmp_path: Path) -> None:
    path, second = tmp_path / "h.karptui", NS_PER_SECOND
    small(path, a_manifest("Node", "n")).close()
    writer = HistoryWriter(path, "prod")
    writer.write_key([])
    writer.finish_key(BEGIN_NS + 20 * second)
    writer.write([pod("a", BEGIN_NS + 30 * second), pod("b", BEGIN_NS + 30 * second + 7)])
    lease = a_manifest("Lease", "karpenter", namespace="kube-system")
    writer.write([a_change(BEGIN_NS + 31 * second, lease)])
    writer.write([pod("c", BEGIN_NS + 32 * second)])
    writer.close()
    history, kinds = History(path), {"Pod", "Node"}
    forward, at = [], 0
    while (after := history.beside(at, 1, kinds)) is not None:
        forward.append(at := after)
    backward, at = [], BEGIN_NS + 40 * second
    while (before := history.beside(at, -1, kinds)) is not None:
        backward.append(at := before)
    assert [(at - BEGIN_NS) for at in forward] == [0, 20 * second, 30 * second + 7, 32 * second]
    assert backward == forward[::-1]
