from __future__ import annotations

import msgspec
import pytest

from karptui.forward.draining import DrainedNode, KubectlDrain
from karptui.forward.durations import Durations, kind_of
from karptui.forward.play import Play
from karptui.forward.result import StepKind
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.settings import Settings
from karptui.kube.objects import UNSCHEDULABLE_TAINT
from karptui.kube.pod import Pod
from karptui.kube.timestamps import NS_PER_SECOND
from tests.builders import HOUR_NS, MINUTE_NS, NOW_NS, SECOND_NS, a_node, a_pdb, a_pod, an_owner
from tests.forward.making import TYPES, a_pair, a_world, played, seconds, steps

GROUP = ("group-1", "group-2")


def a_job_pod(job: str, *, started_ns: int, ended_ns: int = 0, node: str = "node-1") -> Pod:
    pod = a_pod(name=f"{job}-x2k4p", node=node, cpu="1800m", owner=an_owner(kind="Job", name=job))
    phase = "Succeeded" if ended_ns else "Running"
    return msgspec.structs.replace(pod, start_ns=started_ns, ended_ns=ended_ns, phase=phase, ready=not ended_ns)


def ended(*minutes: int) -> list[Pod]:
    start_ns = NOW_NS - 10 * HOUR_NS
    return [
        a_job_pod(f"etl-2991{i}", started_ns=start_ns, ended_ns=start_ns + took * MINUTE_NS)
        for i, took in enumerate(minutes)
    ]


@pytest.mark.parametrize(
    ("job", "kind"),
    [("etl-29919555gd", "etl"), ("ci-4709", "ci"), ("load-test-2-77ab1", "load-test"), ("migrate", "migrate")],
)
def test_the_kind_of_a_job_is_its_name_without_the_generated_end(job: str, kind: str) -> None:
    assert kind_of(a_job_pod(job, started_ns=NOW_NS)) == f"default/{kind}"


def test_a_job_pod_ends_after_the_median_duration_of_its_kind_and_frees_its_node() -> None:
    running = a_job_pod("etl-29955", started_ns=NOW_NS - 5 * MINUTE_NS)
    forecast = played(a_world(a_pair("node-1"), pods=[*ended(10, 20, 60), running]))
    (ends,) = steps(forecast, StepKind.JOB_ENDS)
    assert (seconds(ends), ends.pods, ends.nodes) == (15 * 60, ("default/etl-29955-x2k4p",), ("node-1",))
    (deleted,) = steps(forecast, StepKind.DISRUPT)
    assert (deleted.method, deleted.evictions) == ("Emptiness", 0)
    assert deleted.at_ns > ends.at_ns
    assert forecast.end.nodes == 0
    assert any("default/etl 20m" in assumption for assumption in forecast.assumptions)
    assert not any("Jobs" in text for text in forecast.not_modelled)


def test_an_evicted_job_pod_starts_from_the_beginning() -> None:
    running = a_job_pod("etl-29955", started_ns=NOW_NS - 5 * MINUTE_NS)
    pair = a_pair("node-1", expire_after_ns=HOUR_NS + 60 * NS_PER_SECOND)
    forecast = played(a_world(pair, pods=[*ended(10, 20, 60), running]))
    (ends,) = steps(forecast, StepKind.JOB_ENDS)
    bound = steps(forecast, StepKind.BIND)[-1]
    assert ends.at_ns == bound.at_ns + 10 * NS_PER_SECOND + 20 * MINUTE_NS


def test_job_pods_of_unknown_duration_run_to_the_end_and_are_listed_as_not_modelled() -> None:
    running = a_job_pod("etl-29955", started_ns=NOW_NS)
    forecast = played(a_world(a_pair("node-1"), pods=[*ended(10, 20), running]))
    assert forecast.steps == ()
    text = "1 pod of Jobs runs to the end of the forecast: their durations are not known"
    assert forecast.not_modelled[0] == text


def a_group(*pods: object, **objects: object) -> Inventory:
    """Return a half-full node of Karpenter and two nodes of a node group."""
    world = a_world(a_pair("node-1"), pods=[a_pod(name="kept", node="node-1", cpu="1"), *pods], **objects)
    nodes = (*world.nodes, *(a_node(name=name, pool="", cpu="2", memory="8Gi") for name in GROUP))
    return Inventory(
        nodes=nodes, nodeclaims=world.nodeclaims, nodepools=world.nodepools, pods=world.pods, pdbs=world.pdbs
    )


def drained(inventory: Inventory, at_once: int = 1) -> tuple[Play, KubectlDrain]:
    play = Play(inventory, TYPES, Settings(), NOW_NS, until_ns=NOW_NS + HOUR_NS, durations=Durations(nomination_ns=0))
    return play, play.drain_by_hand(GROUP, at_once)


def times(node: DrainedNode) -> tuple[float | None, ...]:
    return tuple(
        None if at_ns is None else (at_ns - NOW_NS) / SECOND_NS for at_ns in (node.from_ns, node.empty_ns, node.gone_ns)
    )


def test_all_nodes_are_cordoned_and_then_drained_one_after_the_other() -> None:
    play, drain = drained(
        a_group(a_pod(name="a", node="group-1", cpu="1800m"), a_pod(name="b", node="group-2", cpu="500m"))
    )
    assert all(UNSCHEDULABLE_TAINT in play.world.nodes[name].taints for name in GROUP)
    forecast = play.run()
    assert [times(node) for node in drain.nodes] == [(0, 30, 60), (30, 60, 90)]
    (step,) = steps(forecast, StepKind.PROVISION)
    assert seconds(step) == 1  # the first pod fits on no node, so a new one is launched
    assert forecast.end.pending == 0
    assert not play.world.nodes.keys() & set(GROUP)


def test_refused_evictions_are_tried_again_every_five_seconds() -> None:
    pods = [a_pod(name=f"web-{name}", node=name, cpu="400m", labels={"app": "web"}) for name in GROUP]
    budget = a_pdb(name="web", labels={"app": "web"}, allowed=1)
    play, drain = drained(a_group(*pods, pdbs=[budget]), at_once=2)
    play.run()
    (held,) = drain.held
    assert (held.pod, held.node, held.budgets) == ("default/web-group-2", "group-2", ("default/web",))
    # The first pod is ready elsewhere after ten seconds. The second is evicted at the next try.
    assert held.until_ns is not None
    assert (held.until_ns - held.from_ns) / SECOND_NS == 10
    assert [times(node)[1] for node in drain.nodes] == [30, 40]
    pod = a_pod(name="web", node="group-1", cpu="400m", labels={"app": "web"})
    play, drain = drained(a_group(pod, pdbs=[a_pdb(name="web", labels={"app": "web"}, allowed=0)]))
    play.run()
    assert [times(node) for node in drain.nodes] == [(0, None, None), (None, None, None)]
    assert [(pod.pod, pod.until_ns) for pod in drain.held] == [("default/web", None)]


def test_a_drain_by_hand_skips_daemonset_and_ended_pods_and_ignores_do_not_disrupt() -> None:
    pods = (
        a_pod(name="agent", node="group-1", daemonset="agent", cpu="10m"),
        a_pod(name="done", node="group-1", phase="Succeeded", cpu="10m"),
        a_pod(name="stays", node="group-2", cpu="10m", annotations={"karpenter.sh/do-not-disrupt": "true"}),
    )
    play, drain = drained(a_group(*pods))
    play.run()
    assert [times(node) for node in drain.nodes] == [(0, 0, 30), (0, 30, 60)]
