"""Texts of the what-if: the answer, edits, notes, controls, comparisons and the self-check."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from karptui.karpenter.settings import parse_settings
from karptui.views.row import Tone
from karptui.views.whatif.compare import Compared, best_sentence, compare_lines, places, self_check_text
from karptui.views.whatif.controls import controls_of, edit_text, focused, line_notes, problem_at, setting_value
from karptui.views.whatif.sentences import headline_text
from karptui.whatif.difference import Difference
from karptui.whatif.difference_lines import ABSENT, PlaceKind, PodPlace, Totals, WeightChange
from karptui.whatif.edits import (
    AnyEdit,
    CopyPod,
    CordonNode,
    DeleteObject,
    ObjectRef,
    PutObject,
    RemoveNode,
    ScaleWorkload,
    SetField,
    SetSetting,
    TakeOut,
)
from karptui.whatif.quick_edits.actions import SETTING_EDITS
from karptui.whatif.run import Answer
from karptui.whatif.scenario import Replay, Scenario
from karptui.whatif.self_check import CheckedClaim, Reproduction, SelfCheck
from karptui.whatif.yaml.tree import Problem, ProblemSeverity, parse
from tests.builders import present, text_of
from tests.views.whatif.differences import (
    GENERAL,
    NOWHERE,
    OLD_NODE,
    CommandLine,
    DriftLine,
    MoveLine,
    NextLines,
    NodeLine,
    a_claim,
    a_difference,
    a_pool,
    a_type,
    totals,
    unplaced,
)

EDIT = SetSetting("VM_MEMORY_OVERHEAD_PERCENT", "0.05")
TRINO = PodPlace(PlaceKind.CLAIM, "trino")
WORKERS = tuple(f"trino/worker-{number}" for number in range(3))
POOL = ObjectRef("NodePool", "general")
WEB = ObjectRef("Deployment", "front", "web")
TEXT = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: general
spec:
  weight: 50
  limits: {cpu: 400}
  template:
    spec:
      taints:
        - key: a
          effect: NoSchedule
"""


def answer_text(difference: Difference, *, edits: tuple[AnyEdit, ...] = (EDIT,), **given: Any) -> str:
    """Return the text about a difference, with analysed blockers."""
    blockers: dict[str, Any] = {"blockers_gained": (), "blockers_lost": ()}
    return headline_text(Answer(Scenario(replay=difference.mode, edits=edits), difference, **(blockers | given)))


def drifted(pool: str, count: int) -> tuple[DriftLine, ...]:
    return tuple(DriftLine(f"{pool}-{at}", f"n{at}", pool, "NodePoolDrifted", "taints") for at in range(count))


def placed(**given: Any) -> Difference:
    """Return the difference of story D."""
    types = (a_type("r5a.8xlarge", 1.808, capacity_type="on-demand"),)
    defaults: dict[str, Any] = {
        "before": totals(price_per_hour=25.0),
        "after": totals(nodes=65, launched=3, price_per_hour=30.424, pending=0),
        "claims": tuple(a_claim(pod, pool_name="trino", types=types) for pod in WORKERS),
        "now_fit": (MoveLine("StatefulSet/trino/worker", NOWHERE, TRINO, WORKERS),),
    }
    return a_difference(**(defaults | given))


def test_placed_pods_and_their_cost() -> None:
    expected = "3 pods of trino/worker fit on 3 new r5a.8xlarge of trino: +$5.42/h (+22%)."
    assert answer_text(placed()) == expected
    assert answer_text(placed(drift_gained=drifted("trino", 10))) == f"{expected} 10 nodes of trino would drift."
    some = drifted("trino", 2) + drifted("general", 1)
    assert answer_text(placed(drift_gained=some)).endswith(" 3 nodes (trino 2, general 1) would drift.")
    waits = (unplaced("a/b", owner="", was=NOWHERE),)
    assert answer_text(placed(still_pending=waits)) == f"{expected} 1 pod stays pending."
    assert answer_text(placed(), has_prices=False) == expected.replace(": +$5.42/h (+22%)", "")
    types = (a_type("c7i.4xlarge"), a_type("m7i.4xlarge", 0.4))
    difference = placed(claims=(a_claim("web/a", types=types),),
                        nodes=(NodeLine("n1.ec2.internal", "general", ("web/b",), True),),
                        now_fit=(MoveLine("Deployment/web/front", ABSENT, GENERAL, ("web/a",)),
                                 MoveLine("Deployment/web/front", ABSENT, OLD_NODE, ("web/b",))),
                        after=totals(nodes=63, launched=1, price_per_hour=25.1))  # fmt: skip
    assert answer_text(difference) == (
        "2 new pods of web/front fit on 1 new node of general, c7i.4xlarge or more expensive and n1: +$0.10/h (+0.4%)."
    )


