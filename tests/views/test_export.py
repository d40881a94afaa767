from __future__ import annotations

from karptui.cli.listing import cell
from karptui.decode.kinds import Kind
from karptui.sources.source import Phase
from karptui.views.column import Heading
from karptui.views.row import Cell, Row
from karptui.views.sources import TABLE
from karptui.views.table import Sort, as_csv, build_rows, without_formula
from tests.ui.fleet import MINUTE, NOW_NS, status

HEADINGS = (Heading("name", "NAME"), Heading("hidden", "HIDDEN"), Heading("size", "SIZE", is_right_aligned=True))
ROWS = (Row("a", (Cell("a, b"), Cell("x"), Cell("5"))), Row("b", (Cell('"q"'), Cell("x"), Cell("1,024Mi"))))


def test_csv_quotes_special_characters_and_escapes_formulas() -> None:
    assert as_csv(HEADINGS, ROWS, (0, 2)) == 'name,size\n"a, b",5\n"""q""","1,024Mi"\n'
    formulas = ["=1+1", "@SUM(A1)", "+cmd|' /C calc'!A0", "-2+3+cmd", "\t=1", '=HYPERLINK("x")']
    others = ["-", "-5", "+1.25", "-0.5 $/h", "+3 nodes", "-1,024Mi", "a=b", "x@y", ""]
    assert [without_formula(text) for text in (*formulas, *others)] == [*(f"'{text}" for text in formulas), *others]
    assert cell(formulas[0]) == f"'{formulas[0]}"


def test_sources_are_shown_as_a_table() -> None:
    statuses = [
        status(Kind.POD, Phase.SYNCING, count=5, total_estimate=10),
        status(Kind.NODE, Phase.FORBIDDEN, last_error="list nodes", last_contact_ns=0),
        status(Kind.PDB, Phase.LIVE, count=1200, last_contact_ns=NOW_NS - 5 * MINUTE),
    ]
    rows = build_rows(TABLE, statuses, now_ns=NOW_NS)
    assert [[cell.text for cell in row.cells] for row in rows] == [
        ["Node", "forbidden", "-", "60s", "-", "list nodes"],
        ["Pod", "syncing", "5 of about 10", "60s", "0s ago", "-"],
        ["PodDisruptionBudget", "live", "1,200", "60s", "5m ago", "-"],
    ]
    for column in TABLE.columns:
        build_rows(TABLE, statuses, sort=Sort(column.heading.id), now_ns=NOW_NS)
    assert [row.key for row in build_rows(TABLE, statuses, is_notable_only=True, now_ns=NOW_NS)] == ["Node"]
    subject = TABLE.subject
    assert subject.text(statuses[0]) == "pod syncing"
    assert [field.value(statuses[0], 0) for field in subject.fields.values()] == ["Pod", "syncing"]
