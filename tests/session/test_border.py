"""Everything that crosses the border between a session and the screens can be written as bytes and read back."""

from __future__ import annotations

import inspect
import typing
from typing import Any

import msgspec
import pytest

from karptui.config import DEFAULTS
from karptui.disruption.analysis import NextReport
from karptui.plan.policies import Comparison, PolicyOutcome
from karptui.serving.lists import lists_of
from karptui.serving.questions import answers_of
from karptui.session import border, questions, study_questions, whatif_questions
from karptui.session.blockers import blocker_entries
from karptui.session.border import (
    Analysed,
    AroundFound,
    AroundWanted,
    Border,
    Focus,
    Keys,
    KeysWanted,
    ObjectFound,
    ObjectWanted,
    Overview,
    PendingStudied,
    PickWanted,
    PlayMoment,
    Position,
    PositionWanted,
    RowsFound,
    RowsWanted,
    RowWindow,
    TotalsWanted,
    VerdictWanted,
    WindowWanted,
)
from karptui.session.cluster_view import ClusterView
from karptui.session.costs import ClusterTotals
from karptui.session.facts import NextAround
from karptui.session.overview import overview_of
from karptui.session.pods import PodEntry
from karptui.session.prepare import base_of
from karptui.session.questions import (
    DescriptionWanted,
    LastHourWanted,
    LedgerWanted,
    NamesWanted,
    NodeWanted,
    OpeningWanted,
    PackingWanted,
    PodWaitWanted,
    ProportionWanted,
    Question,
    ReasonsWanted,
    RemediesWanted,
    TrialsWanted,
    TypeSourcesWanted,
)
from karptui.session.replays import SharedBase
from karptui.session.row_server import RowServer
from karptui.session.study_questions import (
    DrillsWanted,
    HeadroomsWanted,
    PlanWanted,
    PoliciesFound,
    PoliciesWanted,
    RehearsalsWanted,
    SolveWanted,
    StudyProgressWanted,
    UnreachedWanted,
)
from karptui.session.whatif_questions import (
    ComparedWanted,
    ControllerWanted,
    KnownValuesWanted,
    PackedWanted,
    PlayProgressWanted,
    PlaysFound,
    PlaysWanted,
    PointFound,
    PointWanted,
    Replayed,
    ReplayState,
    ReplayStateWanted,
    ReplayWanted,
    SelfCheckWanted,
    SweepUnwanted,
    SweepWanted,
)
from karptui.session.wire import decoded, encoded, plain
from karptui.views.events import TABLE as EVENTS
from karptui.views.nodes.columns import nodes_table
from karptui.views.pods import TABLE as PODS
from karptui.views.pools.columns import pools_table
from karptui.views.pools.detail import DAEMONSETS
from karptui.views.table import build_rows
from karptui.views.types.columns import types_table
from karptui.views.types.pools import TABLE as POOLS_OF_TYPES
from karptui.whatif.edits import ObjectRef, RemoveNode, SetField
from karptui.whatif.run import Answer, answers
from karptui.whatif.scenario import Replay, Scenario
from karptui.whatif.sweep import Sweep, SweepPoint
from tests.builders import HOUR_NS, NOW_NS
from tests.stories import stories_view
from tests.ui.fleet import a_fleet, view_of
from tests.views.why.test_words import analysed

FLEET = view_of(a_fleet())
ANALYSED = analysed()
STORIES = stories_view()


def server(view: ClusterView = FLEET) -> RowServer:
    return RowServer(lambda: view, lists_of(DEFAULTS), answers_of(SharedBase()))


def rows_of(name: str, asked: RowServer, **given: Any) -> RowsFound:
    return asked.rows(RowsWanted(list=name, sort="name", now_ns=NOW_NS, **given))


def window_of(view: ClusterView, name: str, of: str = "") -> RowWindow:
    asked = server(view)
    window = asked.window(WindowWanted(number=rows_of(name, asked, of=of).number, offset=0, count=1_000))
    assert not of or window.facts
    return window


def around(name: str, of: str = "general", view: ClusterView = ANALYSED) -> AroundFound:
    asked = server(view)
    rows_of(name, asked)
    found = asked.around(AroundWanted(list=name, of=of, now_ns=NOW_NS))
    assert found.fact is not None
    return found


def answered() -> Answer:
    """Return the answer to a what-if, with the blockers that come after it."""
    *_, last = answers(base_of(ANALYSED, NOW_NS), SCENARIO)
    return last


