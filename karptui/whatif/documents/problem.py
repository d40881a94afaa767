"""What is wrong with a line of the text that is being edited."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from karptui.whatif.path import Path


class Severity(StrEnum):
    """Whether the API server would refuse the document."""

    ERROR = "error"
    """It would."""
    WARNING = "warning"
    """It would not, yet it is hardly what is meant."""


class Problem(msgspec.Struct, frozen=True):
    """One sentence about one place of the text; lines and columns count from 0, columns in characters."""

    line: int
    column: int
    end_column: int
    """Where the underlined part of the line ends; always greater than ``column``."""
    severity: Severity
    message: str
    document: int
    """Position in ``Parsed.documents``; -1 where the text belongs to none."""
    path: Path = ()
    """The field it is about; empty for the document as a whole."""
