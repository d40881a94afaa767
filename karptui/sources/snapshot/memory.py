"""Ends the reading of a file that takes far more memory than its size on disk allows."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path
from typing import Final

from karptui.files import size_text
from karptui.sources.snapshot.text import SnapshotError, sentence

FREE_BYTES: Final = 128 << 20
"""Memory that a file of any size may take."""
BYTES_PER_BYTE: Final = 32
"""Additional memory for each byte of the file as stored; a packed recording of 100,000 pods needs 370 MB for 8.8."""
GZIP_MAGIC: Final = b"\x1f\x8b"
_MAPPING_BYTES: Final = 200
_VALUE_BYTES: Final = 80
_SMALL_BYTES: Final = 1 << 18
_STEPS: Final = 256
_STATM: Final = Path("/proc/self/statm")


class MemoryLimit:
    """Memory that reading one file may take, measured as growth of the process."""

    def __init__(self, data: bytes, where: str) -> None:
        """Begin to measure.

        Args:
            data: Content of the file as stored, packed or not.
        """
        self._most_bytes = FREE_BYTES + BYTES_PER_BYTE * len(data)
        hint = "; if you trust it, unpack it first" if data.startswith(GZIP_MAGIC) else ""
        self._message = sentence(
            where,
            f"takes more than {size_text(self._most_bytes)} of memory, more than a snapshot of "
            f"{size_text(len(data))} needs{hint}",
        )
        self._before_bytes = _resident_bytes()
        self._steps = 0

    def check(self, more_bytes: int = 0) -> None:
        """Check that there is memory left.

        Args:
            more_bytes: Memory that the next step takes.

        Raises:
            SnapshotError: if there is not.
        """
        if _resident_bytes() - self._before_bytes + more_bytes > self._most_bytes:
            raise SnapshotError(self._message)

    def check_step(self) -> None:
        """Check from time to time; cheap enough for each object.

        Raises:
            SnapshotError: if there is no memory left.
        """
        self._steps += 1
        if self._steps % _STEPS == 0:
            self.check()

    def check_decoding(self, text: memoryview, *, times: float = 1) -> None:
        """Check that there is memory left for the values in a JSON text.

        Args:
            times: How many times the decoded size is needed.

        Raises:
            SnapshotError: if there is not.
        """
        if text.nbytes > _SMALL_BYTES:
            data = bytes(text)
            values = data.count(b",") + data.count(b"[")
            self.check(int(times * (len(data) + _MAPPING_BYTES * data.count(b"{") + _VALUE_BYTES * values)))


def _resident_bytes() -> int:
    """Return the memory that the process uses, or its peak on systems that show only that."""
    try:
        return int(_STATM.read_bytes().split()[1]) * os.sysconf("SC_PAGESIZE")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
