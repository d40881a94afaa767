"""The known objects of a collection, and their versions."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter


def version_number(version: str) -> int:
    """Return a resourceVersion as a comparable number, 0 if it is none.

    Source of the rule: KEP-5504, comparable resource versions: decimal numbers without leading zeros.
    """
    return int(version) if len(version) < 40 and version.isascii() and version.isdigit() else 0


class SeenKeys:
    """The keys seen so far, complete or during a list.

    During a list, objects of the previous list still count as known; missing objects are removed at its end.
    """

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        """Version of each object by key; 0 if unknown."""
        self._seen: dict[str, int] | None = None

    @property
    def count(self) -> int:
        """Number of known objects; during a list, of listed ones."""
        return len(self._known if self._seen is None else self._seen)

    @property
    def known_count(self) -> int:
        """Objects known from before the list under way."""
        return len(self._known)

    def newest(self) -> tuple[str, int]:
        """Return the last changed object and its version; an empty key if no version is known."""
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
        """Forget all versions: the server's storage was restored."""
        self._known = dict.fromkeys(self._known, 0)

    def change(self, changes: Mapping[str, object], versions: Mapping[str, int] | None = None) -> None:
        """Take over changed objects, and None for deleted ones; with their versions if known."""
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
        """Abort the list: its objects are known, and nothing is gone."""
        if self._seen is not None:
            self._known |= self._seen
            self._seen = None

    def forget(self) -> frozenset[str]:
        """Nothing is known any more; return the keys that were."""
        self.abandon()
        gone = frozenset(self._known)
        self._known = {}
        return gone
