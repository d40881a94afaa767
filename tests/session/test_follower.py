"""One connection to a cluster, from its beginning to its end."""

from __future__ import annotations

import pytest

from karptui.aws.evidence import Evidence
from karptui.aws.launch_refusals import REFUSED_NS
from karptui.decode.kinds import Kind
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.metrics import ControllerMetrics, OfferingMetrics, OfferingName
from karptui.karpenter.nodepool import NodePool
from karptui.kube.node import Node
from karptui.session.analyst import Analyst
from karptui.session.follower import ClusterFollower
from karptui.session.moments import MomentSource
from karptui.session.overview import overview_of
from karptui.sources.base import Phase, SourceStatus
from karptui.sources.evidence import EvidenceSource
from karptui.sources.mailbox import Mailbox
from karptui.state.cluster import ClusterState
from karptui.state.reducer import Batch, reduce
from karptui.views.instants import freshness
from karptui.views.row import Tone
from tests import story_e
from tests.builders import NOW_NS, SECOND_NS, a_launch_failure, a_nodepool
from tests.builders.sources import QuietSource


class Speaker(QuietSource):
    """A source that says how far it is with the nodes."""

    title = "speaker"

    def start(self, mailbox: Mailbox) -> None:
        self.mailbox = mailbox

    def stop(self) -> None:
        """Say nothing more."""

    def say(self, phase: Phase) -> None:
        self.mailbox.report(SourceStatus(kind=Kind.NODE, phase=phase, since_ns=1))


class Asked(EvidenceSource):
    """Counts how often it is told to begin."""

    starts = 0

    def start(self) -> None:
        self.starts += 1


@pytest.mark.parametrize(
    ("phase", "is_known"),
    [
        (Phase.CONNECTING, False),
        (Phase.SYNCING, False),
        (Phase.LIVE, True),
        (Phase.FORBIDDEN, True),
        (Phase.DISCONNECTED, True),
    ],
)
def test_the_nodes_are_known_once_the_source_is_done_with_them(phase: Phase, *, is_known: bool) -> None:
    source = Speaker()
    session = ClusterFollower(source)
    session.start()
    assert not session.knows_nodes
    source.say(phase)
    session.poll()
    assert session.knows_nodes is is_known
    session.stop()


def test_evidence_is_asked_for_once_and_not_by_the_start() -> None:
    evidence = Asked()
    session = ClusterFollower(Speaker(), evidence=evidence)
    session.start()
    assert evidence.starts == 0
    session.ask_for_evidence()
    session.ask_for_evidence()
    assert evidence.starts == 1
    session.stop()


def test_evidence_is_not_asked_for_after_the_end() -> None:
    evidence = Asked()
    session = ClusterFollower(Speaker(), evidence=evidence)
    session.start()
    session.stop()
    session.ask_for_evidence()
    assert evidence.starts == 0


class Teller(QuietSource):
    """A source of nodes."""

    title = "teller"

    def start(self, mailbox: Mailbox) -> None:
        self.mailbox = mailbox

    def stop(self) -> None:
        """Say nothing more."""


def told() -> tuple[ClusterFollower, Teller]:
    source = Teller()
    session = ClusterFollower(source)
    session.start()
    source.mailbox.put(Kind.NODE, {name: Node(name=name) for name in ("a", "b")})
    assert session.poll()
    return session, source


@pytest.mark.crashes
def test_an_object_that_spoils_the_state_is_left_out_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    session, source = told()

    def picky(state: ClusterState, batch: Batch, now_ns: int = 0) -> ClusterState:
        if any("bad" in delta.objects for delta in batch.deltas.values()):
            raise ZeroDivisionError("division by zero")
        return reduce(state, batch, now_ns)

    with monkeypatch.context() as patch:
        patch.setattr("karptui.session.follower.reduce", picky)
        source.mailbox.put(Kind.NODE, {"c": Node(name="c"), "bad": Node(name="bad"), "a": None})
        session.poll()
        assert set(session.view.state.nodes) == {"b", "c"}
        assert session.trouble == "Node bad cannot be shown: ZeroDivisionError: division by zero"
        source.mailbox.put(Kind.NODE, {"d": Node(name="d")})
        session.poll()
        assert session.trouble
    source.mailbox.put(Kind.NODE, {"bad": Node(name="bad")})
    session.poll()
    assert set(session.view.state.nodes) == {"b", "c", "d", "bad"}
    assert session.trouble == ""


