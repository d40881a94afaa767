"""Answer a case of `karptui types` for the types that its golden holds, as goldens/check_types.py calls it.

usage: check_types.py GOLDENS -- python tools/answer_case.py GOLDENS

A case does not say which types its golden was recorded for, and what fails or is filtered out "of all types" depends on
it. Nothing else of the golden is looked at.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

from karptui.cli.main import main


def load(path: Path) -> Any:
    """Return a document, plain or gzip."""
    content = path.read_bytes()
    return json.loads(gzip.decompress(content) if path.suffix == ".gz" else content)


def recorded_types(folder: Path, name: str) -> list[str]:
    """Return the types that a golden was recorded for; where Karpenter found none at all, those that it failed on."""
    golden = next(load(path) for path in folder.glob("*.json*") if path.name.split(".json")[0] == name)
    failing = golden.get("answers", {}).get("kubelet", {}).get("evaluationErrors", ())
    return sorted(golden["types"] or failing or ["m5.large"])


if __name__ == "__main__":
    goldens, case = Path(sys.argv[1]), Path(sys.argv[2])
    sys.exit(main(["types", "-o", "json", "--types", ",".join(recorded_types(goldens, load(case)["name"])), str(case)]))
