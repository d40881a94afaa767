"""Advice rules, their declaration, and their findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import msgspec

from karptui.whatif.edits import AnyEdit, ObjectRef

if TYPE_CHECKING:
    from karptui.advice.context import AdviceContext


class Severity(StrEnum):
    """Severity of a finding."""

    ERROR = "error"
    """Something is stuck or can never work."""
    WARNING = "warning"
    """It costs money or safety, or Karpenter plans with other numbers than the author expects."""
    INFO = "info"
    """Karpenter behaves differently than most users expect; possibly nothing is wrong."""

    @property
    def rank(self) -> int:
        """Sort key: 0 is the worst."""
        return _RANKS[self]


_RANKS: Final = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


class Finding(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """One fact about a cluster that is worth knowing, with the objects that share it."""

    severity: Severity
    objects: tuple[ObjectRef, ...]
    """The affected objects, most relevant first."""
    fact: str
    """The finding with this cluster's numbers, in one or two sentences."""
    remedy: str = ""
    """The remedy for these objects; if empty, the rule's remedy."""
    edits: tuple[AnyEdit, ...] = ()
    """Edits for a what-if."""
    per_hour: float | None = None
    """Hourly cost of the affected nodes; None if no cost is involved."""
    rule: str = ""
    """Id of the rule; filled in by the report."""

    @property
    def key(self) -> str:
        """Unique within one report."""
        first = f"{self.objects[0].kind}/{self.objects[0].key}" if self.objects else ""
        return f"{self.rule}:{first}:{self.fact}" if len(self.objects) != 1 else f"{self.rule}:{first}"


class Rule(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A common mistake: how to detect it, why it matters, and the remedy."""

    id: str
    """Stable, in kebab case; begins with the kind of object."""
    title: str
    """The mistake in a few words."""
    what: str
    """Condition for a finding."""
    why: str
    """Karpenter's behaviour."""
    source: str
    """Karpenter's source files, or the Kubernetes document."""
    remedy: str
    """The recommended action."""
    find: Callable[[AdviceContext], Iterable[Finding]]

    @property
    def anchor(self) -> str:
        """Its place in the documentation."""
        return f"docs/advice.md#{self.id}"


def rule(
    id_: str, /, *, title: str, what: str, why: str, source: str, remedy: str
) -> Callable[[Callable[[AdviceContext], Iterable[Finding]]], Rule]:
    """Return a decorator that declares a rule; `catalogue` collects the rules of all modules."""

    def declare(find: Callable[[AdviceContext], Iterable[Finding]]) -> Rule:
        return Rule(id=id_, title=title, what=what, why=why, source=source, remedy=remedy, find=find)

    return declare
