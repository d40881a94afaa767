from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from karptui.disruption.churn.life import Removal, alive, command_reason, lives, why_by_events, why_removed
from karptui.karpenter.labels import TERMINATION_TIMESTAMP
from karptui.kube.objects import Event
from karptui.kube.timestamps import format_timestamp
from tests.builders import HOUR_NS, MINUTE_NS, a_nodeclaim, a_nodepool
from tests.disruption.churn.lives import a_leaver, ago, event_at, gone

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
        (a_leaver(), POOL, (event_at("general-a", "SpotInterrupted"),), Removal.INTERRUPTED),
        (a_leaver(), POOL, (event_at("Node/node-general-a", "TerminatingOnInterruption"),), Removal.INTERRUPTED),
        (a_leaver(), POOL, (event_at("Node/node-general-a", "InstanceTerminating"),), Removal.DELETED),
        (a_leaver(), POOL, (event_at("Node/another", "DisruptionBlocked"),), Removal.DELETED),
        (a_leaver(), POOL, (), Removal.DELETED),
        (a_leaver(), None, (), Removal.POOL_DELETED),
        (a_leaver(), a_nodepool(replicas=2), (), Removal.SCALED_DOWN),
        (a_leaver(stage=""), POOL, (), Removal.LAUNCH_FAILED),
        (a_leaver(stage="Launched"), POOL, (), Removal.NEVER_REGISTERED),
        # Last seen before its deletion: only the event shows the command.
        (
            replace(a_leaver(), deletion_ns=0),
            POOL,
            (event_at("general-a", "DisruptionTerminating", "Disrupting NodeClaim: Drifted"),),
            Removal.DRIFTED,
        ),
        (replace(a_leaver(), deletion_ns=0), POOL, (), Removal.UNKNOWN),
    ],
)
def test_reasons_of_removals(claim: Any, pool: Any, events: tuple[Event, ...], why: Removal) -> None:
    assert why_removed(claim, pool, events) is why


@pytest.mark.parametrize(("events", "why"), [
    ((), Removal.UNKNOWN),
    ((event_at("a", "DisruptionBlocked", "Pod has annotation"),), Removal.UNKNOWN),
    ((event_at("a", "DisruptionTerminating", "Disrupting NodeClaim: Empty"),), Removal.EMPTY),
    ((event_at("a", "DisruptionTerminating", "in other words"),), Removal.UNKNOWN),
    ((event_at("a", "TerminatingOnInterruption"),), Removal.INTERRUPTED),
    ((event_at("a", "InsufficientCapacityError"),), Removal.LAUNCH_FAILED),
])  # fmt: skip
def test_removal_reason_from_events(events: tuple[Event, ...], why: Removal) -> None:
    assert why_by_events(events) is why


@pytest.mark.parametrize(("message", "reason"), [
    ("Disrupting Node: Underutilized", Removal.UNDERUTILIZED),
    ("Launching NodeClaim: Drifted", Removal.DRIFTED),
    ("Launching NodeClaim: Something", None),
    ("Waiting on readiness to continue disruption", None),
])  # fmt: skip
def test_removal_reason_from_messages(message: str, reason: Removal | None) -> None:
    assert command_reason(message) is reason


POOLS = {"general": a_nodepool()}


def test_lives_of_a_deleting_and_of_a_deleted_claim() -> None:
    leaving, went = a_leaver("general-b", born=40, why="Empty"), a_leaver("general-a", left=12)
    first, second = lives((leaving,), (gone(went),), (), POOLS)
    assert (first.claim, first.removed_ns, first.gone_ns, first.why) == ("general-a", ago(12), ago(9), Removal.DELETED)
    assert (second.claim, second.gone_ns, second.why) == ("general-b", 0, Removal.EMPTY)
    assert (second.commanded_ns, second.lived_ns) == (ago(11), 30 * MINUTE_NS)


def test_lives_known_only_from_events() -> None:
    events = (
        event_at("general-new", "DisruptionLaunching", "Launching NodeClaim: Drifted", at=20, first=25),
        event_at("general-new", "DisruptionTerminating", "Disrupting NodeClaim: Empty", at=6, first=7),
        event_at("Pod/web/a", "Nominated", "Pod should schedule on: nodeclaim/general-old, node/x", at=30, first=58),
        event_at("Pod/web/b", "Nominated", "Pod should schedule on: nodeclaim/general-old", at=30, first=59),
        event_at("Pod/web/c", "Nominated", "Pod should schedule on: node/y"),
        event_at("general-old", "DisruptionBlocked", "Pdb prevents pod evictions", at=30, first=50),
        event_at("Node/node-9", "DisruptionTerminating", "Disrupting Node: Empty"),
        event_at("other-pool-zzzzz", "Unconsolidatable", "Can't replace", at=3),
        event_at("NodePool/general", "DisruptionBlocked"),
    )
    by_name = {life.claim: life for life in lives((), (), events, POOLS)}
    assert sorted(by_name) == ["general-new", "general-old", "other-pool-zzzzz"]
    new, old, other = by_name["general-new"], by_name["general-old"], by_name["other-pool-zzzzz"]
    assert (new.pool, new.created_ns, new.removed_ns) == ("general", ago(25), ago(7))
    assert (new.why, new.made_for, new.is_by_events) == (Removal.EMPTY, Removal.DRIFTED, True)
    assert (old.created_ns, old.removed_ns, old.why) == (ago(59), ago(30), Removal.UNKNOWN)
    assert (other.pool, other.created_ns, other.lived_ns) == ("", 0, None)


def test_an_event_about_an_existing_claim_is_not_counted_twice() -> None:
    events = (event_at("general-abcde", "DisruptionLaunching", "Launching NodeClaim: Underutilized"),)
    (life,) = lives((a_nodeclaim(),), (), events, POOLS)
    assert (life.made_for, life.why) == (Removal.UNDERUTILIZED, None)


def test_unlaunched_claims_do_not_count_from_the_start_of_the_window() -> None:
    events = (
        event_at("general-refused", "InsufficientCapacityError", "NodeClaim general-refused event: …", at=20),
        event_at("general-replaced", "DisruptionTerminating", "Disrupting NodeClaim: Empty", at=18),
    )
    counts = alive(lives((), (), events, POOLS), ago(30), ago(0))
    assert counts == (None,) * 5 + (1, 1, 1, 0, 0, 0, 0)