MORE_LISTS = (
    "claims",
    "budgets",
    "churn",
    "replacements",
    "next",
    "pending",
    "sources",
    "advice",
    "blockers",
)
TYPE_LISTS = (("pools", "any"), ("types", "any"), ("types of a pool", "wanted/trino"), ("daemonsets", "small"))
POD = next(iter(FLEET.state.pods))
SCENARIO = Scenario("heavier", Replay.SCRATCH, (SetField(ObjectRef("NodePool", "general"), ("spec", "weight"), 9),))
NODE = next(iter(FLEET.state.nodes))
BLOCKERS = tuple(one.key for one in blocker_entries(ANALYSED) if one.namespace == "gitlab")
WITHOUT_ONE = Scenario(name="without one", edits=(RemoveNode(NODE),))
POLICY = PolicyOutcome(
    policy="Balanced", after="0s", edits=SCENARIO.edits, nodes=1, price_per_hour=1.0, dollars=2.0,
    dollars_unchanged=3.0, commands=1, evictions=2, pending=0, seconds=9, kept=(("PDB", 1),),
)  # fmt: skip
QUESTIONS: tuple[Question[Any], ...] = (
    DescriptionWanted(kind="Pod", key=POD, now_ns=NOW_NS),
    NamesWanted(kinds=("NodePool", "NodeClass", "Pod")),
    PackingWanted(),
    PackedWanted(scenario=WITHOUT_ONE, now_ns=NOW_NS),
    OpeningWanted(objects=(("Pod", POD), ("NodePool", "general"))),
    ProportionWanted(pools=("general", "batch")),
    RemediesWanted(members=BLOCKERS, now_ns=NOW_NS),
    TrialsWanted(members=BLOCKERS, now_ns=NOW_NS),
    LedgerWanted(pool="general", instance_type="m5.large"),
    TypeSourcesWanted(pool="general"),
    NodeWanted(key=next(one.key for one in ANALYSED.node_entries if one.node is not None)),
    PodWaitWanted(key=next(iter(ANALYSED.state.pods))),
    ReasonsWanted(),
    LastHourWanted(now_ns=NOW_NS),
    ControllerWanted(),
    KnownValuesWanted(),
    ComparedWanted(scenario=SCENARIO, now_ns=NOW_NS),
    SelfCheckWanted(now_ns=NOW_NS),
    SweepWanted(sweep=Sweep(("1", "2"), setting="RESERVED_ENIS"), replay=Replay.PENDING, now_ns=NOW_NS),
    PointWanted(number=2),
    SweepUnwanted(number=1),
    PlaysWanted(
        scenarios=(Scenario(name="without one", edits=(RemoveNode(NODE),)),), horizon_ns=HOUR_NS, now_ns=NOW_NS
    ),
    PlayProgressWanted(),
    DrillsWanted(now_ns=NOW_NS),
    HeadroomsWanted(kind="Pod", key=POD, now_ns=NOW_NS),
    PlanWanted(scenario=SCENARIO, horizon_ns=10**9, now_ns=NOW_NS),
    PoliciesWanted(pools=("none",), afters=("0s",), horizon_ns=10**9, seeds=2, now_ns=NOW_NS),
    RehearsalsWanted(manifests=SCENARIO.edits, at_once=2, horizon_ns=NOW_NS, now_ns=NOW_NS),
    UnreachedWanted(now_ns=NOW_NS),
    SolveWanted(goal="overhead", given=(("tries", "20"),), now_ns=NOW_NS),
    StudyProgressWanted(),
)
"""One of each kind; `ANSWERS` are those of a cluster that is worked out."""
ANSWERS = tuple(server(ANALYSED).ask(one) for one in QUESTIONS)
MESSAGES = (
    PlayMoment(play=1, at_ns=NOW_NS, instants=(NOW_NS,)),
    Focus(keys=("node/a",), detail="node/b", asks_next=True, pod="x/y"),
    overview_of(FLEET),
    overview_of(ANALYSED),
    RowsWanted(list="nodes", filter_text="cpu>80%", sort="cpu", is_descending=True, now_ns=NOW_NS),
    RowsFound(list="nodes", number=3, shown=2, lines=2, total=11),
    WindowWanted(number=3, offset=64, count=64),
    window_of(FLEET, "nodes"),
    window_of(FLEET, "pods"),
    window_of(FLEET, "events"),
    window_of(ANALYSED, "nodes"),
    *(window_of(ANALYSED, name) for name in MORE_LISTS),
    *(window_of(STORIES, name, of) for name, of in TYPE_LISTS),
    KeysWanted(number=3),
    Keys(keys=("node/a", "node/b")),
    PositionWanted(number=3, key="node/a"),
    Position(index=None),
    PickWanted(number=3, keys=frozenset({"node/a"})),
    TotalsWanted(number=3, keys=frozenset({"node/a"})),
    FLEET.totals,
    ANALYSED.totals,
    ObjectWanted(kind="Node", key="a"),
    ObjectFound(is_there=True, node_key="node/a"),
    AroundWanted(list="next", now_ns=NOW_NS),
    VerdictWanted(now_ns=NOW_NS),
    server(ANALYSED).verdict(VerdictWanted(now_ns=NOW_NS)),
    *(around(name) for name in ("claims", "budgets", "churn", "pools")),
    around("daemonsets", "small", STORIES),
    around("types of a pool", "wanted/trino", STORIES),
    server(STORIES).ask(LedgerWanted(pool="trino", instance_type="r5a.8xlarge")),
    AroundFound(fact=NextAround(report=NextReport(method="drift", asked=(("drift", 2),)))),
    Analysed(generation=1, now_ns=2, nodes=3, simulated=1, managed=3, notes=("types are guessed",)),
    PendingStudied(generation=1, now_ns=2, groups=3, explained=1),
    *QUESTIONS,
    *ANSWERS,
    ReplayWanted(scenario=SCENARIO, now_ns=NOW_NS),
    ReplayStateWanted(now_ns=NOW_NS, is_typing=True),
    ReplayState(number=3, is_busy=True, done=1, total=2, is_outdated=True),
    Replayed(number=3, answer=answered()),
    PoliciesFound(
        found=Comparison(pools=(("a", "b", "c"),), horizon_ns=1, outcomes=(POLICY,), assumed=(), not_modelled=())
    ),
    PointFound(position=1, point=SweepPoint("2", nodes=3)),
    *(play for answer in ANSWERS if isinstance(answer, PlaysFound) for play in answer.plays),
)


