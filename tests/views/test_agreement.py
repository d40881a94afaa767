"""All screens and commands agree about each node of the golden fleets."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from karptui.aws.evidence import Evidence
from karptui.cli.explain_node import explain_node
from karptui.cli.loading import Loaded
from karptui.decode.kinds import Kind
from karptui.disruption.analysis_steps import AnalysisSteps, analyse_all
from karptui.disruption.codes import CODES, HOLDS_NOBODY, WhyCode
from karptui.disruption.command import Method
from karptui.session.blockers import blocker_entries
from karptui.session.budgets import budget_entries
from karptui.session.claims import claim_entries
from karptui.session.cluster_view import ClusterView
from karptui.session.nodes import NodeEntry, going_nodes
from karptui.session.row_server import overview_of
from karptui.session.verdict import verdict_of_view
from karptui.verdict.finding import FindingCode
from karptui.views.blockers.columns import TABLE as BLOCKERS
from karptui.views.claims import waiting_on
from karptui.views.next import TABLE as NEXT
from karptui.views.nodes.columns import nodes_table
from karptui.views.nodes.status import node_status
from karptui.views.pods import TABLE as PODS
from karptui.views.why.detail import why_lines
from karptui.views.why.labels import why_code, why_label
from karptui.views.why.lanes import lane_message, short_method
from karptui.views.why.sentences import why_sentence
from tests.builders import present, text_of, texts_of
from tests.builders.clusters import state_of
from tests.goldens_loading import GOLDENS, load, scenarios
from tests.ui.fleet import status

FILES: Final = (
    *sorted((GOLDENS / "karpenter-1.14.1").glob("*.jsonl.gz")),
    GOLDENS / "rules" / "rules-disruption.jsonl.gz",
    *sorted((GOLDENS / "k115").glob("*.jsonl.gz")),
)
EVERY: Final = 1 if os.environ.get("KARPTUI_ALL_GOLDENS") else 19
"""Step through the scenarios: every 19th, or all if KARPTUI_ALL_GOLDENS is set."""
NODES: Final = nodes_table()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.partition(".")[0])
def test_screens_and_commands_agree_about_a_node(path: Path) -> None:
    wrong = {}
    for scenario in list(scenarios(path))[EVERY // 2 :: EVERY]:
        snapshot = scenario["snapshot"]
        if not snapshot.get("disruption"):
            continue
        texts = [*_differences(*_view(snapshot, path.parent))]
        if texts:
            wrong[snapshot["name"]] = texts
    assert wrong == {}


def _view(snapshot: Any, folder: Path) -> tuple[ClusterView, int]:
    """Return the view of an analysed snapshot, and its time."""
    prepared = load(snapshot, folder)
    steps = AnalysisSteps(prepared, 1)
    analyse_all(steps)
    steps.simulate_next_pass()
    given = prepared.given_types
    evidence = Evidence(settings=prepared.settings, instance_types=given if isinstance(given, tuple) else ())
    live = {str(kind): status(kind) for kind in Kind}
    view = ClusterView(state_of(prepared.inventory), live, evidence=evidence, analysis=steps.analysis)
    return view, prepared.now_ns


def _differences(view: ClusterView, now_ns: int) -> Iterator[str]:
    """Yield each contradiction about a node."""
    nodes = [entry for entry in view.node_entries if entry.findings is not None and entry.claim is not None]
    for entry in nodes:
        yield from (f"{entry.name}: {of_node}" for of_node in _of_nodes(entry, now_ns))
        yield from (f"{entry.name}: {text}" for text in _of_detail(entry, now_ns))
        yield from (f"{entry.name}: {of_budget}" for of_budget in _of_budgets(view, entry))
        yield from (f"{entry.name}: {of_pod}" for of_pod in _of_pods(view, entry, now_ns))
    yield from _of_blockers(view, nodes, now_ns)
    yield from _of_claims(view, now_ns)
    yield from _of_next(view, nodes, now_ns)
    yield from _of_verdict(view, nodes, now_ns)


def _of_nodes(entry: NodeEntry, now_ns: int) -> Iterator[str]:
    """Yield contradictions between a node's row, its text and its values."""
    findings = present(entry.findings)
    text, values = why_label(findings.why, now_ns), NODES.values(entry, now_ns)
    drawn = next(column.cell(entry, now_ns).text for column in NODES.columns if column.heading.id == "why")
    sentence = text_of(why_sentence(entry, now_ns))
    if not drawn.startswith(text) or values["why"] != why_code(findings.why, now_ns) or not sentence.startswith(text):
        yield f"WHY is {text}, {drawn}, {values['why']}"
    for lane in findings.lanes:
        told = values["lanes"][lane.method]
        if told["wanted"] is not lane.is_wanted or told["heldBy"] != (lane.code if lane.is_held else ""):
            yield f"lane {lane.method}: {told}"
        if lane.method != Method.MULTI_NODE and "with others" in told["message"]:
            yield f"lane {lane.method} takes one node at a time: {told}"
    if node_status(entry).word == "Disrupting" and findings.why.code is not WhyCode.COMMAND:
        yield f"it is shown as Disrupting, and WHY is {text}"
    if not findings.is_held and values["heldPricePerHour"]:
        yield f"held {values['heldPricePerHour']} by nothing"


