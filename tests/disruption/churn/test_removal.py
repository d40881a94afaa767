"""Why NodeClaims went."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from karptui.disruption.churn.removal import Removal, command_reason, why_removed, why_said
from karptui.karpenter.labels import TERMINATION_TIMESTAMP
from karptui.kube.event import Event
from karptui.kube.timestamps import format_timestamp
from tests.builders import HOUR_NS, MINUTE_NS, a_nodepool
from tests.disruption.churn.lives import a_leaver, ago, said

POOL = a_nodepool()
AT_ONCE = {TERMINATION_TIMESTAMP: format_timestamp(ago(10))}


@pytest.mark.parametrize(
    ("claim", "pool", "events", "why"),
    [
        (a_leaver(why="Underutilized"), POOL, (), Removal.UNDERUTILIZED),
        (a_leaver(why="Empty"), POOL, (), Removal.EMPTY),
        (a_leaver(why="Drifted"), None, (), Removal.DRIFTED),
        (a_leaver(expire_after_ns=50 * MINUTE_NS), POOL, (), Removal.EXPIRED),
        (a_leaver(annotations=AT_ONCE, termination_grace_period_ns=HOUR_NS), POOL, (), Removal.REPAIRED),
        (a_leaver(), POOL, (said("general-a", "SpotInterrupted"),), Removal.INTERRUPTED),
        (a_leaver(), POOL, (said("Node/node-general-a", "InstanceStopping"),), Removal.INTERRUPTED),
        (a_leaver(), POOL, (said("Node/another", "DisruptionBlocked"),), Removal.DELETED),
        (a_leaver(), POOL, (), Removal.DELETED),
        (a_leaver(), None, (), Removal.POOL_DELETED),
        (a_leaver(), a_nodepool(replicas=2), (), Removal.SCALED_DOWN),
        (a_leaver(stage=""), POOL, (), Removal.LAUNCH_FAILED),
        (a_leaver(stage="Launched"), POOL, (), Removal.NEVER_REGISTERED),
        # Seen last before its deletion began: only the event tells of the command.
        (
            replace(a_leaver(), deletion_ns=0),
            POOL,
            (said("general-a", "DisruptionTerminating", "Disrupting NodeClaim: Drifted"),),
            Removal.DRIFTED,
        ),
        (replace(a_leaver(), deletion_ns=0), POOL, (), Removal.UNKNOWN),
    ],
)
def test_why(claim: Any, pool: Any, events: tuple[Event, ...], why: Removal) -> None:
    assert why_removed(claim, pool, events) is why


@pytest.mark.parametrize(
    ("events", "why"),
    [
        ((), Removal.UNKNOWN),
        ((said("a", "DisruptionBlocked", "Pod has annotation"),), Removal.UNKNOWN),
        ((said("a", "DisruptionTerminating", "Disrupting NodeClaim: Empty"),), Removal.EMPTY),
        ((said("a", "DisruptionTerminating", "in other words"),), Removal.UNKNOWN),
        ((said("a", "TerminatingOnInterruption"),), Removal.INTERRUPTED),
        ((said("a", "InsufficientCapacityError"),), Removal.LAUNCH_FAILED),
    ],
)
def test_what_events_say(events: tuple[Event, ...], why: Removal) -> None:
    assert why_said(events) is why


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("Disrupting Node: Underutilized", Removal.UNDERUTILIZED),
        ("Launching NodeClaim: Drifted", Removal.DRIFTED),
        ("Launching NodeClaim: Something", None),
        ("Waiting on readiness to continue disruption", None),
    ],
)
def test_reasons_in_messages(message: str, reason: Removal | None) -> None:
    assert command_reason(message) is reason