def in_order(message: msgspec.Struct) -> object:
    """Return a message as plain values, sets in order."""
    return msgspec.to_builtins(decoded(encoded(message), type(message)), order="deterministic", enc_hook=plain)


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_every_message_is_read_as_it_was_written(message: Any) -> None:
    read = decoded(encoded(message), type(message))
    assert in_order(read) == in_order(message)
    assert type(read) is type(message)


def test_no_kind_of_message_is_forgotten() -> None:
    for module in (border, questions, study_questions, whatif_questions):
        kinds = {one for _, one in inspect.getmembers(module, inspect.isclass) if issubclass(one, msgspec.Struct)}
        own = {one for one in kinds if one.__module__ == module.__name__}
        assert own - {Question} - {type(message) for message in MESSAGES} == set()


def test_every_question_is_answered_as_its_type_says() -> None:
    assert {type(one) for one in QUESTIONS} == set(answers_of(SharedBase()))
    for question, answer in zip(QUESTIONS, ANSWERS, strict=True):
        [told] = typing.get_args(vars(type(question))["__orig_bases__"][0])
        assert type(answer).__name__ == getattr(told, "__forward_arg__", getattr(told, "__name__", ""))
        assert type(answer).__struct_config__.frozen


def test_whatever_is_asked_and_answered_is_a_message() -> None:
    for name, method in inspect.getmembers(Border, inspect.isfunction):
        if name.startswith("_"):
            continue
        hints = typing.get_type_hints(method, {**vars(border), **vars(questions)})
        if name == "ask":
            continue  # it takes every question there is
        assert all(issubclass(kind, msgspec.Struct) and kind.__struct_config__.frozen for kind in hints.values()), name


def test_facts_that_were_read_draw_the_same_row() -> None:
    for view, name, of, spec in (
        (FLEET, "nodes", "", nodes_table()),
        (FLEET, "pods", "", PODS),
        (FLEET, "events", "", EVENTS),
        (ANALYSED, "nodes", "", nodes_table()),
        (STORIES, "pools", "any", pools_table()),
        (STORIES, "types", "any", POOLS_OF_TYPES),
        (STORIES, "types of a pool", "all/small", types_table()),
        (STORIES, "daemonsets", "small", DAEMONSETS),
    ):
        window = window_of(view, name, of)
        read = decoded(encoded(window), RowWindow)
        here, there = (build_rows(spec, one.facts, now_ns=NOW_NS) for one in (window, read))
        assert list(here) == list(there)
        assert here.keys == there.keys


