from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from karptui.errors import RequestError
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.studies import policies
from karptui.studies.policies import Comparison, PolicyOutcome, Worth, compare
from karptui.views.values import TABLE, headline, more_lines, name_of, sentence, story_lines
from karptui.whatif.edits import SetSetting
from karptui.whatif.situation import WhatIfBase
from tests.builders import a_pod, an_instance_type
from tests.forward.making import a_pair
from tests.whatif.edits.test_apply import POOL
from tests.whatif.snapshots import base

TYPES = (an_instance_type(name="m5.large", cpu="2", memory="8Gi", prices={"on-demand": 0.1}),)
HOUR_NS = 3600 * NS_PER_SECOND
OPEN: dict[str, Any] = {"consolidateAfter": "30s", "budgets": [{"nodes": "100%"}]}


def cluster(**disruption: Any) -> WhatIfBase:
    """Return an empty node, and two whose pods fit on one."""
    pool = {**POOL, "spec": {**POOL["spec"], "disruption": {**OPEN, **disruption}}}
    static = {**pool, "metadata": {"name": "static"}, "spec": {**pool["spec"], "replicas": 0, "weight": None}}
    static["spec"] = {key: value for key, value in static["spec"].items() if value is not None}
    nodes, claims = zip(*(a_pair(name) for name in ("a", "b", "c")), strict=True)
    pods = (a_pod(name="x", node="b", cpu="500m"), a_pod(name="y", node="c", cpu="500m"))
    return base(pool, static, types=TYPES, nodes=tuple(nodes), nodeclaims=tuple(claims), pods=pods)


def figures(comparison: Comparison) -> dict[str, tuple[int, int]]:
    return {name_of(outcome): (outcome.nodes, outcome.evictions) for outcome in comparison.outcomes}


def test_costs_are_summed_up_to_the_horizon() -> None:
    never, empty = compare(cluster(), policies=("WhenEmpty",), afters=("Never", "0s"), horizon_ns=HOUR_NS).outcomes[1:]
    assert never.dollars == pytest.approx(0.3)
    assert never.saved == pytest.approx(0)
    gone_after = 45  # validated after 15 s, and the instance is terminated 30 s later
    assert empty.saved == pytest.approx(0.1 * (3600 - gone_after) / 3600, abs=0.001)
    assert empty.seconds == 15


@pytest.mark.parametrize(("text", "tried"), [
    ("5m0s", ("0s", "5m", "1h")),
    ("3600s", ("0s", "5m", "1h")),
    ("90m", ("0s", "5m", "1h", "1h30m")),
    ("10s", ("0s", "10s", "5m", "1h")),
    ("1m30s", ("0s", "1m30s", "5m", "1h")),
])  # fmt: skip
def test_a_current_consolidate_after_is_tried_once_in_its_usual_notation(text: str, tried: tuple[str, ...]) -> None:
    assert policies.tried_afters(cluster(consolidateAfter=text).inventory.nodepools[:1]) == tried


def test_worthwhile_policies_are_named() -> None:
    comparison = compare(cluster(consolidateAfter="Never"), afters=("0s",), horizon_ns=HOUR_NS)
    answer = headline(comparison)
    assert answer == (
        "Recommended: WhenEmpty 0s saves $0.10, with 0 evictions; "
        "without a change consolidation saves nothing within 60m, with 0 evictions; "
        "the highest savings: WhenEmptyOrUnderutilized 0s saves $0.20, with 1 eviction"
    )
    assert list(more_lines(comparison)) == ["today: general WhenEmptyOrUnderutilized Never"]
    same = compare(cluster(consolidateAfter="0s"), policies=("WhenEmptyOrUnderutilized",), afters=("0s",))
    assert headline(same).startswith("Recommended: no change, because nothing else saves more without more evictions; ")
    best = comparison.outcomes[1]
    assert sentence(best) == "WhenEmpty 0s saves $0.10 with 1 command and 0 evictions; 2 nodes and $0.20/h at the end"
    assert list(story_lines(best)) == ["the last command comes after 15s"]
    assert [column.cell(best, 0).text for column in TABLE.columns][:4] == ["WhenEmpty", "0s", "$0.10", "-"]


