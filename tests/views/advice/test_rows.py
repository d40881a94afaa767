"""Rows of the Advice screen: entries, groups, columns, filters, plain values, sentences."""

from __future__ import annotations

from typing import Any

import pytest

from karptui.advice.finding import Finding, Severity
from karptui.advice.report import AdviceReport
from karptui.disruption.analysis import Analysis
from karptui.screens.frame import tab_notes
from karptui.session.advice import AdviceEntry, AdviceGroup, AdviceGrouping, advice_entries, grouped
from karptui.session.cluster_view import NO_VIEW, ClusterView
from karptui.session.facts import advice_around
from karptui.session.grouping import Folding
from karptui.session.overview import overview_of
from karptui.sources.source import Phase, SourceStatus
from karptui.views.advice import OBJECTS_TABLE as OBJECTS
from karptui.views.advice import TABLE, counts_text, detail_lines, finding_sentences, freshness
from karptui.views.query import parse_query
from karptui.views.row import Tone
from karptui.views.table import Sort, build_rows
from karptui.whatif.edits import ObjectRef, SetField
from tests import traps
from tests.builders import NOW_NS, SECOND_NS

POOL = ObjectRef("NodePool", "general")
PDB = ObjectRef("PodDisruptionBudget", "db", "data")
NODE = ObjectRef("Node", "ip-10-0-1-2.ec2.internal")


def a_finding(
    rule: str = "pool-weight-tie",
    severity: Severity = Severity.INFO,
    objects: tuple[ObjectRef, ...] = (POOL,),
    **fields: Any,
) -> Finding:
    given = {"fact": "so it is", "remedy": "do it", **fields}
    return Finding(rule=rule, severity=severity, objects=objects, **given)


def an_entry(**fields: Any) -> AdviceEntry:
    finding = a_finding(**fields)
    return AdviceEntry(finding)


ENTRIES = (
    an_entry(rule="pod-several-pdbs", severity=Severity.ERROR, objects=(PDB, POOL), per_hour=2.5),
    an_entry(rule="node-receives-pods", severity=Severity.WARNING, objects=(NODE, NODE), per_hour=0.4),
    an_entry(),
)


def texts(lines: Any) -> str:
    return "\n".join("".join(text for text, _ in line) for line in lines)


def test_entries_of_a_report() -> None:
    assert advice_entries(None) == ()
    (entry,) = advice_entries(AdviceReport(findings=(a_finding(),)))
    assert (entry.key, entry.object_name, entry.rule.id) == (
        "pool-weight-tie:NodePool/general",
        "general",
        "pool-weight-tie",
    )
    bare = an_entry(objects=())
    assert (bare.first, bare.object_name, bare.key) == (None, "", "pool-weight-tie::so it is")


@pytest.mark.parametrize(
    ("grouping", "names"),
    [
        (AdviceGrouping.SEVERITY, ["error", "warning", "info"]),
        (AdviceGrouping.RULE, ["pod-several-pdbs", "node-receives-pods", "pool-weight-tie"]),
        (AdviceGrouping.OBJECT, ["PodDisruptionBudget data/db", "Node ip-10-0-1-2.ec2.internal", "NodePool general"]),
        (AdviceGrouping.NOTHING, []),
    ],
)
def test_groups(grouping: AdviceGrouping, names: list[str]) -> None:
    lines = grouped(ENTRIES, grouping, Folding())
    assert [line.name for line in lines if isinstance(line, AdviceGroup)] == names
    folded = grouped(ENTRIES, grouping, Folding(is_folded=True, exceptions=frozenset(names[:1])))
    assert [line.key for line in folded] == (
        [f"group/{names[0]}", ENTRIES[0].key, *(f"group/{name}" for name in names[1:])]
        if names
        else [e.key for e in ENTRIES]
    )


def test_a_group_is_as_bad_as_its_worst() -> None:
    group = AdviceGroup("x", ENTRIES[::-1], is_folded=True)
    assert group.severity is Severity.ERROR
    assert counts_text(group.severities) == "1 error, 1 warning, 1 info"
    assert counts_text(()) == ""
    alone = grouped((an_entry(objects=()),), AdviceGrouping.OBJECT, Folding(is_folded=True))
    assert alone[0].key == "group/(no object)"


def test_columns() -> None:
    rows = build_rows(TABLE, ENTRIES, now_ns=NOW_NS)
    cells = [[cell.text for cell in row.cells] for row in rows]
    assert cells[0][:6] == ["✘ error", "PDB", "data/db +1", "two PDBs select a pod", "2.50", "pod-several-pdbs"]
    assert rows[0].cells[2].short == "db +1"
    assert cells[1][2] == "ip-10-0-1-2 +1"
    assert cells[2][4] == "-"
    bare = build_rows(TABLE, (an_entry(objects=()),), now_ns=NOW_NS)[0]
    assert [cell.text for cell in bare.cells[1:3]] == ["-", "-"]


def test_headings_of_groups_are_rows_too() -> None:
    group = AdviceGroup("error", ENTRIES, is_folded=False)
    cells = [column.cell(group, NOW_NS).text for column in TABLE.columns]
    assert cells == ["▾ error", "", "", "1 error, 1 warning, 1 info", "", "", ""]
    assert [column.sort(group) for column in TABLE.columns] == [None] * len(TABLE.columns)
    assert TABLE.subject.text(group) == "error"
    assert all(field.value(group, NOW_NS) is None for field in TABLE.subject.fields.values())


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("severity=error", 1),
        ("rule=pool-*", 1),
        ("kind=NodePool", 2),
        ("object=data/db", 1),
        ("$>1", 1),
        ("so", 3),
        ("keeps filling", 1),
    ],
)
def test_filters(query: str, count: int) -> None:
    rows = build_rows(TABLE, ENTRIES, query=parse_query(query, TABLE.subject), now_ns=NOW_NS)
    assert len(rows) == count


