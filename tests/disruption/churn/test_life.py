"""Lives of NodeClaims, told by objects, by what was seen to go, and by events."""

from __future__ import annotations

from karptui.disruption.churn.life import created, lives, removed
from karptui.disruption.churn.removal import Removal
from tests.builders import MINUTE_NS, a_nodeclaim, a_nodepool
from tests.disruption.churn.lives import a_leaver, ago, gone, said

POOLS = {"general": a_nodepool()}


def test_a_claim_that_stays() -> None:
    (life,) = lives((a_nodeclaim(created_ns=ago(90)),), (), (), POOLS)
    assert (life.claim, life.node, life.pool) == ("general-abcde", "node-1", "general")
    assert (life.instance_type, life.capacity_type, life.zone) == ("m5.large", "on-demand", "us-east-1a")
    assert (life.created_ns, life.removed_ns, life.why, life.lived_ns) == (ago(90), 0, None, None)


def test_a_claim_that_is_leaving_and_one_that_has_gone() -> None:
    leaving, went = a_leaver("general-b", born=40, why="Empty"), a_leaver("general-a", left=12)
    first, second = lives((leaving,), (gone(went),), (), POOLS)
    assert (first.claim, first.removed_ns, first.gone_ns, first.why) == ("general-a", ago(12), ago(9), Removal.DELETED)
    assert (second.claim, second.gone_ns, second.why) == ("general-b", 0, Removal.EMPTY)
    assert (second.commanded_ns, second.lived_ns) == (ago(11), 30 * MINUTE_NS)


def test_a_claim_that_went_between_two_looks() -> None:
    (life,) = lives((), (gone(a_nodeclaim(), minutes=5),), (), POOLS)
    assert (life.removed_ns, life.gone_ns, life.why) == (ago(5), ago(5), Removal.UNKNOWN)


def test_what_events_alone_tell() -> None:
    events = (
        said("general-new", "DisruptionLaunching", "Launching NodeClaim: Drifted", at=20, first=25),
        said("general-new", "DisruptionTerminating", "Disrupting NodeClaim: Empty", at=6, first=7),
        said("Pod/web/a", "Nominated", "Pod should schedule on: nodeclaim/general-old, node/x", at=30, first=58),
        said("Pod/web/b", "Nominated", "Pod should schedule on: nodeclaim/general-old", at=30, first=59),
        said("Pod/web/c", "Nominated", "Pod should schedule on: node/y"),
        said("general-old", "DisruptionBlocked", "Pdb prevents pod evictions", at=30, first=50),
        said("Node/node-9", "DisruptionTerminating", "Disrupting Node: Empty"),
        said("other-pool-zzzzz", "Unconsolidatable", "Can't replace", at=3),
        said("NodePool/general", "DisruptionBlocked"),
    )
    by_name = {life.claim: life for life in lives((), (), events, POOLS)}
    assert sorted(by_name) == ["general-new", "general-old", "other-pool-zzzzz"]
    new, old, other = by_name["general-new"], by_name["general-old"], by_name["other-pool-zzzzz"]
    assert (new.pool, new.created_ns, new.removed_ns) == ("general", ago(25), ago(7))
    assert (new.why, new.made_for, new.is_by_events) == (Removal.EMPTY, Removal.DRIFTED, True)
    assert (old.created_ns, old.removed_ns, old.why) == (ago(59), ago(30), Removal.UNKNOWN)
    assert (other.pool, other.created_ns, other.lived_ns) == ("", 0, None)


def test_an_event_about_a_claim_that_is_there_makes_no_second_life() -> None:
    events = (said("general-abcde", "DisruptionLaunching", "Launching NodeClaim: Underutilized"),)
    (life,) = lives((a_nodeclaim(),), (), events, POOLS)
    assert (life.made_for, life.why) == (Removal.UNDERUTILIZED, None)


def test_within_a_window() -> None:
    found = lives((a_nodeclaim(created_ns=ago(5)), a_leaver("general-b", born=90, left=20)), (), (), POOLS)
    assert [life.claim for life in created(found, ago(30))] == ["general-abcde"]
    assert [life.claim for life in removed(found, ago(30))] == ["general-b"]
    assert list(removed(found, ago(10))) == []
