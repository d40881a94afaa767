"""`karptui types CASE`."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import pytest

from karptui.cli.main import main

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
    return main(["types", *arguments])


def test_json_has_integers_in_named_units(case_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(case_file), "-o", "json", "--types", "r5a.8xlarge, m5.large") == 0
    made = json.loads(capsys.readouterr().out)
    assert list(made["types"]) == ["m5.large", "r5a.8xlarge"]
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
    assert lines[1].split()[-3:] == ["0.0510", "-", "yes"]
    assert lines[2].split()[-2:] == ["n/a", "-"]
    assert lines[3].split() == ["r5a.8xlarge", "32", "262144", "31850", "239554", "234", "1.8080", "us-east-1a"]
    assert lines[-1] == "prices: us-east-1 list price of 2026-07-20, on demand; no spot prices are known"


def test_csv_has_the_columns_names(case_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(case_file), "--types", "m5.large", "-o", "csv") == 0
    heading, row = csv.reader(io.StringIO(capsys.readouterr().out))
    assert dict(zip(heading, row, strict=True))["allocatable_memory_mib"] == "6903"


def names(text: str) -> list[str]:
    return [row["name"] for row in csv.DictReader(io.StringIO(text))]


def test_what_is_not_known_is_an_empty_cell(case_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(case_file), "--types", "p5e.48xlarge", "-o", "csv") == 0
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (row["on_demand_price_per_hour"], row["offered_in"], row["ruled_out"]) == ("", "", "")


def test_filter_order_and_header_in_every_form(case_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    some = (str(case_file), "--types", "a1.large,m5.large,m5.xlarge,m5.2xlarge")
    chosen = (*some, "--filter", "family=m5 $<0.3", "--sort-by", "mem=dsc")
    assert run(*chosen, "-o", "csv") == 0
    text = capsys.readouterr().out
    assert names(text) == ["m5.xlarge", "m5.large"]
    assert run(*chosen, "-o", "csv", "--no-headers") == 0
    assert capsys.readouterr().out == text.partition("\n")[2]
    assert run(*chosen, "-o", "json") == 0
    assert list(json.loads(capsys.readouterr().out)["types"]) == ["m5.xlarge", "m5.large"]
    assert run(*some, "--filter", "out=yes", "-o", "json") == 0
    assert json.loads(capsys.readouterr().out)["incompatible"] == ["a1.large"]
    assert run(*chosen, "--no-headers") == 0
    first, second, _ = capsys.readouterr().out.splitlines()
    assert (first.split()[0], second.split()[0]) == ("m5.xlarge", "m5.large")
    assert run(*some, "--filter", "zone=us-east-1a cpu>2 mem>4Gi pods>=58 m5.", "-o", "csv") == 0
    assert names(capsys.readouterr().out) == ["m5.2xlarge", "m5.xlarge"]


@pytest.mark.parametrize("column", ["name", "vcpu", "adv", "cpu", "mem", "pods", "od", "offered", "out"])
def test_every_column_orders(column: str, case_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    order = (str(case_file), "--types", "a1.large,r5a.8xlarge", "-o", "csv", "--sort-by")
    assert run(*order, column) == 0
    rising = names(capsys.readouterr().out)
    assert run(*order, f"{column}=dsc") == 0
    # One of them is not ruled out at all, and comes last either way.
    assert (names(capsys.readouterr().out) == rising[::-1]) is (column != "out")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--filter", "nosuch=1"], "no field is called nosuch"),
        (["--sort-by", "nosuch"], "--sort-by: there is no column nosuch"),
        (["--pool", "general"], "--pool is about a cluster: it does not go with CASE"),
        (["--all"], "--all is about a cluster"),
        (["--demo"], "--demo is about a cluster"),
        (["--context", "x"], "--context is about a cluster"),
        (["--no-aws"], "--no-aws is about a cluster"),
        (["--price-multiplier", "0"], "--price-multiplier is about a cluster"),
    ],
)
def test_flags_without_effect_are_refused(
    words: list[str], sentence: str, case_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(str(case_file), *words) == 2
    said = capsys.readouterr()
    assert (said.out, sentence in said.err) == ("", True)


def test_yaml(case_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "case.yaml"
    path.write_text(f"# a comment\nnodeClass: {json.dumps(CASE['nodeClass'])}\n")
    assert run(str(path), "--types", "m5.large") == 0
    assert "m5.large" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: 1\n---\nb: 1\n", "holds 2 documents; a case is one"),
    ],
)
def test_documents_that_are_no_case(
    text: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "case.yaml"
    path.write_text(text)
    assert run(str(path)) == 2
    assert f"{path}" in (said := capsys.readouterr().err)
    assert sentence in said


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
        ("{", "is cut off: the JSON ends early"),
        ("[]", "document: must be an object, is a list"),
        (
            '{"region": "us-east-1", "nodeClass": {"spec": {"kubelet": {"podsPerCore": "x"}}}}',
            "EC2NodeClass : spec.kubelet.podsPerCore",
        ),
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


def test_a_nodeclass_without_types_is_an_answer_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "case.json"
    kubelet = {"podsPerCore": "4"}
    path.write_text(json.dumps({"region": "us-east-1", "nodeClass": {"spec": {"kubelet": kubelet}}}))
    assert run(str(path), "-o", "json") == 1
    output = capsys.readouterr()
    made = json.loads(output.out)
    assert made["types"] == {}
    assert made["answers"]["error"].endswith("is text: write it without quotes: Karpenter finds no instance types")
    assert made["answers"]["kubelet"]["parseError"].startswith("json: cannot unmarshal string into Go struct field")
    assert made["answers"]["hash"]["version"] == "v6"
    assert "finds no instance types" in output.err


def test_a_missing_file_and_an_unknown_type(
    tmp_path: Path, case_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(str(tmp_path / "none.json")) == 2
    assert run(str(case_file), "--types", "m5.tiny") == 2
    assert "the catalogue has no m5.tiny" in capsys.readouterr().err
