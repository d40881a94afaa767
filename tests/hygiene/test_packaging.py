"""What users install: every style in it, one version, and a boto3 that the resolver did not step back to."""

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

import karptui

ROOT = Path(__file__).resolve().parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
STYLES = sorted(path.name for path in (ROOT / "styles").glob("*.tcss"))


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
