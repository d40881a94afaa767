"""What validation finds at a path, before it has a place in the text."""

from __future__ import annotations

from typing import NamedTuple

from karptui.whatif.documents.problem import Severity
from karptui.whatif.path import Path


class Finding(NamedTuple):
    """One sentence about one field."""

    path: Path
    message: str
    severity: Severity = Severity.ERROR
    on_key: bool = False
    """The field's name is at fault rather than its value."""
    blocks_rules: bool = True
    """Rules over this value or one around it cannot be judged while it stands."""
