"""Clusters for the rules about churn."""

from __future__ import annotations

from functools import partial
from typing import Any

from msgspec.structs import replace

from karptui.karpenter.inventory import Inventory
from karptui.kube.objects import Event
from tests.advice.asking import Case, quiet
from tests.builders import a_nodepool, a_pod, an_inventory, an_owner
from tests.disruption.churn.lives import event_at


def came_and_went(number: int, born: float, left: float, why: str = "Underutilized") -> tuple[Event, ...]:
    """Return events about a NodeClaim of NodePool general."""
    name = f"general-{'bcdfghjk'[number] * 5}"
    return (
        event_at(name, "DisruptionLaunching", "Launching NodeClaim: Drifted", at=born),
        event_at(name, "DisruptionTerminating", f"Disrupting NodeClaim: {why}", at=left),
    )


def rounds(*events: tuple[Event, ...], **pool: Any) -> Inventory:
    return an_inventory(nodepools=(a_nodepool(**pool),), events=sum(events, ()))


SHORT = (came_and_went(0, 58, 50), came_and_went(1, 40, 31), came_and_went(2, 20, 10))
FAILED = tuple(
    (event_at(f"general-{letter * 5}", "InsufficientCapacityError", "no capacity", at=5),) for letter in "bcd"
)


def evicted(number: int, at: int) -> Event:
    event = event_at(f"Pod/default/web-{number}", "Evicted", "Evicted pod: Drifted", at=at)
    return replace(event, involved_uid=f"u{number}")


def moved(pods: int, *, name: str = "web", count: int = 4, every: int = 3) -> Inventory:
    events = tuple(evicted(n, every * n) for n in range(1, count + 1))
    result = tuple(a_pod(name=f"{name}-now{n}", node="node-1", owner=an_owner(name=name)) for n in range(pods))
    return an_inventory(nodes=1, pods=result, events=events)


CASES = [
    Case(
        "pool-churn-loop",
        partial(rounds, *SHORT, consolidate_after_ns=0),
        ("removed 3 nodes of general within 30m of their creation", "(Underutilized 3); half of them lived at most 9m"),
    ),
    Case(
        "pool-churn-loop",
        partial(rounds, *(came_and_went(n, 50 - n, 40 - n, "Drifted") for n in range(3))),
        ("(Drifted 3)",),
        name="drift",
    ),
    Case(
        "pool-churn-loop",
        lambda: replace(rounds(*FAILED), pods=(a_pod(),)),
        ("3 NodeClaims of general were deleted", "without becoming nodes (LaunchFailed 3)"),
        name="failed",
    ),
    *quiet(
        "pool-churn-loop",
        partial(rounds, *SHORT[:2]),
        partial(rounds, *FAILED),
        partial(rounds, *SHORT, name="other"),
        partial(rounds, *(came_and_went(n, 59, 10 - n) for n in range(3))),
        an_inventory,
    ),
    *quiet("pool-churn-loop", partial(rounds, *SHORT), hidden=frozenset({"NodeClaim"})),
    Case(
        "pod-moved-often",
        partial(moved, 2),
        ("Pods of ReplicaSet default/web had to move 4 times between 11:48Z and 11:57Z", "it has 2 pods"),
    ),
    *quiet(
        "pod-moved-often",
        partial(moved, 3),
        partial(moved, 1, count=2),
        partial(moved, 2, every=1),
        partial(moved, 1, name="others"),
        partial(rounds, *SHORT),
    ),
    *quiet("pod-moved-often", partial(moved, 2), hidden=frozenset({"NodeClaim"})),
]
