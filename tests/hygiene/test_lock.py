"""What continuous integration installs is locked: every dependency, in a version that is allowed, with hashes."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

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
