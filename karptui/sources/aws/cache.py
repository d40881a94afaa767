"""Answers of the AWS APIs on disk, read at the next start and usable without a network."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from karptui.aws.region import Dated
from karptui.files import check_allowed, read_file, write_file

FORMAT: Final = 1
"""Version of the format: files of another version are ignored and fetched again."""

MOST_BYTES: Final = 64 << 20

T = TypeVar("T")


class _Envelope(msgspec.Struct):
    """The envelope of a fact."""

    format: int
    as_of_ns: int
    value: msgspec.Raw


class FactCache:
    """A folder of facts; a file that cannot be read or written is as good as none."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, name: str, shape: type[T] | Any) -> Dated[T] | None:
        """Return a fact; None if it is not in the cache or unreadable.

        Args:
            name: Such as ``us-east-1/spot-prices``.
            shape: Type of its value, for msgspec.
        """
        try:
            envelope = msgspec.json.decode(read_file(self._path(name), MOST_BYTES), type=_Envelope)
            if envelope.format != FORMAT:
                return None
            return Dated(msgspec.json.decode(envelope.value, type=shape), envelope.as_of_ns)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None

    def store(self, name: str, fact: Dated[Any]) -> None:
        """Keep a fact: whole or not at all, whoever else writes or reads it."""
        path = self._path(name)
        content = msgspec.json.encode(_Envelope(FORMAT, fact.as_of_ns, msgspec.Raw(msgspec.json.encode(fact.value))))
        with contextlib.suppress(OSError):
            check_allowed()
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_file(path, content, may_replace=True, is_private=True)

    def _path(self, name: str) -> Path:
        return self._folder.joinpath(*name.split("/")).with_suffix(".json")
