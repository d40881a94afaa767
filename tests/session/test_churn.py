from __future__ import annotations

import pytest

from karptui.decode.kinds import Kind
from karptui.session.churn import ChurnBook, events_hidden, unknown_because
from karptui.session.cluster_view import ClusterView
from karptui.sources.source import Phase
from karptui.state.reducer import Batch, KindDelta, reduce
from tests.builders import MINUTE_NS, NOW_NS, SECOND_NS, a_cluster, a_nodeclaim, a_pod
from tests.ui.fleet import status


def a_view(phase: Phase | None = Phase.LIVE, *, count: int = 3, events: Phase = Phase.LIVE) -> ClusterView:
    statuses = {Kind.EVENT: status(Kind.EVENT, events)}
    if phase is not None:
        statuses[Kind.NODECLAIM] = status(Kind.NODECLAIM, phase, count=count)
    return ClusterView(a_cluster(), {str(kind): result for kind, result in statuses.items()})


@pytest.mark.parametrize(("phase", "count", "why"), [
    (Phase.LIVE, 3, ""),
    (Phase.OFFLINE, 3, ""),
    (Phase.DISCONNECTED, 3, ""),
    (Phase.DISCONNECTED, 0, "NodeClaims are still loading"),
    (Phase.SYNCING, 1, "NodeClaims are still loading"),
    (Phase.FORBIDDEN, 0, "NodeClaims may not be listed, so replacements are unknown"),
    (Phase.NOT_INSTALLED, 0, "the cluster does not know NodeClaims: Karpenter is not installed"),
    (None, 0, ""),
])  # fmt: skip
def test_whether_anything_can_be_said(phase: Phase | None, count: int, why: str) -> None:
    view = a_view(phase, count=count)
    assert unknown_because(view.statuses) == why
    book = ChurnBook()
    assert (book.churn(view, NOW_NS) is None) == bool(why)
    assert (book.latest is None) == bool(why)


def test_hidden_events() -> None:
    assert events_hidden(a_view(events=Phase.FORBIDDEN).statuses)
    assert not events_hidden(a_view().statuses)
    assert not events_hidden({})


def test_the_same_answer_as_long_as_nothing_happens() -> None:
    view, book = a_view(), ChurnBook()
    first = book.churn(view, NOW_NS)
    assert book.churn(view, NOW_NS + SECOND_NS) is first
    pods = reduce(view.state, Batch({Kind.POD: KindDelta({"default/x": a_pod(name="x")})}))
    assert book.churn(ClusterView(pods, view.statuses), NOW_NS + SECOND_NS) is first
    assert book.churn(view, NOW_NS + MINUTE_NS) is not first
    last = book.churn(view, NOW_NS + MINUTE_NS)
    claims = reduce(view.state, Batch({Kind.NODECLAIM: KindDelta({"new": a_nodeclaim(name="new")})}))
    assert book.churn(ClusterView(claims, view.statuses), NOW_NS + MINUTE_NS) is not last


def test_a_busy_cluster_is_gone_through_every_other_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("karptui.session.churn.BUSY_FROM", 2)
    view, book = a_view(), ChurnBook()
    first = book.churn(view, NOW_NS)
    claims = reduce(view.state, Batch({Kind.NODECLAIM: KindDelta({"new": a_nodeclaim(name="new")})}))
    changed = ClusterView(claims, view.statuses)
    assert book.churn(changed, NOW_NS + SECOND_NS) is first
    assert book.churn(changed, NOW_NS + 2 * SECOND_NS) is not first
