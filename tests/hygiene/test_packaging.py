"""What users install, the locked packages of continuous integration, and a dry run of a release."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

import karptui
from tests.builders.files import written
from tools import audit
from tools import release as release_tool

ROOT = Path(__file__).resolve().parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
STYLES = sorted(path.name for path in (ROOT / "styles").glob("*.tcss"))
LOCKED = (ROOT / ".ci" / "requirements.txt").read_text(encoding="utf-8")
URL = "https://example.invalid/v1"
ARCHIVES = {f"karptui-{karptui.__version__}-{name}.tar.gz": name.encode() for name in ("linux-amd64", "darwin-arm64")}
FLAKE = ("dependencies", "build-system")
LOG = "# Changelog\n\n## [Unreleased]\n{}\n## [1.1.0] - 2026-01-01\n\n- new\n\n## [1.0.0]\n\n- old\n"


def release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def test_boto3_is_recent() -> None:
    assert release(metadata.version("boto3")) >= (1, 42)


def test_the_top_level_has_only_expected_files() -> None:
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


def test_every_dependency_is_locked_in_an_allowed_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    versions = dict(re.findall(r"^([a-z0-9._-]+)(?:\[[a-z,]+\])?==([^ ;\\]+)", LOCKED, re.MULTILINE))
    asked = [Requirement(element) for element in (*project["dependencies"], *project["optional-dependencies"]["dev"])]
    assert len(asked) > 25
    for item in asked:
        name = re.sub(r"[-_.]+", "-", item.name).lower()
        assert item.specifier.contains(versions[name]), f"{item}: {versions.get(name)} is locked; make lock"


def test_locked_packages_have_hashes_and_name_no_index() -> None:
    entries = re.split(r"\n(?=[a-z0-9])", LOCKED.strip())
    assert [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry] == []
    assert "://" not in LOCKED
    assert "--index" not in LOCKED


SKIPPED = {"name": "a", "skip_reason": "Dependency not found on PyPI and could not be audited: a (1)"}
CLEAN = {"name": "b", "version": "1", "vulns": []}
KNOWN = {"name": "c", "version": "2", "vulns": [{"id": "CVE-1", "fix_versions": ["2.1"]}, {"id": "CVE-2"}]}


def test_known_vulnerabilities_are_listed() -> None:
    assert audit.report({"dependencies": [CLEAN, KNOWN]}) == [
        "c 2: CVE-1, CVE-2; fixed in 2.1",
        "audit: 1 of 2 packages have known vulnerabilities",
    ]


def test_unchecked_packages_are_reported() -> None:
    (line,) = audit.report({"dependencies": [SKIPPED, SKIPPED]})
    assert line.startswith("audit: none of 2 packages could be checked (Dependency not found on PyPI")
    (line,) = audit.report({"dependencies": [SKIPPED, CLEAN]})
    assert line == "audit: 0 of 1 packages have known vulnerabilities; 1 more could not be checked"


@pytest.mark.parametrize(("body", "line"), [
    ("import time; time.sleep(60)", "audit: no answer within 0.5 s"),
    ("raise SystemExit('no network')", "audit: the packages could not be checked"),
])  # fmt: skip
def test_a_failing_audit_prints_one_message(
    body: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(audit, "MOST_SECONDS", 0.5 if "0.5" in line else 60)
    program = written(tmp_path / "pip-audit", f"#!{sys.executable}\n{body}\n")
    program.chmod(0o755)
    audit.main(str(program), "none.txt")
    assert capsys.readouterr().out == f"{line}\n"


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a dry run, with the archives of two other platforms."""
    pytest.importorskip("hatchling", reason="hatchling is not installed: nothing can be built without a network")
    if subprocess.run(["git", "rev-parse"], cwd=ROOT, capture_output=True, check=False).returncode:
        pytest.skip("not a git checkout")
    folder = tmp_path_factory.mktemp("dist")
    for name, content in ARCHIVES.items():
        (folder / name).write_bytes(content)
    assert release_tool.main([karptui.__version__, "--dry-run", "--out", str(folder), "--url", URL]) == 0
    return folder


def test_checksums_cover_all_files(out: Path) -> None:
    lines = (out / "SHA256SUMS").read_text().splitlines()
    told = {name: total for total, _, name in (line.partition("  ") for line in lines)}
    assert told == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in out.iterdir() if path.name != "SHA256SUMS"
    }
    assert {"karp.yaml", "karptui.rb", "karptui.cdx.json", "NOTES.md", *ARCHIVES} < set(told)
    assert {Path(name).suffix for name in told} >= {".whl", ".gz"}


