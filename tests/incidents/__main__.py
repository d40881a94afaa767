"""Write the incidents as folders for check.py, or judge karptui on all of them.

python -m tests.incidents OUT [NAME...]   write OUT/NAME/snapshot.json.gz and expect.json
python -m tests.incidents scores          judge all incidents, write scores.json and the table, and print what falls short
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.incidents.all import INCIDENTS
from tests.incidents.judge import judge

HERE = Path(__file__).resolve().parent
GIVEN = HERE.parent / "goldens" / "incidents"
SCORES = HERE / "scores.json"
README = HERE / "README.md"
HEAD = "|---|---|---|---|---|\n"


def write(out: Path, names: list[str]) -> list[Path]:
    """Write incidents as folders, and return the folders."""
    folders = []
    for name in names:
        folder = out / name
        folder.mkdir(parents=True, exist_ok=True)
        document = json.dumps(INCIDENTS[name].snapshot(), separators=(",", ":")).encode()
        (folder / "snapshot.json.gz").write_bytes(gzip.compress(document, mtime=0))
        (folder / "expect.json").write_text(json.dumps(INCIDENTS[name].expectation(), indent=1) + "\n")
        folders.append(folder)
    return folders


def score() -> None:
    """Judge all incidents, and write the points; those of the first run stay."""
    os.environ |= {"NO_COLOR": "1", "COLUMNS": "240"}
    before: dict[str, Any] = json.loads(SCORES.read_text()) if SCORES.exists() else {}
    after = {}
    with tempfile.TemporaryDirectory() as out:
        for folder in [*write(Path(out), [*INCIDENTS]), *sorted(GIVEN.iterdir())]:
            expect = json.loads((folder / "expect.json").read_text())
            verdict, name = judge(expect, folder / "snapshot.json.gz"), folder.name
            after[name] = {"first": before.get(name, {}).get("first", verdict.points), "now": verdict.points}
            sys.stdout.write(f"{verdict.points} {name}\n" + "".join(f"    {line}\n" for line in verdict.shortfalls))
    SCORES.write_text("{\n" + ",\n".join(f' "{key}": {json.dumps(row)}' for key, row in after.items()) + "\n}\n")
    text, _, _ = README.read_text().partition(HEAD)
    rows = [
        f"| {name} | {incident.cause} | {incident.thread} | {after[name]['first']} | {after[name]['now']} |\n"
        for name, incident in INCIDENTS.items()
    ]
    README.write_text(text + HEAD + "".join(rows))
    sys.stdout.write(f"{sum(row['now'] for row in after.values())} of {3 * len(after)} points\n")


if (
    len(sys.argv) < 2
    or sys.argv[1].startswith("-")
    or sys.argv[1] in INCIDENTS  # the folder was forgotten
    or not {*sys.argv[2:]} <= INCIDENTS.keys()
):
    sys.exit(__doc__)
if sys.argv[1] == "scores":
    score()
else:
    write(Path(sys.argv[1]), sys.argv[2:] or [*INCIDENTS])
