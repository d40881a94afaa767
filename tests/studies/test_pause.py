from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from karptui.disruption.budgets import Reason
from karptui.disruption.pauses import PauseRequest
from karptui.errors import RequestError
from karptui.forward.result import StepKind
from karptui.karpenter.rules import RULES_1_14_1, RULES_1_15
from karptui.kube.timestamps import NS_PER_SECOND, format_timestamp
from karptui.kube.units import span_text
from karptui.studies.forecasts import forecast_of
from karptui.studies.pause import EventKind, Pause, PoolState, pause
from karptui.views.pause import command_lines, headline, more_lines
from karptui.whatif.edits import ObjectRef, SetField
from karptui.whatif.edits.apply import apply
from karptui.whatif.situation import WhatIfBase
from tests.builders import NOW_NS, a_pod, an_instance_type
from tests.forward.making import a_pair
from tests.whatif.edits.test_apply import POOL
from tests.whatif.snapshots import base

TYPES = (an_instance_type(name="m5.large", cpu="2", memory="8Gi", prices={"on-demand": 0.1}),)
HOUR_NS = 3600 * NS_PER_SECOND
GENERAL = PauseRequest()
ZERO = {"nodes": "0"}


def cluster(*budgets: dict[str, Any], settings: dict[str, str] | None = None, **metadata: Any) -> WhatIfBase:
    """Return an empty node, two whose pods fit on one, and one that expires in half an hour."""
    spec = {**POOL["spec"], "disruption": {"consolidateAfter": "30s", "budgets": list(budgets) or [{"nodes": "100%"}]}}
    pool = {**POOL, "metadata": {**POOL["metadata"], **metadata}, "spec": spec}
    old = a_pair(
        "d", expire_after_ns=HOUR_NS + HOUR_NS // 2, termination_grace_period_ns=HOUR_NS, created_ns=NOW_NS - HOUR_NS
    )
    nodes, claims = zip(*(*(a_pair(name) for name in ("a", "b", "c")), old), strict=True)
    pods = (
        a_pod(name="x", node="b", cpu="500m"),
        a_pod(name="y", node="c", cpu="500m"),
        a_pod(name="z", node="d", cpu="1500m"),
    )
    return base(pool, types=TYPES, nodes=tuple(nodes), nodeclaims=tuple(claims), pods=pods, settings=settings)


def removals(result: Pause, kind: EventKind) -> list[tuple[str, ...]]:
    return [event.nodes for event in result.events if event.kind is kind]


def test_a_pause_blocks_only_voluntary_disruption() -> None:
    on = cluster()
    result = pause(on, PauseRequest(until="1h"), horizon_ns=HOUR_NS)
    assert removals(result, EventKind.EXPIRES) == [("d",)]
    (expired,) = (event for event in result.events if event.kind is EventKind.EXPIRES)
    assert expired.at_ns == NOW_NS + HOUR_NS // 2
    assert expired.forced_ns == expired.at_ns + HOUR_NS
    assert removals(result, EventKind.NOT_PAUSED) == []
    assert {name for nodes in removals(result, EventKind.RELEASED) for name in nodes} >= {"a"}
    assert all(event.at_ns >= NOW_NS + HOUR_NS for event in result.released)
    assert result.dollars is not None
    assert result.dollars == pytest.approx(0.15, abs=0.005)  # two nodes for half an hour, then one
    assert result.dollars_per_hour == pytest.approx(result.dollars)


def test_the_budgets_of_a_pause() -> None:
    on = cluster({"nodes": "2"}, {"nodes": "0", "schedule": "0 20 * * *", "duration": "1h"})
    result = pause(on, PauseRequest(until="1h"), horizon_ns=HOUR_NS)
    (changed,) = result.pools
    assert changed.budgets[:2] == ({"nodes": "2"}, {"nodes": "0", "schedule": "0 20 * * *", "duration": "1h"})
    written = SetField(ObjectRef("NodePool", changed.name), ("spec", "disruption", "budgets"), list(changed.budgets))
    played = forecast_of(on, apply(on, (written,))).play(horizon_ns=2 * HOUR_NS)
    assert [(step.at_ns, step.nodes) for step in played.steps] == [(s.at_ns, s.nodes) for s in result.changed.steps]
    result = pause(cluster(), PauseRequest(reasons=(Reason.UNDERUTILIZED,)), horizon_ns=HOUR_NS)
    assert result.pools[0].budgets[-1] == {"nodes": "0", "reasons": ["Underutilized"]}
    # Disruption for other reasons continues, and the assumed end of the pause is after the horizon.
    assert removals(result, EventKind.NOT_PAUSED) == [("a",)]
    assert result.released_ns == NOW_NS + HOUR_NS
    assert "(assumed)" in "\n".join(more_lines(result))


