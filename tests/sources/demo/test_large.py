from __future__ import annotations

from karptui.clock import FrozenClock
from karptui.decode.kinds import Kind
from karptui.sources.demo.source import PAGE, LargeDemo
from karptui.sources.source import Mailbox, Phase, SourceStatus
from karptui.state.cluster import EMPTY
from karptui.state.reducer import reduce
from tests.builders import NOW_NS


class Heard(Mailbox):
    """Keeps what was said of pods."""

    def __init__(self) -> None:
        super().__init__()
        self.pods: list[tuple[Phase, int, int | None]] = []

    def report(self, status: SourceStatus) -> None:
        super().report(status)
        if status.kind is Kind.POD:
            self.pods.append((status.phase, status.count, status.total_estimate))


def test_pods_come_page_by_page_and_every_one_has_its_node() -> None:
    source, heard = LargeDemo(clock=FrozenClock(NOW_NS), copies=2, page_seconds=0), Heard()
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
