"""What a rule has found."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class LintSeverity(StrEnum):
    """How bad it is."""

    ERROR = "error"
    """Something can never work."""
    WARNING = "warning"
    """Karpenter plans with other numbers than the author believes, or than the node has."""


class LintFinding(msgspec.Struct, frozen=True, kw_only=True):
    """One finding, worded for the author of the object."""

    rule: str
    """Stable name of the rule, in kebab case."""
    severity: LintSeverity
    object: str
    """Kind and name: ``EC2NodeClass default``."""
    field: str
    """Path within the object."""
    fact: str
    """What is so, in one sentence."""
    remedy: str
    """What to do, in one sentence."""
