"""What users install, and the locked packages of continuous integration."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

import karptui
from tests.builders.files import written
from tools import audit

ROOT = Path(__file__).resolve().parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
STYLES = sorted(path.name for path in (ROOT / "styles").glob("*.tcss"))
LOCKED = (ROOT / ".ci" / "requirements.txt").read_text(encoding="utf-8")


def release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def test_boto3_is_not_one_the_resolver_stepped_back_to() -> None:
    assert release(metadata.version("boto3")) >= (1, 42)


def test_the_top_level_holds_only_what_belongs_there() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=False, capture_output=True, text=True, timeout=60)
    if listed.returncode:
        pytest.skip("not a git checkout")
    names = {line.partition("/")[0] for line in listed.stdout.splitlines()}
    folders = {"benchmarks", "contrib", "deploy", "docs", "karptui", "snapshots", "styles", "tests", "tools"}
    files = {"CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "SECURITY.md"}
    assert names == folders | files | {".ci", ".github", ".gitignore", "flake.nix", "pyproject.toml"}


def test_the_version_has_one_source() -> None:
    assert "version" in PROJECT["project"]["dynamic"]
    assert "version" not in PROJECT["project"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "karptui/__init__.py"
    assert metadata.version("karptui") == karptui.__version__
    as_posixes = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "karptui").rglob("*.py")
        if re.search(r"^__version__\s*=", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert as_posixes == ["karptui/__init__.py"]


def test_the_wheel_has_styles_data_and_typing(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="hatchling is not installed: the wheel cannot be built without a network")
    build = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    result = subprocess.run(
        [sys.executable, "-c", build, str(tmp_path)], cwd=ROOT, check=True, capture_output=True, text=True, timeout=120
    )
    name = result.stdout.split()[-1]
    assert name.startswith(f"karptui-{karptui.__version__}-")
    with zipfile.ZipFile(tmp_path / name) as wheel:
        packed = set(wheel.namelist())
    assert STYLES
    assert {f"karptui/styles/{style}" for style in STYLES} <= packed
    assert "styles" in PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert "karptui/py.typed" in packed
    assert f"karptui-{karptui.__version__}.data/data/share/man/man1/karptui.1" in packed
    code = {path.relative_to(ROOT).as_posix() for path in (ROOT / "karptui").rglob("*.py")}
    data = {path.relative_to(ROOT).as_posix() for path in (ROOT / "karptui/aws/data").iterdir() if path.is_file()}
    assert code | data <= packed
    assert not [name for name in packed if name.startswith(("tests/", "snapshots/", "benchmarks/"))]


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
