from __future__ import annotations

from msgspec.structs import replace

from karptui.forward.result import Moment, Played, PodWait, Step, StepKind, circle_of
from karptui.views.forward.sentences import headline
from tests.builders import NOW_NS, SECOND_NS, present


def a_play(rounds: int, *, is_quiescent: bool = False, rising: float = 0.0, of_the_beginning: bool = False) -> Played:
    """Return a forecast with one command, then two that alternate, 30 seconds apart."""
    steps, series = [], [Moment(NOW_NS, 9, 4.0, 0)]
    for number in range(1 + 2 * rounds):
        at_ns = NOW_NS + (60 + 30 * number) * SECOND_NS
        is_first = not number
        name = f"old-{number}" if is_first or of_the_beginning else f"new-{number}"
        look = "general c-8x" if number % 2 else "general s-8x"
        if name.startswith("new"):
            steps.append(Step(at_ns=at_ns - 1, kind=StepKind.READY, nodes=(name,)))
        steps.append(Step(at_ns=at_ns, kind=StepKind.DISRUPT, method="SingleNodeConsolidation", decision="replace",
                          nodes=(name,), equivalence_keys=(name if is_first else look,),
                          evictions=2 if number % 2 else 3))  # fmt: skip
        series.append(Moment(at_ns, 9, 4.0 + number % 2 + rising * number, 0))
    return Played(from_ns=NOW_NS, until_ns=NOW_NS + 3600 * SECOND_NS, is_quiescent=is_quiescent, steps=tuple(steps),
                  series=tuple(series), kept=(), assumptions=(), not_modelled=())  # fmt: skip


def test_commands_are_a_cycle_only_if_they_repeat_to_the_end() -> None:
    circle = present(circle_of(a_play(4)))
    assert (circle.from_ns, circle.period_ns) == (NOW_NS + 90 * SECOND_NS, 60 * SECOND_NS)
    assert ([step.evictions for step in circle.commands], circle.evictions) == ([2, 3], 5)
    assert circle_of(a_play(4, is_quiescent=True)) is None
    assert circle_of(a_play(4, rising=0.01)) is None
    assert circle_of(a_play(4, of_the_beginning=True)) is None
    assert circle_of(a_play(2)) is None


def test_the_headline_reports_a_cycle() -> None:
    played = a_play(4)
    told = headline(replace(played, circle=circle_of(played)))
    assert told == (
        "repeats from 12:01:30Z on, every 60s (Single: replace 1 node, Single: replace 1 node),"
        " 5 evictions each time; 9 nodes, $4.00/h after 60m"
    )
    waits = (PodWait("a/never", NOW_NS, None), PodWait("a/moved", NOW_NS + 120 * SECOND_NS, None))
    waiting = headline(replace(played, circle=circle_of(played), waits=waits))
    assert waiting == f"{told}; 1 pod still pending"
