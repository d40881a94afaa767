"""Which objects of a collection are known, so that a new list tells what has gone since the last."""

from __future__ import annotations

from collections.abc import Mapping


class Inventory:
    """Keys seen so far: complete, or in the middle of a list.

    While a list is under way the objects of the one before it still count as known; those that it does not mention are
    gone only once it has ended.
    """

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._seen: set[str] | None = None

    @property
    def count(self) -> int:
        """Objects known; while listing, objects listed so far."""
        return len(self._known if self._seen is None else self._seen)

    @property
    def known_count(self) -> int:
        """Objects known from before the list under way."""
        return len(self._known)

    def begin(self) -> None:
        """A list begins, or begins again."""
        self.abandon()
        self._seen = set()

    def change(self, changes: Mapping[str, object]) -> None:
        """Objects have come or changed, or are gone where there is None."""
        listed = self._known if self._seen is None else self._seen
        listed.update(changes)
        for key, item in changes.items():
            if item is None:
                self._known.discard(key)
                listed.discard(key)

    def finish(self) -> frozenset[str]:
        """The list is complete; return the keys that were known before and are gone."""
        seen = self._seen if self._seen is not None else self._known
        gone = frozenset(self._known - seen)
        self._known, self._seen = seen, None
        return gone

    def abandon(self) -> None:
        """The list has broken off: what it told is known, and nothing is gone."""
        if self._seen is not None:
            self._known |= self._seen
            self._seen = None

    def forget(self) -> frozenset[str]:
        """Nothing is known any more; return the keys that were."""
        self.abandon()
        gone = frozenset(self._known)
        self._known = set()
        return gone
