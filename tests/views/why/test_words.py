"""WHY as text: cells, the line below the table, node detail, and the age of the analysis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from karptui.decode.kinds import Kind
from karptui.disruption.analysis import Analysis, NextCommand, NextReport
from karptui.disruption.analysis_steps import AnalysisSteps
from karptui.disruption.codes import Code, WhyCode
from karptui.disruption.lanes import Why
from karptui.disruption.node_verdict import Landing, Replacement, Verdict
from karptui.disruption.outlook import Outcome
from karptui.disruption.repair import HealthDeletion
from karptui.kube.objects import OwnerReference
from karptui.session.budgets import budget_entries
from karptui.session.cluster_view import ClusterView
from karptui.session.nodes import NodeEntry
from karptui.session.prepare import prepare_view
from karptui.session.readiness import left_out, unready_because
from karptui.session.row_server import overview_of
from karptui.sources.source import Phase
from karptui.views.budgets.columns import budgets_table
from karptui.views.budgets.sentences import budget_sentences
from karptui.views.instants import freshness, short_freshness, why_unknown
from karptui.views.next import next_lines, replacement_text
from karptui.views.nodes.sentences import explain_node
from karptui.views.row import Tone
from karptui.views.table import build_rows
from karptui.views.why.detail import landing_cell, why_lines
from karptui.views.why.labels import LABELS, legend, why_cell, why_code, why_label, why_sort, why_words
from karptui.views.why.lanes import lanes_values
from karptui.views.why.sentences import verdict_text, why_sentence
from tests.builders import MINUTE_NS, NOW_NS, SECOND_NS, a_node, a_pod, a_pod_template, an_owner, present, text_of
from tests.story_e import story_view
from tests.ui.fleet import status

NODES = {
    "dnd": "ip-10-0-71-204", "timed": "ip-10-0-90-13", "drain": "ip-10-0-33-7", "pdb": "ip-10-0-12-88",
    "ok": "ip-10-0-8-41", "budget": "ip-10-0-5-160", "nofit": "ip-10-0-44-2",
}  # fmt: skip


def analysed(*, detail: str = "", simulates: bool = True, generation: int | None = None) -> ClusterView:
    view = story_view()
    prepared, notes = prepare_view(view, NOW_NS)
    steps = AnalysisSteps(prepared, view.state.generation if generation is None else generation, notes=notes)
    for _ in steps.survey():
        pass
    if detail:
        steps.compute_detail(detail)
    for key in steps.unsimulated() if simulates else ():
        steps.simulate(key)
    return ClusterView(view.state, view.statuses, view, evidence=view.evidence, analysis=steps.analysis)


@pytest.fixture(scope="module")
def view() -> ClusterView:
    return analysed()


def entry(view: ClusterView, name: str) -> NodeEntry:
    return present(view.node_of(NODES[name]))


@pytest.mark.parametrize(("why", "code", "label"), [
    (Why(code=WhyCode.DND, count=2), "DND×2", "do-not-disrupt ×2"),
    (Why(code=WhyCode.PDB, count=1), "PDB×1", "PDB ×1"),
    (Why(code=WhyCode.NODE_DND, count=1), "NODE-DND", "node do-not-disrupt"),
    (Why(code=WhyCode.AFTER, until_ns=NOW_NS + 3 * MINUTE_NS), "AFTER 3m", "idle 3m left"),
    (Why(code=WhyCode.AFTER), "AFTER due", "idle, due"),
    (Why(code=WhyCode.DRAIN, since_ns=NOW_NS - 12 * MINUTE_NS), "DRAIN 12m", "draining 12m"),
    (Why(code=WhyCode.DRAIN), "DRAIN", "draining"),
    (Why(code=WhyCode.BUDGET, count=0, of=2), "BUDGET 0/2", "budget 0/2"),
    (Why(code=WhyCode.BUDGET, count=0, of=1 << 31), "BUDGET", "budget"),
    (Why(code=WhyCode.SPOT, count=6, of=15), "SPOT 6/15", "spot: 6/15 types"),
    (Why(code=WhyCode.SCORE, score=0.314), "SCORE 0.31", "score 0.31"),
    (Why(code=WhyCode.NODES, count=2), "NODES 2", "needs 2 new nodes"),
    (Why(code=WhyCode.OK, outcome=Outcome.DELETE), "OK→delete", "removable"),
    (Why(code=WhyCode.OK, outcome=Outcome.REPLACE), "OK→replace", "replaceable"),
    (Why(code=WhyCode.UNMANAGED), "n/a", "n/a"),
])  # fmt: skip
def test_scripts_read_a_code_and_users_a_label(why: Why, code: str, label: str) -> None:
    assert (why_code(why, NOW_NS), why_label(why, NOW_NS)) == (code, label)


def test_every_code_has_a_label_and_an_explanation() -> None:
    assert set(LABELS) == set(WhyCode)
    assert len({label for label, _ in legend()}) == len(WhyCode) + 2  # two outcomes of OK, and missing permissions


def test_cells_filter_words_and_sort_order(view: ClusterView) -> None:
    drain = why_cell(entry(view, "drain"), NOW_NS)
    assert (drain.text, drain.short) == ("draining 12m DND", "drain 12m")
    assert why_words(entry(view, "drain"), NOW_NS) == ("DRAIN", "DND", "DRAIN 12m", "draining 12m")
    ordered = sorted(NODES, key=lambda name: present(why_sort(entry(view, name))))
    assert ordered == ["drain", "dnd", "timed", "pdb", "budget", "nofit", "ok"]


def test_cells_before_anything_is_known() -> None:
    bare = story_view()
    assert why_cell(entry(bare, "dnd"), NOW_NS).text == "…"
    assert why_sort(entry(bare, "dnd")) is None
    assert why_words(entry(bare, "dnd"), NOW_NS) == ("",)
    assert why_sentence(entry(bare, "dnd"), NOW_NS) == ()
    unmanaged = NodeEntry(a_node(pool=""), None)
    assert (why_cell(unmanaged, NOW_NS).text, why_words(unmanaged, NOW_NS)) == ("n/a", ("n/a",))
    claim = next(iter(bare.state.nodeclaims.values()))
    assert why_cell(NodeEntry(None, claim), NOW_NS).text == "-"


@pytest.mark.parametrize(("name", "parts"), [
    ("dnd",
     ("gitlab/runner-7f2c4, gitlab/runner-9d0aa have do-not-disrupt (for 5h58m, no end set)",
      "removable once unblocked: delete, saves $1.0080/h (simulated)", "still receives pods: 5 in the last hour")),
    ("timed", ("gitlab/runner-1bb0e has do-not-disrupt (for 72m, 48m left)",)),
    ("pdb", ("db/postgres-0 blocked by db/postgres (start unknown, no end set)",)),
    ("drain", ("draining", "waiting for gitlab/runner-33aa1 (do-not-disrupt)", "forced to end in 23h")),
    ("budget", ("the budget allows 0 of 1 nodes",)),
    ("nofit", ("Not all pods would schedule",)),
    ("ok", ("would be deleted: the pods fit elsewhere, saves $0.7680/h",)),
])  # fmt: skip
def test_the_sentence_about_a_node_names_its_blockers(view: ClusterView, name: str, parts: Sequence[str]) -> None:
    sentence = text_of(why_sentence(entry(view, name), NOW_NS))
    for part in parts:
        assert part in sentence


@pytest.mark.parametrize(("verdict", "text"), [
    (Verdict(Outcome.NO), "stays"),
    (Verdict(Outcome.UNKNOWN), "not known"),
    (Verdict(Outcome.NO, refusal_message="Can't"), "Can't"),
    (Verdict(Outcome.DELETE), "delete"),
    (Verdict(Outcome.DELETE, "Emptiness", 0.5), "would be deleted: it is empty, saves $0.5000/h"),
    (Verdict(Outcome.DELETE, "Drift", 0.5, moved=2), "would be deleted: the pods fit elsewhere, saves $0.5000/h"),
    (Verdict(Outcome.DELETE, "Drift"), "would be deleted: no pod on it has to move"),
    (Verdict(Outcome.DELETE, "Drift", kept=1),
     "would be deleted: Karpenter does not place 1 pod that may not be evicted yet"),
    (Verdict(Outcome.DELETE, "Drift", moved=1, kept=2),
     "would be deleted: 1 pod fits elsewhere, Karpenter does not place 2 pods that may not be evicted yet"),
    (Verdict(Outcome.REPLACE, "Drift"), "would be replaced"),
    (Verdict(Outcome.REPLACE, "Drift", -0.1, is_saving_known=False), "would be replaced"),
    (Verdict(Outcome.REPLACE, "Drift", -0.1, (Replacement("p", ("a",), 0.2, 1),), moved=1, kept=1),
     "would be replaced by a, costs $0.1000/h more; Karpenter does not place 1 pod that may not be evicted yet"),
    (Verdict(Outcome.REPLACE, "Drift", 1e-8, is_first=True),
     "would be deleted before a replacement can exist (terminate-first)"),
    (Verdict(Outcome.REPLACE, "Drift", 0.1, (Replacement("p", ("a", "b", "c"), 0.2, 1),)),
     "would be replaced by a or 2 other types, saves $0.1000/h"),
])  # fmt: skip
def test_the_outcome_of_a_removal_is_named(verdict: Verdict, text: str) -> None:
    assert verdict_text(verdict) == text


def test_lines_of_a_node() -> None:
    close = analysed(detail="claim/runners-1x204")
    text = "\n".join(text_of(line) for line in why_lines(entry(close, "dnd"), present(close.analysis).detail, NOW_NS))
    for part in (
        "preconditions met",
        "✘ protected pods: 2  blocks Multi, Single",
        'gitlab/runner-7f2c4 "true", for 5h58m ◂ named in Karpenter\'s message',
        "disruption budgets  no limit",
        'Karpenter said 11m ago: "Pod has',
    ):
        assert part in text
    assert [text.count(name) for name in ("runner-7f2c4", "runner-9d0aa")] == [3, 1]
    budget = analysed(detail="claim/batch-5x160")
    lines = why_lines(entry(budget, "budget"), present(budget.analysis).detail, NOW_NS)
    assert "✘ disruption budgets  blocks Multi, Single · left: Empty 0 of 0" in "\n".join(map(text_of, lines))
    drain = analysed(detail="claim/runners-x33x7")
    lines = why_lines(entry(drain, "drain"), present(drain.analysis).detail, NOW_NS)
    assert "its end  draining" in "\n".join(map(text_of, lines))


def test_a_lane_counts_pods_that_hold_the_node_in_other_ways() -> None:
    result = entry(analysed(), "dnd")
    assert result.findings is not None
    first = next(blocker for blocker in result.findings.blockers if blocker.object_kind == "Pod" and blocker.is_wanted)
    other = replace(first, code=Code.PDB_MULTIPLE, object_key="a/b")
    held = replace(result, findings=replace(result.findings, blockers=(*result.findings.blockers, other)))
    assert "1 pod blocked by another rule" in "\n".join(map(text_of, why_lines(held, None, NOW_NS)))
    assert "blocked by another rule" not in "\n".join(map(text_of, why_lines(result, None, NOW_NS)))


@pytest.mark.parametrize(("unhealthy", "text", "held_by", "lacks"), [
    (HealthDeletion(NOW_NS, False), "unhealthy: deleted now with its pods, regardless of blockers", "", ""),
    (HealthDeletion(NOW_NS + MINUTE_NS, False), "unhealthy: deleted in 60s with its pods", "", "TOLERATED"),
    (HealthDeletion(NOW_NS, False, is_going=True), "unhealthy: its drain is forced to end now", "", ""),
    (HealthDeletion(NOW_NS, True, is_going=True), ": its drain is not forced to end", "REPAIR_TRIPPED", ""),
    (HealthDeletion(NOW_NS, True), "more than 20% of the nodes: node repair deletes none", "REPAIR_TRIPPED", ""),
    (HealthDeletion(NOW_NS + 1, True), "more than 20% of the nodes: node repair deletes none", "", "TOLERATED"),
])  # fmt: skip
def test_node_repair_has_a_line_next_to_the_methods(
    unhealthy: HealthDeletion, text: str, held_by: str, lacks: str
) -> None:
    result = entry(analysed(), "dnd")
    assert result.findings is not None
    sick = replace(result, findings=replace(result.findings, unhealthy=unhealthy))
    assert text in "\n".join(map(text_of, why_lines(sick, None, NOW_NS)))
    told = present(lanes_values(sick, NOW_NS))["Repair"]
    assert (told["wanted"], told["heldBy"], told["lacks"]) == (not lacks, held_by, lacks)
    assert text in told["message"]
    assert "Repair" not in present(lanes_values(result, NOW_NS))


def test_a_node_of_a_command_is_removed_with_it() -> None:
    result = entry(analysed(), "dnd")
    assert result.findings is not None
    blockers = tuple(
        replace(blocker, code=Code.IN_COMMAND) if blocker.is_wanted else blocker for blocker in result.findings.blockers
    )
    text = "\n".join(
        map(text_of, why_lines(replace(result, findings=replace(result.findings, blockers=blockers)), None, NOW_NS))
    )
    assert "its command is under way  it is removed when that completes" in text
    assert "simulated" not in text


def test_lines_before_anything_is_known() -> None:
    assert "being computed" in text_of(why_lines(entry(story_view(), "dnd"), None, NOW_NS)[1])
    without_node = replace(entry(story_view(), "dnd"), node=None)
    assert text_of(why_lines(without_node, None, NOW_NS)[1]).startswith(" it has no node yet: State shows")
    unmanaged = NodeEntry(a_node(pool=""), None)
    assert "does not manage" in text_of(why_lines(unmanaged, None, NOW_NS)[1])
    text = "\n".join(map(text_of, why_lines(entry(analysed(simulates=False), "dnd"), None, NOW_NS)))
    assert "simulated removal  being computed" in text


@pytest.mark.parametrize(("landing", "owners", "text"), [
    (None, (an_owner(kind="DaemonSet"),), "ends with the node"),
    (None, (an_owner(),), "-"),
    (Landing(error="no\x1b[31m room"), (), "✘ no"),
    (Landing(node_name="ip-1.ec2.internal"), (an_owner(),), "→ ip-1"),
    (Landing(pool_name="general", type_name="m6i.large"), (an_owner(),), "→ new m6i.large in general"),
    (Landing(node_name="ip-1.ec2.internal"), (), "✘ lost: no owner recreates it"),
    (Landing(node_name="ip-1.ec2.internal"), (an_owner(kind="Job"),), "→ ip-1, restarts"),
])  # fmt: skip
def test_landing_places(landing: Landing | None, owners: tuple[OwnerReference, ...], text: str) -> None:
    cell = landing_cell(landing, a_pod(template=a_pod_template(owners=owners)))
    assert cell.text.startswith(text)
    assert "\x1b" not in cell.text


def test_the_age_of_the_analysis_is_shown(view: ClusterView) -> None:
    assert text_of(freshness(overview_of(view), NOW_NS)) == "computed by karptui just now"
    assert short_freshness(overview_of(view)) == ""
    assert text_of(freshness(overview_of(view), NOW_NS + 3 * SECOND_NS)) == "computed by karptui 3s ago"
    behind = analysed(generation=view.state.generation - 2, simulates=False)
    assert text_of(freshness(overview_of(behind), NOW_NS)) == (
        "computed by karptui just now, 2 changes behind, 0 of 8 nodes simulated"
    )
    assert short_freshness(overview_of(behind)) == "2 behind, simulated 0/8"
    assert text_of(freshness(overview_of(story_view()), NOW_NS)) == "being computed"
    assert short_freshness(overview_of(story_view())) == "computing"
    failed = ClusterView(view.state, view.statuses, view, analysis=replace(present(view.analysis), problem="oh"))
    assert text_of(freshness(overview_of(failed), NOW_NS)) == "the newest state could not be analysed: oh"
    assert why_unknown(overview_of(failed)) == "blockers could not be computed: oh"
    assert why_unknown(overview_of(view)) == why_unknown(overview_of(story_view())) == ""


@pytest.mark.parametrize(("kind", "phase", "said_"), [
    (Kind.POD, Phase.SYNCING, "pods are loading"),
    (Kind.POD, Phase.FORBIDDEN, "pods may not be listed"),
    (Kind.NODECLAIM, Phase.NOT_INSTALLED, "Karpenter is not installed"),
    (Kind.NODE, Phase.DISCONNECTED, "nodes are loading"),
    (Kind.PDB, Phase.CONNECTING, "PodDisruptionBudgets are loading"),
    (Kind.NODECLASS, Phase.CONNECTING, "NodeClasses are loading"),
    (Kind.PDB, Phase.FORBIDDEN, ""),
])  # fmt: skip
def test_kinds_that_an_analysis_lacks_are_named(kind: Kind, phase: Phase, said_: str) -> None:
    view = story_view()
    statuses = {**view.statuses, str(kind): status(kind, phase)}
    changed = ClusterView(view.state, statuses, evidence=view.evidence)
    assert said_ in unready_because(changed)
    assert bool(unready_because(changed)) is bool(said_)
    if phase is Phase.FORBIDDEN and not said_:
        assert left_out(changed) == ("PodDisruptionBudgets may not be listed and count as none",)


def without(*kinds: Kind) -> ClusterView:
    """Return the story's cluster for a user who may not list these kinds."""
    view = story_view()
    statuses = {**view.statuses, **{str(kind): status(kind, Phase.FORBIDDEN) for kind in kinds}}
    return ClusterView(view.state, statuses, evidence=view.evidence)