def test_a_second_run_gives_identical_files(out: Path, tmp_path: Path) -> None:
    assert release_tool.main([karptui.__version__, "--dry-run", "--out", str(tmp_path)]) == 0
    again = [path for path in tmp_path.iterdir() if path.name != "SHA256SUMS"]
    assert len(again) == 4
    assert [path.name for path in again if path.read_bytes() != (out / path.name).read_bytes()] == []


def test_the_index_page_has_only_absolute_links(out: Path) -> None:
    (wheel,) = out.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        (name,) = (name for name in packed.namelist() if name.endswith("/METADATA"))
        page = packed.read(name).decode().partition("\n\n")[2]
    assert "Know what Karpenter does next" in page
    targets = re.findall(r"\]\(([^)]+)\)", page)
    assert targets
    assert [target for target in targets if not target.startswith("https://")] == []
    assert "](" not in "".join(re.findall(r"!\[[^\]]*\]", page))


def test_krew_and_homebrew_use_the_archive_of_each_platform(out: Path) -> None:
    plugin = yaml.safe_load((out / "karp.yaml").read_text())
    assert plugin["spec"]["version"] == f"v{karptui.__version__}"
    platforms = {part["uri"].removeprefix(f"{URL}/"): part for part in plugin["spec"]["platforms"]}
    assert set(platforms) == set(ARCHIVES)
    formula = (out / "karptui.rb").read_text()
    for name, content in ARCHIVES.items():
        total = hashlib.sha256(content).hexdigest()
        system, machine = name.removesuffix(".tar.gz").split("-")[2:]
        assert platforms[name]["sha256"] == total
        assert platforms[name]["selector"]["matchLabels"] == {"os": system, "arch": machine}
        assert {part["to"] for part in platforms[name]["files"]} >= {platforms[name]["bin"]}
        assert f'url "{URL}/{name}"\n      sha256 "{total}"' in formula
    begun, ended = (len(re.findall(words, formula, re.MULTILINE)) for words in (r" do$|def |^class ", r"^\s*end$"))
    assert begun == ended > 5
    assert "$" not in formula


def test_the_bill_of_materials_has_every_dependency(out: Path) -> None:
    components = json.loads((out / "karptui.cdx.json").read_text())["components"]
    named = {part["name"] for part in components}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    direct = [*project["dependencies"], *project["optional-dependencies"]["aws"]]
    assert {re.sub(r"[-_.]+", "-", Requirement(line).name).lower() for line in direct} <= named
    assert {"botocore", "certifi", "markdown-it-py"} <= named
    assert "pytest" not in named
    assert sum("licenses" in part for part in components) > len(components) * 0.9


def test_the_nix_flake_has_the_dependencies_of_the_project() -> None:
    text = (ROOT / "flake.nix").read_text(encoding="utf-8")
    named = {field: set(re.findall(rf"{field} = with [^;]+; \[([^\]]+)\]", text)[0].split()) for field in FLAKE}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    declared = [*project["project"]["dependencies"], *project["project"]["optional-dependencies"]["aws"]]
    assert named["dependencies"] == {Requirement(line).name for line in declared}
    assert named["build-system"] == {Requirement(line).name for line in project["build-system"]["requires"]}


def test_the_notes_are_the_versions_section_of_the_changelog() -> None:
    assert release_tool.changes(LOG.format(""), "1.1.0", is_dry=False) == "- new\n"
    assert release_tool.changes(LOG.format("- next"), "1.2.0", is_dry=True) == "- next\n"


@pytest.mark.parametrize(("text", "version", "reason"), [
    (LOG.format(""), "1.2.0", "no section [1.2.0]"),
    (LOG.format("- next"), "1.1.0", "still has changes under [Unreleased]"),
])  # fmt: skip
def test_an_unfinished_changelog_stops_the_release(text: str, version: str, reason: str) -> None:
    with pytest.raises(release_tool.ReleaseError, match=re.escape(reason)):
        release_tool.changes(text, version, is_dry=False)


def test_a_version_other_than_the_commits_stops_the_release(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert release_tool.main(["9.9.9", "--dry-run", "--out", str(tmp_path)]) == 1
    assert "not 9.9.9" in capsys.readouterr().err


def test_the_single_file_has_the_data_of_the_used_aws_services() -> None:
    spec = (ROOT / "contrib/karptui.spec").read_text(encoding="utf-8")
    (names,) = re.findall(r"^SERVICES = \{(.*)\}$", spec, re.MULTILINE)
    asked = {
        service
        for path in (ROOT / "karptui").rglob("*.py")
        for service in re.findall(r"\.client\(\"([a-z0-9-]+)\"", path.read_text(encoding="utf-8"))
    }
    assert asked
    assert asked <= {*re.findall(r'"([^"]+)"', names)}
