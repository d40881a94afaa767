"""Edits of findings: each applies to the demo, and resolves its finding if one edit is enough."""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
from functools import cache
from importlib import resources
from pathlib import Path

import pytest

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding
from karptui.advice.report import advise
from karptui.cli.loading import load
from karptui.cli.parser import build_parser
from karptui.decode.kinds import Kind
from karptui.disruption.analysis_steps import AnalysisSteps
from karptui.provisioning.prepared import Prepared, prepare
from karptui.session.advising import advice_of
from karptui.session.cluster_view import ClusterView
from karptui.session.prepare import base_of
from karptui.sources.demo.source import FILE
from karptui.whatif.edits.apply import apply
from karptui.whatif.situation import WhatIfBase

GONE = ("pool-wildcard-value", "pdb-never-allows", "node-protected", "pool-spot-gate-off", "pod-preferences")
"""Rules whose edit alone resolves the finding."""


@cache
def demo() -> tuple[ClusterView, int, tuple[Finding, ...], WhatIfBase]:
    return found_by("--demo")


@cache
def gate_off() -> tuple[ClusterView, int, tuple[Finding, ...], WhatIfBase]:
    """Return the demo's recording with a feature gate switched off."""
    packed = resources.files("karptui.sources.demo").joinpath(FILE).read_bytes()
    recording = json.loads(gzip.decompress(packed))
    recording["settings"]["FEATURE_GATES"] = "SpotToSpotConsolidation=false"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recording.json"
        path.write_text(json.dumps(recording))
        return found_by("--snapshot", str(path))


def found_by(*words: str) -> tuple[ClusterView, int, tuple[Finding, ...], WhatIfBase]:
    args: argparse.Namespace = build_parser("advice").parse_args(words)
    loaded = load(args, (Kind.NODEPOOL, Kind.NODE, Kind.NODECLAIM, Kind.POD, Kind.NODECLASS, Kind.PDB, Kind.DAEMONSET))
    report, _ = advice_of(loaded.view, loaded.now_ns)
    return loaded.view, loaded.now_ns, report.findings, base_of(loaded.view, loaded.now_ns)


def found_in(prepared: Prepared) -> set[str]:
    steps = AnalysisSteps(prepared, 1)
    for _ in steps.survey():
        pass
    report = advise(AdviceContext(prepared, steps.fleet, findings=steps.analysis.findings))
    return {finding.rule for finding in report.findings}


def test_every_edit_applies() -> None:
    _, _, findings, base = demo()
    proposed = [finding for finding in findings if finding.edits]
    assert len(proposed) >= 6
    for finding in proposed:
        edited = apply(base, finding.edits)
        assert edited.edits == finding.edits


@pytest.mark.parametrize("rule", GONE)
def test_the_edit_resolves_the_finding(rule: str) -> None:
    _, now_ns, findings, base = gate_off() if rule == "pool-spot-gate-off" else demo()
    result = [finding for finding in findings if finding.rule == rule]
    assert result
    edited = apply(base, [edit for finding in result for edit in finding.edits])
    prepared = prepare(edited.inventory, edited.types.types, edited.settings, now_ns)
    assert rule not in found_in(prepared)


@pytest.mark.parametrize(
    ("operators", "written"), [(("in", "EXISTS "), ["In", "Exists"]), (("Equals", "in"), None), (("", "In"), None)]
)
def test_misspelled_operators_are_corrected(
    operators: tuple[str, str], written: list[str] | None, tmp_path: Path
) -> None:
    requirements = [
        {"key": "team", "operator": operators[0], "values": ["a"], "minValues": 1},
        {"key": "zone", "operator": operators[1]},
    ]
    spec = {"template": {"spec": {"requirements": requirements}}}
    pool = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "flex"}, "spec": spec}
    path = tmp_path / "pool.json"
    path.write_text(json.dumps(pool))
    _, _, findings, base = found_by("--snapshot", str(path))
    result = [finding for finding in findings if finding.rule == "pool-unknown-operator"]
    assert result
    if written is None:
        assert not any(finding.edits for finding in result)
        return
    (edited,) = apply(base, result[0].edits).inventory.nodepools
    assert [requirement.operator for requirement in edited.requirements] == written
    assert [(item.values, item.min_values) for item in edited.requirements] == [(("a",), 1), ((), None)]
