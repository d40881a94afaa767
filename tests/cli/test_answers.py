"""Texts that commands must print on standard output and standard error."""

from __future__ import annotations

import re
import shlex
from argparse import Namespace
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from karptui import __version__
from karptui.cli.many import print_report
from karptui.cli.whatif_scenarios import NamedBase
from karptui.views.pause import TABLE as PAUSE_TABLE
from karptui.views.table import Rows
from tests.cli.conftest import Run
from tests.cli.files import OBJECTS, a_file
from tests.stories import STORIES

A_WEIGHTS: Final = str(Path(__file__).resolve().parents[2] / "docs" / "cases" / "a-weights.yaml")


class Answer(NamedTuple):
    """A command line and parts of its output; a part that begins with ``^`` is a multi-line regular expression."""

    line: str
    """Command line; A_WEIGHTS, STORIES, STORY, SMALL and PODLESS are replaced by paths of snapshots."""
    out: tuple[str, ...] = ()
    err: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    """Texts that neither stream may contain."""
    status: int = 0
    is_empty: bool = False


ANSWERS: Final = {
    "the version": Answer("--version", (f"^karptui {re.escape(__version__)}$",)),
    "NodePools in their order with the reasons beside it": Answer(
        "pools --snapshot A_WEIGHTS", ("^# +NAME +WEIGHT",),
        ("every pod that fits lands here before second is tried",
         "overlap: 5 of 5 pods (100%) match several pools · new nodes from: first 5"), ("cost of all pools",)),
    "what NodePools cost": Answer(
        "pools --demo", err=("cost of all pools: $",), lacks=("no spot prices are known",)),
    "NodePools without prices": Answer("pools --demo --disable-pricing", ("general",), lacks=("$",)),
    "types without prices": Answer(
        "types --snapshot STORIES --pool trino --disable-pricing", ("r5a.8xlarge",), lacks=("$",)),
    "nodes without prices": Answer("nodes --snapshot STORIES --disable-pricing", ("^NAME",), lacks=("$",)),
    "nodes, those that are launching first": Answer(
        "nodes --snapshot SMALL", (r"^NAME +WHY +STATUS +POOL.*\n\(general-abcde\).*\nnode-1 .*\nnode-2 ",)),
    "every column of nodes": Answer("nodes --snapshot SMALL -o wide --no-headers", ("^node-1 .* amd64",)),
    "resources choose columns": Answer(
        "nodes --snapshot SMALL --resources memory", (r"^NAME.* MEM\b",), lacks=("CPU", "PODS")),
    "a cluster without nodes": Answer("nodes --snapshot PODLESS", err=("no nodes",)),
    "a filter that matches no node": Answer(
        "nodes --snapshot SMALL --filter nonsense", err=("none of 3 nodes match",), is_empty=True),
    "a namespace without pods": Answer("pods --demo -n nowhere", err=(r"^none of \d{3} pods match$",), is_empty=True),
    "pending pods with the disagreements below": Answer(
        "pending --snapshot STORY", ("^PODS +REQUESTS", "✘ trino: memory short by 6,846Mi on r5a.8xlarge"),
        ("web/front-7d4-x2kq9: ≠ nominated 30m ago to general-x1, which is gone; still pending",)),
    "a pending pod at length": Answer(
        "explain pod trino/worker-0 --snapshot STORY",
        ("2 pods · trino/worker-{0,1} · 28 cpu 240Gi · pending 14m", "✘ memory short by 6,846Mi on r5a.8xlarge",
         "nodes  3 tried: 3 memory", "kube-scheduler 12s ago, 12 times",
         "What would help: 6 changes tried, one at a time: 5 help",
         "Karpenter's settings: VM_MEMORY_OVERHEAD_PERCENT ≤ 0.0488  → 2 × r5a.8xlarge in trino, $3.6160/h",
         "trino/worker-{0,1}: request at most 238,914Mi (233Gi) of memory")),
    "a pending pod without changes that would help": Answer(
        "explain pod worker-1 --no-remedies --snapshot STORY", ("memory short",), lacks=("What would help",)),
    "a pod that is not pending": Answer(
        "explain pod web/api-1 --snapshot SMALL",
        ("^web/api-1 is not pending: it is on node-1", "`karptui explain node node-1`")),
    "a pod that is not pending, as JSON": Answer(
        "explain pod web/api-1 --snapshot SMALL -o json", ('"turn": "bound"',)),
    "a NodeClaim without a node": Answer("explain node general-abcde --snapshot SMALL", ("(general-abcde)",)),
    "a NodePool at length": Answer(
        "explain pool flex --snapshot STORY", ("* is not a wildcard", "DaemonSets on its new nodes")),
    **{
        f"how pods fill nodes by {by}": Answer(f"packing --demo --by {by}", (f"^─ not Karpenter.*{share}",))
        for by, share in (("cpu", "cpu 3700/3860m 95%"), ("memory", r"memory 5\.4/14\.1Gi 37%"))
    },
    "types with where their prices come from": Answer(
        "types --snapshot STORIES --pool small --types t3a.small,m5.large", ("t3a.small", "m5.large"),
        ("prices: built-in list, 2026-07-06", "no spot prices are known")),
    "the ledger of a type": Answer(
        "types --snapshot STORIES --pool trino --ledger r5a.8xlarge",
        ("239,554", "✘ short by             6,846", "≤ 0.0488", "us-east-1a  $1.8080", "not allowed by the pool")),
    "a forecast, its answer first": Answer(
        "forward STORY", (r"\Astory-d: .*nodes", "  not modelled: ", "  assumed: no spot prices are known")),
    "the churn of the demo": Answer(
        "churn --demo", (r"\AKnown: events since .*\ncreated .*\nremoved .*\npods ", "^POOL +STAY +CREATED +REMOVED")),
    "the churn of the demo without heads": Answer("churn --demo --no-headers", ("^general ",), lacks=("Known:",)),
    "dollars by namespace with the sum, its parts and the rule": Answer(
        "capacity --demo --by namespace --sort-by pods=dsc",
        (r"\A.*/h pods \+ \$.*\nrequests × node price: a core weighs 7\.5 GiB",
         r"^NAMESPACE +PODS +NODES +CPU +MEM +\$/H +SHARE\nDaemonSets and static pods")),
    "a rule of the advice": Answer("advice --explain pool-weight-tie",
                                   ("pool-weight-tie: ", "When it is reported: ", "Why: ", "Source: ", "What to do: ")),
}  # fmt: skip


