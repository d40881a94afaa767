"""A dry run of a release: the same bytes twice, sums that are right, and manifests that package managers can read."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

import karptui
from tools import release

ROOT = Path(__file__).resolve().parents[2]
URL = "https://example.invalid/v1"
ARCHIVES = {f"karptui-{karptui.__version__}-{name}.tar.gz": name.encode() for name in ("linux-amd64", "darwin-arm64")}
FLAKE = ("dependencies", "build-system")
LOG = "# Changelog\n\n## [Unreleased]\n{}\n## [1.1.0] - 2026-01-01\n\n- new\n\n## [1.0.0]\n\n- old\n"


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a dry run, with archives of two platforms that were made elsewhere."""
    pytest.importorskip("hatchling", reason="hatchling is not installed: nothing can be built without a network")
    if subprocess.run(["git", "rev-parse"], cwd=ROOT, capture_output=True, check=False).returncode:
        pytest.skip("not a git checkout")
    folder = tmp_path_factory.mktemp("dist")
    for name, content in ARCHIVES.items():
        (folder / name).write_bytes(content)
    assert release.main([karptui.__version__, "--dry-run", "--out", str(folder), "--url", URL]) == 0
    return folder


def test_sums_are_those_of_all_files(out: Path) -> None:
    lines = (out / "SHA256SUMS").read_text().splitlines()
    told = {name: total for total, _, name in (line.partition("  ") for line in lines)}
    assert told == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in out.iterdir() if path.name != "SHA256SUMS"
    }
    assert {"karp.yaml", "karptui.rb", "karptui.cdx.json", "NOTES.md", *ARCHIVES} < set(told)
    assert {Path(name).suffix for name in told} >= {".whl", ".gz"}


def test_a_second_run_makes_the_same_bytes(out: Path, tmp_path: Path) -> None:
    assert release.main([karptui.__version__, "--dry-run", "--out", str(tmp_path)]) == 0
    again = [path for path in tmp_path.iterdir() if path.name != "SHA256SUMS"]
    assert len(again) == 4
    assert [path.name for path in again if path.read_bytes() != (out / path.name).read_bytes()] == []


def test_the_index_page_has_no_link_that_leads_nowhere(out: Path) -> None:
    (wheel,) = out.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        (name,) = (name for name in packed.namelist() if name.endswith("/METADATA"))
        page = packed.read(name).decode().partition("\n\n")[2]
    assert "Know what Karpenter does next" in page
    targets = re.findall(r"\]\(([^)]+)\)", page)
    assert targets
    assert [target for target in targets if not target.startswith("https://")] == []
    assert "](" not in "".join(re.findall(r"!\[[^\]]*\]", page))


def test_krew_and_homebrew_take_the_archive_of_each_platform(out: Path) -> None:
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


def test_notes_are_the_section_of_the_version() -> None:
    assert release.changes(LOG.format(""), "1.1.0", is_dry=False) == "- new\n"
    assert release.changes(LOG.format("- next"), "1.2.0", is_dry=True) == "- next\n"


@pytest.mark.parametrize(("text", "version", "reason"), [
    (LOG.format(""), "1.2.0", "no section [1.2.0]"),
    (LOG.format("- next"), "1.1.0", "still has changes under [Unreleased]"),
])  # fmt: skip
def test_a_changelog_that_is_not_ready_stops_it(text: str, version: str, reason: str) -> None:
    with pytest.raises(release.ReleaseError, match=re.escape(reason)):
        release.changes(text, version, is_dry=False)


def test_another_version_than_that_of_the_commit_stops_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert release.main(["9.9.9", "--dry-run", "--out", str(tmp_path)]) == 1
    assert "not 9.9.9" in capsys.readouterr().err


def test_the_single_file_has_the_data_of_the_services_that_are_asked() -> None:
    spec = (ROOT / "contrib/karptui.spec").read_text(encoding="utf-8")
    (names,) = re.findall(r"^SERVICES = \{(.*)\}$", spec, re.MULTILINE)
    asked = {
        service
        for path in (ROOT / "karptui").rglob("*.py")
        for service in re.findall(r"\.client\(\"([a-z0-9-]+)\"", path.read_text(encoding="utf-8"))
    }
    assert asked
    assert asked <= {*re.findall(r'"([^"]+)"', names)}
