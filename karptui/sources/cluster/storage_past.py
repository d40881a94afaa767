"""Which versions a server has named: after a restore from a backup it knows fewer, or others.

Source: the Kubernetes document "API Concepts", sections on resource versions; KEP-5504, comparable resource versions.
"""

from __future__ import annotations

from collections.abc import Callable

from karptui.sources.cluster.collection import Collection
from karptui.sources.cluster.errors import BehindError
from karptui.sources.cluster.seen import SeenKeys, version_number


class StoragePast:
    """The last known state of a server's storage, for one collection."""

    def __init__(self, seen: SeenKeys, collection: Callable[[], Collection]) -> None:
        """Begin without a past.

        Args:
            seen: the objects that are known, with their versions.
            collection: asks the server.
        """
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
        what = f"{self._collection().server} knows less of {self._collection().title} than it did"
        return BehindError(f"{what}, as after a restore from a backup; listing again")

    def other(self) -> BehindError:
        """Return the error for a server with a different history, and forget its versions."""
        self._seen.begin_anew()
        self._last_gone = ("", 0)
        what = f"{self._collection().server} tells another past of {self._collection().title} than it did"
        return BehindError(f"{what}, as after a restore from a backup; listing again")