def test_only_consolidated_nodepools_are_edited() -> None:
    on = cluster()
    assert [name for name, _, _ in compare(on, policies=("WhenEmpty",), afters=("0s",)).pools] == ["general"]
    with pytest.raises(RequestError, match="there is no NodePool x; there are general, static"):
        compare(on, pools=("x",))
    with pytest.raises(RequestError, match="NodePool static is static: Karpenter does not consolidate it"):
        compare(on, pools=("static",))
    with pytest.raises(RequestError, match="there is no NodePool that Karpenter consolidates"):
        compare(base(types=TYPES))


def outcome(policy: str, *figures: tuple[float, int]) -> list[PolicyOutcome]:
    """Return a policy's outcomes, one for each seed's cost and evictions."""
    return [
        PolicyOutcome(
            policy=policy,
            after="0s" if policy else "",
            edits=(SetSetting("A", "b"),) if policy else (),
            nodes=1,
            price_per_hour=1.0,
            dollars=dollars,
            dollars_unchanged=9.0,
            commands=1,
            evictions=evictions,
            pending=0,
            seconds=1,
            kept=(),
        )
        for dollars, evictions in figures
    ]


def test_texts_show_the_spread_and_one_better_seed_is_not_enough() -> None:
    today, other = outcome("", (6.0, 4), (5.0, 7)), outcome("WhenEmpty", (5.0, 4), (5.5, 7))
    assert policies.beats(other[:1], today[:1])
    assert not policies.beats(other, today)
    assert policies.beats(outcome("x", (6.0, 4), (4.0, 7)), today)
    first, second = (policies.with_spread(outcomes) for outcomes in (today, other))
    comparison = Comparison(pools=(), horizon_ns=HOUR_NS, outcomes=(first, second), assumed=(), not_modelled=())
    assert headline(comparison) == (
        "Recommended: WhenEmpty 0s saves $3.50 to $4.00, with 4 to 7 evictions;"
        " without a change consolidation saves $3.00 to $4.00 within 60m, with 4 to 7 evictions (2 seeds)"
    )
    assert "saves $3.50 to $4.00 with 1 command and 4 to 7 evictions" in sentence(second)
    assert "2 seeds: lowest to highest result; nodes, $/h and commands are the first seed's" in list(
        story_lines(second)
    )


def test_a_policy_with_higher_cost_or_equal_result_is_not_worth_it() -> None:
    today, same, other = outcome("", (10.0, 4)), outcome("WhenEmpty", (10.0, 4)), outcome("Balanced", (12.0, 0))
    assert policies.worth_of(today, today, is_beaten=False) is Worth.YES
    assert policies.worth_of(same, today, is_beaten=False) is Worth.SAME
    assert policies.worth_of(other, today, is_beaten=False) is Worth.NO, "it costs more than without any disruption"
    assert policies.worth_of(outcome("x", (9.0, 0)), outcome("", (8.0, 4)), is_beaten=False) is Worth.NO, (
        "saves nothing"
    )
    assert policies.worth_of(outcome("x", (9.5, 4)), today, is_beaten=False) is Worth.YES, (
        "saves more than the current policy"
    )
    comparison = Comparison(pools=(), horizon_ns=HOUR_NS, outcomes=(*today, *other), assumed=(), not_modelled=())
    assert (
        "; without a change consolidation costs $1.00 more than no disruption within 60m, with 4 evictions"
        in headline(comparison)
    )
    assert sentence(other[0]).startswith("Balanced 0s costs $3.00 more than no disruption with 1 command")


def test_savings_are_unknown_if_any_changed_node_has_no_price() -> None:
    (today,), (other,) = outcome("", (6.0, 4)), outcome("WhenEmpty", (5.0, 4))
    unknown = replace(other, is_saving_known=False, unpriced=1)
    assert not policies.beats([unknown], [today])
    assert policies.worth_of([unknown], [today], is_beaten=False) is Worth.UNKNOWN
    assert TABLE.values(unknown, 0)["dollarsSaved"] is None
    assert sentence(unknown) == "WhenEmpty 0s saves n/a with 1 command and 4 evictions; 1 node and $1.00/h+ at the end"
    cells = {column.heading.id: column.cell(unknown, 0).text for column in TABLE.columns}
    assert (cells["saved"], cells["price"]) == ("n/a", "$1.00+")
    spread = policies.with_spread([today, replace(today, is_saving_known=False)])
    assert TABLE.values(spread, 0)["spread"]["dollarsSaved"] is None
    comparison = Comparison(
        pools=(), horizon_ns=HOUR_NS, outcomes=(replace(today, is_saving_known=False),), assumed=(), not_modelled=()
    )
    assert headline(comparison) == "now: 4 evictions within 60m; the savings are unknown"
