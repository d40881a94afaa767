"""The analyst asks the rules in its thread, and rests between."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from msgspec.structs import replace

from karptui.session.analyst import Analyst, Focus
from karptui.session.cluster_view import ClusterView
from karptui.state.inventory import state_of
from tests import story_e, traps
from tests.builders import NOW_NS, SECOND_NS

PATIENCE_SECONDS = 30.0


def wait_for(is_so: Callable[[], bool]) -> bool:
    pause, until = threading.Event(), time.monotonic() + PATIENCE_SECONDS
    while not is_so() and time.monotonic() < until:
        pause.wait(0.01)
    return is_so()


def test_rules_are_asked_without_being_asked_for() -> None:
    analyst = Analyst()
    assert analyst.advice is None
    analyst.submit(traps.view(), NOW_NS)
    assert wait_for(lambda: analyst.advice is not None)
    report = analyst.advice
    assert report is not None
    assert "pod-several-pdbs" in {one.rule for one in report.findings}
    assert report.failures == ()
    analyst.stop()


def test_nodepools_without_nodes_are_looked_at_when_somebody_asks() -> None:
    bare = replace(traps.inventory(), nodes=(), nodeclaims=(), pods=())
    view = ClusterView(state_of(bare), dict(traps.statuses()), evidence=story_e.evidence())
    analyst = Analyst()
    analyst.submit(view, NOW_NS)
    assert analyst._thread is None
    analyst.look_at(Focus(wants_advice=True))
    analyst.submit(view, NOW_NS + SECOND_NS)
    assert wait_for(lambda: analyst.advice is not None)
    assert {one.rule for one in analyst.advice.findings} >= {"pool-wildcard-value", "pool-limit-below-type"}  # type: ignore[union-attr]
    analyst.stop()