@pytest.mark.parametrize("column", [heading.id for heading in TABLE.headings()])
def test_sorting_by_every_column(column: str) -> None:
    assert len(build_rows(TABLE, (*ENTRIES, an_entry(objects=())), sort=Sort(column), now_ns=NOW_NS)) == 4


def test_only_errors_and_warnings_are_notable() -> None:
    rows = build_rows(TABLE, ENTRIES, is_notable_only=True, now_ns=NOW_NS)
    assert [item.severity for item in rows.items] == [Severity.ERROR, Severity.WARNING]


def test_plain_values() -> None:
    edit = SetField(POOL, ("spec", "weight"), 5)
    values = TABLE.values(an_entry(objects=(PDB, POOL), per_hour=1.0, edits=(edit,)), 0)
    assert values["objects"] == [
        {"kind": "PodDisruptionBudget", "namespace": "data", "name": "db"},
        {"kind": "NodePool", "name": "general"},
    ]
    assert values["edits"] == [
        {
            "edit": "set",
            "object": {"kind": "NodePool", "name": "general", "namespace": ""},
            "path": ("spec", "weight"),
            "value": 5,
        }
    ]
    assert values["docs"] == "docs/advice.md#pool-weight-tie"
    (flat,) = build_rows(TABLE, [an_entry(objects=(PDB, POOL), edits=(edit,))], now_ns=0).flat_values()
    assert flat["objects"] == "PodDisruptionBudget/data/db NodePool/general"
    assert flat["edits"].startswith('[{"edit":"set"')
    assert not any(isinstance(value, list) for value in flat.values())


def test_sentences() -> None:
    assert texts(finding_sentences(ENTRIES[0])) == "✘ so it is\n→ do it"
    assert texts(finding_sentences(AdviceGroup("g", ENTRIES, is_folded=True))) == "g: 1 error, 1 warning, 1 info"
    detail = texts(detail_lines(ENTRIES[0], can_try=True))
    for part in ("two PDBs select a pod", "What to do  do it", "opens the objects", "Why  ", "Source  pkg/utils/pdb"):
        assert part in detail
    tried = an_entry(edits=(SetField(POOL, ("spec", "weight"), 5),))
    assert "ctrl+t tries it in the what-if" in texts(detail_lines(tried, can_try=True))
    assert "f6 tries it in the what-if" in texts(detail_lines(tried, can_try=True, try_key="f6"))
    assert "what-if" not in texts(detail_lines(tried, can_try=False))


def test_hostile_text_is_cleaned() -> None:
    bad = an_entry(fact="a\x1b[31mb", objects=(ObjectRef("NodePool", "x\x1b]0;y"),))
    rows = build_rows(TABLE, (bad,), now_ns=NOW_NS)
    everything = (
        "".join(cell.text for cell in rows[0].cells)
        + texts(finding_sentences(bad))
        + texts(detail_lines(bad, can_try=False))
    )
    assert "\x1b" not in everything


def test_freshness() -> None:
    view = traps.view()
    assert freshness(None, overview_of(view), NOW_NS) == (("the rules are running", Tone.ACTIVE),)
    failed = ClusterView(view.state, view.statuses, view, analysis=Analysis(problem="oh"))
    assert freshness(None, overview_of(failed), NOW_NS) == (("the rules failed: oh", Tone.FAULT),)
    assert freshness(None, overview_of(NO_VIEW), NOW_NS)[0][0].endswith("on their way")
    report = AdviceReport(now_ns=NOW_NS - 5 * SECOND_NS)
    assert freshness(advice_around(report), overview_of(traps.view()), NOW_NS) == (("rules asked 5s ago", Tone.MUTED),)
    partial = AdviceReport(now_ns=NOW_NS, failures=("rule x failed",))
    assert freshness(advice_around(partial), overview_of(traps.view()), NOW_NS) == (
        ("rules asked just now; rule x failed", Tone.FAULT),
    )


def test_the_tab_counts_what_deserves_a_look() -> None:
    view = traps.view()
    assert "advice" not in tab_notes(overview_of(view))
    report = AdviceReport(findings=tuple(entry.finding for entry in ENTRIES))
    assert tab_notes(overview_of(ClusterView(view.state, view.statuses, advice=report)))["advice"] == "2"


def test_objects() -> None:
    rows = build_rows(OBJECTS, tuple(enumerate((POOL, PDB))), now_ns=NOW_NS)
    assert [[cell.text for cell in row.cells] for row in rows] == [
        ["1", "NodePool", "-", "general"],
        ["2", "PodDisruptionBudget", "data", "db"],
    ]
    for heading in OBJECTS.headings():
        assert len(build_rows(OBJECTS, rows.items, sort=Sort(heading.id), now_ns=NOW_NS)) == 2
    for query, count in (("kind=NodePool", 1), ("namespace=data", 1), ("name=general", 1), ("data/db", 1)):
        assert len(build_rows(OBJECTS, rows.items, query=parse_query(query, OBJECTS.subject), now_ns=NOW_NS)) == count


def test_statuses_have_the_phase_that_rules_ask_for() -> None:
    """The words of ``SourceStatus`` and those that decide which kinds are hidden are the same."""
    assert {str(phase) for phase in Phase} >= {"forbidden", "connecting", "syncing", "disconnected"}
    assert SourceStatus.__name__
