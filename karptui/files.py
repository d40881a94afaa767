"""Files that are read: never more of one than its reader can use."""

from __future__ import annotations

import errno
import stat
from pathlib import Path


def read_file(path: Path, most_bytes: int, *, is_regular: bool = False) -> bytes:
    """Return the content of a file.

    Args:
        path: the file.
        most_bytes: what it holds at most.
        is_regular: whether pipes, devices and the like are refused, which may never come to an end.

    Raises:
        OSError: when it cannot be read, is of another sort, or holds more.
    """
    if is_regular and not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "it is no regular file")
    with path.open("rb") as file:
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise OSError(errno.EFBIG, f"it is larger than {size_text(most_bytes)}")
    return data


def size_text(count: int) -> str:
    """Return a number of bytes for a sentence: ``128 MiB``."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count // size} {unit}"
    return f"{count} bytes"
