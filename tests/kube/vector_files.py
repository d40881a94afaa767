from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def vectors(name: str) -> dict[str, list[Any]]:
    """Return the answers of Kubernetes and Go in one file of tests/kube/vectors."""
    path = Path(__file__).with_name("vectors") / f"{name}.json"
    groups: dict[str, list[Any]] = json.loads(path.read_text(encoding="utf-8"))
    return groups
