"""Rows of the Advice screen: entries, groups, columns, filters, values, texts."""

from __future__ import annotations

from typing import Any

import pytest

from karptui.advice.finding import Finding, Severity
from karptui.advice.report import AdviceReport
from karptui.disruption.analysis import Analysis
from karptui.session.advice import AdviceEntry, AdviceGroup, AdviceGrouping, advice_entries, grouped
from karptui.session.cluster_view import ClusterView
from karptui.session.facts import advice_around
from karptui.session.grouping import Folding
from karptui.session.row_server import overview_of
from karptui.state.cluster import EMPTY
from karptui.views.advice import OBJECTS_TABLE as OBJECTS
from karptui.views.advice import TABLE, detail_lines, finding_sentences, freshness
from karptui.views.filters import parse_query
from karptui.views.row import Tone
from karptui.views.table import Sort, build_rows
from karptui.whatif.edits import ObjectRef, SetField
from tests import traps
from tests.builders import NOW_NS, SECOND_NS
from tests.stories import plain_text

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


def test_entries_of_a_report() -> None:
    assert advice_entries(None) == ()
    (entry,) = advice_entries(AdviceReport(findings=(a_finding(),)))
    assert (entry.key, entry.object_name, entry.rule.id) == (
        "pool-weight-tie:NodePool/general", "general", "pool-weight-tie",
    )  # fmt: skip
    bare = an_entry(objects=())
    assert (bare.first, bare.object_name, bare.key) == (None, "", "pool-weight-tie::so it is")


@pytest.mark.parametrize(("grouping", "names"), [
    (AdviceGrouping.SEVERITY, ["error", "warning", "info"]),
    (AdviceGrouping.RULE, ["pod-several-pdbs", "node-receives-pods", "pool-weight-tie"]),
    (AdviceGrouping.OBJECT, ["PodDisruptionBudget data/db", "Node ip-10-0-1-2.ec2.internal", "NodePool general"]),
    (AdviceGrouping.NOTHING, []),
])  # fmt: skip
def test_findings_are_grouped_and_folded(grouping: AdviceGrouping, names: list[str]) -> None:
    lines = grouped(ENTRIES, grouping, Folding())
    assert [line.name for line in lines if isinstance(line, AdviceGroup)] == names
    folded = grouped(ENTRIES, grouping, Folding(is_folded=True, exceptions=frozenset(names[:1])))
    assert [line.key for line in folded] == (
        [f"group/{names[0]}", ENTRIES[0].key, *(f"group/{name}" for name in names[1:])]
        if names
        else [e.key for e in ENTRIES]
    )


def test_columns_show_severity_objects_and_cost_of_a_finding() -> None:
    rows = build_rows(TABLE, ENTRIES, now_ns=NOW_NS)
    cells = [[cell.text for cell in row.cells] for row in rows]
    assert cells[0][:6] == ["✘ error", "PDB", "data/db +1", "two PDBs select a pod", "2.50", "pod-several-pdbs"]
    assert rows[0].cells[2].short == "db +1"
    assert cells[1][2] == "ip-10-0-1-2 +1"
    assert cells[2][4] == "-"
    bare = build_rows(TABLE, (an_entry(objects=()),), now_ns=NOW_NS)[0]
    assert [cell.text for cell in bare.cells[1:3]] == ["-", "-"]


@pytest.mark.parametrize(("query", "count"), [
    ("severity=error", 1),
    ("rule=pool-*", 1),
    ("kind=NodePool", 2),
    ("object=data/db", 1),
    ("$>1", 1),
    ("so", 3),
    ("keeps filling", 1),
])  # fmt: skip
def test_filters_match_findings(query: str, count: int) -> None:
    rows = build_rows(TABLE, ENTRIES, query=parse_query(query, TABLE.subject), now_ns=NOW_NS)
    assert len(rows) == count


def test_the_detail_of_a_finding_has_its_remedy_reason_and_source() -> None:
    assert plain_text(finding_sentences(ENTRIES[0])) == "✘ so it is\n→ do it"
    assert plain_text(finding_sentences(AdviceGroup("g", ENTRIES, is_folded=True))) == "g: 1 error, 1 warning, 1 info"
    detail = plain_text(detail_lines(ENTRIES[0], can_try=True))
    for part in ("two PDBs select a pod", "What to do  do it", "opens the objects", "Why  ", "Source  pkg/utils/pdb"):
        assert part in detail
    tried = an_entry(edits=(SetField(POOL, ("spec", "weight"), 5),))
    assert "ctrl+t tries it in the what-if" in plain_text(detail_lines(tried, can_try=True))
    assert "f6 tries it in the what-if" in plain_text(detail_lines(tried, can_try=True, try_key="f6"))
    assert "what-if" not in plain_text(detail_lines(tried, can_try=False))


def test_hostile_text_is_cleaned() -> None:
    bad = an_entry(fact="a\x1b[31mb", objects=(ObjectRef("NodePool", "x\x1b]0;y"),))
    rows = build_rows(TABLE, (bad,), now_ns=NOW_NS)
    everything = (
        "".join(cell.text for cell in rows[0].cells)
        + plain_text(finding_sentences(bad))
        + plain_text(detail_lines(bad, can_try=False))
    )
    assert "\x1b" not in everything


def test_the_age_of_the_advice_or_its_failure_is_shown() -> None:
    view = traps.view()
    assert freshness(None, overview_of(view), NOW_NS) == (("the rules are running", Tone.ACTIVE),)
    failed = ClusterView(view.state, view.statuses, view, analysis=Analysis(problem="oh"))
    assert freshness(None, overview_of(failed), NOW_NS) == (("the rules failed: oh", Tone.FAULT),)
    assert freshness(None, overview_of(ClusterView(EMPTY, {})), NOW_NS)[0][0].endswith("loading")
    report = AdviceReport(now_ns=NOW_NS - 5 * SECOND_NS)
    assert freshness(advice_around(report), overview_of(traps.view()), NOW_NS) == (
        ("rules evaluated 5s ago", Tone.MUTED),
    )
    partial = AdviceReport(now_ns=NOW_NS, failures=("rule x failed",))
    assert freshness(advice_around(partial), overview_of(traps.view()), NOW_NS) == (
        ("rules evaluated just now; rule x failed", Tone.FAULT),
    )


def test_objects_of_a_finding_can_be_sorted_by_each_column() -> None:
    rows = build_rows(OBJECTS, tuple(enumerate((POOL, PDB))), now_ns=NOW_NS)
    assert [[cell.text for cell in row.cells] for row in rows] == [
        ["1", "NodePool", "-", "general"],
        ["2", "PodDisruptionBudget", "data", "db"],
    ]
    for heading in OBJECTS.headings():
        assert len(build_rows(OBJECTS, rows.items, sort=Sort(heading.id), now_ns=NOW_NS)) == 2
    for query, count in (("kind=NodePool", 1), ("namespace=data", 1), ("name=general", 1), ("data/db", 1)):
        assert len(build_rows(OBJECTS, rows.items, query=parse_query(query, OBJECTS.subject), now_ns=NOW_NS)) == count
