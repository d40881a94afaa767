"""`karptui types CASE`."""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
from pathlib import Path

import pytest

from karptui.cli import types

CASE = {
    "settings": {"VM_MEMORY_OVERHEAD_PERCENT": 0.075},
    "nodeClass": {
        "metadata": {"name": "default"},
        "spec": {"amiSelectorTerms": [{"alias": "al2023@latest"}]},
        "status": {"subnets": [{"zone": "us-east-1a", "zoneID": "use1-az4"}]},
    },
}


@pytest.fixture
def case_file(tmp_path: Path) -> Path:
    path = tmp_path / "case.json"
    path.write_text(json.dumps(CASE))
    return path


def run(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    types.configure(parser)
    return types.run(parser.parse_args(arguments))


def test_json_has_integers_in_named_units(case_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(case_file), "-o", "json", "--types", "r5a.8xlarge, m5.large") == 0
    made = json.loads(capsys.readouterr().out)
    assert list(made["types"]) == ["r5a.8xlarge", "m5.large"]
    assert made["types"]["r5a.8xlarge"]["allocatable"]["memoryBytes"] == 239_554 << 20


def test_the_table_names_the_source_of_its_prices(case_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(case_file), "--types", "r5a.8xlarge,a1.large,p5e.48xlarge") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == [
        "NAME",
        "VCPU",
        "MEM",
        "Mi",
        "ALLOC",
        "CPU",
        "m",
        "ALLOC",
        "MEM",
        "Mi",
        "PODS",
        "$/H",
        "OFFERED",
        "IN",
        "RULED",
        "OUT",
    ]
    assert lines[1].split() == ["r5a.8xlarge", "32", "262144", "31850", "239554", "234", "1.8080", "us-east-1a"]
    assert lines[2].split()[-3:] == ["0.0510", "-", "yes"]
    assert lines[3].split()[-2:] == ["n/a", "-"]
    assert lines[-1] == "prices: us-east-1 list price of 2026-07-06, on demand; no spot prices are known"


def test_csv_has_the_columns_names(case_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(case_file), "--types", "m5.large", "-o", "csv") == 0
    heading, row = csv.reader(io.StringIO(capsys.readouterr().out))
    assert dict(zip(heading, row, strict=True))["allocatable_memory_mib"] == "6903"


def test_gzip_and_standard_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = tmp_path / "case.json.gz"
    packed.write_bytes(gzip.compress(json.dumps(CASE).encode()))
    assert run(str(packed), "--types", "m5.large") == 0
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(packed.read_bytes())))
    assert run("-", "--types", "m5.large") == 0
    first, second = capsys.readouterr().out.split("NAME")[1:]
    assert first == second


def test_assumptions_are_said_on_standard_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "case.json"
    path.write_text(json.dumps({**CASE, "zones": [{"name": "us-east-1a"}], "nodeClass": {"spec": {}}}))
    assert run(str(path), "--types", "m5.large") == 0
    assert "status.subnets is empty" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", "is not a JSON document"),
        ("[]", "document: expected `object`, got `array`"),
        ('{"nodeClass": {"spec": {"kubelet": {"maxPods": "x"}}}}', "EC2NodeClass : spec.kubelet.maxPods"),
    ],
)
def test_what_cannot_be_read_is_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, sentence: str
) -> None:
    path = tmp_path / "case.json"
    path.write_text(content)
    assert run(str(path)) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert sentence in output.err


def test_a_missing_file_and_an_unknown_type(
    tmp_path: Path, case_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(str(tmp_path / "none.json")) == 2
    assert run(str(case_file), "--types", "m5.tiny") == 2
    assert "the catalogue has no m5.tiny" in capsys.readouterr().err
