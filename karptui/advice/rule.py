"""What a rule is, and how one is declared."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding


class Rule(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """One trap: how to see it, why it is one, and what to do about it."""

    id: str
    """Stable, in kebab case, beginning with the kind that it is about."""
    title: str
    """The trap in a few words."""
    what: str
    """When it is reported."""
    why: str
    """What Karpenter does, in sentences."""
    source: str
    """Where that is written: files of Karpenter, or the Kubernetes document."""
    remedy: str
    """What to do, in sentences."""
    find: Callable[[AdviceContext], Iterable[Finding]]

    @property
    def anchor(self) -> str:
        """Where the documentation explains it."""
        return f"docs/advice.md#{self.id}"


def rule(
    id_: str, /, *, title: str, what: str, why: str, source: str, remedy: str
) -> Callable[[Callable[[AdviceContext], Iterable[Finding]]], Rule]:
    """Make a rule of the function that finds it; `catalogue` lists what the modules of `rules` declare so."""

    def made(find: Callable[[AdviceContext], Iterable[Finding]]) -> Rule:
        return Rule(id=id_, title=title, what=what, why=why, source=source, remedy=remedy, find=find)

    return made
