from __future__ import annotations

from collections.abc import Callable

import pytest

from karptui.clock import FrozenClock
from karptui.decode.kinds import Kind
from karptui.kube.pod import Pod
from karptui.sources.demo.source import DemoSource
from karptui.sources.source import Mailbox, Phase, Source, SourceError
from karptui.state.cluster import EMPTY, ClusterState
from karptui.state.reducer import reduce
from tests.builders import NOW_NS, SECOND_NS, present
from tests.sources.cluster.live import WatchedMailbox


class SteppedDemo:
    """A running demo with a clock that the test moves, and its state."""

    def __init__(self) -> None:
        self.clock = FrozenClock(NOW_NS)
        self.source = DemoSource(clock=self.clock, is_stepped=True)
        self.mailbox = Mailbox()
        self.source.start(self.mailbox)
        mail = self.mailbox.drain()
        self.state: ClusterState = reduce(EMPTY, mail.batch)
        self.statuses = dict(mail.statuses)

    def watch(self, seconds: int, *, step_seconds: int = 1) -> list[ClusterState]:
        """Move the clock; return the state after every step."""
        states = []
        for _ in range(0, seconds, step_seconds):
            self.clock.instant_ns += step_seconds * SECOND_NS
            self.source.step()
            mail = self.mailbox.drain()
            self.statuses |= mail.statuses
            self.state = reduce(self.state, mail.batch)
            states.append(self.state)
        return states


Story = tuple[SteppedDemo, ClusterState, list[ClusterState]]
"""The demo, its first state, and its state after every second."""


@pytest.fixture(scope="module", name="demo")
def watched_demo() -> Story:
    """Eight minutes of the demo."""
    watched = SteppedDemo()
    begin = watched.state
    return watched, begin, watched.watch(480)


def sometime(states: list[ClusterState], holds: Callable[[ClusterState], bool]) -> bool:
    return any(holds(state) for state in states)


def test_opens_with_the_recording() -> None:
    source: Source = DemoSource()
    assert source.title == "demo"
    watched = SteppedDemo()
    assert len(watched.state.nodes) == 64
    assert {status.phase for status in watched.statuses.values()} == {Phase.LIVE}
    assert watched.statuses[Kind.NODE].count == 64
    assert watched.statuses[Kind.POD].count == len(watched.state.pods)
    assert max(pod.created_ns for pod in watched.state.pods.values()) <= NOW_NS
    with pytest.raises(SourceError, match="the demo has no Node x"):
        watched.source.fetch_object("Node", "x")


def test_pods_are_created_bound_run_and_finish(demo: Story) -> None:
    _, begin, states = demo
    new = next(key for state in states for key in state.pods if key not in begin.pods and key.startswith("gitlab/ci-"))
    lives = [state.pods[new] for state in states if new in state.pods]
    stages = [(bool(pod.node_name), pod.phase) for pod in lives]
    assert list(dict.fromkeys(stages)) == [(False, "Pending"), (True, "Pending"), (True, "Running")]
    assert new not in states[-1].pods


def test_new_protected_pods_are_bound_to_one_node(demo: Story) -> None:
    _, begin, states = demo
    landed = {
        pod.node_name
        for state in states
        for key, pod in state.pods.items()
        if key not in begin.pods and pod.namespace == "gitlab" and pod.node_name
    }
    assert len(landed) == 1


def test_a_claim_launches_registers_and_initializes(demo: Story) -> None:
    _, begin, states = demo
    name = next(name for state in states for name in state.nodeclaims if name not in begin.nodeclaims)
    seen = [state for state in states if name in state.nodeclaims]
    stages = []
    for state in seen:
        claim = state.nodeclaims[name]
        stages.append((bool(claim.provider_id), state.node_of(name) is not None, claim.is_true("Initialized")))
    assert list(dict.fromkeys(stages))[:4] == [
        (False, False, False),
        (True, False, False),
        (True, True, False),
        (True, True, True),
    ]
    ready = next(state for state in seen if state.nodeclaims[name].is_true("Initialized"))
    node = present(ready.node_of(name))
    assert ready.node_usage[node.name].daemonset_pods == 9
    assert node.ready is not None
    assert node.ready.status == "True"


def is_backfill(pod: Pod) -> bool:
    return pod.template.labels.get("app") == "backfill"


