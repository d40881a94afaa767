"""Which objects of a collection are known, and in which version."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter


def version_number(version: str) -> int:
    """Return a resourceVersion as a number that can be compared, 0 where it is none.

    Source of the rule: KEP-5504, comparable resource versions: decimal numbers without leading zeros.
    """
    return int(version) if len(version) < 40 and version.isascii() and version.isdigit() else 0


class SeenKeys:
    """Keys seen so far: complete, or in the middle of a list.

    While a list is under way the objects of the one before it still count as known; those that it does not mention are
    gone only once it has ended.
    """

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        """By key, the version of each object; 0 where that is not known."""
        self._seen: dict[str, int] | None = None

    @property
    def count(self) -> int:
        """Objects known; while listing, objects listed so far."""
        return len(self._known if self._seen is None else self._seen)

    @property
    def known_count(self) -> int:
        """Objects known from before the list under way."""
        return len(self._known)

    def newest(self) -> tuple[str, int]:
        """Return which of the objects known changed last, and its version; an empty key where no version is known."""
        key, version = max(self._known.items(), key=itemgetter(1), default=("", 0))
        return (key, version) if version else ("", 0)

    def is_older(self, key: str, version: int) -> bool:
        """Whether a newer version of an object than this one is known."""
        known = self._known.get(key, 0)
        if self._seen is not None:
            known = max(known, self._seen.get(key, 0))
        return 0 < version < known

    def still(self, key: str) -> None:
        """Note that an object is still there, in the version that is known."""
        if self._seen is not None:
            self._seen.setdefault(key, self._known.get(key, 0))

    def begin(self) -> None:
        """Begin a list, or begin it again."""
        self.abandon()
        self._seen = {}

    def begin_anew(self) -> None:
        """Forget the versions so far: the list under way is of a server that counts from further back."""
        self._known = dict.fromkeys(self._known, 0)

    def change(self, changes: Mapping[str, object], versions: Mapping[str, int] | None = None) -> None:
        """Objects have come or changed, or are gone where there is None; with their versions where those are known."""
        listed = self._known if self._seen is None else self._seen
        found = versions or {}
        for key, item in changes.items():
            if item is None:
                self._known.pop(key, None)
                listed.pop(key, None)
            else:
                listed[key] = found.get(key, 0)

    def finish(self) -> frozenset[str]:
        """Complete the list, and return the keys that were known before and are gone."""
        seen = self._seen if self._seen is not None else self._known
        gone = frozenset(self._known.keys() - seen.keys())
        self._known, self._seen = seen, None
        return gone

    def abandon(self) -> None:
        """Break the list off: what it held is known, and nothing is gone."""
        if self._seen is not None:
            self._known |= self._seen
            self._seen = None

    def forget(self) -> frozenset[str]:
        """Nothing is known any more; return the keys that were."""
        self.abandon()
        gone = frozenset(self._known)
        self._known = {}
        return gone
