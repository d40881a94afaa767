"""The result of a forecast as text."""

from __future__ import annotations

import msgspec

from karptui.forward.result import KeptNode, Moment, Played, Spread, Step, StepKind, without_dollars
from karptui.session.answers import Forecast
from karptui.views.column import plain
from karptui.views.forward.chart import forecast_chart
from karptui.views.forward.columns import PLAYED, TABLE, played_steps, table_of
from karptui.views.forward.sentences import (
    answer_lines,
    headline,
    lines_of,
    play_lines,
    spread_text,
    step_text,
    waiting_text,
)
from tests.builders import HOUR_NS, MINUTE_NS, NOW_NS, texts_of

DELETED = Step(at_ns=NOW_NS + MINUTE_NS, kind=StepKind.DISRUPT, method="Emptiness", decision="delete",
               nodes=("a", "b", "c", "d"), savings_per_hour=0.5, evictions=3)  # fmt: skip


def a_play(*steps: Step, moments: tuple[Moment, ...], is_quiescent: bool = True) -> Played:
    return Played(from_ns=NOW_NS, until_ns=NOW_NS + MINUTE_NS, is_quiescent=is_quiescent, steps=steps, series=moments,
                  kept=(KeptNode("x", "POD_DND", "Pod/a/b"), KeptNode("y", "POD_DND"), KeptNode("z", "NODE_DND")),
                  assumptions=("pods take their time",), not_modelled=("spot",))  # fmt: skip


BEFORE, AFTER = Moment(NOW_NS, 5, 2.5, 0), Moment(NOW_NS + MINUTE_NS, 3, 2.0, 1)


def test_the_headline_has_the_result() -> None:
    assert headline(a_play(DELETED, moments=(BEFORE, AFTER))) == (
        "5 → 3 nodes, $2.50/h → $2.00/h (-$0.50/h) within 60s, then nothing more: 1 command, 3 evictions;"
        " 1 pod still pending"
    )
    end = Moment(NOW_NS + MINUTE_NS, 0, 0.0, 0)
    unpriced = headline(a_play(DELETED, moments=(Moment(NOW_NS, 1, 0.0, 0, 1), end)))
    assert unpriced.startswith("1 → 0 nodes, prices unknown, within 60s, then nothing more: 1 command")
    unmanaged = headline(a_play(DELETED, moments=(Moment(NOW_NS, 1, 0.0, 0), end)))
    assert unmanaged.startswith("1 → 0 nodes within 60s, then nothing more: 1 command")
    partly = headline(a_play(DELETED, moments=(Moment(NOW_NS, 2, 0.1, 0, 1), end)))
    assert partly.startswith("2 → 0 nodes, some prices unknown, within 60s, then nothing more: 1 command")
    assert "after 60s, still changing" in headline(a_play(DELETED, moments=(BEFORE, AFTER), is_quiescent=False))


def test_the_headline_names_expirations_and_starting_nodes_if_nothing_is_disrupted() -> None:
    text = headline(a_play(moments=(BEFORE,)))
    assert text == "nothing is disrupted and nothing launched: 5 nodes, $2.50/h"
    foreign = headline(a_play(moments=(Moment(NOW_NS, 1, 0.0, 0),)))
    assert foreign == "nothing is disrupted and nothing launched: 1 node", (
        "a node that Karpenter does not manage has no cost here"
    )
    unpriced = headline(a_play(moments=(Moment(NOW_NS, 1, 0.0, 0, 1),)))
    assert unpriced == "nothing is disrupted and nothing launched: 1 node, prices unknown"
    waiting = headline(a_play(moments=(Moment(NOW_NS, 5, 2.5, 2),)))
    assert waiting == "nothing is disrupted and nothing launched: 5 nodes, $2.50/h; 2 pods still pending"
    expired = Step(at_ns=NOW_NS, kind=StepKind.EXPIRE, nodes=("a",))
    started = Step(at_ns=NOW_NS, kind=StepKind.READY, nodes=("b",))
    headlines = [headline(a_play(*steps, moments=(BEFORE, AFTER))) for steps in ((expired,), (started, started))]
    assert headlines[0].startswith("1 node expires, nothing else is disrupted and nothing launched: 5 → 3 nodes, ")
    assert headlines[1].startswith("nothing is disrupted and 2 nodes that were starting get ready: 5 → 3 nodes, ")
    by = headline(a_play(DELETED, expired, moments=(BEFORE, AFTER)))
    assert "nothing more: 1 command, 1 expiration, 3 evictions" in by