def test_hidden_kinds_are_not_shown_as_loading() -> None:
    hidden = without(Kind.POD)
    assert freshness(overview_of(hidden), NOW_NS) == (("not computed: pods may not be listed", Tone.WARNING),)
    assert why_unknown(overview_of(hidden)) == "blockers are unknown: pods may not be listed"
    assert short_freshness(overview_of(hidden)) == ""
    node = entry(hidden, "dnd")
    assert why_cell(node, NOW_NS).text == "unread"
    budget = budget_entries(hidden)[0]
    assert [cell.text for cell in build_rows(budgets_table(), [budget], now_ns=NOW_NS)[0].cells][2:6] == ["unread"] * 4
    assert "the number left is unknown: pods may not be listed" in text_of(budget_sentences(budget, NOW_NS)[0])
    assert unready_because(ClusterView(story_view().state, {})) == "nodes are loading"


def test_without_nodeclaims_nodes_with_a_nodepool_are_still_managed() -> None:
    view = story_view()
    hidden = without(Kind.NODECLAIM)
    bare = NodeEntry(entry(view, "dnd").node, None, hidden=hidden.hidden)
    assert (why_cell(bare, NOW_NS).text, why_words(bare, NOW_NS)) == ("unread", ("",))
    assert "does not manage" not in text_of(explain_node(bare, NOW_NS))
    other = NodeEntry(replace(present(entry(view, "dnd").node), labels={}), None, hidden=hidden.hidden)
    assert why_cell(other, NOW_NS).text == "n/a"
    assert "does not manage" in text_of(explain_node(other, NOW_NS))


