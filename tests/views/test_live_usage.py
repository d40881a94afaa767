"""Live usage next to requests."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from karptui.decode.kinds import Kind
from karptui.kube.usage import NO_LIVE_USAGE, LiveUsage, Sample, first_seen
from karptui.session.cluster_view import ClusterView
from karptui.session.nodes import NodeEntry
from karptui.session.sources import usage_row
from karptui.state.reducer import Batch, KindDelta, reduce
from karptui.views.nodes.detail import resource_lines, usage_lines
from karptui.views.row import Tone
from karptui.views.usage import usage_note
from tests.builders import MINUTE_NS, NOW_NS, SECOND_NS, a_cluster, a_node, a_nodeclaim, a_pod, present
from tests.stories import plain_text
from tests.ui.fleet import status

GIB = 1 << 30
ONCE = first_seen(Sample(NOW_NS - 20 * SECOND_NS, 400, 2 * GIB))
TWICE = ONCE.then(Sample(NOW_NS, 300, 3 * GIB))
LIVE = LiveUsage(
    nodes={"node-1": TWICE}, pods={"default/web-1": ONCE}, read_at_ns=NOW_NS - SECOND_NS, window_ns=15 * SECOND_NS,
    is_asked=True,
)  # fmt: skip


@pytest.mark.parametrize(("live", "text", "tone"), [
    (NO_LIVE_USAGE, "live usage needs a live cluster with metrics-server", Tone.MUTED),
    (LiveUsage(is_asked=True), "loading live usage from metrics-server…", Tone.ACTIVE),
    (LIVE, "measured by metrics-server 1s ago, over 15s; requests, not usage, decide what fits", Tone.MUTED),
    (replace(LIVE, window_ns=0), "measured by metrics-server 1s ago; requests, not", Tone.MUTED),
    (LiveUsage(is_asked=True, sentence="\x1b[31mnot installed"), "␛[31mnot installed", Tone.MUTED),
    (replace(LIVE, sentence="metrics-server does not answer"), "metrics-server does not answer (figures are 1s old)",
     Tone.WARNING),
])  # fmt: skip
def test_the_source_of_usage_is_named(live: LiveUsage, text: str, tone: Tone) -> None:
    ((result, found_tone),) = usage_note(live, NOW_NS)
    assert result.startswith(text)
    assert found_tone is tone


def test_a_node_shows_usage_next_to_requests() -> None:
    entry = NodeEntry(a_node(), a_nodeclaim(), a_cluster(nodes=1).node_usage["node-1"], used=TWICE)
    text = plain_text(usage_lines(entry, LIVE, NOW_NS))
    assert "Live usage\n  cpu 300m (15% of allocatable, 150% of requests) · mem 3,072Mi (42% of allocatable, " in text
    assert "the highest of 2 samples over 20s: cpu 400m mem 3,072Mi" in text
    assert "requests, not usage, decide what fits" in text
    once = plain_text(usage_lines(NodeEntry(a_node(), None, used=ONCE), LIVE, NOW_NS))
    assert "cpu 400m (20% of allocatable) · mem" in once
    assert "the most of" not in once
    unknown = plain_text(usage_lines(NodeEntry(a_node(), None), LIVE, NOW_NS))
    assert unknown.startswith("Live usage\n  measured by metrics-server")
    ledger = plain_text(resource_lines(entry))
    assert "in use" in ledger
    assert ledger.partition("in use")[2].split()[:2] == ["300m", "3,072Mi"]
    assert "in use" not in plain_text(resource_lines(NodeEntry(a_node(), None)))


@pytest.mark.parametrize(("live", "phase", "why"), [
    (LiveUsage(is_asked=True), "off", "queried once a minute for the history, or while usage is shown"),
    (LIVE, "live", ""),
    (replace(LIVE, sentence="metrics-server does not answer"), "stale", "metrics-server does not answer"),
    (LiveUsage(is_asked=True, sentence="not installed"), "not available", "not installed"),
])  # fmt: skip
def test_live_usage_has_a_row_in_sources(live: LiveUsage, phase: str, why: str) -> None:
    row = present(usage_row(live, NOW_NS))
    assert (row.phase, row.kind, row.count) == (phase, "Live usage", len(live.pods) + len(live.nodes))
    assert row.last_error.startswith(why)
    assert usage_row(NO_LIVE_USAGE, NOW_NS) is None


def test_only_entries_with_a_new_measurement_are_rebuilt() -> None:
    statuses = {str(kind): status(kind) for kind in (Kind.NODE, Kind.NODECLAIM, Kind.POD)}
    state = reduce(a_cluster(nodes=2), Batch({Kind.POD: KindDelta({"default/web-1": a_pod(node="node-1")})}))
    first = ClusterView(state, statuses, live_usage=LIVE)
    nodes, pods = first.node_entries, {entry.pod.key: entry for entry in first.pod_entries}
    assert [entry.used for entry in nodes] == [TWICE, None]
    assert pods["default/web-1"].used is ONCE
    assert {entry.pod.key: entry.used for entry in first.pods_on("node-1")}["default/web-1"] is ONCE
    # A view without a new measurement reuses all entries.
    assert ClusterView(state, statuses, first).node_entries is nodes
    newer = replace(LIVE, nodes={"node-1": TWICE.then(Sample(NOW_NS + MINUTE_NS, 1, 1))})
    second = ClusterView(state, statuses, first, live_usage=newer)
    assert [entry is other for entry, other in zip(second.node_entries, nodes, strict=True)] == [False, True]
    again = {entry.pod.key: entry for entry in second.pod_entries}
    assert all(again[key] is entry for key, entry in pods.items())
