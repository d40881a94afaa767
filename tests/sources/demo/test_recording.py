from __future__ import annotations

from collections import Counter
from importlib import resources
from typing import Any

import pytest

from karptui.clock import FrozenClock
from karptui.decode.kinds import Kind
from karptui.karpenter.labels import NODEPOOL
from karptui.kube.quantity import parse_quantity
from karptui.sources.demo.source import FILE, PAGE, LargeDemo, load
from karptui.sources.snapshot.reader import Snapshot, SnapshotReader
from karptui.sources.source import Mailbox, Phase, SourceStatus
from karptui.state.cluster import EMPTY, ClusterState
from karptui.state.reducer import reduce
from tests.builders import NOW_NS
from tests.builders.clusters import state_of

MIB = 1 << 20


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    path = resources.files("karptui.sources.demo").joinpath(FILE)
    return SnapshotReader().read([str(path)], strict=True)


@pytest.fixture(scope="module")
def state(snapshot: Snapshot) -> ClusterState:
    return state_of(snapshot.inventory)


def test_the_demo_has_nodes_pods_nodepools_and_events(snapshot: Snapshot, state: ClusterState) -> None:
    assert not snapshot.problems
    assert not snapshot.unknown_kinds
    assert len(state.nodes) == 64
    assert 850 <= len(state.pods) <= 1000
    assert len(state.nodepools) == 7
    assert len(state.events) >= 30
    pools = Counter(node.labels.get(NODEPOOL, "") for node in state.nodes.values())
    assert pools == {"general": 44, "gpu": 2, "runners": 4, "trino": 8, "edge": 4, "": 2}


def test_nodeclaims_are_in_every_stage(state: ClusterState) -> None:
    alone = list(state.claims_without_node())
    assert {claim.is_true("Launched") for claim in alone} == {True, False}
    assert [item.reason for claim in alone for item in claim.conditions if item.message] == ["RequestLimitExceeded"]
    assert any(not claim.is_true("Initialized") for claim in state.nodeclaims.values() if state.node_of(claim.name))
    assert sum(claim.is_deleting for claim in state.nodeclaims.values()) == 2
    assert any(claim.is_true("Drifted") for claim in state.nodeclaims.values())
    assert len(state.links.claim_of_node) == 62


def test_requests_of_claims_without_a_node_match_recorded_pods(state: ClusterState) -> None:
    on_their_way = [claim for claim in state.nodeclaims.values() if not claim.node_name]
    assert [bool(claim.requests) for claim in on_their_way] == [False, False, True]
    following = [pod for pod in state.pending_pods.values() if pod.namespace == "media"]
    assert on_their_way[-1].requests["cpu"].millis == 490 + sum(pod.requests["cpu"].millis for pod in following)


def test_daemonset_requests_match_the_documentation(state: ClusterState) -> None:
    everywhere = next(
        state.node_usage[name].daemonset for name, node in state.nodes.items() if node.labels.get(NODEPOOL) == "runners"
    )
    assert everywhere["cpu"].millis == 490
    assert everywhere["memory"].units == parse_quantity("938Mi").units


def test_the_timestamps_are_moved_to_the_present() -> None:
    later = 7 * 86_400 * 10**9
    first, second = load(NOW_NS), load(NOW_NS + later)

    def created(objects: list[dict[str, Any]]) -> list[str]:
        return [manifest["metadata"]["creationTimestamp"] for manifest in objects]

    assert first[0]["metadata"]["creationTimestamp"] < second[0]["metadata"]["creationTimestamp"]
    assert max(created(first)) <= "2026-11-20T12:00:00Z"
    assert "2026-11-27T11:" in max(created(second))


class PodStatusMailbox(Mailbox):
    """A mailbox that records the reported status of pods."""

    def __init__(self) -> None:
        super().__init__()
        self.pods: list[tuple[Phase, int, int | None]] = []

    def report(self, status: SourceStatus) -> None:
        super().report(status)
        if status.kind is Kind.POD:
            self.pods.append((status.phase, status.count, status.total_estimate))


def test_the_large_demo_reports_pods_by_page_with_existing_nodes() -> None:
    source, heard = LargeDemo(clock=FrozenClock(NOW_NS), copies=2, page_seconds=0), PodStatusMailbox()
    source.start(heard)
    assert source._thread is not None
    source._thread.join(60)
    state = reduce(EMPTY, heard.drain().batch)
    assert len(state.nodes) == 128
    total = len(state.pods)
    assert heard.pods[:3] == [(Phase.SYNCING, 0, total), (Phase.SYNCING, PAGE, total), (Phase.SYNCING, 2 * PAGE, total)]
    assert heard.pods[-1] == (Phase.LIVE, total, None)
    assert all(pod.node_name in state.nodes for pod in state.pods.values() if pod.node_name)
    assert len({claim.provider_id for claim in state.nodeclaims.values() if claim.provider_id}) == len(
        [claim for claim in state.nodeclaims.values() if claim.provider_id]
    )
    assert source.fetch_object("Node", "ip-10-1-3-219.ec2.internal")["kind"] == "Node"
