"""Tracks objects and resource versions seen, to detect that etcd was restored from a backup.

Source: the Kubernetes document "API Concepts", sections on resource versions; KEP-5504, comparable resource versions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import itemgetter

from karptui.sources.cluster.collection import Collection
from karptui.sources.cluster.errors import BehindError


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
        self._versions: dict[str, int] = {}
        """Version of each object by key; 0 if unknown."""
        self._seen: dict[str, int] | None = None

    @property
    def count(self) -> int:
        """Number of known objects; during a list, of listed ones."""
        return len(self._versions if self._seen is None else self._seen)

    @property
    def known_count(self) -> int:
        """Objects known from before the list under way."""
        return len(self._versions)

    def newest(self) -> tuple[str, int]:
        """Return the last changed object and its version; an empty key if no version is known."""
        key, version = max(self._versions.items(), key=itemgetter(1), default=("", 0))
        return (key, version) if version else ("", 0)

    def is_older(self, key: str, version: int) -> bool:
        """Whether a newer version of an object than this one is known."""
        newest = self._versions.get(key, 0)
        if self._seen is not None:
            newest = max(newest, self._seen.get(key, 0))
        return 0 < version < newest

    def still(self, key: str) -> None:
        """Note that an object is still there, in the version that is known."""
        if self._seen is not None:
            self._seen.setdefault(key, self._versions.get(key, 0))

    def begin(self) -> None:
        """Begin a list, or begin it again."""
        self.abandon()
        self._seen = {}

    def begin_anew(self) -> None:
        """Forget all versions: the server's storage was restored."""
        self._versions = dict.fromkeys(self._versions, 0)

    def change(self, changes: Mapping[str, object], versions: Mapping[str, int] | None = None) -> None:
        """Take over changed objects, and None for deleted ones; with their versions if known."""
        listed = self._versions if self._seen is None else self._seen
        numbers = versions or {}
        for key, item in changes.items():
            if item is None:
                self._versions.pop(key, None)
                listed.pop(key, None)
            else:
                listed[key] = numbers.get(key, 0)

    def finish(self) -> frozenset[str]:
        """Complete the list, and return the keys that were known before and are gone."""
        seen = self._seen if self._seen is not None else self._versions
        gone = frozenset(self._versions.keys() - seen.keys())
        self._versions, self._seen = seen, None
        return gone

    def abandon(self) -> None:
        """Abort the list: its objects are known, and nothing is gone."""
        if self._seen is not None:
            self._versions |= self._seen
            self._seen = None

    def forget(self) -> frozenset[str]:
        """Nothing is known any more; return the keys that were."""
        self.abandon()
        gone = frozenset(self._versions)
        self._versions = {}
        return gone


class StoragePast:
    """The last known state of a server's storage, for one collection."""

    def __init__(self, seen: SeenKeys, collection: Callable[[], Collection]) -> None:
        self._seen = seen
        self._collection = collection
        self._furthest = 0
        """The latest version that the server has spoken of."""
        self._last_gone = ("", 0)
        """Key and version of the last deleted object."""
        self.is_behind = False
        """Whether the server has spoken of an earlier one since: it was restored, or the answer was out of date."""
        self.must_confirm = False
        """Whether the server must confirm its storage's version before objects count as current."""
        self.is_doubted = False
        """Whether the server was restored from a backup, as another kind has found; set by any thread."""

    def reach(self, number: int) -> None:
        """Note that the server has spoken of a version."""
        self._furthest = max(self._furthest, number)

    def gone(self, key: str, number: int) -> None:
        """Note that an object has gone."""
        self._last_gone = (key, number)

    def is_over(self, number: int) -> bool:
        """Return whether the server has spoken of a later version than this one."""
        return 0 < number < self._furthest

    def check_list(self, version: str) -> None:
        """Check whether a list is older than the known objects; the first time is doubted, the second believed.

        Raises:
            BehindError: the first time.
        """
        number = version_number(version)
        if not self.is_over(number):
            return
        if not self.is_behind:
            raise self.behind()
        self._furthest = number
        self._seen.begin_anew()

    def confirm(self, version: str, restored: Callable[[], None]) -> None:
        """Check that the server's storage is current: a watch may resume from a cache without updates.

        Args:
            version: Resource version at which the watch resumes.
            restored: Called if the storage has a different history.

        Raises:
            BehindError: if its resource version is older than a known version, or its history differs.
        """
        number = version_number(self._collection().version())
        if self.is_over(number):
            raise self.behind()
        if number > self._furthest and not self._is_same(version):
            restored()
            raise self.other()
        self.must_confirm = False

    def _is_same(self, at: str) -> bool:
        """Return whether the storage held the known objects at a version; after a restore it has written others.

        Only the last change is compared: a backup with this change has all earlier ones.
        """
        (key, version), (gone, gone_version) = self._seen.newest(), self._last_gone
        then = self._collection().version_then
        if key and then(key, at) not in (str(version), None):
            return False
        return gone_version <= version or then(gone, at) in ("", None)

    def behind(self) -> BehindError:
        """Return the error for a server with older data than before."""
        what = f"{self._collection().server} has older {self._collection().title} than before"
        return BehindError(f"{what}, as after a restore from a backup; listing again")

    def other(self) -> BehindError:
        """Return the error for a server with a different history, and forget its versions."""
        self._seen.begin_anew()
        self._last_gone = ("", 0)
        what = f"{self._collection().server} has another history of {self._collection().title} than before"
        return BehindError(f"{what}, as after a restore from a backup; listing again")