def test_a_nodeclaim_is_launched_for_pending_pods_which_are_bound_to_it(demo: Story) -> None:
    _, begin, states = demo
    name = next(name for state in states for name in state.nodeclaims if name not in begin.nodeclaims)
    created = next(state for state in states if name in state.nodeclaims)
    waiting = {key: pod for key, pod in created.pending_pods.items() if is_backfill(pod)}
    assert len(waiting) == 2
    assert all(pod.created_ns < created.nodeclaims[name].created_ns for pod in waiting.values())
    nominated = [event for event in created.events.values() if event.reason == "Nominated" and name in event.message]
    assert {f"{event.involved_namespace}/{event.involved_name}" for event in nominated} == set(waiting)
    bound = next(state for state in states if all(key in state.pods and state.pods[key].node_name for key in waiting))
    node = present(bound.node_of(name))
    assert {bound.pods[key].node_name for key in waiting} == {node.name}
    usage = bound.node_usage[node.name]
    assert usage.workload_pods == 2
    assert bound.nodeclaims[name].requests == usage.requests
    assert not sometime(states[-1:], lambda state: any(key in state.pods for key in waiting))


def test_a_node_is_drained_and_deleted(demo: Story) -> None:
    _, begin, states = demo
    gone = [name for name in begin.nodes if name not in states[-1].nodes]
    assert gone
    name = next(name for name in gone if not begin.nodes[name].is_deleting)
    assert sometime(states, lambda state: name in state.nodes and state.nodes[name].is_deleting)
    claim = present(begin.claim_of(name))
    assert claim.name not in states[-1].nodeclaims
    assert not states[-1].pods_on(name)


def test_evicted_pods_are_recreated_on_other_nodes(demo: Story) -> None:
    _, begin, states = demo

    def workload(state: ClusterState) -> int:
        return sum(
            not pod.template.is_daemonset_owned
            and pod.namespace != "gitlab"
            and not is_backfill(pod)
            and not pod.is_terminating
            for pod in state.pods.values()
        )

    assert workload(states[-1]) == workload(begin)


def test_only_unschedulable_pods_stay_pending(demo: Story) -> None:
    _, begin, states = demo
    stuck = [key for key in begin.pending_pods if key in states[-1].pending_pods]
    assert sorted(stuck) == sorted(begin.pending_pods)
    others = [pod for key, pod in states[-1].pending_pods.items() if key not in stuck]
    assert all(pod.created_ns > NOW_NS + 380 * SECOND_NS for pod in others)


def test_no_node_exceeds_its_allocatable(demo: Story) -> None:
    _, _, states = demo
    for state in states[::30]:
        for name, node in state.nodes.items():
            for resource, amount in state.node_usage[name].requests.items():
                assert amount.nano <= node.allocatable[resource].nano, (name, resource)


def test_the_size_of_the_cluster_stays_similar(demo: Story) -> None:
    watched, begin, states = demo
    assert all(59 <= len(state.nodes) <= 72 for state in states)
    assert all(abs(len(state.pods) - len(begin.pods)) < 60 for state in states)
    assert len(states[-1].events) < len(begin.events) + 160
    assert watched.statuses[Kind.POD].count == len(states[-1].pods)


def rows_of_pods(state: ClusterState) -> dict[str, tuple[str, str, int]]:
    """Return node, phase and creation time of every pod."""

    def row(pod: Pod) -> tuple[str, str, int]:
        return pod.node_name, pod.phase, pod.created_ns

    return {key: row(pod) for key, pod in state.pods.items()}


def test_the_cluster_depends_on_seed_and_time_but_not_on_the_steps() -> None:
    first, second = SteppedDemo(), SteppedDemo()
    first.watch(150)
    second.watch(150, step_seconds=50)
    assert rows_of_pods(first.state) == rows_of_pods(second.state)
    assert set(first.state.nodes) == set(second.state.nodes)


def test_the_demo_runs_in_a_thread_and_stops() -> None:
    source, mailbox = DemoSource(), WatchedMailbox()
    source.start(mailbox)
    mailbox.until(lambda: bool(mailbox.keys(Kind.NODE)), 90.0)
    source.stop()
    source.stop()
    assert Kind.NODE in mailbox.drain().batch.deltas


def test_a_pod_that_may_not_be_evicted_blocks_a_drain(demo: Story) -> None:
    _, begin, states = demo
    pod = begin.pods["monitoring/prometheus-2"]
    assert begin.nodes[pod.node_name].deletion_ns
    assert {state.pods[pod.key].uid for state in states} == {pod.uid}
    assert all(pod.node_name in state.nodes for state in states)


def test_a_node_without_its_gpu_is_never_initialized(demo: Story) -> None:
    _, begin, states = demo
    waits = begin.pods["ml/llm-1"].key
    label = "karpenter.sh/initialized"
    of_gpu = [claim for claim in begin.nodeclaims.values() if claim.name.startswith("gpu-")]
    lame = next(claim for claim in of_gpu if not claim.is_true("Initialized"))
    for state in states:
        assert not state.pods[waits].node_name
        assert not state.nodeclaims[lame.name].is_true("Initialized")
        assert label not in state.nodes[lame.node_name].labels