def test_pods_that_become_unschedulable_are_first_with_the_reason() -> None:
    lost = (unplaced(was=OLD_NODE), unplaced("trino/worker-1", was=OLD_NODE))
    fresh = (unplaced("web/x", owner="", was=None, reason="no room"),)
    difference = a_difference(no_longer_fit=(*lost, *fresh), after=totals(price_per_hour=24.0))
    assert answer_text(difference) == (
        "2 pods of trino/worker become unschedulable: short by memory 6,846Mi. "
        "1 new pod is unschedulable: no room: -$1.00/h (-4%)."
    )


@pytest.mark.parametrize(("after", "expected"), [
    (PodPlace(PlaceKind.CLAIM, "spare"), "1 pod of web/front lands on spare instead of general: the same $/h."),
    (PodPlace(PlaceKind.NODE, "general", "n2"), "1 pod of web/front lands elsewhere: on n2: the same $/h."),
])  # fmt: skip
def test_pods_that_are_scheduled_elsewhere(after: PodPlace, expected: str) -> None:
    moves = (MoveLine("Deployment/web/front", OLD_NODE, after, ("web/a",)),)
    nodes = (NodeLine("n2", "general", ("web/a",), True),)
    difference = a_difference(moves=moves, nodes=nodes, after=totals(nodes=61))
    assert answer_text(difference) == expected


def test_removed_nodes_show_the_destinations_of_their_pods() -> None:
    moves = (MoveLine("", OLD_NODE, PodPlace(PlaceKind.NODE, "general", "n2"), ("web/a",)),)
    nodes = (NodeLine("n2", "general", ("web/a",), True),)
    difference = a_difference(mode=Replay.REMOVE, moves=moves, nodes=nodes, after=totals(nodes=61, price_per_hour=24.0))
    assert answer_text(difference) == "1 pod moves to n2: -$1.00/h (-4%)."
    empty = a_difference(mode=Replay.REMOVE, after=totals(nodes=60, price_per_hour=24.0))
    assert answer_text(empty) == "60 nodes instead of 62: -$1.00/h (-4%)."


def test_costs_of_spot_without_a_known_price() -> None:
    after = totals(nodes=63, unpriced=1, unpriced_at_most_per_hour=0.4)
    assert answer_text(a_difference(after=after)) == (
        "63 nodes instead of 62: with spot of unknown price at most +$0.40/h."
    )
    unbounded = totals(nodes=63, unpriced=1, unbounded=1)
    assert answer_text(a_difference(after=unbounded)) == "63 nodes instead of 62: 1 node of unknown price more."
    both = totals(nodes=64, unpriced=2, unbounded=1, unpriced_at_most_per_hour=0.4)
    assert answer_text(a_difference(after=both)) == (
        "64 nodes instead of 62: with spot of unknown price at most +$0.40/h, 1 node of unknown price more."
    )


def test_without_edits_the_answer_describes_karpenters_decisions() -> None:
    document = {"claims": (a_claim("web/a", types=(a_type(),)),), "after": totals(pending=2)}
    assert answer_text(a_difference(**document), edits=()) == (
        "Nothing is edited: 1 of 3 pending or displaced pods fits on 1 new c7i.4xlarge of general; 2 pods stay pending."
    )
    assert answer_text(a_difference(), edits=()) == "Nothing is edited: 3 pods are pending, and none is schedulable."
    quiet = a_difference(before=totals(pending=0), after=totals(pending=0))
    assert answer_text(quiet, edits=()) == "Nothing is edited, and no pod is pending."
    assert answer_text(a_difference(mode=Replay.REMOVE), edits=()).startswith("No node is removed yet")
    assert "land on 62 nodes" in answer_text(a_difference(mode=Replay.SCRATCH), edits=())


