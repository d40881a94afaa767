"""The lines of a what-if result: figures, placements, consequences, and details of a line."""

from __future__ import annotations

from msgspec.structs import replace

from karptui.views.row import Tone
from karptui.views.whatif.placements import Detail, ResultLine
from karptui.views.whatif.result import blocker_lines, opened, result_lines
from karptui.views.whatif.totals import beside, figures, pool_lines, short_lines, totals_lines
from karptui.views.wrapping import wrapped_below
from karptui.whatif.difference import BlockerLine
from karptui.whatif.difference_lines import ABSENT, PlaceKind, PodPlace
from karptui.whatif.scenario import Replay
from tests.builders import present, text_of
from tests.views.whatif.differences import (
    GENERAL,
    NOWHERE,
    OLD_NODE,
    BudgetChange,
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


def texts(lines: tuple[ResultLine, ...]) -> list[str]:
    return [text_of(line.pieces).rstrip() for line in lines]


def test_figures_are_marked_as_better_or_worse() -> None:
    after = totals(nodes=64, launched=2, price_per_hour=25.63, pending=0, drifted=48)
    rows = {figure.label: figure for figure in figures(a_difference(after=after))}
    assert (rows["nodes"].delta, rows["nodes"].tone, rows["nodes"].note) == ("+2", Tone.STRONG, "new: 0 → 2")
    assert (rows["$/h"].delta, rows["$/h"].tone, rows["$/h"].note) == ("+0.63", Tone.WARNING, "+2.5%")
    assert (rows["pending"].delta, rows["pending"].tone) == ("-3", Tone.GOOD)
    assert (rows["drifted"].delta, rows["drifted"].tone) == ("+48", Tone.WARNING)


def test_unpriced_nodes_are_a_figure_with_their_maximum_cost() -> None:
    more = totals(unpriced=2, unpriced_at_most_per_hour=0.4)
    same, less, unbounded = (
        figures(a_difference(before=before, after=after))[2]
        for before, after in (
            (more, more),
            (more, totals()),
            (totals(), totals(unpriced=2, unbounded=1, unpriced_at_most_per_hour=0.4)),
        )
    )
    assert (same.label, same.before, same.after, same.note) == ("price n/a", "2", "2", "≤ 0.40 $/h more")
    assert (less.delta, less.tone, less.note) == ("-2", Tone.GOOD, "≤ 0.40 → 0.00 $/h more")
    assert (unbounded.delta, unbounded.note) == ("+2", "")


def test_figures_in_one_line_show_the_changes() -> None:
    after = totals(nodes=64, price_per_hour=25.63, unpriced=1, unpriced_at_most_per_hour=0.4)
    (line,) = short_lines(a_difference(after=after))
    assert text_of(line) == (
        "kept nodes 62 → 64 · $/h 25.00 → 25.63 (+2.5%) · price n/a 0 → 1 (≤ 0.00 → 0.40 $/h more) · pending 3"
        " · drifted 0"
    )


def test_pools_whose_figures_change_are_named() -> None:
    pools = (
        a_pool(nodes_after=49, price_after=17.711, launched_after=1),
        a_pool("spare", nodes_before=0, nodes_after=0, price_before=0.0, price_after=0.0, is_new=True),
        a_pool("old", nodes_after=40, price_after=10.0, is_gone=True),
        a_pool("", nodes_after=47),
        a_pool("same"),
    )
    lines = pool_lines(a_difference(pools=pools))
    assert texts(lines) == [
        "NodePools             nodes             $/h",
        "  general           48 → 49   17.40 → 17.71",
        "  spare                   0            0.00  new",
        "  old               48 → 40   17.40 → 10.00  gone",
        "  not Karpenter's   48 → 47           17.40",
        "  unchanged: same",
    ]
    assert [line.target for line in lines[1:4]] == [("NodePool", name, "") for name in ("general", "spare", "old")]
    assert [text_of(row.pieces).strip() for row in lines[1].details] == [
        "launches 0 → 1", "$/h $17.4000 → $17.7110", "pods of workloads 0",
    ]  # fmt: skip
    assert [row.target for row in lines[-1].details] == [("NodePool", "same", "")]


def test_equal_new_nodes_share_a_line_with_types_in_price_order() -> None:
    claims = (
        a_claim("web/a", types=(a_type(), a_type("m7i.4xlarge", None, zone="", capacity_type="on-demand"))),
        a_claim("web/b", types=(a_type(), a_type("m7i.4xlarge", None, zone="", capacity_type="on-demand"))),
        a_claim("web/c", is_changed=False),
        a_claim("web/d", types=()),
        a_claim("web/e", pool_name="spot", types=(a_type("r5.large", None),), price_per_hour=None),
        a_claim(
            "web/f", pool_name="spot", types=(a_type("r5.large", 0.126),), price_per_hour=None, at_most_per_hour=0.126
        ),
    )
    lines = result_lines(a_difference(claims=claims))
    assert texts(lines) == [
        "New nodes: 6  5 different from now",
        "  + 2 × general  c7i.4xlarge … 2 types from $0.3110  ← web/a, web/b",
        "    general  c7i.4xlarge from $0.3110  ← web/c",
        "  + general  without a type  ← web/d",
        "  + spot  r5.large n/a  ← web/e",
        "  + spot  r5.large n/a, at most $0.1260  ← web/f",
    ]
    details = [text_of(row.pieces) for row in lines[1].details]
    assert details[0].strip() == "requests cpu 2 memory 4Gi, including its DaemonSet pods"
    assert details[1].split() == ["c7i.4xlarge", "$0.3110", "spot", "us-east-1a"]
    assert details[2].split() == ["m7i.4xlarge", "n/a", "on-demand"]
    assert text_of(lines[-1].details[1].pieces).split() == ["r5.large", "≤", "$0.1260", "spot", "us-east-1a"]
    assert [row.strip() for row in details[3:]] == ["node 1: 1 pod", "web/a", "node 2: 1 pod", "web/b"]


def test_pods_that_become_unschedulable_are_first_with_the_complete_reason() -> None:
    lost = (unplaced(was=OLD_NODE), unplaced("trino/worker-1", was=OLD_NODE), unplaced("web/x", owner="", remark=""))
    lines = result_lines(a_difference(no_longer_fit=lost, still_pending=(unplaced("a/b", owner="", was=NOWHERE),)))
    assert texts(lines) == [
        "No longer placed: 3 pods",
        "  ✘ trino/worker (2 pods of the StatefulSet)  was: ip-10-0-8-41",
        "    short by memory 6,846Mi",
        "  ✘ web/x",
        "    short by memory 6,846Mi",
        "Still unschedulable: 1 pod",
        "  ✘ a/b",
        "    short by memory 6,846Mi",
    ]
    assert [text_of(row.pieces).strip() for row in lines[1].details] == [
        "Karpenter's message: no instance type has enough resources",
        "trino/worker-0",
        "trino/worker-1",
    ]
    assert lines[3].details == ()


def test_changes_are_above_pods_that_stay_pending() -> None:
    waits = unplaced("a/b", owner="", was=NOWHERE)
    moved = MoveLine("", OLD_NODE, GENERAL, ("web/x",))
    used = NodeLine("n", "", ("a/c",), False)
    lines = result_lines(a_difference(claims=(a_claim(),), moves=(moved,), still_pending=(waits,), nodes=(used,)))
    assert [line.key for line in lines if line.is_heading] == ["claims", "moves", "pending", "nodes"]


def test_pods_that_fit_now_or_move() -> None:
    lines = result_lines(a_difference(now_fit=(MoveLine("Job/ci/run", NOWHERE, GENERAL, ("ci/run-1", "ci/run-2")),),
                                      moves=(MoveLine("", OLD_NODE, GENERAL, ("web/x",)),
                                             MoveLine("", ABSENT, OLD_NODE, ("web/y",))),
                                      nodes=(NodeLine("ip-10-0-8-41.ec2.internal", "general", ("web/y",), True),
                                             NodeLine("n", "", ("a/b",), False))))  # fmt: skip
    assert texts(lines) == [
        "Placed now: 2 pods",
        "  ✔ ci/run (2 pods of the Job)  → a new node of general",
        "Placed elsewhere: 2 pods",
        "  ~ web/x  ip-10-0-8-41 → a new node of general",
        "  ~ web/y  missing → ip-10-0-8-41",
        "Existing nodes used: 2",
        "  + ip-10-0-8-41  general  ← web/y",
        "    n  ← a/b",
    ]
    assert [text_of(row.pieces).strip() for row in lines[1].details] == [
        "unschedulable → a new node of general: 2 pods",
        "ci/run-1",
        "ci/run-2",
    ]


def test_a_workload_on_many_nodes_is_one_line() -> None:
    other = PodPlace(PlaceKind.NODE, "general", "n2")
    moves = (
        MoveLine("Deployment/web/front", ABSENT, OLD_NODE, ("web/a",)),
        MoveLine("Deployment/web/front", ABSENT, other, ("web/b", "web/c")),
        MoveLine("Deployment/web/front", ABSENT, GENERAL, ("web/d",)),
    )
    lines = result_lines(a_difference(now_fit=moves))
    assert texts(lines) == [
        "Placed now: 4 pods",
        "  ✔ web/front (4 pods of the Deployment)  missing → a new node of general, 2 existing nodes",
    ]
    assert text_of(lines[1].details[2].pieces).strip() == "missing → n2: 2 pods"


def test_drift_is_grouped_by_cause() -> None:
    gained = tuple(
        DriftLine(f"general-{number}", f"n{number}", "general", "NodePoolDrifted", "spec.template.spec.taints changed")
        for number in range(2)
    )
    lost = (DriftLine("spot-1", "n9", "spot", "RequirementsDrifted", "arm64 is allowed again"),)
    lines = result_lines(a_difference(drift_gained=gained, drift_lost=lost))
    assert texts(lines) == [
        "Would drift: 2 NodeClaims  Karpenter replaces them as budgets allow",
        "  ⟳ 2 of general  spec.template.spec.taints changed  NodePoolDrifted",
        "No longer drifted: 1 NodeClaim",
        "  ⟳ 1 of spot  arm64 is allowed again  RequirementsDrifted",
    ]
    assert text_of(lines[1].details[0].pieces).strip() == "general-0  n0"


def test_figures_are_next_to_the_nodepools_in_a_wide_terminal() -> None:
    changed = a_difference(pools=(replace(a_pool(), nodes_after=a_pool().nodes_before + 2),))
    lines, sums = (*pool_lines(changed), ResultLine("trust", ())), totals_lines(changed)
    rows = present(beside(lines, sums, 200))
    pool = f"pool/{changed.pools[0].name}"
    assert [row.key for row in rows] == ["pools", pool, *(f"pools/figures-{n}" for n in range(2, len(sums))), "trust"]
    at = {text_of(row.pieces).index(text_of(line).split()[0]) for row, line in zip(rows[1:], sums[1:], strict=False)}
    assert len(at) == 1, "the figures are aligned in a column"
    assert rows[1].details == lines[1].details
    assert beside(lines, sums, 40) is None
    assert beside((ResultLine("trust", ()),), sums, 200) is None


def test_budgets_and_the_next_command_before_and_after() -> None:
    command = CommandLine("Emptiness", "delete", ("n1",), (), 0.5)
    replace = CommandLine("Drift", "replace", ("n2",), (("general", "m7i.large"),), 0.0)
    open_ended = CommandLine("StaticDrift", "replace", ("n3",), (("general", ""),), None)
    lines = result_lines(a_difference(mode=Replay.NEXT, budgets=(BudgetChange("general", "Drifted", None, 1, None, 0),),
                                      next_before=NextLines((), "every budget is used up"),
                                      next_after=NextLines((command, replace, open_ended))))  # fmt: skip
    assert texts(lines) == [
        "Karpenter's next command, edited  saves $0.5000/h+",
        "    Emptiness: delete n1  saves $0.5000/h",
        "    Drift: replace n2 → m7i.large in general  saves nothing",
        "    StaticDrift: replace n3 → a new node in general",
        "In the current cluster  every budget is used up",
        "Disruption budgets",
        "    general Drifted  no limit → 1 nodes  left now no limit → 0",
    ]
    result = result_lines(a_difference(next_before=NextLines(()), next_after=NextLines((command, replace))))
    assert texts(result)[0] == "Karpenter's next command, edited  saves $0.5000/h"
    unsaid = result_lines(a_difference(next_before=NextLines(()), next_after=NextLines((open_ended,))))
    assert texts(unsaid)[0] == "Karpenter's next command, edited  1 command", "the savings are unknown"
    quiet = result_lines(a_difference(next_before=NextLines(()), next_after=NextLines(())))
    assert texts(quiet) == ["Karpenter's next command, now and edited  nothing to do"], "equal lines are shown once"


def test_a_line_expands_to_its_details_and_long_reasons_are_wrapped() -> None:
    line = ResultLine("a", (("head", Tone.NORMAL),), details=(Detail((("   word word word", Tone.MUTED),)),))
    shown = opened((line,), frozenset({"a"}), 60)
    assert [line.key for line in shown] == ["a", "a#0"]
    assert opened((line,), frozenset(), 60) == (line,)
    why = ResultLine("b", (("    " + "reason " * 12, Tone.NORMAL),), wraps=True)
    rows = opened((why,), frozenset(), 40)
    assert len(rows) > 1
    assert all(text_of(row.pieces).startswith("    r") for row in rows)
    assert wrapped_below((("short", Tone.GOOD),), 40) == ((("short", Tone.GOOD),),)


def test_blockers_are_grouped_by_kind_and_owner() -> None:
    def blocker(**given: str) -> BlockerLine:
        named = {"code": "POD_DND", "node_name": "n1.ec2.internal", "pool_name": "runners", "owner": "Job/ci/x"} | given
        return BlockerLine(**named, object="Pod/ci/x-1", value="true", message="it says so", price_per_hour=1.0)

    gained = (blocker(), blocker(node_name="n2"))
    lost = (blocker(code="UNSYNCED", node_name="", pool_name="", owner=""),)
    lines = blocker_lines(gained, lost)
    assert texts(lines) == [
        "Blockers added: 2",
        "  + do-not-disrupt on 2 nodes of runners  Job/ci/x",
        "Blockers removed: 1",
        "  − no provider ID  it says so",
    ]
    assert text_of(lines[1].details[0].pieces).strip() == "n1  it says so"
    assert [line.target for line in lines] == [None, ("Node", "n1.ec2.internal", ""), None, None]
    assert blocker_lines((), ()) == ()