def test_next_as_text(view: ClusterView) -> None:
    def lines(report: NextReport | None, **fields: Any) -> str:
        changed = replace(present(view.analysis), next=report)
        clusterview = ClusterView(view.state, view.statuses, view, analysis=changed)
        return "\n".join(map(text_of, next_lines(present(clusterview.analysis).next, overview_of(clusterview))))

    assert "being computed" in lines(None)
    at = view.state.generation
    assert lines(NextReport(asked=(("Emptiness", 0),), generation=at)) == (
        "Karpenter would do nothing now\nasked: Emptiness 0 candidates"
    )
    closed = lines(NextReport(closed=3, generation=at))
    assert closed == "Karpenter would do nothing now: disruption budgets allow none of 3 nodes to be removed"
    assert "until NodeClaim new has a provider ID" in lines(NextReport(paused_by=("new",), generation=at))
    repaired = lines(NextReport(unhealthy=("ip-1.ec2.internal",), generation=at))
    assert "Node repair deletes ip-1.ec2.internal now: unhealthy" in repaired
    assert "Disruption would do nothing else" in repaired
    assert "the pass ends early: no" in lines(NextReport(error="no", generation=at))
    nextcommand = NextCommand("delete", ("n1",), (), 0.5)
    assert lines(NextReport("Emptiness", "Empty", (nextcommand,), (), generation=at)) == (
        "Next: Emptiness (Empty), saves $0.5000/h\n  delete n1"
    )
    others = tuple(NextCommand("delete", (f"m{i}",), (), 0.5) for i in range(5))
    assert lines(NextReport("Emptiness", "Empty", (nextcommand,), as_likely=others, generation=at)).endswith(
        "\n  or, as likely, m0, m1, m2, m3 and 1 more: Karpenter takes NodePools and equal nodes in a random order"
    )
    smaller = NextCommand("replace", ("o1",), (Replacement("p", ("a",), 0.1, 2),), 0.2)
    mixed = lines(NextReport("Drift", "Drifted", (nextcommand,), as_likely=(*others[:2], smaller), generation=at))
    assert mixed.endswith(
        "\n  or, as likely, m0, m1: Karpenter takes NodePools and equal nodes in a random order"
        "\n  or, as likely, replace o1 → a in p from $0.1000 for 2 pods, saves $0.2000/h"
    )
    several = NextCommand("delete", ("n1", "n2"), (), 1.5)
    assert lines(NextReport("Emptiness", "Empty", (several,), as_likely=others[:1], generation=at)).endswith(
        "\n  or, as likely, m0: Karpenter takes NodePools and equal nodes in a random order"
    )
    command = NextCommand("replace", tuple(f"n{i}" for i in range(9)), (Replacement("p", ("a", "b"), 0.1, 2),), 0.5)
    text = lines(NextReport("Drift", "Drifted", (command,) * 6, (("Drift", 6),), generation=at - 1))
    assert "Next: Drift (Drifted), 6 commands, saves $3.0000/h  (1 change ago; being recomputed)" in text
    assert "replace n0, n1, n2, n3, n4, n5, n6, n7 and 1 more → a or 1 other in p from $0.1000 for 2 pods" in text
    assert "and 2 more" in text
    first = NextCommand("terminate-first", ("n2",), (), None)
    mixed = lines(NextReport("Drift", "Drifted", (nextcommand, first), generation=at))
    assert mixed.startswith("Next: Drift (Drifted), 2 commands, saves $0.5000/h+\n"), (
        "the other node's savings are unknown"
    )
    assert lines(NextReport("Drift", "Drifted", (first,), generation=at)).startswith("Next: Drift (Drifted)\n")
    assert replacement_text(Replacement("p", (), 0.0, 0)) == "a new node of p, from its template"
    static = Replacement("p", ("a", "b"), 0.1, 0, is_from_template=True)
    assert replacement_text(static) == "a or 1 other in p from $0.1000, from its template"


def test_a_new_view_reuses_entries_with_the_same_analysis(view: ClusterView) -> None:
    nodes, pods = view.node_entries, view.pod_entries
    again = ClusterView(view.state, view.statuses, view, evidence=view.evidence, analysis=view.analysis)
    assert again.node_entries == nodes
    assert all(entry is two for entry, two in zip(again.node_entries, nodes, strict=True))
    other = ClusterView(view.state, view.statuses, view, evidence=view.evidence, analysis=Analysis())
    assert other.node_entries is not view.node_entries
    assert other.pod_entries is pods
    assert entry(other, "dnd").findings is None