def test_rows_of_pools_and_types_hold_no_price_tables() -> None:
    for name, of, most in (
        ("pools", "any", 25_000),
        ("types", "any", 20_000),
        ("types of a pool", "all/small", 10_000),
    ):
        window = window_of(STORIES, name, of)
        assert len(encoded(window)) < most * len(window.facts)


def test_nothing_that_lives_crosses() -> None:
    with pytest.raises(NotImplementedError, match="ClusterView does not cross the border"):
        encoded(msgspec.defstruct("Live", [("view", object)])(FLEET))


def test_rows_are_filtered_and_in_order_and_given_by_window() -> None:
    asked = server()
    found = rows_of("nodes", asked, filter_text="!general")
    expected = build_rows(nodes_table(), [one for one in FLEET.node_entries if one.pool != "general"], now_ns=NOW_NS)
    assert 0 < found.shown < found.total == len(FLEET.node_entries)
    first, rest = (asked.window(WindowWanted(number=found.number, offset=at, count=3)) for at in (0, 3))
    assert first.keys + rest.keys == asked.keys(KeysWanted(number=found.number)).keys[:6]
    assert set(first.keys) <= set(expected.keys)
    assert asked.window(WindowWanted(number=found.number, offset=found.shown, count=9)).keys == ()


def test_rows_stay_the_same_while_nothing_changes() -> None:
    asked = server()
    found = rows_of("pods", asked)
    assert rows_of("pods", asked) is found
    assert rows_of("pods", asked, is_descending=True) is not found
    timed = rows_of("pods", asked, filter_text="age>1h")
    assert rows_of("pods", asked, filter_text="age>1h") is not timed


def test_rows_that_gave_way_are_empty() -> None:
    asked = server()
    first = rows_of("nodes", asked)
    for text in ("a", "b"):
        rows_of("nodes", asked, filter_text=text)
    assert asked.window(WindowWanted(number=first.number, offset=0, count=9)) == RowWindow()
    assert asked.totals(TotalsWanted(number=first.number)) == ClusterTotals()
    assert asked.position(PositionWanted(number=first.number, key="node/a")) == Position(index=None)


def test_a_row_is_found_by_its_key() -> None:
    asked = server()
    found = rows_of("pods", asked)
    keys = asked.keys(KeysWanted(number=found.number)).keys
    assert asked.position(PositionWanted(number=found.number, key=keys[7])) == Position(index=7)
    assert asked.position(PositionWanted(number=found.number, key="no/such")) == Position(index=None)
    picked = asked.pick(PickWanted(number=found.number, keys=frozenset({keys[9], keys[2], "no/such"})))
    assert picked.keys == (keys[2], keys[9])
    assert [one.pod.key for one in picked.facts if isinstance(one, PodEntry)] == list(picked.keys)


def test_sums_are_of_all_rows_or_some() -> None:
    asked = server()
    found = rows_of("nodes", asked)
    every = asked.totals(TotalsWanted(number=found.number))
    assert (every.nodes, every.claims) == (FLEET.totals.nodes, FLEET.totals.claims)
    assert every.cpu == FLEET.totals.cpu
    keys = asked.keys(KeysWanted(number=found.number)).keys
    one = asked.totals(TotalsWanted(number=found.number, keys=frozenset(keys[:1])))
    assert one.nodes + one.claims == 1


def test_a_node_is_found_by_its_name() -> None:
    asked = server()
    name = next(iter(FLEET.state.nodes))
    entry = FLEET.node_of(name)
    assert entry is not None
    assert asked.object(ObjectWanted(kind="Node", key=name)) == ObjectFound(is_there=True, node_key=entry.key)
    assert asked.object(ObjectWanted(kind="Node", key="gone")) == ObjectFound()
    pod = next(one for one in FLEET.state.pods.values() if one.node_name == name)
    assert asked.object(ObjectWanted(kind="Pod", key=pod.key)) == ObjectFound(is_there=True, node_key=entry.key)
    pool = next(iter(FLEET.state.nodepools), "")
    assert asked.object(ObjectWanted(kind="NodePool", key=pool)).is_there is bool(pool)


def test_an_overview_is_made_once_for_a_generation() -> None:
    asked = server()
    assert isinstance(asked.overview(), Overview)
    assert asked.overview() is asked.overview()


def test_every_list_has_a_size() -> None:
    assert set(overview_of(FLEET).sizes) == set(lists_of(DEFAULTS))
