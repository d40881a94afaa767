"""karptui without its optional libraries: everything else works, and missing checks are reported."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from karptui.aws.catalogue import instance_type_facts
from karptui.aws.kubelet import expression_results
from karptui.aws.region import FactPhase
from karptui.cli.main import main
from karptui.clock import FrozenClock
from karptui.kube import cel_library
from karptui.kube.cel_library import why_no_cel
from karptui.sources.aws.facts import FactCache
from karptui.sources.aws.source import NOT_INSTALLED, AwsSource
from karptui.whatif.schema import rules
from karptui.whatif.schema.schema import shipped_schemas
from karptui.whatif.schema.validation import _remembered, check
from karptui.whatif.yaml.tree import parse
from tests.aws.builders import a_nodeclass, resolve
from tests.aws.test_kubelet import GATE
from tests.builders import NOW_NS
from tests.builders.files import written

INVALID = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: odd}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: [{key: kubernetes.io/os, operator: In, values: []}]
"""
"""Rejected by a validation rule of the CRD: operator In needs values."""


def forget() -> None:
    why_no_cel.cache_clear()
    rules.fits_pattern.cache_clear()
    _remembered.cache_clear()


@pytest.fixture
def without_cel(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(cel_library, "find_spec", lambda _: None)
    forget()
    yield
    monkeypatch.undo()
    forget()


def test_with_the_cel_library_a_rule_rejects_the_object() -> None:
    assert find_spec("cel_expr_python")
    checked = check(parse(INVALID), shipped_schemas())
    assert [problem.message for problem in checked.problems if "In" in problem.message]
    assert checked.unchecked == ()


@pytest.mark.usefixtures("without_cel")
def test_without_the_cel_library_all_rules_are_unchecked() -> None:
    checked = check(parse(INVALID), shipped_schemas())
    assert checked.problems == ()
    assert len(checked.unchecked) > 5
    assert not rules.Ruling((), checked.unchecked).violations


@pytest.mark.usefixtures("without_cel")
@pytest.mark.parametrize("command", ["plan", "simulate"])
def test_commands_name_the_missing_checks(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = written(tmp_path / "pool.yaml", INVALID)
    edits = tmp_path / "scenario.yaml"
    edits.write_text("name: lighter\nedits:\n- {edit: set, object: NodePool/general, path: spec.weight, value: 1}\n")
    flags = {"plan": ["--horizon", "1m", "-f", str(manifest)], "simulate": ["--scenario", str(edits)]}[command]
    main([command, *flags, "--demo"])
    told = capsys.readouterr().err
    assert told.count("validation rules and patterns of CustomResourceDefinitions are not checked") == 1, told
    assert "install karptui with the extra cel" in told


@pytest.mark.usefixtures("without_cel")
def test_an_ignored_kubelet_expression_is_reported() -> None:
    nodeclass = a_nodeclass(kubelet={"maxPods": "min(20, max_pods)"})
    assert resolve("m5.large", nodeclass, GATE).capacity["pods"].units == 29
    told = expression_results(instance_type_facts()["m5.large"], nodeclass, GATE)
    assert told == {"maxPods": f"min(20, max_pods): not used, {why_no_cel()}"}


def test_aws_is_not_asked_without_boto3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = AwsSource(FactCache(tmp_path), clock=FrozenClock(NOW_NS))

    def absent(*_: Any, **__: Any) -> Any:
        raise ModuleNotFoundError("No module named 'boto3'", name="boto3")

    monkeypatch.setattr("builtins.__import__", _refusing(absent))
    source.use_region("eu-west-1")
    source.step()
    monkeypatch.undo()
    statuses = source.latest().statuses.values()
    assert {status.phase for status in statuses} == {FactPhase.UNAVAILABLE}
    assert {status.sentence for status in statuses} == {NOT_INSTALLED}


def _refusing(absent: Any) -> Any:
    real = __import__

    def importing(name: str, *given: Any, **more: Any) -> Any:
        return absent() if name == "karptui.sources.aws.questions" else real(name, *given, **more)

    return importing