def test_steps_as_text() -> None:
    assert step_text(DELETED) == "Emptiness: delete a, b, c and 1 more, -$0.50/h, 3 evictions"
    single = msgspec.structs.replace(DELETED, method="SingleNodeConsolidation")
    assert step_text(single, is_short=True).startswith("Single: delete a, b, c")
    claim = {"nodePool": "general", "instanceTypes": ["m5.large", "m6.large"], "cheapestPrice": 0.1}
    step = Step(at_ns=NOW_NS, kind=StepKind.PROVISION, claims=(claim,), pods=("a/b",))
    assert step_text(step) == "launch 1 node in general (2 types, from $0.1000/h) for 1 pod"
    assert step_text(Step(at_ns=NOW_NS, kind=StepKind.EXPIRE, nodes=("a",))) == "expire a, 0 pods to evict"
    rejected = Step(at_ns=NOW_NS, kind=StepKind.REJECT, method="Emptiness", nodes=("a",))
    assert step_text(rejected) == "Emptiness: a fails validation, not disrupted"


def test_lines_end_with_assumptions_and_omissions() -> None:
    lines = list(lines_of("prod", "edited", a_play(DELETED, moments=(BEFORE, AFTER))))
    assert lines[0].startswith("prod: edited: 5 → 3 nodes")
    assert lines[-2:] == ["  assumed: pods take their time", "  not modelled: spot"]


def test_charts_name_omitted_parts() -> None:
    partly = a_play(DELETED, moments=(Moment(NOW_NS, 2, 0.1, 0, 1), Moment(NOW_NS + MINUTE_NS, 1, 0.0, 0, 1)))
    dollars = next(line for line in lines_of("prod", "", partly) if "$/h" in line)
    assert dollars.startswith("  $/h        0.10+ ")
    assert dollars.endswith(" n/a")
    beside = texts_of(play_lines((Forecast(name="", played=partly),), 60, NOW_NS))
    assert beside[0].startswith("$/h     0.10+ ")
    assert "2 nodes $0.10/h+" in beside[2]
    unknown = a_play(moments=(Moment(NOW_NS, 2, 0.0, 0, 2),))
    assert not any("$/h" in line for line in lines_of("prod", "", unknown))
    assert texts_of(play_lines((Forecast(name="", played=unknown),), 60, None))[0].startswith("nodes  ")


def test_without_prices_no_costs_are_shown() -> None:
    claim = {"nodePool": "general", "instanceTypes": ["m5.large"], "cheapestPrice": 0.1}
    replaced = msgspec.structs.replace(DELETED, claims=(claim,))
    result = without_dollars(a_play(replaced, moments=(BEFORE, AFTER)))
    assert "$" not in "".join(lines_of("prod", "", result))
    document = plain(PLAYED, result)
    assert [step["savings"] for step in document["steps"]] == [None]
    assert {moment["pricePerHour"] for moment in (*document["series"], document["end"])} == {None}
    assert headline(result) == "5 → 3 nodes within 60s, then nothing more: 1 command, 3 evictions; 1 pod still pending"


