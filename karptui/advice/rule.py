"""Advice rules and their declaration."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding


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
