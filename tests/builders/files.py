"""Files that tests write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def written(path: Path, content: Any) -> Path:
    """Write a string as text or any other value as JSON, and return the path."""
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path
