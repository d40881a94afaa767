"""The compatibility table names the tested versions, and the issue forms ask for existing commands."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from karptui.cli.parser import build_parser, split
from karptui.karpenter.rules import MODELLED

ROOT = Path(__file__).resolve().parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TABLE = (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8")
ROWS = {name: cells for name, *cells in re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", TABLE, re.MULTILINE)}
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
PAGES = (
    "SECURITY.md", "CODE_OF_CONDUCT.md", ".github/pull_request_template.md", ".github/ISSUE_TEMPLATE/wrong-answer.yml",
)  # fmt: skip


def test_the_compatibility_table_names_the_tested_versions() -> None:
    recorded = set(re.findall(r"\d+\.\d+\.\d+", " ".join(path.name for path in (ROOT / "tests/goldens").iterdir())))
    assert len(recorded) > 2
    assert recorded <= set(re.findall(r"\d+\.\d+\.\d+", ROWS["Karpenter"][0]))
    assert all(rules.version.rpartition(".")[0] in TABLE for rules in MODELLED)
    module = (ROOT / "tests/e2e/servers/controlplane/go.mod").read_text(encoding="utf-8")
    (kubernetes,) = re.findall(r"k8s\.io/kubernetes v(\d+\.\d+)", module)
    assert f"kube-apiserver {kubernetes} " in ROWS["Kubernetes"][0]
    (textual,) = (line.partition("==")[2] for line in PROJECT["optional-dependencies"]["dev"] if "textual==" in line)
    assert textual in ROWS["Textual"][0]


def test_the_compatibility_table_names_the_python_versions() -> None:
    declared = {line.rpartition(" ")[2] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)}
    tested, expected = (set(re.findall(r"3\.\d+", cell)) for cell in ROWS["Python"])
    assert tested | expected == declared
    assert tested == {PROJECT["requires-python"].removeprefix(">=")}
    assert not tested & expected
    assert sys.version_info >= (3, 11)


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_an_issue_form_is_complete(path: Path) -> None:
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    if path.stem == "config":
        assert form == {"blank_issues_enabled": True}
        return
    assert {"name", "description", "body"} <= set(form)
    names = [part["id"] for part in form["body"]]
    assert len(set(names)) == len(names) > 0
    assert all(part["attributes"]["label"] for part in form["body"])


@pytest.mark.parametrize("page", PAGES)
def test_commands_in_issue_forms_exist(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for line in re.findall(r"`karptui ([^`]+)`", text):
        command, rest = split(line.split())
        build_parser(command).parse_args(rest)
    targets = re.findall(r"`make (\w+)`", text)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert [target for target in targets if f"\n{target}:" not in makefile] == []
