from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
SNAPSHOTS = TESTS.parent / "snapshots"


def test_every_snapshot_belongs_to_a_test_module() -> None:
    orphans = [
        folder
        for folder in {picture.parent for picture in SNAPSHOTS.rglob("*.svg")}
        if not (TESTS / folder.relative_to(SNAPSHOTS)).with_suffix(".py").is_file()
    ]
    assert orphans == []


def test_every_snapshot_belongs_to_a_test_function() -> None:
    orphans = []
    for picture in SNAPSHOTS.rglob("*.svg"):
        module = (TESTS / picture.parent.relative_to(SNAPSHOTS)).with_suffix(".py")
        name = picture.stem.partition("[")[0]
        if f"def {name}(" not in module.read_text(encoding="utf-8"):
            orphans.append(picture)
    assert orphans == []
