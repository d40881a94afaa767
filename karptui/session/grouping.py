"""Grouped rows: the grouping property, headings, and which groups are open."""

from __future__ import annotations

from enum import StrEnum
from typing import Generic, NamedTuple, Self, TypeVar

import msgspec

EntryT = TypeVar("EntryT")


class Grouping(StrEnum):
    """The property that the rows of a group share; each table has a subclass, with ``nothing`` as one value."""

    @property
    def next(self) -> Self:
        """The grouping that comes after this one."""
        every = list(type(self))
        return every[(every.index(self) + 1) % len(every)]

    @property
    def has_groups(self) -> bool:
        """Whether there are groups at all."""
        return self != "nothing"


class Folding(NamedTuple):
    """Which groups show their heading only."""

    is_folded: bool | None = None
    """Whether groups are folded; None while the reader has not said."""
    exceptions: frozenset[str] = frozenset()
    """Names of the groups that are the other way."""
    opens_all: bool = False
    """Whether groups that are folded among open ones are open too."""

    def hides(self, name: str, *, opens_last: bool = False) -> bool:
        """Return whether a group shows only its heading; by default all but idle groups are open."""
        is_folded = bool(self.is_folded) or (opens_last and not self.opens_all)
        return is_folded is not (name in self.exceptions)

    def with_default(self, *, is_folded: bool) -> Folding:
        """Return this folding; if the user has not chosen, with the given default."""
        return self if self.is_folded is not None else self._replace(is_folded=is_folded)

    def toggled(self, name: str) -> Folding:
        """Return the same with one group the other way."""
        return self._replace(exceptions=self.exceptions ^ {name})


class GroupHeading(msgspec.Struct, Generic[EntryT], frozen=True, eq=False, dict=True):
    """The heading of rows that have something in common."""

    name: str
    """What sets it apart from other groups."""
    members: tuple[EntryT, ...]
    is_folded: bool

    @property
    def key(self) -> str:
        """Identity across refreshes."""
        return f"group/{self.name}"

    @property
    def opens_last(self) -> bool:
        """Whether it is folded among groups that are open, until all are to be."""
        return False