def test_the_next_disruption() -> None:
    delete = CommandLine("Drift", "delete", ("n1.ec2.internal",), (), 0.77)
    replace = CommandLine("SingleNodeConsolidation", "replace", ("a", "b", "c"), (("general", "m7i.large"),), 0.0)
    nothing = NextLines((), "every budget is used up")

    def following(before: NextLines, after: NextLines, **given: Any) -> str:
        return answer_text(a_difference(mode=Replay.NEXT, next_before=before, next_after=after), **given)

    assert following(nothing, NextLines((delete,))) == (
        "Next Karpenter would delete n1 (Drift), saving $0.7700/h. Without the edits: nothing, every budget is used up."
    )
    assert following(nothing, nothing) == "As before: every budget is used up."
    assert following(nothing, nothing, edits=()) == (
        "Nothing is edited. Karpenter would do nothing next: every budget is used up."
    )
    both = NextLines((replace, delete))
    assert following(both, both) == (
        "Karpenter would do the same next: replace 3 nodes with 1 new m7i.large (SingleNodeConsolidation), "
        "and 1 command more."
    )


def test_a_nodepool_without_types_is_first_and_mentioned_once() -> None:
    change = WeightChange("spare", behind=("general",), is_usable=False)
    text = answer_text(a_difference(without_types=("spare",), weights=(change,)))
    assert text.startswith("No instance type is left in spare: no node can be launched there. ")
    assert "none of its types" not in text


@pytest.mark.parametrize(("weights", "expected"), [
    ((WeightChange("spare", behind=("general",)),),
     "spare is now tried after general: weight is an order, not a share. Nothing changes."),
    ((WeightChange("spare", ahead_of=("a", "b", "c"), is_usable=False), WeightChange("edge")),
     ("spare is now tried before a, b and 1 more, but none of its types is left: weight is an order, not a share. "
      "edge keeps its rank. Nothing changes.")),
])  # fmt: skip
def test_an_edited_weight_is_described_as_an_order(weights: tuple[WeightChange, ...], expected: str) -> None:
    same = {"before": totals(pending=0), "after": totals(pending=0)}
    assert answer_text(a_difference(weights=weights, **same)) == expected
    assert answer_text(placed(weights=weights[:1])).endswith("weight is an order, not a share.")


@pytest.mark.parametrize(("edit", "words"), [
    (SetField(POOL, ("spec", "weight"), 60), "NodePool general: spec.weight = 60"),
    (SetField(POOL, ("spec", "weight")), "NodePool general: without spec.weight"),
    (SetField(WEB, ("spec", "paused"), value=True), "Deployment web/front: spec.paused = true"),
    (SetField(POOL, ("spec", "limits"), {"cpu": "4"}), 'NodePool general: spec.limits = {"cpu":"4"}'),
    (SetField(POOL, ("spec", "x"), "y" * 90), f"NodePool general: spec.x = {'y' * 59}…"),
    (PutObject("a: 1\nb: 2\n"), "document of 2 lines"),
    (DeleteObject(WEB), "without Deployment web/front"),
    (SetSetting("RESERVED_ENIS", "1"), "RESERVED_ENIS = 1"),
    (ScaleWorkload(WEB, 1200), "Deployment web/front scaled to 1,200"),
    (CopyPod(ObjectRef("Pod", "x", "web"), 1), "1 more pod like web/x"),
    (TakeOut("m7i*", "us-east-1a", "spot"), "out: spot m7i* in us-east-1a"),
    (TakeOut(zone="us-east-1a"), "out: every type in us-east-1a"),
    (RemoveNode("n1"), "without node n1"),
    (CordonNode("n1"), "node n1 cordoned"),
])  # fmt: skip
def test_edits_as_text(edit: AnyEdit, words: str) -> None:
    assert edit_text(edit) == words


