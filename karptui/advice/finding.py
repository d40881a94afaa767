"""What rules find."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from karptui.whatif.edits import AnyEdit, ObjectRef


class Severity(StrEnum):
    """How bad a finding is."""

    ERROR = "error"
    """Something can never work, or stands still."""
    WARNING = "warning"
    """It costs money or safety, or Karpenter plans with other numbers than the author believes."""
    INFO = "info"
    """Karpenter behaves otherwise than most people expect; nothing need be wrong."""

    @property
    def rank(self) -> int:
        """Place in the order: 0 is the worst."""
        return _RANKS[self]


_RANKS: Final = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


class Finding(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """One fact about a cluster that is worth knowing, with the objects that share it."""

    severity: Severity
    objects: tuple[ObjectRef, ...]
    """What it is about, the most telling first."""
    fact: str
    """What is so, with this cluster's numbers, in a sentence or two."""
    remedy: str = ""
    """What to do about just these objects; the rule's own remedy where it is empty."""
    edits: tuple[AnyEdit, ...] = ()
    """What a what-if would try."""
    per_hour: float | None = None
    """Dollars per hour that are at stake: what the nodes concerned cost; None where no money is."""
    rule: str = ""
    """Id of the rule; filled in by the report."""

    @property
    def key(self) -> str:
        """Unique within one report."""
        first = f"{self.objects[0].kind}/{self.objects[0].key}" if self.objects else ""
        return f"{self.rule}:{first}:{self.fact}" if len(self.objects) != 1 else f"{self.rule}:{first}"
