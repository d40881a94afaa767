from __future__ import annotations

from unittest.mock import Mock

import pytest

from karptui.aws.evidence import Evidence
from karptui.aws.launch_refusals import REFUSED_NS
from karptui.decode.kinds import Kind
from karptui.disruption.analysis import Analysis
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.metrics import ControllerMetrics, OfferingMetrics, OfferingName
from karptui.karpenter.nodepool import NodePool
from karptui.kube.objects import Node
from karptui.session.follower import ClusterFollower
from karptui.session.moments import MomentSource
from karptui.session.row_server import overview_of
from karptui.sources.evidence import EvidenceSource
from karptui.sources.source import Mailbox, Phase, SourceStatus
from karptui.sources.usage import UsageSource
from karptui.state.cluster import ClusterState
from karptui.state.reducer import Batch, reduce
from karptui.views.instants import freshness
from karptui.views.row import Tone
from tests import story_e
from tests.builders import NOW_NS, SECOND_NS, a_launch_failure, a_nodepool, present
from tests.builders.sources import QuietSource
from tests.stepped_analyst import SteppedAnalyst


class MailboxSource(QuietSource):
    """A source whose mailbox the test fills."""

    title = "teller"

    def start(self, mailbox: Mailbox) -> None:
        self.mailbox = mailbox

    def stop(self) -> None:
        """Report nothing more."""


class ReplaceableEvidence(EvidenceSource):
    """Evidence that the test replaces, and which counts its starts."""

    def __init__(self) -> None:
        super().__init__()
        self.current, self.starts, self.has_come = Evidence(), 0, True

    def start(self) -> None:
        self.starts += 1

    def latest(self) -> Evidence:
        return self.current

    @property
    def is_settled(self) -> bool:
        return self.has_come


def begun(evidence: EvidenceSource | None = None) -> tuple[ClusterFollower, MailboxSource]:
    source = MailboxSource()
    follower = ClusterFollower(source, evidence=evidence)
    follower.start()
    return follower, source


def with_two_nodes() -> tuple[ClusterFollower, MailboxSource]:
    follower, source = begun()
    source.mailbox.put(Kind.NODE, {name: Node(name=name) for name in ("a", "b")})
    assert follower.poll()
    return follower, source


@pytest.mark.parametrize(("phase", "is_known"), [
    (Phase.CONNECTING, False),
    (Phase.SYNCING, False),
    (Phase.LIVE, True),
    (Phase.FORBIDDEN, True),
    (Phase.DISCONNECTED, True),
])  # fmt: skip
def test_nodes_are_known_once_listed_refused_or_disconnected(phase: Phase, *, is_known: bool) -> None:
    follower, source = begun()
    assert not follower.knows_nodes
    source.mailbox.report(SourceStatus(kind=Kind.NODE, phase=phase, since_ns=1))
    follower.poll()
    assert follower.knows_nodes is is_known


def test_the_analysis_is_dropped_if_a_kind_it_used_becomes_forbidden() -> None:
    follower, source = with_two_nodes()
    follower.analyst = Mock(wraps=follower.analyst, latest=Analysis(generation=1), pending=None, advice=None)
    assert follower.poll()
    assert follower.view.analysis is not None
    source.mailbox.report(SourceStatus(kind=Kind.POD, phase=Phase.FORBIDDEN, since_ns=1))
    assert follower.poll()
    assert follower.view.analysis is None
    assert not follower.poll()


def test_evidence_is_requested_once_after_the_first_rows() -> None:
    told = ReplaceableEvidence()
    follower, _ = begun(told)
    assert told.starts == 0
    follower.first_rows_shown()
    follower.first_rows_shown()
    assert told.starts == 1
    stopped, _ = begun(told)
    stopped.stop()
    stopped.first_rows_shown()
    assert told.starts == 1


@pytest.mark.crashes
def test_an_object_that_breaks_the_state_is_skipped_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    follower, source = with_two_nodes()

    def picky(state: ClusterState, batch: Batch, now_ns: int = 0) -> ClusterState:
        if any("bad" in delta.objects for delta in batch.deltas.values()):
            raise ZeroDivisionError("division by zero")
        return reduce(state, batch, now_ns)

    with monkeypatch.context() as patch:
        patch.setattr("karptui.session.follower.reduce", picky)
        source.mailbox.put(Kind.NODE, {"c": Node(name="c"), "bad": Node(name="bad"), "a": None})
        follower.poll()
        assert set(follower.view.state.nodes) == {"b", "c"}
        assert follower.trouble == "Node bad cannot be shown: ZeroDivisionError: division by zero"
        source.mailbox.put(Kind.NODE, {"d": Node(name="d")})
        follower.poll()
        assert follower.trouble
    source.mailbox.put(Kind.NODE, {"bad": Node(name="bad")})
    follower.poll()
    assert set(follower.view.state.nodes) == {"b", "c", "d", "bad"}
    assert follower.trouble == ""