def test_changed_lines_show_their_old_value() -> None:
    before = parse(TEXT)
    original = {before.documents[0].ref: before.documents[0].body or {}}
    edited = (
        TEXT.replace("50", "60").replace("{cpu: 400}", "{cpu: 480}").replace("key: a", "key: b\n          value: c")
    )
    notes = line_notes(parse(edited), (), original)
    lines = edited.split("\n")
    assert {lines[row].strip(): note.text for row, note in notes.items()} == {
        "weight: 60": "was 50", "limits: {cpu: 480}": "was different", "- key: b": "was a", "value: c": "new",
    }  # fmt: skip
    assert {note.tone for note in notes.values()} == {Tone.MUTED}
    assert line_notes(before, (), original) == {}


def test_of_several_problems_on_a_line_the_worst_is_shown() -> None:
    problems = (
        Problem(2, 0, 3, ProblemSeverity.WARNING, "odd", 0),
        Problem(2, 4, 6, ProblemSeverity.ERROR, "wrong", 0, ("spec", "weight")),
        Problem(3, 0, 1, ProblemSeverity.WARNING, "hm", 0),
    )
    notes = line_notes(parse(""), problems, {})
    assert notes[2] == ("wrong (and 1 more)", Tone.FAULT, 4, 6)
    assert notes[3] == ("hm", Tone.WARNING, 0, 1)
    assert problem_at(problems, 2) == "odd · spec.weight: wrong"
    assert problem_at(problems, 9) == ""


def test_controls_show_fields_settings_and_other_edits() -> None:
    parsed = parse(TEXT)
    document = present(focused(parsed, 3))
    body = msgspec.json.decode(msgspec.json.encode(document.body))
    body["spec"]["weight"] = 40
    edits = (TakeOut("m5*"), SetSetting("RESERVED_ENIS", "2"), SetSetting("FEATURE_GATES.NodeRepair", "true"))
    controls = {item.id: item for item in controls_of(document, edits, {document.ref: body}, parse_settings({}))}
    weight = controls["quick/nodepool.weight"]
    assert (weight.value, weight.hint, weight.is_changed, weight.can_step) == ("50", "was 40", True, True)
    assert controls["quick/nodepool.limits.memory"].value == "-"
    assert controls["setting/RESERVED_ENIS"].hint == "was 0"
    assert controls["setting/FEATURE_GATES.NodeRepair"].is_changed
    assert "setting/FEATURE_GATES.StaticCapacity" not in controls
    assert controls["edit/0"].value == "out: m5* "[:-1]
    unknown = {control.id: control for control in controls_of(document, (), {}, parse_settings({}))}
    assert not unknown["quick/nodepool.weight"].is_changed
    assert all(control.id.startswith("setting/") for control in controls_of(None, (), {}, parse_settings({})))


def test_the_document_at_the_cursor_is_in_focus_unless_it_cannot_be_read() -> None:
    parsed = parse(f"{TEXT}---\nkind: [\n")
    assert focused(parsed, 2) is parsed.documents[0]
    assert focused(parsed, 13) is None
    assert focused(parsed, 900) is parsed.documents[0]
    assert focused(parse(""), 0) is None


def test_every_setting_shows_the_value_of_the_cluster() -> None:
    given = {
        "VM_MEMORY_OVERHEAD_PERCENT": "0.05", "RESERVED_ENIS": "1", "PREFERENCE_POLICY": "Ignore",
        "MIN_VALUES_POLICY": "BestEffort", "IGNORE_DRA_REQUESTS": "false", "FEATURE_GATES": "NodeRepair=true",
    }  # fmt: skip
    settings = parse_settings(given)
    values = {edit.name: setting_value(edit, settings) for edit in SETTING_EDITS}
    for name, value in given.items():
        assert values.get(name, value) == value
    assert values["FEATURE_GATES.NodeRepair"] == "true"
    assert values["BATCH_MAX_DURATION"] == "10s"


def rows(lines: tuple[Any, ...]) -> list[str]:
    return [text_of(line).rstrip() for line in lines]