def is_in(part: str, text: str) -> bool:
    return bool(re.search(part, text, re.MULTILINE)) if part.startswith(("^", "\\A")) else part in text


@pytest.mark.parametrize("name", ANSWERS)
def test_commands_print_the_expected_texts(name: str, story: str, tmp_path: Path, run: Run) -> None:
    answer = ANSWERS[name]
    files = {"STORIES": str(STORIES), "STORY": story, "A_WEIGHTS": A_WEIGHTS, "SMALL": a_file(tmp_path)}
    files["PODLESS"] = a_file(tmp_path, name="podless", objects=OBJECTS[3:4])
    out, err = run(*(files.get(word, word) for word in shlex.split(answer.line)), status=answer.status)
    assert [part for part in answer.out if not is_in(part, out)] == [], out
    assert [part for part in answer.err if not is_in(part, err)] == [], err
    assert [part for part in answer.lacks if part in out + err] == []
    assert not (answer.is_empty and out)


def test_at_most_ten_notes_about_a_cluster_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    named = NamedBase("prod", None, notes=tuple(f"note {number}" for number in range(25)), complaints=("no pods",))
    rows = Rows(PAUSE_TABLE, (), total=0, now_ns=0)
    assert print_report(named, {}, ("removals", rows), ["paused"], args=Namespace(output="json")) == 1
    notes = [line.partition(": ")[2] for line in capsys.readouterr().err.splitlines()]
    assert notes[9:] == ["note 9", "15 more notes are left out", "no pods"]