def _of_detail(entry: NodeEntry, now_ns: int) -> Iterator[str]:
    """Yield contradictions between a node's detail and its row."""
    result = present(entry.findings)
    told = texts_of(why_lines(entry, None, now_ns))
    for lane in result.lanes:
        message = lane_message(result, lane, now_ns)
        lines = (line for line in told if short_method(lane.method) in line)
        line = next((line for line in lines if line.endswith(message)), "")
        mark = "✘" if lane.is_held else "✔" if lane.goes else "?" if lane.is_wanted else "–"
        if lane.goes and result.why.code is WhyCode.WAITS:
            mark = "…"
        if mark not in line:
            yield f"detail says of {lane.method}: {line!r}, not {mark}"
    if result.why.method and not any(lane.method == result.why.method and lane.is_wanted for lane in result.lanes):
        yield f"WHY is of {result.why.method}, which does not want it"
    gates = sum(line.startswith(" ✘ ") for line in told)
    holding = {blocker.code for blocker in result.blockers if blocker.is_wanted}
    if gates != len(holding):
        yield f"detail has {gates} gates that hold it, not {sorted(holding)}"


def _of_pods(view: ClusterView, entry: NodeEntry, now_ns: int) -> Iterator[str]:
    """Yield contradictions about a pod's protection between Pods, the node's detail and the blockers."""
    findings = present(entry.findings)
    if entry.node is None or entry.is_deleting:
        return
    words = {"POD_DND": "do-not-disrupt", "PDB_MULTIPLE": "PDBs", "PDB_EXHAUSTED": "PDB"}
    blocked = {blocker.object_key: words[blocker.code] for blocker in findings.blockers if blocker.code in words}
    for pod in view.pods_on(entry.name):
        shown = PODS.values(pod, now_ns)["protection"] or ""
        if pod.pod.key in blocked or pod.keeps_node(now_ns):
            told = shown.partition(" ")[0]
            if told != blocked.get(pod.pod.key):
                yield f"{pod.pod.key} is protected by {told}, but blocks by {blocked.get(pod.pod.key)}"
        listed = view.pod_entry(pod.pod.key)
        if listed is None or PODS.values(listed, now_ns)["protection"] != PODS.values(pod, now_ns)["protection"]:
            yield f"{pod.pod.key} is protected otherwise on Pods"


def _of_budgets(view: ClusterView, entry: NodeEntry) -> Iterator[str]:
    """Yield contradictions about the remaining budget between WHY and Budgets."""
    findings = present(entry.findings)
    why = findings.why
    if why.code is not WhyCode.BUDGET:
        return
    reason = Method(why.method).reason
    row = next((item for item in budget_entries(view) if (item.pool.name, item.reason) == (entry.pool, reason)), None)
    state = row.state if row is not None else None
    if state is None or (state.left, state.left, state.allowed) != (0, why.count, why.of):
        yield f"WHY is BUDGET {why.count}/{why.of}, and Budgets has {state}"


def _of_blockers(view: ClusterView, nodes: list[NodeEntry], now_ns: int) -> Iterator[str]:
    """Yield contradictions about blockers between Blockers and the rows of nodes."""
    rows = blocker_entries(view)
    if sum(not entry.is_idle for entry in rows) != overview_of(view).counts["blockers"]:
        yield "the tab of Blockers has another count than its rows"
    for entry in nodes:
        findings = present(entry.findings)
        entries = [entry for entry in rows if entry.findings is findings]
        holding = sorted(entry.blocker.code for entry in entries if not entry.is_idle)
        if holding != sorted(
            blocker.code for blocker in findings.blockers if blocker.is_wanted and blocker.code not in HOLDS_NOBODY
        ):
            yield f"{entry.name}: Blockers has {holding}"
        whys = {CODES[entry.blocker.code].why for entry in entries if not entry.is_idle}
        is_of_blockers = findings.why.method and findings.why.code in {facts.why for facts in CODES.values()}
        if is_of_blockers and findings.why.code not in whys:
            yield f"{entry.name}: WHY is {findings.why.code}, and Blockers has {sorted(whys)}"
        cells = {column.heading.id: column for column in BLOCKERS.columns}
        for item in entries:
            if item.is_idle and (item.held or cells["held"].cell(item, now_ns).text not in ("-", "")):
                yield f"{entry.name}: {item.kind} holds nobody and has a price"


