"""The cells of the Blockers table and the text below it, on story E."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from karptui.disruption.analysis import NodeFindings, NodeOutlook
from karptui.disruption.codes import Blocker, Code, WhyCode
from karptui.disruption.lanes import Why
from karptui.disruption.node_verdict import Verdict
from karptui.disruption.outlook import Outcome
from karptui.session.blockers import (
    BlockerEntry,
    BlockerGroup,
    BlockerGrouping,
    blocker_entries,
    group_name,
    grouped,
    only_blockers,
)
from karptui.session.cluster_view import ClusterView
from karptui.session.grouping import Folding
from karptui.session.nodes import NodeEntry, going_nodes
from karptui.views.blockers.columns import TABLE
from karptui.views.blockers.sentences import blocker_sentences
from karptui.views.filters import compile_query, parse_query
from karptui.views.next import TABLE as NEXT_TABLE
from karptui.views.row import Tone
from karptui.views.table import Sort, build_rows
from tests.builders import MINUTE_NS, NOW_NS, a_node, a_nodeclaim, present, text_of, texts_of
from tests.views.blockers.headings import headings
from tests.views.why.test_words import analysed


def cells(line: BlockerEntry | BlockerGroup) -> dict[str, str]:
    return {column.heading.id: column.cell(line, NOW_NS).text for column in TABLE.columns}


def of(object_name: str, *, simulates: bool = True) -> BlockerEntry:
    return next(entry for entry in blocker_entries(analysed(simulates=simulates)) if entry.object_name == object_name)


def test_other_blockers_are_named_and_cluster_wide_ones_are_separate() -> None:
    def without(*codes: Code, stays: str = "no") -> str:
        goes = Verdict(Outcome.DELETE, "Drift")
        blockers = tuple(Blocker(code=code, value=str(n), is_wanted=True) for n, code in enumerate(codes))
        outlook = NodeOutlook(now=Verdict(Outcome.NO), lifted=goes, freed=goes, without=(Outcome(stays),))
        findings = NodeFindings("claim/c", "n", "p", why=Why(code=WhyCode.PDB), blockers=blockers, outlook=outlook)
        return cells(BlockerEntry(blockers[0], 0, findings))["without"]

    assert without(Code.PDB_EXHAUSTED) == "blocked (cluster)"
    assert without(Code.PDB_EXHAUSTED, Code.DELETING) == "blocked (cluster)"
    assert without(Code.PDB_EXHAUSTED, Code.BUDGET_ZERO) == "also blocked by budget"
    assert without(Code.PDB_EXHAUSTED, Code.BUDGET_ZERO, Code.NODE_DND) == "also blocked by 2 more"
    assert without(Code.PDB_EXHAUSTED, Code.PDB_EXHAUSTED) == "also blocked by PDB"
    assert without(Code.PDB_EXHAUSTED, Code.BUDGET_ZERO, stays="delete") == "node freed"


def test_a_group_shows_how_many_of_its_nodes_would_be_freed() -> None:
    goes = Verdict(Outcome.DELETE, "Drift")

    def node(
        name: str, *codes: Code, blocked: int = 1, alone: Outcome = Outcome.NO, goes: Verdict = goes
    ) -> list[BlockerEntry]:
        blockers = tuple(Blocker(code=code, is_wanted=True) for code in codes)
        outlook = NodeOutlook(now=Verdict(Outcome.NO), lifted=goes, freed=goes, without=(alone,) * len(codes))
        findings = NodeFindings(name, name, "p", why=Why(code=WhyCode.PDB), blockers=blockers, outlook=outlook)
        return [BlockerEntry(blockers[place], place, findings) for place in range(blocked)]

    def without(*nodes: list[BlockerEntry]) -> str:
        members = tuple(entry for node in nodes for entry in node)
        return cells(BlockerGroup(name="x", members=members, is_folded=True))["without"]

    both = node("two", Code.POD_DND, Code.POD_DND, blocked=2)
    other = node("other", Code.POD_DND, Code.BUDGET_ZERO)
    waits = node("waits", Code.POD_DND)
    unknown = [replace(waits[0], findings=replace(present(waits[0].findings), outlook=None))]
    assert without(both) == "node freed"
    assert without(both, other) == "1 of 2 freed"
    assert without(both, other, unknown) == "1+ of 3 freed"
    assert without(other) == "none freed"
    assert without(waits, other) == "blocked (cluster)"
    assert without(node("alone", Code.POD_DND, Code.BUDGET_ZERO, alone=Outcome.DELETE)) == "node freed"
    assert without(unknown) == "…"
    nobody_knows = node("gone", Code.NODEPOOL_NO_TYPES, goes=Verdict(Outcome.UNKNOWN))
    assert without(nobody_knows) == "unknown"
    assert without(nobody_knows, both) == "1+ of 2 freed"
    assert without(nobody_knows, unknown) == "…"


def test_unknown_outcomes_are_not_shown_as_none() -> None:
    unpriced, unknown = Verdict(Outcome.NO), Verdict(Outcome.UNKNOWN)
    blocker = Blocker(code=Code.NODEPOOL_NO_TYPES, object_kind="NodePool", object_key="x", is_wanted=True)
    outlook = NodeOutlook(now=unpriced, lifted=unknown, freed=unknown, without=(Outcome.UNKNOWN,))
    findings = NodeFindings("n", "n", "p", why=Why(code=WhyCode.NO_TYPES), blockers=(blocker,), outlook=outlook)
    member = BlockerEntry(blocker, 0, findings, NodeEntry(a_node(name="n"), a_nodeclaim(), findings=findings))
    group = BlockerGroup("x", (member,), is_folded=True)
    assert (cells(group)["held"], cells(group)["without"]) == ("n/a", "unknown")
    assert "its savings are unknown" in text_of(blocker_sentences(group.members, NOW_NS)[0])


def test_cluster_wide_and_expired_blockers() -> None:
    whole = BlockerEntry(Blocker(code=Code.UNSYNCED, claim_name="new", until_ns=NOW_NS - MINUTE_NS, is_wanted=True), 0)
    texts = cells(whole)
    assert (texts["object"], texts["held"], texts["without"], texts["left"], texts["since"]) == (
        "new", "0", "-", "over", "n/a",
    )  # fmt: skip
    assert [group_name(whole, grouping) for grouping in BlockerGrouping] == [
        "the cluster", "(no namespace)", "(no NodePool)", "no provider ID", "",
    ]  # fmt: skip
    assert (whole.key, whole.recent_pods, whole.lifted) == ("cluster/UNSYNCED//new", 0, "")


def test_the_heading_of_a_group_sums_up_its_blockers() -> None:
    group = grouped(blocker_entries(analysed()), BlockerGrouping.OWNER, Folding())[0]
    assert isinstance(group, BlockerGroup)
    texts = cells(group)
    assert (texts["kind"], texts["object"], texts["held"], texts["recent_pods"], texts["node"]) == (
        "▾ gitlab/runner", "6 pods do-not-disrupt", "up to $3.02", "5/h", "4 nodes",
    )  # fmt: skip
    assert texts["owner"] == "6 Jobs"
    assert "gitlab/runner: 6 pods (do-not-disrupt) on 4 nodes block up to $3.02/h" in text_of(
        blocker_sentences(group.members, NOW_NS, group.title)[0]
    )
    assert (texts["value"], texts["since"]) == ("", "5h58m")
    same = BlockerGroup("x", tuple(entry for entry in group.members if entry.blocker.value == "true"), is_folded=True)
    assert cells(same)["value"] == "true"
    several = BlockerGroup("x", tuple(BlockerEntry(Blocker(code=code), 0) for code in list(Code)[:4]), is_folded=True)
    assert cells(several)["object"].endswith(" +3")
    assert cells(BlockerGroup("x", (), is_folded=True))["kind"] == "▸ x"
    assert cells(BlockerGroup("x", (), is_folded=True))["object"] == "0 objects"
    lines = grouped(blocker_entries(analysed()), BlockerGrouping.OWNER, Folding())
    assert len(only_blockers(lines)) == 8
    test = compile_query(parse_query("gitlab", TABLE.subject), TABLE.subject, NOW_NS)
    assert test(group)


def idle(node: str, *, is_wanted: bool = False) -> BlockerEntry:
    return BlockerEntry(Blocker(code=Code.BUDGET_ZERO, node_name=node, claim_name=node, object_kind="NodePool",
                                object_key="web", value=node, is_wanted=is_wanted),
                        0)  # fmt: skip


def test_conditions_that_stop_no_method_share_a_row() -> None:
    entries = [idle("a"), idle("b", is_wanted=True), idle("c")]
    lines = grouped(entries, BlockerGrouping.OWNER, Folding())
    assert [cells(line)["kind"] for line in lines] == ["▾ NodePool/web", "  budget", "  ▸ not blocking anything"]
    assert (cells(lines[2])["held"], cells(lines[2])["without"]) == ("-", "")
    assert TABLE.tone(lines[2]) is Tone.MUTED
    opened = grouped(entries, BlockerGrouping.OWNER, Folding(exceptions=frozenset({headings(lines[2:])[0].name})))
    assert [line.key for line in opened[3:]] == [entries[0].key, entries[2].key]
    assert len(grouped(entries, BlockerGrouping.NOTHING, Folding())) == 2
    for grouping, lines_there in ((BlockerGrouping.OWNER, 5), (BlockerGrouping.NOTHING, 4)):
        assert len(grouped(entries, grouping, Folding(is_folded=False, opens_all=True))) == lines_there
        assert len(grouped(entries, grouping, Folding().with_default(is_folded=False))) == lines_there - 2
    assert len(grouped(entries[1:], BlockerGrouping.OWNER, Folding())) == 3
    assert len({line.key for line in lines}) == 3


def test_groups_keep_their_order_while_nothing_changes() -> None:
    first = [entry.key for entry in grouped(blocker_entries(analysed()), BlockerGrouping.OWNER, Folding())]
    assert [entry.key for entry in grouped(blocker_entries(analysed()), BlockerGrouping.OWNER, Folding())] == first
    view = analysed()
    assert view.analysis is not None
    again = {
        key: msgspec.structs.replace(findings, outlook=None, freed_before=findings.freed)
        for key, findings in view.analysis.findings.items()
    }
    waiting = ClusterView(view.state, view.statuses, view, evidence=view.evidence,
                          analysis=msgspec.structs.replace(view.analysis, findings=again, simulated=0))  # fmt: skip
    assert [entry.key for entry in grouped(blocker_entries(waiting), BlockerGrouping.OWNER, Folding())] == first


@pytest.mark.parametrize(("text", "count"), [
    ("kind=do-not-disrupt", 6),
    ("node=*71-204", 2),
    ("pool=batch", 1),
    ("ns=db", 1),
    ("owner=Job*", 6),
    ("object=*postgres*", 1),
    ("value=2h", 1),
    ("without=delete", 4),
    ("held>1", 3),
    ("since>5h", 1),
    ("new>0", 2),
    ("runner", 6),
])  # fmt: skip
def test_filters_match_blockers(text: str, count: int) -> None:
    entries = blocker_entries(analysed())
    test = compile_query(parse_query(text, TABLE.subject), TABLE.subject, NOW_NS)
    assert sum(map(test, entries)) == count


def test_the_text_about_blockers_names_their_nodes_and_cost() -> None:
    def told(*names: str, simulates: bool = True) -> str:
        view = analysed(simulates=simulates)
        members = [entry for entry in blocker_entries(view) if entry.object_name in names]
        return "\n".join(texts_of(blocker_sentences(members, NOW_NS)))

    runner = told("gitlab/runner-7f2c4")
    assert "gitlab/runner-7f2c4 (a pod has karpenter.sh/do-not-disrupt) on 1 node blocks $1.01/h · $736/mo" in runner
    assert "5 pods started on this node in the last hour: it never becomes empty." in runner
    assert "No terminationGracePeriod: the block has no time limit" in told("db/postgres-0")
    mixed = told("db/postgres-0", "gitlab/runner-7f2c4")
    assert "2 pods (PDB, do-not-disrupt) on 2 nodes" in mixed
    assert "; others have none" in mixed
    assert "the budget allows 0 of 1 nodes" in told("batch")
    assert "its savings are being simulated" in told("batch", simulates=False)
    timer = BlockerEntry(Blocker(code=Code.CONSOLIDATE_AFTER, message="it runs", until_ns=NOW_NS + 3 * MINUTE_NS), 0)
    assert "it runs · ends in 3m" in "\n".join(texts_of(blocker_sentences([timer], NOW_NS)))
    job = of("gitlab/runner-7f2c4")
    for code, why in ((Code.NOMINATED, "no method wants the node n1"), (Code.DELETING, "the node n1 is being deleted")):
        idle = BlockerEntry(Blocker(code=code, node_name="n1"), 0, job.findings, job.node)
        assert f"because {why}. Nothing to do." in text_of(blocker_sentences([idle], NOW_NS)[0])


def unseen(line: BlockerEntry | BlockerGroup, *columns: str) -> list[str]:
    return [text_of(fact) for fact in TABLE.facts_without_room(columns, line, NOW_NS)]


EVERY = tuple(column.heading.id for column in TABLE.columns)


def test_columns_that_do_not_fit_are_text_once() -> None:
    assert unseen(of("gitlab/runner-7f2c4"), "since") == ["blocking for 5h58m"]
    assert unseen(of("gitlab/runner-7f2c4"), *EVERY) == [
        "blocking for 5h58m", "owned by Job/gitlab/runner-7f2c4", "value true",
    ]  # fmt: skip
    assert "ends in 48m" in unseen(of("gitlab/runner-1bb0e"), *EVERY)
    assert unseen(of("gitlab/runner-7f2c4")) == []
    group = grouped(blocker_entries(analysed()), BlockerGrouping.OWNER, Folding())[0]
    assert unseen(group, *EVERY) == ["blocking for up to 5h58m", "owned by 6 Jobs"]
    gone = Blocker(code=Code.POD_DND, until_ns=NOW_NS - MINUTE_NS)
    assert unseen(BlockerEntry(gone, 0), "left") == ["is over"]
    timer = Blocker(code=Code.CONSOLIDATE_AFTER, message="it runs", until_ns=NOW_NS + 3 * MINUTE_NS)
    assert unseen(BlockerEntry(timer, 0), "left", "since") == []
    held = of("gitlab/runner-7f2c4")
    assert unseen(held, "recent_pods") == []
    other = BlockerEntry(Blocker(code=Code.NODE_DND), 0, held.findings, held.node)
    assert unseen(other, "recent_pods") == ["5 pods started in the last hour"]


def test_rows_of_removable_nodes() -> None:
    nodes = going_nodes(analysed().node_entries)
    rows = build_rows(NEXT_TABLE, nodes, now_ns=NOW_NS)
    first = [cell.text for cell in rows[0].cells]
    assert (
        first[:5] == ["ip-10-0-90-13", "runners", "r6i.4xlarge", "$1.0080", "$1.0080"] or first[0] == "ip-10-0-71-204"
    )
    for column in NEXT_TABLE.columns:
        assert len(build_rows(NEXT_TABLE, nodes, sort=Sort(column.heading.id), now_ns=NOW_NS)) == 7


def test_held_and_saved_amounts_have_the_currency_of_the_price() -> None:
    node = next(entry for entry in going_nodes(analysed().node_entries) if entry.price is not None)
    held = next(entry for entry in blocker_entries(analysed()) if entry.node is not None and entry.node.key == node.key)
    yuan = msgspec.structs.replace(node, price=msgspec.structs.replace(present(node.price), currency="CNY"))
    assert NEXT_TABLE.column("price").cell(yuan, NOW_NS).text.startswith("¥")
    assert NEXT_TABLE.column("saves").cell(yuan, NOW_NS).text.startswith("¥")
    assert TABLE.column("held").cell(replace(held, node=yuan), NOW_NS).text.startswith("¥")