def test_scenarios_are_compared_side_by_side() -> None:
    pools = (a_pool(nodes_after=50), a_pool("", nodes_before=1, nodes_after=1))
    unpriced = a_difference(after=totals(unpriced=2))
    first = a_difference(after=totals(nodes=64), pools=pools, no_longer_fit=(unplaced(),))
    compared = (
        Compared("with a name that is far too long for one column", first),
        Compared("other", a_difference()),
        Compared("waits", None),
        Compared("broken", None, "edit 1: no such object"),
    )
    texts = rows(compare_lines(compared, 120))
    assert texts[0].split() == ["now", "with", "a", "name", "that", "i…", "other", "waits", "broken"]
    assert "replaying…" in texts[1]
    assert "cannot be replayed" in texts[1]
    assert texts[2].split() == ["nodes", "62", "64", "62", "-", "-"]
    assert not any("price n/a" in row for row in texts)
    assert any("price n/a" in row for row in rows(compare_lines((Compared("a", unpriced),), 80)))
    assert next(row for row in texts if "general" in row).split() == ["general", "48", "50", "-", "-", "-"]
    assert any("not Karpenter's" in row for row in texts)
    assert next(row for row in texts if row.startswith("no longer placed")).split()[-4:] == ["1", "0", "-", "-"]


@pytest.mark.parametrize(("after", "text"), [
    ({"less": totals(pending=0, price_per_hour=30.42), "more": totals(price_per_hour=24.5)},
     "less is best: 3 pods fewer pending than now, +$5.42/h; more next: -$0.50/h, equally many pending pods."),
    ({"a": totals(price_per_hour=25.29), "b": totals(pending=4)},
     "None is better than the current cluster; a next: +$0.29/h, equally many pending pods."),
    ({"a": totals(), "b": totals()},
     "a and b have the same result as the current cluster: equally many pending pods, at the same $/h."),
    ({"a": totals(price_per_hour=26.0), "b": totals()},
     "None is better than the current cluster; b has the same result."),
    ({"a": totals(price_per_hour=24.0), "b": totals(price_per_hour=24.0), "c": totals(pending=2, unpriced=1)},
     "c is best: 1 pod fewer pending than now, the same $/h; a next: -$1.00/h, equally many pending pods."),
    ({"a": totals(pending=2), "b": totals(pending=2)},
     "a and b are equally good: 1 pod fewer pending than now, the same $/h."),
])  # fmt: skip
def test_the_best_scenario_is_named(after: dict[str, Totals], text: str) -> None:
    compared = [Compared(name, a_difference(after=result)) for name, result in after.items()]
    assert best_sentence(compared) == text
    assert best_sentence([*compared, Compared("waits", None)]) == ""
    assert best_sentence([*compared, Compared("broken", None, "edit 1: no such object")]) == text


def test_drift_decides_between_scenarios_that_are_equal_otherwise() -> None:
    drifts = a_difference(drift_gained=(DriftLine("general-1", "n1", "general", "NodePoolDrifted", "taints"),))
    compared = [Compared("edit", drifts), Compared("none", a_difference(mode=Replay.SCRATCH))]
    assert best_sentence(compared) == ""
    assert best_sentence(compared[:1]) == (
        "None is better than the current cluster; edit next: the same $/h, 1 node would drift,"
        " equally many pending pods."
    )
    assert best_sentence(compared[1:]).startswith("Simulated on an empty cluster: none has the same result")
    assert places([a_difference(), drifts, a_difference()]) == [1, 3, 1]


def test_the_self_check_as_text() -> None:
    assert self_check_text(SelfCheck(())).startswith("there are no launched NodeClaims")
    gone = CheckedClaim("a-1", "n1", "a", "m5.large", Reproduction.NOT_COMPARABLE, "its pods are gone")
    claim = CheckedClaim("b-22", "n2", "b", "m5.xlarge", Reproduction.REPRODUCED, has_same_types=True)
    other = CheckedClaim("c-3", "n3", "c", "c5.large", Reproduction.DIFFERS, "the model takes NodePool d")
    assert "their pods are gone" in self_check_text(SelfCheck((gone,)))
    text = self_check_text(SelfCheck((gone, claim, other)))
    assert text.split("\n")[0] == (
        "of the last 3 NodeClaims 2 can be compared; the model reproduces 1; the pods of 1 are gone"
    )
    assert text.split("\n")[2:5] == [
        "· a-1   a  m5.large   not comparable  its pods are gone",
        "✔ b-22  b  m5.xlarge  reproduced      with the same list of types",
        "✘ c-3   c  c5.large   differs         the model takes NodePool d",
    ]