@pytest.mark.crashes
def test_changes_are_kept_if_the_view_cannot_be_created(monkeypatch: pytest.MonkeyPatch) -> None:
    follower, source = with_two_nodes()
    before = follower.view
    with monkeypatch.context() as patch:
        patch.setattr("karptui.session.follower.ClusterView", lambda *_, **__: 1 // 0)
        source.mailbox.put(Kind.NODE, {"c": Node(name="c")})
        follower.poll()
        assert follower.view is before
        assert follower.trouble.startswith("changes cannot be shown: ZeroDivisionError")
    source.mailbox.put(Kind.NODE, {"d": Node(name="d")})
    follower.poll()
    assert set(follower.view.state.nodes) == {"a", "b", "c", "d"}
    assert follower.trouble == ""


def a_reading(price: float, at_ns: int) -> ControllerMetrics:
    offering = {OfferingName("m5.large", "us-east-1a", "spot"): OfferingMetrics(price, is_available=True)}
    return ControllerMetrics(read_at_ns=at_ns, endpoint="pod a/b", offerings=offering)


def test_only_different_prices_count_as_a_change_of_the_cluster() -> None:
    told = ReplaceableEvidence()
    follower, _ = begun(told)
    generations = []
    for price, at_ns in ((0.04, 1), (0.04, 2), (0.05, 3)):
        told.current = Evidence(metrics=a_reading(price, at_ns))
        follower.poll()
        assert follower.view.evidence is told.current
        generations.append(follower.view.state.generation)
    first, again, other = generations
    assert (again, other) == (first, first + 1)


@pytest.mark.parametrize("pools", [(), (a_nodepool(),)])
def test_a_cluster_without_nodes_is_analysed(pools: tuple[NodePool, ...]) -> None:
    """Claims, Budgets and Next need this analysis even without nodes."""
    source = MomentSource("empty", Inventory(nodepools=pools), NOW_NS)
    analyst = SteppedAnalyst()
    follower = ClusterFollower(source, analyst=analyst)
    follower.start()
    follower.poll(NOW_NS)
    assert overview_of(follower.view).analysed is None
    follower.analyse(NOW_NS)
    analyst.catch_up()
    follower.poll(NOW_NS)
    analysis = present(follower.view.analysis)
    assert list(analysis.budgets) == [pool.name for pool in pools]
    assert freshness(overview_of(follower.view), NOW_NS) == (("computed by karptui just now", Tone.MUTED),)


def test_removals_are_simulated_once_prices_have_arrived() -> None:
    late = ReplaceableEvidence()
    late.current = story_e.evidence()
    source = MomentSource("late", story_e.inventory(), NOW_NS)
    analyst = SteppedAnalyst()
    follower = ClusterFollower(source, evidence=late, analyst=analyst)
    follower.start()
    simulated = []
    for late.has_come in (False, True):
        follower.poll(NOW_NS)
        follower.analyse(NOW_NS)
        analyst.catch_up()
        follower.poll(NOW_NS)
        assert follower.view.analysis is not None
        simulated.append((follower.view.analysis.simulated, follower.view.analysis.managed))
    (before, _), (after, managed) = simulated
    assert (before, after) == (0, managed)


def test_offerings_of_failed_launches_are_excluded_for_a_while() -> None:
    follower, source = begun()
    source.mailbox.put(Kind.EVENT, {"e": a_launch_failure("c7i.4xlarge", "us-east-1a")})
    follower.poll(NOW_NS)
    refused = follower.view.evidence
    assert [key.instance_type for key in refused.refused.offerings] == ["c7i.4xlarge"]
    generation = follower.view.state.generation
    source.mailbox.put(Kind.NODE, {"a": Node(name="a")})
    follower.poll(NOW_NS + SECOND_NS)
    assert follower.view.evidence is refused
    assert not follower.poll(NOW_NS + 2 * SECOND_NS)
    assert follower.poll(NOW_NS + REFUSED_NS)
    assert not follower.view.evidence.refused.offerings
    assert follower.view.state.generation > generation + 1


def test_usage_is_read_for_a_history_while_it_is_recorded() -> None:
    usage, tap = UsageSource(Mock()), Mock(is_recording=False)
    follower = ClusterFollower(MailboxSource(), evidence=EvidenceSource(usage=usage), tap=tap)
    for tap.is_recording in (True, False):
        follower.poll()
        assert usage.is_recorded is tap.is_recording