def test_the_end_of_a_pause_releases_the_blocked_nodes() -> None:
    result = pause(cluster({"nodes": "100%"}, ZERO), PauseRequest(is_release=True), horizon_ns=HOUR_NS)
    (changed,) = result.pools
    assert changed.budgets == ({"nodes": "100%"},)
    assert [op["op"] for op in changed.patch] == ["test", "remove"]
    assert ("a",) in removals(result, EventKind.RELEASED)
    assert not [step for step in result.as_is.steps if step.kind is StepKind.DISRUPT]
    assert result.dollars_per_hour == pytest.approx(0.1)
    assert result.disrupted_otherwise == 0
    gone_ns = max(event.gone_ns or 0 for event in result.released)
    assert NOW_NS < gone_ns < result.changed.until_ns
    assert f" within {span_text(gone_ns - NOW_NS)}, the first at " in "\n".join(more_lines(result))


def test_the_last_budget_is_not_removed_without_another() -> None:
    result = pause(cluster(ZERO), PauseRequest(is_release=True), horizon_ns=HOUR_NS)
    (changed,) = result.pools
    assert changed.budgets == ({"nodes": "10%"},)
    assert "disruption would have no limit" in "\n".join(more_lines(result))


def test_pools_with_their_own_budgets() -> None:
    window = {"nodes": "0", "schedule": "0 9 * * mon-fri", "duration": "8h"}
    result = pause(cluster({"nodes": "1"}, window, ZERO), PauseRequest(is_release=True), horizon_ns=HOUR_NS)
    (changed,) = result.pools
    assert changed.budgets == ({"nodes": "1"}, window)
    assert not result.released
    assert "stays closed by budget 2 (0 nodes, recurring window 0 9 * * mon-fri for 8h, until 17:00:00Z)" in "\n".join(
        more_lines(result)
    )
    alone = pause(cluster({"nodes": "1"}, window), PauseRequest(is_release=True), horizon_ns=HOUR_NS)
    assert alone.pools[0].state is PoolState.NOT_PAUSED
    for request in (PauseRequest(), PauseRequest(until="2h"), PauseRequest(reasons=(Reason.EMPTY,))):
        result = pause(cluster(ZERO), request, horizon_ns=HOUR_NS)
        assert result.pools[0].state is PoolState.ALREADY
        assert headline(result).startswith("nothing to pause")
    half = pause(cluster({**ZERO, "reasons": ["Empty"]}), PauseRequest(until="1h"), horizon_ns=HOUR_NS)
    assert half.pools[0].state is PoolState.CHANGED
    result = pause(cluster({"nodes": "1", "schedule": "0 0 * * 7", "duration": "1h"}), GENERAL, horizon_ns=HOUR_NS)
    assert result.pools[0].state is PoolState.UNREADABLE
    assert "disrupts none of its nodes anyway" in "\n".join(more_lines(result))


def test_a_pause_of_all_reasons_does_not_stop_node_repair() -> None:
    first = cluster(settings={"FEATURE_GATES": "NodeRepair=true"})
    assert first.settings.rules is RULES_1_15
    result = pause(first, PauseRequest(until="1h"), horizon_ns=HOUR_NS)
    assert result.pools[0].budgets[-1]["reasons"] == ["Empty", "Drifted", "Underutilized"]
    assert "would stop node repair too" in "\n".join(more_lines(result))
    settings = replace(first.settings, rules=RULES_1_14_1)
    on = WhatIfBase(first.inventory, first.types_for, settings, first.now_ns)
    older = pause(on, PauseRequest(until="1h"), horizon_ns=HOUR_NS)
    assert "reasons" not in older.pools[0].budgets[-1]


def test_owners_in_git_get_a_manifest_instead_of_a_command() -> None:
    labels = {"kustomize.toolkit.fluxcd.io/name": "infra", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}
    result = pause(cluster(labels=labels), PauseRequest(until="1h"), horizon_ns=HOUR_NS)
    assert "Flux Kustomization flux-system/infra applies it" in "\n".join(more_lines(result))
    text = "\n".join(command_lines(result))
    assert "kubectl" not in text
    assert "duration: 1h" in text
    plain = "\n".join(command_lines(pause(cluster(), PauseRequest(until="1h"), horizon_ns=HOUR_NS), "prod"))
    assert plain.startswith('kubectl --context prod patch nodepools.karpenter.sh general --type=json -p \'[{"op":"add"')


@pytest.mark.parametrize(("request_", "says"), [
    (PauseRequest(pools=("none",)), "there is no NodePool none; there are general"),
    (PauseRequest(until="soon"), "'soon' is not a duration"),
    (PauseRequest(until=format_timestamp(NOW_NS - HOUR_NS)), "is not in the future"),
    (PauseRequest(until="800h"), "is more than 31 days away"),
])  # fmt: skip
def test_invalid_pauses_are_refused(request_: PauseRequest, says: str) -> None:
    with pytest.raises(RequestError, match=says):
        pause(cluster(), request_)
