"""What continuous integration installs is locked, and `make audit` ends with a sentence."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.builders.files import written
from tools import audit

ROOT = Path(__file__).resolve().parents[2]
LOCKED = (ROOT / ".ci" / "requirements.txt").read_text(encoding="utf-8")


def test_every_dependency_is_locked_in_a_version_that_is_allowed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    versions = dict(re.findall(r"^([a-z0-9._-]+)(?:\[[a-z,]+\])?==([^ ;\\]+)", LOCKED, re.MULTILINE))
    asked = [Requirement(element) for element in (*project["dependencies"], *project["optional-dependencies"]["dev"])]
    assert len(asked) > 25
    for item in asked:
        name = re.sub(r"[-_.]+", "-", item.name).lower()
        assert item.specifier.contains(versions[name]), f"{item}: {versions.get(name)} is locked; make lock"


def test_everything_that_is_locked_has_hashes_and_nothing_names_an_index() -> None:
    entries = re.split(r"\n(?=[a-z0-9])", LOCKED.strip())
    assert [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry] == []
    assert "://" not in LOCKED
    assert "--index" not in LOCKED


SKIPPED = {"name": "a", "skip_reason": "Dependency not found on PyPI and could not be audited: a (1)"}
CLEAN = {"name": "b", "version": "1", "vulns": []}
KNOWN = {"name": "c", "version": "2", "vulns": [{"id": "CVE-1", "fix_versions": ["2.1"]}, {"id": "CVE-2"}]}


def test_what_is_known_is_listed() -> None:
    assert audit.report({"dependencies": [CLEAN, KNOWN]}) == [
        "c 2: CVE-1, CVE-2; fixed in 2.1",
        "audit: 1 of 2 packages have known vulnerabilities",
    ]


def test_silence_is_not_taken_for_safety() -> None:
    (line,) = audit.report({"dependencies": [SKIPPED, SKIPPED]})
    assert line.startswith("audit: none of 2 packages could be checked (Dependency not found on PyPI")
    (line,) = audit.report({"dependencies": [SKIPPED, CLEAN]})
    assert line == "audit: 0 of 1 packages have known vulnerabilities; 1 more could not be checked"


@pytest.mark.parametrize(("body", "line"), [
    ("import time; time.sleep(60)", "audit: no answer within 0.5 s"),
    ("raise SystemExit('no network')", "audit: the packages could not be checked"),
])  # fmt: skip
def test_whatever_happens_it_ends_with_a_sentence(
    body: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(audit, "MOST_SECONDS", 0.5 if "0.5" in line else 60)
    program = written(tmp_path / "pip-audit", f"#!{sys.executable}\n{body}\n")
    program.chmod(0o755)
    audit.main(str(program), "none.txt")
    assert capsys.readouterr().out == f"{line}\n"