def test_pending_pods_have_their_durations() -> None:
    quiet, waits = Moment(NOW_NS, 5, 2.5, 0), Moment(NOW_NS + MINUTE_NS // 2, 5, 2.5, 2)
    assert waiting_text(a_play(moments=(quiet,))) == ""
    assert waiting_text(a_play(moments=(quiet, waits))) == "2 pods, to the end"
    assert waiting_text(a_play(moments=(quiet, waits, AFTER))) == "up to 2; 1 pod to the end"


def test_a_scenario_is_compared_with_the_unedited_cluster() -> None:
    def told(*steps: Step, end: Moment) -> str:
        other = a_play(*steps, moments=(BEFORE, end))
        return texts_of(answer_lines((Forecast(name="", played=as_it_is), Forecast(name="x", played=other))))[1]

    as_it_is = a_play(DELETED, moments=(BEFORE, AFTER))
    assert told(end=Moment(NOW_NS + MINUTE_NS, 2, 1.5, 1)) == (
        "x: -$0.50/h at the end, 2 nodes instead of 3, 0 evictions instead of 3, 1 pending pod either way"
    )
    assert told(DELETED, end=Moment(NOW_NS, 3, 2.001, 0)) == (
        "x: the same $2.00/h at the end, 3 nodes either way, 3 evictions either way, 0 pending pods instead of 1"
    )
    assert told(DELETED, end=AFTER) == ("x: the same at the end: $2.00/h, 3 nodes, 3 evictions, 1 pending pod")
    assert (
        told(DELETED, end=Moment(NOW_NS, 3, 1.5, 1, 1)) == "x: the same at the end: 3 nodes, 3 evictions, 1 pending pod"
    )
    assert told(DELETED, end=Moment(NOW_NS, 2, 1.5, 1, 1)).startswith("x: 2 nodes instead of 3, 3 evictions either way")
    as_it_is = a_play(moments=(BEFORE,))
    assert told(end=BEFORE) == "x: the same at the end: $2.50/h, 5 nodes, 0 evictions"


def test_forecasts_are_side_by_side_if_there_is_room() -> None:
    plays = tuple(Forecast(name=name, played=a_play(DELETED, moments=(BEFORE, AFTER))) for name in ("", "x"))
    beside = texts_of(play_lines(plays, 100, NOW_NS + MINUTE_NS))
    assert beside[0].split() == ["before", "│", "x"]
    assert beside[1].startswith("$/h     2.50 ")
    assert beside[3].count("cursor  12:01:00Z 3 nodes $2.00/h, 1 pending") == 2
    assert max(map(len, beside)) <= 100
    below = texts_of(play_lines(plays, 60, None))
    assert len(below) == 2 * (len(beside) - 1)


def test_steps_are_rows_with_the_cluster_as_they_begin() -> None:
    (row,) = played_steps((Forecast(name="", played=a_play(DELETED, moments=(BEFORE, AFTER))),))
    cells = [column.cell(row, NOW_NS).text for column in TABLE.columns]
    assert cells == ["12:01:00Z", "delete", "Emptiness", "a, b, c and 1 more", "-", "$0.5000", "3", "3, $2.00/h"]


def test_a_step_before_and_after_the_edit_is_one_row() -> None:
    other = msgspec.structs.replace(DELETED, nodes=("z",), at_ns=NOW_NS)
    later = msgspec.structs.replace(DELETED, at_ns=DELETED.at_ns + MINUTE_NS)
    plays = (
        Forecast(name="", played=a_play(DELETED, DELETED, moments=(BEFORE, AFTER))),
        Forecast(name="x", played=a_play(other, DELETED, later, later, moments=(BEFORE, AFTER))),
    )
    rows = played_steps(plays)
    assert [row.change for row in rows] == ["", "60s later", "only after", "only after"]
    spec = table_of(len(plays))
    assert [column.cell(rows[1], NOW_NS).text for column in spec.columns][:3] == ["12:01:00Z", "12:02:00Z", "60s later"]
    assert [column.cell(rows[2], NOW_NS).text for column in spec.columns][:2] == ["-", "12:00:00Z"]
    (removed,) = played_steps((plays[0], Forecast(name="x", played=a_play(DELETED, moments=(BEFORE, AFTER)))))[1:]
    assert removed.change == "only before"


def test_the_effect_of_chance_is_one_line() -> None:
    spread = Spread(seeds=5, seed=3, nodes=(39, 46), price_per_hour=(29.65, 29.92), evictions=(217, 217),
                    pending=(0, 0), commands=(31, 33), same_commands=1)  # fmt: skip
    assert spread_text(spread) == (
        "5 seeds: 39 to 46 nodes, $29.65/h to $29.92/h, 217 evictions; their commands differ;"
        " shown: the likeliest, seed 3"
    )
    assert "$" not in spread_text(spread, is_priced=False)
    settled = msgspec.structs.replace(spread, pending=(6, 6), same_commands=5)
    assert spread_text(settled).endswith("6 pods without a node; the same commands")
    some = spread_text(msgspec.structs.replace(spread, same_commands=3))
    assert some.endswith("; 3 give the same commands; shown: the likeliest, seed 3")


def test_the_chart_holds_each_value_until_the_next_and_marks_commands() -> None:
    chart = forecast_chart((Forecast(name="", played=a_play(DELETED, moments=(BEFORE, AFTER))),), HOUR_NS, "as it is")
    assert chart is not None
    assert chart.title == "cost, $/h · ▴ disruption command"
    assert chart.lines[0].seconds == (0.0, 60.0, 60.0, 3600.0)
    assert chart.lines[0].values == (2.5, 2.5, 2.0, 2.0)
    assert chart.commands == (60.0,)
    assert chart.ticks[0][1] == "12:00"
    assert forecast_chart((), HOUR_NS, "as it is") is None