@pytest.mark.crashes
def test_a_view_that_cannot_be_made_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    session, source = told()
    before = session.view
    with monkeypatch.context() as patch:
        patch.setattr("karptui.session.follower.ClusterView", lambda *_, **__: 1 // 0)
        source.mailbox.put(Kind.NODE, {"c": Node(name="c")})
        session.poll()
        assert session.view is before
        assert session.trouble.startswith("what has changed cannot be shown: ZeroDivisionError")
    source.mailbox.put(Kind.NODE, {"d": Node(name="d")})
    session.poll()
    assert set(session.view.state.nodes) == {"a", "b", "c", "d"}
    assert session.trouble == ""


class Told(EvidenceSource):
    """Evidence that a test exchanges."""

    def __init__(self) -> None:
        super().__init__()
        self.known = Evidence()

    def latest(self) -> Evidence:
        """Return what the test has said."""
        return self.known


def a_reading(price: float, at_ns: int) -> ControllerMetrics:
    offering = {OfferingName("m5.large", "us-east-1a", "spot"): OfferingMetrics(price, is_available=True)}
    return ControllerMetrics(read_at_ns=at_ns, endpoint="pod a/b", offerings=offering)


def test_other_prices_count_as_a_change_of_the_cluster_and_the_same_read_again_do_not() -> None:
    told = Told()
    session = ClusterFollower(Speaker(), evidence=told)
    generations = []
    for price, at_ns in ((0.04, 1), (0.04, 2), (0.05, 3)):
        told.known = Evidence(metrics=a_reading(price, at_ns))
        session.poll()
        assert session.view.evidence is told.known
        generations.append(session.view.state.generation)
    first, again, other = generations
    assert (again, other) == (first, first + 1)


@pytest.mark.parametrize("pools", [(), (a_nodepool(),)])
def test_a_cluster_without_nodes_is_worked_out(pools: tuple[NodePool, ...]) -> None:
    """Claims, Budgets and Next wait for this analysis: it comes without a node too."""
    source = MomentSource("empty", Inventory(nodepools=pools), NOW_NS)
    session = ClusterFollower(source, analyst=Analyst(has_thread=False))
    session.start()
    session.poll(NOW_NS)
    assert overview_of(session.view).analysed is None
    session.analyse(NOW_NS)
    session.analyst.catch_up()
    session.poll(NOW_NS)
    analysis = session.view.analysis
    assert analysis is not None
    assert list(analysis.budgets) == [pool.name for pool in pools]
    assert freshness(overview_of(session.view), NOW_NS) == (("computed by karptui just now", Tone.MUTED),)


class Late(EvidenceSource):
    """Evidence that somebody has been asked for."""

    has_come = False

    @property
    def is_settled(self) -> bool:
        return self.has_come


def test_removals_are_simulated_once_prices_have_come() -> None:
    late = Late(story_e.evidence())
    source = MomentSource("late", story_e.inventory(), NOW_NS)
    session = ClusterFollower(source, evidence=late, analyst=Analyst(has_thread=False))
    session.start()
    simulated = []
    for late.has_come in (False, True):
        session.poll(NOW_NS)
        session.analyse(NOW_NS)
        session.analyst.catch_up()
        session.poll(NOW_NS)
        assert session.view.analysis is not None
        simulated.append((session.view.analysis.simulated, session.view.analysis.managed))
    (before, _), (after, managed) = simulated
    assert (before, after) == (0, managed)


def test_offerings_of_failed_launches_are_left_out_and_come_back_with_time() -> None:
    source = Teller()
    session = ClusterFollower(source)
    session.start()
    source.mailbox.put(Kind.EVENT, {"e": a_launch_failure("c7i.4xlarge", "us-east-1a")})
    session.poll(NOW_NS)
    refused = session.view.evidence
    assert [key.instance_type for key in refused.refused.offerings] == ["c7i.4xlarge"]
    generation = session.view.state.generation
    source.mailbox.put(Kind.NODE, {"a": Node(name="a")})
    session.poll(NOW_NS + SECOND_NS)
    assert session.view.evidence is refused
    assert not session.poll(NOW_NS + 2 * SECOND_NS)
    assert session.poll(NOW_NS + REFUSED_NS)
    assert not session.view.evidence.refused.offerings
    assert session.view.state.generation > generation + 1
