from __future__ import annotations

from karptui.forward.draining import DrainedNode, KubectlDrain
from karptui.forward.durations import Durations
from karptui.forward.play import Play
from karptui.forward.result import StepKind
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.settings import Settings
from karptui.kube.node import UNSCHEDULABLE_TAINT
from tests.builders import HOUR_NS, NOW_NS, SECOND_NS, a_node, a_pdb, a_pod
from tests.forward.making import TYPES, a_pair, a_world, seconds, steps

GROUP = ("group-1", "group-2")


def a_group(*pods: object, **objects: object) -> Inventory:
    """Return a node of Karpenter that is half full, and two of a group."""
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


def test_all_nodes_are_cordoned_and_one_is_emptied_after_the_other() -> None:
    play, drain = drained(
        a_group(a_pod(name="a", node="group-1", cpu="1800m"), a_pod(name="b", node="group-2", cpu="500m"))
    )
    assert all(UNSCHEDULABLE_TAINT in play.world.nodes[name].taints for name in GROUP)
    forecast = play.run()
    assert [times(node) for node in drain.nodes] == [(0, 30, 60), (30, 60, 90)]
    (step,) = steps(forecast, StepKind.PROVISION)
    assert seconds(step) == 1  # the first pod has no place beside what is there: a node comes for it
    assert forecast.end.pending == 0
    assert not play.world.nodes.keys() & set(GROUP)


def test_refused_evictions_are_tried_again_every_five_seconds() -> None:
    pods = [a_pod(name=f"web-{name}", node=name, cpu="400m", labels={"app": "web"}) for name in GROUP]
    budget = a_pdb(name="web", labels={"app": "web"}, allowed=1)
    play, drain = drained(a_group(*pods, pdbs=[budget]), at_once=2)
    play.run()
    (held,) = drain.held
    assert (held.pod, held.node, held.budgets) == ("default/web-group-2", "group-2", ("default/web",))
    # The first is ready elsewhere after ten seconds; the second goes with the next try.
    assert held.until_ns is not None
    assert (held.until_ns - held.from_ns) / SECOND_NS == 10
    assert [times(node)[1] for node in drain.nodes] == [30, 40]
    pod = a_pod(name="web", node="group-1", cpu="400m", labels={"app": "web"})
    play, drain = drained(a_group(pod, pdbs=[a_pdb(name="web", labels={"app": "web"}, allowed=0)]))
    play.run()
    assert [times(node) for node in drain.nodes] == [(0, None, None), (None, None, None)]
    assert [(pod.pod, pod.until_ns) for pod in drain.held] == [("default/web", None)]


def test_daemonsets_and_ended_pods_are_not_waited_for_and_do_not_disrupt_is_not_heeded() -> None:
    pods = (
        a_pod(name="agent", node="group-1", daemonset="agent", cpu="10m"),
        a_pod(name="done", node="group-1", phase="Succeeded", cpu="10m"),
        a_pod(name="stays", node="group-2", cpu="10m", annotations={"karpenter.sh/do-not-disrupt": "true"}),
    )
    play, drain = drained(a_group(*pods))
    play.run()
    assert [times(node) for node in drain.nodes] == [(0, 0, 30), (0, 30, 60)]
