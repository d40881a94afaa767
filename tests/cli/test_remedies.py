"""`karptui remedies`: simulated remedies for blockers, in every output format."""

from __future__ import annotations

import csv
import io
import json
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from itertools import groupby

import pytest

from karptui.cli import remedies
from karptui.cli.main import main
from karptui.whatif.remedies.blockers.trial import try_remedies
from tests.cli.conftest import Run
from tests.shared_analyses import answer_once


@pytest.fixture(autouse=True)
def _cached_remedies(monkeypatch: pytest.MonkeyPatch) -> None:
    answer_once(monkeypatch, "karptui.whatif.remedies.blockers.trial.try_remedies", try_remedies)


@cache
def printed(*words: str) -> tuple[str, str]:
    """Return the command's standard output and standard error."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        assert main(["remedies", "--demo=still", *words]) == 0
    return out.getvalue(), err.getvalue()


def output_of(*words: str) -> str:
    return printed(*words)[0]


def test_the_best_remedy_of_each_group_is_first() -> None:
    rows = json.loads(output_of("-o", "json"))
    groups = [(name, [row["place"] for row in result]) for name, result in groupby(rows, lambda row: row["group"])]
    assert len(groups) == len({name for name, _ in groups}) > 3
    assert all(places == list(range(1, len(places) + 1)) for _, places in groups)
    assert all(row["says"].startswith("Best: frees ") for row in rows if row["place"] == 1 and row["freed_nodes"])
    assert all(len(row["freed_nodes"]) <= row["nodes"] for row in rows if row["nodes"] is not None)


def test_one_group_is_described_with_numbers_and_commands() -> None:
    rows = {row["remedy"]: row for row in json.loads(output_of("--of", "gitlab/ci", "-o", "json"))}
    assert {row["group"] for row in rows.values()} == {"gitlab/ci"}
    assert rows["duration"]["title"] == 'do-not-disrupt: "3h"'
    assert 'karpenter.sh/do-not-disrupt: "3h"' in rows["duration"]["text"]
    assert rows["remove_annotation"]["cut_pods"] == 2
    assert rows["priority"]["preempting_pods"] == 0
    assert rows["priority"]["wait_seconds"] is None


def test_remaining_blockers_of_the_nodes_are_named() -> None:
    row = json.loads(output_of("--of", "db/postgres", "-o", "json"))[0]
    assert row["freed_nodes"] == []
    assert {item["by"] for item in row["still_held"]} == {"monitoring/prometheus", "payments/ledger"}
    assert "still blocked by monitoring/prometheus" in row["says"]


def test_table_and_csv_have_the_same_rows() -> None:
    words = ("--filter", "saves>0.5", "--sort-by", "saves=dsc")
    table, rows = (output_of(*words).splitlines(), list(csv.DictReader(io.StringIO(output_of(*words, "-o", "csv")))))
    assert table[0].split()[:2] == ["BLOCKERS", "REMEDY"]
    assert len(table) - 1 == len(rows) > 0
    assert [float(row["saves_per_hour"]) for row in rows] == sorted(
        (float(r["saves_per_hour"]) for r in rows), reverse=True
    )
    assert all(row["title"] in line for row, line in zip(rows, table[1:], strict=True))


def test_remedies_that_free_no_node_are_counted_on_standard_error() -> None:
    every = json.loads(output_of("-o", "json"))
    vain = [row for row in every if not row["freed_nodes"] and not row["preempting_pods"]]
    output, error = printed()
    assert len(output.splitlines()) - 1 == len(every) - len(vain) > 0
    assert f"{len(vain)} remedies that free no node are left out, including all for db/postgres: " in error
    assert "remove the annotation" in output_of("--of", "gitlab/ci")


def test_without_an_effective_remedy_a_message_replaces_the_table(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    every = remedies._tried_remedies
    monkeypatch.setattr(remedies, "_tried_remedies", lambda *given: [row for row in every(*given) if not row.helps])
    shown = run("remedies", "--demo")
    assert shown.out == ""
    assert "no remedy frees a node: " in shown.err
    assert "remedies of db/postgres" in shown.err
    assert "no remedies" not in shown.err
