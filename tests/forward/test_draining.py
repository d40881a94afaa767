from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from karptui.forward.result import StepKind
from karptui.karpenter.inventory import Inventory
from karptui.kube.objects import Condition
from tests.builders import HOUR_NS, MINUTE_NS, NOW_NS, a_condition, a_pdb, a_pod, an_owner
from tests.forward.making import a_pair, a_world, played, seconds, steps

SINCE: dict[str, Any] = {"since_ns": NOW_NS - HOUR_NS}
EVICTING = (a_condition("Drained", status="Unknown", reason="Draining", **SINCE),)
DETACHING = (a_condition("Drained", **SINCE), a_condition("VolumesDetached", status="Unknown", **SINCE))
FOR_A_WHILE = {"karpenter.sh/do-not-disrupt": "30m"}
ENDING = (a_condition("Drained"), a_condition("InstanceTerminating", **SINCE))


def leaving(*conditions: Condition, finalizers: tuple[str, ...] = (), grace_ns: int | None = None) -> Inventory:
    """Return a node whose drain began an hour ago, with a pod, and an empty node."""
    deletion_ns = NOW_NS - HOUR_NS
    (node, claim), other = a_pair("node-1", termination_grace_period_ns=grace_ns), a_pair("node-2", conditions=())
    claim = replace(claim, deletion_ns=deletion_ns, conditions=(*claim.conditions, *conditions))
    node = replace(node, deletion_ns=deletion_ns, finalizers=finalizers)
    pod = a_pod(name="a", node="node-1", cpu="100m", owner=an_owner(), created_ns=NOW_NS - 2 * HOUR_NS)
    return a_world((node, claim), other, pods=[pod])


@pytest.mark.parametrize(
    ("world", "why"),
    [
        (leaving(*EVICTING), "its pods have not been evicted"),
        (leaving(*DETACHING), "its volumes have not been detached"),
        (leaving(*ENDING), "its instance has not terminated"),
        (leaving(*ENDING, finalizers=("example.com/hold",)), "the finalizer example.com/hold has kept it"),
        (
            leaving(*ENDING, finalizers=("karpenter.sh/termination", "example.com/hold")),
            "its instance has not terminated",
        ),
    ],
    ids=["evictions", "volumes", "instance", "finalizer", "two finalizers"],
)
def test_a_drain_without_progress_for_long_stays_so(world: Inventory, why: str) -> None:
    forecast = played(world)
    assert (steps(forecast, StepKind.DRAIN), forecast.end.nodes) == ([], 2)
    assert forecast.assumptions[0] == f"node-1 stays: {why} for 60m"


def test_the_deadline_ends_a_drain_without_progress() -> None:
    for conditions, least in ((EVICTING, 30 * 60 - 30), (DETACHING, 30 * 60)):
        forecast = played(leaving(*conditions, grace_ns=90 * MINUTE_NS))
        (gone,) = steps(forecast, StepKind.DRAIN)
        assert least <= seconds(gone) <= least + 120
        assert forecast.assumptions[0].startswith("node-1 stays, until terminationGracePeriod forces its drain: its ")


@pytest.mark.parametrize("change", ["short", "recent pod", "recent budget", "elapsed do-not-disrupt"])
def test_a_drain_that_may_have_become_free_a_moment_ago_goes_on(change: str) -> None:
    world = leaving(*EVICTING)
    (pod,), (claim, other) = world.pods, world.nodeclaims
    if change == "short":
        conditions = (a_condition("Drained", status="Unknown", since_ns=NOW_NS - MINUTE_NS),)
        world = replace(world, nodeclaims=(replace(claim, conditions=conditions), other))
    elif change == "recent pod":
        world = replace(world, pods=(replace(pod, created_ns=NOW_NS - MINUTE_NS),))
    elif change == "recent budget":
        open_now = (a_condition("DisruptionAllowed", since_ns=NOW_NS - MINUTE_NS),)
        world = replace(world, pdbs=(a_pdb(allowed=1, conditions=open_now),))
    else:
        elapsed = a_pod(name="a", node="node-1", cpu="100m", owner=an_owner(), annotations=FOR_A_WHILE)
        world = replace(world, pods=(replace(elapsed, created_ns=pod.created_ns, start_ns=pod.created_ns),))
    assert len(steps(played(world), StepKind.DRAIN)) == 1