def _of_claims(view: ClusterView, now_ns: int) -> Iterator[str]:
    """Yield contradictions between Claims and the drift blockers of nodes."""
    ages = {entry.claim.name: entry.expires_ns for entry in view.node_entries if entry.claim is not None}
    for claim in claim_entries(view):
        findings = claim.findings
        if ages[claim.claim.name] != claim.expires_ns:
            yield f"{claim.claim.name}: Claims and Nodes differ about when it expires"
        if claim.drifted is None or findings is None or claim.claim.is_deleting or claim.node is None:
            continue
        lane = next((lane for lane in findings.lanes if lane.method == Method.DRIFT), None)
        text, _ = waiting_on(claim, now_ns)
        if lane is None or findings.why.code in (WhyCode.COMMAND, WhyCode.DELETING):
            continue
        held = findings.blockers[lane.blocker].word if lane.is_held and lane.blocker is not None else ""
        if held and not text.startswith(held) and not claim.is_starting:
            yield f"{claim.claim.name}: drift is blocked by {held}, and Claims says {text}"
        if lane.goes and "its turn" not in text:
            yield f"{claim.claim.name}: drift takes it, and Claims says {text}"


def _of_next(view: ClusterView, nodes: list[NodeEntry], now_ns: int) -> Iterator[str]:
    """Yield contradictions about removable nodes between Next and the rows of nodes."""
    report = present(present(view.analysis).next)
    listed = {entry.name: entry for entry in going_nodes(nodes)}
    commanded = {name for command in report.commands for name in command.node_names}
    cells = {column.heading.id: column for column in NEXT.columns}
    for entry in nodes:
        findings = present(entry.findings)
        if findings.why.code in (WhyCode.OK, WhyCode.WAITS) and findings.why.outcome is not None:
            if entry.name not in listed:
                yield f"{entry.name}: {findings.why.code}, and Next does not list it"
            elif not cells["how"].cell(entry, now_ns).text.startswith(str(findings.why.outcome)):
                how = cells["how"].cell(entry, now_ns).text
                yield f"{entry.name}: {why_label(findings.why, now_ns)}, and Next: {how}"
            if (method := cells["method"].cell(entry, now_ns).text).removeprefix("Static") != findings.why.method:
                yield f"{entry.name}: WHY is of {findings.why.method}, Next of {method}"
        if entry.name in commanded and findings.why.code is not WhyCode.OK:
            yield f"{entry.name}: goes next, and WHY is {findings.why.code}"


def _of_verdict(view: ClusterView, nodes: list[NodeEntry], now_ns: int) -> Iterator[str]:
    """Yield contradictions between the cluster's verdict and the rows of nodes."""
    told = {finding.code: finding for finding in verdict_of_view(view, now_ns)}
    by_name = {f"Node/{entry.name}": entry.findings for entry in nodes}
    waiting = [entry.name for entry in nodes if entry.findings and entry.findings.why.code is WhyCode.WAITS]
    if waiting and not told.keys() & {FindingCode.STOPPED, FindingCode.NO_NODEPOOLS}:
        yield f"{waiting} wait, and the verdict does not say for what"
    for key in told[FindingCode.NEXT].objects if FindingCode.NEXT in told else ():
        findings = by_name.get(key)
        if findings is not None and findings.why.code not in (WhyCode.OK, WhyCode.WAITS):
            yield f"{key}: next in the verdict, and WHY is {findings.why.code}"


@pytest.mark.parametrize("family", ["consolidation", "runners", "disruption"])
def test_explain_prints_the_values_of_the_row(family: str) -> None:
    path = GOLDENS / "karpenter-1.14.1" / f"{family}.jsonl.gz"
    wrong = {}
    for scenario in list(scenarios(path))[:: 8 * EVERY]:
        snapshot = scenario["snapshot"]
        view, now_ns = _view(snapshot, path.parent)
        for entry in view.node_entries[:6]:
            unanalysed = ClusterView(view.state, view.statuses, evidence=view.evidence)
            values, _, _ = explain_node(Namespace(name=entry.name), Loaded(unanalysed, now_ns, ()))
            row = NODES.values(entry, now_ns)
            differ = {key: (values[0][key], told) for key, told in row.items() if values[0][key] != told}
            if differ:
                wrong[snapshot["name"], entry.name] = differ
    assert wrong == {}
